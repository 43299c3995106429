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

fn two_hundred(is_postgres: bool) {
    let field = Field::new(&["ada", "ben", "cyd"], is_postgres);
    let message = field.send("ada", "ben", "really", "the real one", Priority::Normal);
    field.settle();
    let real = field.unread("ben");
    assert_eq!(real.last().unwrap().uid, message.uid);
    let bytes = {
        let mut bytes = Vec::new();
        let mirror = field.players["ben"].net.mirror();
        let topic = field.players["ben"].me.inbound_topic;
        inbox_bridge::history::messages(mirror, topic, None, |said| {
            bytes = said.bytes;
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
        bytes
    };
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
    let count = i64::try_from(ring.count).unwrap();
    assert!(count >= 200, "{count}");
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
    assert_eq!(states.remove(RecordState::Confirmed.name()), Some(1));
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
