//! Transactions that wait for signatures.

use inbox_devnet::ledger::Schedule;
use inbox_hedera::proto::{
    Answered, Asked, Code, CreateTopicBody, Data, DeleteTopicBody, Query, Schedulable,
    SchedulableBody, ScheduleCreateBody, ScheduleDeleteBody, ScheduleId, ScheduleInfoQuery,
    ScheduleSignBody, SubmitMessageBody,
};

use crate::money::{fee, limit, transfer};
use crate::net::{HBAR, Net, Party, time};

fn payment(from: &Party, to: &Party) -> ScheduleCreateBody {
    ScheduleCreateBody {
        scheduled: Some(SchedulableBody {
            transaction_fee: u64::try_from(HBAR).unwrap(),
            memo: String::new(),
            max_custom_fees: Vec::new(),
            data: Some(Schedulable::CryptoTransfer(transfer(&[
                (from, -HBAR),
                (to, HBAR),
            ]))),
        }),
        ..ScheduleCreateBody::default()
    }
}

fn sign(schedule: ScheduleId) -> Data {
    Data::ScheduleSign(ScheduleSignBody {
        schedule_id: Some(schedule),
    })
}

#[test]
fn a_schedule_is_carried_out_when_the_last_signature_arrives_and_once() {
    let mut net = Net::new();
    let (maker, giver, taker) = (net.somebody(0), net.somebody(6), net.somebody(2));
    let had = net.balance(taker.num);
    let made = net.must(&[&maker], Data::ScheduleCreate(payment(&giver, &taker)));
    let schedule = made.schedule_id.unwrap();
    let inner = made.scheduled_transaction_id.unwrap();
    assert!(inner.scheduled);
    assert_eq!(net.ledger.record(&inner).unwrap(), None);
    assert_eq!(
        net.status(&[&taker], sign(schedule)),
        Code::NoNewValidSignatures
    );
    assert_eq!(net.balance(taker.num), had - cost(&net, &taker));

    let had = net.balance(taker.num);
    let receipt = net.must(&[&giver], sign(schedule));
    assert_eq!(receipt.scheduled_transaction_id, Some(inner.clone()));
    let done = net.ledger.record(&inner).unwrap().unwrap();
    assert_eq!(Code::from(done.receipt.unwrap().status), Code::Success);
    assert_eq!(done.schedule_ref, Some(schedule));
    assert_eq!(net.balance(taker.num), had + HBAR);
    assert_eq!(
        net.status(&[&giver], sign(schedule)),
        Code::ScheduleAlreadyExecuted
    );
    assert_eq!(net.balance(taker.num), had + HBAR);
}

/// What the last transaction of somebody cost.
fn cost(net: &Net, party: &Party) -> i64 {
    net.ledger
        .db()
        .query_row(
            "SELECT record FROM transactions WHERE payer = ?1 ORDER BY consensus_at DESC LIMIT 1",
            [party.num],
            |row| row.get::<_, Vec<u8>>(0),
        )
        .map(|bytes| {
            let record: inbox_hedera::proto::TransactionRecord =
                prost::Message::decode(bytes.as_slice()).unwrap();
            i64::try_from(record.transaction_fee).unwrap()
        })
        .unwrap()
}

#[test]
fn who_signed_the_making_of_it_has_signed() {
    let mut net = Net::new();
    let (maker, giver, taker) = (net.somebody(0), net.somebody(6), net.somebody(2));
    let made = net.must(
        &[&maker, &giver],
        Data::ScheduleCreate(payment(&giver, &taker)),
    );
    let inner = made.scheduled_transaction_id.unwrap();
    assert!(net.ledger.record(&inner).unwrap().is_some());
}

#[test]
fn a_schedule_ends_by_its_admin_or_by_time() {
    let mut net = Net::new();
    let (maker, giver, taker) = (net.somebody(0), net.somebody(6), net.somebody(2));
    let mut body = payment(&giver, &taker);
    body.admin_key = Some(maker.public());
    let made = net.must(&[&maker], Data::ScheduleCreate(body.clone()));
    let same = net.run(&[&maker], Data::ScheduleCreate(body));
    assert_eq!(
        Code::from(same.status),
        Code::IdenticalScheduleAlreadyCreated
    );
    assert_eq!(same.schedule_id, made.schedule_id);
    let schedule = made.schedule_id.unwrap();
    let delete = Data::ScheduleDelete(ScheduleDeleteBody {
        schedule_id: Some(schedule),
    });
    assert_eq!(
        net.status(&[&giver], delete.clone()),
        Code::InvalidSignature
    );
    net.must(&[&maker], delete);
    assert_eq!(
        net.status(&[&giver], sign(schedule)),
        Code::ScheduleAlreadyDeleted
    );

    let made = net.must(&[&maker], Data::ScheduleCreate(payment(&giver, &taker)));
    let schedule = made.schedule_id.unwrap();
    let immutable = Data::ScheduleDelete(ScheduleDeleteBody {
        schedule_id: Some(schedule),
    });
    assert_eq!(net.status(&[&maker], immutable), Code::ScheduleIsImmutable);
    net.advance(1801);
    assert_eq!(
        net.status(&[&giver], sign(schedule)),
        Code::InvalidScheduleId
    );
}

#[test]
fn one_that_waits_for_its_time_is_carried_out_then() {
    let mut net = Net::new();
    let (maker, giver, taker) = (net.somebody(0), net.somebody(6), net.somebody(2));
    let mut body = payment(&giver, &taker);
    body.wait_for_expiry = true;
    body.expiration_time = Some(time(net.now() + 60_000_000_000));
    let made = net.must(&[&maker, &giver], Data::ScheduleCreate(body.clone()));
    let inner = made.scheduled_transaction_id.unwrap();
    body.memo = "never signed".into();
    let other = net.must(&[&maker], Data::ScheduleCreate(body));
    net.ledger.settle().unwrap();
    assert_eq!(net.ledger.record(&inner).unwrap(), None);
    net.advance(61);
    net.ledger.settle().unwrap();
    net.ledger.settle().unwrap();
    let done = net.ledger.record(&inner).unwrap().unwrap();
    assert_eq!(Code::from(done.receipt.unwrap().status), Code::Success);
    let never = other.scheduled_transaction_id.unwrap();
    assert_eq!(net.ledger.record(&never).unwrap(), None);
}

#[test]
fn a_message_can_be_scheduled_and_a_topic_cannot() {
    let mut net = Net::new();
    let (owner, maker) = (net.somebody(0), net.somebody(1));
    let topic = net.topic(
        &[&owner],
        CreateTopicBody {
            submit_key: Some(owner.public()),
            ..CreateTopicBody::default()
        },
    );
    let later = |data: Schedulable| {
        Data::ScheduleCreate(ScheduleCreateBody {
            scheduled: Some(SchedulableBody {
                transaction_fee: u64::try_from(HBAR).unwrap(),
                memo: String::new(),
                max_custom_fees: Vec::new(),
                data: Some(data),
            }),
            ..ScheduleCreateBody::default()
        })
    };
    let message = Schedulable::SubmitMessage(SubmitMessageBody {
        topic_id: Some(topic),
        message: b"agreed".to_vec(),
        chunk_info: None,
    });
    let made = net.must(&[&maker], later(message));
    net.must(&[&owner], sign(made.schedule_id.unwrap()));
    let done = net
        .ledger
        .record(&made.scheduled_transaction_id.unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(done.receipt.unwrap().topic_sequence_number, 1);
    for data in [
        Schedulable::CreateTopic(CreateTopicBody::default()),
        Schedulable::DeleteTopic(DeleteTopicBody {
            topic_id: Some(topic),
        }),
    ] {
        assert_eq!(
            net.status(&[&maker], later(data)),
            Code::ScheduledTransactionNotInWhitelist
        );
    }
}

#[test]
fn a_scheduled_message_pays_its_topic_no_more_than_the_limit_that_it_sets() {
    let mut net = Net::new();
    let (owner, maker) = (net.somebody(0), net.somebody(1));
    let topic = net.topic(
        &[&owner],
        CreateTopicBody {
            submit_key: Some(owner.public()),
            custom_fees: vec![fee(&owner, HBAR)],
            ..CreateTopicBody::default()
        },
    );
    let later = |most: i64, data: Schedulable| {
        Data::ScheduleCreate(ScheduleCreateBody {
            scheduled: Some(SchedulableBody {
                transaction_fee: u64::try_from(HBAR).unwrap(),
                memo: String::new(),
                max_custom_fees: vec![limit(&maker, &[most])],
                data: Some(data),
            }),
            ..ScheduleCreateBody::default()
        })
    };
    let message = |text: &str| {
        Schedulable::SubmitMessage(SubmitMessageBody {
            topic_id: Some(topic),
            message: text.as_bytes().to_vec(),
            chunk_info: None,
        })
    };
    for (most, code) in [
        (HBAR - 1, Code::MaxCustomFeeLimitExceeded),
        (HBAR, Code::Success),
    ] {
        let made = net.must(&[&maker], later(most, message(&most.to_string())));
        let had = net.balance(maker.num);
        net.must(&[&owner], sign(made.schedule_id.unwrap()));
        let inner = made.scheduled_transaction_id.unwrap();
        let done = net.ledger.record(&inner).unwrap().unwrap();
        assert_eq!(Code::from(done.receipt.unwrap().status), code);
        let paid = had - net.balance(maker.num);
        assert_eq!(paid >= HBAR, code == Code::Success, "{paid}");
    }
    let transfer = Schedulable::CryptoTransfer(transfer(&[(&maker, -1), (&owner, 1)]));
    assert_eq!(
        net.status(&[&maker], later(1, transfer)),
        Code::MaxCustomFeesIsNotSupported
    );
}

#[test]
fn a_schedule_of_one_that_does_not_exist_is_not_made() {
    let mut net = Net::new();
    let maker = net.somebody(0);
    let nobody = Party {
        num: 999_999,
        key: maker.key.clone(),
    };
    let status = net.status(&[&maker], Data::ScheduleCreate(payment(&nobody, &maker)));
    assert_eq!(status, Code::UnresolvableRequiredSigners);
}

#[test]
fn every_schedule_whose_time_is_over_ends_with_its_signatures_or_without() {
    let mut net = Net::new();
    let (maker, giver, taker) = (net.somebody(0), net.somebody(6), net.somebody(2));
    let mut made = Vec::new();
    for number in 0..130 {
        let mut body = payment(&giver, &taker);
        body.memo = format!("number {number}");
        body.wait_for_expiry = number % 2 == 0;
        body.expiration_time = Some(time(net.now() + 60_000_000_000));
        let signers: &[&Party] = if number % 4 == 0 {
            &[&maker, &giver]
        } else {
            &[&maker]
        };
        made.push(net.must(signers, Data::ScheduleCreate(body)));
    }
    let had = net.balance(taker.num);
    net.advance(61);
    let effects = net.ledger.settle().unwrap();
    assert!(effects.topics.is_empty());
    let mut done = 0;
    for (number, made) in made.iter().enumerate() {
        let inner = made.scheduled_transaction_id.clone().unwrap();
        let is_done = net.ledger.record(&inner).unwrap().is_some();
        assert_eq!(is_done, number % 4 == 0, "{number}");
        done += i64::from(is_done);
        let num = made.schedule_id.unwrap().num;
        let kept = Schedule::find(net.ledger.db(), num).unwrap().unwrap();
        assert_eq!(kept.waits, number % 2 == 0, "it is kept as it was made");
        assert_eq!(kept.executed_at.is_some(), is_done);
        // A node forgets what ended without its signatures.
        let query = Query {
            query: Some(Asked::ScheduleInfo(ScheduleInfoQuery {
                header: None,
                schedule_id: made.schedule_id,
            })),
        };
        let Some(Answered::ScheduleInfo(answer)) = net.ledger.ask(&query).response else {
            panic!("a schedule was asked for");
        };
        let code = Code::from(answer.header.unwrap().precheck_code);
        assert_eq!(
            code == Code::InvalidScheduleId,
            !is_done,
            "{number}: {code}"
        );
    }
    assert_eq!(net.balance(taker.num), had + done * HBAR);
}

#[test]
fn what_was_scheduled_costs_no_more_than_was_agreed_and_nothing_of_it_happens_for_less() {
    let mut net = Net::new();
    let (maker, giver, taker) = (net.somebody(0), net.somebody(6), net.somebody(2));
    let mut body = payment(&giver, &taker);
    body.scheduled.as_mut().unwrap().transaction_fee = 1;
    let had = (net.balance(taker.num), net.supply());
    let made = net.must(&[&maker, &giver], Data::ScheduleCreate(body));
    let inner = made.scheduled_transaction_id.unwrap();
    let done = net.ledger.record(&inner).unwrap().unwrap();
    assert_eq!(
        Code::from(done.receipt.unwrap().status),
        Code::InsufficientTxFee
    );
    assert_eq!((net.balance(taker.num), net.supply()), had);
    assert_eq!(
        net.status(&[&giver], sign(made.schedule_id.unwrap())),
        Code::ScheduleAlreadyExecuted
    );
}
