//! The same runner on PostgreSQL, and on a server's store.

use inbox_testkit::cluster::shared;
use inbox_testkit::sandbox::Sandbox;

use super::{Ground, eventually};
use crate::INBOX;
use crate::server::Served;

/// An agent that asks once, by command, and does what it was told.
const ASKS: &str = "cat > prompt
if grep -q 'Use the blue one' prompt; then echo 'Used the blue one.'; exit 0; fi
INBOX update --thread $INBOX_THREAD --status blocked --summary 'Red or blue?' > out 2>&1
";

#[test]
fn on_postgresql_it_asks_and_goes_on() {
    let ground = Ground {
        inbox: Sandbox::at(INBOX, shared().fresh_url()),
    };
    let thread = ground.send("Fill the table");
    let runner = ground.start("--once", ASKS);
    eventually("it asks", || {
        (ground.status(&thread) == "blocked").then_some(())
    });
    ground.reply(&thread, "Use the blue one");
    assert_eq!(runner.ends(), 0);
    assert_eq!(ground.last(&thread)["summary"], "Used the blue one.");
}

#[test]
fn through_a_server_it_asks_and_goes_on_and_a_cancelled_thread_ends() {
    let served = Served::start();
    let here = Ground {
        inbox: Sandbox::empty(INBOX),
    };
    let mut far = here;
    let token = served.token("quinn", "");
    far.inbox.set("INBOX_DB", &served.url);
    far.inbox.set("INBOX_TOKEN", &token);
    let at_server = |line: &str| served.desk.ok(line);
    let opened = |subject: &str| {
        let sent = at_server(&format!("send --from lead --to quinn --subject {subject}"));
        super::text(&sent["thread"]["thread_id"])
    };
    let status = |thread: &str| {
        let shown = at_server(&format!("show --thread {thread}"));
        super::text(&shown["thread"]["status"])
    };
    let thread = opened("Fill");
    let runner = far.start("--once", ASKS);
    eventually("it asks", || (status(&thread) == "blocked").then_some(()));
    let args = [
        "reply",
        "--json",
        "--agent",
        "lead",
        "--thread",
        &thread,
        "--summary",
    ];
    served
        .desk
        .run(args.into_iter().chain(["Use the blue one"]))
        .ok();
    assert_eq!(runner.ends(), 0);
    assert_eq!(status(&thread), "done");

    let thread = opened("Long");
    let runner = far.start("--once", "echo $$ > pid; exec sleep 1000\n");
    let pid = far.written("pid");
    at_server(&format!("cancel --agent lead --thread {thread}"));
    assert_eq!(runner.ends(), 0);
    assert!(!super::is_alive(&pid));
}
