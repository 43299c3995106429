//! What this machine knows of a session beside the store: whether it is in the midst of a turn, who watches for its
//! mail, and when it was last woken.
//!
//! Hooks write it at every turn, so it is a small file and no row of the store: nobody elsewhere needs it, and it
//! must cost nothing. Where it cannot be kept, a session counts as idle, and its client keeps a wake until its
//! turn has ended.

mod watch;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use inbox_core::SessionId;

use super::process::Process;
use crate::cli::find;

pub(super) use self::watch::Watch;

/// After so long without a word a turn counts as over: one that a person broke off ends without a hook.
const SILENCE: Duration = Duration::from_mins(10);

/// After so long what is left of a session that never ended is swept away.
const OLD: Duration = Duration::from_hours(30 * 24);

/// Whether a session could be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// No hook has said anything of it.
    Unknown,
    /// It waits for its user.
    Idle,
    /// It is in the midst of a turn.
    Busy,
}

/// A session on this machine.
#[derive(Debug, Clone)]
pub(super) struct Presence {
    folder: PathBuf,
    stem: String,
}

impl Presence {
    /// Where the session's files are; nothing for a user without a home.
    pub(super) fn of(session: &SessionId) -> Option<Self> {
        Some(Presence {
            folder: folder()?,
            stem: stem(session.as_str()),
        })
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.stem))
    }

    fn open(&self, kind: &str) -> std::io::Result<File> {
        let open = || {
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(self.file(kind))
        };
        match open() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let mut folders = std::fs::DirBuilder::new();
                folders.recursive(true).mode(0o700).create(&self.folder)?;
                open()
            }
            outcome => outcome,
        }
    }

    /// Writes down how a client's session stands. The words are of one length, so that no reader sees half of them.
    pub(super) fn note(&self, client: &str, standing: Standing) {
        let word = match standing {
            Standing::Busy => "busy",
            Standing::Idle | Standing::Unknown => "idle",
        };
        // What cannot be written is no reason to stop an agent.
        let _ = self
            .open("state")
            .and_then(|mut file| file.write_all(format!("{word} {client}\n").as_bytes()));
    }

    /// The session has ended.
    pub(super) fn forget(&self) {
        for kind in ["state", "lock", "monitor"] {
            let _ = std::fs::remove_file(self.file(kind));
        }
    }

    pub(super) fn standing(&self) -> Standing {
        let path = self.file("state");
        let Ok(text) = std::fs::read_to_string(&path) else {
            return Standing::Unknown;
        };
        let is_silent = || age(&path).is_none_or(|age| age > SILENCE);
        match text.split_whitespace().next() {
            Some("busy") if !is_silent() => Standing::Busy,
            Some(_) => Standing::Idle,
            None => Standing::Unknown,
        }
    }

    /// How many of a client's sessions were heard of after this one.
    pub(super) fn later(&self, client: &str) -> usize {
        let own = age(&self.file("state"));
        let Ok(entries) = std::fs::read_dir(&self.folder) else {
            return 0;
        };
        let path = self.file("state");
        let others = entries.flatten().map(|entry| entry.path());
        others
            .filter(|other| other.extension().is_some_and(|kind| kind == "state"))
            .filter(|other| *other != path)
            .filter(|other| {
                let text = std::fs::read_to_string(other).unwrap_or_default();
                text.split_whitespace().nth(1) == Some(client)
            })
            .filter(|other| age(other) < own)
            .count()
    }

    /// Takes away what is left of sessions that never ended.
    pub(super) fn sweep(&self) {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        for entry in entries.flatten() {
            if age(&entry.path()).is_some_and(|age| age > OLD) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// Which session a process of a client has now: it may begin another one, and its monitor stays.
#[derive(Debug, Clone)]
pub(super) struct Current {
    path: PathBuf,
}

impl Current {
    pub(super) fn of(client: &str, process: &Process) -> Option<Self> {
        let name = format!("{client}-{}.process", process.name());
        Some(Current {
            path: folder()?.join(name),
        })
    }

    /// The session, if a hook has said it.
    pub(super) fn session(&self) -> Option<SessionId> {
        std::fs::read_to_string(&self.path)
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    pub(super) fn note(&self, session: &SessionId) {
        let beside = self
            .path
            .with_extension(format!("{}.new", std::process::id()));
        // As a whole, because ids are of any length.
        let _ = inbox_store::private::write(&beside, format!("{}\n", session.as_str()).as_bytes())
            .and_then(|()| std::fs::rename(&beside, &self.path));
    }
}

fn folder() -> Option<PathBuf> {
    let state = find::variable("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| {
        let home = find::variable("HOME")?;
        Some(Path::new(&home).join(".local/state"))
    })?;
    Some(state.join("inbox/sessions"))
}

fn age(path: &Path) -> Option<Duration> {
    let written = std::fs::metadata(path)
        .and_then(|found| found.modified())
        .ok()?;
    Some(
        SystemTime::now()
            .duration_since(written)
            .unwrap_or_default(),
    )
}

/// A session's name as that of a file. Clients name their sessions as they like.
fn stem(session: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if session.chars().all(is_plain) {
        return session.to_owned();
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in session.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let plain = session.chars().map(|c| if is_plain(c) { c } else { '_' });
    // No plain name has a point in it.
    format!("{}.{hash:016x}", plain.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own, gone with the test.
    pub(super) struct Folder(PathBuf);

    impl Folder {
        pub(super) fn new(name: &str) -> Self {
            let name = format!("inbox-presence-{name}-{}", std::process::id());
            Folder(std::env::temp_dir().join(name))
        }

        pub(super) fn session(&self, id: &str) -> Presence {
            Presence {
                folder: self.0.clone(),
                stem: stem(id),
            }
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn put_back(presence: &Presence, time: Duration) {
        let file = File::options()
            .write(true)
            .open(presence.file("state"))
            .unwrap();
        file.set_modified(SystemTime::now() - time).unwrap();
    }

    #[test]
    fn no_two_sessions_share_a_file_and_none_leaves_its_folder() {
        assert_eq!(stem("8e1f0c7a-53c2"), "8e1f0c7a-53c2");
        for name in ["../../etc/passwd", "a/b", "a.b", "..", "a:b"] {
            let found = stem(name);
            assert!(!found.contains('/') && found.len() > name.len(), "{found}");
        }
        assert_ne!(stem("a/b"), stem("a:b"));
        assert_ne!(stem("a/b"), stem("a_b"));
    }

    #[test]
    fn a_turn_counts_until_it_ends_or_nothing_was_heard_for_long() {
        let folder = Folder::new("turn");
        let session = folder.session("s-1");
        assert_eq!(session.standing(), Standing::Unknown);
        session.note("codex", Standing::Busy);
        assert_eq!(session.standing(), Standing::Busy);
        session.note("codex", Standing::Idle);
        assert_eq!(session.standing(), Standing::Idle);
        session.note("codex", Standing::Busy);
        put_back(&session, SILENCE + Duration::from_secs(1));
        assert_eq!(session.standing(), Standing::Idle);
        session.forget();
        assert_eq!(session.standing(), Standing::Unknown);
    }

    #[test]
    fn those_used_last_come_first_among_the_sessions_of_one_client() {
        let folder = Folder::new("later");
        for (id, client, minutes) in [("a", "codex", 3), ("b", "codex", 2), ("c", "claude", 1)] {
            folder.session(id).note(client, Standing::Idle);
            put_back(&folder.session(id), Duration::from_mins(minutes));
        }
        assert_eq!(folder.session("b").later("codex"), 0);
        assert_eq!(folder.session("a").later("codex"), 1);
    }
}
