//! Whoever writes what another should have written: nothing of it is believed, whatever the operation and the place.

use std::collections::BTreeMap;

use inbox_bridge::{Fees, Net};
use inbox_core::{Auth, Priority};
use inbox_hcs::{AccountId, TopicId};
use inbox_hedera::key::Algorithm;
use inbox_ops::{AgentList, Operation as _};
use inbox_store::RecordState;
use inbox_testkit::world::by;
use serde_json::{Value, json};

use crate::field::Field;

/// There are at least so many.
const SPOOFS: usize = 200;

/// Who may be passed for, and by whom.
struct Ring<'f> {
    field: &'f Field,
    strangers: Vec<Net>,
    /// What was written where, by whom.
    count: usize,
    /// The bytes of a message that Ada really sent to Ben, and its UUID.
    real: Vec<u8>,
    uid: String,
}

fn operator(topic: TopicId, account: AccountId) -> String {
    format!("{topic}@{account}")
}

impl Ring<'_> {
    fn wire(&self, sender: &Value, uid: &str) -> Value {
        json!({
            "wire": "1.0", "type": "inbox", "sender": sender, "ts": "2027-01-15T08:00:00.000Z",
            "payload": { "to_agent": "ben", "priority": 1, "message_type": "info",
                "ref_task_id": null, "subject": "believe me", "body": "b", "action_required": false },
            "x_uid": uid,
        })
    }

    fn fresh(&self) -> String {
        format!("0190c0de-0000-7000-8000-{:012x}", self.count)
    }

    /// Has a payer write a text on an agent's inbound topic.
    fn write(&mut self, payer: &Net, to: &str, text: &str) {
        let topic = self.field.players[to].me.inbound_topic;
        payer.write(topic, text.as_bytes(), "", Fees::None).unwrap();
        self.count += 1;
    }

    fn message(&mut self, payer: &Net, to: &str, operator_id: &str, wire: &Value) {
        let text = json!({
            "p": "hcs-10", "op": "message", "operator_id": operator_id, "data": wire.to_string(),
        });
        self.write(payer, to, &text.to_string());
    }

    /// Every way to pass for an agent by a message on an inbound topic.
    fn messages(&mut self, to: &'static str, as_whom: &'static str, stranger: usize) {
        let field = self.field;
        let eve = std::mem::take(&mut self.strangers);
        let (payer, victim) = (&eve[stranger], &field.players[as_whom]);
        let other = &field.players[if as_whom == "ada" { "cyd" } else { "ada" }];
        let real = operator(victim.me.inbound_topic, victim.me.account);
        let name = json!(as_whom);
        let plain = |ring: &Self| ring.wire(&name, &ring.fresh());

        // A stranger, under the name, the account or the topic of an agent.
        let wire = plain(self);
        self.message(payer, to, &real, &wire);
        let wire = plain(self);
        let own = operator(victim.me.inbound_topic, payer.account());
        self.message(payer, to, &own, &wire);
        let wire = self.wire(&json!("eve"), &self.fresh());
        self.message(payer, to, &own, &wire);
        // An agent under another's.
        let wire = plain(self);
        self.message(&other.net, to, &real, &wire);
        let wire = plain(self);
        let mixed = operator(victim.me.inbound_topic, other.me.account);
        self.message(&other.net, to, &mixed, &wire);
        let wire = plain(self);
        let theirs = operator(other.me.inbound_topic, other.me.account);
        self.message(&other.net, to, &theirs, &wire);
        // An agent that names a topic that is not where it hears.
        for topic in [
            other.me.inbound_topic,
            victim.me.outbound_topic,
            TopicId::new(0, 0, 99_999).unwrap(),
        ] {
            let wire = plain(self);
            self.message(&victim.net, to, &operator(topic, victim.me.account), &wire);
        }
        // An agent under a name that is not its own.
        for sender in [
            json!("human"),
            json!("system"),
            json!([as_whom]),
            json!(null),
            json!(format!("{as_whom}\u{200b}")),
            json!(7),
        ] {
            let wire = self.wire(&sender, &self.fresh());
            self.message(&victim.net, to, &real, &wire);
        }
        // What was really said, by another, whole or in pieces; and its UUID on other words.
        let copy = String::from_utf8(self.real.clone()).unwrap();
        self.write(payer, to, &copy);
        self.write(&other.net, to, &copy);
        let mut long = self.wire(&name, &self.fresh());
        long["payload"]["body"] = json!("many words ".repeat(200));
        self.message(payer, to, &real, &long);
        let taken = self.wire(
            &json!(if as_whom == "ada" { "cyd" } else { "ada" }),
            &self.uid.clone(),
        );
        if as_whom == "ada" {
            self.message(&other.net, to, &theirs, &taken);
        } else {
            // Its own again is no other message, and changes none.
            self.message(&other.net, to, &theirs, &taken);
        }
        // A file of somebody else's.
        let file = json!({ "p": "hcs-10", "op": "message", "operator_id": real, "data": "hcs://1/0.0.1010" });
        self.write(payer, to, &file.to_string());
        // An operator that is none.
        for odd in ["", "@", "0.0.1@0.0.2@0.0.3", "ada", "0.0.-1@0.0.5"] {
            let wire = plain(self);
            self.message(payer, to, odd, &wire);
        }
        self.strangers = eve;
    }

    /// Every other operation, by one whom it does not name.
    fn operations(&mut self, to: &'static str, as_whom: &'static str, stranger: usize) {
        let field = self.field;
        let eve = std::mem::take(&mut self.strangers);
        let payer = &eve[stranger];
        let victim = &field.players[as_whom];
        let owner = &field.players[to];
        let real = operator(victim.me.inbound_topic, victim.me.account);
        let topic = victim.me.outbound_topic.to_string();
        let account = victim.me.account.to_string();
        let owners = operator(owner.me.inbound_topic, owner.me.account);
        for value in [
            json!({ "p": "hcs-10", "op": "connection_request", "operator_id": real }),
            json!({ "p": "hcs-10", "op": "connection_created", "connection_topic_id": topic, "connected_account_id": account, "operator_id": real, "connection_id": 1 }),
            json!({ "p": "hcs-10", "op": "connection_created", "connection_topic_id": topic, "connected_account_id": account, "operator_id": owners, "connection_id": 1 }),
            json!({ "p": "hcs-10", "op": "close_connection", "operator_id": real, "reason": "over" }),
            json!({ "p": "hcs-10", "op": "transaction", "operator_id": real, "schedule_id": "0.0.5005", "data": "sign this" }),
            json!({ "p": "hcs-10", "op": "register", "account_id": account }),
            json!({ "p": "hcs-10", "op": "delete", "uid": "1" }),
            json!({ "p": "hcs-10", "op": "migrate", "t_id": topic }),
            json!({ "p": "hcs-10", "op": "connection_closed", "connection_topic_id": topic, "operator_id": real }),
            json!({ "p": "hcs-10", "op": "note", "operator_id": real, "data": "done" }),
            json!({ "p": "hcs-2", "op": "register", "t_id": topic }),
            json!({ "wire": "1.0", "type": "claim", "sender": as_whom, "payload": {} }),
        ] {
            self.write(payer, to, &value.to_string());
        }
        self.strangers = eve;
    }
}

impl Ring<'_> {
    fn write_at(&mut self, payer: &Net, topic: TopicId, text: &str) {
        payer.write(topic, text.as_bytes(), "", Fees::None).unwrap();
        self.count += 1;
    }

    /// Every way to pass for an agent on the topics of an entity and of a role, where anybody may write.
    fn places(&mut self, entity: TopicId, role: TopicId, note: &str) {
        let field = self.field;
        let strangers = std::mem::take(&mut self.strangers);
        let liars: Vec<&Net> = strangers
            .iter()
            .chain([&field.players["cyd"].net])
            .collect();
        for payer in liars {
            for kind in ["note", "claim", "complete", "blocked"] {
                let named = json!({
                    "type": format!("task.{kind}"), "from_agent": "ada", "note": "believe me",
                    "notify": ["ben"], "ts": "2027-01-15T08:00:00.000Z", "x_uid": self.fresh(),
                });
                self.write_at(payer, entity, &named.to_string());
                let wire = json!({
                    "wire": "1.0", "type": kind, "sender": "ada", "ts": "2027-01-15T08:00:00.000Z",
                    "payload": { "summary": "believe me" }, "x_uid": self.fresh(), "x_thread": self.uid,
                });
                self.write_at(payer, entity, &wire.to_string());
            }
            // What Ada really noted, and what leads to another's words.
            self.write_at(payer, entity, note);
            let led = json!({ "type": "task.note", "from_agent": "ada", "note": "hcs://1/0.0.1010", "notify": [], "ts": "2027-01-15T08:00:00.000Z" });
            self.write_at(payer, entity, &led.to_string());
            for odd in [
                json!([]),
                json!({ "type": "task.note" }),
                json!({ "wire": "1.0" }),
                json!({ "type": "task.note", "from_agent": ["ada"], "note": "x" }),
            ] {
                self.write_at(payer, entity, &odd.to_string());
            }
            let pointer = self.wire(&json!("ada"), &self.fresh());
            self.write_at(payer, role, &pointer.to_string());
            self.write_at(payer, role, "read this");
        }
        self.strangers = strangers;
    }

    /// Every way to pass for an agent on its own topic: the network lets nobody but it write there, and a mirror may lie.
    fn outbound(&mut self) {
        let field = self.field;
        let topic = field.players["ada"].me.outbound_topic;
        let number = |id: u64| i64::try_from(id).unwrap();
        let eve = &self.strangers[0];
        let refused = eve.write(topic, b"{}", "", Fees::None);
        assert!(refused.is_err());
        let (ada, cyd) = (&field.players["ada"].me, &field.players["cyd"].me);
        let mut lies = Vec::new();
        for (account, inbound) in [
            (ada.account, ada.inbound_topic),
            (cyd.account, cyd.inbound_topic),
            (eve.account(), ada.inbound_topic),
        ] {
            for sender in ["ada", "cyd"] {
                let wire = self.wire(&json!(sender), &self.fresh()).to_string();
                let said = json!({ "p": "hcs-10", "op": "message", "operator_id": operator(inbound, account), "data": wire });
                lies.push(said.to_string().into_bytes());
            }
            let closed = json!({ "p": "hcs-10", "op": "connection_closed", "connection_topic_id": "0.0.1010", "operator_id": operator(inbound, account), "close_method": "explicit" });
            lies.push(closed.to_string().into_bytes());
        }
        self.count += lies.len();
        let payer = number(eve.account().number());
        let lies = lies.into_iter().map(|lie| (payer, lie));
        assert!(
            field
                .stage
                .devnet
                .pour(number(topic.number()), lies)
                .unwrap()
        );
    }
}

/// The bytes of the last message of a topic.
fn last_on(field: &Field, topic: TopicId) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mirror = field.players["ben"].net.mirror();
    inbox_bridge::history::messages(mirror, topic, None, |said| {
        bytes = said.bytes;
        Ok(std::ops::ControlFlow::Continue(()))
    })
    .unwrap();
    bytes
}

fn two_hundred(is_postgres: bool) {
    let field = Field::new(&["ada", "ben", "cyd"], is_postgres);
    let message = field.send("ada", "ben", "really", "the real one", Priority::Normal);
    field.note("ada", "task:T-1", "really");
    field.send("ada", "role:reviewer", "for whoever", "", Priority::Normal);
    field.settle();
    let real = field.unread("ben");
    assert_eq!(real.last().unwrap().uid, message.uid);
    let bytes = last_on(&field, field.players["ben"].me.inbound_topic);
    let of = |name: &str| field.topic(name).topic.unwrap().parse().unwrap();
    let (entity, role) = (of("task:T-1"), of("reviewer"));
    let note = String::from_utf8(last_on(&field, entity)).unwrap();
    let strangers = (0..3)
        .map(|_| field.stage.account(Algorithm::Ed25519))
        .collect();
    let mut ring = Ring {
        field: &field,
        strangers,
        count: 0,
        real: bytes,
        uid: message.uid.clone(),
    };
    let agents = || {
        let listed = AgentList::default().run(&field.inbox, &by("ada")).unwrap();
        serde_json::to_value(listed).unwrap()
    };
    let (before, roster) = (field.inbox.store().newest_event().unwrap(), agents());
    for (stranger, (to, as_whom)) in [
        ("ben", "ada"),
        ("ben", "cyd"),
        ("ada", "cyd"),
        ("ada", "ben"),
        ("cyd", "ada"),
        ("cyd", "ben"),
    ]
    .into_iter()
    .enumerate()
    {
        ring.messages(to, as_whom, stranger % 3);
        ring.operations(to, as_whom, stranger % 3);
    }
    ring.places(entity, role, &note);
    ring.outbound();
    let count = i64::try_from(ring.count).unwrap();
    assert!(ring.count >= SPOOFS, "{count}");
    field.settle();
    // Nothing has happened: no event, no mail, nobody else on the roster.
    assert_eq!(field.inbox.store().newest_event().unwrap(), before);
    assert_eq!(agents(), roster);
    for name in ["ada", "ben", "cyd"] {
        let mail = field.unread(name);
        assert!(mail.iter().all(|one| one.auth != Auth::Ledger), "{mail:?}");
        assert!(
            mail.iter().all(|one| one.summary != "believe me"),
            "{mail:?}"
        );
    }
    // Each is kept, as what it is.
    let standing = field.inbox.ledger_standing().unwrap();
    let mut states: BTreeMap<&str, i64> = BTreeMap::new();
    for (state, found) in &standing.records {
        states.insert(state.name(), *found);
    }
    // The message, the note, the pointer and what Ada put down of it.
    assert_eq!(states.remove(RecordState::Confirmed.name()), Some(4));
    assert_eq!(
        states.values().sum::<i64>() + standing.floods,
        count,
        "{states:?}"
    );
    assert_eq!(states.get(RecordState::Taken.name()), None, "{states:?}");
    assert!(
        states["unverified"] > 100 && states["unreadable"] > 20,
        "{states:?}"
    );
}

#[test]
fn two_hundred_spoofs_over_all_operations_change_nothing() {
    std::thread::scope(|scope| {
        scope.spawn(|| two_hundred(false));
        scope.spawn(|| two_hundred(true));
    });
}
