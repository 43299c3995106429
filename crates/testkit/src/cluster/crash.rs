//! Ends of the server that nobody planned, and its return on the same port.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Cluster, clean, unprivileged};

/// How long the server may take to go or to come. Not a measure of speed.
const NEVER: Duration = Duration::from_mins(2);

impl Cluster {
    /// Ends the server at once, as `pg_ctl -m immediate stop` does: it recovers when it starts.
    pub fn stop_immediately(&self) {
        let stopped = self.pg_ctl(&["-m", "immediate", "-w", "-t", "60", "stop"]);
        assert!(stopped.status.success(), "pg_ctl stop: {stopped:?}");
    }

    /// Kills the postmaster as `kill -9` does, and waits until the backends have noticed: as long as
    /// one of them is left, no server can start in their place.
    pub fn kill_postmaster(&self) {
        let file = self.data().join("postmaster.pid");
        let text = std::fs::read_to_string(&file).expect("a server that runs has its file");
        let pid = text
            .lines()
            .next()
            .and_then(|line| line.trim().parse().ok());
        let pid = pid
            .and_then(Pid::from_raw)
            .expect("the file names the process");
        kill_process(pid, Signal::KILL).expect("the postmaster is there");
        self.wait_until("the server's processes have ended", || {
            self.processes() == 0
        });
        // Until its parent has heard of its end, a dead process takes signals as one that lives, and
        // the next server would give way to it.
        if PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero())).exists() {
            let _ = std::fs::remove_file(&file);
            let socket = format!(".s.PGSQL.{}.lock", self.port);
            let _ = std::fs::remove_file(self.folder.join(socket));
        }
    }

    /// Starts the server again where it was, and waits until it takes connections.
    pub fn restart(&self) {
        let log = self.folder.join("log");
        let log = log.to_str().expect("the folder's name is text");
        let started = self.pg_ctl(&["-l", log, "-w", "-t", "100", "start"]);
        let said = std::fs::read_to_string(log).unwrap_or_default();
        let said: Vec<_> = said.lines().rev().take(20).collect();
        assert!(
            started.status.success(),
            "pg_ctl start: {started:?}\n{said:#?}"
        );
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn pg_ctl(&self, args: &[&str]) -> Output {
        let mut command = Command::new(self.bin.join("pg_ctl"));
        command
            .arg("-D")
            .arg(self.data())
            .args(args)
            .env("LC_ALL", "C")
            .current_dir(&self.folder)
            // The server that it starts would keep a pipe open.
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        clean(&mut command);
        if let Some((uid, gid)) = unprivileged() {
            command.uid(uid).gid(gid);
        }
        command.output().expect("pg_ctl starts")
    }

    /// How many processes of the server there are: all of them work in its folder.
    fn processes(&self) -> usize {
        let data = self.data();
        let all = std::fs::read_dir("/proc").expect("Linux shows its processes");
        all.flatten()
            .filter(|process| {
                std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == data)
            })
            .count()
    }

    fn wait_until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + NEVER;
        while !is_so() {
            assert!(Instant::now() < deadline, "it never came to pass: {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
