//! The statements: one text for both databases, and the few that differ, each saying why.

mod migrations;

pub use migrations::{MIGRATIONS, Migration, SCHEMA_VERSION};

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
    /// Whether it reads what has a number, and passes over the rest.
    pub(crate) reads_log: bool,
}

impl Sql {
    /// A statement of PostgreSQL's alone.
    pub(crate) const fn only_postgres(name: &'static str, text: &'static str) -> Self {
        Sql {
            name,
            sqlite: "",
            postgres: text,
            is_shared: false,
            reads_log: false,
        }
    }
}

/// The views that a statement reads, as its `WITH` clause. They are not in the schema: SQLite parses the
/// whole schema in every process, and views that it never read were a fifth of what `inbox send`
/// computed. The log is the one difference: PostgreSQL has it as a view, which hides what has no number.
macro_rules! with {
    ($database:ident) => { "" };
    (sqlite log) => { concat!("WITH ", view!(log sqlite), "\n") };
    (postgres log) => { "" };
    ($database:ident thread_rows) => { concat!("WITH ", view!(thread_rows), "\n") };
    ($database:ident connection_rows) => { concat!("WITH ", view!(connection_rows), "\n") };
    ($database:ident proposal_rows) => { concat!("WITH ", view!(proposal_rows), "\n") };
    ($database:ident readers) => { concat!("WITH ", view!(readers $database), "\n") };
    ($database:ident session_rows) => { concat!("WITH ", view!(session_rows), "\n") };
    ($database:ident thread_rows reach) => { concat!("WITH ", view!(reach), ", ", view!(thread_rows), "\n") };
    (sqlite thread_rows log) => { concat!("WITH ", view!(log sqlite), ", ", view!(thread_rows), "\n") };
    (postgres thread_rows log) => { with!(postgres thread_rows) };
    (sqlite thread_rows reach log) => {
        concat!("WITH ", view!(reach), ", ", view!(log sqlite), ", ", view!(thread_rows), "\n")
    };
    (postgres thread_rows reach log) => { with!(postgres thread_rows reach) };
    (sqlite message_rows) => { concat!("WITH ", view!(log sqlite), ", ", view!(message_rows), "\n") };
    (postgres message_rows) => { concat!("WITH ", view!(message_rows), "\n") };
    (sqlite event_rows reach) => {
        concat!("WITH ", view!(reach), ", ", view!(log sqlite), ", ", view!(event_rows sqlite), "\n")
    };
    (postgres event_rows reach) => { concat!("WITH ", view!(reach), ", ", view!(event_rows postgres), "\n") };
    (sqlite event_rows) => { concat!("WITH ", view!(log sqlite), ", ", view!(event_rows sqlite), "\n") };
    (postgres event_rows) => { concat!("WITH ", view!(event_rows postgres), "\n") };
    (sqlite delivered log) => { concat!("WITH ", view!(log sqlite), ", ", view!(delivered sqlite), "\n") };
    (postgres delivered log) => { concat!("WITH ", view!(delivered postgres), "\n") };
    (sqlite delivered message_rows) => {
        concat!("WITH ", view!(log sqlite), ", ", view!(delivered sqlite), ", ", view!(message_rows), "\n")
    };
    (postgres delivered message_rows) => {
        concat!("WITH ", view!(delivered postgres), ", ", view!(message_rows), "\n")
    };
    (sqlite unread_rows) => {
        concat!("WITH ", view!(log sqlite), ", ", view!(delivered sqlite), ", ", view!(message_rows), ", ",
                view!(unread_rows), "\n")
    };
    (postgres unread_rows) => {
        concat!("WITH ", view!(delivered postgres), ", ", view!(message_rows), ", ", view!(unread_rows), "\n")
    };
    (sqlite untold_rows) => {
        concat!("WITH ", view!(log sqlite), ", ", view!(delivered sqlite), ", ", view!(message_rows), ", ",
                view!(unread_rows), ", ", view!(untold_rows), "\n")
    };
    (postgres untold_rows) => {
        concat!("WITH ", view!(delivered postgres), ", ", view!(message_rows), ", ", view!(unread_rows), ", ",
                view!(untold_rows), "\n")
    };
    (sqlite message_rows thread_rows) => { concat!("WITH ", view!(log sqlite), ", ", view!(message_rows), ", ", view!(thread_rows), "\n") };
    (postgres message_rows thread_rows) => { concat!("WITH ", view!(message_rows), ", ", view!(thread_rows), "\n") };
}

macro_rules! view {
    // Asked again and again by one statement, and made once. What is one's own comes first and what is a role's last: of that much is
    // for others, and whoever counts stops early. Without the limit, SQLite would take the order for a wish.
    (readers sqlite) => {
        concat!(
            "readers AS MATERIALIZED (",
            include_str!("../sql/views/readers.sql"),
            " ORDER BY r.mode <> 1, r.mode = 2 LIMIT 1000000000)"
        )
    };
    // PostgreSQL finds those of one agent by its indexes.
    (readers postgres) => {
        concat!(
            "readers AS NOT MATERIALIZED (",
            include_str!("../sql/views/readers.sql"),
            ")"
        )
    };
    ($name:ident $database:ident) => {
        concat!(
            stringify!($name),
            " AS (",
            include_str!(concat!(
                "../sql/views/",
                stringify!($name),
                ".",
                stringify!($database),
                ".sql"
            )),
            ")"
        )
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

/// Whether a view is of the log.
macro_rules! is_of_log {
    (log) => {
        true
    };
    (delivered) => {
        true
    };
    (message_rows) => {
        true
    };
    (event_rows) => {
        true
    };
    (unread_rows) => {
        true
    };
    (readers) => {
        true
    };
    (untold_rows) => {
        true
    };
    ($other:ident) => {
        false
    };
}

/// The check for threads that should be in a queue: all of them, but with a ledger those whose mail its topic has, and which
/// was delivered therefore.
pub(crate) const IN_NO_QUEUE: &str = "SELECT 'thread ' || t.thread_no || ' waits in no queue' FROM threads t
  WHERE NOT EXISTS (SELECT 1 FROM recipients r WHERE r.address_no = t.to_no AND r.thread_no = t.thread_no)
    AND (NOT EXISTS (SELECT 1 FROM topics)
         OR EXISTS (SELECT 1 FROM entries e JOIN deliveries d ON d.address_no = t.to_no AND d.entry_no = e.entry_no
                     WHERE e.thread_no = t.thread_no))
  LIMIT 20";

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
            reads_log: false $($(|| is_of_log!($view))+)?,
        };)*
        $(pub(crate) static $both: Sql = Sql {
            name: $postgres_file,
            sqlite: concat!(with!(sqlite $($($both_view)+)?), include_str!(concat!("../sql/queries/", $sqlite_file, ".sql"))),
            postgres: concat!(with!(postgres $($($both_view)+)?), include_str!(concat!("../sql/queries/", $postgres_file, ".postgres.sql"))),
            is_shared: false,
            reads_log: false $($(|| is_of_log!($both_view))+)?,
        };)*
        $(pub(crate) static $only: Sql = Sql {
            name: $only_file,
            sqlite: "",
            postgres: include_str!(concat!("../sql/queries/", $only_file, ".postgres.sql")),
            is_shared: false,
            reads_log: false,
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
        INSERT_RECIPIENT "insert_recipient",
        SET_LATEST_MESSAGE "set_latest_message",
        SET_QUEUE "set_queue",
        INSERT_ARTIFACT "insert_artifact",
        LOAD_THREAD "load_thread" reads thread_rows,
        COUNT_CLAIMS "count_claims",
        CLAIM_BY_TOKEN "claim_by_token",
        REACHED_BY_STATUS "reached_by_status" reads thread_rows,
        LATEST_POSTS "latest_posts" reads delivered log,
        POSTED_TO "posted_to" reads delivered message_rows,
        STEPS_AFTER "steps_after" reads log,
        STEPS_OF_RUN "steps_of_run" reads log,
        WORK_AFTER "work_after" reads log,
        WORK_OF_RUN "work_of_run",
        TALK_AFTER "talk_after" reads log,
        TIME_OF_EVENT "time_of_event" reads log,
        COUNT_QUEUED "count_queued",
        HELD_THREADS "held_threads" reads thread_rows,
        BLOCKED_ASKS "blocked_asks" reads message_rows thread_rows,
        ASKED_THREADS "asked_threads" reads message_rows thread_rows,
        HAS_UNREAD "has_unread",
        LIST_THREADS "list_threads" reads thread_rows reach,
        NEWEST_EVENT "newest_event" reads log,
        EVENT_OF_ENTRY "event_of_entry" reads log,
        SUBJECTS_OF_THREADS "subjects_of_threads",
        LATEST_EVENT_OF_THREADS "latest_event_of_threads" reads log,
        MESSAGES_OF_THREAD "messages_of_thread" reads message_rows,
        NEWEST_OF_THREAD "newest_of_thread" reads message_rows,
        NEWEST_EVENTS_OF_THREAD "newest_events_of_thread" reads event_rows,
        LOAD_MESSAGE "load_message" reads message_rows,
        ARTIFACTS_OF_THREAD "artifacts_of_thread" reads log,
        NEXT_REPLY "next_reply" reads message_rows,
        LATEST_MESSAGE_BY "latest_message_by" reads message_rows,
        EVENTS_AFTER "events_after" reads event_rows reach,
        TOUCH_AGENT "touch_agent",
        SET_LAST_READ "set_last_read",
        SET_AGENT "set_agent",
        LIST_AGENTS "list_agents",
        HUMANS "humans",
        TAKE_OPEN_NAME "take_open_name",
        RENAME_ADDRESS "rename_address",
        ADDRESS_MODE "address_mode",
        RESOLVE "resolve",
        IS_ROLE_HELD "is_role_held",
        SET_RECIPIENT "set_recipient",
        INSERT_SESSION "insert_session",
        SET_SESSION "set_session",
        TOUCH_SESSION "touch_session",
        FIND_SESSION "find_session" reads session_rows,
        LIST_SESSIONS "list_sessions" reads session_rows,
        LABELS_OF_AGENT "labels_of_agent",
        LABELS_OF_SESSIONS "labels_of_sessions",
        MEMBERSHIPS "memberships",
        INSERT_MEMBERSHIP "insert_membership",
        DELETE_MEMBERSHIPS "delete_memberships",
        REACHED_SESSIONS "reached_sessions",
        REACH_OF_AGENT "reach_of_agent",
        DELIVERY "delivery",
        SET_ACKED "set_acked",
        UNREAD "unread" reads unread_rows,
        UNREAD_KEYS "unread_keys" reads unread_rows,
        UNREAD_URGENT "unread_urgent" reads unread_rows,
        UNTOLD "untold" reads untold_rows,
        UNTOLD_KEYS "untold_keys" reads untold_rows,
        TURN_BACK "turn_back" reads log,
        FIND_BOOKMARK "find_bookmark",
        SET_BOOKMARK "set_bookmark",
        INSERT_RECEIPT "insert_receipt",
        RECEIPTS_OF "receipts_of",
        RECEIPTS_BETWEEN "receipts_between" reads log,
        ACTS_AFTER "acts_after" reads log,
        ACTS_BETWEEN "acts_between" reads log,
        SHIFT_DELIVERIES "shift_deliveries",
        SHIFT_RECIPIENTS "shift_recipients",
        SHIFT_ENTRIES "shift_entries",
        SHIFT_THREADS "shift_threads",
        THREAD_OF_ADDRESS "thread_of_address",
        ENTRY_BY_UID "entry_by_uid",
        ENTRY_BY_MADE_UID "entry_by_made_uid",
        THREADS_BY_REF "threads_by_ref" reads thread_rows,
        RELABEL_THREADS "relabel_threads",
        RELABEL_ENTRIES "relabel_entries",
        REDIRECT_THREADS "redirect_threads",
        REDIRECT_ENTRIES "redirect_entries",
        REDIRECT_DELIVERIES "redirect_deliveries",
        REDIRECT_RECIPIENTS "redirect_recipients",
        DROP_DELIVERIES "drop_deliveries",
        DROP_RECIPIENTS "drop_recipients",
        REMOVE_RECIPIENT "remove_recipient",
        DROP_BOOKMARKS "drop_bookmarks",
        NEWEST_ENTRY "newest_entry",
        SPOKEN "spoken",
        SPOKEN_LAST "spoken_last",
        SAID_BEFORE "said_before",
        DEAD_EXPIRED "dead_expired" reads delivered message_rows,
        INTAKE_ROWS "intake_rows",
        REFUSE_INTAKE "refuse_intake",
        DELETE_INTAKE "delete_intake",
        SET_EXPIRY_OF_THREAD "set_expiry_of_thread",
        SET_THREAD_TO "set_thread_to",
        OPENING_PAYLOAD "opening_payload",
        OPENER_ADDRESS "opener_address",
        INSERT_TOKEN "insert_token",
        FIND_TOKEN "find_token",
        LIST_TOKENS "list_tokens",
        REVOKE_TOKEN "revoke_token",
        SEE_TOKEN "see_token",
        FIND_SEAL "find_seal",
        SET_SEAL "set_seal",
        LOCKED "locked",
        OPENING_ENTRY "opening_entry",
        FIND_TOPIC "find_topic",
        LIST_TOPICS "list_topics",
        INSERT_TOPIC "insert_topic",
        TAKE_TOPIC "take_topic",
        LEAVE_TOPICS "leave_topics",
        ADVANCE_TOPIC "advance_topic",
        SET_TOPIC_PROBLEM "set_topic_problem",
        INSERT_OUTBOX "insert_outbox",
        OUTBOX_OF_TOPIC "outbox_of_topic",
        OUTBOX_OF_ENTRY "outbox_of_entry",
        OUTBOX_HAS_ENTRY "outbox_has_entry",
        FORGET_CHECK "forget_check",
        SET_OUTBOX "set_outbox",
        DELETE_OUTBOX "delete_outbox",
        COUNT_OUTBOX "count_outbox",
        FIND_TOPIC_OF_ID "find_topic_of_id",
        BEGIN_TOPIC "begin_topic",
        MADE_TOPIC "made_topic",
        INSERT_SAYING "insert_saying",
        MOVE_OUTBOX "move_outbox",
        DELAY_OUTBOX "delay_outbox",
        OUTBOX_OF_UID "outbox_of_uid",
        RECORD_OF_UID "record_of_uid",
        INSERT_RECORD "insert_record",
        INSERT_LATE_RECORD "insert_late_record",
        RECORDS_OF_TOPIC "records_of_topic",
        COUNT_RECORDS "count_records",
        RECORDS_OF_UID "records_of_uid",
        ENTRIES_OF_AUTH "entries_of_auth",
        ENTRIES_OF_HOLDERS "entries_of_holders",
        TOPICS_MADE_BEFORE "topics_made_before",
        OUTBOX_BY_TOPIC "outbox_by_topic",
        OUTBOX_PROBLEMS "outbox_problems",
        FORGET_RECORDS "forget_records",
        FORGET_FLOODS "forget_floods",
        FORGET_STEPS "forget_steps",
        FORGET_TOPICS "forget_topics",
        FORGET_PROPOSALS "forget_proposals",
        FORGET_CONNECTIONS "forget_connections",
        FORGET_UNSAID "forget_unsaid",
        FIND_TOPIC_BY_ID "find_topic_by_id",
        SET_RECORD_STATE "set_record_state",
        DROP_OUTGOING "drop_outgoing",
        INSERT_CONNECTION "insert_connection",
        SET_CONNECTION "set_connection",
        CONNECTIONS "connections" reads connection_rows,
        CONNECTIONS_DUE "connections_due" reads connection_rows,
        CONNECTIONS_ON_TOPIC "connections_on_topic" reads connection_rows,
        CONNECTIONS_WITH "connections_with" reads connection_rows,
        CONNECTION_OF_REQUEST "connection_of_request" reads connection_rows,
        CONNECTIONS_OF_THREAD "connections_of_thread" reads connection_rows,
        COUNT_WAITING_CONNECTIONS "count_waiting_connections",
        FORGET_OLD_REQUESTS "forget_old_requests",
        INSERT_PROPOSAL "insert_proposal",
        SET_PROPOSAL "set_proposal",
        PROPOSALS "proposals" reads proposal_rows,
        PROPOSALS_DUE "proposals_due" reads proposal_rows,
        PROPOSAL_OF_THREAD "proposal_of_thread" reads proposal_rows,
        KEEP_BRIDGE "keep_bridge",
        FORGET_BRIDGES "forget_bridges",
        COUNT_SHARES "count_shares",
        RENEW_TOPICS "renew_topics",
        TOPICS_OF_BRIDGE "topics_of_bridge",
        LEAVE_TOPIC "leave_topic",
        NEXT_OUTBOX "next_outbox",
        DUE_TOPICS "due_topics",
        AGENT_OF_ACCOUNT "agent_of_account",
        FIND_FLOOD "find_flood",
        KEPT_OF_FLOODS "kept_of_floods",
        ADD_FLOOD "add_flood",
        FLOODS_OF_TOPIC "floods_of_topic",
        COUNT_FLOODS "count_floods",
        ADDRESSES_BY_MODE "addresses_by_mode",
        MESSAGES_AFTER "messages_after" reads message_rows,
        RECEIPTS_SINCE "receipts_since",
        ARCHIVABLE "archivable" reads thread_rows log,
        EVENTS_OF_THREAD "events_of_thread" reads event_rows,
        REMOVE_RECEIPTS "remove_receipts",
        REMOVE_DELIVERIES "remove_deliveries",
        REMOVE_ARTIFACTS "remove_artifacts",
        REMOVE_RECIPIENTS "remove_recipients",
        REMOVE_ENTRIES "remove_entries",
        REMOVE_THREAD "remove_thread",
        COUNT_MESSAGES "count_messages",
        INSERT_OLD_RECEIPT "insert_old_receipt",
        INTAKE_WAITS "intake_waits",
        RECALL "recall",
        REMEMBER "remember",
        LOAD_META "load_meta",
        SAVE_META "save_meta",
        COUNTS "counts",
        UNINDEXED "unindexed" reads message_rows,
        RANDOM_OF_EVENT "random_of_event" reads log,
        MESSAGES_BETWEEN "messages_between" reads message_rows thread_rows,
        MESSAGES_OF_EVENTS "messages_of_events" reads message_rows thread_rows,
        INSERT_MEMORY "insert_memory",
        INSERT_MEMORY_WORD "insert_memory_word",
        LIST_MEMORIES "list_memories",
        FIND_MEMORY "find_memory",
        MEMORY_OF_THREAD "memory_of_thread",
        COUNT_MEMORIES "count_memories",
        MEMORIES_WITH_WORD "memories_with_word",
        FORGET_MEMORY "forget_memory",
        FORGET_MEMORY_WORDS "forget_memory_words",
        MEMORY_VECTORS "memory_vectors",
        MEMORIES_UNPLACED "memories_unplaced",
        PLACE_MEMORY "place_memory",
        FIND_REACH "find_reach",
        LIST_REACHES "list_reaches",
        INSERT_REACH "insert_reach",
        PASS_REACH "pass_reach",
        SUM_REACH "sum_reach",
        REACH_WORKED "reach_worked",
        REACH_FAILED "reach_failed",
        INSERT_NOTICE "insert_notice",
        DUE_NOTICE "due_notice",
        NEXT_NOTICE "next_notice",
        TAKE_NOTICE "take_notice",
        END_NOTICE "end_notice",
        DELAY_NOTICE "delay_notice",
        COUNT_NOTICES "count_notices",
        FORGET_NOTICES "forget_notices",
    }
    differs {
        INSERT_THREAD "insert_thread" "insert_thread",
        INSERT_ENTRY "insert_entry" "insert_entry",
        INSERT_DELIVERY "insert_delivery" "insert_delivery",
        UPDATE_THREAD "update_thread" "update_thread",
        DEAD_SESSIONS "dead_sessions" "dead_sessions" reads delivered message_rows,
        LIST_CHANGED "list_changed" "list_changed" reads thread_rows reach log,
        UNREAD_OF_AGENTS "unread_of_agents" "unread_of_agents" reads readers,
        QUEUED "queued" "queued" reads thread_rows,
        TAKE_QUEUED "queued" "take_queued" reads thread_rows,
        LAPSED "lapsed" "lapsed" reads thread_rows,
    }
    postgres {
        UNNUMBERED "unnumbered",
        UNNUMBERED_OF_THREAD "unnumbered_of_thread",
        NUMBER "number",
        NUMBER_OWN "number_own",
        SETTLE_REPLAYS "settle_replays",
        SETTINGS "settings",
        CONCLUDE "conclude",
        NEXT_THREAD "next_thread",
        NEXT_ENTRY "next_entry",
        NOW "now",
        SEARCH_SETTINGS "search_settings",
        SEARCH_PROGRESS "search_progress",
        SEARCH_LOCK "search_lock",
        TAKE_TURNS "take_turns",
        SEARCH_WORDS "search_words",
        SEARCH_RECENT "search_recent",
        SEARCH_DAYS "search_days",
        CLEAR_SEARCH "clear_search",
        ADD_WORDS "add_words",
        ADD_DAYS "add_days",
        SAVE_PROGRESS "save_progress",
        SEARCH_ARCHIVES "search_archives",
        SEARCH_ARCHIVED "search_archived",
        CLEAR_ARCHIVE "clear_archive",
        ADD_ARCHIVED "add_archived",
        SAVE_ARCHIVE "save_archive",
        PUBLISH "publish",
        PUBLISH_PROBLEM "publish_problem",
    }
}

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
}
