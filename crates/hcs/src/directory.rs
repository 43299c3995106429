//! The state of a registry of agents: who is listed, by whose word, and where the registry went.

use std::collections::BTreeMap;

use crate::id::{AccountId, Sequence, TopicId};
use crate::operation::Operation;
use crate::registry::{Access, Verdict};

/// An agent that is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The message that registered it, by which it is deleted.
    pub uid: Sequence,
    /// The agent's account.
    pub account: AccountId,
    /// A remark.
    pub memo: Option<String>,
    /// Who paid for the registration.
    pub added_by: AccountId,
    /// Whether the account itself registered, or who guards the registry did. What a stranger says of an account is
    /// kept and not believed.
    pub is_verified: bool,
}

/// A registry of agents, from its messages in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    access: Access,
    listings: BTreeMap<Sequence, Listing>,
    moved_to: Option<TopicId>,
}

impl Directory {
    /// An empty registry.
    pub const fn new(access: Access) -> Self {
        Directory {
            access,
            listings: BTreeMap::new(),
            moved_to: None,
        }
    }

    /// Takes the next message.
    pub fn apply(
        &mut self,
        sequence: Sequence,
        payer: AccountId,
        operation: &Operation,
    ) -> Verdict {
        if self.moved_to.is_some() {
            return Verdict::Ignored("the registry has moved");
        }
        match operation {
            Operation::Register(register) => {
                let listing = Listing {
                    uid: sequence,
                    account: register.account,
                    memo: register.memo.clone(),
                    added_by: payer,
                    is_verified: self.access.may_change(payer, register.account),
                };
                self.listings.insert(sequence, listing);
                Verdict::Counted
            }
            Operation::Delete(delete) => {
                let Some(listing) = self.listings.get(&delete.uid) else {
                    return Verdict::Ignored("there is no such entry");
                };
                let is_own = payer == listing.account;
                if !is_own && !self.access.may_change(payer, listing.added_by) {
                    return Verdict::Ignored("the entry is another's");
                }
                self.listings.remove(&delete.uid);
                Verdict::Counted
            }
            Operation::Migrate(migrate) if self.access.is_owner(payer) => {
                self.moved_to = Some(migrate.topic);
                Verdict::Counted
            }
            Operation::Migrate(_) => Verdict::Ignored("only the owner moves a registry"),
            Operation::ConnectionRequest(_)
            | Operation::ConnectionCreated(_)
            | Operation::InboundMessage(_)
            | Operation::RequestRecord(_)
            | Operation::CreatedRecord(_)
            | Operation::ClosedRecord(_)
            | Operation::OutboundMessage(_)
            | Operation::Message(_)
            | Operation::CloseConnection(_)
            | Operation::Transaction(_) => Verdict::Ignored("it says nothing about a registry"),
        }
    }

    /// Every listing, in the order of registration.
    pub fn listings(&self) -> impl Iterator<Item = &Listing> {
        self.listings.values()
    }

    /// The newest listing of an account that is believed.
    pub fn find(&self, account: AccountId) -> Option<&Listing> {
        let is_it = |listing: &&Listing| listing.account == account && listing.is_verified;
        self.listings.values().rev().find(is_it)
    }

    /// Where the registry is now, if it moved.
    pub const fn moved_to(&self) -> Option<TopicId> {
        self.moved_to
    }
}
