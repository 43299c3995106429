//! What can go wrong in a store, before it becomes a [`Refusal`].

use inbox_core::{Code, Refusal};

/// How to go back to a copy. Everything beside a store goes with it: another one under the same name would be read with what the old one
/// left there.
pub const GO_BACK: &str = "mv the store and all beside it that begins with its name (coord.db*) to another folder while nobody uses it, then cp the newest inbox backup into its place";

/// A failure of the store itself; the rules' refusals are [`Refusal`]s.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no store at this place.
    #[error("there is no store at {0}")]
    NotFound(String),
    /// The file is damaged or is something else.
    #[error("{place} is not a sound inbox store: {problem}")]
    Corrupt {
        /// The file or database.
        place: String,
        /// What was found.
        problem: String,
    },
    /// A file of the store, or one beside it, is another file: a link, a pipe, or somebody else's.
    #[error("{problem}")]
    NotOurs {
        /// The file, and what it is.
        problem: String,
        /// What to do about it.
        hint: String,
    },
    /// What is named is no file, and so no store of anybody's.
    #[error("{place} is not a sound inbox store: it is not a regular file")]
    NotAFile {
        /// What is named.
        place: String,
        /// The file that may be meant.
        meant: String,
    },
    /// The file is sound, and lacks what was committed last.
    #[error("{problem}")]
    Behind {
        /// What is missing.
        problem: String,
        /// How to go on.
        hint: String,
    },
    /// The store has a schema that this program does not know.
    #[error("the store has schema {found}, and this program knows up to {known}")]
    Newer {
        /// The store's schema.
        found: i64,
        /// This program's schema.
        known: i64,
    },
    /// The store is a copy that is not finished.
    #[error("{to} is a copy of {from} that is not finished")]
    Moving {
        /// What it is a copy of.
        from: String,
        /// The store.
        to: String,
    },
    /// The database refused; the text is its own.
    #[error("{0}")]
    Database(String),
    /// What names the store is no URL that can be used. The text has no password in it.
    #[error("the PostgreSQL URL cannot be used: {0}")]
    BadUrl(String),
    /// The role may not use the store, or may not make one.
    #[error("{0}")]
    Denied(String),
    /// The server cannot be reached, or does not let us in.
    #[error("{0}")]
    Unreachable(String),
    /// The disk is full.
    #[error("{0}")]
    Full(String),
    /// The file or its folder cannot be written.
    #[error("{0}")]
    ReadOnly(String),
    /// No file can be in this place.
    #[error("{0}")]
    NoPlace(String),
    /// The file is where SQLite cannot keep its promises.
    #[error("{0}")]
    Network(String),
    /// Somebody kept the write lock longer than a writer may wait.
    #[error("{0}")]
    Busy(String),
    /// The connection was lost when the write may have been committed already.
    #[error("whether the write took effect is not known: {0}")]
    Unknown(String),
    /// The thread changed between reading and writing: decide again.
    #[error("the thread was changed at the same time")]
    Raced,
    /// A value that no store can hold, whatever is tried.
    #[error("{0}")]
    Unstorable(String),
    /// A stored value that no version of this program writes.
    #[error("the store holds {0}, which no version of inbox writes")]
    Unreadable(String),
}

impl StoreError {
    /// A failure of a file, by what can be done about it.
    pub(crate) fn of_file(what: String, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{
            InvalidFilename, IsADirectory, NotADirectory, NotFound, PermissionDenied,
            ReadOnlyFilesystem, StorageFull,
        };
        let text = format!("{what}: {error}");
        if crate::private::is_not_ours(error) {
            return StoreError::NotOurs {
                problem: text,
                hint: "ls -l shows what it is; take it away unless it is yours, and inbox makes its own"
                    .into(),
            };
        }
        match error.kind() {
            StorageFull => StoreError::Full(text),
            PermissionDenied | ReadOnlyFilesystem => StoreError::ReadOnly(text),
            NotFound | NotADirectory | IsADirectory | InvalidFilename => StoreError::NoPlace(text),
            _ => StoreError::Database(text),
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::NotFound(_) => Refusal::new(Code::StoreNotFound, message)
                .hint("make one with inbox init, or name another with --db or INBOX_DB"),
            StoreError::Corrupt { .. } | StoreError::Unreadable(_) => {
                Refusal::new(Code::StoreCorrupt, message)
                    .hint(format!("inbox doctor says what is wrong; to go back, {GO_BACK}"))
            }
            StoreError::NotAFile { meant, .. } => Refusal::new(Code::StoreCorrupt, message).hint(format!(
                "name the file of a store: inbox --db {meant}; nothing is damaged"
            )),
            StoreError::NotOurs { hint, .. } | StoreError::Behind { hint, .. } => {
                Refusal::new(Code::StoreCorrupt, message).hint(hint)
            }
            StoreError::Newer { .. } => Refusal::new(Code::StoreNewer, message)
                .hint("use the version of inbox that wrote the store, or a later one"),
            StoreError::BadUrl(_) => Refusal::input(message)
                .hint("inbox --db postgres://user@host:5432/database?schema=inbox is how it is written; INBOX_DB takes the same"),
            StoreError::Unstorable(_) => Refusal::input(message),
            StoreError::Denied(_) => Refusal::new(Code::Storage, message)
                .hint("psql -c 'GRANT owner TO role' makes a role a member of the store's owner; whoever makes a store needs 'GRANT CREATE ON DATABASE'"),
            StoreError::Unreachable(_) => Refusal::new(Code::Storage, message)
                .hint("inbox doctor says what it finds; check the server, its name in --db or INBOX_DB, and the login, then try again with the same --key"),
            StoreError::Moving { from, to } => Refusal::new(Code::StoreMoving, message).hint(format!(
                "inbox migrate --from {from} --to {to} goes on with it"
            )),
            StoreError::Full(_) => Refusal::new(Code::Storage, message)
                .hint("nothing was written, and nothing that was acknowledged is lost; free some space, then try again with the same --key"),
            StoreError::ReadOnly(_) => Refusal::new(Code::Storage, message)
                .hint("check who owns the file and its folder, and whether the disk is mounted read-only"),
            StoreError::NoPlace(_) => Refusal::new(Code::Storage, message)
                .hint("ls -ld its folder: a file needs one that is there and takes files"),
            StoreError::Network(_) => Refusal::new(Code::Storage, message)
                .hint("keep the store on a local disk, or share a PostgreSQL database; INBOX_ALLOW_NETWORK_FS=1 takes the risk"),
            StoreError::Busy(_) => Refusal::new(Code::Storage, message)
                .hint("inbox doctor names the process that holds the lock; try again with the same --key"),
            StoreError::Unknown(_) => Refusal::new(Code::Storage, message)
                .hint("try again with the same --key, which has one effect; without a key, look with inbox list first"),
            StoreError::Database(_) | StoreError::Raced => Refusal::new(Code::Storage, message)
                .hint("nothing was written; inbox doctor checks the store; then try again with the same --key"),
        }
    }
}

/// Why a transaction ended without a commit.
#[derive(Debug)]
pub enum Abort {
    /// A rule said no.
    Refused(Refusal),
    /// The store failed.
    Failed(StoreError),
}

impl From<Refusal> for Abort {
    fn from(refusal: Refusal) -> Self {
        Abort::Refused(refusal)
    }
}

impl From<StoreError> for Abort {
    fn from(error: StoreError) -> Self {
        Abort::Failed(error)
    }
}

impl From<Abort> for Refusal {
    fn from(abort: Abort) -> Self {
        match abort {
            Abort::Refused(refusal) => refusal,
            Abort::Failed(error) => error.into(),
        }
    }
}
