//! The real binary in a folder of its own: a clean environment, a store made for tests, and the whole
//! outcome of each command.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// A folder that is removed with its owner.
#[derive(Debug)]
pub struct TempDir(PathBuf);

impl TempDir {
    /// Makes a folder.
    #[expect(
        clippy::new_without_default,
        reason = "it makes a folder, which no default should"
    )]
    pub fn new() -> Self {
        TempDir::below(&std::env::temp_dir())
    }

    /// Makes a folder in memory where the system has a place for it, for harnesses that write so often
    /// that a disk would be what they measure.
    pub fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            TempDir::below(memory)
        } else {
            TempDir::new()
        }
    }

    fn below(parent: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "inbox-test-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::SeqCst)
        );
        let path = parent.join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder can be made");
        TempDir(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A folder with a store, and the binary to run in it.
#[derive(Debug)]
pub struct Sandbox {
    binary: PathBuf,
    folder: TempDir,
    db: Option<String>,
    environment: Vec<(String, String)>,
}

/// The whole outcome of a command.
#[must_use = "assert on the outcome"]
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The exit status; -1 when a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Outcome {
    /// The answer as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {self}"))
    }

    /// The answer as JSON, of a command that succeeded.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.code, 0, "{self}");
        let answer = self.json();
        assert_eq!(answer["ok"], true, "{self}");
        answer
    }

    /// The error's code and exit status, of a command that was refused.
    #[track_caller]
    pub fn refused(&self, exit: i32, code: &str) -> Value {
        assert_eq!(self.code, exit, "{self}");
        let answer = self.json();
        assert_eq!(answer["ok"], false, "{self}");
        assert_eq!(answer["error"]["code"], code, "{self}");
        answer
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "exit {}\n{}------- stderr -------\n{}",
            self.code, self.stdout, self.stderr
        )
    }
}

impl Sandbox {
    /// A folder with a fresh SQLite store; `binary` is `env!("CARGO_BIN_EXE_inbox")`.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let sandbox = Sandbox::empty(binary);
        sandbox.run(["init", "--json"]).ok();
        sandbox
    }

    /// A folder with a fresh SQLite store, in memory where the system has a place for it.
    pub fn in_memory(binary: impl Into<PathBuf>) -> Self {
        let mut sandbox = Sandbox::empty(binary);
        sandbox.folder = TempDir::in_memory();
        sandbox.run(["init", "--json"]).ok();
        sandbox
    }

    /// A folder without a store.
    pub fn empty(binary: impl Into<PathBuf>) -> Self {
        Sandbox {
            binary: binary.into(),
            folder: TempDir::new(),
            db: None,
            environment: Vec::new(),
        }
    }

    /// A fresh store at this place, such as a PostgreSQL URL.
    pub fn at(binary: impl Into<PathBuf>, db: impl Into<String>) -> Self {
        let mut sandbox = Sandbox::empty(binary);
        sandbox.db = Some(db.into());
        sandbox.run(["init", "--json"]).ok();
        sandbox
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The store's file.
    pub fn store(&self) -> PathBuf {
        self.folder().join(".agents/coord.db")
    }

    /// Sets a variable for every command that follows.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// A command, ready to be run or spawned.
    pub fn command<I, A>(&self, args: I) -> Command
    where
        I: IntoIterator<Item = A>,
        A: AsRef<OsStr>,
    {
        let mut command = Command::new(&self.binary);
        command
            .args(args)
            .current_dir(self.folder())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder())
            .env("INBOX_TEST_STORE", "1")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(bug) = std::env::var_os("INBOX_SABOTAGE") {
            command.env("INBOX_SABOTAGE", bug);
        }
        if let Some(db) = &self.db {
            command.env("INBOX_DB", db);
        }
        command
    }

    /// Runs a command to its end.
    #[track_caller]
    pub fn run<I, A>(&self, args: I) -> Outcome
    where
        I: IntoIterator<Item = A>,
        A: AsRef<OsStr>,
    {
        finish(self.spawn(args))
    }

    /// Runs a command that is written as [`words`], and gives its answer; it must succeed.
    #[track_caller]
    pub fn ok(&self, line: &str) -> Value {
        self.run(words(line)).ok()
    }

    /// Starts a command.
    #[track_caller]
    pub fn spawn<I, A>(&self, args: I) -> Child
    where
        I: IntoIterator<Item = A>,
        A: AsRef<OsStr>,
    {
        self.command(args).spawn().expect("the binary starts")
    }
}

/// A command in one line: words are separated by spaces, `~` stands for a space within a word, and `--json` is added.
pub fn words(line: &str) -> Vec<String> {
    line.split_whitespace()
        .map(|word| word.replace('~', " "))
        .chain(["--json".to_owned()])
        .collect()
}

/// Waits for a started command and gives its whole outcome.
pub fn finish(child: Child) -> Outcome {
    let output = child
        .wait_with_output()
        .expect("the command can be waited for");
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
