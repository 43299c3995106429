//! Faults of the program: one ends its own call, and the next is answered.

use inbox_testkit::sandbox::Sandbox;
use serde_json::json;

use super::client::Client;
use crate::INBOX;

#[test]
fn a_call_that_meets_a_fault_is_told_so_and_the_next_one_works() {
    let sandbox = Sandbox::new(INBOX);
    let mut client = Client::raw(
        &sandbox,
        &["mcp", "--agent", "quinn"],
        &[("INBOX_FAULT", "write:2")],
    );
    client.greet("test");
    let mail = |subject: &str| json!({ "to_agent": "ada", "subject": subject });
    client.call("send_message", &mail("one"));
    let ended = client.result("send_message", &mail("two"));
    assert_eq!(ended["isError"], true, "{ended}");
    assert_eq!(ended["structuredContent"]["error"]["code"], "internal");
    client.call("send_message", &mail("three"));
    let listed = sandbox.ok("list");
    let subjects: Vec<_> = listed["threads"]
        .as_array()
        .expect("threads")
        .iter()
        .map(|thread| thread["subject"].clone())
        .collect();
    assert_eq!(subjects, ["three", "one"]);
}
