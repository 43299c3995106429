//! What answers cost, and who pays for them.

use inbox_devnet::ledger::{NODE, Payment};
use inbox_hedera::key::Algorithm;
use inbox_hedera::proto::{
    AccountId, AccountIdKind, AccountInfoQuery, Answered, Asked, BalanceOf, BalanceQuery, Code,
    CreateTopicBody, CryptoCreateBody, Data, Key, Query, QueryHeader, ReceiptQuery, RecordQuery,
    Response, ResponseHeader, ScheduleInfoQuery, TopicId, TopicInfoQuery, Transaction,
    TransactionBody, VersionQuery,
};
use prost::Message;

use crate::money::transfer;
use crate::net::{HBAR, Net, Party, message};

const ANSWER: i32 = 0;
const PROOF: i32 = 1;
const COST: i32 = 2;

fn header(response: &Response) -> ResponseHeader {
    let header = match response.response.as_ref().unwrap() {
        Answered::Receipt(answer) => &answer.header,
        Answered::Record(answer) => &answer.header,
        Answered::Balance(answer) => &answer.header,
        Answered::AccountInfo(answer) => &answer.header,
        Answered::TopicInfo(answer) => &answer.header,
        Answered::ScheduleInfo(answer) => &answer.header,
        Answered::Version(answer) => &answer.header,
    };
    header.clone().unwrap()
}

fn code(response: &Response) -> Code {
    header(response).precheck_code.into()
}

fn about(topic: TopicId, response_type: i32, payment: Option<Transaction>) -> Query {
    Query {
        query: Some(Asked::TopicInfo(TopicInfoQuery {
            header: Some(QueryHeader {
                payment,
                response_type,
            }),
            topic_id: Some(topic),
        })),
    }
}

/// Asks as the node's port does: what is due is taken first.
fn ask(net: &mut Net, query: &Query) -> Response {
    match net.ledger.payment(query) {
        Payment::Free => {}
        Payment::Refused(response) => return response,
        Payment::Due(offer) => {
            let (taken, _) = net.ledger.submit_all(&[*offer]);
            assert_eq!(Code::from(taken[0].precheck_code), Code::Ok);
        }
    }
    net.ledger.ask(query)
}

fn node(net: &Net) -> Party {
    Party {
        num: NODE,
        key: net.treasury().key,
    }
}

#[test]
fn an_answer_is_given_for_its_price_and_for_no_less() {
    let mut net = Net::new();
    let one = net.somebody(0);
    let topic = net.topic(&[&one], CreateTopicBody::default());
    let priced = ask(&mut net, &about(topic, COST, None));
    let head = header(&priced);
    assert_eq!(Code::from(head.precheck_code), Code::Ok);
    assert_eq!(head.response_type, COST);
    let cost = i64::try_from(head.cost).unwrap();
    assert!(cost > 0);
    let Some(Answered::TopicInfo(answer)) = priced.response else {
        panic!("a topic was asked for");
    };
    assert_eq!((answer.topic_id, answer.topic_info), (None, None));

    let supply = net.supply();
    let node = node(&net);
    let paying = |net: &Net, amount: i64| {
        net.body(
            &one,
            Data::CryptoTransfer(transfer(&[(&one, -amount), (&node, amount)])),
        )
    };
    let with = |body: &TransactionBody| Some(body.sign([&one.key]).unwrap());
    let had = (net.balance(one.num), net.balance(NODE));
    let short = paying(&net, cost - 1);
    let refused = ask(&mut net, &about(topic, ANSWER, with(&short)));
    assert_eq!(code(&refused), Code::InsufficientTxFee);
    assert_eq!(header(&refused).cost, head.cost);
    assert_eq!(net.balance(one.num), had.0, "what is refused is not taken");

    let enough = paying(&net, cost);
    let paid = ask(&mut net, &about(topic, ANSWER, with(&enough)));
    assert_eq!(code(&paid), Code::Ok);
    let Some(Answered::TopicInfo(answer)) = paid.response else {
        panic!("a topic was asked for");
    };
    assert_eq!(answer.topic_id, Some(topic));
    assert!(answer.topic_info.is_some());
    assert_eq!(net.balance(NODE), had.1 + cost);
    assert!(
        net.balance(one.num) < had.0 - cost,
        "the transfer costs, too"
    );
    assert_eq!(net.supply(), supply);
    // It is a transaction like any other, and no two answers are given for it.
    let id = enough.transaction_id.clone().unwrap();
    assert!(net.ledger.record(&id).unwrap().is_some());
    let again = ask(&mut net, &about(topic, ANSWER, with(&enough)));
    assert_eq!(code(&again), Code::DuplicateTransaction);
}

#[test]
fn a_payment_must_be_a_transfer_to_the_node_that_its_payer_signed_and_can_afford() {
    let mut net = Net::new();
    let (one, two) = (net.somebody(0), net.somebody(1));
    let rich = net.treasury();
    let poor = net.account(&rich, Algorithm::Ed25519, 0);
    let node = node(&net);
    let topic = net.topic(&[&one], CreateTopicBody::default());
    let supply = net.supply();
    let pay = |amounts: &[(&Party, i64)]| Data::CryptoTransfer(transfer(amounts));
    let cases = [
        (
            Code::InvalidTransactionBody,
            &one,
            &one,
            Data::CryptoTransfer(transfer(&[])),
            false,
        ),
        (
            Code::InvalidSignature,
            &one,
            &two,
            pay(&[(&one, -HBAR), (&node, HBAR)]),
            true,
        ),
        (
            Code::InsufficientTxFee,
            &one,
            &one,
            message(topic, "instead"),
            true,
        ),
        (Code::InvalidAccountAmounts, &one, &one, pay(&[]), true),
        (
            Code::InvalidReceivingNodeAccount,
            &one,
            &one,
            pay(&[(&one, -HBAR), (&two, HBAR)]),
            true,
        ),
        (
            Code::InsufficientPayerBalance,
            &poor,
            &poor,
            pay(&[(&poor, -HBAR), (&node, HBAR)]),
            true,
        ),
        (
            Code::InsufficientPayerBalance,
            &one,
            &one,
            pay(&[(&one, -10_000 * HBAR), (&node, 10_000 * HBAR)]),
            true,
        ),
    ];
    for (wanted, payer, signer, data, is_sent) in cases {
        let body = net.body(payer, data);
        let payment = is_sent.then(|| body.sign([&signer.key]).unwrap());
        let refused = ask(&mut net, &about(topic, ANSWER, payment));
        assert_eq!(code(&refused), wanted);
        let id = body.transaction_id.unwrap();
        assert_eq!(net.ledger.record(&id).unwrap(), None, "{wanted}");
    }
    assert_eq!(net.supply(), supply);
    // The treasury may ask for nothing, and says who it is by a payment that is not taken.
    let had = net.balance(rich.num);
    let body = net.body(&rich, pay(&[(&rich, 0), (&node, 0)]));
    let payment = Some(body.sign([&rich.key]).unwrap());
    assert_eq!(
        code(&ask(&mut net, &about(topic, ANSWER, payment))),
        Code::Ok
    );
    assert_eq!(net.balance(rich.num), had);
    // There are no proofs.
    let proof = ask(&mut net, &about(topic, PROOF, None));
    assert_eq!(code(&proof), Code::NotSupported);
    let missing = ask(&mut net, &about(TopicId::of(999_999), COST, None));
    assert_eq!(code(&missing), Code::InvalidTopicId);
}

#[test]
fn receipts_and_balances_are_free_and_the_rest_has_a_price() {
    let mut net = Net::new();
    let one = net.somebody(0);
    let body = net.body(&one, Data::CreateTopic(CreateTopicBody::default()));
    let record = net.record(&body, &[&one]);
    let id = body.transaction_id;
    let priced = |asked: fn(Option<QueryHeader>) -> Asked, net: &mut Net| {
        let header_of = |response_type| {
            Some(QueryHeader {
                payment: None,
                response_type,
            })
        };
        let mut asked_for = [asked(header_of(COST)), asked(header_of(ANSWER))];
        let all = asked_for.iter_mut().map(|asked| {
            match asked {
                Asked::Receipt(query) => query.transaction_id.clone_from(&id),
                Asked::Record(query) => query.transaction_id.clone_from(&id),
                _ => {}
            }
            let query = Query {
                query: Some(asked.clone()),
            };
            ask(net, &query)
        });
        let [cost, answer] = all.collect::<Vec<_>>().try_into().unwrap();
        (header(&cost).cost, code(&answer), answer)
    };
    let receipt = |header| {
        Asked::Receipt(ReceiptQuery {
            header,
            ..ReceiptQuery::default()
        })
    };
    let (cost, code, answer) = priced(receipt, &mut net);
    assert_eq!((cost, code), (0, Code::Ok));
    let Some(Answered::Receipt(answer)) = answer.response else {
        panic!("a receipt was asked for");
    };
    assert_eq!(answer.receipt, record.receipt);
    let balance = |header| {
        Asked::Balance(BalanceQuery {
            header,
            of: Some(BalanceOf::Account(AccountId::of(1001))),
        })
    };
    assert!(matches!(priced(balance, &mut net), (0, Code::Ok, _)));
    let record_of = |header| {
        Asked::Record(RecordQuery {
            header,
            ..RecordQuery::default()
        })
    };
    let account = |header| {
        Asked::AccountInfo(AccountInfoQuery {
            header,
            account_id: Some(AccountId::of(1001)),
        })
    };
    let version = |header| Asked::Version(VersionQuery { header });
    for asked in [
        record_of as fn(Option<QueryHeader>) -> Asked,
        account,
        version,
    ] {
        let (cost, code, _) = priced(asked, &mut net);
        assert!(cost > 0);
        assert_eq!(code, Code::InvalidTransactionBody);
    }
    let schedule = |header| {
        Asked::ScheduleInfo(ScheduleInfoQuery {
            header,
            ..ScheduleInfoQuery::default()
        })
    };
    let query = Query {
        query: Some(schedule(Some(QueryHeader {
            payment: None,
            response_type: COST,
        }))),
    };
    assert_eq!(
        header(&net.ledger.ask(&query)).precheck_code,
        Code::InvalidScheduleId.number()
    );
}

#[test]
fn an_account_is_found_by_its_number_its_alias_and_its_address() {
    let mut net = Net::new();
    let rich = net.treasury();
    let other = net.somebody(7);
    let by_key = other.public().encode_to_vec();
    let make = |net: &mut Net, alias: Vec<u8>| {
        let body = CryptoCreateBody {
            key: Some(other.public()),
            alias,
            ..CryptoCreateBody::default()
        };
        net.run(&[&rich], Data::CryptoCreate(body))
    };
    let first = make(&mut net, vec![7; 20]);
    let second = make(&mut net, by_key.clone());
    let twice = make(&mut net, vec![7; 20]);
    assert_eq!(Code::from(twice.status), Code::AliasAlreadyAssigned);
    let odd = make(&mut net, b"not a name".to_vec());
    assert_eq!(Code::from(odd.status), Code::InvalidAliasKey);
    let num = |receipt: &inbox_hedera::proto::TransactionReceipt| {
        receipt.account_id.as_ref().unwrap().num().unwrap()
    };
    let mut long = vec![0; 12];
    long.extend(num(&first).to_be_bytes());
    for (alias, wanted) in [
        (vec![7; 20], num(&first)),
        (long, num(&first)),
        (by_key, num(&second)),
    ] {
        let query = Query {
            query: Some(Asked::Balance(BalanceQuery {
                header: None,
                of: Some(BalanceOf::Account(AccountId {
                    shard: 0,
                    realm: 0,
                    account: Some(AccountIdKind::Alias(alias.clone())),
                })),
            })),
        };
        let Some(Answered::Balance(answer)) = net.ledger.ask(&query).response else {
            panic!("a balance was asked for");
        };
        assert_eq!(answer.account_id, Some(AccountId::of(wanted)), "{alias:?}");
    }
    assert!(Key::decode(other.public().encode_to_vec().as_slice()).is_ok());
}
