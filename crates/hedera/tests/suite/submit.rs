//! Messages to topics: whole and in pieces, once, and for no more than they may cost.

use inbox_hcs::{Assembler, MAX_MESSAGE, Piece, TopicId};
use inbox_hedera::client::ExecuteError;
use inbox_hedera::fee::{self, HBAR, Most};
use inbox_hedera::mirror::MessageFacts;
use inbox_hedera::proto::{self, Code, CreateTopicBody, FixedCustomFee, FixedFee};
use inbox_hedera::submit::{SubmitError, pieces};

use crate::net::{Net, public, somebody};

/// Everything on a topic.
async fn all(net: &Net, topic: TopicId) -> Vec<MessageFacts> {
    net.read(move |mirror| {
        let mut found: Vec<MessageFacts> = Vec::new();
        loop {
            let after = found.last().map(|last| last.sequence);
            let page = mirror.messages(topic, after).unwrap();
            if page.is_empty() {
                return found;
            }
            found.extend(page);
        }
    })
    .await
}

/// The messages of a topic, put together.
async fn whole(net: &Net, topic: TopicId) -> Vec<Vec<u8>> {
    let mut assembler = Assembler::default();
    let mut found = Vec::new();
    for message in all(net, topic).await {
        let piece = message.piece.map(|(number, total, first)| {
            let (payer, start) = first.split_once('@').unwrap();
            Piece {
                payer: payer.parse().unwrap(),
                valid_start: start.parse().unwrap(),
                number,
                total,
            }
        });
        let whole = assembler.add(message.sequence, message.payer, piece, &message.message);
        found.extend(whole.unwrap().map(|whole| whole.bytes));
    }
    found
}

fn text(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|place| b"abcdefg"[place % 7]).collect()
}

#[tokio::test]
async fn a_message_goes_in_as_many_pieces_as_it_needs_and_comes_back_whole() {
    let net = Net::start().await;
    let topic = net.topic(CreateTopicBody::default()).await;
    let mut sent = Vec::new();
    let mut last = 0;
    for bytes in [1, 1024, 1025, 2048, 20_480] {
        let message = text(bytes);
        let submitted = net.client.submit(topic, &message, "memo", &[], &[]);
        let submitted = submitted.await.unwrap();
        let count = bytes.div_ceil(MAX_MESSAGE);
        assert_eq!(submitted.pieces.len(), count);
        assert_eq!(submitted.first_sequence(), last + 1);
        last = submitted.sequence();
        let mut ids = submitted.pieces.iter().map(|piece| piece.id.to_string());
        assert!(ids.by_ref().is_sorted(), "the starts rise");
        sent.push(message);
    }
    assert_eq!(whole(&net, topic).await, sent);
    let first = all(&net, topic).await.remove(0);
    assert_eq!(first.piece, None, "what is whole says nothing of pieces");
}

#[tokio::test]
async fn what_is_too_large_or_nothing_is_refused_before_anything_is_sent() {
    let net = Net::start().await;
    let topic = net.topic(CreateTopicBody::default()).await;
    let refused = net
        .client
        .submit(topic, &text(20_481), "", &[], &[])
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a message of 20481 bytes is too large: at most 20480 bytes go to a topic, in pieces of 1024"
    );
    let refused = net.client.submit(topic, b"", "", &[], &[]).await;
    assert!(matches!(refused, Err(SubmitError::Empty)));
    assert!(all(&net, topic).await.is_empty());
}

#[tokio::test]
async fn pieces_are_there_once_and_in_order_whatever_is_busy_lost_or_late() {
    let net = Net::start().await;
    let topic = net.topic(CreateTopicBody::default()).await;
    let faults = net.devnet.faults();
    faults.busy(2);
    faults.lose(3);
    faults.delay_receipts(3);
    let message = text(5000);
    let first = net.client.next_ids(pieces(message.len()).unwrap());
    let submit = |first: &proto::TransactionId| {
        let (client, message) = (&net.client, &message);
        let first = first.clone();
        async move {
            client
                .submit_as(first, topic, message, "", &[], &[])
                .await
                .unwrap()
        }
    };
    let once = submit(&first).await;
    // As whoever goes on after a crash would do it.
    let again = submit(&first).await;
    assert_eq!(once, again);
    assert_eq!(all(&net, topic).await.len(), 5);
    assert_eq!(whole(&net, topic).await, [message]);
}

#[tokio::test]
async fn two_messages_at_once_do_not_share_ids_and_are_both_whole() {
    let net = Net::start().await;
    let topic = net.topic(CreateTopicBody::default()).await;
    let (one, other) = (text(3000), text(2500));
    let (left, right) = tokio::join!(
        net.client.submit(topic, &one, "", &[], &[]),
        net.client.submit(topic, &other, "", &[], &[]),
    );
    left.unwrap();
    right.unwrap();
    let mut found = whole(&net, topic).await;
    found.sort_by_key(Vec::len);
    assert_eq!(found, [other, one]);
}

#[tokio::test]
async fn a_piece_that_is_refused_is_named() {
    let net = Net::start().await;
    let topic = net.topic(CreateTopicBody::default()).await;
    let long = "m".repeat(101);
    let refused = net
        .client
        .submit(topic, &text(3000), &long, &[], &[])
        .await
        .unwrap_err();
    let text = refused.to_string();
    assert!(text.starts_with("piece 1 of 3: ") && text.contains("MEMO_TOO_LONG"));
    assert!(matches!(
        refused.execute(),
        Some(ExecuteError::Refused(_, Code::MemoTooLong))
    ));
}

#[tokio::test]
async fn a_topic_takes_what_it_says_and_no_more() {
    let net = Net::start().await;
    let (collector, exempt, payer) = (somebody(0), somebody(1), somebody(2));
    let five = i64::try_from(5 * HBAR).unwrap();
    let fees = |amount: i64| FixedCustomFee {
        fixed_fee: Some(FixedFee {
            amount,
            denominating_token_id: None,
        }),
        fee_collector_account_id: Some(proto::AccountId::of(collector.num)),
    };
    let schedule_key = public(&net.client.operator().key);
    let topic = net
        .topic(CreateTopicBody {
            fee_schedule_key: Some(schedule_key),
            fee_exempt_key_list: vec![public(&exempt.key)],
            custom_fees: vec![fees(five)],
            ..CreateTopicBody::default()
        })
        .await;
    let facts = net
        .read(move |mirror| mirror.topic(topic).unwrap().unwrap())
        .await;
    let limits = |one: &inbox_devnet::ledger::Funded, most: u64| {
        let id = proto::AccountId::of(one.num).id().unwrap();
        let key = one.key.public().unwrap();
        fee::limits(&facts, id, &[key], 1, &Most::hbar(most))
    };
    let balance = async |num: i64| {
        let id = proto::AccountId::of(num).id().unwrap();
        let account = net.read(move |mirror| mirror.account(id)).await;
        account.unwrap().unwrap().balance
    };
    assert!(limits(&payer, 4 * HBAR).is_err());
    let before = balance(collector.num).await;
    let allowed = limits(&payer, 5 * HBAR).unwrap();
    let client = net.client_of(&payer);
    client
        .submit(topic, b"hello", "", &allowed, &[])
        .await
        .unwrap();
    assert_eq!(balance(collector.num).await - before, five);

    // Who is exempt, or takes the fee, pays none, and would pay none if that changed.
    for free in [&exempt, &collector] {
        let none = limits(free, 0).unwrap();
        let client = net.client_of(free);
        client.submit(topic, b"free", "", &none, &[]).await.unwrap();
    }
    assert!(balance(collector.num).await - before <= five);

    // The price went up after it was read.
    let update = proto::UpdateTopicBody {
        topic_id: Some(topic.into()),
        custom_fees: Some(proto::FixedCustomFeeList {
            fees: vec![fees(2 * five)],
        }),
        ..proto::UpdateTopicBody::default()
    };
    let asking = inbox_hedera::client::Asking::of(proto::Data::UpdateTopic(update));
    net.client.execute(&asking).await.unwrap();
    let refused = client
        .submit(topic, b"hello", "", &allowed, &[])
        .await
        .unwrap_err();
    let Some(ExecuteError::Failed(failed)) = refused.execute() else {
        panic!("{refused}");
    };
    assert_eq!(
        Code::from(failed.receipt.status),
        Code::MaxCustomFeeLimitExceeded
    );
}
