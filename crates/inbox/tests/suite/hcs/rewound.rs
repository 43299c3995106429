//! A ledger that was put back: the program says so by its exit status, and delivers nothing a second time.

use inbox_testkit::sandbox::words;

use super::Place;

/// A store with two agents on a network of its own, of whom one wrote the other letters that were delivered by its topic.
fn written(subjects: &[&str]) -> Place {
    let mut place = Place::new();
    place.inbox.ok("init");
    for name in ["ada", "ben"] {
        place.ok(&format!("account create {name}"));
        let published = place.ok(&format!("profile publish --agent {name}"));
        let text = |key: &str| published[key].as_str().unwrap().to_owned();
        place.inbox.ok(&format!(
            "agent add {name} --account-id {} --inbound-topic-id {} --outbound-topic-id {}",
            text("account_id"),
            text("inbound_topic_id"),
            text("outbound_topic_id")
        ));
    }
    let network = place.inbox.folder().join("network.json");
    place
        .inbox
        .set("INBOX_LEDGER_NETWORK", network.to_str().unwrap());
    for subject in subjects {
        place.inbox.ok(&format!(
            "send --from ada --to ben --subject {subject} --kind event"
        ));
    }
    let done = place.inbox.ok("bridge --once");
    assert_eq!(done["taken"], subjects.len(), "{done}");
    place
}

fn subjects(place: &Place) -> Vec<String> {
    let heard = place.inbox.ok("read --agent ben --peek");
    let messages = heard["messages"].as_array().unwrap().iter();
    let said = messages.map(|message| message["summary"].as_str().unwrap().to_owned());
    said.collect()
}

#[test]
fn a_bridge_that_meets_a_ledger_that_was_put_back_ends_with_fifty_and_delivers_nothing_again() {
    let place = written(&["First", "Second"]);
    // The same network from its beginning: the same accounts and topics, and other letters on them.
    let other = written(&["Third", "Fourth", "Fifth"]);
    let network = place.inbox.folder().join("network.json");
    let own = std::fs::read(&network).unwrap();
    std::fs::copy(other.inbox.folder().join("network.json"), &network).unwrap();
    for _ in 0..2 {
        let error = place
            .inbox
            .run(words("bridge --once"))
            .refused(50, "ledger");
        let said = |key: &str| error["error"][key].as_str().unwrap().to_owned();
        assert!(said("message").contains("was put back"), "{error}");
        assert!(said("hint").starts_with("inbox verify"), "{error}");
        assert_eq!(subjects(&place), ["First", "Second"]);
    }
    let status = place.inbox.ok("bridge status");
    let topics = status["topics"].as_array().unwrap().iter();
    let problems = topics.filter_map(|topic| topic["problem"].as_str());
    assert_eq!(
        problems.filter(|it| it.contains("was put back")).count(),
        1,
        "{status}"
    );

    // The ledger that was read is there again, and all goes on.
    std::fs::write(&network, own).unwrap();
    place
        .inbox
        .ok("send --from ada --to ben --subject Sixth --kind event");
    place.inbox.ok("bridge --once");
    assert_eq!(subjects(&place), ["First", "Second", "Sixth"]);
}
