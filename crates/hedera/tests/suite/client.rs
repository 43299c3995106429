//! The client of nodes that lose, refuse, stay silent and are not there: whether something happened is never guessed.

use std::time::Duration;

use bytes::Bytes;
use inbox_hedera::client::{Asking, Client, ExecuteError, NodeAt};
use inbox_hedera::proto::{
    AccountId, Code, CryptoTransferBody, Data, SubmitMessageBody, Timestamp, TopicId, TransactionId,
};

use crate::fake::{Fake, Reply, receipt, says};
use crate::net::treasury;

fn asking() -> Asking<'static> {
    Asking::of(Data::SubmitMessage(SubmitMessageBody {
        topic_id: Some(TopicId::of(1001)),
        message: b"hello".to_vec(),
        chunk_info: None,
    }))
}

fn client<'a>(nodes: impl IntoIterator<Item = &'a Fake>) -> Client {
    let nodes: Vec<NodeAt> = nodes.into_iter().map(Fake::at).collect();
    Client::new(nodes, treasury())
}

/// Answers to transactions one after the other, then the last again and again, and one to every question for a receipt.
fn script(
    answers: Vec<fn() -> Reply>,
    receipts: fn() -> Reply,
) -> impl FnMut(bool) -> Reply + Send + 'static {
    let mut answers = answers.into_iter().peekable();
    move |is_receipt| {
        if is_receipt {
            return receipts();
        }
        let now = *answers.peek().unwrap();
        if answers.len() > 1 {
            answers.next();
        }
        now()
    }
}

fn lost() -> Reply {
    Reply::Status(14)
}

fn done() -> Reply {
    receipt(Some(Code::Success))
}

fn nothing_known() -> Reply {
    receipt(None)
}

#[tokio::test]
async fn what_is_refused_after_an_answer_was_lost_may_have_happened_before() {
    // It took the last that the payer had, and so the second attempt finds too little.
    let poor = || says(Code::InsufficientPayerBalance);
    let node = Fake::start(3, script(vec![lost, poor], done)).await;
    client([&node]).execute(&asking()).await.unwrap();
    let ids: Vec<_> = node
        .sent()
        .into_iter()
        .map(|body| body.transaction_id)
        .collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1]);

    let node = Fake::start(3, script(vec![lost, poor], nothing_known)).await;
    let client = client([&node]).valid_for(4);
    let refused = client.execute(&asking()).await.unwrap_err();
    assert!(matches!(refused, ExecuteError::Unknown { .. }), "{refused}");
}

#[tokio::test]
async fn every_node_is_sent_the_same_id_under_its_own_account() {
    let taken = || says(Code::Ok);
    let inactive = || says(Code::PlatformNotActive);
    let first = Fake::start(3, script(vec![inactive], nothing_known)).await;
    let second = Fake::start(4, script(vec![lost], done)).await;
    let third = Fake::start(5, script(vec![taken], done)).await;
    let nodes = [&first, &second, &third];
    let client = client(nodes);
    for _ in 0..3 {
        client.execute(&asking()).await.unwrap();
    }
    for node in nodes {
        for body in node.sent() {
            assert_eq!(body.node_account_id, Some(node_account(node)));
        }
    }
    let mut ids: Vec<String> = nodes
        .iter()
        .flat_map(|node| node.sent())
        .map(|body| body.transaction_id.unwrap().to_string())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3, "three transactions, however often sent");
}

fn node_account(node: &Fake) -> AccountId {
    AccountId::of(node.at().account)
}

#[tokio::test]
async fn where_nobody_is_it_did_not_happen_and_where_nobody_answers_it_is_not_known() {
    let away = |port: u16| NodeAt {
        account: 3,
        address: format!("127.0.0.1:{port}"),
    };
    let client = Client::new([away(1), away(2)], treasury()).patient_for(Duration::ZERO);
    let refused = client.execute(&asking()).await.unwrap_err();
    assert!(
        matches!(refused, ExecuteError::NotTaken { .. }),
        "{refused}"
    );
    assert!(
        refused.to_string().contains("127.0.0.1:"),
        "it says where it went: {refused}"
    );
    // With an id that an earlier run may have sent, not even that is known.
    let refused = client.execute_as(client.next_id(), &asking()).await;
    assert!(matches!(refused, Err(ExecuteError::Unknown { .. })));

    let silent = Fake::start(3, script(vec![|| Reply::Silence], || Reply::Silence)).await;
    let client = crate::client::client([&silent])
        .calling_for(Duration::from_millis(100))
        .patient_for(Duration::ZERO);
    let refused = client.execute(&asking()).await.unwrap_err();
    assert!(matches!(refused, ExecuteError::Unknown { .. }), "{refused}");

    let nobody = Client::new([], treasury()).patient_for(Duration::ZERO);
    let refused = nobody.execute(&asking()).await.unwrap_err();
    assert!(
        matches!(refused, ExecuteError::NotTaken { .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn an_id_that_was_written_down_is_asked_for_before_anything_is_said_of_it() {
    let old = TransactionId::new(
        AccountId::of(2),
        Timestamp {
            seconds: 1_700_000_000,
            nanos: 0,
        },
    );
    let expired = || says(Code::TransactionExpired);
    let node = Fake::start(3, script(vec![expired], nothing_known)).await;
    let refused = client([&node]).execute_as(old.clone(), &asking()).await;
    assert!(matches!(refused, Err(ExecuteError::Unknown { id, .. }) if id == old));
    let node = Fake::start(3, script(vec![expired], done)).await;
    let happened = client([&node]).execute_as(old.clone(), &asking()).await;
    assert_eq!(happened.unwrap().id, old);
    // What no node knows, and would have known, did not happen.
    let invalid = || says(Code::InvalidSignature);
    let node = Fake::start(3, script(vec![invalid], nothing_known)).await;
    let client = client([&node]);
    let refused = client.execute_as(client.next_id(), &asking()).await;
    assert!(matches!(
        refused,
        Err(ExecuteError::Refused(_, Code::InvalidSignature))
    ));
}

#[tokio::test]
async fn answers_that_are_none_are_not_believed_and_not_swallowed() {
    let huge = || {
        let mut bytes = vec![0, 0, 0x50, 0, 0];
        bytes.resize(5 * 1024 * 1024, 0);
        Reply::Bytes(Bytes::from(bytes))
    };
    let garbage = || Reply::Bytes(Bytes::from_static(&[0, 0, 0, 0, 2, 0xff, 0xff]));
    let cut = || Reply::Bytes(Bytes::from_static(&[0, 0, 0, 0, 9, 1]));
    let packed = || Reply::Bytes(Bytes::from_static(&[1, 0, 0, 0, 1, 0]));
    let answers: [fn() -> Reply; 4] = [huge, garbage, cut, packed];
    for answer in answers {
        let node = Fake::start(3, script(vec![answer], answer)).await;
        let client = client([&node]).patient_for(Duration::ZERO);
        let refused = client.execute(&asking()).await.unwrap_err();
        assert!(matches!(refused, ExecuteError::Unknown { .. }), "{refused}");
    }
}

#[test]
fn a_kind_of_transaction_has_the_most_that_it_may_cost() {
    let transfer = Asking::of(Data::CryptoTransfer(CryptoTransferBody::default()));
    assert_eq!(transfer.fee, inbox_hedera::fee::USUAL);
    assert_eq!(asking().fee, inbox_hedera::fee::USUAL);
}
