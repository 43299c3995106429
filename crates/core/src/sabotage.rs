//! Planted bugs, so that the checkers stay sharp.
//!
//! Each name is one bug that a checker must catch; `make sabotage` builds with the `sabotage`
//! feature and runs every checker against the bug it is for. Without the feature
//! [`planted`] is the constant `false` and the bugs are not in the binary.

/// The bugs that can be planted, with the promise each of them breaks.
pub const PLANTED: &[(&str, &str)] = &[
    (
        "deferred_begin",
        "a write transaction that does not take the write lock first",
    ),
    (
        "no_epoch_check",
        "a lease token of an earlier claim is taken for the current one",
    ),
    (
        "live_lease_ignored",
        "a claim takes a thread that somebody holds",
    ),
    (
        "expiry_ignored",
        "a lease that has ended still lets its holder write",
    ),
    (
        "name_is_enough",
        "a name that claimed a thread twice may still write without its token",
    ),
    (
        "ring_before_commit",
        "waiters are woken before there is anything to see",
    ),
    (
        "bell_without_register",
        "a waiter reads the bell after it looked, not before",
    ),
    (
        "deaf_ear",
        "what the server tells of commits on other hosts wakes nobody",
    ),
    (
        "pooler_unseen",
        "a pooler's server connection is taken for one's own, and settings are left in it",
    ),
    (
        "ack_before_commit",
        "an answer is printed before the write is on disk",
    ),
    (
        "sync_later",
        "an answer is printed before the disk has what it is about",
    ),
    (
        "empty_unconfirmed",
        "a store in which nothing is found is not asked whether it is damaged",
    ),
    (
        "copy_in_steps",
        "a copy begins anew whenever somebody writes, and never ends while many do",
    ),
    (
        "marked_ahead",
        "what is committed is noted before it is on disk",
    ),
    (
        "log_unmarked",
        "a store whose log was cut or taken away passes for the whole of it",
    ),
    (
        "failure_unheard",
        "a commit that the disk refused is acknowledged",
    ),
    (
        "keeper_asleep",
        "what a torture that is killed had started goes on, and its scratch stores stay",
    ),
    ("key_forgotten", "a keyed write is not remembered"),
    ("cursor_inclusive", "a cursor gives its own event again"),
    (
        "number_at_insert",
        "PostgreSQL numbers an event before it is committed",
    ),
    (
        "torn_look",
        "a look shows a thread as a write has left it, without the message that goes with it",
    ),
    (
        "read_behind",
        "PostgreSQL gives mail without what was acknowledged and has no number yet",
    ),
    ("mail_never_expires", "an expired message is still offered"),
    (
        "ack_is_not_shared",
        "a role's message that one has acknowledged is still offered to others",
    ),
    (
        "bookmark_jumps",
        "what did not fit on a page of new mail is never offered",
    ),
    (
        "release_is_not_mail",
        "work for a role that comes back is not offered to those who passed it",
    ),
    (
        "told_again",
        "a session is told again of mail that it was told of",
    ),
    (
        "fault_stays",
        "what a request wrote before a fault ended it is committed with others' writes",
    ),
    ("hook_stops", "a hook that fails stops the agent"),
    (
        "wakes_in_a_turn",
        "a session is woken in the midst of a turn",
    ),
    (
        "everybody_watches",
        "several processes wake one session for the same mail",
    ),
    (
        "restore_blindly",
        "a client's file becomes what it was although its user wrote to it since",
    ),
    (
        "frame_is_known",
        "mail knows the marks that it stands between, and ends them",
    ),
    (
        "sender_by_argument",
        "a tool's caller is whom its arguments name",
    ),
    (
        "sender_by_header",
        "a server takes a caller for whom it says it is, and not for whom its token is of",
    ),
    (
        "payer_unchecked",
        "a message on the ledger is believed to be from whom it names, whoever paid for it",
    ),
    (
        "last_one_lost",
        "PostgreSQL gives one thread less than SQLite to who asks what may be claimed",
    ),
    (
        "null_left_out",
        "an answer that comes through a server lacks what the same one on the command line says is null",
    ),
    ("guard_asleep", "agents may go in circles without end"),
    (
        "lock_ignored",
        "whoever calls by a person's name that is locked is taken for her",
    ),
    (
        "contract_forgotten",
        "a result is taken although it does not meet its contract",
    ),
    (
        "guardian_asleep",
        "a command goes on when its runner is gone",
    ),
    (
        "leash_forgotten",
        "a command goes on when nobody renews its lease",
    ),
    ("clock_stopped", "a command may take longer than is allowed"),
    (
        "paid_twice",
        "what a conversation cost before is counted again when it goes on",
    ),
    (
        "permission_granted",
        "an agent is allowed whatever it asks to be allowed",
    ),
    (
        "fence_left_open",
        "mail in a prompt can end the marks that it stands between",
    ),
    (
        "move_note_ahead",
        "a move writes down that rows are copied before they are",
    ),
    (
        "move_unchecked",
        "a copy is let go without being compared with its source",
    ),
    (
        "shared_commit_forgotten",
        "a server answers writes that share a commit, and the commit does not happen",
    ),
    (
        "sent_unnoted",
        "a bridge sends a message to its topic before the id is written down",
    ),
    (
        "notice_untaken",
        "two who find that a person is to be told both do it",
    ),
    (
        "notice_unheeded",
        "a person is told of what they have read or answered in time",
    ),
];

/// Whether the bug `name` is planted in this process (`INBOX_SABOTAGE=name`).
#[cfg(feature = "sabotage")]
pub fn planted(name: &str) -> bool {
    std::env::var("INBOX_SABOTAGE").is_ok_and(|wanted| wanted == name)
}

/// Whether the bug `name` is planted: never, in a binary built without the feature.
#[cfg(not(feature = "sabotage"))]
#[inline]
pub const fn planted(_name: &str) -> bool {
    false
}
