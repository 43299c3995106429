//! Questions to a node: what is asked for, or what the answer would cost.

use inbox_hedera::proto::{
    AccountId, AccountInfo, AccountInfoResponse, Answered, Asked, BalanceOf, BalanceResponse, Code,
    Duration, KeyList, Query, ReceiptResponse, RecordResponse, Response, ResponseHeader,
    ScheduleEnd, ScheduleId, ScheduleInfo, ScheduleInfoResponse, SemanticVersion, TopicId,
    TopicInfo, TopicInfoResponse, TransactionId, TransactionReceipt, VersionResponse,
};

use super::handling::time;
use super::payment::price;
use super::precheck::SECOND;
use super::rows::{Account, Schedule, Topic};
use super::{Fault, Ledger, payment, rates};

/// The version of Hedera's interface that is spoken.
const SPOKEN: (i32, i32, i32) = (0, 62, 0);

/// How the ledger names itself: as local networks do.
const LEDGER_ID: [u8; 1] = [3];

/// How one asks for an answer, and for its price. Other numbers ask for proofs, which there are none of.
pub(super) const ANSWER: i32 = 0;
const COST: i32 = 2;

pub(super) fn header(code: Code, response_type: i32, cost: u64) -> ResponseHeader {
    ResponseHeader {
        precheck_code: code.number(),
        response_type,
        cost,
    }
}

/// An answer with nothing in it but how it went.
pub(super) fn refusal(asked: &Asked, header: ResponseHeader) -> Response {
    let header = Some(header);
    let answered = match asked {
        Asked::Receipt(_) => Answered::Receipt(Box::new(ReceiptResponse {
            header,
            ..ReceiptResponse::default()
        })),
        Asked::Record(_) => Answered::Record(Box::new(RecordResponse {
            header,
            ..RecordResponse::default()
        })),
        Asked::Balance(_) => Answered::Balance(BalanceResponse {
            header,
            ..BalanceResponse::default()
        }),
        Asked::AccountInfo(_) => Answered::AccountInfo(Box::new(AccountInfoResponse {
            header,
            ..AccountInfoResponse::default()
        })),
        Asked::TopicInfo(_) => Answered::TopicInfo(Box::new(TopicInfoResponse {
            header,
            ..TopicInfoResponse::default()
        })),
        Asked::ScheduleInfo(_) => Answered::ScheduleInfo(Box::new(ScheduleInfoResponse {
            header,
            ..ScheduleInfoResponse::default()
        })),
        Asked::Version(_) => Answered::Version(VersionResponse {
            header,
            ..VersionResponse::default()
        }),
    };
    Response {
        response: Some(answered),
    }
}

impl Ledger {
    /// The answer to a question whose payment was not taken.
    pub fn refuse(query: &Query, code: Code, cost: u64) -> Response {
        let response = query.query.as_ref();
        let refused = response.map(|asked| refusal(asked, header(code, ANSWER, cost)));
        refused.unwrap_or_default()
    }

    /// Answers a question that was paid for, or needs no payment: see [`Ledger::payment`].
    pub fn ask(&self, query: &Query) -> Response {
        let Some(asked) = &query.query else {
            return Response { response: None };
        };
        let kind = payment::header(asked).map_or(ANSWER, |header| header.response_type);
        if kind != ANSWER && kind != COST {
            return refusal(asked, header(Code::NotSupported, kind, 0));
        }
        match self.answer(asked) {
            // What is wrong with a question is told to who asks for its price, too.
            Ok(_) if kind == COST => refusal(asked, header(Code::Ok, kind, price(asked))),
            // What there is no receipt of yet is no fault of the question.
            Err(Fault::Code(Code::ReceiptNotFound | Code::RecordNotFound)) if kind == COST => {
                refusal(asked, header(Code::Ok, kind, price(asked)))
            }
            Ok(answered) => Response {
                response: Some(answered),
            },
            Err(Fault::Code(Code::ReceiptNotFound)) => self.no_receipt(),
            Err(Fault::Code(code)) => refusal(asked, header(code, kind, 0)),
            Err(Fault::Database(_)) => refusal(asked, header(Code::Busy, kind, 0)),
        }
    }

    fn answer(&self, asked: &Asked) -> Result<Answered, Fault> {
        let header = Some(header(Code::Ok, ANSWER, 0));
        Ok(match asked {
            Asked::Receipt(query) => {
                let id = query.transaction_id.as_ref();
                let found = self.found_record(id)?.ok_or(Code::ReceiptNotFound)?;
                Answered::Receipt(Box::new(ReceiptResponse {
                    header,
                    receipt: found.receipt,
                }))
            }
            Asked::Record(query) => {
                let id = query.transaction_id.as_ref();
                let found = self.found_record(id)?.ok_or(Code::RecordNotFound)?;
                Answered::Record(Box::new(RecordResponse {
                    header,
                    record: Some(found),
                }))
            }
            Asked::Balance(query) => {
                let account = match &query.of {
                    Some(BalanceOf::Account(id)) => self.account(Some(id))?,
                    Some(BalanceOf::Contract(_)) => return Err(Code::NotSupported.into()),
                    None => return Err(Code::InvalidAccountId.into()),
                };
                Answered::Balance(BalanceResponse {
                    header,
                    account_id: Some(AccountId::of(account.num)),
                    balance: account.balance.unsigned_abs(),
                })
            }
            Asked::AccountInfo(query) => Answered::AccountInfo(Box::new(AccountInfoResponse {
                header,
                account_info: Some(info(self.account(query.account_id.as_ref())?)),
            })),
            Asked::TopicInfo(query) => Answered::TopicInfo(Box::new(TopicInfoResponse {
                header,
                topic_id: query.topic_id,
                topic_info: Some(self.topic_info(query.topic_id)?),
            })),
            Asked::ScheduleInfo(query) => Answered::ScheduleInfo(Box::new(ScheduleInfoResponse {
                header,
                schedule_info: Some(self.schedule_info(query.schedule_id)?),
            })),
            Asked::Version(_) => {
                let (major, minor, patch) = SPOKEN;
                let spoken = SemanticVersion {
                    major,
                    minor,
                    patch,
                    ..SemanticVersion::default()
                };
                Answered::Version(VersionResponse {
                    header,
                    hapi_proto_version: Some(spoken.clone()),
                    services_version: Some(spoken),
                })
            }
        })
    }

    fn found_record(
        &self,
        id: Option<&TransactionId>,
    ) -> Result<Option<inbox_hedera::proto::TransactionRecord>, Fault> {
        let id = id.ok_or(Code::InvalidTransactionId)?;
        if id.valid_start.is_none() || id.account_id.is_none() {
            return Err(Code::InvalidTransactionId.into());
        }
        Ok(self.record(id)?)
    }

    /// A question that was understood, and has no answer yet.
    fn no_receipt(&self) -> Response {
        Response {
            response: Some(Answered::Receipt(Box::new(ReceiptResponse {
                header: Some(header(Code::ReceiptNotFound, ANSWER, 0)),
                receipt: Some(TransactionReceipt {
                    status: Code::Unknown.number(),
                    exchange_rate: Some(rates(self.now() / SECOND)),
                    ..TransactionReceipt::default()
                }),
            }))),
        }
    }

    fn account(&self, id: Option<&AccountId>) -> Result<Account, Fault> {
        let id = id.ok_or(Code::InvalidAccountId)?;
        Ok(Account::named(&self.db, id)?.ok_or(Code::InvalidAccountId)?)
    }

    fn topic_info(&self, id: Option<TopicId>) -> Result<TopicInfo, Fault> {
        let found = match id {
            Some(id) if (id.shard, id.realm) == (0, 0) => Topic::find(&self.db, id.num)?,
            _ => None,
        };
        let topic = found
            .filter(|topic| !topic.is_deleted)
            .ok_or(Code::InvalidTopicId)?;
        Ok(TopicInfo {
            memo: topic.memo,
            running_hash: topic.running_hash,
            sequence_number: topic.sequence.unsigned_abs(),
            expiration_time: Some(time(topic.expires_at)),
            admin_key: topic.admin_key,
            submit_key: topic.submit_key,
            auto_renew_period: Some(Duration {
                seconds: topic.auto_renew,
            }),
            auto_renew_account: topic.auto_renew_account.map(AccountId::of),
            ledger_id: LEDGER_ID.to_vec(),
            fee_schedule_key: topic.fee_schedule_key,
            fee_exempt_key_list: topic.exempt,
            custom_fees: topic.fees,
        })
    }

    fn schedule_info(&self, id: Option<ScheduleId>) -> Result<ScheduleInfo, Fault> {
        let found = match id {
            Some(id) if (id.shard, id.realm) == (0, 0) => Schedule::find(&self.db, id.num)?,
            _ => None,
        };
        let now = self.now();
        // One that ended without its signatures is forgotten by the nodes, and not by the mirror.
        let schedule = found
            .filter(|one| {
                one.executed_at.is_some() || one.deleted_at.is_some() || one.expires_at > now
            })
            .ok_or(Code::InvalidScheduleId)?;
        let keys = schedule.signers(&self.db)?;
        let deleted = schedule.deleted_at.map(|at| ScheduleEnd::Deleted(time(at)));
        let executed = schedule
            .executed_at
            .map(|at| ScheduleEnd::Executed(time(at)));
        Ok(ScheduleInfo {
            schedule_id: Some(ScheduleId::of(schedule.num)),
            end: deleted.or(executed),
            expiration_time: Some(time(schedule.expires_at)),
            scheduled: Some(schedule.body),
            memo: schedule.memo,
            admin_key: schedule.admin_key,
            signers: Some(KeyList {
                keys: keys.into_iter().map(|(key, ..)| key).collect(),
            }),
            creator_account_id: Some(AccountId::of(schedule.creator)),
            payer_account_id: Some(AccountId::of(schedule.payer)),
            scheduled_transaction_id: Some(schedule.transaction_id),
            ledger_id: LEDGER_ID.to_vec(),
            wait_for_expiry: schedule.waits,
        })
    }
}

fn info(account: Account) -> AccountInfo {
    AccountInfo {
        account_id: Some(AccountId::of(account.num)),
        contract_account_id: account.evm_address(),
        deleted: false,
        key: Some(account.key),
        balance: account.balance.unsigned_abs(),
        receiver_sig_required: account.is_receiver_sig_required,
        expiration_time: Some(time(account.created_at + account.auto_renew * SECOND)),
        auto_renew_period: Some(Duration {
            seconds: account.auto_renew,
        }),
        memo: account.memo,
        max_automatic_token_associations: account.max_associations,
        ledger_id: LEDGER_ID.to_vec(),
    }
}
