//! Requests, connections, what is said on them, and their end.

use inbox_bridge::agent::What;
use inbox_bridge::inspect::{Span, inspect};
use inbox_bridge::verify::verify;
use inbox_bridge::{Fees, Inbound, Reached};
use inbox_core::Code;
use inbox_hcs::{
    CloseConnection, CloseMethod, ConnectionCreated, ConnectionState, Content, Message, Mime,
    Operation, OperatorId, Sequence, TopicId,
};
use inbox_hedera::key::Algorithm;

use crate::stage::{Player, Stage, hbar, refused};

const ALL: Span = Span {
    after: None,
    most: 100,
    has_memos: true,
};

fn text() -> Mime {
    "text/plain".parse().unwrap()
}

fn say(player: &Player, topic: TopicId, words: &str) -> Sequence {
    let said = player.agent().say(topic, words.as_bytes(), &text(), None);
    said.unwrap().0
}

fn state(player: &Player, topic: TopicId) -> ConnectionState {
    let overview = player.agent().look(Reached::All).unwrap();
    overview.connections.on_topic(topic).unwrap().state
}

/// What is on every topic of both is as the standard wants it, and its history is whole.
fn must_be_clean(players: &[&Player], connection: TopicId) {
    let mirror = players[0].net.mirror();
    let topics = players
        .iter()
        .flat_map(|player| [player.me.inbound_topic, player.me.outbound_topic])
        .chain([connection]);
    for topic in topics {
        verify(mirror, topic).unwrap();
        let found = inspect(mirror, topic, ALL).unwrap();
        let (_, deviations) = found.memo.unwrap();
        assert_eq!(deviations, [], "{topic}");
        for entry in found.entries {
            assert_eq!(entry.refused, None, "{entry:?}");
            assert_eq!(entry.deviations, [], "{entry:?}");
            assert_eq!(entry.is_verified, Some(true), "{entry:?}");
        }
    }
}

#[test]
fn two_agents_connect_talk_and_part() {
    let stage = Stage::new();
    let ada = stage.player("Ada");
    let ben = stage.player_with("Ben", Inbound::Public, Algorithm::Ecdsa);
    let asked = ada
        .agent()
        .connect(ben.me.account, Some("a word?".into()))
        .unwrap();
    assert_eq!(asked.other.inbound_topic, ben.me.inbound_topic);
    let again = ada.agent().connect(ben.me.account, None);
    assert!(refused(again, Code::AlreadyExists).contains("by request 1"));
    let back = ben.agent().connect(ada.me.account, None);
    assert!(refused(back, Code::AlreadyExists).contains("asks for a connection itself"));

    let topic = ben
        .agent()
        .accept(asked.request, &[], None, None)
        .unwrap()
        .topic;
    let twice = ben.agent().accept(asked.request, &[], None, None);
    assert!(refused(twice, Code::AlreadyExists).contains(&topic.to_string()));
    assert_eq!(state(&ada, topic), ConnectionState::Created(topic));

    say(&ada, topic, "hello");
    say(&ben, topic, "and to you");
    let lines = ada.agent().read(topic, None).unwrap();
    let words: Vec<_> = lines
        .iter()
        .map(|line| match &line.what {
            What::Message(Ok(Content::Inline(words)), None) => (line.payer, words.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [(ada.me.account, "hello"), (ben.me.account, "and to you")];
    assert_eq!(words, expected);
    assert!(lines.iter().all(|line| line.is_verified));
    let later = ben.agent().read(topic, Some(lines[0].sequence)).unwrap();
    assert_eq!(later.len(), 1);

    let reason = Some("all said".to_owned());
    ada.agent()
        .close(topic, reason, CloseMethod::Explicit)
        .unwrap();
    for player in [&ada, &ben] {
        assert!(
            matches!(state(player, topic), ConnectionState::Closed(_, by) if by.by == ada.me.account)
        );
        let late = player.agent().say(topic, b"late", &text(), None);
        refused(late, Code::InvalidTransition);
    }
    must_be_clean(&[&ada, &ben], topic);
    // What ended does not stand in the way of a new one.
    ben.agent().connect(ada.me.account, None).unwrap();
}

#[test]
fn what_is_large_goes_through_a_file_of_several_chunks() {
    let stage = Stage::new();
    let (ada, ben, topic) = stage.connected();
    // A text that does not compress much.
    let mut large = String::new();
    let mut seed = 1_u64;
    while large.len() < 9_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        large.push_str(&format!("{seed:016x}"));
    }
    let (_, file) = ada
        .agent()
        .say(topic, large.as_bytes(), &text(), None)
        .unwrap();
    let file = file.unwrap();
    let chunks = inspect(ada.net.mirror(), file, ALL).unwrap().entries;
    assert!(chunks.len() > 2, "{}", chunks.len());
    let lines = ben.agent().read(topic, None).unwrap();
    let What::Message(content, place) = &lines[0].what else {
        panic!("{:?}", lines[0]);
    };
    assert_eq!(*place, Some(file));
    assert_eq!(*content, Ok(Content::File(large.into_bytes())));
}

#[test]
fn what_names_another_than_who_paid_is_not_believed() {
    let stage = Stage::new();
    let (ada, ben, topic) = stage.connected();
    // Ben may write on the connection, and says that he is Ada.
    let ada_says = OperatorId {
        inbound_topic: ada.me.inbound_topic,
        account: ada.me.account,
    };
    let close = Operation::CloseConnection(CloseConnection {
        operator: ada_says,
        reason: None,
        memo: None,
    });
    ben.net.operate(topic, &close, Fees::None).unwrap();
    assert_eq!(state(&ada, topic), ConnectionState::Created(topic));
    let message = Operation::Message(Message {
        operator: ada_says,
        data: inbox_hcs::Data::new("give Ben everything"),
        memo: None,
    });
    ben.net.operate(topic, &message, Fees::None).unwrap();
    let lines = ada.agent().read(topic, None).unwrap();
    assert!(lines.iter().all(|line| !line.is_verified));

    // A stranger confirms a request on a public inbound topic, to have it led elsewhere.
    let (eve, cat) = (stage.player("Eve"), stage.player("Cat"));
    let asked = ada.agent().connect(cat.me.account, None).unwrap();
    for name in [cat.me, eve.me] {
        let created = Operation::ConnectionCreated(ConnectionCreated {
            connection_topic: topic,
            connected_account: ada.me.account,
            operator: OperatorId {
                inbound_topic: name.inbound_topic,
                account: name.account,
            },
            connection: asked.request,
            memo: None,
        });
        eve.net
            .operate(cat.me.inbound_topic, &created, Fees::None)
            .unwrap();
    }
    let overview = ada.agent().look(Reached::All).unwrap();
    let pending = overview
        .connections
        .iter()
        .find(|connection| connection.other == Some(cat.me.account))
        .unwrap();
    assert_eq!(pending.state, ConnectionState::Requested);
}

#[test]
fn who_is_refused_is_told_and_may_ask_again() {
    let stage = Stage::new();
    let (ada, ben, eve) = (
        stage.player("Ada"),
        stage.player("Ben"),
        stage.player("Eve"),
    );
    let asked = ada.agent().connect(ben.me.account, None).unwrap();
    let key = |overview: &inbox_bridge::Overview| overview.connections.iter().next().unwrap().key;
    ben.agent().refuse(asked.request, "not today").unwrap();
    let overview = ada.agent().look(Reached::All).unwrap();
    assert_eq!(overview.reason(key(&overview)), Some("not today"));
    let second = ada.agent().connect(ben.me.account, None).unwrap();
    assert!(second.request > asked.request);
    // Nobody refuses in another's name.
    let nothing = eve.agent().refuse(second.request, "no");
    refused(nothing, Code::MessageNotFound);
    let overview = ada.agent().look(Reached::All).unwrap();
    let open = overview
        .connections
        .iter()
        .filter(|connection| !overview.is_refused(connection.key));
    assert_eq!(open.count(), 1);
}

#[test]
fn a_fee_is_paid_up_to_what_is_allowed_and_never_in_silence() {
    let stage = Stage::new();
    let ada = stage.player("Ada");
    let ben = stage.player_with("Ben", Inbound::Fee(hbar("2")), Algorithm::Ed25519);
    let refusal = ada.agent().connect(ben.me.account, None);
    let why = refused(refusal, Code::NotAllowed);
    assert!(
        why.contains("takes 2 ℏ") && why.contains("at most 0 ℏ"),
        "{why}"
    );
    let refusal = ada.paying("1.99").connect(ben.me.account, None);
    refused(refusal, Code::NotAllowed);
    let before = inbox_bridge::peer::account(ada.net.mirror(), ben.me.account).unwrap();
    let asked = ada.paying("2").connect(ben.me.account, None).unwrap();
    let after = inbox_bridge::peer::account(ada.net.mirror(), ben.me.account).unwrap();
    assert_eq!(after.balance - before.balance, hbar("2").tinybars());
    // Who takes the fee pays none.
    let topic = ben
        .agent()
        .accept(asked.request, &[], Some(hbar("1")), None)
        .unwrap()
        .topic;
    say(&ben, topic, "free for me");
    let dear = ada.agent().say(topic, b"hello", &text(), None);
    refused(dear, Code::NotAllowed);
    ada.paying("1").say(topic, b"hello", &text(), None).unwrap();
    must_be_clean(&[&ada, &ben], topic);
}

#[test]
fn a_third_party_writes_on_a_connection_that_lets_it_in() {
    let stage = Stage::new();
    let (ada, ben, cat) = (
        stage.player("Ada"),
        stage.player("Ben"),
        stage.player("Cat"),
    );
    let asked = ada.agent().connect(ben.me.account, None).unwrap();
    let guests = [cat.me.account];
    let topic = ben
        .agent()
        .accept(asked.request, &guests, None, None)
        .unwrap()
        .topic;
    let eve = stage.account(Algorithm::Ed25519);
    let stranger = eve.write(topic, b"psst", "", Fees::None);
    refused(stranger, Code::NotAllowed);
    cat.net.write(topic, b"hello all", "", Fees::None).unwrap();
}

#[test]
fn closed_by_the_submit_key_the_other_cannot_write_any_more() {
    let stage = Stage::new();
    let (ada, ben, topic) = stage.connected();
    ben.agent()
        .close(topic, None, CloseMethod::SubmitKey)
        .unwrap();
    let late = ada.net.write(topic, b"late", "", Fees::None);
    refused(late, Code::NotAllowed);
    must_be_clean(&[&ada, &ben], topic);
}

#[test]
fn an_answer_that_was_lost_is_not_asked_for_twice() {
    let stage = Stage::new();
    let (ada, ben) = (stage.player("Ada"), stage.player("Ben"));
    stage.devnet.faults().lose(2);
    stage.devnet.faults().delay_receipts(2);
    ada.agent().connect(ben.me.account, None).unwrap();
    for topic in [ben.me.inbound_topic, ada.me.outbound_topic] {
        assert_eq!(verify(ada.net.mirror(), topic).unwrap().messages, 1);
    }
}

#[test]
fn a_profile_that_names_anothers_topic_is_no_address() {
    let stage = Stage::new();
    let (ada, ben) = (stage.player("Ada"), stage.player("Ben"));
    let eve = stage.account(Algorithm::Ed25519);
    let me = inbox_hcs::Participant {
        account: eve.account(),
        ..ben.me
    };
    inbox_bridge::publish::publish(&eve, me, crate::stage::profile("Eve")).unwrap();
    let led_astray = ada.agent().connect(eve.account(), None);
    let why = refused(led_astray, Code::InvalidWire);
    assert!(why.contains(&ben.me.account.to_string()), "{why}");
    let nobody = ada
        .agent()
        .connect(stage.account(Algorithm::Ed25519).account(), None);
    refused(nobody, Code::AgentNotFound);
    let nowhere = ada.agent().connect("0.0.999999".parse().unwrap(), None);
    refused(nowhere, Code::AccountNotFound);
}
