//! A client of the network's nodes: a transaction happens once, however often it has to be sent.
//!
//! Every attempt of a transaction has one id, and the network takes an id once. So an answer that never came is no reason to
//! begin anew: the same transaction goes to the next node, and its receipt is asked for by its id.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::Message;
use thiserror::Error;

use crate::grpc::{CallError, Channel, framed};
use crate::key::{KeyError, PrivateKey};
use crate::proto::{
    AccountId, Answered, Asked, Code, CustomFeeLimit, Data, Query, ReceiptQuery, ReceiptResponse,
    Response, Timestamp, TransactionBody, TransactionId, TransactionReceipt, TransactionResponse,
};
use crate::transaction::VALID_SECONDS;

/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait before the second attempt; twice as long before each after it.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest wait between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// A transaction is valid from so long ago, because a node's clock may be behind ours.
const BACK: i64 = 3_000_000_000;

const SECOND: i64 = 1_000_000_000;

/// A node of the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeAt {
    /// Its account.
    pub account: i64,
    /// Where it is: `host:port`.
    pub address: String,
}

/// Who pays.
#[derive(Debug, Clone)]
pub struct Operator {
    /// The account.
    pub account: i64,
    /// Its key.
    pub key: PrivateKey,
}

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Asking<'a> {
    /// The transaction.
    pub data: Data,
    /// Its memo.
    pub memo: String,
    /// The most that the network may take, in tinybars.
    pub fee: u64,
    /// The most that a topic may take.
    pub limits: Vec<CustomFeeLimit>,
    /// Who signs beside the payer.
    pub signers: Vec<&'a PrivateKey>,
}

impl<'a> Asking<'a> {
    /// A transaction that the payer alone signs.
    pub fn new(data: Data, fee: u64) -> Self {
        Asking {
            data,
            memo: String::new(),
            fee,
            limits: Vec::new(),
            signers: Vec::new(),
        }
    }

    /// The same with a memo.
    pub fn memo(mut self, memo: impl Into<String>) -> Self {
        self.memo = memo.into();
        self
    }

    /// The same, signed by this key, too.
    pub fn signed_by(mut self, key: &'a PrivateKey) -> Self {
        self.signers.push(key);
        self
    }
}

/// A transaction that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// Its id.
    pub id: TransactionId,
    /// What came of it.
    pub receipt: TransactionReceipt,
}

/// A transaction that did not happen, or of which nobody knows.
#[derive(Debug, Error)]
pub enum ExecuteError {
    /// A node did not let it in: it did not happen.
    #[error("the network did not take the transaction {0}: {1}")]
    Refused(TransactionId, Code),
    /// It was carried out and refused: its fee is gone, and nothing else happened.
    #[error("the transaction {} was refused: {}", .0.id, Code::from(.0.receipt.status))]
    Failed(Box<Happened>),
    /// No node took it while it was valid: it did not happen, and never will.
    #[error("no node took the transaction {id} while it was valid: {last}")]
    NotTaken {
        /// Its id.
        id: TransactionId,
        /// What the last attempt met.
        last: String,
    },
    /// It may have happened: ask for its receipt before doing it again.
    #[error("whether the transaction {id} happened is not known: {last}")]
    Unknown {
        /// Its id.
        id: TransactionId,
        /// What the last attempt met.
        last: String,
    },
    /// A key cannot sign.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// A client of some nodes, for one who pays.
pub struct Client {
    nodes: Vec<(i64, Channel)>,
    operator: Operator,
    turn: AtomicUsize,
    last_start: AtomicI64,
    valid_seconds: i64,
}

/// How one attempt ended.
enum Attempt {
    Taken,
    Refused(Code),
    /// Not taken, for sure: another may be tried.
    Again(String),
    /// Perhaps taken.
    Lost(String),
}

impl Client {
    /// A client of these nodes.
    pub fn new(nodes: impl IntoIterator<Item = NodeAt>, operator: Operator) -> Self {
        let nodes = nodes
            .into_iter()
            .map(|node| (node.account, Channel::new(node.address, PATIENCE)))
            .collect();
        Client {
            nodes,
            operator,
            turn: AtomicUsize::new(0),
            last_start: AtomicI64::new(0),
            valid_seconds: VALID_SECONDS,
        }
    }

    /// The same, whose transactions are tried for so many seconds.
    pub fn valid_for(mut self, seconds: i64) -> Self {
        self.valid_seconds = seconds;
        self
    }

    /// Who pays.
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// An id that no other transaction of this client has.
    pub fn next_id(&self) -> TransactionId {
        let wanted = now() - BACK;
        let start = self
            .last_start
            .try_update(Ordering::SeqCst, Ordering::SeqCst, |last| {
                Some(wanted.max(last + 1))
            })
            .map_or(wanted, |last| wanted.max(last + 1));
        let start = Timestamp {
            seconds: start / SECOND,
            nanos: i32::try_from(start % SECOND).unwrap_or_default(),
        };
        TransactionId::new(AccountId::of(self.operator.account), start)
    }

    /// Has a transaction carried out, and gives what came of it.
    pub async fn execute(&self, asking: &Asking<'_>) -> Result<Happened, ExecuteError> {
        self.execute_as(self.next_id(), asking).await
    }

    /// The same under an id that was written down before: whoever does it again after a crash has it happen once.
    pub async fn execute_as(
        &self,
        id: TransactionId,
        asking: &Asking<'_>,
    ) -> Result<Happened, ExecuteError> {
        let mut pause = PAUSE;
        let mut may_be_taken = false;
        loop {
            let outcome = self.attempt(&id, asking).await?;
            let last = match outcome {
                Attempt::Taken => return self.outcome(id, String::new()).await,
                // It is no longer valid, and an earlier attempt may have been taken.
                Attempt::Refused(Code::TransactionExpired) if may_be_taken => {
                    return self.outcome(id, Code::TransactionExpired.to_string()).await;
                }
                Attempt::Refused(code) => return Err(ExecuteError::Refused(id, code)),
                Attempt::Again(last) => last,
                Attempt::Lost(last) => {
                    may_be_taken = true;
                    last
                }
            };
            if self.is_over(&id) {
                return if may_be_taken {
                    self.outcome(id, last).await
                } else {
                    Err(ExecuteError::NotTaken { id, last })
                };
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Whether a transaction can no longer be taken.
    fn is_over(&self, id: &TransactionId) -> bool {
        let start = id.valid_start.unwrap_or_default();
        start.seconds.saturating_add(self.valid_seconds) <= now() / SECOND
    }

    fn next_node(&self) -> Option<&(i64, Channel)> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.nodes.get(turn.checked_rem(self.nodes.len())?)
    }

    async fn attempt(&self, id: &TransactionId, asking: &Asking<'_>) -> Result<Attempt, KeyError> {
        let Some((account, channel)) = self.next_node() else {
            return Ok(Attempt::Again("there are no nodes".into()));
        };
        let node = AccountId::of(*account);
        let mut body = TransactionBody::new(id.clone(), node, asking.fee, asking.data.clone());
        body.memo.clone_from(&asking.memo);
        body.max_custom_fees.clone_from(&asking.limits);
        if let Some(duration) = &mut body.valid_duration {
            duration.seconds = self.valid_seconds;
        }
        let keys = std::iter::once(&self.operator.key).chain(asking.signers.iter().copied());
        let transaction = body.sign(keys)?;
        let answer = channel.call(path(&asking.data), framed(&transaction)).await;
        Ok(match answer.map(TransactionResponse::decode) {
            Ok(Ok(response)) => match Code::from(response.precheck_code) {
                // One that is there already is ours: nobody else can sign for this id.
                Code::Ok | Code::DuplicateTransaction => Attempt::Taken,
                code @ (Code::Busy
                | Code::PlatformNotActive
                | Code::PlatformTransactionNotCreated
                | Code::InvalidNodeAccount) => Attempt::Again(code.to_string()),
                code => Attempt::Refused(code),
            },
            Ok(Err(error)) => Attempt::Lost(error.to_string()),
            Err(error) => Attempt::Lost(error.to_string()),
        })
    }

    /// What came of a transaction that was or may have been taken.
    async fn outcome(&self, id: TransactionId, mut last: String) -> Result<Happened, ExecuteError> {
        let mut pause = PAUSE;
        loop {
            match self.receipt(&id).await {
                Ok(Some(receipt)) => {
                    let is_done = Code::from(receipt.status) == Code::Success;
                    let happened = Happened { id, receipt };
                    return if is_done {
                        Ok(happened)
                    } else {
                        Err(ExecuteError::Failed(Box::new(happened)))
                    };
                }
                Ok(None) => {}
                Err(error) => last = error.to_string(),
            }
            if self.is_over(&id) {
                return Err(ExecuteError::Unknown { id, last });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// What came of a transaction; nothing while no node knows.
    pub async fn receipt(
        &self,
        id: &TransactionId,
    ) -> Result<Option<TransactionReceipt>, CallError> {
        let asked = Asked::Receipt(ReceiptQuery {
            transaction_id: Some(id.clone()),
            ..ReceiptQuery::default()
        });
        let found = self
            .ask("/proto.CryptoService/getTransactionReceipts", asked)
            .await?;
        let Some(Answered::Receipt(answer)) = found else {
            return Err(CallError::Unreadable("it is no receipt".into()));
        };
        let ReceiptResponse { header, receipt } = *answer;
        let code = header.map_or(Code::Unknown, |header| Code::from(header.precheck_code));
        let known = receipt.filter(|receipt| Code::from(receipt.status) != Code::Unknown);
        Ok(known.filter(|_| code == Code::Ok))
    }

    /// Asks a node.
    pub async fn ask(&self, path: &str, asked: Asked) -> Result<Option<Answered>, CallError> {
        let Some((_, channel)) = self.next_node() else {
            return Err(CallError::Unreachable(
                "the network".into(),
                "there are no nodes".into(),
            ));
        };
        let query = Query { query: Some(asked) };
        let bytes = channel.call(path, framed(&query)).await?;
        let response =
            Response::decode(bytes).map_err(|error| CallError::Unreadable(error.to_string()))?;
        Ok(response.response)
    }
}

/// Where a node takes a transaction.
fn path(data: &Data) -> &'static str {
    match data {
        Data::CryptoCreate(_) => "/proto.CryptoService/createAccount",
        Data::CryptoUpdate(_) => "/proto.CryptoService/updateAccount",
        Data::CryptoTransfer(_) => "/proto.CryptoService/cryptoTransfer",
        Data::CreateTopic(_) => "/proto.ConsensusService/createTopic",
        Data::UpdateTopic(_) => "/proto.ConsensusService/updateTopic",
        Data::DeleteTopic(_) => "/proto.ConsensusService/deleteTopic",
        Data::SubmitMessage(_) => "/proto.ConsensusService/submitMessage",
        Data::ScheduleCreate(_) => "/proto.ScheduleService/createSchedule",
        Data::ScheduleSign(_) => "/proto.ScheduleService/signSchedule",
        Data::ScheduleDelete(_) => "/proto.ScheduleService/deleteSchedule",
    }
}

/// The clock, in nanoseconds.
fn now() -> i64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}
