//! Other agents: what an account says of itself, and where it is heard.

use inbox_core::{Code, Refusal};
use inbox_hcs::{
    AccountId, AccountMemo, Deviation, OperatorId, Profile, ProfileReference, TopicId, TopicMemo,
};
use inbox_hedera::mirror::{AccountFacts, Mirror};

use crate::file;
use crate::net::topic;
use crate::told::{Told, unreadable};

/// The standard under which a file is kept.
const FILE: u16 = 1;

/// An account with its profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    /// The account.
    pub account: AccountFacts,
    /// Where its profile is.
    pub reference: String,
    /// What it says.
    pub profile: Profile,
    /// What was forgiven in it.
    pub deviations: Vec<Deviation>,
}

/// An account that must be there.
pub fn account(mirror: &Mirror, id: AccountId) -> Result<AccountFacts, Refusal> {
    let found = mirror.account(id).told()?;
    found.ok_or_else(|| {
        Refusal::new(Code::AccountNotFound, format!("there is no account {id}"))
            .hint("inbox hcs account create NAME makes one")
    })
}

/// The account's profile, as its memo says where that is.
pub fn peer(mirror: &Mirror, id: AccountId) -> Result<Peer, Refusal> {
    let account = account(mirror, id)?;
    let none = |why: String| {
        Refusal::new(
            Code::AgentNotFound,
            format!("account {id} has no profile that can be read: {why}"),
        )
        .hint("inbox hcs profile publish writes one, by whoever has the account's key")
    };
    let (memo, _) =
        AccountMemo::read(&account.memo).map_err(|refused| none(refused.to_string()))?;
    let reference = memo.profile().to_string();
    let topic = match memo.profile() {
        ProfileReference::Topic(hrl) if hrl.protocol == FILE => hrl.topic,
        _ => {
            return Err(none(format!(
                "it is at {reference}, and not in a file on a topic"
            )));
        }
    };
    let (profile, deviations) = profile(mirror, topic)?;
    Ok(Peer {
        account,
        reference,
        profile,
        deviations,
    })
}

/// The profile in a file on a topic.
pub fn profile(mirror: &Mirror, topic: TopicId) -> Result<(Profile, Vec<Deviation>), Refusal> {
    let file = file::get(mirror, topic)?;
    Profile::read(&file.content)
        .map_err(|refused| unreadable(&format!("the profile on {topic}"), &refused))
}

impl Peer {
    /// Who it is to others: its inbound topic, which must be its own, and its account.
    pub fn operator(&self, mirror: &Mirror) -> Result<OperatorId, Refusal> {
        let account = self.account.id;
        let Some(inbound_topic) = self.profile.inbound_topic else {
            return Err(Refusal::new(
                Code::AgentNotFound,
                format!("the profile of {account} names no inbound topic"),
            ));
        };
        let facts = topic(mirror, inbound_topic)?;
        // A profile could name a topic that belongs to somebody else.
        let owner = match TopicMemo::read(&facts.memo) {
            Ok((TopicMemo::Inbound { account, .. }, _)) => Some(account),
            _ => None,
        };
        if owner != Some(account) {
            let memo = &facts.memo;
            return Err(Refusal::new(
                Code::InvalidWire,
                format!(
                    "the profile of {account} names {inbound_topic} as its inbound topic, whose memo is {memo:?}"
                ),
            ));
        }
        Ok(OperatorId {
            inbound_topic,
            account,
        })
    }

    /// Where it records what it does.
    pub fn outbound_topic(&self) -> Result<TopicId, Refusal> {
        let account = self.account.id;
        self.profile.outbound_topic.ok_or_else(|| {
            Refusal::new(
                Code::AgentNotFound,
                format!("the profile of {account} names no outbound topic"),
            )
        })
    }
}
