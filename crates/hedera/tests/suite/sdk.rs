//! What the official SDK wrote is read here as it was meant, and what is written here is what it would have written.

use inbox_hedera::key::{Algorithm, PrivateKey, PublicKey, hex, unhex};
use inbox_hedera::proto::{
    AccountId, Data, FixedFee, Key, Schedulable, SignedTransaction, SubmitMessageBody, Timestamp,
    TopicId, Transaction, TransactionBody, TransactionId, TransactionList,
};
use inbox_hedera::transaction::{Signed, Unreadable};
use inbox_hedera::wire::{loses, louder};
use proptest::prelude::*;
use prost::Message;
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../vectors/sdk.json")).unwrap()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

/// A transaction of the SDK's, as a node would get it.
fn transaction(name: &str) -> (Vec<u8>, Signed) {
    let vectors = vectors();
    let found = list(&vectors, "transactions")
        .iter()
        .find(|one| one["name"] == name)
        .unwrap();
    let bytes = unhex(text(found, "bytes")).unwrap();
    let all = TransactionList::decode(bytes.as_slice()).unwrap();
    let bytes = all.transactions[0].encode_to_vec();
    let signed = Signed::read(&bytes).unwrap();
    for signer in list(found, "signers") {
        let key: PublicKey = signer.as_str().unwrap().parse().unwrap();
        assert!(signed.is_signed_by(&key), "{name} by {key}");
    }
    (bytes, signed)
}

#[test]
fn keys_have_the_forms_and_signatures_that_the_sdk_gives_them() {
    for vector in list(&vectors(), "keys") {
        let private: PrivateKey = text(vector, "private_der").parse().unwrap();
        let public = private.public().unwrap();
        assert_eq!(private.reveal().as_str(), text(vector, "private_der"));
        assert_eq!(public.to_der(), text(vector, "public_der"));
        assert_eq!(hex(public.bytes()), text(vector, "public_raw"));
        for form in ["public_der", "public_raw"] {
            assert_eq!(text(vector, form).parse::<PublicKey>().unwrap(), public);
        }
        let message = unhex(text(vector, "message")).unwrap();
        let signature = unhex(text(vector, "signature")).unwrap();
        assert!(public.verifies(&message, &signature));
        assert_eq!(
            hex(&private.sign(&message).unwrap()),
            text(vector, "signature")
        );
        assert!(!public.verifies(b"something else", &signature));
    }
}

#[test]
fn a_secret_is_read_in_every_form_and_never_shown() {
    let seed = "91132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137";
    let bare: PrivateKey = seed.parse().unwrap();
    assert_eq!(bare.algorithm(), Algorithm::Ed25519);
    let marked: PrivateKey = format!("0x{seed}").parse().unwrap();
    assert_eq!(marked.algorithm(), Algorithm::Ecdsa);
    assert!(!format!("{bare:?} {marked:?}").contains("9113"));
    let zero = "0x0000000000000000000000000000000000000000000000000000000000000000";
    for bad in [
        "",
        "zz",
        "9",
        "91",
        zero,
        &seed[2..],
        "302e020100300506032b657004220420",
    ] {
        let refused = bad.parse::<PrivateKey>().unwrap_err().to_string();
        assert!(!refused.contains("9113"), "{refused}");
    }
}

#[test]
fn every_transaction_of_the_sdk_is_read_whole_and_its_signatures_hold() {
    let vectors = vectors();
    for vector in list(&vectors, "transactions") {
        let (_, signed) = transaction(text(vector, "name"));
        let id = signed.body.transaction_id.clone().unwrap();
        assert_eq!(id.to_string(), "0.0.1001@1700000000.123456789");
        assert_eq!(signed.body.node_account_id, Some(AccountId::of(3)));
        assert_eq!(signed.body.memo, "hcs-10:op:3:1");
    }
}

#[test]
fn what_the_sdk_asks_for_is_what_is_read() {
    let Some(Data::CreateTopic(topic)) = transaction("topic create").1.body.data else {
        panic!("a topic is created");
    };
    assert_eq!(topic.memo, "hcs-10:0:60:0:0.0.1001");
    let admin = topic.admin_key.unwrap();
    let exempt = topic.fee_exempt_key_list[0].clone();
    let both = Key::threshold(1, vec![admin.clone(), exempt]);
    assert_eq!(topic.submit_key, Some(both));
    assert_eq!(topic.fee_schedule_key, Some(admin));
    let fee = topic.custom_fees[0].clone();
    assert_eq!(fee.fee_collector_account_id, Some(AccountId::of(1001)));
    let amount = fee.fixed_fee.map(|FixedFee { amount, .. }| amount);
    assert_eq!(amount, Some(5));

    let Some(Data::UpdateTopic(update)) = transaction("topic update").1.body.data else {
        panic!("a topic is changed");
    };
    assert_eq!(update.memo.unwrap().value, "");
    assert!(update.submit_key.unwrap().is_removal() && update.admin_key.is_none());

    let Some(Data::ScheduleCreate(schedule)) = transaction("schedule create").1.body.data else {
        panic!("a schedule is created");
    };
    let Some(Schedulable::CryptoTransfer(transfer)) = schedule.scheduled.unwrap().data else {
        panic!("a transfer is scheduled");
    };
    let amounts = transfer.transfers.unwrap().amounts;
    assert_eq!(amounts.iter().map(|one| one.amount).sum::<i64>(), 0);
    assert_eq!(amounts.len(), 2);
}

#[test]
fn a_body_that_was_changed_after_it_was_signed_is_signed_by_nobody() {
    let (_, signed) = transaction("submit");
    let mut changed = signed.clone();
    changed.body_bytes.push(0);
    for pair in &signed.signatures.pairs {
        let algorithm = match pair.pub_key_prefix.len() {
            32 => Algorithm::Ed25519,
            _ => Algorithm::Ecdsa,
        };
        let key = PublicKey::from_bytes(algorithm, &pair.pub_key_prefix).unwrap();
        assert!(signed.is_signed_by(&key) && !changed.is_signed_by(&key));
    }
}

#[test]
fn a_transaction_of_ours_is_read_back_and_one_with_more_than_is_known_is_refused() {
    let key = PrivateKey::generate(Algorithm::Ecdsa).unwrap();
    let start = Timestamp {
        seconds: 1_700_000_000,
        nanos: 1,
    };
    let body = TransactionBody::new(
        TransactionId::new(AccountId::of(1001), start),
        AccountId::of(3),
        200_000_000,
        Data::SubmitMessage(SubmitMessageBody {
            topic_id: Some(TopicId::of(1005)),
            message: b"hello".to_vec(),
            chunk_info: None,
        }),
    );
    let bytes = body.sign([&key]).unwrap().encode_to_vec();
    let read = Signed::read(&bytes).unwrap();
    assert_eq!(read.body, body);
    assert!(read.is_signed_by(&key.public().unwrap()));

    let mut more = bytes.clone();
    more.extend([0xa0, 0x06, 1]);
    assert_eq!(Signed::read(&more), Err(Unreadable::Unknown(vec![100])));
    let long = vec![0; 7000];
    assert_eq!(Signed::read(&long), Err(Unreadable::Oversize(7000)));
    assert!(matches!(
        Signed::read(b"\xff"),
        Err(Unreadable::Malformed(_))
    ));
}

#[test]
fn a_tree_of_keys_is_satisfied_by_as_many_as_it_asks_for() {
    let keys: Vec<PrivateKey> = [Algorithm::Ed25519, Algorithm::Ecdsa, Algorithm::Ed25519]
        .map(|algorithm| PrivateKey::generate(algorithm).unwrap())
        .into();
    let public: Vec<PublicKey> = keys.iter().map(|key| key.public().unwrap()).collect();
    let leaves: Vec<Key> = public.iter().map(Key::from).collect();
    let by = |key: &Key, signers: &[usize]| {
        key.is_satisfied(&|wanted| signers.iter().any(|&one| public[one] == *wanted))
    };
    let all = Key::list(leaves.clone());
    assert!(by(&all, &[0, 1, 2]) && !by(&all, &[0, 1]));
    let two = Key::threshold(2, leaves.clone());
    assert!(by(&two, &[0, 2]) && !by(&two, &[1]));
    let nested = Key::threshold(1, vec![all.clone(), two.clone()]);
    assert!(by(&nested, &[1, 2]) && !by(&nested, &[2]));
    // What asks for nothing is satisfied by nobody, and is no key.
    let mut deep = leaves[0].clone();
    for _ in 0..20 {
        deep = Key::list(vec![deep]);
    }
    for bad in [
        Key::list(Vec::new()),
        Key::threshold(0, leaves.clone()),
        Key::threshold(4, leaves),
        Key::default(),
        deep,
    ] {
        assert!(!by(&bad, &[0, 1, 2]) && !bad.is_valid(), "{bad:?}");
    }
    assert!(nested.is_valid());
}

/// A field as protocol buffers write it: its number, how, and a value that may say nothing.
fn field(number: u32, kind: u8, value: u8) -> Vec<u8> {
    let mut tag = u64::from(number) << 3 | u64::from(kind);
    let mut bytes = Vec::new();
    while tag > 0x7f {
        bytes.push(u8::try_from(tag & 0x7f).unwrap() | 0x80);
        tag >>= 7;
    }
    bytes.push(u8::try_from(tag).unwrap());
    match kind {
        0 => bytes.push(value & 0x7f),
        1 => bytes.extend([value, 0, 0, 0, 0, 0, 0, 0]),
        5 => bytes.extend([value, 0, 0, 0]),
        // As many bytes as it says, of the letter x.
        _ => {
            bytes.push(value & 0x0f);
            bytes.extend(vec![b'x'; usize::from(value & 0x0f)]);
        }
    }
    bytes
}

proptest! {
    #[test]
    fn a_transaction_with_a_field_that_nobody_knows_is_refused_wherever_it_is_and_whatever_it_says(
        name in prop::sample::select(vec!["submit", "transfer", "topic create", "topic update", "schedule create"]),
        number in 2000_u32..500_000, kind in prop::sample::select(vec![0_u8, 1, 2, 5]), value in any::<u8>(), is_inside in any::<bool>(),
    ) {
        let (_, signed) = transaction(name);
        let unknown = field(number, kind, value);
        let mut body = signed.body_bytes.clone();
        if is_inside {
            // One more of the field that is already there: what is in it is put together by those who read it.
            let inside = signed.body.data.as_ref().map(|data| match data {
                Data::SubmitMessage(_) => 27,
                Data::CryptoTransfer(_) => 14,
                Data::CreateTopic(_) => 24,
                Data::UpdateTopic(_) => 25,
                _ => 42,
            });
            let length = u8::try_from(unknown.len()).unwrap();
            let mut outer = field(inside.unwrap(), 2, 0);
            *outer.last_mut().unwrap() = length;
            body.extend(outer);
        }
        body.extend(&unknown);
        let bytes = SignedTransaction { body_bytes: body, sig_map: None }.encode_to_vec();
        let outer = Transaction { signed_transaction_bytes: bytes, ..Transaction::default() };
        let read = Signed::read(&outer.encode_to_vec());
        prop_assert!(
            matches!(read, Err(Unreadable::Unknown(_) | Unreadable::Malformed(_))),
            "{read:?}"
        );
    }

    #[test]
    fn no_bytes_upset_the_readers(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Signed::read(&bytes);
        let _ = loses(&bytes, &bytes);
        prop_assert!(loses(&bytes, &bytes).is_none() || loses(&bytes, b"").is_some());
        prop_assert_eq!(louder(&bytes, &bytes), None);
        let _ = louder(&bytes, b"");
    }

    #[test]
    fn a_transaction_that_was_cut_or_bent_is_never_taken_for_the_one_that_was_signed(
        at in 0_usize..150, with in any::<u8>(), cut in any::<bool>(),
    ) {
        let (bytes, original) = transaction("transfer");
        let mut bent = bytes.clone();
        let at = at % bytes.len();
        if cut { bent.truncate(at) } else { bent[at] = with }
        prop_assume!(bent != bytes);
        if let Ok(read) = Signed::read(&bent)
            && read.body_bytes != original.body_bytes
        {
            let public: PublicKey =
                "302a300506032b65700321000aa8e21064c61eab86e2a9c164565b4e7a9a4146106e0a6cd03a8c395a110e92"
                    .parse().unwrap();
            prop_assert!(!read.is_signed_by(&public));
        }
    }
}

#[test]
fn either_form_of_a_signature_of_ecdsa_is_of_its_key() {
    use k256::ecdsa::Signature;
    let key = PrivateKey::generate(Algorithm::Ecdsa).unwrap();
    let bytes = key.sign(b"hello").unwrap();
    let signature = Signature::from_slice(&bytes).unwrap();
    let other =
        Signature::from_scalars(signature.r().to_bytes(), (-*signature.s()).to_bytes()).unwrap();
    let public = key.public().unwrap();
    assert!(public.verifies(b"hello", &bytes) && public.verifies(b"hello", &other.to_bytes()));
    assert!(!public.verifies(b"world", &other.to_bytes()));
}
