//! Who pays what to a topic.

use super::*;
use crate::key::{Algorithm, PrivateKey};
use crate::proto::{FixedCustomFee, Key};

fn key() -> PublicKey {
    let key = PrivateKey::generate(Algorithm::Ed25519).expect("there is randomness");
    key.public().expect("it has one")
}

fn account(number: u64) -> AccountId {
    AccountId::new(0, 0, number).expect("it is an id")
}

fn fee(amount: i64, token: Option<i64>, collector: u64) -> FixedCustomFee {
    FixedCustomFee {
        fixed_fee: Some(FixedFee {
            amount,
            denominating_token_id: token.map(TokenId::of),
        }),
        fee_collector_account_id: Some(account(collector).into()),
    }
}

fn topic(fees: Vec<FixedCustomFee>) -> TopicFacts {
    TopicFacts {
        memo: String::new(),
        admin_key: None,
        submit_key: None,
        fee_schedule_key: None,
        fee_exempt_keys: Vec::new(),
        custom_fees: fees,
        is_deleted: false,
    }
}

/// The limits of account 7: hbars, and tokens with theirs.
fn limited(limits: &[CustomFeeLimit]) -> Vec<(Option<i64>, i64)> {
    let [limit] = limits else {
        panic!("there is one limit: {limits:?}");
    };
    assert_eq!(limit.account_id, Some(account(7).into()));
    let of = |fee: &FixedFee| (fee.denominating_token_id.map(|token| token.num), fee.amount);
    limit.fees.iter().map(of).collect()
}

#[test]
fn what_a_topic_takes_is_summed_by_what_it_is_taken_in() {
    let fees = vec![
        fee(5, None, 8),
        fee(6, None, 9),
        fee(70, Some(50), 8),
        fee(1, Some(50), 9),
        fee(9, Some(51), 8),
    ];
    let most = Most {
        hbar: 11,
        tokens: BTreeMap::from([(50, 71), (51, 9)]),
    };
    let found = limits(&topic(fees.clone()), account(7), &[], 1, &most).expect("it is allowed");
    assert_eq!(limited(&found), [(None, 11), (Some(50), 71), (Some(51), 9)]);
    // Nobody pays themselves.
    let found = limits(&topic(fees), account(8), &[], 1, &most).expect("it is allowed");
    let sums: Vec<i64> = found[0].fees.iter().map(|fee| fee.amount).collect();
    assert_eq!(sums, [6, 1]);
}

#[test]
fn an_exempt_key_pays_nothing_and_says_so() {
    let (own, other) = (key(), key());
    let mut topic = topic(vec![fee(5, None, 8)]);
    topic.fee_exempt_keys = vec![
        Key::from(&other),
        Key::threshold(1, vec![Key::from(&own), Key::from(&other)]),
    ];
    let found = limits(&topic, account(7), &[own], 3, &Most::default()).expect("it is free");
    assert_eq!(limited(&found), [(None, 0)]);
    let refused = limits(&topic, account(7), &[key()], 1, &Most::default());
    assert!(refused.is_err());
}

#[test]
fn a_topic_that_could_take_fees_later_is_limited_to_none_and_one_that_cannot_is_not_limited() {
    let mut topic = topic(Vec::new());
    let most = Most::hbar(HBAR);
    let found = limits(&topic, account(7), &[], 1, &most).expect("it is free");
    assert_eq!(found, []);
    topic.fee_schedule_key = Some(Key::from(&key()));
    let found = limits(&topic, account(7), &[], 1, &most).expect("it is free");
    assert_eq!(limited(&found), [(None, 0)]);
}

#[test]
fn more_than_is_allowed_is_refused_with_both_numbers_and_every_piece_counts() {
    let five = i64::try_from(5 * HBAR).expect("it fits");
    let dear = topic(vec![fee(five / 2, None, 8), fee(3, Some(50), 8)]);
    let most = Most {
        hbar: 5 * HBAR,
        tokens: BTreeMap::from([(50, 6)]),
    };
    assert!(limits(&dear, account(7), &[], 2, &most).is_ok());
    let refused = limits(&dear, account(7), &[], 3, &most).expect_err("it is too dear");
    assert_eq!(
        refused.to_string(),
        "the topic takes 7.5 ℏ for a message in 3 pieces, and at most 5 ℏ is allowed"
    );
    let refused = limits(&dear, account(7), &[], 1, &Most::hbar(HBAR * 9)).expect_err("a token");
    assert!(
        refused
            .to_string()
            .contains("takes 3 of the token 0.0.50 for a message, and"),
        "{refused}"
    );
    let endless = topic(vec![fee(i64::MAX, None, 8), fee(i64::MAX, None, 9)]);
    let refused = limits(&endless, account(7), &[], 20, &Most::hbar(u64::MAX - 1));
    assert!(refused.is_err());
}
