//! Mail between agents of one store, by way of the ledger.

use inbox_bridge::bridge::{Bridge, Turn};
use inbox_bridge::history;
use inbox_bridge::keys::Keys;
use inbox_bridge::verify::verify;
use inbox_bridge::{Fees, Inbound, Net, peer};
use inbox_core::{Auth, EventType, Kind, Priority};
use inbox_hcs::{Data, InboundMessage, Operation, OperatorId};
use inbox_hedera::key::Algorithm;
use inbox_ops::config::{Config, Ledger};
use inbox_ops::{AgentSet, Claim, Inbox, Operation as _, Read, Send, Watch};
use inbox_store::RecordState;
use inbox_testkit::sandbox::TempDir;
use inbox_testkit::world::{World, by, by_sql};

use crate::stage::{Player, Stage, holder};

/// Two agents of one store who are on the ledger, and the file of their keys.
pub(crate) struct Post {
    pub(crate) stage: Stage,
    pub(crate) world: World,
    pub(crate) inbox: Inbox,
    pub(crate) ada: Player,
    pub(crate) ben: Player,
    pub(crate) folder: TempDir,
}

impl Post {
    pub(crate) fn new(world: World) -> Self {
        Post::with(world, Inbound::Public)
    }

    fn with(world: World, inbound: Inbound) -> Self {
        let stage = Stage::new();
        let ada = stage.player("Ada");
        let ben = stage.player_with("Ben", inbound, Algorithm::Ed25519);
        let config = Config {
            ledger: Ledger {
                network: Some("local".into()),
                ..Ledger::default()
            },
            ..Config::default()
        };
        let inbox = world.another().with_config(config);
        let folder = TempDir::new();
        let post = Post {
            stage,
            world,
            inbox,
            ada,
            ben,
            folder,
        };
        for (name, player) in [("ada", &post.ada), ("ben", &post.ben)] {
            let request = AgentSet {
                slug: Some(name.parse().unwrap()),
                account_id: Some(player.me.account.to_string().parse().unwrap()),
                inbound_topic_id: Some(player.me.inbound_topic.to_string().parse().unwrap()),
                outbound_topic_id: Some(player.me.outbound_topic.to_string().parse().unwrap()),
                ..AgentSet::default()
            };
            post.world.send(name, "nobody", "hello");
            request.run(&post.inbox, &by(name)).unwrap();
            let mut held = holder(&player.net);
            held.inbound = Some(player.me.inbound_topic);
            held.outbound = Some(player.me.outbound_topic);
            post.keys().put(name, &held).unwrap();
        }
        post
    }

    pub(crate) fn keys(&self) -> Keys {
        Keys::open(&self.folder.path().join("keys"), "local").unwrap()
    }

    pub(crate) fn bridge<'i>(&self, inbox: &'i Inbox) -> Bridge<'i> {
        let keys = self.folder.path().join("keys");
        Bridge::new(inbox, self.stage.network.clone(), keys).unwrap()
    }

    /// Turns until there is nothing to do.
    pub(crate) fn settle(&self) -> Turn {
        let mut bridge = self.bridge(&self.inbox);
        let mut all = Turn::default();
        loop {
            let turn = bridge.turn().unwrap();
            all.sent += turn.sent;
            all.taken += turn.taken;
            all.problems += turn.problems;
            if turn == Turn::default() {
                bridge.leave().unwrap();
                return all;
            }
        }
    }

    pub(crate) fn send(&self, priority: Priority, subject: &str, body: &str) -> inbox_ops::Posted {
        let request = Send {
            to: vec!["ben".parse().unwrap()],
            subject: Some(subject.into()),
            body: Some(body.into()),
            priority: Some(priority),
            ..Send::default()
        };
        request.run(&self.inbox, &by("ada")).unwrap()
    }

    /// What Ben has not read.
    pub(crate) fn unread(&self) -> Vec<String> {
        let read = Read {
            peek: true,
            ..Read::default()
        };
        let mail = read.run(&self.inbox, &by("ben")).unwrap();
        mail.messages
            .into_iter()
            .map(|message| message.summary)
            .collect()
    }

    pub(crate) fn states(&self) -> Vec<(RecordState, i64)> {
        self.inbox.ledger_standing().unwrap().records
    }
}

pub(crate) fn both(test: fn(Post)) {
    test(Post::new(World::sqlite()));
    test(Post::new(World::postgres()));
}

#[test]
fn what_is_not_urgent_is_seen_when_the_topic_has_it() {
    both(|post| {
        let sent = post.send(Priority::Normal, "later", "no hurry");
        assert_eq!(post.unread(), [] as [&str; 0]);
        let claim = Claim::default().run(&post.inbox, &by("ben")).unwrap();
        assert!(claim.lease.is_none(), "{claim:?}");
        assert_eq!(post.inbox.ledger_standing().unwrap().backlog.count, 1);
        let watch = Watch {
            after_event: Some(sent.next_event_id),
            ..Watch::default()
        };

        let done = post.settle();
        assert_eq!((done.sent, done.taken, done.problems), (1, 1, 0));
        assert_eq!(post.unread(), ["later"]);
        let seen = watch.run(&post.inbox, &by("ben")).unwrap();
        let last = seen.events.last().unwrap();
        assert_eq!(last.event_type, EventType::Confirmed);
        assert_eq!(post.inbox.ledger_standing().unwrap().backlog.count, 0);
        assert_eq!(post.states(), [(RecordState::Confirmed, 1)]);
        let claim = Claim::default().run(&post.inbox, &by("ben")).unwrap();
        assert_eq!(claim.thread.unwrap().thread_id, sent.thread.thread_id);
        assert_eq!(post.settle(), Turn::default());
    });
}

#[test]
fn a_thread_that_left_its_queue_is_found_once_its_topic_has_it() {
    both(|post| {
        let found = || post.inbox.store().check().unwrap();
        let sent = post.send(Priority::Normal, "later", "");
        assert_eq!(found(), [""; 0], "it waits for its topic");
        post.settle();
        assert_eq!(found(), [""; 0], "it is in its queue");
        let thread = sent.thread.thread_id.key();
        let sql = format!("DELETE FROM recipients WHERE thread_no = {thread}");
        by_sql(post.world.location(), &sql);
        assert_eq!(found(), [format!("thread {thread} waits in no queue")]);
    });
}

#[test]
fn what_is_urgent_is_seen_at_once_and_confirmed_later() {
    both(|post| {
        post.send(Priority::Urgent, "now", "hurry");
        assert_eq!(post.unread(), ["now"]);
        post.settle();
        assert_eq!(post.unread(), ["now"]);
        assert_eq!(post.states(), [(RecordState::Confirmed, 1)]);
    });
}

#[test]
fn what_was_read_meanwhile_does_not_hide_what_comes_late() {
    both(|post| {
        post.send(Priority::Normal, "first", "");
        post.send(Priority::Urgent, "second", "");
        let read = Read::default().run(&post.inbox, &by("ben")).unwrap();
        assert_eq!(read.messages.len(), 1);
        post.settle();
        assert_eq!(post.unread(), ["first"]);
    });
}

#[test]
fn a_large_message_goes_through_a_file_and_a_topic_stays_whole() {
    both(|post| {
        post.send(Priority::Normal, "large", &"many words ".repeat(400));
        post.settle();
        assert_eq!(post.unread(), ["large"]);
        let mirror = post.ben.net.mirror();
        verify(mirror, post.ben.me.inbound_topic).unwrap();
        let mut sizes = Vec::new();
        history::pieces(mirror, post.ben.me.inbound_topic, None, |message| {
            sizes.push(message.message.len());
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
        assert!(sizes.len() == 1 && sizes[0] < 1_024, "{sizes:?}");
    });
}

#[test]
fn nobody_passes_for_another_on_a_topic() {
    both(|post| {
        let say = |net: &Net, operator: OperatorId, sender: &str| {
            let wire = serde_json::json!({
                "wire": "1.0", "type": "inbox", "sender": sender, "ts": "2027-01-15T08:00:00.000Z",
                "payload": { "to_agent": "ben", "priority": 1, "message_type": "info",
                    "ref_task_id": null, "subject": "believe me", "body": "b", "action_required": false },
                "x_uid": "0190c0de-0000-7000-8000-000000000001",
            });
            let message = Operation::InboundMessage(InboundMessage {
                operator,
                data: Data::new(wire.to_string()),
                written_at: None,
                memo: None,
            });
            net.operate(post.ben.me.inbound_topic, &message, Fees::None)
                .unwrap();
        };
        let ada = post.ada.agent().operator();
        let eve = post.stage.account(Algorithm::Ed25519);
        let eves = OperatorId {
            account: eve.account(),
            ..ada
        };
        say(&eve, ada, "ada");
        say(&eve, eves, "ada");
        say(&post.ben.net, ada, "ada");
        say(&post.ada.net, post.ben.agent().operator(), "ben");
        let elsewhere = OperatorId {
            inbound_topic: post.ben.me.inbound_topic,
            ..ada
        };
        say(&post.ada.net, elsewhere, "ada");
        say(&post.ada.net, ada, "ben");
        let rubbish = post.ben.me.inbound_topic;
        eve.write(rubbish, b"not JSON", "", Fees::None).unwrap();
        post.settle();
        assert_eq!(post.unread(), [] as [&str; 0]);
        assert_eq!(
            post.states(),
            [(RecordState::Unverified, 6), (RecordState::Unreadable, 1)]
        );
        // The same by who it says that it is comes in, once.
        say(&post.ada.net, ada, "ada");
        say(&post.ada.net, ada, "ada");
        post.settle();
        let read = Read::default().run(&post.inbox, &by("ben")).unwrap();
        let message = &read.messages[0];
        assert_eq!((read.messages.len(), message.kind), (1, Kind::Event));
        assert_eq!((message.auth, message.verified), (Auth::Ledger, true));
        assert!(post.states().contains(&(RecordState::Repeated, 1)));
    });
}

#[test]
fn a_network_that_is_away_delays_and_loses_nothing() {
    both(|post| {
        post.send(Priority::Normal, "one", "");
        post.send(Priority::Normal, "two", "");
        post.stage.devnet.faults().busy(1);
        post.stage.devnet.faults().lose(1);
        post.stage.devnet.faults().delay_receipts(2);
        post.settle();
        // Whoever dies in the midst has written down what it sent.
        post.send(Priority::Normal, "three", "");
        let topics = post.inbox.ledger_topics("gone", 1).unwrap();
        let ben = topics.iter().find(|topic| topic.name == "ben").unwrap();
        let leaving = post.inbox.leaving(ben.topic_no, 1).unwrap().remove(0);
        let mut outgoing = leaving.outgoing.clone();
        let id = post.ada.net.next_id();
        outgoing.step_id = Some(id.to_string());
        post.inbox.set_outgoing(&outgoing, None).unwrap();
        let said = Operation::InboundMessage(InboundMessage {
            operator: post.ada.agent().operator(),
            data: Data::new(leaving.wire.to_string()),
            written_at: None,
            memo: None,
        });
        let text = said.write().unwrap();
        let topic = post.ben.me.inbound_topic;
        post.ada
            .net
            .write_as(id, topic, text.as_bytes(), "", &[])
            .unwrap();
        post.inbox.leave_topics("gone").unwrap();
        post.settle();
        let mut unread = post.unread();
        unread.sort();
        assert_eq!(unread, ["one", "three", "two"]);
        assert_eq!(verify(post.ada.net.mirror(), topic).unwrap().messages, 3);
    });
}

#[test]
fn a_topic_that_takes_a_fee_is_paid_nothing_and_the_mail_waits_with_the_reason() {
    let toll = Inbound::Fee("2".parse().unwrap());
    let post = Post::with(World::sqlite(), toll);
    let balance = |post: &Post| {
        peer::account(post.ada.net.mirror(), post.ada.me.account)
            .unwrap()
            .balance
    };
    let before = balance(&post);
    post.send(Priority::Normal, "dear", "");
    let turn = post.bridge(&post.inbox).turn().unwrap();
    assert_eq!((turn.sent, turn.problems), (0, 1));
    assert_eq!(balance(&post), before);
    let backlog = post.inbox.ledger_standing().unwrap().backlog;
    assert_eq!((backlog.count, backlog.problems), (1, 1));
}

#[test]
fn two_bridges_take_in_nothing_twice() {
    both(|post| {
        for number in 0..20 {
            post.send(Priority::Normal, &format!("mail {number}"), "");
        }
        let other = post.world.another();
        let mut first = post.bridge(&post.inbox);
        let mut second = post.bridge(&other);
        for _ in 0..5 {
            first.turn().unwrap();
            second.turn().unwrap();
            // As if the first had been gone for long.
            post.world.advance_ms(31_000);
            second.turn().unwrap();
            first.turn().unwrap();
        }
        assert_eq!(post.unread().len(), 20);
        let topic = post.ben.me.inbound_topic;
        assert_eq!(verify(post.ada.net.mirror(), topic).unwrap().messages, 20);
        assert_eq!(post.states(), [(RecordState::Confirmed, 20)]);
    });
}
