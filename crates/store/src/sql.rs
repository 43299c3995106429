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
    /// Whether both are made from one file.
    pub is_shared: bool,
}

/// The views that a statement reads, as its `WITH` clause. They are not in the schema: SQLite parses the
/// whole schema in every process, and views that it never read were a fifth of what `inbox send`
/// computed. The log is the one difference: PostgreSQL has it as a view, which hides what has no number.
macro_rules! with {
    (sqlite) => { "" };
    (postgres) => { "" };
    (sqlite log) => { concat!("WITH ", view!(log sqlite), "\n") };
    (postgres log) => { "" };
    (sqlite thread_rows) => { concat!("WITH ", view!(thread_rows), "\n") };
    (postgres thread_rows) => { with!(sqlite thread_rows) };
    (sqlite thread_rows log) => { concat!("WITH ", view!(log sqlite), ", ", view!(thread_rows), "\n") };
    (postgres thread_rows log) => { with!(postgres thread_rows) };
    (sqlite message_rows) => { concat!("WITH ", view!(log sqlite), ", ", view!(message_rows), "\n") };
    (postgres message_rows) => { concat!("WITH ", view!(message_rows), "\n") };
    (sqlite event_rows) => { concat!("WITH ", view!(log sqlite), ", ", view!(event_rows), "\n") };
    (postgres event_rows) => { concat!("WITH ", view!(event_rows), "\n") };
}

macro_rules! view {
    (log sqlite) => {
        concat!("log AS (", include_str!("../sql/views/log.sqlite.sql"), ")")
    };
    ($name:ident) => {
        concat!(
            stringify!($name),
            " AS (",
            include_str!(concat!("../sql/views/", stringify!($name), ".sql")),
            ")"
        )
    };
}

macro_rules! statements {
    (
        shared { $($shared:ident $shared_file:literal $(reads $($view:ident)+)?,)* }
        differs { $($both:ident $sqlite_file:literal $postgres_file:literal $(reads $($both_view:ident)+)?,)* }
        postgres { $($only:ident $only_file:literal,)* }
    ) => {
        $(pub(crate) static $shared: Sql = Sql {
            name: $shared_file,
            sqlite: concat!(with!(sqlite $($($view)+)?), include_str!(concat!("../sql/queries/", $shared_file, ".sql"))),
            postgres: concat!(with!(postgres $($($view)+)?), include_str!(concat!("../sql/queries/", $shared_file, ".sql"))),
            is_shared: true,
        };)*
        $(pub(crate) static $both: Sql = Sql {
            name: $postgres_file,
            sqlite: concat!(with!(sqlite $($($both_view)+)?), include_str!(concat!("../sql/queries/", $sqlite_file, ".sql"))),
            postgres: concat!(with!(postgres $($($both_view)+)?), include_str!(concat!("../sql/queries/", $postgres_file, ".postgres.sql"))),
            is_shared: false,
        };)*
        $(pub(crate) static $only: Sql = Sql {
            name: $only_file,
            sqlite: "",
            postgres: include_str!(concat!("../sql/queries/", $only_file, ".postgres.sql")),
            is_shared: false,
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
        LOAD_THREAD "load_thread" reads thread_rows,
        COUNT_CLAIMS "count_claims",
        CLAIM_BY_TOKEN "claim_by_token",
        QUEUED "queued" reads thread_rows,
        LAPSED "lapsed" reads thread_rows,
        REACHED_BY_STATUS "reached_by_status" reads thread_rows,
        HAS_UNREAD "has_unread",
        LIST_THREADS "list_threads" reads thread_rows,
        LIST_CHANGED "list_changed" reads thread_rows log,
        NEWEST_EVENT "newest_event" reads log,
        EVENT_OF_ENTRY "event_of_entry" reads log,
        LATEST_EVENT_OF_THREAD "latest_event_of_thread" reads log,
        MESSAGES_OF_THREAD "messages_of_thread" reads message_rows,
        LOAD_MESSAGE "load_message" reads message_rows,
        ARTIFACTS_OF_THREAD "artifacts_of_thread" reads log,
        NEXT_REPLY "next_reply" reads message_rows,
        LATEST_MESSAGE_BY "latest_message_by" reads message_rows,
        EVENTS_AFTER "events_after" reads event_rows,
        RECALL "recall",
        REMEMBER "remember",
        LOAD_META "load_meta",
        SAVE_META "save_meta",
        COUNTS "counts",
    }
    differs {
        TAKE_QUEUED "queued" "take_queued" reads thread_rows,
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
];

/// The schema that this program writes.
pub const SCHEMA_VERSION: i64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn without_comments(text: &str) -> String {
        text.lines()
            .map(|line| line.split("--").next().unwrap_or_default())
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn nine_statements_in_ten_are_one_text_for_both_databases() {
        let shared = ALL.iter().filter(|sql| sql.is_shared).count();
        // What only one of them has is no statement in two texts; what differs is.
        let in_both = ALL.iter().filter(|sql| !sql.sqlite.is_empty()).count();
        assert!(shared * 10 >= in_both * 9, "{shared} of {in_both}");
    }

    #[test]
    fn a_text_for_one_database_begins_with_why() {
        for sql in ALL.iter().filter(|sql| !sql.is_shared) {
            assert!(sql.postgres.contains("-- differs: "), "{}", sql.name);
        }
        for step in MIGRATIONS
            .iter()
            .filter(|step| step.sqlite != step.postgres)
        {
            assert!(step.sqlite.starts_with("-- differs: "), "{}", step.version);
            assert!(
                step.postgres.starts_with("-- differs: "),
                "{}",
                step.version
            );
        }
    }

    #[test]
    fn parameters_first_appear_in_the_order_of_their_numbers() {
        // SQLite numbers `$1` by its first appearance, PostgreSQL by its name.
        for sql in ALL {
            let text = without_comments(sql.sqlite);
            let mut seen: Vec<u32> = Vec::new();
            for part in text.split('$').skip(1) {
                let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
                let number = digits.parse().expect("a number follows the sign");
                if !seen.contains(&number) {
                    seen.push(number);
                }
            }
            let expected: Vec<u32> = (1..).take(seen.len()).collect();
            assert_eq!(seen, expected, "{}", sql.name);
        }
    }

    #[test]
    fn the_newest_migration_is_the_schemas_version() {
        let versions: Vec<_> = MIGRATIONS.iter().map(|step| step.version).collect();
        assert_eq!(versions, (1..=SCHEMA_VERSION).collect::<Vec<_>>());
    }

    #[test]
    fn a_migration_that_has_landed_is_never_edited() {
        // FNV-1a over both texts. A new step adds a line; a changed line is an edit of the past.
        let landed = [0x3562_e4d8_ad9c_a1c9, 0x0b83_c39c_8a74_eb78];
        for (step, hash) in MIGRATIONS.iter().zip(landed) {
            let mut found = 0xcbf2_9ce4_8422_2325_u64;
            for byte in step.sqlite.bytes().chain(step.postgres.bytes()) {
                found = (found ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
            assert_eq!(
                found, hash,
                "migration {} has the sum {found:#018x}",
                step.version
            );
        }
        assert_eq!(landed.len(), MIGRATIONS.len());
    }
}
