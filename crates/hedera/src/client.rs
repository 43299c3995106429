//! A client of the network's nodes: a transaction happens once, however often it has to be sent.
//!
//! Every attempt of a transaction has one id, and the network takes an id once. So an answer that never came is no reason to
//! begin anew: the same transaction goes to the next node, and its receipt is asked for by its id.

mod asking;
mod node;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prost::Message;

pub use self::asking::*;
use self::node::Nodes;
use crate::grpc::{CallError, framed};
use crate::key::KeyError;
use crate::proto::{
    AccountId, Answered, Asked, Code, Data, Query, ReceiptQuery, ReceiptResponse, Response,
    Timestamp, TransactionBody, TransactionId, TransactionReceipt, TransactionResponse,
};
use crate::transaction::VALID_SECONDS;

/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long it is tried when no node at all can be connected to.
const NOBODY_THERE: Duration = Duration::from_secs(10);

/// How long to wait before the second attempt; twice as long before each after it.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest wait between two attempts, and between two questions for a receipt.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A transaction is valid from so long ago, because a node's clock may be behind ours.
const BACK: i64 = 3_000_000_000;

/// The ids of a client are up to so far from the clock, in nanoseconds.
const MOST_OFFSET: i64 = 10_000_000;

const SECOND: i64 = 1_000_000_000;

/// A client of some nodes, for one who pays.
pub struct Client {
    nodes: Nodes,
    operator: Operator,
    last_start: AtomicI64,
    /// How far its ids are from the clock: two programs of one payer hardly ever have one id.
    offset: i64,
    valid_seconds: i64,
    patience: Option<Duration>,
    /// Told when a node may have taken a transaction.
    on_taken: Option<OnTaken>,
}

/// Whoever is told that a node may have taken a transaction, before its receipt is asked for.
pub type OnTaken = Arc<dyn Fn() + Send + Sync>;

/// How one attempt ended.
enum Attempt {
    Taken,
    Refused(Code),
    /// It never left: nobody is there.
    Away(String),
    /// Not taken, for sure: another may be tried.
    Again(String),
    /// Perhaps taken.
    Lost(String),
}

/// A transaction on its way.
struct Way {
    id: TransactionId,
    valid_seconds: i64,
    /// When it is given up, whatever its id allows.
    until: Option<Instant>,
    /// Whether an attempt may have been taken.
    may_be_taken: bool,
    /// Whether the id was written down before, so that an earlier run may have sent it.
    is_again: bool,
}

impl Way {
    /// Whether there is no time left.
    fn is_over(&self) -> bool {
        let start = self.id.valid_start.unwrap_or_default();
        let end = start.seconds.saturating_add(self.valid_seconds);
        end <= now() / SECOND || self.until.is_some_and(|until| until <= Instant::now())
    }
}

impl Client {
    /// A client of these nodes.
    pub fn new(nodes: impl IntoIterator<Item = NodeAt>, operator: Operator) -> Self {
        Client::with(Nodes::new(nodes, &BTreeMap::new(), PATIENCE), operator)
    }

    /// A client of nodes of which some certificates are known, by the nodes' accounts.
    pub(crate) fn of(
        nodes: &[NodeAt],
        hashes: &BTreeMap<i64, [u8; 48]>,
        operator: Operator,
    ) -> Self {
        let nodes = nodes.iter().cloned();
        Client::with(Nodes::new(nodes, hashes, PATIENCE), operator)
    }

    fn with(nodes: Nodes, operator: Operator) -> Self {
        let mut offset = [0; 4];
        let _ = getrandom::fill(&mut offset);
        Client {
            nodes,
            operator,
            last_start: AtomicI64::new(0),
            offset: i64::from(u32::from_le_bytes(offset)) % MOST_OFFSET,
            valid_seconds: VALID_SECONDS,
            patience: None,
            on_taken: None,
        }
    }

    /// The same, whose transactions are valid for so many seconds.
    pub fn valid_for(mut self, seconds: i64) -> Self {
        self.valid_seconds = seconds;
        self
    }

    /// The same, which gives a transaction up after so long, even while it is valid.
    pub fn patient_for(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// The same, for which one call may take so long.
    pub fn calling_for(mut self, timeout: Duration) -> Self {
        self.nodes.within(timeout);
        self
    }

    /// The same, which tells whoever that a transaction may have been taken.
    pub fn telling(mut self, on_taken: OnTaken) -> Self {
        self.on_taken = Some(on_taken);
        self
    }

    /// Who pays.
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// How long its transactions are valid, in seconds.
    pub(crate) fn valid_seconds(&self) -> i64 {
        self.valid_seconds
    }

    /// An id that no other transaction of this client has.
    pub fn next_id(&self) -> TransactionId {
        self.next_ids(1)
    }

    /// The first of so many ids, each a nanosecond after the one before, that no other transaction of this client has.
    pub fn next_ids(&self, count: u32) -> TransactionId {
        let wanted = now() - BACK - self.offset;
        let next = |last: i64| wanted.max(last + 1);
        let start = self
            .last_start
            .try_update(Ordering::SeqCst, Ordering::SeqCst, |last| {
                Some(next(last) + i64::from(count.saturating_sub(1)))
            })
            .map_or(wanted, next);
        let start = Timestamp {
            seconds: start / SECOND,
            nanos: i32::try_from(start % SECOND).unwrap_or_default(),
        };
        TransactionId::new(AccountId::of(self.operator.account), start)
    }

    /// Has a transaction carried out, and gives what came of it.
    pub async fn execute(&self, asking: &Asking<'_>) -> Result<Happened, ExecuteError> {
        self.run(self.next_id(), asking, self.valid_seconds, false)
            .await
    }

    /// The same under an id that was written down before: whoever does it again after a crash has it happen once. When the id is no
    /// longer valid and no node remembers it, whether it happened is not known, and the mirror is to be asked.
    pub async fn execute_as(
        &self,
        id: TransactionId,
        asking: &Asking<'_>,
    ) -> Result<Happened, ExecuteError> {
        self.run(id, asking, self.valid_seconds, true).await
    }

    /// Sends a transaction until a node takes it, and waits for its receipt.
    pub(crate) async fn run(
        &self,
        id: TransactionId,
        asking: &Asking<'_>,
        valid_seconds: i64,
        is_again: bool,
    ) -> Result<Happened, ExecuteError> {
        let begun = Instant::now();
        let mut way = Way {
            id,
            valid_seconds,
            until: self.patience.and_then(|time| begun.checked_add(time)),
            may_be_taken: false,
            is_again,
        };
        let mut pause = PAUSE;
        let mut is_anybody_there = false;
        loop {
            let outcome = self.attempt(&way, asking).await?;
            is_anybody_there |= !matches!(outcome, Attempt::Away(_));
            let last = match outcome {
                Attempt::Taken => return self.outcome(way, String::new()).await,
                // An earlier attempt may have been taken, and what it did may be why this one is refused.
                Attempt::Refused(code) if way.may_be_taken => {
                    return self.outcome(way, code.to_string()).await;
                }
                Attempt::Refused(code) if way.is_again => {
                    return self.refused_again(way, code).await;
                }
                Attempt::Refused(code) => return Err(ExecuteError::Refused(way.id, code)),
                Attempt::Away(last) | Attempt::Again(last) => last,
                Attempt::Lost(last) => {
                    way.may_be_taken = true;
                    last
                }
            };
            let is_nobody_there = !is_anybody_there && begun.elapsed() > NOBODY_THERE;
            if way.is_over() || is_nobody_there {
                return match (way.may_be_taken || way.is_again, is_anybody_there) {
                    (true, true) => self.outcome(way, last).await,
                    (true, false) => Err(ExecuteError::Unknown { id: way.id, last }),
                    (false, _) => Err(ExecuteError::NotTaken { id: way.id, last }),
                };
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// What to say of a transaction that is refused now, and that an earlier run may have sent.
    async fn refused_again(&self, way: Way, code: Code) -> Result<Happened, ExecuteError> {
        match self.receipt(&way.id).await {
            Ok(Some(receipt)) => ended(way.id, receipt),
            // While it is valid, a node that had it would have called it a duplicate.
            Ok(None) if code != Code::TransactionExpired => {
                Err(ExecuteError::Refused(way.id, code))
            }
            _ => Err(ExecuteError::Unknown {
                id: way.id,
                last: code.to_string(),
            }),
        }
    }

    async fn attempt(&self, way: &Way, asking: &Asking<'_>) -> Result<Attempt, KeyError> {
        let Some(node) = self.nodes.next() else {
            return Ok(Attempt::Away("there are no nodes".into()));
        };
        let account = AccountId::of(node.account);
        let mut body =
            TransactionBody::new(way.id.clone(), account, asking.fee, asking.data.clone());
        body.memo.clone_from(&asking.memo);
        body.max_custom_fees.clone_from(&asking.limits);
        if let Some(duration) = &mut body.valid_duration {
            duration.seconds = way.valid_seconds;
        }
        let keys = std::iter::once(&self.operator.key).chain(asking.signers.iter().copied());
        let transaction = body.sign(keys)?;
        let answer = node
            .channel
            .call(path(&asking.data), framed(&transaction))
            .await;
        let attempt = match answer.map(TransactionResponse::decode) {
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
            Err(error @ CallError::Away(..)) => Attempt::Away(error.to_string()),
            Err(error) => Attempt::Lost(error.to_string()),
        };
        if let (Attempt::Taken | Attempt::Lost(_), Some(tell)) = (&attempt, &self.on_taken) {
            tell();
        }
        match attempt {
            Attempt::Taken | Attempt::Refused(_) => node.answered(),
            _ => node.failed(),
        }
        Ok(attempt)
    }

    /// What came of a transaction that was or may have been taken.
    async fn outcome(&self, way: Way, mut last: String) -> Result<Happened, ExecuteError> {
        let mut pause = PAUSE;
        loop {
            match self.receipt(&way.id).await {
                Ok(Some(receipt)) => return ended(way.id, receipt),
                Ok(None) => {}
                Err(error) => last = error.to_string(),
            }
            if way.is_over() {
                return Err(ExecuteError::Unknown { id: way.id, last });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_WAIT);
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
        let Some(node) = self.nodes.next() else {
            return Err(CallError::Away(
                "the network".into(),
                "there are no nodes".into(),
            ));
        };
        let query = Query { query: Some(asked) };
        let answer = node.channel.call(path, framed(&query)).await;
        let answer = answer.and_then(|bytes| {
            Response::decode(bytes).map_err(|error| CallError::Unreadable(error.to_string()))
        });
        match answer {
            Ok(_) => node.answered(),
            Err(_) => node.failed(),
        }
        Ok(answer?.response)
    }
}

/// How a transaction ended.
fn ended(id: TransactionId, receipt: TransactionReceipt) -> Result<Happened, ExecuteError> {
    let is_done = Code::from(receipt.status) == Code::Success;
    let happened = Happened { id, receipt };
    if is_done {
        Ok(happened)
    } else {
        Err(ExecuteError::Failed(Box::new(happened)))
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
