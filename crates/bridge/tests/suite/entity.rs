//! What is said of an entity: on its topic, from here and from elsewhere.

use std::time::{Duration, Instant};

use inbox_bridge::bridge::Turn;
use inbox_bridge::{Fees, Net, history};
use inbox_core::Priority;
use inbox_hcs::{AccountId, TopicId};
use inbox_hedera::key::Algorithm;
use inbox_hedera::proto::CreateTopicBody;
use inbox_ops::config::{Config, Ledger, Route};
use inbox_ops::{Claim, Inbox, Note, Operation, Read, Send, Update};
use inbox_store::bell::{Key, PATIENCE};
use inbox_store::{RecordState, TopicPlace};
use inbox_testkit::world::by;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::mail::{Post, both};

/// Has an agent do something.
pub(crate) fn run<O: Operation + DeserializeOwned>(
    inbox: &Inbox,
    agent: &str,
    request: Value,
) -> O::Answer {
    let request: O = serde_json::from_value(request).unwrap();
    request.run(inbox, &by(agent)).unwrap()
}

/// What stands on a topic, and who paid for it.
pub(crate) fn stands(post: &Post, topic: TopicId) -> Vec<(AccountId, Value)> {
    let mut found = Vec::new();
    history::messages(post.ada.net.mirror(), topic, None, |said| {
        assert!(said.bytes.len() <= 1_024, "{}", said.bytes.len());
        found.push((said.payer, serde_json::from_slice(&said.bytes).unwrap()));
        Ok(std::ops::ControlFlow::Continue(()))
    })
    .unwrap();
    found
}

/// The topic of a place.
pub(crate) fn topic_of(post: &Post, place: TopicPlace, name: &str) -> Option<TopicId> {
    let topics = post.inbox.ledger_standing().unwrap().topics;
    let found = topics
        .into_iter()
        .find(|topic| topic.place == place && topic.name == name);
    found?.topic.map(|topic| topic.parse().unwrap())
}

/// What an agent has not read: each with its type, and how urgent it is.
pub(crate) fn mail_of(inbox: &Inbox, agent: &str) -> Vec<(String, String, Priority)> {
    let read = Read {
        peek: true,
        ..Read::default()
    };
    let mail = read.run(inbox, &by(agent)).unwrap().messages.into_iter();
    mail.map(|it| (it.message_type.unwrap_or_default(), it.body, it.priority))
        .collect()
}

pub(crate) fn config(routes: &[(&str, &str, Option<Priority>)]) -> Config {
    let route = |(on, to, priority): &(&str, &str, Option<Priority>)| Route {
        on: (*on).to_owned(),
        to: vec![to.parse().unwrap()],
        priority: *priority,
    };
    Config {
        ledger: Ledger {
            network: Some("local".into()),
            ..Ledger::default()
        },
        routes: routes.iter().map(route).collect(),
        ..Config::default()
    }
}

pub(crate) fn note(entity: &str, text: &str, notify: &[&str]) -> Value {
    json!({ "ref": entity, "note": text, "notify": notify })
}

/// A topic that somebody made.
pub(crate) fn bare_topic(post: &Post) -> TopicId {
    let body = CreateTopicBody::default();
    post.stage.treasury().create_topic(body).unwrap()
}

/// Writes on a topic as a plain script would.
pub(crate) fn post_json(net: &Net, topic: TopicId, said: &Value) {
    net.write(topic, said.to_string().as_bytes(), "", Fees::None)
        .unwrap();
}

#[test]
fn a_note_stands_on_a_topic_of_its_entity_which_is_made_once() {
    both(|post| {
        run::<Note>(
            &post.inbox,
            "ada",
            note("task:T-1", "look", &["ben", "cleo"]),
        );
        let seen = [("task.note".to_owned(), "look".to_owned(), Priority::Normal)];
        assert_eq!(mail_of(&post.inbox, "ben"), seen);
        post.settle();
        run::<Note>(&post.inbox, "ben", note("task:T-1", "seen", &[]));
        let done = post.settle();
        assert_eq!((done.sent, done.taken, done.problems), (1, 1, 0));
        assert_eq!(mail_of(&post.inbox, "ben"), seen);

        let topic = topic_of(&post, TopicPlace::Entity, "task:T-1").unwrap();
        let facts = post.ada.net.topic(topic).unwrap();
        assert_eq!(facts.memo, "inbox:entity:task:T-1");
        assert!(facts.submit_key.is_none() && facts.admin_key.is_none());
        let said = stands(&post, topic);
        assert_eq!(said.len(), 2);
        let (payer, first) = &said[0];
        assert_eq!(*payer, post.ada.me.account);
        let keys: Vec<&String> = first.as_object().unwrap().keys().collect();
        let form = ["type", "from_agent", "note", "notify", "ts", "x_uid"];
        assert_eq!(keys, form);
        assert_eq!(first["type"], "task.note");
        assert_eq!(first["from_agent"], "ada");
        assert_eq!(first["note"], "look");
        assert_eq!(first["notify"], json!(["ben", "cleo"]));
        assert!(first["ts"].as_str().unwrap().ends_with('Z'));
        assert_eq!(said[1].0, post.ben.me.account);
        assert_eq!(said[1].1["notify"], json!([]));
        // Nobody's inbound topic has it too, and nothing came in twice.
        assert_eq!(stands(&post, post.ben.me.inbound_topic), []);
        assert_eq!(post.states(), [(RecordState::Confirmed, 2)]);
        assert_eq!(post.inbox.ledger_standing().unwrap().backlog.count, 0);
        assert_eq!(post.settle(), Turn::default());
    });
}

#[test]
fn an_entity_that_is_a_topic_is_spoken_of_there_unless_it_is_somebodys() {
    both(|post| {
        let topic = bare_topic(&post);
        run::<Note>(
            &post.inbox,
            "ada",
            note(&format!("phase:{topic}"), "a", &[]),
        );
        // Another word for the same topic, and a topic that is Ben's ear.
        run::<Note>(&post.inbox, "ada", note(&format!("task:{topic}"), "b", &[]));
        let ear = post.ben.me.inbound_topic;
        run::<Note>(
            &post.inbox,
            "ada",
            note(&format!("task:{ear}"), "c", &["ben"]),
        );
        post.settle();
        let said = stands(&post, topic);
        let notes: Vec<&Value> = said.iter().map(|(_, said)| &said["type"]).collect();
        assert_eq!(notes, ["phase.note", "task.note"]);
        assert_eq!(stands(&post, ear), []);
        assert_eq!(mail_of(&post.inbox, "ben").len(), 1);
        assert_eq!(post.states(), [(RecordState::Confirmed, 2)]);
    });
}

#[test]
fn who_has_no_account_writes_notes_as_ever() {
    both(|post| {
        run::<Note>(&post.inbox, "cleo", note("task:T-1", "hm", &["ben"]));
        assert_eq!(mail_of(&post.inbox, "ben").len(), 1);
        assert_eq!(post.inbox.ledger_standing().unwrap().backlog.count, 0);
        assert_eq!(post.settle().sent, 0);
        assert!(topic_of(&post, TopicPlace::Entity, "task:T-1").is_none());
    });
}

#[test]
fn nobody_passes_for_another_on_an_entitys_topic() {
    both(|mut post| {
        let routes = [("*.*", "engine", None), ("blocker.*", "engine", None)];
        post.inbox = post.world.another().with_config(config(&routes));
        let topic = bare_topic(&post);
        let entity = topic.to_string();
        let send = json!({ "to": ["dan"], "subject": "s", "ref_type": "task", "ref_id": entity });
        run::<Send>(&post.inbox, "cleo", send);
        let eve = post.stage.account(Algorithm::Ed25519);
        let note = |from: &str| {
            json!({ "type": "task.note", "from_agent": from, "note": "believe me",
            "notify": ["ada", "ben", "all"], "ts": "2027-01-15T08:00:00Z" })
        };
        let wire = |sender: &str, agent: &str| {
            json!({ "wire": "1.0", "type": "blocked", "sender": sender,
            "ts": "2027-01-15T08:00:00Z", "payload": { "task_id": entity, "agent": agent,
            "reason": "believe me", "blocker_type": "resource" } })
        };
        for (net, from) in [
            (&eve, "ada"),
            (&eve, "eve"),
            (&post.ada.net, "ben"),
            (&post.ben.net, "system"),
        ] {
            post_json(net, topic, &note(from));
            post_json(net, topic, &wire(from, from));
        }
        post_json(&post.ben.net, topic, &wire("ben", "ada"));
        // What is another's, by its UUID.
        let known = run::<Send>(&post.inbox, "ada", json!({ "to": ["dan"], "subject": "x" }));
        for mut said in [note("ben"), wire("ben", "ben")] {
            said["x_uid"] = json!(known.message.uid);
            post_json(&post.ben.net, topic, &said);
        }
        let mut large = note("ben");
        large["note"] = json!("hcs://1/0.0.999999");
        post_json(&post.ben.net, topic, &large);
        for rubbish in [
            "not JSON",
            "{}",
            r#"{"wire":"1.0"}"#,
            r#"{"type":"task.note","from_agent":"ben"}"#,
        ] {
            post.ben
                .net
                .write(topic, rubbish.as_bytes(), "", Fees::None)
                .unwrap();
        }
        let mut unknown = wire("ben", "ben");
        unknown["payload"]["blocker_type"] = json!("because");
        post_json(&post.ben.net, topic, &unknown);
        post.settle();
        for agent in ["ada", "ben", "engine", "dan"] {
            let mail = mail_of(&post.inbox, agent);
            assert!(
                mail.iter().all(|(_, body, _)| body.is_empty()),
                "{agent}: {mail:?}"
            );
        }
        let states = [
            (RecordState::Unverified, 8 + 1 + 2),
            (RecordState::Unreadable, 1 + 4 + 1),
        ];
        assert_eq!(post.states(), states);
        // The same from whom it says is heard, once.
        let mut good = wire("ben", "ben");
        good["x_uid"] = json!("0190c0de-0000-7000-8000-000000000009");
        post_json(&post.ben.net, topic, &good);
        post_json(&post.ben.net, topic, &good);
        post.settle();
        assert_eq!(mail_of(&post.inbox, "engine").len(), 1);
        assert!(post.states().contains(&(RecordState::Repeated, 1)));
    });
}

#[test]
fn notices_of_inbox_itself_wait_for_nothing() {
    both(|mut post| {
        post.inbox = post
            .world
            .another()
            .with_config(config(&[("task.blocked", "ada", None)]));
        let thread = post.world.send("cleo", "ben", "work");
        run::<Claim>(&post.inbox, "ben", json!({ "thread": thread }));
        run::<Update>(
            &post.inbox,
            "ben",
            json!({ "thread": thread, "status": "blocked", "summary": "why?" }),
        );
        assert_eq!(mail_of(&post.inbox, "ada")[0].0, "task.blocked");
        assert_eq!(post.inbox.ledger_standing().unwrap().backlog.count, 0);
    });
}

/// Waits until something is so; the store's bell says when to look.
fn wait_until(inbox: &Inbox, is_so: impl Fn() -> bool) {
    let mut bell = inbox.store().listen(&Key::Any);
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        bell.rearm();
        if is_so() {
            return;
        }
        assert!(Instant::now() < until, "it does not come");
        bell.wait(PATIENCE);
    }
}

#[test]
fn a_bridge_that_runs_makes_topics_and_follows_them() {
    both(|post| {
        let inbox = post.world.another();
        let mut bridge = post.bridge(&inbox);
        let stopper = bridge.stopper();
        std::thread::scope(|scope| {
            let ran = scope.spawn(move || {
                bridge.run(&|_| {}).unwrap();
                bridge.leave().unwrap();
            });
            let during = || {
                run::<Note>(&post.inbox, "ada", note("task:T-1", "look", &[]));
                wait_until(&post.inbox, || {
                    post.states() == [(RecordState::Confirmed, 1)]
                });
                let topic = topic_of(&post, TopicPlace::Entity, "task:T-1").unwrap();
                let said = json!({ "type": "task.note", "from_agent": "ben", "note": "I did",
                    "notify": ["ada"], "ts": "2027-01-15T08:00:00Z" });
                post_json(&post.ben.net, topic, &said);
                wait_until(&post.inbox, || mail_of(&post.inbox, "ada").len() == 1);
            };
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(during));
            stopper.stop();
            ran.join().unwrap();
            if let Err(panic) = outcome {
                std::panic::resume_unwind(panic);
            }
        });
    });
}

#[test]
fn a_note_that_an_agent_of_the_ledger_is_told_of_is_on_its_entitys_topic_and_fits() {
    both(|post| {
        post.settle();
        post.world.advance_ms(1);
        for text in ["first", "second"] {
            let note = json!({ "ref": "task:T-1", "note": text, "notify": ["ben"] });
            run::<Note>(&post.inbox, "ada", note);
            post.settle();
            post.world.advance_ms(1);
        }
        assert_eq!(mail_of(&post.inbox, "ben").len(), 2);
        let mirror = post.stage.network.reader();
        let report = inbox_bridge::compare::compare(&post.inbox, &mirror, None).unwrap();
        assert_eq!(report.mismatches, []);
        // One of which nothing stands there is named by where it should be.
        let forget = "DELETE FROM records WHERE sequence = 2 AND topic_no = (SELECT topic_no FROM topics WHERE name = 'task:T-1')";
        inbox_testkit::world::by_sql(post.world.location(), forget);
        let report = inbox_bridge::compare::compare(&post.inbox, &mirror, None).unwrap();
        let topic = topic_of(&post, TopicPlace::Entity, "task:T-1").unwrap();
        let topic = Some(topic.to_string());
        assert!(!report.mismatches.is_empty());
        for mismatch in &report.mismatches {
            assert_eq!(mismatch.topic, topic, "{mismatch:?}");
        }
    });
}
