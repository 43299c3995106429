//! A private PgBouncer before a private cluster, for tests of what holds behind a pooler.
//!
//! A guardian owns it as one owns the cluster: it ends the pooler and removes its folder when the test
//! process is gone, however that ends.

use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command};

use crate::cluster::{Cluster, free_port, guard, new_folder, put, unprivileged};

const INSTALL: &str = "PgBouncer is not installed, and the tests behind a pooler are never skipped in silence. \
    Install Debian's package: apt-get install pgbouncer (it is looked for in /usr/sbin and in PATH)";

/// $1 is the program, $2 the folder. It answers as the cluster's guardian does; what listens is found by its socket.
const GUARDIAN: &str = r#"
"$1" -q "$2/pgbouncer.ini" >>"$2/log" 2>&1 </dev/null &
pooler=$!
tries=0
while kill -0 $pooler 2>/dev/null && ! grep -q 'process up' "$2/log" && [ $tries -lt 600 ]; do
    sleep 0.05
    tries=$((tries + 1))
done
if kill -0 $pooler 2>/dev/null && grep -q 'process up' "$2/log"; then echo ready; else echo failed; fi
cat >/dev/null
kill -9 $pooler 2>/dev/null
wait $pooler 2>/dev/null
cd / && rm -rf "$2"
"#;

/// How server connections are lent to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// For one transaction.
    Transaction,
    /// For as long as the client stays.
    Session,
}

/// A pooler that goes with the value or with the process.
#[derive(Debug)]
pub struct Pooler {
    folder: PathBuf,
    port: u16,
    guardian: Child,
    life: Option<ChildStdin>,
}

impl Pooler {
    /// Starts one with so few server connections that clients have to share them. In all else it has
    /// PgBouncer's defaults: no start-up parameter is ignored, and nothing is reset between transactions.
    pub fn start(cluster: &Cluster, mode: Mode) -> Pooler {
        let program = required(find());
        // Somebody may take the port between the moment it was found free and the pooler's start.
        for _ in 0..5 {
            match Pooler::start_once(&program, cluster, mode) {
                Ok(pooler) => return pooler,
                Err(log) if log.contains("Address already in use") => {}
                Err(log) => panic!("the pooler for the tests did not start:\n{log}"),
            }
        }
        panic!("five ports in a row were taken before PgBouncer could listen on them");
    }

    fn start_once(program: &PathBuf, cluster: &Cluster, mode: Mode) -> Result<Pooler, String> {
        let user = unprivileged();
        let folder = new_folder(&std::env::temp_dir(), user);
        let port = free_port();
        let (mode, pool) = match mode {
            Mode::Transaction => ("transaction", 2),
            Mode::Session => ("session", 20),
        };
        let settings = format!(
            "[databases]\n\
             inbox = host=127.0.0.1 port={} dbname=inbox\n\
             [pgbouncer]\n\
             listen_addr = 127.0.0.1\n\
             listen_port = {port}\n\
             unix_socket_dir =\n\
             auth_type = trust\n\
             auth_file = {folder}/users\n\
             pool_mode = {mode}\n\
             default_pool_size = {pool}\n\
             logfile = {folder}/log\n",
            cluster.port(),
            folder = folder.display(),
        );
        put(&folder.join("pgbouncer.ini"), settings.as_bytes(), user);
        put(&folder.join("users"), b"\"inbox\" \"\"\n", user);
        put(&folder.join("log"), b"", user);
        let mut command = Command::new("sh");
        command
            .args(["-c", GUARDIAN, "guardian"])
            .args([program, &folder])
            .current_dir(&folder);
        let (guardian, life, is_ready) = guard(command, user);
        let pooler = Pooler {
            folder,
            port,
            guardian,
            life,
        };
        if is_ready {
            Ok(pooler)
        } else {
            Err(pooler.log())
        }
    }

    /// What it wrote down.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The URL of a store in this schema, through the pooler.
    pub fn url(&self, schema: &str) -> String {
        let port = self.port;
        format!("postgres://inbox@127.0.0.1:{port}/inbox?schema={schema}")
    }

    /// psql through the pooler.
    pub fn client(&self, cluster: &Cluster) -> Command {
        let mut command = cluster.client("inbox");
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        command
    }

    /// Runs SQL through the pooler and gives its rows.
    pub fn psql(&self, cluster: &Cluster, sql: &str) -> String {
        let mut client = self.client(cluster);
        let output = client.args(["-c", sql]).output().expect("psql starts");
        assert!(
            output.status.success(),
            "psql refused {sql:?}: {output:?}\n{}",
            self.log()
        );
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.life = None;
        // Nothing to do about a guardian that is gone already.
        let _ = self.guardian.wait();
    }
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::iter::once(PathBuf::from("/usr/sbin"))
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join("pgbouncer"))
        .find(|program| program.exists())
}

/// Nothing is skipped when there is no pooler: the test fails and says what to install.
fn required(program: Option<PathBuf>) -> PathBuf {
    program.unwrap_or_else(|| panic!("{INSTALL}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "apt-get install pgbouncer")]
    fn without_a_pooler_the_tests_fail_and_say_what_to_install() {
        required(None);
    }

    #[test]
    fn a_pooler_answers_and_leaves_nothing_behind() {
        let cluster = Cluster::start();
        let pooler = Pooler::start(&cluster, Mode::Transaction);
        assert_eq!(pooler.psql(&cluster, "SELECT current_user"), "inbox");
        let folder = pooler.folder.clone();
        drop(pooler);
        assert!(!folder.exists());
    }
}
