//! Numbered points at which a process can be made to die, for the harnesses that prove that dying
//! there loses nothing, and faults that one transaction can be made to have. Active only on stores that were
//! created for tests.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::driver::Mode;

/// A point in the life of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The write lock is not yet taken.
    BeforeLock = 1,
    /// The transaction has begun.
    AfterBegin = 2,
    /// Everything is written and nothing is committed.
    BeforeCommit = 3,
    /// The commit is on disk; nobody has been told.
    AfterCommit = 4,
    /// The log is about to be moved into the database file.
    BeforeCheckpoint = 5,
    /// The log has been moved.
    AfterCheckpoint = 6,
    /// The lock is free; waiters have not been rung.
    BeforeRing = 7,
    /// Waiters have been rung; the answer is not printed.
    AfterRing = 8,
    /// A new store's file exists under its temporary name.
    InitFile = 9,
    /// A step of the schema is about to be committed.
    BeforeMigration = 10,
    /// A step of the schema has been committed.
    AfterMigration = 11,
    /// A new store is complete and does not have its name yet.
    InitBeforeName = 12,
    /// A new store has its name.
    InitAfterName = 13,
    /// A backup is complete and does not have its name yet.
    BackupBeforeName = 14,
    /// A backup has its name.
    BackupAfterName = 15,
    /// A part of a copy to another store is written and not committed.
    MoveBeforeCommit = 16,
    /// A part of a copy to another store is committed.
    MoveAfterCommit = 17,
    /// A copy is checked, and nobody may use it yet.
    MoveBeforeEnd = 18,
    /// A copy is a store.
    MoveAfterEnd = 19,
    /// A file of an archive has what moves there, and others may not; nothing is taken out of the store.
    ArchiveMidst = 20,
    /// A step on the ledger has its id on disk, and is not sent.
    LedgerBeforeSend = 30,
    /// A step on the ledger is sent, and its outcome is not known.
    LedgerAfterSend = 31,
    /// The outcome of a step on the ledger is known, and kept nowhere.
    LedgerAfterReceipt = 32,
    /// The file of keys is about to be written.
    LedgerBeforeSave = 33,
    /// Something is to be said on a topic, and no id is written down for it.
    BridgeBeforeId = 34,
    /// It is written down that something was said.
    BridgeAfterSaid = 35,
    /// Messages of a topic were read, and none is taken in.
    BridgeBeforeTaking = 36,
    /// Some messages of a batch are taken in, and nothing is committed.
    BridgeMidst = 37,
    /// All messages of a batch are taken in, and nothing is committed.
    BridgeBeforeCommit = 38,
    /// A batch is committed.
    BridgeAfterCommit = 39,
}

impl Point {
    /// Every point.
    pub const ALL: [Point; 30] = [
        Point::BeforeLock,
        Point::AfterBegin,
        Point::BeforeCommit,
        Point::AfterCommit,
        Point::BeforeCheckpoint,
        Point::AfterCheckpoint,
        Point::BeforeRing,
        Point::AfterRing,
        Point::InitFile,
        Point::BeforeMigration,
        Point::AfterMigration,
        Point::InitBeforeName,
        Point::InitAfterName,
        Point::BackupBeforeName,
        Point::BackupAfterName,
        Point::MoveBeforeCommit,
        Point::MoveAfterCommit,
        Point::MoveBeforeEnd,
        Point::MoveAfterEnd,
        Point::ArchiveMidst,
        Point::LedgerBeforeSend,
        Point::LedgerAfterSend,
        Point::LedgerAfterReceipt,
        Point::LedgerBeforeSave,
        Point::BridgeBeforeId,
        Point::BridgeAfterSaid,
        Point::BridgeBeforeTaking,
        Point::BridgeMidst,
        Point::BridgeBeforeCommit,
        Point::BridgeAfterCommit,
    ];
}

/// Which point is armed, and the how manieth time: none, but on a store for tests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Armed {
    dies: Option<(u32, u32)>,
    /// In what transactions there is a fault, in the how manieth the first, and in the how manieth the last.
    faults: Option<(Mode, u32, u32)>,
}

/// How often the armed point was reached.
static REACHED: AtomicU32 = AtomicU32::new(0);

/// How many transactions there were of the kind that has faults.
static RAN: AtomicU32 = AtomicU32::new(0);

impl Armed {
    /// Reads `INBOX_FAIL_POINT`, which is a point's number, or `17:3` for the third time that it is reached, and
    /// `INBOX_FAULT`, which is `write:2-5` or `read:2-5`; the caller has made sure that the store is for tests.
    pub(crate) fn from_environment() -> Self {
        let dies = || {
            let text = std::env::var("INBOX_FAIL_POINT").ok()?;
            let (point, time) = text.split_once(':').unwrap_or((&text, "1"));
            Some((point.parse().ok()?, time.parse().ok()?))
        };
        let faults = || {
            let text = std::env::var("INBOX_FAULT").ok()?;
            let (kind, times) = text.split_once(':')?;
            let mode = match kind {
                "write" => Mode::Write,
                "read" => Mode::Read,
                _ => return None,
            };
            let (first, last) = times.split_once('-').unwrap_or((times, times));
            Some((mode, first.parse().ok()?, last.parse().ok()?))
        };
        Armed {
            dies: dies(),
            faults: faults(),
        }
    }

    /// Panics here, when a transaction of this kind is to have a fault: its work is done, and nothing is kept.
    pub(crate) fn fault(self, mode: Mode) {
        if let Some((armed, first, last)) = self.faults
            && armed == mode
        {
            let time = RAN.fetch_add(1, Ordering::Relaxed) + 1;
            assert!(
                !(first..=last).contains(&time),
                "a fault was asked for, and what was written is a secret"
            );
        }
    }

    /// Dies here, as kill -9 does, when the point is the armed one.
    pub(crate) fn reach(self, point: Point) {
        if let Some((armed, time)) = self.dies
            && armed == point as u32
            && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == time
        {
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
        }
    }
}

/// Whether the environment asks for anything that only a store for tests may grant.
pub(crate) fn is_asked_for() -> bool {
    [
        "INBOX_FAIL_POINT",
        "INBOX_FAULT",
        "INBOX_NOW",
        "INBOX_PRETEND_FS",
    ]
    .iter()
    .any(|name| std::env::var_os(name).is_some())
}
