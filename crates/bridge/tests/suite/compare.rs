//! The store beside its topics: whatever is changed, missing, added or out of order is named.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use inbox_bridge::Fees;
use inbox_bridge::compare::{Report, compare};
use inbox_core::Priority;
use inbox_hcs::{Data, InboundMessage, Operation};
use inbox_hedera::mirror::Mirror;
use inbox_ops::{Claim, Done, Note, Operation as _, Readdress, Send};
use inbox_testkit::world::{by, by_sql};
use serde_json::json;

use crate::entity::run;
use crate::mail::{Post, both};
use crate::odd::all_is_said;

impl Post {
    /// Changes the store behind the program's back.
    fn tamper(&self, sql: &str) {
        by_sql(self.world.location(), sql);
    }

    fn mirror(&self) -> Mirror {
        self.stage.network.reader()
    }

    fn compared(&self) -> Report {
        compare(&self.inbox, &self.mirror(), None).unwrap()
    }

    /// What a comparison names, in short.
    fn named(&self) -> Vec<String> {
        short(&self.compared())
    }

    /// Three messages of Ada's and one that came from elsewhere, all on Ben's topic.
    fn filled(&self) {
        self.settle();
        for (subject, body) in [
            ("one", "first words"),
            ("two", "second words"),
            ("three", ""),
        ] {
            self.world.advance_ms(1);
            self.send(Priority::Normal, subject, body);
        }
        let wire = serde_json::json!({
            "wire": "1.0", "type": "inbox", "sender": "ada", "ts": "2027-01-15T08:00:00.000Z",
            "payload": { "to_agent": "ben", "priority": 1, "message_type": "info",
                "ref_task_id": null, "subject": "four", "body": "from afar", "action_required": false },
            "x_uid": "0190c0de-0000-7000-8000-000000000004", "x_priority": "high",
        });
        self.settle();
        let said = Operation::InboundMessage(InboundMessage {
            operator: self.ada.agent().operator(),
            data: Data::new(wire.to_string()),
            written_at: None,
            memo: None,
        });
        let topic = self.ben.me.inbound_topic;
        self.ada.net.operate(topic, &said, Fees::None).unwrap();
        self.settle();
    }
}

fn short(report: &Report) -> Vec<String> {
    let named = report.mismatches.iter().map(|found| {
        let number = found.sequence.map_or("-".to_owned(), |n| n.to_string());
        format!("{} {} {number}", found.difference.name(), found.field)
    });
    named.collect()
}

#[test]
fn a_store_that_has_what_its_topics_have_passes_and_what_waits_or_is_new_is_no_mismatch() {
    both(|post| {
        post.filled();
        let report = post.compared();
        assert_eq!(short(&report), [] as [&str; 0], "{report:?}");
        let ben = report.topics.iter().find(|one| one.topic.name == "ben");
        let ben = ben.unwrap();
        assert_eq!(
            (ben.messages, ben.records, ben.mail, ben.ahead),
            (4, 4, 4, 0)
        );
        post.world.advance_ms(1);
        post.send(Priority::Urgent, "waits", "");
        let eve = post.stage.account(inbox_hedera::key::Algorithm::Ed25519);
        eve.write(post.ben.me.inbound_topic, b"anything", "", Fees::None)
            .unwrap();
        eve.catch_up();
        let report = post.compared();
        assert_eq!(short(&report), [] as [&str; 0], "{report:?}");
        let ben = report.topics.iter().find(|one| one.topic.name == "ben");
        assert_eq!(ben.unwrap().ahead, 1);
        post.settle();
        assert_eq!(post.named(), [] as [&str; 0]);
    });
}

#[test]
fn mail_that_was_readdressed_or_written_by_plain_sql_goes_to_the_ledger_like_any_other() {
    both(|post| {
        post.settle();
        post.world.advance_ms(1);
        let late = json!({"to": ["role:nobody"], "subject": "late", "ttl_hours": 1});
        let late = run::<Send>(&post.inbox, "ada", late).message;
        post.world.advance_ms(2 * 3_600_000);
        let again = json!({"message": late.message_id, "to": "ben"});
        run::<Readdress>(&post.inbox, "ada", again);
        post.tamper(
            "INSERT INTO inbox (to_agent, from_agent, message_type, subject) VALUES ('ben', 'ada', 'fyi', 'by SQL')",
        );
        assert_eq!(post.unread(), ["late"], "what is rescued waits for nothing");
        post.settle();
        assert_eq!(post.unread(), ["late", "by SQL"]);
        let report = post.compared();
        assert_eq!(short(&report), [] as [&str; 0], "{report:?}");
        let ben = report.topics.iter().find(|one| one.topic.name == "ben");
        assert_eq!(ben.unwrap().mail, 2);
    });
}

#[test]
fn a_payload_with_a_nul_and_many_levels_is_confirmed_on_every_sort_of_topic() {
    both(|post| {
        post.settle();
        post.world.advance_ms(1);
        let deep = (0..118).fold(json!(1), |inner, _| json!([inner]));
        let payload = json!({"a\u{0}b": "x\u{0}y", "n": [1, "\u{0}"], "deep": deep});
        for to in ["ben", "role:dev", "all"] {
            let request = json!({"to": [to], "subject": to, "payload_json": payload});
            run::<Send>(&post.inbox, "ada", request);
        }
        let request = json!({"to": ["ben"], "subject": "of T1", "payload_json": payload,
            "ref_type": "task", "ref_id": "T1"});
        run::<Send>(&post.inbox, "ada", request);
        all_is_said(&post, "all of it");
        assert_eq!(post.named(), [] as [&str; 0]);
    });
}

#[test]
fn a_workers_own_wire_that_names_a_file_is_confirmed_as_it_is() {
    both(|post| {
        post.settle();
        let task = json!({"to": ["ben"], "subject": "work", "ref_type": "task", "ref_id": "T1"});
        let thread = run::<Send>(&post.inbox, "ada", task).thread.thread_id;
        post.settle();
        let claimed = run::<Claim>(&post.inbox, "ben", json!({"thread": thread}));
        post.settle();
        let mut worker = by("ben");
        worker.lease = claimed.lease.and_then(|lease| lease.lease_token);
        let wire = json!({
            "wire": "1.0", "type": "complete", "sender": "ben", "ts": "2027-01-15T08:00:00.000Z",
            "payload": { "task_id": "T1", "agent": "ben", "output_ref": null, "summary": "done",
                "cost_usd": 0.5, "duration_seconds": 1,
                "verification": { "mechanical": "pass", "semantic": "skipped", "attempts": 1 } },
            "x_file": "hcs://1/0.0.999999",
        });
        let done = json!({"thread": thread, "summary": "done", "payload_json": wire});
        let done: Done = serde_json::from_value(done).unwrap();
        done.run(&post.inbox, &worker).unwrap();
        all_is_said(&post, "all of it");
        assert_eq!(post.named(), [] as [&str; 0]);
    });
}

#[test]
fn a_note_whose_text_is_the_name_of_a_file_is_that_text() {
    both(|post| {
        post.settle();
        post.world.advance_ms(1);
        let text = "hcs://1/0.0.999999";
        let note = json!({"ref": "task:T1", "note": text, "notify": ["ben"]});
        let note = run::<Note>(&post.inbox, "ada", note).message;
        all_is_said(&post, "all of it");
        assert_eq!(post.named(), [] as [&str; 0]);
        let kept = post.inbox.kept_as(note.message_id).unwrap();
        assert_eq!(kept.message.body, text);
    });
}

/// What is done to a store, how it is taken back, and what is named of it.
const TAMPERING: [(&str, &str, &[&str]); 25] = [
    (
        "UPDATE entries SET body = 'first wards' WHERE body = 'first words'",
        "UPDATE entries SET body = 'first words' WHERE body = 'first wards'",
        &["changed body 1"],
    ),
    (
        "UPDATE threads SET subject = 'tvo' WHERE subject = 'two'",
        "UPDATE threads SET subject = 'two' WHERE subject = 'tvo'",
        &["changed subject 2"],
    ),
    (
        "UPDATE entries SET source_no = (SELECT agent_no FROM agents WHERE name = 'ben') WHERE body = 'second words'",
        "UPDATE entries SET source_no = (SELECT agent_no FROM agents WHERE name = 'ada') WHERE body = 'second words'",
        &["changed sender 2"],
    ),
    (
        "UPDATE entries SET to_no = (SELECT address_no FROM addresses WHERE address = 'nobody') WHERE body = 'second words'",
        "UPDATE entries SET to_no = (SELECT address_no FROM addresses WHERE address = 'ben') WHERE body = 'second words'",
        &["changed recipient 2"],
    ),
    (
        "UPDATE entries SET priority = 2 WHERE body = 'second words'",
        "UPDATE entries SET priority = NULL WHERE body = 'second words'",
        &["changed priority 2"],
    ),
    (
        "UPDATE entries SET kind = 2 WHERE body = 'second words'",
        "UPDATE entries SET kind = (SELECT kind FROM entries WHERE body = 'first words') WHERE body = 'second words'",
        &["changed kind 2", "changed message_type 2"],
    ),
    (
        "UPDATE entries SET payload = '{\"a\":1}' WHERE body = 'second words'",
        "UPDATE entries SET payload = NULL WHERE body = 'second words'",
        &["changed payload 2"],
    ),
    (
        "UPDATE entries SET summary = 'tvo' WHERE body = 'second words'",
        "UPDATE entries SET summary = 'two' WHERE body = 'second words'",
        &["changed summary 2"],
    ),
    (
        "UPDATE entries SET payload = 'no' WHERE body = 'second words'",
        "UPDATE entries SET payload = NULL WHERE body = 'second words'",
        &["changed message 2"],
    ),
    (
        "UPDATE entries SET uid_random = uid_random + 1 WHERE body = 'second words'",
        "UPDATE entries SET uid_random = uid_random - 1 WHERE body = 'second words'",
        &["changed uid 2"],
    ),
    (
        "UPDATE entries SET created_at = created_at + 1 WHERE body = 'second words'",
        "UPDATE entries SET created_at = created_at - 1 WHERE body = 'second words'",
        &["changed uid 2"],
    ),
    (
        "UPDATE entries SET uid = '0190c0de-0000-7000-8000-000000000005' WHERE body = 'from afar'",
        "UPDATE entries SET uid = '0190c0de-0000-7000-8000-000000000004' WHERE body = 'from afar'",
        &["added message -", "missing message 4"],
    ),
    (
        "UPDATE entries SET body = 'from afas' WHERE body = 'from afar'",
        "UPDATE entries SET body = 'from afar' WHERE body = 'from afas'",
        &["changed body 4"],
    ),
    (
        "UPDATE entries SET created_at = created_at + 1 WHERE body = 'from afar'",
        "UPDATE entries SET created_at = created_at - 1 WHERE body = 'from afar'",
        &["changed time 4"],
    ),
    (
        "UPDATE entries SET auth = 1 WHERE body = 'from afar'",
        "UPDATE entries SET auth = 3 WHERE body = 'from afar'",
        &["changed auth 4"],
    ),
    (
        "UPDATE records SET hash = '0' || SUBSTR(hash, 2) || 'x' WHERE sequence = 2",
        "",
        &["changed running_hash 2"],
    ),
    (
        "UPDATE records SET content = 'AAAA' WHERE sequence = 2",
        "",
        &["changed content 2"],
    ),
    (
        "UPDATE records SET payer = '0.0.2' WHERE sequence = 2",
        "",
        &["changed payer 2"],
    ),
    (
        "UPDATE records SET time = '1.000000001' WHERE sequence = 2",
        "",
        &["changed consensus_timestamp 2"],
    ),
    (
        "UPDATE records SET uid = (SELECT r.uid FROM records r WHERE r.sequence = 1) WHERE sequence = 2",
        "",
        &["changed uid 2"],
    ),
    (
        "UPDATE records SET state = 6 WHERE sequence = 2",
        "",
        &["changed state 2"],
    ),
    (
        "DELETE FROM records WHERE sequence = 2",
        "",
        &["missing record 2"],
    ),
    (
        "INSERT INTO records SELECT topic_no, 9, time, payer, hash, state, uid, reason, 'AAAA' FROM records WHERE sequence = 2",
        "",
        &["added record 9"],
    ),
    (
        "UPDATE records SET sequence = 12 - sequence WHERE sequence < 3; UPDATE records SET sequence = sequence - 9 WHERE sequence > 9",
        "",
        &["reordered record 1", "reordered record 2"],
    ),
    (
        "UPDATE topics SET sequence = 9 WHERE name = 'ben' AND place = 1",
        "UPDATE topics SET sequence = 4 WHERE name = 'ben' AND place = 1",
        &["changed cursor 4"],
    ),
];

#[test]
fn whatever_is_changed_missing_added_or_out_of_order_is_named() {
    both(|post| {
        post.filled();
        post.tamper("CREATE TABLE kept_records AS SELECT * FROM records");
        for (change, back, expected) in TAMPERING {
            post.tamper(change);
            assert_eq!(post.named(), expected, "{change}");
            if back.is_empty() {
                post.tamper("DELETE FROM records; INSERT INTO records SELECT * FROM kept_records");
            } else {
                post.tamper(back);
            }
        }
        assert_eq!(post.named(), [] as [&str; 0]);
    });
}

#[test]
fn a_message_that_is_taken_out_or_put_in_is_named() {
    both(|post| {
        post.filled();
        let columns = "thread_no, event_type, status, source_no, created_at, kind, to_no, auth, uid_random, summary, body";
        post.tamper(&format!(
            "INSERT INTO entries (entry_no, {columns}) SELECT 100, {columns} FROM entries WHERE body = 'first words'; UPDATE entries SET body = 'put in' WHERE entry_no = 100"
        ));
        let report = post.compared();
        assert_eq!(short(&report), ["added message -"], "{report:?}");
        post.tamper("DELETE FROM entries WHERE entry_no = 100");
        post.tamper("UPDATE entries SET kind = NULL WHERE body = 'second words'");
        assert_eq!(post.named(), ["missing message 2"]);
        // One that says that it came from the ledger.
        post.tamper("UPDATE entries SET kind = 1 WHERE body = 'second words'");
        post.tamper("DELETE FROM records WHERE sequence = 4; UPDATE topics SET sequence = 3, taken = 3 WHERE name = 'ben' AND place = 1");
        let report = post.compared();
        assert_eq!(report.topics.iter().map(|one| one.ahead).sum::<u64>(), 1);
        assert_eq!(short(&report), ["added message -"], "{report:?}");
        let one = compare(
            &post.inbox,
            &post.mirror(),
            Some(&post.ben.me.inbound_topic.to_string()),
        );
        assert_eq!(short(&one.unwrap()), [] as [&str; 0]);
        let other = compare(&post.inbox, &post.mirror(), Some("0.0.999"));
        assert_eq!(other.unwrap_err().code, inbox_core::Code::TopicNotFound);
    });
}

#[test]
fn what_is_said_of_entities_to_roles_and_to_all_is_compared_too() {
    both(|post| {
        post.settle();
        let told = [
            json!({ "to": ["role:reviewer"], "subject": "work", "kind": "task", "body": "for a role" }),
            json!({ "to": ["all"], "subject": "hear", "kind": "event", "body": "for everybody" }),
        ];
        for request in told {
            post.world.advance_ms(1);
            run::<Send>(&post.inbox, "ada", request);
        }
        post.world.advance_ms(1);
        let note = json!({ "ref": "task:T-1", "note": "it is hard" });
        run::<Note>(&post.inbox, "ada", note);
        let work = json!({ "to": ["ben"], "subject": "do", "ref_type": "task", "ref_id": "T-1" });
        let thread = run::<Send>(&post.inbox, "ada", work).thread.thread_id;
        post.settle();
        run::<Claim>(&post.inbox, "ben", json!({ "thread": thread }));
        post.settle();
        let report = post.compared();
        assert_eq!(short(&report), [] as [&str; 0], "{report:?}");
        let places: Vec<&str> = report
            .topics
            .iter()
            .map(|one| one.topic.place.name())
            .collect();
        for place in ["outbound", "role", "entity", "inbound"] {
            assert!(places.contains(&place), "{places:?}");
        }
        for (text, field) in [
            ("it is hard", "changed body 1"),
            ("for everybody", "changed body 2"),
        ] {
            post.tamper(&format!(
                "UPDATE entries SET body = 'other' WHERE body = '{text}'"
            ));
            assert_eq!(post.named(), [field], "{text}");
            post.tamper(&format!(
                "UPDATE entries SET body = '{text}' WHERE body = 'other'"
            ));
        }
    });
}

#[test]
fn what_was_counted_and_not_kept_of_a_flood_is_no_mismatch() {
    let post = Post::new(inbox_testkit::world::World::sqlite());
    let eve = post.stage.account(inbox_hedera::key::Algorithm::Ed25519);
    let topic = post.ben.me.inbound_topic;
    for number in 0..120 {
        let text = format!("rubbish {number}");
        eve.write(topic, text.as_bytes(), "", Fees::None).unwrap();
    }
    post.filled();
    assert_eq!(post.inbox.ledger_standing().unwrap().floods, 20);
    assert_eq!(post.named(), [] as [&str; 0]);
    post.tamper("DELETE FROM records WHERE sequence = 5");
    assert_eq!(post.compared().count(), 1);
    post.tamper("DELETE FROM records WHERE sequence = 122");
    let named = post.named();
    assert!(
        named.contains(&"missing record 122".to_owned()),
        "{named:?}"
    );
}

/// A mirror that says what another says, with something else in the place of one thing.
fn liar(post: &Post, what: String, instead: String) -> Mirror {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let rest = post.stage.devnet.rest;
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else {
                return;
            };
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
                head.push(byte[0]);
            }
            let text = String::from_utf8_lossy(&head);
            let Some(line) = text.lines().next() else {
                continue;
            };
            let mut above = TcpStream::connect(rest).unwrap();
            let request = format!("{line}\r\nHost: mirror\r\nConnection: close\r\n\r\n");
            above.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            above.read_to_string(&mut answer).unwrap();
            let _ = stream.write_all(answer.replace(&what, &instead).as_bytes());
        }
    });
    Mirror::new(&format!("http://{address}"))
}

#[test]
fn a_mirror_that_lies_is_told_from_a_store_that_was_changed() {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    both(|post| {
        post.filled();
        let page = post.mirror().messages(post.ben.me.inbound_topic, None);
        let page = page.unwrap();
        let hash = STANDARD.encode(&page[1].running_hash);
        let mut other = page[1].running_hash.clone();
        other[0] ^= 1;
        let mirror = liar(&post, hash, STANDARD.encode(other));
        let report = compare(&post.inbox, &mirror, None).unwrap();
        assert_eq!(short(&report), ["changed running_hash 2"], "{report:?}");
        let said = STANDARD.encode(&page[1].message);
        let mut other = page[1].message.clone();
        other[60] ^= 1;
        let mirror = liar(&post, said, STANDARD.encode(other));
        let report = compare(&post.inbox, &mirror, None).unwrap();
        assert_eq!(short(&report), ["changed message 2"], "{report:?}");
    });
}
