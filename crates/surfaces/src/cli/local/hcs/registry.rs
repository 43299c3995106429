//! `inbox hcs register`, `deregister`, `registry`: lists of agents.

use clap::{Arg, Command};
use inbox_bridge::registry;
use inbox_core::Refusal;
use inbox_hcs::TopicId;
use inbox_ops::{Cell, Page};
use serde_json::{Value, json};

use super::ground::Ground;
use super::{max_fee, option, word};
use crate::cli::{Ended, find};

pub(super) fn at() -> Arg {
    option(
        "registry",
        "TOPIC",
        "Which registry; INBOX_HEDERA_REGISTRY does too, else the one that was made last",
    )
}

pub(super) fn commands() -> Vec<Command> {
    vec![
        Command::new("register")
            .about("Put the agent on a registry")
            .arg(at())
            .arg(option("memo", "TEXT", "A remark"))
            .arg(max_fee()),
        Command::new("deregister")
            .about("Take the agent off a registry")
            .arg(at())
            .arg(max_fee()),
        Command::new("registry")
            .about("List who is on a registry, make one, or move it")
            .disable_help_subcommand(true)
            .arg(
                Arg::new("registry")
                    .value_name("TOPIC")
                    .help("Which registry"),
            )
            .subcommand(
                Command::new("create")
                    .about("Make a registry that the agent owns")
                    .arg(option(
                        "fee",
                        "HBAR",
                        "Take so much from everybody who registers",
                    )),
            )
            .subcommand(
                Command::new("migrate")
                    .about("Move a registry that the agent owns: whoever reads it goes on at the new one")
                    .arg(word("new", "NEW", "Where it goes, which must be a registry"))
                    .arg(at())
                    .arg(option("memo", "TEXT", "A remark")),
            ),
    ]
}

pub(super) fn which(ground: &Ground<'_>) -> Result<TopicId, Refusal> {
    let named = ground.text("registry");
    let named = named.or_else(|| find::variable("INBOX_HEDERA_REGISTRY"));
    match named {
        Some(text) => text
            .parse()
            .map_err(|error: inbox_hcs::Refused| Refusal::input(error.to_string())),
        None => ground.keys()?.registry().ok_or_else(|| {
            Refusal::input("which registry? none was made here")
                .hint("inbox hcs registry create makes one; --registry TOPIC names one")
        }),
    }
}

pub(super) fn create(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let topic = registry::create(&net, ground.hbar("fee")?)?;
    ground.keys()?.set_registry(topic)?;
    let page = Page::default().line(topic.to_string());
    ground.done(
        &net,
        &json!({ "registry_topic_id": topic.to_string() }),
        &page,
    )
}

pub(super) fn register(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let registry = which(ground)?;
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let uid = registry::register(&net, registry, ground.text("memo"), ground.max_fee()?)?;
    let account = net.account();
    let page = Page::default().line(format!("{account} is entry {uid} of {registry}"));
    let body = json!({
        "registry_topic_id": registry.to_string(),
        "account_id": account.to_string(),
        "uid": uid.get(),
    });
    ground.done(&net, &body, &page)
}

pub(super) fn deregister(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let registry = which(ground)?;
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let gone = registry::deregister(&net, registry, ground.max_fee()?)?;
    if let Some(name) = &actor.name {
        ground.keys()?.deregistered(name)?;
    }
    let account = net.account();
    let uids: Vec<u64> = gone.iter().map(|uid| uid.get()).collect();
    let page = Page::default().line(format!("{account} is off {registry}"));
    let body = json!({
        "registry_topic_id": registry.to_string(),
        "account_id": account.to_string(),
        "uids": uids,
    });
    ground.done(&net, &body, &page)
}

pub(super) fn migrate(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let (from, to) = (which(ground)?, ground.topic("new")?);
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let (at, sequence) = registry::migrate(&net, from, to, ground.text("memo"))?;
    let mut keys = ground.keys()?;
    if keys.registry() == Some(from) {
        keys.set_registry(to)?;
    }
    drop(keys);
    let page = Page::default().line(format!("{at} has moved to {to}"));
    let body = json!({
        "registry_topic_id": at.to_string(),
        "moved_to": to.to_string(),
        "sequence_number": sequence.get(),
    });
    ground.done(&net, &body, &page)
}

pub(super) fn list(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let registry = which(ground)?;
    let listed = registry::list(&ground.mirror(), registry)?;
    let mut rows = Vec::new();
    let mut entries: Vec<Value> = Vec::new();
    for listing in listed.directory.listings() {
        let standing = if listing.is_verified {
            ""
        } else {
            "unverified"
        };
        rows.push(
            [
                listing.uid.to_string(),
                listing.account.to_string(),
                standing.to_owned(),
                listing.memo.clone().unwrap_or_default(),
            ]
            .map(Cell::Text)
            .to_vec(),
        );
        entries.push(json!({
            "uid": listing.uid.get(),
            "account_id": listing.account.to_string(),
            "memo": listing.memo,
            "added_by": listing.added_by.to_string(),
            "verified": listing.is_verified,
        }));
    }
    let page = if rows.is_empty() {
        Page::default().line("nobody is registered".to_owned())
    } else {
        Page::default().table(vec!["ENTRY", "ACCOUNT", "", "MEMO"], rows)
    };
    let body = json!({ "registry_topic_id": listed.topic.to_string(), "entries": entries });
    ground.answer(&body, &page)
}
