//! Topics, their keys, their hashes, and how a node looks at what it is given.

use inbox_devnet::ledger::{Ledger, LedgerError, TopicMessage};
use inbox_hcs::{RunningHash, Submission};
use inbox_hedera::key::Algorithm;
use inbox_hedera::proto::{
    AccountId, ChunkInfo, Code, CreateTopicBody, Data, DeleteTopicBody, Duration, Key,
    SubmitMessageBody, TransactionId, UpdateTopicBody,
};
use prost::Message;

use crate::net::{Net, message};

#[test]
fn every_message_of_a_topic_is_in_its_running_hash() {
    let mut net = Net::new();
    let (one, two) = (net.somebody(0), net.somebody(7));
    let topic = net.topic(&[&one], CreateTopicBody::default());
    for number in 0..20 {
        let writer = if number % 3 == 0 { &two } else { &one };
        let receipt = net.must(&[writer], message(topic, &format!("message {number}")));
        assert_eq!(receipt.topic_sequence_number, number + 1);
        assert_eq!(receipt.topic_running_hash_version, 3);
    }
    let mut hash = RunningHash::EMPTY;
    let mut last = 0;
    for found in TopicMessage::after(net.ledger.db(), topic.num, 0, i64::MAX, 100).unwrap() {
        let number = |value: i64| u64::try_from(value).unwrap();
        let nanos = u32::try_from(found.consensus_at % 1_000_000_000).unwrap();
        hash = hash.next(&Submission {
            payer: inbox_hcs::AccountId::new(0, 0, number(found.payer)).unwrap(),
            topic: inbox_hcs::TopicId::new(0, 0, number(topic.num)).unwrap(),
            time: inbox_hcs::Timestamp::new(number(found.consensus_at / 1_000_000_000), nanos)
                .unwrap(),
            sequence: inbox_hcs::Sequence::new(number(found.sequence)).unwrap(),
            message: &found.message,
        });
        assert_eq!(found.running_hash, hash.as_bytes());
        assert!(found.consensus_at > last, "time goes on");
        last = found.consensus_at;
    }
}

#[test]
fn only_who_has_a_key_of_the_topic_writes_to_it_and_only_as_long() {
    let mut net = Net::new();
    let (owner, guest, stranger) = (net.somebody(0), net.somebody(6), net.somebody(2));
    let either = Key::threshold(1, vec![owner.public(), guest.public()]);
    let topic = net.topic(
        &[&owner],
        CreateTopicBody {
            admin_key: Some(owner.public()),
            submit_key: Some(either),
            ..CreateTopicBody::default()
        },
    );
    assert_eq!(
        net.status(&[&guest], message(topic, "hello")),
        Code::Success
    );
    assert_eq!(
        net.status(&[&stranger], message(topic, "hello")),
        Code::InvalidSignature
    );
    assert_eq!(
        net.status(&[&stranger, &guest], message(topic, "hello")),
        Code::Success
    );
    let alone = UpdateTopicBody {
        topic_id: Some(topic),
        submit_key: Some(owner.public()),
        ..UpdateTopicBody::default()
    };
    assert_eq!(
        net.status(&[&guest], Data::UpdateTopic(alone.clone())),
        Code::InvalidSignature
    );
    net.must(&[&owner], Data::UpdateTopic(alone));
    assert_eq!(
        net.status(&[&guest], message(topic, "again")),
        Code::InvalidSignature
    );
    let open = UpdateTopicBody {
        topic_id: Some(topic),
        submit_key: Some(Key::list(Vec::new())),
        ..UpdateTopicBody::default()
    };
    net.must(&[&owner], Data::UpdateTopic(open));
    assert_eq!(
        net.status(&[&stranger], message(topic, "now")),
        Code::Success
    );
    let gone = DeleteTopicBody {
        topic_id: Some(topic),
    };
    assert_eq!(
        net.status(&[&guest], Data::DeleteTopic(gone.clone())),
        Code::InvalidSignature
    );
    net.must(&[&owner], Data::DeleteTopic(gone));
    assert_eq!(
        net.status(&[&owner], message(topic, "late")),
        Code::InvalidTopicId
    );
}

#[test]
fn a_tree_of_keys_is_satisfied_by_enough_of_its_branches() {
    let mut net = Net::new();
    let all: Vec<_> = (0..7).map(|place| net.somebody(place)).collect();
    let [payer, one, two, three, four, five, six] = &all[..] else {
        return;
    };
    // Two of: the first, both of a pair, one of a pair of which one is a list.
    let tree = Key::threshold(
        2,
        vec![
            one.public(),
            Key::list(vec![two.public(), three.public()]),
            Key::threshold(
                1,
                vec![four.public(), Key::list(vec![five.public(), six.public()])],
            ),
        ],
    );
    let topic = net.topic(
        &[payer],
        CreateTopicBody {
            submit_key: Some(tree),
            ..CreateTopicBody::default()
        },
    );
    for (signers, wanted) in [
        (vec![payer], Code::InvalidSignature),
        (vec![payer, one], Code::InvalidSignature),
        (vec![payer, one, two], Code::InvalidSignature),
        (vec![payer, one, two, three], Code::Success),
        (vec![payer, one, five], Code::InvalidSignature),
        (vec![payer, one, five, six], Code::Success),
        (vec![payer, two, three, four], Code::Success),
        (vec![payer, two, four, five, six], Code::InvalidSignature),
    ] {
        let count = signers.len();
        assert_eq!(
            net.status(&signers, message(topic, "hello")),
            wanted,
            "{count}"
        );
    }
    // One who signs twice is still one.
    let body = net.body(payer, message(topic, "hello"));
    let mut signatures =
        inbox_hedera::proto::SignatureMap::of([&payer.key, &one.key], &body.encode_to_vec())
            .unwrap();
    let again = signatures.pairs[1].clone();
    signatures.pairs.push(again);
    let signed = inbox_hedera::proto::SignedTransaction {
        body_bytes: body.encode_to_vec(),
        sig_map: Some(signatures.clone()),
    };
    let bytes = |signed: &inbox_hedera::proto::SignedTransaction| {
        inbox_hedera::proto::Transaction {
            signed_transaction_bytes: signed.encode_to_vec(),
            ..Default::default()
        }
        .encode_to_vec()
    };
    assert_eq!(net.put(&bytes(&signed)).0, Code::Ok);
    let id = body.transaction_id.unwrap();
    let status = net.ledger.record(&id).unwrap().unwrap().receipt.unwrap();
    assert_eq!(Code::from(status.status), Code::InvalidSignature);
}

#[test]
fn a_signature_may_name_the_start_of_its_key_and_a_wrong_one_is_none() {
    let mut net = Net::new();
    let (one, two) = (net.somebody(0), net.somebody(6));
    let topic = net.topic(
        &[&one],
        CreateTopicBody {
            submit_key: Some(two.public()),
            ..CreateTopicBody::default()
        },
    );
    for (length, is_spoilt, wanted) in [
        (33, false, Code::Success),
        (5, false, Code::Success),
        (0, false, Code::Success),
        (33, true, Code::InvalidSignature),
        (5, true, Code::InvalidSignature),
    ] {
        let body = net.body(&one, message(topic, "hello"));
        let body_bytes = body.encode_to_vec();
        let mut map =
            inbox_hedera::proto::SignatureMap::of([&one.key, &two.key], &body_bytes).unwrap();
        map.pairs[1].pub_key_prefix.truncate(length);
        if is_spoilt {
            let spoilt = two.key.sign(b"something else").unwrap();
            map.pairs[1].signature =
                Some(inbox_hedera::proto::SignatureKind::EcdsaSecp256k1(spoilt));
        }
        let signed = inbox_hedera::proto::SignedTransaction {
            body_bytes,
            sig_map: Some(map),
        };
        let bytes = inbox_hedera::proto::Transaction {
            signed_transaction_bytes: signed.encode_to_vec(),
            ..Default::default()
        };
        assert_eq!(net.put(&bytes.encode_to_vec()).0, Code::Ok);
        let id = body.transaction_id.unwrap();
        let receipt = net.ledger.record(&id).unwrap().unwrap().receipt.unwrap();
        assert_eq!(Code::from(receipt.status), wanted, "{length} {is_spoilt}");
    }
}

#[test]
fn a_topic_without_an_admin_is_nobodys_to_change() {
    let mut net = Net::new();
    let one = net.somebody(0);
    let topic = net.topic(&[&one], CreateTopicBody::default());
    let update = UpdateTopicBody {
        topic_id: Some(topic),
        submit_key: Some(one.public()),
        ..UpdateTopicBody::default()
    };
    assert_eq!(
        net.status(&[&one], Data::UpdateTopic(update)),
        Code::Unauthorized
    );
    let delete = DeleteTopicBody {
        topic_id: Some(topic),
    };
    assert_eq!(
        net.status(&[&one], Data::DeleteTopic(delete)),
        Code::Unauthorized
    );
    // Whoever is to be the admin must agree.
    let other = net.somebody(1);
    let body = CreateTopicBody {
        admin_key: Some(other.public()),
        ..CreateTopicBody::default()
    };
    assert_eq!(
        net.status(&[&one], Data::CreateTopic(body)),
        Code::InvalidSignature
    );
}

#[test]
fn pieces_of_a_message_belong_to_its_first_transaction() {
    let mut net = Net::new();
    let one = net.somebody(0);
    let topic = net.topic(&[&one], CreateTopicBody::default());
    let piece = |first: Option<TransactionId>, number: i32| {
        Data::SubmitMessage(SubmitMessageBody {
            topic_id: Some(topic),
            message: b"piece".to_vec(),
            chunk_info: Some(ChunkInfo {
                initial_transaction_id: first,
                total: 2,
                number,
            }),
        })
    };
    let mut first = net.body(&one, piece(None, 1));
    let id = first.transaction_id.clone();
    first.data = Some(piece(id.clone(), 1));
    let status = |net: &mut Net, body: &_| {
        let receipt = net.record(body, &[&one]).receipt.unwrap();
        Code::from(receipt.status)
    };
    assert_eq!(status(&mut net, &first), Code::Success);
    assert_eq!(net.status(&[&one], piece(id.clone(), 2)), Code::Success);
    assert_eq!(
        net.status(&[&one], piece(id.clone(), 3)),
        Code::InvalidChunkNumber
    );
    assert_eq!(
        net.status(&[&one], piece(id.clone(), 1)),
        Code::InvalidChunkTransactionId
    );
    assert_eq!(
        net.status(&[&one], piece(None, 2)),
        Code::InvalidChunkTransactionId
    );
    let other = net.somebody(1);
    assert_eq!(
        net.status(&[&other], piece(id, 2)),
        Code::InvalidChunkTransactionId
    );
}

#[test]
fn a_node_lets_in_what_is_whole_timely_new_signed_and_paid_for() {
    let mut net = Net::new();
    let one = net.somebody(0);
    let topic = net.topic(&[&one], CreateTopicBody::default());
    let good = net.body(&one, message(topic, "hello"));
    assert_eq!(net.offer(&good, &[]), Code::InvalidSignature);
    assert_eq!(
        net.offer(&good, &[&net.somebody(1)]),
        Code::InvalidSignature
    );
    assert_eq!(net.offer(&good, &[&one]), Code::Ok);
    assert_eq!(net.offer(&good, &[&one]), Code::DuplicateTransaction);

    let fresh = |net: &Net| net.body(&one, message(topic, "hello"));
    let mut body = fresh(&net);
    body.node_account_id = Some(AccountId::of(10));
    assert_eq!(net.offer(&body, &[&one]), Code::InvalidNodeAccount);
    body.node_account_id = Some(AccountId::of(9));
    assert_eq!(net.offer(&body, &[&one]), Code::Ok);
    let mut body = fresh(&net);
    body.transaction_fee = 1;
    assert_eq!(net.offer(&body, &[&one]), Code::InsufficientTxFee);
    let mut body = fresh(&net);
    body.memo = "m".repeat(101);
    assert_eq!(net.offer(&body, &[&one]), Code::MemoTooLong);
    for seconds in [0, 181] {
        let mut body = fresh(&net);
        body.valid_duration = Some(Duration { seconds });
        assert_eq!(net.offer(&body, &[&one]), Code::InvalidTransactionDuration);
    }
    let mut body = fresh(&net);
    body.transaction_id.as_mut().unwrap().account_id = Some(AccountId::of(999_999));
    assert_eq!(net.offer(&body, &[&one]), Code::PayerAccountNotFound);
    let mut body = fresh(&net);
    body.transaction_id.as_mut().unwrap().scheduled = true;
    assert_eq!(
        net.offer(&body, &[&one]),
        Code::TransactionIdFieldNotAllowed
    );
    let mut body = fresh(&net);
    body.data = None;
    assert_eq!(net.offer(&body, &[&one]), Code::InvalidTransactionBody);
    let body = fresh(&net);
    net.advance(200);
    assert_eq!(net.offer(&body, &[&one]), Code::TransactionExpired);
    let body = fresh(&net);
    net.advance(-100);
    assert_eq!(net.offer(&body, &[&one]), Code::InvalidTransactionStart);
    net.advance(100);
    assert_eq!(net.put(&[0xff; 10]).0, Code::InvalidTransaction);
    assert_eq!(net.put(&vec![0; 7000]).0, Code::TransactionOversize);
    for (text, code) in [
        (String::new(), Code::InvalidTopicMessage),
        ("x".repeat(1025), Code::MessageSizeTooLarge),
    ] {
        let body = net.body(&one, message(topic, &text));
        assert_eq!(net.offer(&body, &[&one]), code);
    }
}

#[test]
fn what_is_not_known_here_is_refused_and_never_taken_for_less() {
    let mut net = Net::new();
    let one = net.somebody(0);
    let topic = net.topic(&[&one], CreateTopicBody::default());
    let sign = |body: Vec<u8>| {
        let sig_map = inbox_hedera::proto::SignatureMap::of([&one.key], &body).unwrap();
        let signed = inbox_hedera::proto::SignedTransaction {
            body_bytes: body,
            sig_map: Some(sig_map),
        };
        inbox_hedera::proto::Transaction {
            signed_transaction_bytes: signed.encode_to_vec(),
            ..Default::default()
        }
        .encode_to_vec()
    };
    // A token is created: field 29.
    let mut body = net.body(&one, message(topic, "hello"));
    body.data = None;
    let mut bytes = body.encode_to_vec();
    bytes.extend([0xea, 0x01, 2, 0x0a, 0]);
    let mut other = bytes.clone();
    assert_eq!(net.put(&sign(bytes)).0, Code::NotSupported);
    other.extend([0xa0, 0x3f, 1]);
    assert!(matches!(
        net.put(&sign(other)).0,
        Code::NotSupported | Code::TransactionHasUnknownFields
    ));
    let mut bytes = net.body(&one, message(topic, "hello")).encode_to_vec();
    bytes.extend([0xa0, 0x3f, 1]);
    assert_eq!(net.put(&sign(bytes)).0, Code::TransactionHasUnknownFields);
}

#[test]
fn a_ledger_that_is_opened_again_goes_on() {
    let folder = std::env::temp_dir().join(format!("inbox-devnet-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("devnet.db");
    let mut net = Net::on(Ledger::open(&path).unwrap());
    let one = net.somebody(0);
    let topic = net.topic(&[&one], CreateTopicBody::default());
    let used = net.body(&one, message(topic, "before"));
    net.record(&used, &[&one]);
    let account = net.account(&one, Algorithm::Ecdsa, 5);
    // Nobody else may have it meanwhile.
    assert!(matches!(Ledger::open(&path), Err(LedgerError::InUse(_))));
    drop(net);
    let mut net = Net::on(Ledger::open(&path).unwrap());
    net.advance(10);
    assert_eq!(net.offer(&used, &[&one]), Code::DuplicateTransaction);
    let receipt = net.must(&[&account], message(topic, "after"));
    assert_eq!(receipt.topic_sequence_number, 2);
    drop(net);
    std::fs::remove_dir_all(&folder).unwrap();
}
