//! The bridge between the store and the ledger: what the outbox has is said on its topics, and what stands there is taken in.
//!
//! A bridge has topics for a while, under a lease; another takes over those of one that is gone. Everything that it does can be done again:
//! what is sent has an id that was written down before, and what is taken in is taken in with how far its topic was read.

mod alarm;
mod connect;
mod crew;
mod doubt;
mod form;
mod large;
mod listen;
mod make;
mod meaning;
mod once;
mod place;
mod profiles;
mod reading;
mod run;
mod speak;
mod streams;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use inbox_core::{AgentName, Code, Refusal};
use inbox_hcs::{AccountId, Participant, TopicId};
use inbox_hedera::mirror::Mirror;
use inbox_hedera::network::Network;
use inbox_ops::Inbox;
use inbox_store::{FailPoint, TopicRow};
use tokio::runtime::Runtime;

use crate::keys::Keys;
use crate::net::{self, Net};

use alarm::Alarm;
use reading::Reading;
pub use run::Stopper;

/// How long a bridge has a topic, in milliseconds: as long as nobody takes over from one that is gone.
const LEASE_MS: i64 = 30_000;

/// How often that is said again.
const RENEWAL: Duration = Duration::from_secs(10);

/// How far the machines of one mirror may be apart.
const SKEW: Duration = Duration::from_mins(1);

/// Who speaks: an agent with its key on the network.
struct Speaker {
    net: Net,
    me: Participant,
}

/// By account, the agent and where it hears.
type Accounts = HashMap<AccountId, Option<(AgentName, String)>>;

/// How far each topic was read.
type Readings = HashMap<i64, Reading>;

/// A bridge.
pub struct Bridge<'i> {
    inbox: &'i Inbox,
    network: Network,
    keys: PathBuf,
    name: String,
    mirror: Mirror,
    runtime: Arc<Runtime>,
    speakers: Mutex<HashMap<AgentName, Arc<Speaker>>>,
    readings: Readings,
    alarm: Arc<Alarm>,
    /// When the leases were renewed.
    renewed: Mutex<Instant>,
    /// After how many points of steps on the ledger it stops as if it had died, for tests.
    fuse: AtomicU32,
    profiles: Mutex<profiles::Profiles>,
    /// Whose the accounts are that a page names, while it is read.
    accounts: Mutex<Accounts>,
    /// How much later than a message that is gone a mirror's newest must be before it is known not to be behind: several machines may answer
    /// for one mirror.
    skew: Duration,
    /// Since when files are waited for that a mirror does not give.
    waits: Mutex<HashMap<TopicId, Instant>>,
    /// The topics whose history is not the one that was taken in, and what is said of each.
    put_back: Mutex<BTreeMap<i64, Refusal>>,
}

/// What one turn of a bridge has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Turn {
    /// How many messages were sent.
    pub sent: u64,
    /// How many messages were taken in.
    pub taken: u64,
    /// How many messages and pieces of messages were read.
    pub read: u64,
    /// How much could not be done now.
    pub problems: u64,
}

impl Turn {
    /// Whether there was nothing to do, or nothing that could be done.
    pub const fn is_idle(&self) -> bool {
        self.sent + self.taken + self.read == 0
    }
}

impl<'i> Bridge<'i> {
    /// A bridge between this store and this network, for the agents whose keys are in this file.
    pub fn new(inbox: &'i Inbox, network: Network, keys: PathBuf) -> Result<Self, Refusal> {
        let random = getrandom::u64()
            .map_err(|error| Refusal::new(Code::Internal, format!("no random numbers: {error}")))?;
        Ok(Bridge {
            inbox,
            // What does not come now is asked for again in a later turn.
            mirror: network.reader().trying_once(),
            network,
            keys,
            name: format!("{:x}-{random:x}", std::process::id()),
            runtime: net::runtime()?,
            speakers: Mutex::default(),
            readings: HashMap::new(),
            alarm: Arc::default(),
            renewed: Mutex::new(Instant::now()),
            fuse: AtomicU32::new(u32::MAX),
            profiles: Mutex::default(),
            accounts: Mutex::default(),
            skew: SKEW,
            waits: Mutex::default(),
            put_back: Mutex::default(),
        })
    }

    /// Has it stop at a point of a step on the ledger as if it had died there, for tests: after so many of them.
    #[doc(hidden)]
    pub fn dying_after(self, points: u32) -> Self {
        self.fuse.store(points, Ordering::Relaxed);
        self
    }

    /// Trusts a mirror's machines to be at one, for tests.
    #[doc(hidden)]
    pub fn without_skew(mut self) -> Self {
        self.skew = Duration::ZERO;
        self
    }

    /// A point at which a test may let it die.
    fn reach(&self, point: FailPoint) -> Result<(), Refusal> {
        self.inbox.store().reach(point);
        match self.fuse.load(Ordering::Relaxed) {
            u32::MAX => Ok(()),
            0 => Err(Refusal::new(Code::Storage, "it dies here, for a test")),
            left => {
                self.fuse.store(left - 1, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// Says what waits and takes in what is there, once for every topic that is this bridge's share, and up to a bound for each. What
    /// the network does not do now is tried again in a later turn; what the store does not do ends it.
    pub fn turn(&mut self) -> Result<Turn, Refusal> {
        let mut turn = Turn::default();
        let topics = self.hold()?;
        self.speak(&topics, &mut turn)?;
        self.tend(&topics, &mut turn)?;
        let mut readings = std::mem::take(&mut self.readings);
        readings.retain(|no, _| topics.iter().any(|topic| topic.topic_no == *no));
        let made = topics.into_iter().filter(|topic| topic.topic.is_some());
        self.listen(made.collect(), &mut readings, &mut turn)?;
        self.readings = readings;
        Ok(turn)
    }

    /// Whether a mirror did not have what it had, and must be asked again to know why.
    pub fn is_unsure(&self) -> bool {
        self.readings.values().any(Reading::is_missing)
    }

    /// What is said of a topic whose history is another than it was when it was read, where there is one: nothing of it is taken in.
    pub fn put_back(&self) -> Option<Refusal> {
        let put_back = self.put_back.lock().unwrap_or_else(PoisonError::into_inner);
        put_back.values().next().cloned()
    }

    /// Leaves its topics to other bridges, which need not wait for its leases to end.
    pub fn leave(self) -> Result<(), Refusal> {
        self.inbox.leave_topics(&self.name)
    }

    /// Its share of the topics, for a while.
    fn hold(&self) -> Result<Vec<TopicRow>, Refusal> {
        self.follow_roster()?;
        let topics = self.inbox.ledger_topics(&self.name, LEASE_MS)?;
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(topics)
    }

    /// Renews its leases, if it is time.
    fn renew(&self) -> Result<(), Refusal> {
        let mut renewed = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        if renewed.elapsed() >= RENEWAL {
            self.inbox.renew_topics(&self.name, LEASE_MS)?;
            *renewed = Instant::now();
        }
        Ok(())
    }

    /// The agent whose account this is, and where it hears.
    fn agent_of(&self, account: AccountId) -> Result<Option<(AgentName, String)>, Refusal> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = accounts.get(&account) {
            return Ok(known.clone());
        }
        let found = self.inbox.agent_of_account(&account.to_string())?;
        accounts.insert(account, found.clone());
        Ok(found)
    }

    /// Forgets whose accounts are: the roster changes.
    fn forget_accounts(&self) {
        let accounts = self.accounts.lock();
        accounts.unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The agent with its key, as it stands in the file of keys.
    fn speaker(&self, name: &AgentName) -> Result<Arc<Speaker>, Refusal> {
        let mut speakers = self.speakers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = speakers.get(name) {
            return Ok(Arc::clone(known));
        }
        let holder = Keys::open(&self.keys, &self.network.name)?.get(name.as_str())?;
        crate::provision::is_there(&self.mirror, name.as_str(), &holder)?;
        let (Some(inbound_topic), Some(outbound_topic)) = (holder.inbound, holder.outbound) else {
            return Err(Refusal::new(
                Code::AgentNotFound,
                format!("{name} has no topics in the file of keys"),
            )
            .hint("inbox hcs provision makes them"));
        };
        let reach = self.inbox.store().reacher();
        let net = Net::open_on(&self.runtime, &self.network, holder.account, holder.key)
            .trying_once()
            .telling(Arc::new(move || reach(FailPoint::LedgerAfterSend)));
        let me = Participant {
            account: holder.account,
            inbound_topic,
            outbound_topic,
        };
        let speaker = Arc::new(Speaker { net, me });
        speakers.insert(name.clone(), Arc::clone(&speaker));
        Ok(speaker)
    }
}

pub(crate) fn id_of(topic: &TopicRow) -> Result<inbox_hcs::TopicId, Refusal> {
    let text = topic.topic.as_deref().unwrap_or_default();
    text.parse().map_err(|_| {
        Refusal::new(
            Code::StoreCorrupt,
            format!(
                "{text:?} is no topic, and stands for {} in the store",
                topic.name
            ),
        )
    })
}
