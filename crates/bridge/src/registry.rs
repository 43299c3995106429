//! Registries of agents: who is listed, and how to get on the list and off it.

use std::ops::ControlFlow;

use inbox_core::{Code, Refusal};
use inbox_hcs::{
    Access, AccountId, Delete, Directory, MAX_MIGRATIONS, Migrate, MigrationChain, Operation,
    Place, Register, Sequence, TopicId, TopicMemo, Ttl, read,
};
use inbox_hedera::mirror::{Mirror, TopicFacts};
use inbox_hedera::proto::{CreateTopicBody, Key};

use crate::net::{Fees, Net, topic};
use crate::publish::charge;
use crate::told::{Told, unreadable};
use crate::{Hbar, history};

/// Makes a registry that the payer owns; with a fee it takes that from everybody else.
pub fn create(net: &Net, fee: Option<Hbar>) -> Result<TopicId, Refusal> {
    net.create_topic(registry_of(net, fee)?)
}

/// Such a topic.
pub(crate) fn registry_of(net: &Net, fee: Option<Hbar>) -> Result<CreateTopicBody, Refusal> {
    let memo = TopicMemo::AgentRegistry {
        ttl: Ttl::DAY,
        metadata: None,
    };
    let mut body = CreateTopicBody {
        memo: memo.to_string(),
        admin_key: Some(net.public_key()?),
        ..CreateTopicBody::default()
    };
    if let Some(fee) = fee {
        charge(net, &mut body, fee)?;
    }
    Ok(body)
}

/// A registry as it stands.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Where it is, after it was followed to where it moved.
    pub topic: TopicId,
    /// How often it moved on the way.
    pub moves: usize,
    /// Who is on it.
    pub directory: Directory,
}

/// Reads a registry, and follows it where it moved.
pub fn list(mirror: &Mirror, first: TopicId) -> Result<Listed, Refusal> {
    let mut chain = MigrationChain::new(first);
    let mut at = first;
    let mut moves = 0;
    loop {
        let facts = topic(mirror, at)?;
        must_be_registry(at, &facts)?;
        let access = if facts.submit_key.is_some() {
            Access::Guarded
        } else {
            Access::Open {
                owner: owner(mirror, &facts)?,
            }
        };
        let mut directory = Directory::new(access);
        history::messages(mirror, at, None, |said| {
            // What cannot be read says nothing.
            if let Ok((operation, _)) = read(&said.bytes, Place::Registry) {
                directory.apply(said.sequence, said.payer, &operation);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let Some(next) = directory.moved_to() else {
            return Ok(Listed {
                topic: at,
                moves,
                directory,
            });
        };
        chain
            .follow(next)
            .map_err(|refused| unreadable(&format!("the registry {first}"), &refused))?;
        at = next;
        moves += 1;
    }
}

/// Who may move a registry that anybody writes on: the oldest account that its admin key alone guards.
fn owner(mirror: &Mirror, facts: &TopicFacts) -> Result<Option<AccountId>, Refusal> {
    match facts.admin_key.as_ref().and_then(Key::leaf) {
        Some(key) => mirror.account_of(&key).told(),
        None => Ok(None),
    }
}

/// Moves a registry that the payer owns: whoever reads it goes on at the other, which must be one, too.
pub fn migrate(
    net: &Net,
    from: TopicId,
    to: TopicId,
    memo: Option<String>,
) -> Result<(TopicId, Sequence), Refusal> {
    let mirror = net.mirror();
    must_be_registry(to, &topic(mirror, to)?)?;
    let listed = list(mirror, from)?;
    let (at, me) = (listed.topic, net.account());
    let facts = topic(mirror, at)?;
    if facts.submit_key.is_none() {
        let owner = owner(mirror, &facts)?;
        if owner != Some(me) {
            let whose = owner.map_or("nobody's".to_owned(), |owner| format!("{owner}'s"));
            return Err(Refusal::new(
                Code::NotAllowed,
                format!("the registry {at} is {whose}, and {me} may not move it"),
            )
            .hint(format!("inbox hcs topic show {at} names its key")));
        }
    }
    // Whoever follows must arrive, and not come back.
    let onwards = list(mirror, to)?.topic;
    if at == to || at == onwards {
        return Err(Refusal::input(format!(
            "{to} leads back to {at}, and a registry does not move to itself"
        )));
    }
    if listed.moves >= MAX_MIGRATIONS {
        return Err(Refusal::new(
            Code::InvalidTransition,
            format!(
                "the registry {from} has moved {MAX_MIGRATIONS} times, and nobody follows further"
            ),
        )
        .hint("inbox hcs register --registry NEW lists an agent there"));
    }
    let operation = Operation::Migrate(Migrate {
        place: Place::Registry,
        topic: to,
        memo,
    });
    let sequence = net.operate(at, &operation, Fees::None)?;
    Ok((at, sequence))
}

fn must_be_registry(id: TopicId, facts: &TopicFacts) -> Result<(), Refusal> {
    match TopicMemo::read(&facts.memo) {
        Ok((TopicMemo::AgentRegistry { .. } | TopicMemo::Registry { .. }, _)) => Ok(()),
        _ => {
            let memo = &facts.memo;
            Err(
                Refusal::input(format!("{id} is no registry: its memo is {memo:?}"))
                    .hint("inbox hcs registry create makes one"),
            )
        }
    }
}

/// Puts the payer on a registry: the number of the entry.
pub fn register(
    net: &Net,
    registry: TopicId,
    memo: Option<String>,
    most: Hbar,
) -> Result<Sequence, Refusal> {
    let listed = list(net.mirror(), registry)?;
    let me = net.account();
    if let Some(found) = listed.directory.find(me) {
        let uid = found.uid;
        return Err(Refusal::new(
            Code::AlreadyExists,
            format!("{me} is on the registry {registry} already, as entry {uid}"),
        )
        .hint("inbox hcs deregister takes it off"));
    }
    let operation = Operation::Register(Register { account: me, memo });
    net.operate(listed.topic, &operation, Fees::UpTo(most))
}

/// Takes the payer off a registry: the entries that are gone.
pub fn deregister(net: &Net, registry: TopicId, most: Hbar) -> Result<Vec<Sequence>, Refusal> {
    let listed = list(net.mirror(), registry)?;
    let me = net.account();
    let mine = |listing: &&inbox_hcs::Listing| listing.account == me && listing.is_verified;
    let entries: Vec<Sequence> = listed
        .directory
        .listings()
        .filter(mine)
        .map(|listing| listing.uid)
        .collect();
    if entries.is_empty() {
        return Err(not_listed(me, registry));
    }
    for uid in &entries {
        let operation = Operation::Delete(Delete {
            uid: *uid,
            memo: None,
        });
        net.operate(listed.topic, &operation, Fees::UpTo(most))?;
    }
    Ok(entries)
}

fn not_listed(account: AccountId, registry: TopicId) -> Refusal {
    Refusal::new(
        Code::AgentNotFound,
        format!("{account} is not on the registry {registry}"),
    )
    .hint("inbox hcs registry lists who is")
}
