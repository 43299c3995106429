//! Our own client of the network, where things go wrong.

use std::time::Duration;

use inbox_devnet::ledger::{NODE, TREASURY, TREASURY_KEY, funded};
use inbox_devnet::{Devnet, Options};
use inbox_hedera::client::{Asking, Client, ExecuteError, NodeAt, Operator};
use inbox_hedera::proto::{Code, CreateTopicBody, Data, TopicId};

use crate::net::message;

const FEE: u64 = 3_000_000_000;

fn client(devnet: &Devnet) -> Client {
    let node = NodeAt {
        account: NODE,
        address: devnet.node.to_string(),
    };
    let operator = Operator {
        account: TREASURY,
        key: TREASURY_KEY.parse().unwrap(),
    };
    Client::new([node], operator)
}

async fn started() -> (Devnet, Client, TopicId) {
    let devnet = Devnet::start(&Options::anywhere()).await.unwrap();
    let client = client(&devnet);
    let create = Asking::new(Data::CreateTopic(CreateTopicBody::default()), FEE);
    let topic = client
        .execute(&create)
        .await
        .unwrap()
        .receipt
        .topic_id
        .unwrap();
    (devnet, client, topic)
}

#[tokio::test]
async fn a_message_is_there_once_however_often_the_node_is_busy_or_its_answer_lost() {
    let (devnet, client, topic) = started().await;
    let mut wanted = 0;
    for round in 0..12 {
        match round % 4 {
            0 => devnet.faults().busy(2),
            1 => devnet.faults().lose(2),
            2 => devnet.faults().delay_receipts(2),
            _ => {}
        }
        let said = client
            .execute(&Asking::new(message(topic, "once"), FEE))
            .await
            .unwrap();
        wanted += 1;
        assert_eq!(said.receipt.topic_sequence_number, wanted);
    }
}

#[tokio::test]
async fn the_same_id_done_again_after_a_crash_happens_once() {
    let (_devnet, client, topic) = started().await;
    let id = client.next_id();
    let asking = Asking::new(message(topic, "once"), FEE);
    let first = client.execute_as(id.clone(), &asking).await.unwrap();
    let again = client.execute_as(id, &asking).await.unwrap();
    assert_eq!(first, again);
    let next = client.execute(&asking).await.unwrap();
    assert_eq!(next.receipt.topic_sequence_number, 2);
}

#[tokio::test]
async fn what_is_refused_says_whether_it_cost_something() {
    let (devnet, client, topic) = started().await;
    let missing = Asking::new(message(TopicId::of(999), "nobody"), FEE);
    let Err(ExecuteError::Failed(failed)) = client.execute(&missing).await else {
        panic!("there is no such topic");
    };
    assert_eq!(Code::from(failed.receipt.status), Code::InvalidTopicId);
    let poor = Asking::new(message(topic, "hello"), 1);
    let refused = client.execute(&poor).await.unwrap_err();
    assert!(
        matches!(refused, ExecuteError::Refused(_, Code::InsufficientTxFee)),
        "{refused}"
    );
    let node = NodeAt {
        account: NODE,
        address: devnet.node.to_string(),
    };
    let other = funded().unwrap().remove(0);
    let wrong = Operator {
        account: TREASURY,
        key: other.key,
    };
    let stranger = Client::new([node], wrong);
    let refused = stranger
        .execute(&Asking::new(message(topic, "hello"), FEE))
        .await
        .unwrap_err();
    assert!(
        matches!(refused, ExecuteError::Refused(_, Code::InvalidSignature)),
        "{refused}"
    );
}

#[tokio::test]
async fn a_transaction_of_which_nobody_can_know_is_called_unknown_and_one_that_was_never_taken_is_not()
 {
    let (devnet, client, topic) = started().await;
    let client = client.valid_for(4);
    let asking = Asking::new(message(topic, "hello"), FEE);
    devnet.faults().busy(u32::MAX);
    let refused = client.execute(&asking).await.unwrap_err();
    assert!(
        matches!(refused, ExecuteError::NotTaken { .. }),
        "{refused}"
    );
    devnet.faults().busy(0);
    devnet.faults().lose(u32::MAX);
    devnet.faults().delay_receipts(u32::MAX);
    let refused = client.execute(&asking).await.unwrap_err();
    assert!(matches!(refused, ExecuteError::Unknown { .. }), "{refused}");
    let ExecuteError::Unknown { id, .. } = refused else {
        return;
    };
    // It had happened, which shows once the network can be asked.
    devnet.faults().lose(0);
    devnet.faults().delay_receipts(0);
    let receipt = client.receipt(&id).await.unwrap().unwrap();
    assert_eq!(receipt.topic_sequence_number, 1);
}

#[tokio::test]
async fn another_node_is_tried_when_one_is_away() {
    let (devnet, _, topic) = started().await;
    let nodes = [
        NodeAt {
            account: NODE,
            address: "127.0.0.1:1".into(),
        },
        NodeAt {
            account: NODE,
            address: devnet.node.to_string(),
        },
    ];
    let operator = Operator {
        account: TREASURY,
        key: TREASURY_KEY.parse().unwrap(),
    };
    let client = Client::new(nodes, operator);
    for number in 1..=3 {
        let said = client
            .execute(&Asking::new(message(topic, "hello"), FEE))
            .await
            .unwrap();
        assert_eq!(said.receipt.topic_sequence_number, number);
    }
    devnet.faults().slow(Duration::from_millis(20));
    client
        .execute(&Asking::new(message(topic, "slowly"), FEE))
        .await
        .unwrap();
}
