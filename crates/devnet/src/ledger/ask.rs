//! Questions to a node: free here, as prices of answers are of no use on a devnet.

use inbox_hedera::proto::{
    AccountId, AccountInfo, AccountInfoResponse, Answered, Asked, BalanceOf, BalanceResponse, Code,
    Duration, KeyList, Query, ReceiptResponse, RecordResponse, Response, ResponseHeader,
    ScheduleEnd, ScheduleId, ScheduleInfo, ScheduleInfoResponse, SemanticVersion, TopicId,
    TopicInfo, TopicInfoResponse, TransactionReceipt, VersionResponse,
};

use super::handling::time;
use super::precheck::SECOND;
use super::rows::{Account, Schedule, Topic};
use super::{Fault, Ledger, rates};

/// The version of Hedera's interface that is spoken.
const SPOKEN: (i32, i32, i32) = (0, 62, 0);

/// How the ledger names itself: as local networks do.
const LEDGER_ID: [u8; 1] = [3];

fn header(code: Code) -> ResponseHeader {
    ResponseHeader {
        precheck_code: code.number(),
        response_type: 0,
        cost: 0,
    }
}

impl Ledger {
    /// Answers a question.
    pub fn ask(&self, query: Query) -> Response {
        let answered = query.query.map(|asked| match asked {
            Asked::Receipt(query) => Answered::Receipt(Box::new(self.receipt(query))),
            Asked::Record(query) => Answered::Record(Box::new(self.full_record(query))),
            Asked::Balance(query) => Answered::Balance(self.balance(query)),
            Asked::AccountInfo(query) => Answered::AccountInfo(Box::new(self.account_info(query))),
            Asked::TopicInfo(query) => Answered::TopicInfo(Box::new(self.topic_info(query))),
            Asked::ScheduleInfo(query) => {
                Answered::ScheduleInfo(Box::new(self.schedule_info(query)))
            }
            Asked::Version(_) => Answered::Version(version()),
        });
        Response { response: answered }
    }

    fn receipt(&self, query: inbox_hedera::proto::ReceiptQuery) -> ReceiptResponse {
        let Some(id) = query.transaction_id else {
            return ReceiptResponse {
                header: Some(header(Code::InvalidTransactionId)),
                receipt: None,
            };
        };
        match self.record(&id) {
            Ok(Some(record)) => ReceiptResponse {
                header: Some(header(Code::Ok)),
                receipt: record.receipt,
            },
            // A question that was understood, and has no answer yet.
            Ok(None) => ReceiptResponse {
                header: Some(header(Code::ReceiptNotFound)),
                receipt: Some(TransactionReceipt {
                    status: Code::Unknown.number(),
                    exchange_rate: Some(rates((self.clock)() / SECOND)),
                    ..TransactionReceipt::default()
                }),
            },
            Err(_) => ReceiptResponse {
                header: Some(header(Code::Busy)),
                receipt: None,
            },
        }
    }

    fn full_record(&self, query: inbox_hedera::proto::RecordQuery) -> RecordResponse {
        let found = query.transaction_id.map(|id| self.record(&id));
        match found {
            Some(Ok(Some(record))) => RecordResponse {
                header: Some(header(Code::Ok)),
                record: Some(record),
            },
            Some(Ok(None)) => RecordResponse {
                header: Some(header(Code::RecordNotFound)),
                record: None,
            },
            Some(Err(_)) => RecordResponse {
                header: Some(header(Code::Busy)),
                record: None,
            },
            None => RecordResponse {
                header: Some(header(Code::InvalidTransactionId)),
                record: None,
            },
        }
    }

    fn found(&self, id: Option<&AccountId>) -> Result<Account, Code> {
        let num = id.and_then(AccountId::num).ok_or(Code::InvalidAccountId)?;
        match Account::find(&self.db, num) {
            Ok(found) => found.ok_or(Code::InvalidAccountId),
            Err(_) => Err(Code::Busy),
        }
    }

    fn balance(&self, query: inbox_hedera::proto::BalanceQuery) -> BalanceResponse {
        let found = match &query.of {
            Some(BalanceOf::Account(id)) => self.found(Some(id)),
            Some(BalanceOf::Contract(_)) => Err(Code::NotSupported),
            None => Err(Code::InvalidAccountId),
        };
        match found {
            Ok(account) => BalanceResponse {
                header: Some(header(Code::Ok)),
                account_id: Some(AccountId::of(account.num)),
                balance: account.balance.unsigned_abs(),
            },
            Err(code) => BalanceResponse {
                header: Some(header(code)),
                account_id: None,
                balance: 0,
            },
        }
    }

    fn account_info(&self, query: inbox_hedera::proto::AccountInfoQuery) -> AccountInfoResponse {
        match self.found(query.account_id.as_ref()) {
            Ok(account) => AccountInfoResponse {
                header: Some(header(Code::Ok)),
                account_info: Some(AccountInfo {
                    account_id: Some(AccountId::of(account.num)),
                    contract_account_id: format!("{:040x}", account.num),
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
                }),
            },
            Err(code) => AccountInfoResponse {
                header: Some(header(code)),
                account_info: None,
            },
        }
    }

    fn topic_info(&self, query: inbox_hedera::proto::TopicInfoQuery) -> TopicInfoResponse {
        let num = query.topic_id.map_or(0, |topic| topic.num);
        let found = match Topic::find(&self.db, num) {
            Ok(found) => found
                .filter(|topic| !topic.is_deleted)
                .ok_or(Code::InvalidTopicId),
            Err(_) => Err(Code::Busy),
        };
        match found {
            Ok(topic) => TopicInfoResponse {
                header: Some(header(Code::Ok)),
                topic_id: Some(TopicId::of(num)),
                topic_info: Some(TopicInfo {
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
                }),
            },
            Err(code) => TopicInfoResponse {
                header: Some(header(code)),
                topic_id: query.topic_id,
                topic_info: None,
            },
        }
    }

    fn schedule_info(&self, query: inbox_hedera::proto::ScheduleInfoQuery) -> ScheduleInfoResponse {
        let num = query.schedule_id.map_or(0, |schedule| schedule.num);
        let look = || -> Result<ScheduleInfo, Fault> {
            let schedule = Schedule::find(&self.db, num)?.ok_or(Code::InvalidScheduleId)?;
            let keys = schedule.signers(&self.db)?;
            let deleted = schedule.deleted_at.map(|at| ScheduleEnd::Deleted(time(at)));
            let executed = schedule
                .executed_at
                .map(|at| ScheduleEnd::Executed(time(at)));
            Ok(ScheduleInfo {
                schedule_id: Some(ScheduleId::of(num)),
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
        };
        match look() {
            Ok(info) => ScheduleInfoResponse {
                header: Some(header(Code::Ok)),
                schedule_info: Some(info),
            },
            Err(Fault::Code(code)) => ScheduleInfoResponse {
                header: Some(header(code)),
                schedule_info: None,
            },
            Err(Fault::Database(_)) => ScheduleInfoResponse {
                header: Some(header(Code::Busy)),
                schedule_info: None,
            },
        }
    }
}

fn version() -> VersionResponse {
    let (major, minor, patch) = SPOKEN;
    let spoken = SemanticVersion {
        major,
        minor,
        patch,
        pre: String::new(),
        build: String::new(),
    };
    VersionResponse {
        header: Some(header(Code::Ok)),
        hapi_proto_version: Some(spoken.clone()),
        services_version: Some(spoken),
    }
}
