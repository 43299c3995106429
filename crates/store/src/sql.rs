//! The statements: one text for both databases, and the few that differ, each saying why.

/// One statement.
#[derive(Debug)]
pub struct Sql {
    /// The file's name, which is the statement's name in the PostgreSQL driver.
    pub name: &'static str,
    /// The text for SQLite; empty when only PostgreSQL has it.
    pub sqlite: &'static str,
    /// The text for PostgreSQL.
    pub postgres: &'static str,
}

macro_rules! statements {
    (
        shared { $($shared:ident $shared_file:literal,)* }
        differs { $($both:ident $sqlite_file:literal $postgres_file:literal,)* }
        postgres { $($only:ident $only_file:literal,)* }
    ) => {
        $(pub(crate) static $shared: Sql = Sql {
            name: $shared_file,
            sqlite: include_str!(concat!("../sql/queries/", $shared_file, ".sql")),
            postgres: include_str!(concat!("../sql/queries/", $shared_file, ".sql")),
        };)*
        $(pub(crate) static $both: Sql = Sql {
            name: $postgres_file,
            sqlite: include_str!(concat!("../sql/queries/", $sqlite_file, ".sql")),
            postgres: include_str!(concat!("../sql/queries/", $postgres_file, ".postgres.sql")),
        };)*
        $(pub(crate) static $only: Sql = Sql {
            name: $only_file,
            sqlite: "",
            postgres: include_str!(concat!("../sql/queries/", $only_file, ".postgres.sql")),
        };)*

        /// Every statement, for the tests that prepare each on both databases.
        pub static ALL: &[&Sql] = &[$(&$shared,)* $(&$both,)* $(&$only,)*];
    };
}

statements! {
    shared {
        FIND_AGENT "find_agent",
        INSERT_AGENT "insert_agent",
        FIND_ADDRESS "find_address",
        INSERT_ADDRESS "insert_address",
        INSERT_THREAD "insert_thread",
        INSERT_RECIPIENT "insert_recipient",
        INSERT_ENTRY "insert_entry",
        SET_LATEST_MESSAGE "set_latest_message",
        UPDATE_THREAD "update_thread",
        SET_QUEUED "set_queued",
        INSERT_ARTIFACT "insert_artifact",
        LOAD_THREAD "load_thread",
        COUNT_CLAIMS "count_claims",
        CLAIM_BY_TOKEN "claim_by_token",
        QUEUED "queued",
        LAPSED "lapsed",
        REACHED_BY_STATUS "reached_by_status",
        HAS_UNREAD "has_unread",
        LIST_THREADS "list_threads",
        LIST_CHANGED "list_changed",
        NEWEST_EVENT "newest_event",
        EVENT_OF_ENTRY "event_of_entry",
        LATEST_EVENT_OF_THREAD "latest_event_of_thread",
        MESSAGES_OF_THREAD "messages_of_thread",
        LOAD_MESSAGE "load_message",
        ARTIFACTS_OF_THREAD "artifacts_of_thread",
        NEXT_REPLY "next_reply",
        LATEST_MESSAGE_BY "latest_message_by",
        EVENTS_AFTER "events_after",
        RECALL "recall",
        REMEMBER "remember",
        LOAD_META "load_meta",
        SAVE_META "save_meta",
        COUNTS "counts",
    }
    differs {
        TAKE_QUEUED "queued" "take_queued",
    }
    postgres {
        UNNUMBERED "unnumbered",
        NUMBER "number",
        NUMBER_LOCK "number_lock",
        NOW "now",
    }
}

/// One step of the schema.
#[derive(Debug)]
pub struct Migration {
    /// Its number: the schema's version once it has been applied.
    pub version: i64,
    /// The text for SQLite.
    pub sqlite: &'static str,
    /// The text for PostgreSQL.
    pub postgres: &'static str,
}

macro_rules! migration {
    ($version:literal $file:literal) => {
        Migration {
            version: $version,
            sqlite: include_str!(concat!("../sql/migrations/", $file, ".sql")),
            postgres: include_str!(concat!("../sql/migrations/", $file, ".sql")),
        }
    };
    ($version:literal $file:literal differs) => {
        Migration {
            version: $version,
            sqlite: include_str!(concat!("../sql/migrations/", $file, ".sqlite.sql")),
            postgres: include_str!(concat!("../sql/migrations/", $file, ".postgres.sql")),
        }
    };
}

/// The schema, step by step. A step that has landed is never edited.
pub static MIGRATIONS: &[Migration] = &[
    migration!(1 "0001_tables"),
    migration!(2 "0002_keys" differs),
    migration!(3 "0003_views"),
];

/// The schema that this program writes.
pub const SCHEMA_VERSION: i64 = 3;
