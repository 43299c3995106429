//! Finding agents: who is on a registry, and what their profiles say. Nobody is believed who is not who it says.

use std::collections::BTreeSet;

use inbox_core::Refusal;
use inbox_hcs::{AccountId, Capability, OperatorId, Profile, ProfileKind, TopicId};
use inbox_hedera::mirror::Mirror;
use serde_json::Value;

use crate::{peer, registry};

/// What is looked for; what is empty matches everybody.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// A part of its name, in any case.
    pub name: Option<String>,
    /// One of these.
    pub capabilities: Vec<Capability>,
    /// A tag or a role.
    pub tag: Option<String>,
}

/// An agent that was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Who it is.
    pub operator: OperatorId,
    /// What it says of itself.
    pub profile: Profile,
}

/// One that could not be looked at.
#[derive(Debug, Clone)]
pub struct PassedOver {
    /// Its account.
    pub account: AccountId,
    /// Why.
    pub why: String,
}

/// What came of a search.
#[derive(Debug, Clone)]
pub struct Searched {
    /// Where the registry is.
    pub registry: TopicId,
    /// Who was found, in the order of registration.
    pub found: Vec<Found>,
    /// Whose profile cannot be read, or is not to be believed.
    pub passed_over: Vec<PassedOver>,
    /// How many more are listed than were looked at.
    pub left: usize,
}

/// Looks through a registry, at no more profiles than this.
pub fn search(
    mirror: &Mirror,
    first: TopicId,
    wanted: &Wanted,
    most: usize,
) -> Result<Searched, Refusal> {
    let listed = registry::list(mirror, first)?;
    let mut seen = BTreeSet::new();
    let listings = listed.directory.listings();
    // What a stranger says of an account is no listing of it.
    let accounts: Vec<AccountId> = listings
        .filter(|listing| listing.is_verified && seen.insert(listing.account))
        .map(|listing| listing.account)
        .collect();
    let mut searched = Searched {
        registry: listed.topic,
        found: Vec::new(),
        passed_over: Vec::new(),
        left: accounts.len().saturating_sub(most),
    };
    for account in accounts.into_iter().take(most) {
        match look(mirror, account) {
            Ok(found) if wanted.is(&found.profile) => searched.found.push(found),
            Ok(_) => {}
            Err(refusal) => searched.passed_over.push(PassedOver {
                account,
                why: refusal.message,
            }),
        }
    }
    Ok(searched)
}

fn look(mirror: &Mirror, account: AccountId) -> Result<Found, Refusal> {
    let peer = peer::peer(mirror, account)?;
    Ok(Found {
        operator: peer.operator(mirror)?,
        profile: peer.profile,
    })
}

impl Wanted {
    fn is(&self, profile: &Profile) -> bool {
        let named = |wanted: &String| {
            let wanted = wanted.to_lowercase();
            let own = property(profile, "name");
            let names = [Some(&profile.display_name), profile.alias.as_ref()];
            let mut names = names.into_iter().flatten().chain(own.iter());
            names.any(|name| name.to_lowercase().contains(&wanted))
        };
        let able = match &profile.kind {
            ProfileKind::AiAgent(agent) => agent
                .capabilities
                .iter()
                .any(|capability| self.capabilities.contains(capability)),
            _ => false,
        };
        let tagged = |wanted: &String| labels(profile).any(|label| label == *wanted);
        self.name.as_ref().is_none_or(named)
            && (self.capabilities.is_empty() || able)
            && self.tag.as_ref().is_none_or(tagged)
    }
}

fn property(profile: &Profile, key: &str) -> Vec<String> {
    let value = profile.properties.as_ref().and_then(|all| all.get(key));
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(list)) => list
            .iter()
            .filter_map(|one| one.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}

/// The tags and roles of a profile, those of an older text by their numbers.
pub fn labels(profile: &Profile) -> impl Iterator<Item = String> {
    let keys = ["tags", "roles", "role"];
    let named: Vec<String> = keys.iter().flat_map(|key| property(profile, key)).collect();
    let numbers: Vec<String> = profile.tags.iter().map(u64::to_string).collect();
    named.into_iter().chain(numbers)
}
