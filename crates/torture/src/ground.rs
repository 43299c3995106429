//! The ground that a part stands on: a scratch store that nobody else has, and the real program before it.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use inbox_core::{AgentName, Code, EventId, Refusal, ThreadId};
use inbox_ops::{Caller, Config, Inbox};
use inbox_store::{Location, Rows, Store};

use crate::child::{Leashed, NEVER, Outcome, ends, ends_within, words};
use crate::scratch::{Scratch, cannot};
use crate::{Broken, reach};

/// What made a wait look the last time before it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Nothing: the first look found it.
    AtOnce,
    /// The doorbell rang.
    ByBell,
    /// No ring, but its own look around.
    ByLook,
    /// Nothing came before the time had passed.
    InVain,
}

/// Waits for a reply in a thread after an event, as `wait-reply` does: what woke it, the reply's summary and where to go on.
pub type Wait = fn(&Inbox, &Caller, ThreadId, EventId) -> Result<(Woken, String, EventId), Refusal>;

/// What of the program the parts use besides its operations.
#[derive(Debug, Clone)]
pub struct Tools {
    /// The program itself.
    pub program: PathBuf,
    /// How it waits.
    pub wait: Wait,
}

/// A scratch store, and the program before it.
pub struct Ground<'a> {
    scratch: &'a Scratch,
    tools: &'a Tools,
    folder: PathBuf,
    location: Location,
}

impl<'a> Ground<'a> {
    /// A folder of this name with a fresh store.
    pub fn make(scratch: &'a Scratch, tools: &'a Tools, name: &str) -> Result<Self, Refusal> {
        let ground = Ground::without_store(scratch, tools, name)?;
        // By the program: in this process a store would not be one for tests.
        let made = ground.run("init").map_err(trouble)?;
        match made.told() {
            Some(told) => Err(trouble(Broken::new(told))),
            None => made.ok().map(|_| ground).map_err(trouble),
        }
    }

    /// A folder of this name, and where its store would be.
    fn without_store(scratch: &'a Scratch, tools: &'a Tools, name: &str) -> Result<Self, Refusal> {
        let folder = scratch.folder().join(name);
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(|error| cannot(&folder.display().to_string(), &error))?;
        let ground = Ground {
            location: scratch.location(&folder, name),
            scratch,
            tools,
            folder,
        };
        if let Ok(mut made) = scratch.made.lock() {
            made.push(ground.location.clone());
        }
        Ok(ground)
    }

    /// Another place, where there is no store yet.
    pub fn bare(&self, name: &str) -> Result<Ground<'a>, Broken> {
        let name = self.named(name);
        Ok(Ground::without_store(self.scratch, self.tools, &name)?)
    }

    /// Another fresh store, for parts that need several.
    pub fn another(&self, name: &str) -> Result<Ground<'a>, Broken> {
        let name = self.named(name);
        Ok(Ground::make(self.scratch, self.tools, &name)?)
    }

    /// A name that tells whose place it is.
    fn named(&self, name: &str) -> String {
        let own = self.folder.file_name().unwrap_or_default();
        format!("{}-{name}", own.to_string_lossy())
    }

    /// Takes the store away before the end of the run, where many are made.
    pub fn remove(self) {
        if let Ok(mut made) = self.scratch.made.lock() {
            made.retain(|location| *location != self.location);
        }
        if self.is_served() {
            let _ = Store::remove_for_tests(&self.location);
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.tools.program
    }

    /// How the program waits.
    pub fn wait(&self) -> Wait {
        self.tools.wait
    }

    /// The folder of this ground.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where its store is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The store's file, where it is one.
    pub fn file(&self) -> Option<&Path> {
        match &self.location {
            Location::File(path) => Some(path),
            Location::Postgres(_) => None,
        }
    }

    /// Whether the store is a server's.
    pub fn is_served(&self) -> bool {
        matches!(self.location, Location::Postgres(_))
    }

    /// A command of the program on the store, ready to be run or spawned: a clean environment, nothing on standard input.
    pub fn command<A: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(self.program());
        command
            .args(args)
            .current_dir(&self.folder)
            .env_clear()
            .envs(reach::inherited(&self.folder))
            .env("INBOX_TEST_STORE", "1")
            .env("INBOX_DB", self.db())
            // The torture's own agents talk to each other without end, on purpose.
            .env("INBOX_GUARD_MAX_TURNS", "0")
            .env("INBOX_GUARD_MAX_HOPS", "0")
            .env("INBOX_GUARD_MAX_REPEATS", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Who cleans up after us finds it there, and Ctrl-C does not.
            .process_group(self.scratch.group());
        command
    }

    /// The store as `INBOX_DB` names it.
    pub fn db(&self) -> OsString {
        reach::db(&self.location)
    }

    /// Starts a command that is written as [`words`].
    pub fn start(&self, line: &str) -> Result<Leashed, Broken> {
        Ok(Leashed(self.command(words(line)).spawn()?))
    }

    /// Runs a command that is written as [`words`], to its end.
    pub fn run(&self, line: &str) -> Result<Outcome, Broken> {
        ends(self.start(line)?)
    }

    /// The store, opened in this process.
    pub fn store(&self) -> Result<Store, Broken> {
        Ok(Store::open(&self.location)?)
    }

    /// The operations on it.
    pub fn inbox(&self) -> Result<Inbox, Broken> {
        Ok(inbox(self.store()?))
    }

    /// What a query finds.
    pub fn look(&self, query: &str) -> Result<Rows, Broken> {
        Ok(self.store()?.look(query)?)
    }

    /// Every row of every table.
    pub fn dump(&self) -> Result<Vec<String>, Broken> {
        Ok(self.store()?.dump()?)
    }

    /// That the store is sound, as `doctor` sees it.
    pub fn is_sound(&self) -> Result<(), Broken> {
        self.is_sound_within(NEVER)
    }

    /// The same for a large store.
    pub fn is_sound_within(&self, time: Duration) -> Result<(), Broken> {
        let found = ends_within(time, self.start("doctor")?)?;
        match found.code {
            0 => Ok(()),
            _ => Err(found.broken(format!("doctor finds: {found}"))),
        }
    }
}

/// The operations on a store, for agents who talk to each other without end.
pub fn inbox(store: Store) -> Inbox {
    let mut config = Config::default();
    config.guard.max_turns = 0;
    config.guard.max_hops = 0;
    config.guard.max_repeats = 0;
    Inbox::new(store).with_config(config)
}

/// Somebody who calls by name.
pub fn caller(name: &str) -> Result<Caller, Refusal> {
    Ok(Caller::local(Some(name.parse::<AgentName>()?)))
}

fn trouble(broken: Broken) -> Refusal {
    Refusal::new(Code::Storage, broken.what).hint("inbox doctor checks this machine and the store")
}
