//! Connections with agents outside, as threads of the store.

use inbox_bridge::publish::create_outbound;
use inbox_bridge::{Fees, Reached};
use inbox_core::{Auth, Code, Kind, ThreadId};
use inbox_hcs::{
    ConnectionCreated, ConnectionRequest, Content, Mime, Operation, OperatorId, Place, TopicId,
};
use inbox_hedera::key::Algorithm;
use inbox_ops::config::{Connections, Policy};
use inbox_ops::{Operation as _, Send};
use inbox_store::{ConnectionState, RecordState};
use inbox_testkit::world::{World, by};

use crate::house::{House, both, meeting, refused};
use crate::stage::Player;

pub(crate) fn text() -> Mime {
    "text/plain".parse().unwrap()
}

pub(crate) fn say(player: &Player, topic: TopicId, words: &str) {
    let said = player.agent().say(topic, words.as_bytes(), &text(), None);
    said.unwrap();
}

/// What a player finds on a connection's topic: who paid, and what it says.
fn heard(player: &Player, topic: TopicId) -> Vec<(String, String)> {
    let lines = player.agent().read(topic, None).unwrap();
    let line = |line: inbox_bridge::agent::Line| match line.what {
        inbox_bridge::agent::What::Message(Ok(content), _) => {
            assert!(line.is_verified);
            let words = match content {
                Content::Inline(words) => words,
                Content::File(bytes) => String::from_utf8(bytes).unwrap(),
            };
            Some((line.payer.to_string(), words))
        }
        _ => None,
    };
    lines.into_iter().filter_map(line).collect()
}

/// An agent outside that is connected with Ben, who accepts everybody: with the topic and the thread.
pub(crate) fn connected(house: &House, name: &str) -> (Player, TopicId, ThreadId) {
    let ada = house.stage.player(name);
    ada.agent().connect(house.ben.me.account, None).unwrap();
    house.settle();
    let all = house.connections();
    let row = all.last().unwrap();
    assert_eq!(row.state, ConnectionState::Open, "{row:?}");
    let topic = row.topic.as_deref().unwrap().parse().unwrap();
    (ada, topic, row.thread.unwrap())
}

#[test]
fn an_agent_outside_is_let_in_by_policy_and_what_both_say_is_a_thread() {
    both(&meeting(Policy::Accept), |house| {
        let ada = house.stage.player("Ada");
        let memo = Some("about the shop".to_owned());
        ada.agent().connect(house.ben.me.account, memo).unwrap();
        house.settle();
        let row = house.connection();
        let (topic, thread) = (row.topic.clone().unwrap(), row.thread.unwrap());
        let topic: TopicId = topic.parse().unwrap();
        let overview = ada.agent().look(Reached::All).unwrap();
        assert!(overview.live(topic).is_ok());
        let greeting = house.read("ben").remove(0);
        assert_eq!(greeting.thread_id, thread);
        assert_eq!(greeting.body, "about the shop");
        let name = format!("account-{}", ada.me.account);

        say(&ada, topic, "hello");
        say(&ada, topic, &"many words ".repeat(300));
        house.settle();
        let mail = house.read("ben");
        assert_eq!(mail.len(), 2, "{mail:?}");
        for message in &mail {
            assert_eq!(message.from_agent.as_str(), name);
            assert_eq!((message.auth, message.verified), (Auth::Ledger, true));
            assert_eq!((message.thread_id, message.kind), (thread, Kind::Event));
        }
        assert_eq!(mail[0].summary, "hello");
        assert_eq!(mail[1].body, "many words ".repeat(300));

        let long = "a long answer ".repeat(200);
        house.answer("ben", thread, "and to you").unwrap();
        house.reply("ben", thread, "at length", &long).unwrap();
        let open = Send {
            to: vec![name.parse().unwrap()],
            subject: Some("another matter".into()),
            kind: Some(Kind::Event),
            ..Send::default()
        };
        open.run(&house.inbox, &by("ben")).unwrap();
        let by_account = Send {
            to: vec![ada.me.account.to_string().parse().unwrap()],
            ..open.clone()
        };
        by_account.run(&house.inbox, &by("ben")).unwrap();
        house.settle();
        house.wait();
        let bens = house.ben.me.account.to_string();
        let answers: Vec<String> = heard(&ada, topic)
            .into_iter()
            .filter(|(payer, _)| *payer == bens)
            .map(|(_, words)| words)
            .collect();
        let expected = [
            "and to you",
            long.as_str(),
            "another matter",
            "another matter",
        ];
        assert_eq!(answers, expected);
        assert_eq!(house.inbox.ledger_standing().unwrap().backlog.count, 0);
        let said = house.said(thread);
        let (opened, heard, answered) = (1, 2, 2);
        assert_eq!(said.len(), opened + heard + answered, "{said:?}");
        assert!(house.states().contains(&(RecordState::Confirmed, 4)));
        assert!(house.states().contains(&(RecordState::Taken, 2)));
        let mirror = house.stage.network.reader();
        let report = inbox_bridge::compare::compare(&house.inbox, &mirror, None).unwrap();
        assert_eq!(report.mismatches, [], "the store has what the topics have");

        // Nobody here passes for the one outside.
        refused(house.answer(&name, thread, "as if"), Code::NotAllowed);
        // Who has no connection has none.
        let stranger = Send {
            to: vec!["0.0.424242".parse().unwrap()],
            ..open
        };
        let refusal = stranger.run(&house.inbox, &by("ben")).unwrap_err();
        assert_eq!(refusal.code, Code::NotAllowed);
    });
}

#[test]
fn a_person_is_asked_and_nobody_else_decides() {
    both(&meeting(Policy::Ask), |house| {
        let ada = house.stage.player("Ada");
        let memo = Some("about the shop".to_owned());
        ada.agent().connect(house.ben.me.account, memo).unwrap();
        house.settle();
        let question = house.read("pat").remove(0);
        assert_eq!(question.kind, Kind::Question);
        let account = ada.me.account.to_string();
        for part in ["ben", "\"Ada\"", &account, "about the shop"] {
            assert!(question.body.contains(part), "{}", question.body);
        }
        let thread = question.thread_id;
        assert_eq!(house.settle(), inbox_bridge::bridge::Turn::default());
        refused(house.answer("ben", thread, "accept"), Code::NotAllowed);
        refused(house.answer("pat", thread, "perhaps"), Code::InvalidInput);
        assert_eq!(house.connection().state, ConnectionState::Asked);

        house.answer("pat", thread, "accept").unwrap();
        house.settle();
        let row = house.connection();
        assert_eq!(row.state, ConnectionState::Open);
        assert_eq!(row.decided_by.as_deref(), Some("pat"));
        refused(
            house.answer("pat", thread, "refuse"),
            Code::InvalidTransition,
        );
        house.answer("pat", thread, "good").unwrap();
        assert!(
            house
                .read("pat")
                .iter()
                .any(|message| message.summary.contains("is connected"))
        );
    });
}

#[test]
fn who_is_refused_is_told_once_and_asks_no_person_again() {
    both(&meeting(Policy::Ask), |house| {
        let ada = house.stage.player("Ada");
        let asked = ada.agent().connect(house.ben.me.account, None).unwrap();
        house.settle();
        let thread = house.read("pat").remove(0).thread_id;
        house.answer("pat", thread, "refuse: we are full").unwrap();
        house.settle();
        assert_eq!(house.connection().state, ConnectionState::Refused);
        let overview = ada.agent().look(Reached::All).unwrap();
        let key = overview.connections.iter().next().unwrap().key;
        assert_eq!(key.request, asked.request);
        assert_eq!(overview.reason(key), Some("we are full"));
        house.read("pat");
        ada.agent().connect(house.ben.me.account, None).unwrap();
        house.settle();
        assert_eq!(house.read("pat").len(), 0);
        assert_eq!(house.connections().len(), 1);
        let told = house.operations(ada.me.inbound_topic, Place::Inbound);
        assert_eq!(told.len(), 1, "{told:?}");
    });
}

#[test]
fn a_list_is_stronger_than_the_policy() {
    let world = World::sqlite();
    let mut house = House::new(world, meeting(Policy::Refuse));
    let (ada, eve) = (house.stage.player("Ada"), house.stage.player("Eve"));
    let config = house.inbox.config().clone();
    let mut changed = config.clone();
    changed.ledger.connections.accept = vec![ada.me.account.to_string()];
    house.inbox = house.world.another().with_config(changed);
    for player in [&ada, &eve] {
        player.agent().connect(house.ben.me.account, None).unwrap();
    }
    house.settle();
    let states: Vec<_> = house.connections().iter().map(|row| row.state).collect();
    assert_eq!(states, [ConnectionState::Open, ConnectionState::Refused]);
    assert_eq!(house.read("pat").len(), 0);
}

#[test]
fn a_request_is_believed_only_if_the_asker_paid_and_hears_where_it_says() {
    both(&meeting(Policy::Accept), |house| {
        let (ada, eve) = (house.stage.player("Ada"), house.stage.player("Eve"));
        let poor = house.stage.account(Algorithm::Ed25519);
        let ask = |net: &inbox_bridge::Net, operator: OperatorId| {
            let request = Operation::ConnectionRequest(ConnectionRequest {
                operator,
                memo: None,
            });
            net.operate(house.ben.me.inbound_topic, &request, Fees::None)
                .unwrap();
        };
        let adas = ada.agent().operator();
        // Under another's name, with another's topic, without a profile.
        ask(&eve.net, adas);
        ask(
            &eve.net,
            OperatorId {
                account: eve.me.account,
                ..adas
            },
        );
        ask(
            &poor,
            OperatorId {
                account: poor.account(),
                inbound_topic: eve.me.inbound_topic,
            },
        );
        // A confirmation by who is not asked.
        let created = Operation::ConnectionCreated(ConnectionCreated {
            connection_topic: eve.me.outbound_topic,
            connected_account: eve.me.account,
            operator: eve.agent().operator(),
            connection: inbox_hcs::Sequence::FIRST,
            memo: None,
        });
        eve.net
            .operate(house.ben.me.inbound_topic, &created, Fees::None)
            .unwrap();
        house.settle();
        assert_eq!(house.states(), [(RecordState::Unverified, 4)]);
        assert!(house.connections().iter().all(|row| row.topic.is_none()));
        // The same by who it says comes in.
        ask(&ada.net, adas);
        house.settle();
        let row = house.connections().pop().unwrap();
        assert_eq!(row.state, ConnectionState::Open);
        assert_eq!(row.other, ada.me.account.to_string());
    });
}

#[test]
fn who_asks_a_hundred_times_has_asked_once() {
    both(&meeting(Policy::Ask), |house| {
        let ada = house.stage.player("Ada");
        let request = Operation::ConnectionRequest(ConnectionRequest {
            operator: ada.agent().operator(),
            memo: None,
        });
        for _ in 0..100 {
            ada.net
                .operate(house.ben.me.inbound_topic, &request, Fees::None)
                .unwrap();
        }
        house.settle();
        assert_eq!(house.connection().state, ConnectionState::Asked);
        assert_eq!(house.read("pat").len(), 1);
    });
}

#[test]
fn a_running_bridge_lets_in_and_carries_words_both_ways() {
    let house = House::new(World::sqlite(), meeting(Policy::Accept));
    let ada = house.stage.player("Ada");
    let keys = house.keys();
    let inbox = house
        .world
        .another()
        .with_config(house.inbox.config().clone());
    std::thread::scope(|scope| {
        let network = house.stage.network.clone();
        let (ready, stopper) = std::sync::mpsc::channel();
        let running = scope.spawn(move || {
            let mut bridge = inbox_bridge::bridge::Bridge::new(&inbox, network, keys).unwrap();
            ready.send(bridge.stopper()).unwrap();
            bridge.run(&|_| {}).unwrap();
        });
        let stopper = stopper.recv().unwrap();
        ada.agent().connect(house.ben.me.account, None).unwrap();
        let row = until(|| {
            let found = house.connections().pop();
            found.filter(|row| row.state == ConnectionState::Open)
        });
        let topic: TopicId = row.topic.unwrap().parse().unwrap();
        say(&ada, topic, "hello");
        until(|| {
            let said = house.said(row.thread.unwrap());
            said.into_iter().find(|(_, _, words)| words == "hello")
        });
        house
            .answer("ben", row.thread.unwrap(), "and to you")
            .unwrap();
        until(|| {
            let words = heard(&ada, topic);
            words.into_iter().find(|(_, words)| words == "and to you")
        });
        stopper.stop();
        running.join().unwrap();
    });
}

/// Waits for something that comes by itself.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        std::thread::yield_now();
    }
}

#[test]
fn whoever_dies_between_two_steps_makes_nothing_twice() {
    for world in [World::sqlite(), World::postgres()] {
        let house = House::new(world, meeting(Policy::Accept));
        let ada = house.stage.player("Ada");
        ada.agent().connect(house.ben.me.account, None).unwrap();
        // Topics are numbered in the order in which they are made.
        let before = create_outbound(&ada.net).unwrap();
        // It dies at every point in turn, and another goes on.
        let mut deaths = 0;
        for points in std::iter::repeat_n(0, 2).chain(std::iter::repeat_n(1, 12)) {
            if house
                .settle_with(house.bridge().dying_after(points))
                .is_err()
            {
                deaths += 1;
            }
            // What a dead bridge had is free after a while.
            house.world.advance_ms(31_000);
        }
        house.settle();
        assert!(deaths > 3, "{deaths}");
        let row = house.connection();
        assert_eq!(row.state, ConnectionState::Open);
        let after = create_outbound(&ada.net).unwrap();
        assert_eq!(after.number(), before.number() + 2, "one topic was made");
        let thread = row.thread.unwrap();
        house.answer("ben", thread, "once").unwrap();
        for points in [0, 0, 1, 1, 1] {
            let _ = house.settle_with(house.bridge().dying_after(points));
            house.world.advance_ms(31_000);
        }
        house.wait();
        let topic = row.topic.unwrap().parse().unwrap();
        let words = heard(&ada, topic);
        assert_eq!(words.len(), 1, "{words:?}");
        let inbound = house.operations(house.ben.me.inbound_topic, Place::Inbound);
        assert_eq!(inbound.len(), 2, "{inbound:?}");
        let outbound = house.operations(house.ben.me.outbound_topic, Place::Outbound);
        assert_eq!(outbound.len(), 1, "{outbound:?}");
        assert_eq!(house.said(thread).len(), 2);
    }
}

#[test]
fn what_an_agent_here_asks_for_is_known_when_the_other_accepts() {
    both(&Connections::default(), |house| {
        let ada = house.stage.player("Ada");
        let asked = house.ben.agent().connect(ada.me.account, None).unwrap();
        house.settle();
        assert_eq!(house.connection().state, ConnectionState::Requested);
        // Somebody else confirms in her place, and is not believed.
        let eve = house.stage.player("Eve");
        let created = |player: &Player, topic| {
            Operation::ConnectionCreated(ConnectionCreated {
                connection_topic: topic,
                connected_account: house.ben.me.account,
                operator: player.agent().operator(),
                connection: asked.request,
                memo: None,
            })
        };
        let lie = created(&eve, eve.me.outbound_topic);
        eve.net
            .operate(ada.me.inbound_topic, &lie, Fees::None)
            .unwrap();
        house.wait();
        assert_eq!(house.connection().state, ConnectionState::Requested);
        let topic = ada
            .agent()
            .accept(asked.request, &[], None, None)
            .unwrap()
            .topic;
        house.wait();
        let row = house.connection();
        assert_eq!(row.state, ConnectionState::Open);
        assert_eq!(row.topic, Some(topic.to_string()));
        let outbound = house.operations(house.ben.me.outbound_topic, Place::Outbound);
        assert_eq!(outbound.len(), 2, "{outbound:?}");
        say(&ada, topic, "hello");
        house.settle();
        let mail = house.read("ben");
        assert_eq!(mail.last().unwrap().summary, "hello");

        // One who says no is heard, too.
        let asked = house.ben.agent().connect(eve.me.account, None).unwrap();
        eve.agent().refuse(asked.request, "no time").unwrap();
        house.wait();
        let row = house.connections().pop().unwrap();
        assert_eq!(row.state, ConnectionState::Refused);
        assert_eq!(row.reason.as_deref(), Some("no time"));
        assert_eq!(house.read("ben").last().unwrap().body, "no time");
    });
}

#[test]
fn a_topic_that_is_something_else_is_no_connection() {
    both(&Connections::default(), |house| {
        let ada = house.stage.player("Ada");
        let asked = house.ben.agent().connect(ada.me.account, None).unwrap();
        let created = Operation::ConnectionCreated(ConnectionCreated {
            connection_topic: house.ben.me.inbound_topic,
            connected_account: house.ben.me.account,
            operator: ada.agent().operator(),
            connection: asked.request,
            memo: None,
        });
        ada.net
            .operate(ada.me.inbound_topic, &created, Fees::None)
            .unwrap();
        house.settle();
        house.wait();
        assert_eq!(house.connection().state, ConnectionState::Unverified);
    });
}

#[test]
fn agents_of_one_store_are_connected_without_asking_anybody() {
    both(&meeting(Policy::Ask), |house| {
        let cleo = house.stage.player("Cleo");
        house.move_in("cleo", &cleo);
        cleo.agent().connect(house.ben.me.account, None).unwrap();
        house.settle();
        house.wait();
        let all = house.connections();
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all.iter().all(|row| row.state == ConnectionState::Open));
        assert_eq!(all[0].thread, all[1].thread);
        house.read("ben");
        let topic = all[0].topic.as_deref().unwrap().parse().unwrap();
        say(&cleo, topic, "hello");
        house.settle();
        let mail = house.read("ben");
        assert_eq!(mail.len(), 1, "{mail:?}");
        assert_eq!(mail[0].from_agent.as_str(), "cleo");
        assert_eq!(house.read("pat").len(), 0);
    });
}
