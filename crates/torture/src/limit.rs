//! Limits of the machine, told from broken promises: what cannot be tried because files, processes, memory, space or a server's
//! connections have run out says nothing of inbox.

use std::path::Path;

use inbox_core::Code;
use rustix::io::Errno;

/// With less than this a disk is taken to be full.
const NEARLY_FULL: u64 = 4 << 20;

/// A limit, the words by which it is known, and what can be done about it.
struct Limit {
    errors: &'static [Errno],
    words: &'static [&'static str],
    advice: &'static str,
}

const LIMITS: [Limit; 5] = [
    Limit {
        errors: &[Errno::MFILE, Errno::NFILE],
        words: &["Too many open files"],
        advice: "ulimit -n shows how many files a process may have open here, and ulimit -n 4096 allows more",
    },
    Limit {
        errors: &[Errno::NOSPC, Errno::DQUOT],
        words: &[
            "No space left on device",
            "Disk quota exceeded",
            "database or disk is full",
            "the disk that holds",
        ],
        advice: SPACE,
    },
    Limit {
        errors: &[Errno::NOMEM],
        words: &["Cannot allocate memory", "out of memory"],
        advice: MEMORY,
    },
    Limit {
        errors: &[Errno::AGAIN],
        words: &["Resource temporarily unavailable", "failed to spawn thread"],
        advice: "ulimit -u shows how many processes you may have here; inbox torture --only takes parts that need fewer",
    },
    Limit {
        errors: &[],
        words: &[
            "too many clients already",
            "connection slots are reserved",
            "too many connections for",
        ],
        advice: "SHOW max_connections tells how many connections the server takes; inbox torture --only takes parts that need fewer",
    },
];

const SPACE: &str =
    "df shows where there is space; inbox torture --db names a store in another place";

const MEMORY: &str = "inbox torture --only takes parts that need less memory, one at a time";

/// Whether a limit of the machine may be why something was refused with this code. Others are answers, which no limit gives.
pub(crate) fn may_be_behind(code: Code) -> bool {
    matches!(code, Code::Storage | Code::Internal | Code::Ledger)
}

/// What can be done about the limit that a text tells of, if it tells of one.
pub(crate) fn told_of(text: &str) -> Option<&'static str> {
    let number = |error: &Errno| {
        let number = error.raw_os_error();
        text.contains(&format!("(os error {number})")) || text.contains(&format!("code: {number},"))
    };
    let is_it = |limit: &&Limit| {
        limit.errors.iter().any(number) || limit.words.iter().any(|words| text.contains(words))
    };
    LIMITS.iter().find(is_it).map(|limit| limit.advice)
}

/// How many files a process needs at once to open a store.
const FOR_A_STORE: usize = 8;

/// Whether this process has as many files open as it may: a database that cannot be opened does not say why.
pub(crate) fn is_short_of_files() -> bool {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    match std::fs::read_dir("/dev/fd") {
        Ok(open) => {
            let open = u64::try_from(open.count() + FOR_A_STORE).unwrap_or(u64::MAX);
            most.is_some_and(|most| open > most)
        }
        Err(error) => error.raw_os_error() == Some(Errno::MFILE.raw_os_error()),
    }
}

/// What the machine was like before a part, to tell afterwards whether it ran out of something.
#[derive(Debug)]
pub(crate) struct Before {
    killed: i64,
}

impl Before {
    /// As it is now.
    pub(crate) fn now() -> Self {
        Before { killed: killed() }
    }

    /// As it was before the system killed somebody.
    #[cfg(test)]
    pub(crate) fn one_kill_ago() -> Self {
        Before {
            killed: killed() - 1,
        }
    }

    /// What has run out since, whatever was said of it, with what can be done.
    pub(crate) fn since(&self, folder: &Path) -> Option<(String, &'static str)> {
        if killed() > self.killed {
            return Some((
                "the system ran out of memory and killed processes".to_owned(),
                MEMORY,
            ));
        }
        let found = rustix::fs::statvfs(folder).ok()?;
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        // What has no size has no end.
        (found.f_blocks > 0 && free < NEARLY_FULL)
            .then(|| (format!("{} is full", folder.display()), SPACE))
    }
}

/// That somebody took the scratch folder away, with what can be done.
pub(crate) fn is_gone(folder: &Path) -> Option<(String, &'static str)> {
    (!folder.exists()).then(|| {
        (
            format!("somebody took {} away", folder.display()),
            "inbox torture --db names a store in a folder that stays",
        )
    })
}

/// How many processes the system has killed because there was no memory.
fn killed() -> i64 {
    let counts = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let count = counts
        .lines()
        .find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_run_out_is_known_by_its_words_and_what_is_broken_is_not() {
        for error in [
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::NOMEM,
            Errno::AGAIN,
        ] {
            let told = format!("the system refused: {}", std::io::Error::from(error));
            assert!(told_of(&told).is_some(), "{told}");
            let panicked = format!("failed: {:?}", std::io::Error::from(error));
            assert!(told_of(&panicked).is_some(), "{panicked}");
        }
        for told in [
            "db.example/inbox: sorry, too many clients already",
            "remaining connection slots are reserved for roles with the SUPERUSER attribute",
            "too many connections for role \"inbox\"",
            "x.db: database or disk is full",
        ] {
            assert!(told_of(told).is_some(), "{told}");
        }
        for broken in [
            "r1-0-3 was acknowledged and must be there once, and there is Found",
            "the store is damaged: []",
            "the system refused: Permission denied (os error 13)",
            "the system refused: Input/output error (os error 5)",
            "the system refused: nothing (os error 110)",
        ] {
            assert_eq!(told_of(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_folder_that_is_gone_is_no_broken_promise() {
        let folder = std::env::temp_dir();
        assert_eq!(is_gone(&folder), None);
        assert!(is_gone(&folder.join("gone-for-good")).is_some());
    }
}
