//! A network, for one who pays: what it is asked to do, and its mirror.

use std::sync::{Arc, Mutex, PoisonError};

use inbox_core::{Code, Refusal};
use inbox_hcs::{AccountId, Operation, Sequence, TopicId, TransactionMemo};
use inbox_hedera::client::{Asking, Client, Happened, OnTaken, Operator};
use inbox_hedera::fee::{self, Most};
use inbox_hedera::key::PrivateKey;
use inbox_hedera::mirror::{Mirror, TopicFacts};
use inbox_hedera::network::Network;
use inbox_hedera::proto::{
    AccountAmount, CreateTopicBody, CryptoCreateBody, CryptoTransferBody, CryptoUpdateBody,
    CustomFeeLimit, Data, DeleteTopicBody, Duration, Key, StringValue, TransactionId, TransferList,
    UpdateTopicBody,
};
use inbox_hedera::submit::{self, SubmitError};
use tokio::runtime::Runtime;

use crate::Hbar;
use crate::told::{Told, named};

/// How long until an account or a topic has to be paid for again, in seconds.
const RENEWAL: i64 = 7_776_000;

/// How long a mirror may take to have what was done.
const MIRROR_PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

/// What a topic may take for a message beside the network's own fee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fees {
    /// The topic is ours, or was just made, and takes nothing.
    None,
    /// What it takes is read from it, and may be no more than this.
    UpTo(Hbar),
}

/// A network, for one who pays.
pub struct Net {
    runtime: Arc<Runtime>,
    client: Client,
    mirror: Mirror,
    account: AccountId,
    /// What was done last.
    last: Mutex<Option<TransactionId>>,
}

impl Net {
    /// The network, for the account that pays with this key.
    pub fn open(network: &Network, account: AccountId, key: PrivateKey) -> Result<Self, Refusal> {
        Ok(Net::open_on(&runtime()?, network, account, key))
    }

    /// The same, whose work is done on a runtime that others share.
    pub(crate) fn open_on(
        runtime: &Arc<Runtime>,
        network: &Network,
        account: AccountId,
        key: PrivateKey,
    ) -> Self {
        let number = i64::try_from(account.number()).unwrap_or(i64::MAX);
        let operator = Operator {
            account: number,
            key,
        };
        Net {
            client: network.client(operator),
            runtime: Arc::clone(runtime),
            mirror: network.reader(),
            account,
            last: Mutex::new(None),
        }
    }

    /// The same, which asks the mirror for nothing twice: for whoever comes again by itself.
    pub(crate) fn trying_once(mut self) -> Self {
        self.mirror = self.mirror.trying_once();
        self
    }

    /// The same, which tells whoever that a transaction may have been taken.
    pub(crate) fn telling(mut self, on_taken: OnTaken) -> Self {
        self.client = self.client.telling(on_taken);
        self
    }

    /// Who sends.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Waits for what a client does.
    pub(crate) fn wait_for<T>(&self, doing: impl Future<Output = T>) -> T {
        self.runtime.block_on(doing)
    }

    /// What has happened on it.
    pub fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// Who pays.
    pub fn account(&self) -> AccountId {
        self.account
    }

    /// The key of who pays.
    pub fn key(&self) -> &PrivateKey {
        &self.client.operator().key
    }

    /// What others see of that key.
    pub fn public_key(&self) -> Result<Key, Refusal> {
        Ok(Key::from(&self.key().public().told()?))
    }

    /// Has a transaction carried out.
    pub fn execute(&self, asking: &Asking<'_>) -> Result<Happened, Refusal> {
        let happened = self.runtime.block_on(self.client.execute(asking)).told()?;
        self.remember(happened.id.clone());
        Ok(happened)
    }

    pub(crate) fn remember(&self, id: TransactionId) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
    }

    /// Waits until the mirror has what was done here, so that whoever looks next sees it: mirrors are seconds behind. One that does
    /// not come in time is no failure: what was done is done.
    pub fn catch_up(&self) {
        let last = self.last.lock();
        let last = last.unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(id) = last {
            let _ = self.mirror.outcome(&id, MIRROR_PATIENCE);
        }
    }

    /// Makes an account for a key, with something in it.
    pub fn create_account(&self, key: Key, balance: Hbar) -> Result<AccountId, Refusal> {
        let happened = self.execute(&Asking::of(account_of(key, balance)))?;
        named(
            happened.receipt.account_id.and_then(|id| id.id()),
            "an account",
        )
    }

    /// Changes the memo of the account that pays.
    pub fn set_account_memo(&self, memo: &str) -> Result<(), Refusal> {
        self.execute(&Asking::of(memo_of(self.account, memo)))
            .map(drop)
    }

    /// Makes a topic.
    pub fn create_topic(&self, body: CreateTopicBody) -> Result<TopicId, Refusal> {
        let happened = self.execute(&Asking::of(topic_of(body)))?;
        named(happened.receipt.topic_id.and_then(|id| id.id()), "a topic")
    }

    /// Changes a topic's memo, or who may write there.
    pub fn update_topic(
        &self,
        topic: TopicId,
        memo: Option<String>,
        submit_key: Option<Key>,
    ) -> Result<(), Refusal> {
        self.change_topic(UpdateTopicBody {
            topic_id: Some(topic.into()),
            memo: memo.map(|value| StringValue { value }),
            submit_key,
            ..UpdateTopicBody::default()
        })
    }

    pub(crate) fn change_topic(&self, body: UpdateTopicBody) -> Result<(), Refusal> {
        self.execute(&Asking::of(Data::UpdateTopic(body))).map(drop)
    }

    /// Deletes a topic.
    pub fn delete_topic(&self, topic: TopicId) -> Result<(), Refusal> {
        let body = DeleteTopicBody {
            topic_id: Some(topic.into()),
        };
        self.execute(&Asking::of(Data::DeleteTopic(body))).map(drop)
    }

    /// Gives another account something.
    pub fn transfer(&self, to: AccountId, amount: Hbar) -> Result<(), Refusal> {
        let body = transfer(self.account, to, amount);
        self.execute(&Asking::of(Data::CryptoTransfer(body)))
            .map(drop)
    }

    /// Does something with a schedule.
    pub(crate) fn execute_schedule(&self, data: Data) -> Result<Happened, Refusal> {
        self.execute(&Asking::of(data))
    }

    /// Writes a message on a topic, in as many pieces as it needs: its number there, which is that of its last piece.
    pub fn write(
        &self,
        topic: TopicId,
        message: &[u8],
        memo: &str,
        fees: Fees,
    ) -> Result<Sequence, Refusal> {
        let limits = match fees {
            Fees::None => Vec::new(),
            Fees::UpTo(most) => self.limits(topic, message.len(), most)?,
        };
        let submit = self.client.submit(topic, message, memo, &limits, &[]);
        let submitted = self.runtime.block_on(submit).told()?;
        if let Some(last) = submitted.pieces.last() {
            self.remember(last.id.clone());
        }
        named(Sequence::new(submitted.sequence()), "the message's number")
    }

    /// An id for a message that is not sent yet, to be written down.
    pub fn next_id(&self) -> TransactionId {
        self.client.next_id()
    }

    /// Writes a message under an id that was written down before: whoever does it again after a crash has it there once, while the id is
    /// valid.
    pub fn write_as(
        &self,
        id: TransactionId,
        topic: TopicId,
        message: &[u8],
        memo: &str,
        limits: &[CustomFeeLimit],
    ) -> Result<Sequence, SubmitError> {
        let submit = self.client.submit_as(id, topic, message, memo, limits, &[]);
        let submitted = self.runtime.block_on(submit)?;
        Sequence::new(submitted.sequence()).ok_or(SubmitError::Empty)
    }

    /// What a topic may take for a message: what it takes now, if that is no more than is allowed.
    pub(crate) fn limits(
        &self,
        topic: TopicId,
        bytes: usize,
        most: Hbar,
    ) -> Result<Vec<CustomFeeLimit>, Refusal> {
        let facts = self.topic(topic)?;
        let pieces = submit::pieces(bytes).told()?;
        let signing = [self.key().public().told()?];
        let allowed = Most::hbar(u64::try_from(most.tinybars()).unwrap_or_default());
        fee::limits(&facts, self.account, &signing, pieces, &allowed).map_err(|dear| {
            let (asked, allowed) = (dear.asked, dear.allowed);
            Refusal::new(
                Code::NotAllowed,
                format!("{topic} takes {asked} for this message, and at most {allowed} is allowed"),
            )
            .hint("--max-fee HBAR says how much it may take")
        })
    }

    /// Writes an operation on a topic, with the memo that counts it.
    pub fn operate(
        &self,
        topic: TopicId,
        operation: &Operation,
        fees: Fees,
    ) -> Result<Sequence, Refusal> {
        let text = operation.write().told()?;
        let memo = TransactionMemo::of(operation).to_string();
        self.write(topic, text.as_bytes(), &memo, fees)
    }

    /// The topic, which must be there.
    pub fn topic(&self, id: TopicId) -> Result<TopicFacts, Refusal> {
        topic(&self.mirror, id)
    }
}

/// One thread for all that waits for the network.
pub(crate) fn runtime() -> Result<Arc<Runtime>, Refusal> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map(Arc::new)
        .map_err(|error| Refusal::new(Code::Internal, format!("no runtime: {error}")))
}

/// An account that is to be made.
pub(crate) fn account_of(key: Key, balance: Hbar) -> Data {
    Data::CryptoCreate(CryptoCreateBody {
        key: Some(key),
        initial_balance: u64::try_from(balance.tinybars()).unwrap_or_default(),
        auto_renew_period: Some(Duration { seconds: RENEWAL }),
        ..CryptoCreateBody::default()
    })
}

/// A topic that is to be made.
pub(crate) fn topic_of(body: CreateTopicBody) -> Data {
    Data::CreateTopic(CreateTopicBody {
        auto_renew_period: Some(Duration { seconds: RENEWAL }),
        ..body
    })
}

/// A memo that an account is to have.
pub(crate) fn memo_of(account: AccountId, memo: &str) -> Data {
    Data::CryptoUpdate(CryptoUpdateBody {
        account_id: Some(account.into()),
        memo: Some(StringValue {
            value: memo.to_owned(),
        }),
        ..CryptoUpdateBody::default()
    })
}

/// A topic that must be there.
pub fn topic(mirror: &Mirror, id: TopicId) -> Result<TopicFacts, Refusal> {
    let found = mirror.topic(id).told()?.filter(|facts| !facts.is_deleted);
    found.ok_or_else(|| {
        Refusal::new(Code::TopicNotFound, format!("there is no topic {id}"))
            .hint("inbox hcs --network NAME looks on another network")
    })
}

/// So much from one account to another.
pub(crate) fn transfer(from: AccountId, to: AccountId, amount: Hbar) -> CryptoTransferBody {
    let one = |account: AccountId, amount| AccountAmount {
        account_id: Some(account.into()),
        amount,
        ..AccountAmount::default()
    };
    let tinybars = amount.tinybars();
    CryptoTransferBody {
        transfers: Some(TransferList {
            amounts: vec![one(from, -tinybars), one(to, tinybars)],
        }),
        ..CryptoTransferBody::default()
    }
}
