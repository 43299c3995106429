//! A private PostgreSQL cluster for tests.
//!
//! A guardian, a small shell process, owns it: it starts the server, waits for the end of its
//! standard input, stops the server and removes the folder. The test process holds the other end
//! of that pipe and never writes. So the cluster goes however the test process ends: by a drop, by
//! the end of `main` (which drops no static) or by `kill -9`.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

const INSTALL: &str = "PostgreSQL is not installed, and its tests are never skipped in silence. \
    Install Debian's package: apt-get install postgresql (initdb, pg_ctl and psql are looked for \
    in /usr/lib/postgresql/*/bin and in PATH)";

/// $1 is the cluster's folder, $2 its port; the server's programs come first in PATH. `ready` or
/// `failed` on standard output is the answer that the test process waits for.
const GUARDIAN: &str = r#"
start() {
    initdb --no-sync -A trust -U inbox --locale=C --encoding=UTF8 -D "$1/data" >"$1/log" 2>&1 &&
    cat >>"$1/data/postgresql.conf" <<CONF &&
listen_addresses = '127.0.0.1'
port = $2
unix_socket_directories = '$1'
max_connections = 200
fsync = off
full_page_writes = off
synchronous_commit = on
CONF
    pg_ctl -D "$1/data" -l "$1/log" -w -t 60 start >/dev/null 2>&1 &&
    psql -X -q -h "$1" -p "$2" -U inbox -d postgres -c 'CREATE DATABASE inbox' >>"$1/log" 2>&1
}
if start "$1" "$2" </dev/null; then echo ready; else echo failed; fi
cat >/dev/null
pg_ctl -D "$1/data" -m immediate stop >/dev/null 2>&1 </dev/null
cd / && rm -rf "$1"
"#;

/// A server with a database of its own, which goes with the value or with the process.
#[derive(Debug)]
pub struct Cluster {
    bin: PathBuf,
    port: u16,
    guardian: Child,
    /// Open for as long as the cluster is wanted.
    life: Option<ChildStdin>,
}

impl Cluster {
    /// Starts a cluster. A crash of the machine is not what its tests are about, so it does not
    /// wait for the disk; in all else it has PostgreSQL's defaults.
    pub fn start() -> Cluster {
        let bin = find_bin().unwrap_or_else(|| panic!("{INSTALL}"));
        // Somebody may take the port between the moment it was found free and the server's start.
        for _ in 0..5 {
            match Cluster::start_once(&bin) {
                Ok(cluster) => return cluster,
                Err(log) if log.contains("Address already in use") => {}
                Err(log) => panic!("the PostgreSQL cluster for the tests did not start:\n{log}"),
            }
        }
        panic!("five ports in a row were taken before PostgreSQL could listen on them");
    }

    fn start_once(bin: &Path) -> Result<Cluster, String> {
        let user = unprivileged();
        let folder = new_folder(user);
        let port = free_port();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(bin.to_owned()).chain(std::env::split_paths(&path));
        let mut command = Command::new("sh");
        command
            .args(["-c", GUARDIAN, "guardian"])
            .arg(&folder)
            .arg(port.to_string())
            .env(
                "PATH",
                std::env::join_paths(paths).expect("PATH is made of paths"),
            )
            // The log is searched for a message.
            .env("LC_ALL", "C")
            .current_dir(&folder)
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
        let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        let cluster = Cluster {
            bin: bin.to_owned(),
            port,
            guardian,
            life,
        };
        if answer.trim() == "ready" {
            Ok(cluster)
        } else {
            Err(log)
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
        let mut command = Command::new(self.bin.join("psql"));
        command
            .args([
                "-X",
                "-q",
                "-A",
                "-t",
                "-v",
                "ON_ERROR_STOP=1",
                "-h",
                "127.0.0.1",
            ])
            .args([
                "-U",
                "inbox",
                "-d",
                "inbox",
                "-p",
                &self.port.to_string(),
                "-c",
                sql,
            ])
            .stdin(Stdio::null());
        clean(&mut command);
        let output = command.output().expect("psql starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "psql refused {sql:?}:\n{errors}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
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

/// Removes what would point PostgreSQL's programs elsewhere.
fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
}

/// The folder of the server's programs, the newest version's. Debian keeps them out of PATH.
fn find_bin() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
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
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find(|bin| is_complete(bin))
}

fn is_complete(bin: &Path) -> bool {
    ["initdb", "pg_ctl", "postgres", "psql"]
        .iter()
        .all(|name| bin.join(name).exists())
}

/// The user and group to run the server as, when this process is root: the server refuses to be.
fn unprivileged() -> Option<(u32, u32)> {
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

fn new_folder(owner: Option<(u32, u32)>) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    // A process of an earlier day may have had this id and left a folder.
    let folder = loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("inbox-pg-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
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

fn free_port() -> u16 {
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
