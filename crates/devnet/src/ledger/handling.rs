//! One transaction while it is carried out: who has signed, what moves, what is recorded.

use std::collections::BTreeMap;

use inbox_hedera::key::PublicKey;
use inbox_hedera::proto::{
    AccountAmount, AccountId, AssessedCustomFee, Code, CustomFeeLimit, Data, Key, ScheduleId,
    Timestamp, TransactionBody, TransactionId, TransactionReceipt, TransactionRecord, TransferList,
};
use prost::Message;
use rusqlite::{Connection, params};

use super::genesis::FEES;
use super::offer::Offered;
use super::precheck::{Checked, SECOND};
use super::rows::Account;
use super::{Effects, Fault, account, fee, schedule, topic};

/// Whether a key has signed.
pub(super) type Signers<'a> = &'a dyn Fn(&PublicKey) -> bool;

/// A transaction that is being carried out.
pub(super) struct Handling<'a> {
    pub(super) db: &'a Connection,
    /// As it came; nothing of what was scheduled.
    pub(super) offered: Option<&'a Offered>,
    pub(super) body: &'a TransactionBody,
    pub(super) id: TransactionId,
    pub(super) payer: i64,
    /// The time of consensus, in nanoseconds.
    pub(super) now: i64,
    pub(super) receipt: TransactionReceipt,
    pub(super) transfers: BTreeMap<i64, i64>,
    pub(super) assessed: Vec<AssessedCustomFee>,
    pub(super) schedule: Option<i64>,
    fee: i64,
    hash: Vec<u8>,
}

impl<'a> Handling<'a> {
    /// Gives a transaction its time and takes its fee.
    pub(super) fn begin(
        db: &'a Connection,
        offered: &'a Offered,
        checked: Checked,
        wall: i64,
    ) -> Result<Self, Fault> {
        let mut handling = Handling {
            db,
            offered: Some(offered),
            body: &offered.signed.body,
            id: checked.id,
            payer: checked.payer.num,
            now: next_time(db, wall)?,
            receipt: TransactionReceipt::default(),
            transfers: BTreeMap::new(),
            assessed: Vec::new(),
            schedule: None,
            fee: checked.fee,
            hash: offered.signed.hash.to_vec(),
        };
        handling.pay(handling.payer, FEES, checked.fee)?;
        Ok(handling)
    }

    /// Begins what a schedule waited for.
    pub(super) fn begin_scheduled(
        db: &'a Connection,
        body: &'a TransactionBody,
        id: TransactionId,
        payer: i64,
        num: i64,
        wall: i64,
    ) -> Result<Self, Fault> {
        Ok(Handling {
            db,
            offered: None,
            body,
            id,
            payer,
            now: next_time(db, wall)?,
            receipt: TransactionReceipt::default(),
            transfers: BTreeMap::new(),
            assessed: Vec::new(),
            schedule: Some(num),
            fee: 0,
            hash: Vec::new(),
        })
    }

    /// Carries it out by the signatures on it.
    pub(super) fn run(&mut self, effects: &mut Effects) -> Result<(), Fault> {
        let Some(offered) = self.offered else {
            return Err(Code::FailInvalid.into());
        };
        self.run_for(&|key| offered.is_signed_by(key), effects)
    }

    /// Carries out what was scheduled: its payer pays, as for everything.
    pub(super) fn run_scheduled(
        &mut self,
        signers: Signers<'_>,
        effects: &mut Effects,
    ) -> Result<(), Fault> {
        let fee = fee::of(self.db, self.body)?;
        if fee > self.body.transaction_fee {
            return self.finish(Code::InsufficientTxFee, effects);
        }
        let fee = i64::try_from(fee).unwrap_or(i64::MAX);
        match self.pay(self.payer, FEES, fee) {
            Ok(()) => {
                self.fee = fee;
                self.run_for(signers, effects)
            }
            Err(Fault::Code(code)) => self.finish(code, effects),
            Err(fault) => Err(fault),
        }
    }

    /// Carries it out by these signatures. What is refused leaves its fee and its receipt, and nothing else.
    pub(super) fn run_for(
        &mut self,
        signers: Signers<'_>,
        effects: &mut Effects,
    ) -> Result<(), Fault> {
        let kept = self.transfers.clone();
        let (topics, receipts) = (effects.topics.len(), effects.receipts.len());
        self.step("SAVEPOINT handling")?;
        let status = match self.carry_out(signers, effects) {
            Ok(()) => {
                self.step("RELEASE handling")?;
                Code::Success
            }
            Err(Fault::Code(code)) => {
                self.step("ROLLBACK TO handling")?;
                self.step("RELEASE handling")?;
                self.transfers = kept;
                effects.topics.truncate(topics);
                effects.receipts.truncate(receipts);
                self.assessed.clear();
                self.receipt = TransactionReceipt {
                    schedule_id: self.receipt.schedule_id,
                    scheduled_transaction_id: self.receipt.scheduled_transaction_id.take(),
                    ..TransactionReceipt::default()
                };
                code
            }
            Err(fault) => return Err(fault),
        };
        self.finish(status, effects)
    }

    /// A statement that gives nothing, prepared once.
    fn step(&self, statement: &str) -> rusqlite::Result<()> {
        self.db.prepare_cached(statement)?.execute([]).map(drop)
    }

    fn finish(&mut self, status: Code, effects: &mut Effects) -> Result<(), Fault> {
        self.receipt.status = status.number();
        self.receipt.exchange_rate = Some(fee::rates(self.now / SECOND));
        self.record()?;
        let receipt = std::mem::take(&mut self.receipt);
        effects.receipts.push((self.id.clone(), receipt));
        Ok(())
    }

    fn carry_out(&mut self, signers: Signers<'_>, effects: &mut Effects) -> Result<(), Fault> {
        match &self.body.data {
            Some(Data::CryptoCreate(body)) => account::create(self, body, signers),
            Some(Data::CryptoUpdate(body)) => account::update(self, body, signers),
            Some(Data::CryptoTransfer(body)) => account::transfer(self, body, signers),
            Some(Data::CreateTopic(body)) => topic::create(self, body, signers),
            Some(Data::UpdateTopic(body)) => topic::update(self, body, signers),
            Some(Data::DeleteTopic(body)) => topic::delete(self, body, signers),
            Some(Data::SubmitMessage(body)) => {
                topic::submit(self, body, signers)?;
                effects.topics.extend(body.topic_id.map(|topic| topic.num));
                Ok(())
            }
            Some(Data::ScheduleCreate(body)) => schedule::create(self, body, signers, effects),
            Some(Data::ScheduleSign(body)) => schedule::sign(self, body, effects),
            Some(Data::ScheduleDelete(body)) => schedule::delete(self, body, signers),
            None => Err(Code::InvalidTransactionBody.into()),
        }
    }

    /// The number of the next thing that is made.
    pub(super) fn next_entity(&self) -> Result<i64, Fault> {
        Ok(self
            .db
            .prepare_cached(
                "UPDATE meta SET value = value + 1 WHERE key = 'next_entity' RETURNING value - 1",
            )?
            .query_row([], |row| row.get(0))?)
    }

    /// The account, or the code that says there is none.
    pub(super) fn account(&self, id: Option<&AccountId>, missing: Code) -> Result<Account, Fault> {
        let id = id.ok_or(missing)?;
        Ok(Account::named(self.db, id)?.ok_or(missing)?)
    }

    /// Refuses unless a key is satisfied.
    pub(super) fn must_sign(&self, key: &Key, signers: Signers<'_>) -> Result<(), Fault> {
        if key.is_satisfied(signers) {
            Ok(())
        } else {
            Err(Code::InvalidSignature.into())
        }
    }

    /// Moves tinybars from one account to another.
    pub(super) fn pay(&mut self, from: i64, to: i64, amount: i64) -> Result<(), Fault> {
        self.add(from, -amount, Code::InsufficientPayerBalance)?;
        self.add(to, amount, Code::InvalidAccountId)
    }

    /// Adds to what an account has, or takes from it.
    pub(super) fn add(&mut self, num: i64, amount: i64, short: Code) -> Result<(), Fault> {
        if amount == 0 {
            return Ok(());
        }
        let changed = self
            .db
            .prepare_cached(
                "UPDATE accounts SET balance = balance + ?1 WHERE num = ?2 AND balance + ?1 >= 0",
            )?
            .execute(params![amount, num])?;
        if changed == 0 {
            return Err(short.into());
        }
        *self.transfers.entry(num).or_default() += amount;
        Ok(())
    }

    /// The most that the payer agreed to pay on a topic; nothing when it said nothing.
    pub(super) fn limits(&self) -> &'a [CustomFeeLimit] {
        &self.body.max_custom_fees
    }

    fn record(&mut self) -> Result<(), Fault> {
        let start = self.id.valid_start.unwrap_or_default();
        let amounts = self
            .transfers
            .iter()
            .filter(|(_, amount)| **amount != 0)
            .map(|(num, amount)| AccountAmount {
                account_id: Some(AccountId::of(*num)),
                amount: *amount,
                is_approval: false,
            });
        let record = TransactionRecord {
            receipt: Some(self.receipt.clone()),
            transaction_hash: self.hash.clone(),
            consensus_timestamp: Some(time(self.now)),
            transaction_id: Some(self.id.clone()),
            memo: self.body.memo.clone(),
            transaction_fee: self.fee.unsigned_abs(),
            transfer_list: Some(TransferList {
                amounts: amounts.collect(),
            }),
            schedule_ref: self.schedule.map(ScheduleId::of),
            assessed_custom_fees: self.assessed.clone(),
        };
        let max_fee = i64::try_from(self.body.transaction_fee).unwrap_or(i64::MAX);
        let entity = self
            .receipt
            .topic_id
            .map(|topic| topic.num)
            .or(self.receipt.schedule_id.map(|schedule| schedule.num))
            .or(self.receipt.account_id.as_ref().and_then(AccountId::num))
            .or(target(self.body));
        // What was scheduled names none.
        let node = self.body.node_account_id.as_ref();
        self.db
            .prepare_cached(
                "INSERT INTO transactions (consensus_at, id, payer, kind, status, record, entity, max_fee, valid_start, valid_seconds,
                     node, is_scheduled)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?
            .execute(params![
                self.now,
                self.id.encode_to_vec(),
                self.payer,
                kind(self.body),
                self.receipt.status,
                record.encode_to_vec(),
                entity,
                max_fee,
                super::precheck::nanos(start).unwrap_or_default(),
                self.body.valid_duration.map_or(0, |duration| duration.seconds),
                node.and_then(AccountId::num).unwrap_or(super::NODE),
                self.id.scheduled,
            ])?;
        // Who pays is in the row, and the fees' account is in all.
        let others = self
            .transfers
            .iter()
            .filter(|(num, amount)| **amount != 0 && **num != self.payer && **num != FEES);
        for (num, _) in others {
            self.db
                .prepare_cached("INSERT INTO parties (account, consensus_at) VALUES (?1, ?2)")?
                .execute(params![num, self.now])?;
        }
        Ok(())
    }
}

/// What a transaction is about, where it names it.
fn target(body: &TransactionBody) -> Option<i64> {
    match body.data.as_ref()? {
        Data::SubmitMessage(body) => body.topic_id.map(|topic| topic.num),
        Data::UpdateTopic(body) => body.topic_id.map(|topic| topic.num),
        Data::DeleteTopic(body) => body.topic_id.map(|topic| topic.num),
        Data::CryptoUpdate(body) => body.account_id.as_ref().and_then(AccountId::num),
        Data::ScheduleSign(body) => body.schedule_id.map(|schedule| schedule.num),
        Data::ScheduleDelete(body) => body.schedule_id.map(|schedule| schedule.num),
        _ => None,
    }
}

/// The name of what a transaction does, as mirrors write it.
fn kind(body: &TransactionBody) -> &'static str {
    match &body.data {
        Some(Data::CryptoCreate(_)) => "CRYPTOCREATEACCOUNT",
        Some(Data::CryptoUpdate(_)) => "CRYPTOUPDATEACCOUNT",
        Some(Data::CryptoTransfer(_)) => "CRYPTOTRANSFER",
        Some(Data::CreateTopic(_)) => "CONSENSUSCREATETOPIC",
        Some(Data::UpdateTopic(_)) => "CONSENSUSUPDATETOPIC",
        Some(Data::DeleteTopic(_)) => "CONSENSUSDELETETOPIC",
        Some(Data::SubmitMessage(_)) => "CONSENSUSSUBMITMESSAGE",
        Some(Data::ScheduleCreate(_)) => "SCHEDULECREATE",
        Some(Data::ScheduleSign(_)) => "SCHEDULESIGN",
        Some(Data::ScheduleDelete(_)) => "SCHEDULEDELETE",
        None => "UNKNOWN",
    }
}

/// Nanoseconds as Hedera writes a time.
pub(super) fn time(nanos: i64) -> Timestamp {
    Timestamp {
        seconds: nanos.div_euclid(SECOND),
        nanos: i32::try_from(nanos.rem_euclid(SECOND)).unwrap_or_default(),
    }
}

/// The time of the next transaction: the clock's, and later than every other.
pub(super) fn next_time(db: &Connection, wall: i64) -> rusqlite::Result<i64> {
    db.prepare_cached(
        "UPDATE meta SET value = MAX(value + 1, ?1) WHERE key = 'last_consensus' RETURNING value",
    )?
    .query_row([wall], |row| row.get(0))
}
