//! What accounts have, what things cost, and what topics ask for themselves.

use inbox_hedera::key::Algorithm;
use inbox_hedera::proto::{
    AccountAmount, AccountId, Code, CreateTopicBody, CryptoTransferBody, CryptoUpdateBody,
    CustomFeeLimit, Data, FixedCustomFee, FixedFee, StringValue, TransferList,
};

use crate::net::{HBAR, Net, Party, message};

pub(crate) fn transfer(amounts: &[(&Party, i64)]) -> CryptoTransferBody {
    CryptoTransferBody {
        transfers: Some(TransferList {
            amounts: amounts
                .iter()
                .map(|(party, amount)| AccountAmount {
                    account_id: Some(AccountId::of(party.num)),
                    amount: *amount,
                    is_approval: false,
                })
                .collect(),
        }),
        token_transfers: Vec::new(),
    }
}

/// The most that somebody agrees to pay, a part for each amount.
pub(crate) fn limit(party: &Party, amounts: &[i64]) -> CustomFeeLimit {
    let fee = |amount: &i64| FixedFee {
        amount: *amount,
        denominating_token_id: None,
    };
    CustomFeeLimit {
        account_id: Some(AccountId::of(party.num)),
        fees: amounts.iter().map(fee).collect(),
    }
}

pub(crate) fn fee(collector: &Party, amount: i64) -> FixedCustomFee {
    FixedCustomFee {
        fixed_fee: Some(FixedFee {
            amount,
            denominating_token_id: None,
        }),
        fee_collector_account_id: Some(AccountId::of(collector.num)),
    }
}

#[test]
fn who_gives_must_sign_and_have_it_and_nothing_is_made_or_lost() {
    let mut net = Net::new();
    let (one, two) = (net.somebody(0), net.somebody(6));
    let before = (net.balance(one.num), net.balance(two.num), net.supply());
    let pay = |amounts: &[(&Party, i64)]| Data::CryptoTransfer(transfer(amounts));
    let body = net.body(&one, pay(&[(&one, -HBAR), (&two, HBAR)]));
    let record = net.record(&body, &[&one]);
    let cost = i64::try_from(record.transaction_fee).unwrap();
    assert!(cost > 0);
    assert_eq!(net.balance(one.num), before.0 - HBAR - cost);
    assert_eq!(net.balance(two.num), before.1 + HBAR);
    let moved: i64 = record
        .transfer_list
        .unwrap()
        .amounts
        .iter()
        .map(|one| one.amount)
        .sum();
    assert_eq!(moved, 0);

    for (amounts, code) in [
        (vec![(&two, -HBAR), (&one, HBAR)], Code::InvalidSignature),
        (
            vec![(&one, -HBAR), (&two, HBAR + 1)],
            Code::InvalidAccountAmounts,
        ),
        (
            vec![(&one, i64::MIN), (&two, i64::MIN)],
            Code::InvalidAccountAmounts,
        ),
        (
            vec![(&one, -HBAR * 1_000_000), (&two, HBAR * 1_000_000)],
            Code::InsufficientAccountBalance,
        ),
        (
            vec![(&one, -HBAR), (&two, HBAR / 2), (&two, HBAR / 2)],
            Code::AccountRepeatedInAccountAmounts,
        ),
    ] {
        let kept = net.balance(two.num);
        assert_eq!(net.status(&[&one], pay(&amounts)), code);
        assert_eq!(net.balance(two.num), kept, "{code}");
        assert_eq!(net.supply(), before.2);
    }
}

#[test]
fn an_account_is_made_funded_named_and_guarded() {
    let mut net = Net::new();
    let rich = net.treasury();
    let mut account = net.account(&rich, Algorithm::Ecdsa, 10);
    assert_eq!(net.balance(account.num), 10 * HBAR);
    let named = CryptoUpdateBody {
        account_id: Some(AccountId::of(account.num)),
        memo: Some(StringValue {
            value: "hcs-11:hcs://1/0.0.1005".into(),
        }),
        ..CryptoUpdateBody::default()
    };
    assert_eq!(
        net.status(&[&rich], Data::CryptoUpdate(named.clone())),
        Code::InvalidSignature
    );
    net.must(&[&account], Data::CryptoUpdate(named));
    let next = net.account(&rich, Algorithm::Ed25519, 0);
    let rekeyed = CryptoUpdateBody {
        account_id: Some(AccountId::of(account.num)),
        key: Some(next.public()),
        ..CryptoUpdateBody::default()
    };
    // The new key must agree, too.
    assert_eq!(
        net.status(&[&account], Data::CryptoUpdate(rekeyed.clone())),
        Code::InvalidSignature
    );
    net.must(&[&account, &next], Data::CryptoUpdate(rekeyed));
    let body = net.body(&account, Data::CryptoTransfer(transfer(&[])));
    assert_eq!(net.offer(&body, &[&account]), Code::InvalidSignature);
    account.key = next.key.clone();
    assert_eq!(net.offer(&body, &[&account]), Code::Ok);
}

#[test]
fn a_topic_takes_its_own_fee_from_all_but_the_exempt_and_within_their_limits() {
    let mut net = Net::new();
    let (owner, guest, friend) = (net.somebody(0), net.somebody(1), net.somebody(7));
    let topic = net.topic(
        &[&owner],
        CreateTopicBody {
            admin_key: Some(owner.public()),
            fee_schedule_key: Some(owner.public()),
            fee_exempt_key_list: vec![friend.public()],
            custom_fees: vec![fee(&owner, 2 * HBAR)],
            ..CreateTopicBody::default()
        },
    );
    let supply = net.supply();
    let had = net.balance(owner.num);
    let body = net.body(&guest, message(topic, "hello"));
    let record = net.record(&body, &[&guest]);
    assert_eq!(net.balance(owner.num), had + 2 * HBAR);
    assert_eq!(record.assessed_custom_fees[0].amount, 2 * HBAR);
    net.must(&[&friend], message(topic, "hello"));
    assert_eq!(net.balance(owner.num), had + 2 * HBAR);
    // Who collects pays nothing to himself.
    let body = net.body(&owner, message(topic, "hello"));
    let record = net.record(&body, &[&owner]);
    assert!(record.assessed_custom_fees.is_empty());

    let limited = |net: &mut Net, account: &Party, most: i64| {
        let mut body = net.body(&guest, message(topic, "hello"));
        body.max_custom_fees = vec![CustomFeeLimit {
            account_id: Some(AccountId::of(account.num)),
            fees: vec![FixedFee {
                amount: most,
                denominating_token_id: None,
            }],
        }];
        Code::from(net.record(&body, &[&guest]).receipt.unwrap().status)
    };
    let had = (net.balance(owner.num), net.balance(guest.num));
    assert_eq!(
        limited(&mut net, &guest, 2 * HBAR - 1),
        Code::MaxCustomFeeLimitExceeded
    );
    assert_eq!(
        limited(&mut net, &owner, 2 * HBAR),
        Code::NoValidMaxCustomFee
    );
    assert_eq!(
        net.balance(owner.num),
        had.0,
        "a refused message costs the network's fee alone"
    );
    assert!(net.balance(guest.num) < had.1);
    assert_eq!(limited(&mut net, &guest, 2 * HBAR), Code::Success);
    assert_eq!(net.supply(), supply);
}

#[test]
fn bad_fees_and_exemptions_are_refused() {
    let mut net = Net::new();
    let owner = net.somebody(0);
    let nobody = Party {
        num: 999_999,
        key: owner.key.clone(),
    };
    let with = |fees: Vec<FixedCustomFee>| CreateTopicBody {
        custom_fees: fees,
        ..CreateTopicBody::default()
    };
    for (body, code) in [
        (with(vec![fee(&owner, 0)]), Code::CustomFeeMustBePositive),
        (with(vec![fee(&nobody, 1)]), Code::InvalidCustomFeeCollector),
        (
            with(vec![FixedCustomFee::default()]),
            Code::CustomFeeNotFullySpecified,
        ),
        (with(vec![fee(&owner, 1); 11]), Code::CustomFeesListTooLong),
        (
            CreateTopicBody {
                fee_exempt_key_list: vec![owner.public(), owner.public()],
                ..CreateTopicBody::default()
            },
            Code::FeeExemptKeyListContainsDuplicatedKeys,
        ),
    ] {
        assert_eq!(net.status(&[&owner], Data::CreateTopic(body)), code);
    }
}

#[test]
fn limits_that_say_nothing_or_two_things_are_refused() {
    let mut net = Net::new();
    let (one, two) = (net.somebody(0), net.somebody(1));
    let topic = net.topic(&[&one], CreateTopicBody::default());
    let nobodys = CustomFeeLimit {
        account_id: None,
        ..limit(&one, &[1])
    };
    for (limits, wanted) in [
        (vec![limit(&one, &[5])], Code::Ok),
        (vec![limit(&one, &[5]), limit(&two, &[5])], Code::Ok),
        (vec![limit(&one, &[])], Code::InvalidMaxCustomFees),
        (vec![limit(&one, &[-1])], Code::InvalidMaxCustomFees),
        (vec![nobodys], Code::InvalidMaxCustomFees),
        (
            vec![limit(&one, &[5]), limit(&one, &[6])],
            Code::DuplicateAccountIdInMaxCustomFeeList,
        ),
        (
            vec![limit(&one, &[5, 6])],
            Code::DuplicateDenominationInMaxCustomFeeList,
        ),
    ] {
        let mut body = net.body(&one, message(topic, "hello"));
        body.max_custom_fees = limits;
        assert_eq!(net.offer(&body, &[&one]), wanted);
    }
    let mut body = net.body(&one, Data::CryptoTransfer(transfer(&[])));
    body.max_custom_fees = vec![limit(&one, &[5])];
    assert_eq!(net.offer(&body, &[&one]), Code::MaxCustomFeesIsNotSupported);
}
