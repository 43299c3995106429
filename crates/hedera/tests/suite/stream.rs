//! A topic as it is written, from the devnet's mirror and from mirrors that break, repeat and leave out.

use std::time::Duration;

use inbox_devnet::{Devnet, Options};
use inbox_hcs::{Sequence, Timestamp, TopicId};
use inbox_hedera::network::Network;
use inbox_hedera::proto::{ChunkInfo, CreateTopicBody, TopicResponse};
use inbox_hedera::stream::{Arrival, Since, StreamError, Subscription};

use crate::liar::{End, Liar};
use crate::net::{Net, treasury};

fn text(arrival: &Arrival) -> String {
    String::from_utf8(arrival.message.clone()).unwrap()
}

async fn say(net: &Net, topic: TopicId, text: &str) {
    let said = net.client.submit(topic, text.as_bytes(), "", &[], &[]);
    said.await.unwrap();
}

#[tokio::test]
async fn what_there_was_comes_first_and_what_comes_follows() {
    let net = Net::start().await;
    let topic = net.topic(CreateTopicBody::default()).await;
    for number in 1..=150 {
        say(&net, topic, &format!("message {number}")).await;
    }
    let mut all = net.network.subscribe(topic, Since::Beginning);
    let mut middle = None;
    for number in 1..=150 {
        let arrival = all.next().await.unwrap();
        assert_eq!(arrival.sequence.get(), number);
        assert_eq!(text(&arrival), format!("message {number}"));
        assert_eq!((arrival.running_hash.len(), arrival.piece), (48, None));
        if number == 100 {
            middle = Some(arrival);
        }
    }
    let middle = middle.unwrap();
    for (since, first) in [
        (Since::After(middle.sequence, middle.time), 101),
        (Since::Time(middle.time), 100),
    ] {
        let mut some = net.network.subscribe(topic, since);
        assert_eq!(some.next().await.unwrap().sequence.get(), first);
    }
    assert_eq!(
        all.place(),
        net.network.subscribe(topic, all.place()).place()
    );
    let (next, ()) = tokio::join!(all.next(), say(&net, topic, "news"));
    assert_eq!(text(&next.unwrap()), "news");
}

#[tokio::test]
async fn the_pieces_of_a_message_say_which_they_are() {
    let net = Net::start().await;
    let topic = net.topic(CreateTopicBody::default()).await;
    let submitted = net.client.submit(topic, &[b'x'; 2500], "", &[], &[]);
    let first = submitted.await.unwrap().pieces[0].id.clone();
    let mut all = net.network.subscribe(topic, Since::Beginning);
    for number in 1..=3 {
        let piece = all.next().await.unwrap().piece.unwrap();
        assert_eq!((piece.number, piece.total), (number, 3));
        assert_eq!(
            format!("{}@{}", piece.payer, piece.valid_start),
            first.to_string()
        );
    }
}

#[tokio::test]
async fn a_topic_that_the_mirror_does_not_have_yet_is_waited_for_and_one_that_nobody_has_is_not() {
    let net = Net::start().await;
    let topic = net.topic(CreateTopicBody::default()).await;
    let next = TopicId::new(0, 0, topic.number() + 1).unwrap();
    let mut early = net.network.subscribe(next, Since::Beginning);
    let making = async {
        let made = net.topic(CreateTopicBody::default()).await;
        assert_eq!(made, next);
        say(&net, made, "hello").await;
    };
    let (first, ()) = tokio::join!(early.next(), making);
    assert_eq!(text(&first.unwrap()), "hello");
    let nobody = TopicId::new(0, 0, 999_999).unwrap();
    let mut never = net
        .network
        .subscribe(nobody, Since::Beginning)
        .patient_for(Duration::ZERO);
    let refused = never.next().await.unwrap_err();
    assert!(matches!(refused, StreamError::NoTopic(_)), "{refused}");
}

#[tokio::test]
async fn a_stream_goes_on_after_the_network_was_away() {
    let folder = std::env::temp_dir().join(format!("inbox-stream-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut options = Options {
        data: Some(folder.join("ledger.db")),
        ..Options::anywhere()
    };
    let devnet = Devnet::start(&options).await.unwrap();
    (options.node, options.mirror, options.rest) = (devnet.node, devnet.mirror, devnet.rest);
    let network = Network::at(
        devnet.node.to_string(),
        format!("http://{}", devnet.rest),
        devnet.mirror.to_string(),
    );
    let net = Net {
        devnet,
        client: network.client(treasury()),
        network,
    };
    let topic = net.topic(CreateTopicBody::default()).await;
    say(&net, topic, "one").await;
    let mut all = net.network.subscribe(topic, Since::Beginning);
    assert_eq!(text(&all.next().await.unwrap()), "one");
    let Net {
        devnet,
        network,
        client,
    } = net;
    drop(devnet);
    let back = async {
        // Its ports may still be in use for a moment.
        let devnet = loop {
            match Devnet::start(&options).await {
                Ok(devnet) => break devnet,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let net = Net {
            devnet,
            network,
            client,
        };
        say(&net, topic, "two").await;
        net
    };
    let (next, net) = tokio::join!(all.next(), back);
    let next = next.unwrap();
    assert_eq!((text(&next).as_str(), next.sequence.get()), ("two", 2));
    drop(net);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_mirror_that_lags_and_a_network_that_is_slow_leave_nothing_out() {
    let net = Net::start().await;
    let topic = net.topic(CreateTopicBody::default()).await;
    net.devnet.faults().lag(Duration::from_millis(300));
    net.devnet.faults().slow(Duration::from_millis(20));
    let mut all = net.network.subscribe(topic, Since::Beginning);
    let writing = async {
        for number in 1..=10 {
            say(&net, topic, &number.to_string()).await;
        }
    };
    let reading = async {
        for number in 1..=10 {
            assert_eq!(text(&all.next().await.unwrap()), number.to_string());
        }
    };
    tokio::join!(writing, reading);
}

fn said(sequence: u64) -> TopicResponse {
    let seconds = 1_700_000_000 + i64::try_from(sequence).unwrap();
    TopicResponse {
        consensus_timestamp: Some(inbox_hedera::proto::Timestamp { seconds, nanos: 1 }),
        message: sequence.to_string().into_bytes(),
        sequence_number: sequence,
        ..TopicResponse::default()
    }
}

fn numbers(numbers: &[u64]) -> Vec<TopicResponse> {
    numbers.iter().copied().map(said).collect()
}

fn topic() -> TopicId {
    "0.0.5".parse().unwrap()
}

#[tokio::test]
async fn a_stream_that_breaks_repeats_and_leaves_out_gives_every_message_once() {
    let liar = Liar::start(vec![
        (numbers(&[1, 2]), End::Break),
        (numbers(&[1, 2, 3]), End::Status(14)),
        (numbers(&[5, 6]), End::Wait),
        (numbers(&[4]), End::Good),
        (vec![], End::Status(5)),
        (numbers(&[3, 4, 5, 6]), End::Wait),
    ])
    .await;
    let mut all = Subscription::new(&liar.address, topic(), Since::Beginning);
    for number in 1..=6 {
        let arrival = all.next().await.unwrap();
        assert_eq!(arrival.sequence.get(), number);
    }
    // Each time it was asked for what comes after the last.
    let starts: Vec<i64> = liar
        .asked()
        .iter()
        .map(|query| query.consensus_start_time.unwrap().seconds)
        .collect();
    let after = |number: i64| 1_700_000_000 + number;
    assert_eq!(
        starts,
        [0, after(2), after(3), after(3), after(4), after(4)]
    );
}

#[tokio::test]
async fn a_mirror_that_says_nothing_until_there_is_something_is_heard() {
    let liar = Liar::start(vec![(numbers(&[7]), End::Wait)]).await;
    liar.hold_back();
    let since = Since::Time(Timestamp::new(1_700_000_000, 0).unwrap());
    let mut all = Subscription::new(&liar.address, topic(), since);
    let releasing = async {
        liar.has_been_asked().await;
        liar.release();
    };
    let (next, ()) = tokio::join!(all.next(), releasing);
    assert_eq!(next.unwrap().sequence.get(), 7);
}

#[tokio::test]
async fn giving_up_on_the_next_message_loses_none() {
    let liar = Liar::start(vec![(numbers(&[1, 2, 3]), End::Wait)]).await;
    let mut all = Subscription::new(&liar.address, topic(), Since::Beginning);
    let mut found = Vec::new();
    while found.len() < 3 {
        tokio::select! {
            biased;
            arrival = all.next() => found.push(arrival.unwrap().sequence.get()),
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(found, [1, 2, 3]);
}

#[tokio::test]
async fn what_cannot_be_is_not_believed_and_a_stranger_cannot_stop_the_stream() {
    let mut backwards = said(2);
    backwards.consensus_timestamp = said(1).consensus_timestamp;
    let mut nowhen = said(2);
    nowhen.consensus_timestamp = None;
    let mut nameless = said(2);
    nameless.sequence_number = 0;
    for lie in [backwards, nowhen, nameless] {
        let liar = Liar::start(vec![(vec![said(1), lie.clone()], End::Wait)]).await;
        let mut all = Subscription::new(&liar.address, topic(), Since::Beginning);
        all.next().await.unwrap();
        let refused = all.next().await.unwrap_err();
        assert!(matches!(refused, StreamError::Form { .. }), "{lie:?}");
    }
    // The network lets anybody write pieces of nothing.
    let mut odd = said(1);
    odd.chunk_info = Some(ChunkInfo {
        initial_transaction_id: None,
        total: -3,
        number: 7,
    });
    let liar = Liar::start(vec![(vec![odd], End::Wait)]).await;
    let mut all = Subscription::new(&liar.address, topic(), Since::Beginning);
    assert_eq!(all.next().await.unwrap().piece, None);
}

#[tokio::test]
async fn a_gap_that_stays_is_said_and_so_are_a_refusal_and_silence() {
    let liar = Liar::start(vec![(numbers(&[3]), End::Wait)]).await;
    let one = Timestamp::new(1_700_000_001, 1).unwrap();
    let after = Since::After(Sequence::FIRST, one);
    let mut all = Subscription::new(&liar.address, topic(), after);
    let refused = all.next().await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the stream of the topic 0.0.5 goes from message 1 to 3"
    );
    assert_eq!(all.place(), after);

    let liar = Liar::start(vec![(vec![], End::Status(3))]).await;
    let mut all = Subscription::new(&liar.address, topic(), Since::Beginning);
    let refused = all.next().await.unwrap_err();
    assert!(matches!(refused, StreamError::Refused { .. }), "{refused}");

    let mut all = Subscription::new("127.0.0.1:1", topic(), Since::Beginning);
    all = all.patient_for(Duration::ZERO);
    for _ in 0..2 {
        let refused = all.next().await.unwrap_err();
        assert!(matches!(refused, StreamError::Away { .. }), "{refused}");
    }
}
