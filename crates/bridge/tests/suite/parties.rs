//! Connections with agents outside: how they end, who the parties are, and what is paid.

use inbox_bridge::Fees;
use inbox_core::{Code, ThreadId};
use inbox_hcs::{CloseMethod, Message, Operation, OperatorId, Place, TopicId};
use inbox_ops::config::{Connections, Policy};
use inbox_store::{ConnectionState, RecordState};
use inbox_testkit::world::World;

use crate::house::{House, both, meeting, refused};
use crate::stage::{Player, hbar};
use crate::threads::{connected, text};

#[test]
fn an_end_is_seen_whoever_it_is_by() {
    both(&meeting(Policy::Accept), |house| {
        let closed = |house: &House, thread: ThreadId, by: &str| {
            let row = house.connections().pop().unwrap();
            assert_eq!(row.state, ConnectionState::Closed, "{row:?}");
            let said = house.said(thread);
            assert!(
                said.iter().any(|(_, _, words)| words.contains(by)),
                "{said:?}"
            );
            let late = house.answer("ben", thread, "late");
            assert!(refused(late, Code::InvalidTransition).contains("was closed"));
            let topic: TopicId = row.topic.unwrap().parse().unwrap();
            let records = house.operations(house.ben.me.outbound_topic, Place::Outbound);
            let ends = records.iter().filter(|operation| {
                matches!(operation, Operation::ClosedRecord(record) if record.connection_topic == topic)
            });
            assert_eq!(ends.count(), 1);
        };
        // By a message of the other.
        let (ada, topic, thread) = connected(&house, "Ada");
        let reason = Some("all said".to_owned());
        ada.agent()
            .close(topic, reason, CloseMethod::Explicit)
            .unwrap();
        house.settle();
        closed(&house, thread, "all said");
        house.wait();
        closed(&house, thread, "all said");
        // By the key alone.
        let (eve, topic, thread) = connected(&house, "Eve");
        house.answer("ben", thread, "are you there?").unwrap();
        let own = eve.net.public_key().unwrap();
        eve.net.update_topic(topic, None, Some(own)).unwrap();
        house.wait();
        closed(&house, thread, "let nobody else write");
        // By the agent here, with a command.
        let (_, topic, thread) = connected(&house, "Fay");
        house
            .ben
            .agent()
            .close(topic, None, CloseMethod::Explicit)
            .unwrap();
        house.settle();
        house.wait();
        closed(&house, thread, "ben closed the connection");
        // Who was closed may ask again.
        ada.agent().connect(house.ben.me.account, None).unwrap();
        house.settle();
        let row = house.connections().pop().unwrap();
        assert_eq!(row.state, ConnectionState::Open);
    });
}

#[test]
fn parties_are_told_apart_by_who_paid_and_others_are_not_believed() {
    both(&Connections::default(), |house| {
        let ada = house.stage.player("Ada");
        let guest = house.stage.player("Gil");
        let eve = house.stage.player("Eve");
        let asked = house.ben.agent().connect(ada.me.account, None).unwrap();
        let topic = ada
            .agent()
            .accept(asked.request, &[guest.me.account], None, None)
            .unwrap()
            .topic;
        house.settle();
        let thread = house.connection().thread.unwrap();
        house.read("ben");
        let tell = |net: &inbox_bridge::Net, operator: OperatorId, words: &str| {
            let said = Operation::Message(Message {
                operator,
                data: inbox_hcs::Data::new(words),
                memo: None,
            });
            net.operate(topic, &said, Fees::None)
        };
        tell(&ada.net, ada.agent().operator(), "I am Ada").unwrap();
        tell(&guest.net, guest.agent().operator(), "I am Gil").unwrap();
        tell(&guest.net, ada.agent().operator(), "I am Ada, too").unwrap();
        let elsewhere = OperatorId {
            inbound_topic: eve.me.inbound_topic,
            ..ada.agent().operator()
        };
        tell(&ada.net, elsewhere, "I hear elsewhere").unwrap();
        assert!(tell(&eve.net, eve.agent().operator(), "I am nobody").is_err());
        house.settle();
        let mail = house.read("ben");
        let said: Vec<_> = mail
            .iter()
            .map(|message| (message.from_agent.to_string(), message.summary.clone()))
            .collect();
        let name = |player: &Player| format!("account-{}", player.me.account);
        let expected = [
            (name(&ada), "I am Ada".to_owned()),
            (name(&guest), "I am Gil".to_owned()),
        ];
        assert_eq!(said, expected);
        assert!(house.states().contains(&(RecordState::Unverified, 2)));
        house.answer("ben", thread, "welcome").unwrap();
        house.settle();
        assert_eq!(heard_by_key(&house, topic).last().unwrap(), "welcome");
    });
}

/// What stands on a topic, whoever said it.
fn heard_by_key(house: &House, topic: TopicId) -> Vec<String> {
    let operations = house.operations(topic, Place::Connection);
    let words = |operation| match operation {
        Operation::Message(message) => Some(message.data.as_str().to_owned()),
        _ => None,
    };
    operations.into_iter().filter_map(words).collect()
}

#[test]
fn a_fee_is_taken_where_it_is_set_and_paid_up_to_what_is_allowed() {
    for world in [World::sqlite(), World::postgres()] {
        let connections = Connections {
            fee: Some("2".parse().unwrap()),
            max_fee: "1".parse().unwrap(),
            ..meeting(Policy::Accept)
        };
        let house = House::new(world, connections);
        let (ada, topic, thread) = connected(&house, "Ada");
        // Ours: the other pays, and we do not.
        let free = ada.agent().say(topic, b"for nothing", &text(), None);
        assert_eq!(free.unwrap_err().code, Code::NotAllowed);
        ada.paying("2").say(topic, b"paid", &text(), None).unwrap();
        house.answer("ben", thread, "thanks").unwrap();
        house.settle();
        assert_eq!(heard_by_key(&house, topic), ["paid", "thanks"]);
        // Theirs: paid up to the most, and no more.
        for (fee, is_paid) in [("0.5", true), ("3", false)] {
            let other = house.stage.player("Eve");
            let asked = house.ben.agent().connect(other.me.account, None).unwrap();
            let topic = other
                .agent()
                .accept(asked.request, &[], Some(hbar(fee)), None)
                .unwrap()
                .topic;
            house.settle();
            house.wait();
            let row = house.connections().pop().unwrap();
            house.answer("ben", row.thread.unwrap(), "hello").unwrap();
            let turn = house.settle();
            assert_eq!(turn.problems == 0, is_paid, "{fee}");
            let there = heard_by_key(&house, topic);
            assert_eq!(there.len(), usize::from(is_paid), "{there:?}");
        }
        assert_eq!(house.inbox.ledger_standing().unwrap().backlog.problems, 1);
    }
}

#[test]
fn whoever_comes_late_to_a_connection_asks_nobody_and_opens_no_thread() {
    both(&meeting(Policy::Ask), |house| {
        let ada = house.stage.player("Ada");
        ada.agent().connect(house.ben.me.account, None).unwrap();
        house.settle();
        assert_eq!(house.read("pat").len(), 1);
        let mut late = house.connection();
        late.topic = Some("0.0.424242".into());
        let mut first = late.clone();
        assert!(house.inbox.set_connection(&mut first).unwrap());
        assert!(!house.inbox.ask_about_connection(&mut late.clone()).unwrap());
        assert!(!house.inbox.open_connection(&mut late.clone()).unwrap());
        assert_eq!(house.read("ben").len() + house.read("pat").len(), 0);

        assert!(house.inbox.open_connection(&mut first).unwrap());
        assert_eq!(house.read("ben")[0].thread_id, first.thread.unwrap());
        let told = house.read("pat").remove(0);
        assert_eq!(Some(told.thread_id), first.question);
        assert!(!house.inbox.open_connection(&mut late).unwrap());
        assert_eq!(house.read("ben").len() + house.read("pat").len(), 0);
        assert_eq!(house.connection(), first);
    });
}
