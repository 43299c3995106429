//! A private PostgreSQL cluster for tests.
//!
//! A guardian, a small shell process, owns it: it starts the server, waits for the end of its
//! standard input, stops the server and removes the folder. The test process holds the other end
//! of that pipe and never writes. So the cluster goes however the test process ends: by a drop, by
//! the end of `main` (which drops no static) or by `kill -9`.

mod crash;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::certs::Certificate;

const INSTALL: &str = "PostgreSQL is not installed, and its tests are never skipped in silence. \
    Install Debian's package: apt-get install postgresql (initdb, pg_ctl and psql are looked for \
    in /usr/lib/postgresql/*/bin and in PATH)";

/// $1 is the cluster's folder, $2 its port, $3 more settings; the server's programs come first in PATH. Rules
/// for logins and other files are in the folder already. `ready` or `failed` on standard output is the answer
/// that the test process waits for.
const GUARDIAN: &str = r#"
start() {
    initdb --no-sync -A trust -U inbox --locale=C --encoding=UTF8 -D "$1/data" >"$1/log" 2>&1 &&
    cat >>"$1/data/postgresql.conf" <<CONF &&
listen_addresses = '127.0.0.1'
port = $2
unix_socket_directories = '$1'
max_connections = 200
synchronous_commit = on
$3
CONF
    if [ -e "$1/hba.conf" ]; then cp "$1/hba.conf" "$1/data/pg_hba.conf"; fi &&
    pg_ctl -D "$1/data" -l "$1/log" -w -t 60 start >/dev/null 2>&1 &&
    psql -X -q -h "$1" -p "$2" -U inbox -d postgres -c 'CREATE DATABASE inbox' >>"$1/log" 2>&1
}
if start "$1" "$2" "$3" </dev/null; then echo ready; else echo failed; fi
cat >/dev/null
pg_ctl -D "$1/data" -m immediate stop >/dev/null 2>&1 </dev/null
cd / && rm -rf "$1"
"#;

/// A crash of the machine is not what tests are about: they do not wait for the disk.
const UNSYNCED: &str = "fsync = off\nfull_page_writes = off";

/// What a cluster has besides PostgreSQL's defaults.
#[derive(Debug, Default)]
pub struct Setup {
    /// Lines of `postgresql.conf`.
    pub settings: Vec<String>,
    /// The lines of `pg_hba.conf`; without any everybody is trusted. The first one should trust
    /// `local` connections of `inbox`, as which [`Cluster::psql`] comes.
    pub hba: Vec<String>,
    /// Files that the server is to own and nobody else may read: names in [`Cluster::folder`], and
    /// where they are copied from.
    pub files: Vec<(String, PathBuf)>,
}

impl Setup {
    /// A server with this certificate and these rules.
    pub fn with_tls(own: &Certificate, hba: &[&str]) -> Setup {
        // Relative to the data folder, which is beside them.
        let settings = [
            "ssl = on",
            "ssl_cert_file = '../server.crt'",
            "ssl_key_file = '../server.key'",
        ];
        Setup {
            settings: settings.map(str::to_owned).to_vec(),
            hba: hba.iter().map(|&rule| rule.to_owned()).collect(),
            files: vec![
                ("server.crt".to_owned(), own.cert.clone()),
                ("server.key".to_owned(), own.key.clone()),
            ],
        }
    }
}

/// A server with a database of its own, which goes with the value or with the process.
#[derive(Debug)]
pub struct Cluster {
    bin: PathBuf,
    folder: PathBuf,
    port: u16,
    guardian: Child,
    /// Open for as long as the cluster is wanted.
    life: Option<ChildStdin>,
}

impl Cluster {
    /// Starts a cluster that does not wait for the disk and has PostgreSQL's defaults in all else.
    pub fn start() -> Cluster {
        Cluster::start_with(Setup::default())
    }

    /// The same, with settings, rules and files of its own.
    pub fn start_with(mut setup: Setup) -> Cluster {
        setup.settings.insert(0, UNSYNCED.to_owned());
        Cluster::start_in(&std::env::temp_dir(), &setup)
    }

    /// Starts a cluster whose commits are on disk when they are answered, in a folder of this one:
    /// what is measured. The server's user must be able to reach it.
    pub fn durable(parent: &Path) -> Cluster {
        Cluster::start_in(parent, &Setup::default())
    }

    fn start_in(parent: &Path, setup: &Setup) -> Cluster {
        let bin = required(find_bin(
            Path::new("/usr/lib/postgresql"),
            std::env::var_os("PATH"),
        ));
        // Somebody may take the port between the moment it was found free and the server's start.
        for _ in 0..5 {
            match Cluster::start_once(&bin, parent, setup) {
                Ok(cluster) => return cluster,
                Err(log) if log.contains("Address already in use") => {}
                Err(log) => panic!("the PostgreSQL cluster for the tests did not start:\n{log}"),
            }
        }
        panic!("five ports in a row were taken before PostgreSQL could listen on them");
    }

    fn start_once(bin: &Path, parent: &Path, setup: &Setup) -> Result<Cluster, String> {
        let user = unprivileged();
        let folder = new_folder(parent, user);
        if !setup.hba.is_empty() {
            let rules = setup.hba.join("\n") + "\n";
            put(&folder.join("hba.conf"), rules.as_bytes(), user);
        }
        for (name, from) in &setup.files {
            let bytes = std::fs::read(from).expect("a file for the server");
            put(&folder.join(name), &bytes, user);
        }
        let port = free_port();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(bin.to_owned()).chain(std::env::split_paths(&path));
        let mut command = Command::new("sh");
        command
            .args(["-c", GUARDIAN, "guardian"])
            .arg(&folder)
            .arg(port.to_string())
            .arg(setup.settings.join("\n"))
            .env(
                "PATH",
                std::env::join_paths(paths).expect("PATH is made of paths"),
            )
            // The log is searched for a message.
            .env("LC_ALL", "C")
            .current_dir(&folder);
        let (guardian, life, is_ready) = guard(command, user);
        let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        let cluster = Cluster {
            bin: bin.to_owned(),
            folder,
            port,
            guardian,
            life,
        };
        if is_ready { Ok(cluster) } else { Err(log) }
    }

    /// Its folder, in which its socket is, too.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The port on 127.0.0.1, and the number of the socket.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Changes settings that need no restart, and waits until new connections have them.
    pub fn set(&self, settings: &[(&str, &str)]) {
        for (name, value) in settings {
            self.psql(&format!("ALTER SYSTEM SET {name} = '{value}'"));
        }
        self.psql("SELECT pg_reload_conf()");
        let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
        for (name, value) in settings {
            while self.psql(&format!("SHOW {name}")) != *value {
                let is_late = std::time::Instant::now() > deadline;
                assert!(!is_late, "PostgreSQL did not take {name} = {value}");
            }
        }
    }

    /// The URL of a store in this schema, which need not exist.
    pub fn url(&self, schema: &str) -> String {
        format!(
            "postgres://inbox@127.0.0.1:{}/inbox?schema={schema}",
            self.port
        )
    }

    /// The URL of a store in a schema that no other test has.
    pub fn fresh_url(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        self.url(&format!("t_{count}_{}", std::process::id()))
    }

    /// Runs SQL as the database's owner and gives its rows, columns divided by `|`.
    pub fn psql(&self, sql: &str) -> String {
        match self.psql_as("inbox", sql) {
            Ok(rows) => rows,
            Err(errors) => panic!("psql refused {sql:?}:\n{errors}"),
        }
    }

    /// Runs SQL as this user and gives its rows, or what the server says against it.
    pub fn psql_as(&self, user: &str, sql: &str) -> Result<String, String> {
        let output = self
            .client(user)
            .args(["-c", sql])
            .stdin(Stdio::null())
            .output()
            .expect("psql starts");
        if output.status.success() {
            let rows = String::from_utf8_lossy(&output.stdout);
            Ok(rows.trim_end().to_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// psql as this user, which ends at the first error.
    pub fn client(&self, user: &str) -> Command {
        let mut command = Command::new(self.bin.join("psql"));
        command
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h"])
            .arg(&self.folder)
            .args(["-p", &self.port.to_string(), "-U", user, "-d", "inbox"]);
        clean(&mut command);
        command
    }

    /// What runs SQL as the database's owner, for a client that is to stay for a while.
    pub fn psql_command(&self, sql: &str) -> Command {
        let mut command = self.client("inbox");
        command.args(["-c", sql]).stdin(Stdio::null());
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.life = None;
        // Nothing to do about a guardian that is gone already.
        let _ = self.guardian.wait();
    }
}

/// The cluster that the tests of this process share, each in a schema of its own.
pub fn shared() -> &'static Cluster {
    static SHARED: OnceLock<Cluster> = OnceLock::new();
    SHARED.get_or_init(Cluster::start)
}

/// Starts the guardian of a server, as this user; and whether the server is ready. It stops the server when its
/// standard input ends.
pub(crate) fn guard(
    mut command: Command,
    user: Option<(u32, u32)>,
) -> (Child, Option<ChildStdin>, bool) {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // Ctrl-C ends the tests; the guardian has to outlive them.
        .process_group(0);
    clean(&mut command);
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    let mut guardian = command.spawn().expect("sh starts");
    let life = guardian.stdin.take();
    let mut answer = String::new();
    if let Some(stdout) = guardian.stdout.take() {
        // An unreadable answer is not `ready`.
        let _ = BufReader::new(stdout).read_line(&mut answer);
    }
    (guardian, life, answer.trim() == "ready")
}

/// Removes what would point PostgreSQL's programs elsewhere.
pub(crate) fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
}

/// Nothing is skipped when there is no server: the test fails and says what to install.
fn required(bin: Option<PathBuf>) -> PathBuf {
    bin.unwrap_or_else(|| panic!("{INSTALL}"))
}

/// The folder of the server's programs, the newest version's. Debian keeps them out of PATH, by version.
fn find_bin(by_version: &Path, path: Option<OsString>) -> Option<PathBuf> {
    let versions = std::fs::read_dir(by_version)
        .into_iter()
        .flatten()
        .flatten();
    let newest = versions
        .filter_map(|entry| {
            Some((
                entry.file_name().to_str()?.parse::<u32>().ok()?,
                entry.path(),
            ))
        })
        .map(|(version, path)| (version, path.join("bin")))
        .filter(|(_, bin)| is_complete(bin))
        .max();
    if let Some((_, bin)) = newest {
        return Some(bin);
    }
    std::env::split_paths(&path?).find(|bin| is_complete(bin))
}

fn is_complete(bin: &Path) -> bool {
    ["initdb", "pg_ctl", "postgres", "psql"]
        .iter()
        .all(|name| bin.join(name).exists())
}

/// The user and group to run the server as, when this process is root: the server refuses to be.
pub(crate) fn unprivileged() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").expect("root can read /etc/passwd");
    let find = |wanted: &str| {
        let mut fields = users
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>());
        let user = fields.find(|user| user.first() == Some(&wanted))?;
        Some((user.get(2)?.parse().ok()?, user.get(3)?.parse().ok()?))
    };
    let user = find("postgres").or_else(|| find("nobody"));
    Some(user.expect("PostgreSQL does not run as root: make a user `postgres` or `nobody`"))
}

pub(crate) fn new_folder(parent: &Path, owner: Option<(u32, u32)>) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    // A process of an earlier day may have had this id and left a folder.
    let folder = loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("inbox-pg-{}-{count}", std::process::id());
        let folder = parent.join(name);
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => break folder,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => panic!("cannot make the folder {}: {error}", folder.display()),
        }
    };
    if let Some((uid, gid)) = owner {
        let given = std::os::unix::fs::chown(&folder, Some(uid), Some(gid));
        given.expect("root can give a folder away");
    }
    folder
}

/// Writes a file that is the server's alone.
pub(crate) fn put(path: &Path, bytes: &[u8], owner: Option<(u32, u32)>) {
    let mut options = std::fs::OpenOptions::new();
    let options = options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(path).expect("a file in the cluster's folder");
    file.write_all(bytes).expect("the file can be written");
    if let Some((uid, gid)) = owner {
        let given = std::os::unix::fs::chown(path, Some(uid), Some(gid));
        given.expect("root can give a file away");
    }
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on 127.0.0.1");
    listener
        .local_addr()
        .expect("a bound socket has an address")
        .port()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "apt-get install postgresql")]
    fn without_a_server_the_tests_fail_and_say_what_to_install() {
        let nowhere = Path::new("/nowhere");
        required(find_bin(nowhere, Some(nowhere.into())));
    }

    #[test]
    fn a_server_comes_back_on_its_port_with_what_was_committed() {
        let cluster = Cluster::start();
        cluster.psql("CREATE TABLE kept (n int)");
        for crash in [Cluster::stop_immediately, Cluster::kill_postmaster] {
            cluster.psql("INSERT INTO kept VALUES (1)");
            crash(&cluster);
            assert!(
                !cluster
                    .psql_command("SELECT 1")
                    .output()
                    .expect("psql starts")
                    .status
                    .success()
            );
            cluster.restart();
        }
        assert_eq!(cluster.psql("SELECT count(*) FROM kept"), "2");
    }

    #[test]
    fn a_cluster_answers_and_leaves_nothing_behind() {
        let cluster = Cluster::start();
        assert_eq!(
            cluster.psql("SELECT current_user, current_database()"),
            "inbox|inbox"
        );
        assert_ne!(cluster.fresh_url(), cluster.fresh_url());
        let folder = PathBuf::from(cluster.psql("SHOW unix_socket_directories"));
        assert!(folder.exists());
        drop(cluster);
        assert!(!folder.exists());
    }
}
