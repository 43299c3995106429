//! What a signature would cost: all of it is shown and counted before it is given, and what cannot be told cannot be approved.

use inbox_bridge::agent::{Bill, bill, describe, is_understood};
use inbox_core::{Code, Kind, Message};
use inbox_hcs::{ScheduleId, TopicId};
use inbox_hedera::client::Asking;
use inbox_hedera::proto::{
    AccountAmount, AccountId, AccountIdKind, CreateTopicBody, CryptoTransferBody, CustomFeeLimit,
    Data, FixedCustomFee, FixedCustomFeeList, FixedFee, Schedulable, SchedulableBody,
    ScheduleCreateBody, SubmitMessageBody, TokenId, TokenTransferList, TransferList,
    UpdateTopicBody,
};
use inbox_ops::config::{Policy, Signer};
use inbox_store::ProposalState;
use inbox_testkit::world::World;

use crate::house::{House, meeting, refused};
use crate::stage::{Player, hbar};
use crate::threads::connected;

const FEE: u64 = 100_000_000;

fn amount(account_id: AccountId, amount: i64) -> AccountAmount {
    AccountAmount {
        account_id: Some(account_id),
        amount,
        is_approval: false,
    }
}

fn scheduled(data: Schedulable) -> SchedulableBody {
    SchedulableBody {
        transaction_fee: FEE,
        memo: String::new(),
        data: Some(data),
        max_custom_fees: Vec::new(),
    }
}

fn transfer(amounts: Vec<AccountAmount>) -> CryptoTransferBody {
    CryptoTransferBody {
        transfers: Some(TransferList { amounts }),
        token_transfers: Vec::new(),
    }
}

/// Has Ada schedule something that another pays for, and propose it.
fn propose(ada: &Player, topic: TopicId, body: SchedulableBody, payer: AccountId) -> ScheduleId {
    let create = Data::ScheduleCreate(ScheduleCreateBody {
        scheduled: Some(body),
        payer_account_id: Some(payer),
        ..ScheduleCreateBody::default()
    });
    let made = ada.net.execute(&Asking::of(create)).unwrap();
    let id = made.receipt.schedule_id.and_then(|id| id.id()).unwrap();
    let said = "harmless".to_owned();
    ada.agent().propose_schedule(topic, id, said).unwrap();
    id
}

fn fee_of(player: &Player, amount: i64) -> FixedCustomFee {
    FixedCustomFee {
        fixed_fee: Some(FixedFee {
            amount,
            denominating_token_id: None,
        }),
        fee_collector_account_id: Some(player.me.account.into()),
    }
}

/// What somebody is asked; nothing where they are not.
fn question(house: &House, name: &str) -> Option<Message> {
    let mut mail = house.read(name);
    mail.retain(|message| message.kind == Kind::Question);
    mail.pop()
}

fn signing(kind: &str, max: &str) -> Signer {
    Signer {
        agent: "cleo".parse().unwrap(),
        kind: kind.to_owned(),
        max: max.parse().unwrap(),
    }
}

#[test]
fn what_a_topic_takes_for_a_message_is_shown_and_counted_before_it_is_signed() {
    for world in [World::sqlite(), World::postgres()] {
        let signers = vec![signing("topic.message", "5")];
        let house = House::with(world, meeting(Policy::Accept), signers);
        house.world.send("cleo", "nobody", "hello");
        let (ada, topic, _) = connected(&house, "Ada");
        let ben: AccountId = house.ben.me.account.into();
        let toll = |amount: i64, may_rise: bool| {
            let key = ada.net.public_key().unwrap();
            let body = CreateTopicBody {
                custom_fees: vec![fee_of(&ada, amount)],
                admin_key: Some(key.clone()),
                fee_schedule_key: may_rise.then_some(key),
                ..CreateTopicBody::default()
            };
            ada.net.create_topic(body).unwrap()
        };
        let write = |on: TopicId| {
            scheduled(Schedulable::SubmitMessage(SubmitMessageBody {
                topic_id: Some(on.into()),
                message: b"as if Ben said it".to_vec(),
                chunk_info: None,
            }))
        };
        // Cheap enough for the signer, and who pays is shown.
        let cheap = toll(hbar("2").tinybars(), false);
        propose(&ada, topic, write(cheap), ben.clone());
        house.settle();
        let asked = question(&house, "cleo").unwrap();
        for part in [
            format!("topic {cheap} takes 2 ℏ of {}", house.ben.me.account),
            format!(
                "{} pays the network for it, up to 1 ℏ",
                house.ben.me.account
            ),
            "It takes at most 3 ℏ of ben".to_owned(),
        ] {
            assert!(asked.body.contains(&part), "{part}: {}", asked.body);
        }
        // Too dear for the signer: a person is asked.
        propose(
            &ada,
            topic,
            write(toll(hbar("5").tinybars(), false)),
            ben.clone(),
        );
        house.settle();
        assert!(question(&house, "cleo").is_none());
        let asked = question(&house, "pat").unwrap();
        assert_eq!(asked.payload_json["max_tinybars"], hbar("6").tinybars());
        refused(
            house.answer("cleo", asked.thread_id, "approve"),
            Code::NotAllowed,
        );
        // Cheap now, and may be raised without a limit before it is carried out.
        let rising = toll(1, true);
        propose(&ada, topic, write(rising), ben);
        house.settle();
        assert!(question(&house, "cleo").is_none());
        let asked = question(&house, "pat").unwrap();
        assert!(asked.body.contains("has no bound"), "{}", asked.body);
        assert!(asked.body.contains("may raise"), "{}", asked.body);
        assert!(asked.payload_json["max_tinybars"].is_null());
        refused(
            house.answer("cleo", asked.thread_id, "approve"),
            Code::NotAllowed,
        );
        // It is raised between the answer and the signature.
        let before = house.ben.net.topic(rising).unwrap().custom_fees;
        house.answer("pat", asked.thread_id, "approve").unwrap();
        let raise = Data::UpdateTopic(UpdateTopicBody {
            topic_id: Some(rising.into()),
            custom_fees: Some(FixedCustomFeeList {
                fees: vec![fee_of(&ada, hbar("50").tinybars())],
            }),
            ..UpdateTopicBody::default()
        });
        ada.net.execute(&Asking::of(raise)).unwrap();
        ada.net.catch_up();
        assert_ne!(house.ben.net.topic(rising).unwrap().custom_fees, before);
        house.settle();
        let last = house.said(asked.thread_id).pop().unwrap().2;
        assert!(last.contains("is not what was shown"), "{last}");
        assert_eq!(house.proposals().pop().unwrap().state, ProposalState::Gone);
    }
}

#[test]
fn a_fee_that_may_rise_is_counted_up_to_the_limit_that_the_schedule_sets() {
    let signers = vec![signing("topic.message", "5")];
    let house = House::with(World::sqlite(), meeting(Policy::Accept), signers);
    house.world.send("cleo", "nobody", "hello");
    let (ada, topic, _) = connected(&house, "Ada");
    let key = ada.net.public_key().unwrap();
    let rising = CreateTopicBody {
        custom_fees: vec![fee_of(&ada, 1)],
        admin_key: Some(key.clone()),
        fee_schedule_key: Some(key),
        ..CreateTopicBody::default()
    };
    let rising = ada.net.create_topic(rising).unwrap();
    let ben: AccountId = house.ben.me.account.into();
    let limited = |most: &str, token: Option<TokenId>| SchedulableBody {
        max_custom_fees: vec![CustomFeeLimit {
            account_id: Some(ben.clone()),
            fees: vec![FixedFee {
                amount: hbar(most).tinybars(),
                denominating_token_id: token,
            }],
        }],
        ..scheduled(Schedulable::SubmitMessage(SubmitMessageBody {
            topic_id: Some(rising.into()),
            message: format!("within {most}").into_bytes(),
            chunk_info: None,
        }))
    };
    for (most, sum, who) in [("2", "3", "cleo"), ("7", "8", "pat")] {
        propose(&ada, topic, limited(most, None), ben.clone());
        house.settle();
        let asked = question(&house, who).unwrap();
        assert_eq!(asked.payload_json["max_tinybars"], hbar(sum).tinybars());
        let limit = format!("may raise what it takes before that, up to {most} ℏ");
        assert!(asked.body.contains(&limit), "{}", asked.body);
    }
    // What a token is worth nobody knows here.
    let token = Some(TokenId::of(77));
    propose(&ada, topic, limited("2", token), ben.clone());
    house.settle();
    assert!(question(&house, "cleo").is_none());
    let asked = question(&house, "pat").unwrap();
    assert!(asked.payload_json["max_tinybars"].is_null());
}

#[test]
fn what_is_taken_of_another_account_with_the_same_key_is_counted() {
    let house = House::with(
        World::sqlite(),
        meeting(Policy::Accept),
        vec![signing("transfer", "5")],
    );
    house.world.send("cleo", "nobody", "hello");
    let (ada, topic, _) = connected(&house, "Ada");
    let key = house.ben.net.public_key().unwrap();
    let savings = house.stage.treasury().create_account(key, hbar("90"));
    let savings = AccountId::from(savings.unwrap());
    let body = transfer(vec![
        amount(savings, -hbar("80").tinybars()),
        amount(ada.me.account.into(), hbar("80").tinybars()),
    ]);
    let body = scheduled(Schedulable::CryptoTransfer(body));
    propose(&ada, topic, body, ada.me.account.into());
    house.settle();
    assert!(question(&house, "cleo").is_none(), "it takes 80 ℏ");
    let asked = question(&house, "pat").unwrap();
    assert_eq!(asked.payload_json["max_tinybars"], hbar("80").tinybars());
}

#[test]
fn who_gives_by_an_alias_is_not_known_and_nobody_approves_it() {
    let (alias, num) = (
        AccountId {
            account: Some(AccountIdKind::Alias(vec![0xab; 20])),
            ..AccountId::default()
        },
        AccountId::of(1_007),
    );
    let body = |amounts| scheduled(Schedulable::CryptoTransfer(transfer(amounts)));
    assert!(is_understood(&body(vec![
        amount(num.clone(), -5),
        amount(alias.clone(), 5)
    ])));
    for odd in [
        body(vec![amount(alias.clone(), -5), amount(num.clone(), 5)]),
        body(vec![
            amount(AccountId::default(), -5),
            amount(num.clone(), 5),
        ]),
        SchedulableBody::default(),
    ] {
        assert!(!is_understood(&odd), "{odd:?}");
    }
    let token = |account: AccountId| {
        let mut body = transfer(Vec::new());
        body.token_transfers = vec![TokenTransferList {
            token: Some(TokenId::of(9)),
            transfers: vec![amount(account, -7), amount(AccountId::of(1_008), 7)],
        }];
        scheduled(Schedulable::CryptoTransfer(body))
    };
    assert!(!is_understood(&token(alias)));
    assert!(is_understood(&token(num.clone())));
    let lines = describe(&token(num)).join("; ");
    for part in [
        "0.0.1007 gives 7 of the token 0.0.9",
        "0.0.1008 gets 7 of the token 0.0.9",
        "fees of its own",
    ] {
        assert!(lines.contains(part), "{part}: {lines}");
    }
}

#[test]
fn tokens_have_no_bound_and_an_allowance_is_named() {
    let house = House::new(World::sqlite(), meeting(Policy::Accept));
    let mirror = house.ben.net.mirror();
    let ben = house.ben.me.account;
    let facts = |body: CryptoTransferBody| inbox_hedera::mirror::ScheduleFacts {
        body: scheduled(Schedulable::CryptoTransfer(body)),
        memo: "urgent".into(),
        creator: ben,
        payer: ben,
        executed_at: None,
        is_deleted: false,
        created_at: "1700000000.000000001".parse().unwrap(),
        expires_at: None,
    };
    let priced = |body| -> Bill { bill(mirror, &facts(body), ben, Some(ben), None).unwrap() };
    let mut tokens = transfer(Vec::new());
    tokens.token_transfers = vec![TokenTransferList {
        token: Some(TokenId::of(9)),
        transfers: vec![amount(ben.into(), -7), amount(AccountId::of(2), 7)],
    }];
    assert_eq!(priced(tokens).most, None);
    let mut spent = amount(ben.into(), -5);
    spent.is_approval = true;
    let bill = priced(transfer(vec![spent, amount(AccountId::of(2), 5)]));
    assert_eq!(bill.most, Some(5 + i64::try_from(FEE).unwrap()));
    let lines = bill.does.join("; ");
    assert!(lines.contains("by an allowance"), "{lines}");
    assert!(
        lines.contains("the schedule has the memo \"urgent\""),
        "{lines}"
    );
}
