//! The bridge between the store and the ledger: what the outbox has is said on its topics, and what stands there is taken in.
//!
//! A bridge has topics for a while, under a lease; another takes over those of one that is gone. Everything that it does can be done again:
//! what is sent has an id that was written down before, and what is taken in is taken in with how far its topic was read.

mod listen;
mod meaning;
mod speak;

use std::collections::HashMap;
use std::path::PathBuf;

use inbox_core::{AgentName, Code, Refusal};
use inbox_hcs::{Assembler, Participant};
use inbox_hedera::mirror::Mirror;
use inbox_hedera::network::Network;
use inbox_ops::Inbox;
use inbox_store::TopicRow;

use crate::keys::Keys;
use crate::net::Net;

/// How long a bridge has a topic, in milliseconds: as long as nobody takes over from one that is gone.
const LEASE_MS: i64 = 30_000;

/// Who speaks: an agent with its key on the network.
struct Speaker {
    net: Net,
    me: Participant,
}

/// How far a topic was read that has messages in pieces.
#[derive(Default)]
struct Reading {
    assembler: Assembler,
    /// The last piece that was read.
    seen: i64,
}

/// A bridge.
pub struct Bridge<'i> {
    inbox: &'i Inbox,
    network: Network,
    keys: PathBuf,
    name: String,
    mirror: Mirror,
    speakers: HashMap<AgentName, Speaker>,
    readings: HashMap<i64, Reading>,
}

/// What one turn of a bridge has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Turn {
    /// How many messages were sent.
    pub sent: u64,
    /// How many messages were taken in.
    pub taken: u64,
    /// How much could not be done now.
    pub problems: u64,
}

impl<'i> Bridge<'i> {
    /// A bridge between this store and this network, for the agents whose keys are in this file.
    pub fn new(inbox: &'i Inbox, network: Network, keys: PathBuf) -> Result<Self, Refusal> {
        let random = getrandom::u64()
            .map_err(|error| Refusal::new(Code::Internal, format!("no random numbers: {error}")))?;
        Ok(Bridge {
            inbox,
            mirror: network.reader(),
            network,
            keys,
            name: format!("{:x}-{random:x}", std::process::id()),
            speakers: HashMap::new(),
            readings: HashMap::new(),
        })
    }

    /// Says what waits and takes in what is there, once for every topic that no other bridge has. What the network does not do now is tried
    /// again in a later turn; what the store does not do ends it.
    pub fn turn(&mut self) -> Result<Turn, Refusal> {
        let mut turn = Turn::default();
        for topic in self.inbox.ledger_topics(&self.name, LEASE_MS)? {
            self.speak(&topic, &mut turn)?;
            if let Err(refusal) = self.listen(&topic, &mut turn) {
                if refusal.code != Code::Ledger {
                    return Err(refusal);
                }
                turn.problems += 1;
                self.inbox
                    .set_topic_problem(topic.topic_no, &refusal.message)?;
            }
        }
        Ok(turn)
    }

    /// Leaves its topics to other bridges, which need not wait for its leases to end.
    pub fn leave(self) -> Result<(), Refusal> {
        self.inbox.leave_topics(&self.name)
    }

    /// The agent with its key, as it stands in the file of keys.
    fn speaker(&mut self, name: &AgentName) -> Result<&Speaker, Refusal> {
        if !self.speakers.contains_key(name) {
            let holder = Keys::open(&self.keys, &self.network.name)?.get(name.as_str())?;
            let (Some(inbound_topic), Some(outbound_topic)) = (holder.inbound, holder.outbound)
            else {
                return Err(Refusal::new(
                    Code::AgentNotFound,
                    format!("{name} has no topics in the file of keys"),
                )
                .hint("inbox hcs provision makes them"));
            };
            let speaker = Speaker {
                net: Net::open(&self.network, holder.account, holder.key)?,
                me: Participant {
                    account: holder.account,
                    inbound_topic,
                    outbound_topic,
                },
            };
            self.speakers.insert(name.clone(), speaker);
        }
        self.speakers
            .get(name)
            .ok_or_else(|| Refusal::new(Code::Internal, "a speaker that was just made is gone"))
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
