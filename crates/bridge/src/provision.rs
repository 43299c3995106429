//! Provisioning: an agent of the roster gets its account, its topics, its profile and its entry on a registry.
//!
//! Every step is written down before it is sent (`step.rs`), so that whoever was killed goes on where it was, and nothing is made twice.

mod document;
mod enlist;
mod publish;
mod step;

use std::cell::OnceCell;
use std::sync::Arc;

use inbox_core::{Agent, AgentKind, Code, Refusal};
use inbox_hcs::{AccountId, Participant, TopicId, Ttl};
use inbox_hedera::client::Asking;
use inbox_hedera::key::{Algorithm as KeyAlgorithm, PrivateKey};
use inbox_hedera::mirror::{AccountFacts, Mirror};
use inbox_hedera::network::Network;
use inbox_hedera::proto::{CreateTopicBody, Data, Key, SubmitMessageBody};

use crate::keys::{Holder, Keys};
use crate::net::{account_of, topic_of};
use crate::publish::{inbound_of, outbound_of};
use crate::told::{Told, named};
use crate::{Hbar, Inbound, Net};

pub use document::{Labels, profile};
use step::Slot;

/// How often a mirror is asked for an account that it does not have, and how long after each time.
const TRIES: u32 = 6;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(500);

/// A moment of a step, at which a test may let the program die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The id is on disk, and nothing is sent.
    BeforeSend,
    /// It is sent, and nothing is known of it.
    AfterSend,
    /// It happened, and that is kept nowhere.
    AfterReceipt,
    /// The file of keys is about to be written.
    BeforeSave,
}

/// Who is told of every moment.
pub type Watch = Arc<dyn Fn(Moment) + Send + Sync>;

/// What provisioning did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// An account was made.
    Account,
    /// A topic to record on was made.
    Outbound,
    /// A topic to hear on was made.
    Inbound,
    /// A profile was published.
    Profile,
    /// A registry was made.
    Registry,
    /// The agent was put on it.
    Entry,
}

impl Change {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Change::Account => "account",
            Change::Outbound => "outbound",
            Change::Inbound => "inbound",
            Change::Profile => "profile",
            Change::Registry => "registry",
            Change::Entry => "entry",
        }
    }
}

/// An agent that has all that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provisioned {
    /// Its account and topics.
    pub me: Participant,
    /// The file with its profile.
    pub profile: TopicId,
    /// The registry that lists it.
    pub registry: TopicId,
    /// Its entry there, where the number is known.
    pub uid: Option<u64>,
    /// What was made just now; nothing when all was there.
    pub changes: Vec<Change>,
}

/// Who provisions, and how.
pub struct Provisioner<'n> {
    /// On which network.
    pub network: &'n Network,
    /// Who pays for new accounts, or why nobody does.
    pub funder: Result<(AccountId, PrivateKey), Refusal>,
    /// What a new account gets.
    pub balance: Hbar,
    /// Who may write on a new inbound topic.
    pub inbound: Inbound,
    /// Which registry; without it the one that the file of keys has, and a new one where it has none.
    pub registry: Option<TopicId>,
    /// What a registry may take for an entry.
    pub most: Hbar,
    /// Who is told of every moment.
    pub watch: Option<Watch>,
    /// Whether what is of a network that was begun anew is made again; else it is refused.
    pub is_anew: bool,
}

/// Publishes the profile of an agent that is provisioned, if its card or its entry on the roster changed: the new file.
pub fn refresh(
    network: &Network,
    keys: &mut Keys,
    agent: &Agent,
) -> Result<Option<TopicId>, Refusal> {
    // It makes no account, topic or entry, and needs nobody who pays for them.
    let provisioner = Provisioner {
        network,
        funder: Err(Refusal::new(
            Code::Internal,
            "nobody pays for accounts here",
        )),
        balance: Hbar::default(),
        inbound: Inbound::Public,
        registry: None,
        most: Hbar::default(),
        watch: None,
        is_anew: false,
    };
    provisioner.refresh(keys, agent)
}

/// Refuses what the file of keys has of an agent, if the network does not have its account with that key: it was begun anew since then.
pub fn is_there(mirror: &Mirror, name: &str, holder: &Holder) -> Result<(), Refusal> {
    let account = holder.account;
    let own = holder.key.public().told()?;
    let found = mirror.account(account).told()?;
    let is_own = |facts: &AccountFacts| match &facts.key {
        Some(key) => key.leaf().is_none_or(|key| key == own),
        None => false,
    };
    if found.as_ref().is_some_and(is_own) {
        return Ok(());
    }
    let why = match found {
        None => "the network has no such account",
        Some(_) => "the network has another key for it",
    };
    Err(Refusal::new(
        Code::AccountNotFound,
        format!("{name} is {account} in the file of keys, and {why}: it is another network, or was begun anew"),
    )
    .hint(format!("inbox hcs provision --agent {name} --anew gives it a new account; --network names another network"))
    .detail("account_id", account.to_string()))
}

/// The same of an account that may have been made a moment ago: a mirror is seconds behind.
fn settled(mirror: &Mirror, name: &str, holder: &Holder) -> Result<(), Refusal> {
    let mut tries = 1;
    loop {
        match is_there(mirror, name, holder) {
            Err(refusal) if refusal.code == Code::AccountNotFound && tries < TRIES => {
                tries += 1;
                std::thread::sleep(PAUSE);
            }
            found => return found,
        }
    }
}

/// An agent's account, and the network for it once it is needed.
struct Hands<'p> {
    provisioner: &'p Provisioner<'p>,
    holder: Holder,
    net: OnceCell<Net>,
}

impl Hands<'_> {
    fn net(&self) -> Result<&Net, Refusal> {
        if let Some(net) = self.net.get() {
            return Ok(net);
        }
        let holder = &self.holder;
        let net = self.provisioner.net(holder.account, holder.key.clone())?;
        Ok(self.net.get_or_init(|| net))
    }
}

impl Provisioner<'_> {
    fn reach(&self, moment: Moment) {
        if let Some(watch) = &self.watch {
            watch(moment);
        }
    }

    fn net(&self, account: AccountId, key: PrivateKey) -> Result<Net, Refusal> {
        let net = Net::open(self.network, account, key)?;
        Ok(match &self.watch {
            None => net,
            Some(watch) => {
                let watch = Arc::clone(watch);
                net.telling(Arc::new(move || watch(Moment::AfterSend)))
            }
        })
    }

    /// Gives an agent what it lacks.
    pub fn provision(&self, keys: &mut Keys, agent: &Agent) -> Result<Provisioned, Refusal> {
        let name = agent.agent_id.as_str();
        if agent.kind == AgentKind::System {
            return Err(
                Refusal::input(format!("{name} is inbox itself, and has no account"))
                    .hint("inbox agent list shows who else there is"),
            );
        }
        let mut changes = Vec::new();
        let holder = self.account(keys, agent, &mut changes)?;
        let mut hands = Hands {
            provisioner: self,
            holder,
            net: OnceCell::new(),
        };
        let outbound_topic = self.outbound(keys, name, &mut hands, &mut changes)?;
        let inbound_topic = self.hearing(keys, name, &mut hands, &mut changes)?;
        let me = Participant {
            account: hands.holder.account,
            inbound_topic,
            outbound_topic,
        };
        let (profile, is_new) = self.publish(keys, agent, me, &hands)?;
        changes.extend(is_new.then_some(Change::Profile));
        let (registry, uid) = self.enlist(keys, name, &hands, &mut changes)?;
        if let Some(net) = hands.net.get() {
            net.catch_up();
        }
        Ok(Provisioned {
            me,
            profile,
            registry,
            uid,
            changes,
        })
    }

    /// The same for whoever provisions, too.
    fn refresh(&self, keys: &mut Keys, agent: &Agent) -> Result<Option<TopicId>, Refusal> {
        let name = agent.agent_id.as_str();
        let holder = keys.get(name)?;
        let (Some(inbound_topic), Some(outbound_topic)) = (holder.inbound, holder.outbound) else {
            return Err(
                Refusal::new(Code::AgentNotFound, format!("{name} has no topics yet"))
                    .hint(format!("inbox hcs provision --agent {name} makes them")),
            );
        };
        let me = Participant {
            account: holder.account,
            inbound_topic,
            outbound_topic,
        };
        let hands = Hands {
            provisioner: self,
            holder,
            net: OnceCell::new(),
        };
        let (file, is_new) = self.publish(keys, agent, me, &hands)?;
        if let Some(net) = hands.net.get() {
            net.catch_up();
        }
        Ok(is_new.then_some(file))
    }

    fn account(
        &self,
        keys: &mut Keys,
        agent: &Agent,
        changes: &mut Vec<Change>,
    ) -> Result<Holder, Refusal> {
        let name = agent.agent_id.as_str();
        let mut on_roster = agent.account_id.as_deref();
        if self.is_anew && self.forget(keys, name)? {
            on_roster = None;
        }
        if let Some(holder) = keys.find(name)? {
            let account = holder.account.to_string();
            return match on_roster {
                Some(other) if other != account => Err(Refusal::new(
                    Code::AlreadyExists,
                    format!("{name} is {other} on the roster, and the file of keys has {account} for this network"),
                )
                .hint(format!("inbox agent set {name} --account-id {account} says that it is that one"))),
                _ => {
                    settled(&self.network.reader(), name, &holder)?;
                    Ok(holder)
                }
            };
        }
        if let Some(account) = on_roster {
            return Err(Refusal::new(
                Code::AccountNotFound,
                format!("{name} is {account} on the roster, and the file of keys has no key of it for this network"),
            )
            .hint(format!("inbox hcs account import {name} --account {account} --key-file FILE keeps it")));
        }
        let work = keys.work(name);
        let key = match &work.account_key {
            Some(public) => keys.unfinished(public).ok_or_else(|| {
                Refusal::new(
                    Code::StoreCorrupt,
                    format!("the file of keys has lost the key of {name}'s new account"),
                )
            })?,
            None => {
                let key = PrivateKey::generate(KeyAlgorithm::Ed25519)
                    .map_err(|error| Refusal::new(Code::Internal, error.to_string()))?;
                self.reach(Moment::BeforeSave);
                keys.begin_account(name, &key, work)?;
                key
            }
        };
        let (payer, payer_key) = self.funder.clone()?;
        let net = self.net(payer, payer_key)?;
        let public = Key::from(&key.public().told()?);
        let slot = Slot::Agent {
            name,
            step: "account",
        };
        let asking = Asking::of(account_of(public, self.balance));
        let made = self.carry_out(keys, &slot, &net, &asking)?;
        let holder = Holder {
            account: named(made.account, "an account")?,
            key,
            inbound: None,
            outbound: None,
            hidden: Vec::new(),
        };
        let mut work = keys.work(name);
        work.account_key = None;
        work.pending = None;
        self.reach(Moment::BeforeSave);
        keys.put_with(name, &holder, work)?;
        changes.push(Change::Account);
        Ok(holder)
    }

    /// Forgets an account that the network does not have, and a registry that it has not. Whether there was one.
    fn forget(&self, keys: &mut Keys, name: &str) -> Result<bool, Refusal> {
        let mirror = self.network.reader();
        let Some(holder) = keys.find(name)? else {
            return Ok(false);
        };
        match settled(&mirror, name, &holder) {
            Ok(()) => return Ok(false),
            Err(refusal) if refusal.code == Code::AccountNotFound => {}
            Err(refusal) => return Err(refusal),
        }
        let registry = keys.registry();
        let is_gone = match registry {
            None => false,
            Some(registry) => crate::registry::list(&mirror, registry).is_err(),
        };
        self.reach(Moment::BeforeSave);
        keys.forget(name, is_gone)?;
        Ok(true)
    }

    fn outbound(
        &self,
        keys: &mut Keys,
        name: &str,
        hands: &mut Hands<'_>,
        changes: &mut Vec<Change>,
    ) -> Result<TopicId, Refusal> {
        if let Some(topic) = hands.holder.outbound {
            return Ok(topic);
        }
        let body = outbound_of(hands.net()?, Ttl::HOUR)?;
        let topic = self.topic(keys, name, "outbound", hands.net()?, body)?;
        hands.holder.outbound = Some(topic);
        self.keep(keys, name, &hands.holder)?;
        changes.push(Change::Outbound);
        Ok(topic)
    }

    fn hearing(
        &self,
        keys: &mut Keys,
        name: &str,
        hands: &mut Hands<'_>,
        changes: &mut Vec<Change>,
    ) -> Result<TopicId, Refusal> {
        if let Some(topic) = hands.holder.inbound {
            return Ok(topic);
        }
        let body = inbound_of(hands.net()?, self.inbound, Ttl::HOUR)?;
        let topic = self.topic(keys, name, "inbound", hands.net()?, body)?;
        hands.holder.inbound = Some(topic);
        self.keep(keys, name, &hands.holder)?;
        changes.push(Change::Inbound);
        Ok(topic)
    }

    fn topic(
        &self,
        keys: &mut Keys,
        name: &str,
        step: &str,
        net: &Net,
        body: CreateTopicBody,
    ) -> Result<TopicId, Refusal> {
        let slot = Slot::Agent { name, step };
        let made = self.carry_out(keys, &slot, net, &Asking::of(topic_of(body)))?;
        named(made.topic, "a topic")
    }

    /// Keeps what was made, and forgets how.
    fn keep(&self, keys: &mut Keys, name: &str, holder: &Holder) -> Result<(), Refusal> {
        let mut work = keys.work(name);
        work.pending = None;
        self.reach(Moment::BeforeSave);
        keys.put_with(name, holder, work)
    }
}

fn said(topic: TopicId, message: &str) -> Data {
    Data::SubmitMessage(SubmitMessageBody {
        topic_id: Some(topic.into()),
        message: message.as_bytes().to_vec(),
        chunk_info: None,
    })
}

fn broken(id: &str) -> Refusal {
    Refusal::new(
        Code::StoreCorrupt,
        format!("the file of keys has {id:?}, which is no topic"),
    )
}
