//! The state of a registry of topics, and who may change it.

use std::collections::{BTreeMap, BTreeSet};

use super::RegistryOperation;
use crate::id::{AccountId, Sequence, TopicId};
use crate::memo::{Indexed, Ttl};
use crate::report::Refused;

/// How often a registry may move before nobody follows any more.
pub const MAX_MIGRATIONS: usize = 3;

/// Who may write on a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// A submit key decides: whatever stands there was allowed.
    Guarded,
    /// Anybody may add; an entry is changed by who added it or by the owner, and only the owner moves the registry.
    Open {
        /// The registry's owner, if it is known.
        owner: Option<AccountId>,
    },
}

impl Access {
    /// Whether this payer may change what that account added.
    pub(crate) fn may_change(self, payer: AccountId, added_by: AccountId) -> bool {
        payer == added_by || self.is_owner(payer)
    }

    /// Whether this payer speaks for the registry.
    pub(crate) fn is_owner(self, payer: AccountId) -> bool {
        match self {
            Access::Guarded => true,
            Access::Open { owner } => owner == Some(payer),
        }
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It counts.
    Counted,
    /// It does not, and why.
    Ignored(&'static str),
}

/// A topic that is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The message that registered it.
    pub uid: Sequence,
    /// The topic.
    pub topic: TopicId,
    /// What is known of it.
    pub metadata: Option<String>,
    /// How long to cache it, where it differs from the registry's.
    pub ttl: Option<Ttl>,
    /// A remark.
    pub memo: Option<String>,
    /// Who paid for the registration.
    pub added_by: AccountId,
}

/// The state of a registry of topics, from its messages in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    indexed: Indexed,
    access: Access,
    entries: BTreeMap<Sequence, Entry>,
    moved_to: Option<TopicId>,
}

impl Registry {
    /// An empty registry, as its memo and keys say.
    pub const fn new(indexed: Indexed, access: Access) -> Self {
        Registry {
            indexed,
            access,
            entries: BTreeMap::new(),
            moved_to: None,
        }
    }

    /// Takes the next message.
    pub fn apply(
        &mut self,
        sequence: Sequence,
        payer: AccountId,
        operation: &RegistryOperation,
    ) -> Verdict {
        if self.moved_to.is_some() {
            return Verdict::Ignored("the registry has moved");
        }
        match operation {
            RegistryOperation::Register {
                topic,
                metadata,
                ttl,
                memo,
            } => {
                if self.indexed == Indexed::Newest {
                    self.entries.clear();
                }
                let entry = Entry {
                    uid: sequence,
                    topic: *topic,
                    metadata: metadata.clone(),
                    ttl: *ttl,
                    memo: memo.clone(),
                    added_by: payer,
                };
                self.entries.insert(sequence, entry);
                Verdict::Counted
            }
            RegistryOperation::Update {
                uid,
                topic,
                metadata,
                ttl,
                memo,
            } => match self.change(*uid, payer) {
                Ok(entry) => {
                    entry.topic = *topic;
                    entry.metadata.clone_from(metadata);
                    entry.ttl = *ttl;
                    entry.memo.clone_from(memo);
                    Verdict::Counted
                }
                Err(why) => Verdict::Ignored(why),
            },
            RegistryOperation::Delete { uid, .. } => match self.change(*uid, payer) {
                Ok(_) => {
                    self.entries.remove(uid);
                    Verdict::Counted
                }
                Err(why) => Verdict::Ignored(why),
            },
            RegistryOperation::Migrate { topic, .. } if self.access.is_owner(payer) => {
                self.moved_to = Some(*topic);
                Verdict::Counted
            }
            RegistryOperation::Migrate { .. } => {
                Verdict::Ignored("only the owner moves a registry")
            }
        }
    }

    fn change(&mut self, uid: Sequence, payer: AccountId) -> Result<&mut Entry, &'static str> {
        if self.indexed == Indexed::Newest {
            return Err("only the newest message counts here, so there is nothing to change");
        }
        let access = self.access;
        let entry = self.entries.get_mut(&uid).ok_or("there is no such entry")?;
        if access.may_change(payer, entry.added_by) {
            Ok(entry)
        } else {
            Err("the entry is another's")
        }
    }

    /// What is listed, in the order of registration.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Where the registry is now, if it moved.
    pub const fn moved_to(&self) -> Option<TopicId> {
        self.moved_to
    }
}

/// The topics of a registry that moved, so that nobody is led in a circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationChain {
    seen: BTreeSet<TopicId>,
}

impl MigrationChain {
    /// Begins at this topic.
    pub fn new(topic: TopicId) -> Self {
        MigrationChain {
            seen: BTreeSet::from([topic]),
        }
    }

    /// One move more: refused after three, and when it leads back.
    pub fn follow(&mut self, topic: TopicId) -> Result<(), Refused> {
        if self.seen.len() > MAX_MIGRATIONS || !self.seen.insert(topic) {
            return Err(Refused::Migrations {
                most: MAX_MIGRATIONS,
            });
        }
        Ok(())
    }
}
