//! The commands as programs and people use them, one file a topic. Every sentence of the contract is
//! a test here.

mod archive;
mod artifacts;
pub(crate) mod card_prompt;
mod claim;
mod config;
mod desk;
mod doctor_backup;
mod exchange;
mod fetch;
mod guard;
mod hints;
mod hostile;
mod hostile_words;
mod identity;
mod init;
mod keys;
mod list_show_export;
mod mail;
pub(crate) mod manual;
mod memory;
mod migrate;
pub(crate) mod misc;
mod notes;
mod output;
mod password;
mod printed;
mod publish;
mod renew_release;
mod reply;
mod rights;
mod roster;
mod search;
mod send;
mod sqlview;
mod supabase;
mod table;
mod typed;
mod update_done_fail_cancel;
mod usage_errors;
mod wait_reply;
mod watch;

use desk::{Desk, keys};

#[test]
fn the_story_of_a_thread_is_told_with_the_contracts_keys() {
    let desk = Desk::new();
    let sent = desk.ok("send --from lead --to backend --subject Add~posts");
    let thread = sent["thread"]["thread_id"].as_str().unwrap();
    assert_eq!(sent["thread"]["status"], "pending");
    let lease = desk.claim("backend", thread);
    let asked = desk.ok(&format!(
        "update --lease {lease} --thread {thread} --status blocked --summary Which~auth?"
    ));
    assert_eq!(asked["message"]["kind"], "question");
    let waiting = desk.spawn(&format!(
        "wait-reply --lease {lease} --thread {thread} --timeout-seconds 30"
    ));
    let reply = desk.ok(&format!(
        "reply --from lead --thread {thread} --summary Email"
    ));
    assert_eq!(reply["message"]["kind"], "answer");
    let woke = inbox_testkit::sandbox::finish(waiting).ok();
    assert_eq!(woke["message"]["summary"], "Email");
    let done = desk.ok(&format!(
        "done --lease {lease} --thread {thread} --summary Done"
    ));
    assert_eq!(done["thread"]["status"], "done");
    assert_eq!(done["thread"]["assigned_to"], "backend");
    assert_eq!(
        keys(&done),
        ["command", "message", "next_event_id", "ok", "thread"]
    );
}
