//! Whatever happens, nothing is made or lost, and nobody has less than nothing.

use inbox_devnet::ledger::{NODE, Payment};
use inbox_hedera::proto::{
    AccountAmount, AccountId, Asked, CreateTopicBody, CryptoCreateBody, CryptoTransferBody,
    CustomFeeLimit, Data, FixedCustomFee, FixedFee, Query, QueryHeader, Schedulable,
    SchedulableBody, ScheduleCreateBody, ScheduleId, ScheduleSignBody, TopicId, TransferList,
    VersionQuery,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::net::{HBAR, Net, Party, message, time};

/// One thing that somebody does. Parties, topics and schedules are numbers that wrap around.
#[derive(Debug, Clone)]
enum Step {
    Transfer(usize, Vec<(usize, i64)>, bool),
    Account(usize, i64),
    Topic(usize, Vec<(usize, i64)>),
    Message(usize, usize, Option<i64>),
    Schedule(usize, usize, i64, bool),
    Sign(usize, usize),
    Ask(usize, i64),
    Wait(i64),
}

fn amount() -> impl Strategy<Value = i64> {
    prop_oneof![
        0..=10_i64,
        0..=3 * HBAR,
        0..=20_000 * HBAR,
        Just(i64::MAX),
        Just(i64::MIN),
        -3 * HBAR..0,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..6_usize;
    prop_oneof![
        (
            who.clone(),
            vec((who.clone(), amount()), 0..4),
            any::<bool>()
        )
            .prop_map(|(payer, amounts, sums)| Step::Transfer(payer, amounts, sums)),
        (who.clone(), amount()).prop_map(|(payer, balance)| Step::Account(payer, balance)),
        (who.clone(), vec((who.clone(), amount()), 0..3))
            .prop_map(|(payer, fees)| Step::Topic(payer, fees)),
        (who.clone(), 0..4_usize, proptest::option::of(amount()))
            .prop_map(|(payer, topic, most)| Step::Message(payer, topic, most)),
        (who.clone(), who.clone(), amount(), any::<bool>())
            .prop_map(|(maker, giver, sum, waits)| Step::Schedule(maker, giver, sum, waits)),
        (who.clone(), 0..4_usize).prop_map(|(signer, schedule)| Step::Sign(signer, schedule)),
        (who, amount()).prop_map(|(payer, sum)| Step::Ask(payer, sum)),
        (0..2_000_i64).prop_map(Step::Wait),
    ]
}

/// What was made on the way.
struct World {
    net: Net,
    parties: Vec<Party>,
    topics: Vec<TopicId>,
    schedules: Vec<ScheduleId>,
}

fn of<T>(list: &[T], place: usize) -> Option<&T> {
    list.get(place.checked_rem(list.len())?)
}

fn transfer(amounts: &[(i64, i64)]) -> CryptoTransferBody {
    let amounts = amounts.iter().map(|(num, amount)| AccountAmount {
        account_id: Some(AccountId::of(*num)),
        amount: *amount,
        is_approval: false,
    });
    CryptoTransferBody {
        transfers: Some(TransferList {
            amounts: amounts.collect(),
        }),
        token_transfers: Vec::new(),
    }
}

impl World {
    fn new() -> Self {
        let mut net = Net::new();
        let rich = net.treasury();
        // Those who have little meet the end of it.
        let mut parties = vec![net.somebody(0), net.somebody(6)];
        for hbars in [0, 1, 40] {
            parties.push(net.account(&rich, inbox_hedera::key::Algorithm::Ed25519, hbars));
        }
        World {
            net,
            parties,
            topics: Vec::new(),
            schedules: Vec::new(),
        }
    }

    /// Offers a transaction; what it made, if it was let in and did.
    fn run(
        &mut self,
        payer: usize,
        data: Data,
        most: Option<i64>,
    ) -> Option<inbox_hedera::proto::TransactionReceipt> {
        let payer = of(&self.parties, payer)?;
        let mut body = self.net.body(payer, data);
        body.max_custom_fees = most
            .into_iter()
            .map(|amount| CustomFeeLimit {
                account_id: Some(AccountId::of(payer.num)),
                fees: vec![FixedFee {
                    amount,
                    denominating_token_id: None,
                }],
            })
            .collect();
        self.net.offer(&body, &[payer]);
        let id = body.transaction_id?;
        self.net.ledger.record(&id).unwrap()?.receipt
    }

    fn act(&mut self, step: Step) -> Option<()> {
        match step {
            Step::Transfer(payer, amounts, is_balanced) => {
                let mut all = Vec::new();
                for (place, amount) in amounts {
                    all.push((of(&self.parties, place)?.num, amount));
                }
                if is_balanced {
                    let sum = all.iter().fold(0_i64, |sum, one| sum.wrapping_add(one.1));
                    all.push((of(&self.parties, payer)?.num, sum.wrapping_neg()));
                }
                self.run(payer, Data::CryptoTransfer(transfer(&all)), None)?;
            }
            Step::Account(payer, balance) => {
                let body = CryptoCreateBody {
                    key: Some(of(&self.parties, payer)?.public()),
                    initial_balance: balance.unsigned_abs(),
                    ..CryptoCreateBody::default()
                };
                self.run(payer, Data::CryptoCreate(body), None)?;
            }
            Step::Topic(payer, fees) => {
                let mut custom_fees = Vec::new();
                for (collector, amount) in fees {
                    custom_fees.push(FixedCustomFee {
                        fixed_fee: Some(FixedFee {
                            amount,
                            denominating_token_id: None,
                        }),
                        fee_collector_account_id: Some(AccountId::of(
                            of(&self.parties, collector)?.num,
                        )),
                    });
                }
                let body = CreateTopicBody {
                    custom_fees,
                    ..CreateTopicBody::default()
                };
                let made = self.run(payer, Data::CreateTopic(body), None)?;
                self.topics.extend(made.topic_id);
            }
            Step::Message(payer, topic, most) => {
                let topic = *of(&self.topics, topic)?;
                self.run(payer, message(topic, "hello"), most)?;
            }
            Step::Schedule(maker, giver, sum, waits) => {
                let (from, to) = (
                    of(&self.parties, giver)?.num,
                    of(&self.parties, giver + 1)?.num,
                );
                let body = ScheduleCreateBody {
                    scheduled: Some(SchedulableBody {
                        transaction_fee: 100_000_000,
                        memo: String::new(),
                        max_custom_fees: Vec::new(),
                        data: Some(Schedulable::CryptoTransfer(transfer(&[
                            (from, sum.wrapping_neg()),
                            (to, sum),
                        ]))),
                    }),
                    payer_account_id: Some(AccountId::of(from)),
                    expiration_time: Some(time(self.net.now() + 900_000_000_000)),
                    wait_for_expiry: waits,
                    ..ScheduleCreateBody::default()
                };
                let made = self.run(maker, Data::ScheduleCreate(body), None)?;
                self.schedules.extend(made.schedule_id);
            }
            Step::Sign(signer, schedule) => {
                let body = ScheduleSignBody {
                    schedule_id: Some(*of(&self.schedules, schedule)?),
                };
                self.run(signer, Data::ScheduleSign(body), None)?;
            }
            Step::Ask(payer, sum) => {
                let payer = of(&self.parties, payer)?;
                let paying = transfer(&[(payer.num, sum.wrapping_neg()), (NODE, sum)]);
                let body = self.net.body(payer, Data::CryptoTransfer(paying));
                let query = Query {
                    query: Some(Asked::Version(VersionQuery {
                        header: Some(QueryHeader {
                            payment: Some(body.sign([&payer.key]).unwrap()),
                            response_type: 0,
                        }),
                    })),
                };
                if let Payment::Due(offer) = self.net.ledger.payment(&query) {
                    self.net.ledger.submit_all(&[*offer]);
                }
            }
            Step::Wait(seconds) => {
                self.net.advance(seconds);
                self.net.ledger.settle().unwrap();
            }
        }
        Some(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_made_or_lost_and_nobody_has_less_than_nothing(steps in vec(step(), 1..40)) {
        let mut world = World::new();
        let supply = world.net.supply();
        prop_assert_eq!(supply, 50_000_000_000 * HBAR);
        for step in steps {
            world.act(step.clone());
            prop_assert_eq!(world.net.supply(), supply, "after {:?}", &step);
            let least: i64 = world
                .net
                .ledger
                .db()
                .query_row("SELECT MIN(balance) FROM accounts", [], |row| row.get(0))
                .unwrap();
            prop_assert!(least >= 0, "after {:?}", &step);
        }
        // What every transaction moved adds up to nothing, too.
        let mut records = world.net.ledger.db().prepare("SELECT record FROM transactions").unwrap();
        let records = records.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
        for record in records {
            let record: inbox_hedera::proto::TransactionRecord =
                prost::Message::decode(record.unwrap().as_slice()).unwrap();
            let moved = record.transfer_list.unwrap_or_default().amounts;
            prop_assert_eq!(moved.iter().map(|one| one.amount).sum::<i64>(), 0);
        }
    }
}
