//! Resources: read, and told of when they change.

use inbox_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use super::client::Client;
use crate::INBOX;

const UPDATED: &str = "notifications/resources/updated";

fn send(sandbox: &Sandbox, subject: &str) {
    sandbox.ok(&format!("send --from ada --to quinn --subject {subject}"));
}

fn read(client: &mut Client, uri: &str) -> Value {
    let id = client.request("resources/read", &json!({ "uri": uri }));
    client.answer(id)
}

#[test]
fn the_inbox_and_threads_are_resources_and_looking_marks_nothing_as_read() {
    let sandbox = Sandbox::in_memory(INBOX);
    send(&sandbox, "Add~posts");
    let mut quinn = Client::start(&sandbox, "quinn");
    let id = quinn.request("resources/list", &json!({}));
    assert_eq!(
        quinn.answer(id)["result"]["resources"][0]["uri"],
        "inbox://inbox"
    );
    let id = quinn.request("resources/templates/list", &json!({}));
    let templates = quinn.answer(id)["result"]["resourceTemplates"].clone();
    assert_eq!(templates[0]["uriTemplate"], "inbox://thread/{id}");
    for uri in ["inbox://inbox", "inbox://thread/thr_1"] {
        let contents = read(&mut quinn, uri)["result"]["contents"][0].clone();
        assert_eq!(contents["uri"], uri);
        let text = contents["text"].as_str().unwrap();
        assert!(
            text.starts_with("<mail-") && text.contains("Add posts"),
            "{text}"
        );
    }
    assert_eq!(
        quinn.call("check_inbox", &json!({}))["messages"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    for uri in [
        "inbox://thread/thr_zz",
        "inbox://elsewhere",
        "file:///etc/passwd",
        "",
    ] {
        assert_eq!(read(&mut quinn, uri)["error"]["code"], -32002, "{uri}");
    }
}

#[test]
fn a_subscriber_of_2025_11_25_hears_of_mail_until_it_unsubscribes() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::start(&sandbox, "quinn");
    let uri = json!({ "uri": "inbox://inbox" });
    let id = quinn.request("resources/subscribe", &uri);
    assert_eq!(quinn.answer(id)["result"], json!({}));
    for subject in ["One", "Two"] {
        send(&sandbox, subject);
        assert_eq!(quinn.notice(UPDATED)["params"]["uri"], "inbox://inbox");
    }
    // Also of a thread, by whomever.
    let thread = json!({ "uri": "inbox://thread/thr_1" });
    let id = quinn.request("resources/subscribe", &thread);
    assert_eq!(quinn.answer(id)["result"], json!({}));
    quinn.call("claim_work", &json!({ "thread_id": "thr_1" }));
    assert_eq!(
        quinn.notice(UPDATED)["params"]["uri"],
        "inbox://thread/thr_1"
    );
    let id = quinn.request("resources/unsubscribe", &uri);
    assert_eq!(quinn.answer(id)["result"], json!({}));
    for uri in ["inbox://thread/thr_zz", "inbox://elsewhere"] {
        let id = quinn.request("resources/subscribe", &json!({ "uri": uri }));
        assert_eq!(quinn.answer(id)["error"]["code"], -32002, "{uri}");
    }
    let (_, status) = quinn.close();
    assert_eq!(status, 0);
}

#[test]
fn a_listener_of_2026_07_28_hears_of_mail_until_it_cancels() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::stateless(&sandbox, "quinn");
    let filter = json!({ "notifications": {
        "resourceSubscriptions": ["inbox://inbox", "inbox://elsewhere"],
        "toolsListChanged": true,
    } });
    let id = quinn.request("subscriptions/listen", &filter);
    let accepted = quinn.notice("notifications/subscriptions/acknowledged");
    assert_eq!(
        accepted["params"]["notifications"],
        json!({ "resourceSubscriptions": ["inbox://inbox"] })
    );
    // The first notice says to look; each later one that something came.
    quinn.notice(UPDATED);
    for subject in ["One", "Two"] {
        send(&sandbox, subject);
        let notice = quinn.notice(UPDATED);
        assert_eq!(
            notice["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
            id
        );
    }
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    quinn.line(&cancel.to_string());
    assert_eq!(
        quinn.call("check_inbox", &json!({}))["messages"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    let (_, status) = quinn.close();
    assert_eq!(status, 0);
}
