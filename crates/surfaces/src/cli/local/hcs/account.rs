//! `inbox hcs account …`: accounts, and the file that has their keys.

use clap::{Arg, ArgAction, Command};
use inbox_bridge::keys::Holder;
use inbox_bridge::{Hbar, peer};
use inbox_core::{AgentName, Code, Refusal};
use inbox_hedera::key::{Algorithm, PrivateKey};
use inbox_hedera::proto::Key;
use inbox_ops::{Cell, Page};
use serde_json::{Value, json};

use super::ground::Ground;
use super::{group, option, show as shown, word};
use crate::cli::Ended;
use crate::cli::args::read_body;

/// What a new account gets unless told otherwise.
const FIRST: &str = "100";

pub(super) fn commands() -> Vec<Command> {
    let name = || word("name", "NAME", "What the agent is called here");
    let who = || {
        Arg::new("who")
            .value_name("NAME|ACCOUNT")
            .help("Whose; without it the agent that acts")
    };
    vec![
        group("account", "Make accounts, and keep their keys")
            .subcommand(
                Command::new("create")
                    .about("Make an account, and keep its key under a name")
                    .arg(name())
                    .arg(option("hbar", "HBAR", "Give it so much").default_value(FIRST))
                    .arg(
                        Arg::new("ecdsa")
                            .long("ecdsa")
                            .action(ArgAction::SetTrue)
                            .help("Guard it by an ECDSA key and not by Ed25519"),
                    ),
            )
            .subcommand(
                Command::new("import")
                    .about("Keep the key of an account that there is")
                    .arg(name())
                    .arg(option("account", "ACCOUNT", "The account").required(true))
                    .arg(
                        option("key-file", "FILE", "Its private key; - for standard input")
                            .required(true),
                    ),
            )
            .subcommand(
                Command::new("show")
                    .about("Show an account and what it has")
                    .arg(who()),
            )
            .subcommand(Command::new("list").about("List the accounts whose keys are here"))
            .subcommand(
                Command::new("fund")
                    .about("Give an account more, from who pays for accounts here")
                    .arg(word("who", "NAME|ACCOUNT", "Who gets it"))
                    .arg(word("hbar", "HBAR", "How much")),
            )
            .subcommand(
                Command::new("reveal")
                    .about("Print the private key of an account")
                    .arg(name()),
            ),
    ]
}

fn agent_name(ground: &Ground<'_>) -> Result<String, Refusal> {
    let name: AgentName = ground.must("name").parse()?;
    Ok(name.to_string())
}

fn key_type(key: &PrivateKey) -> &'static str {
    match key.algorithm() {
        Algorithm::Ed25519 => "ed25519",
        Algorithm::Ecdsa => "ecdsa",
    }
}

fn told(name: &str, holder: &Holder) -> Result<Value, Refusal> {
    let public = holder
        .key
        .public()
        .map_err(|error| Refusal::new(Code::Internal, error.to_string()))?;
    Ok(json!({
        "name": name,
        "account_id": holder.account.to_string(),
        "key_type": key_type(&holder.key),
        "public_key": public.to_der(),
        "inbound_topic_id": holder.inbound.map(|id| id.to_string()),
        "outbound_topic_id": holder.outbound.map(|id| id.to_string()),
    }))
}

fn kept(ground: &Ground<'_>, name: &str, holder: &Holder) -> Result<Ended, Refusal> {
    let page = Page::default().line(format!("{}  {name}", holder.account));
    ground.answer(&json!({ "account": told(name, holder)? }), &page)
}

fn must_be_free(name: &str, taken: Option<Holder>) -> Result<(), Refusal> {
    match taken {
        None => Ok(()),
        Some(holder) => Err(Refusal::new(
            Code::AlreadyExists,
            format!("{name} has the account {} already", holder.account),
        )
        .hint(format!("inbox hcs account show {name}"))),
    }
}

pub(super) fn create(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let name = agent_name(ground)?;
    let balance = ground.hbar("hbar")?.unwrap_or_default();
    let algorithm = if ground.is_set("ecdsa") {
        Algorithm::Ecdsa
    } else {
        Algorithm::Ed25519
    };
    let (payer, payer_key) = ground.funder()?;
    let net = ground.net(payer, payer_key)?;
    let broken = |error: &dyn std::fmt::Display| Refusal::new(Code::Internal, error.to_string());
    let key = PrivateKey::generate(algorithm).map_err(|error| broken(&error))?;
    let public = key.public().map_err(|error| broken(&error))?;
    let mut keys = ground.keys()?;
    must_be_free(&name, keys.find(&name)?)?;
    // The key is kept before anything is paid for: an account whose key is lost is lost with what it has.
    keys.keep(&key)?;
    let account = net.create_account(Key::from(&public), balance)?;
    let holder = Holder {
        account,
        key,
        inbound: None,
        outbound: None,
        hidden: Vec::new(),
    };
    keys.put(&name, &holder)?;
    net.catch_up();
    kept(ground, &name, &holder)
}

pub(super) fn import(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let name = agent_name(ground)?;
    let text = read_body(&ground.must("key-file"))?;
    let key: PrivateKey = text
        .trim()
        .parse()
        .map_err(|error: inbox_hedera::key::KeyError| Refusal::input(error.to_string()))?;
    let account = ground.must("account");
    let account = account
        .parse()
        .map_err(|error: inbox_hcs::Refused| Refusal::input(error.to_string()))?;
    let facts = peer::account(&ground.mirror(), account)?;
    let public = key
        .public()
        .map_err(|error| Refusal::input(error.to_string()))?;
    let is_its_key = facts.key.is_some_and(|key| key.leaves().contains(&public));
    if !is_its_key {
        return Err(
            Refusal::new(Code::NotAllowed, format!("the key is not one of {account}")).hint(
                format!("inbox hcs account show {account} has its public key"),
            ),
        );
    }
    let mut keys = ground.keys()?;
    must_be_free(&name, keys.find(&name)?)?;
    let holder = Holder {
        account,
        key,
        inbound: None,
        outbound: None,
        hidden: Vec::new(),
    };
    keys.put(&name, &holder)?;
    kept(ground, &name, &holder)
}

pub(super) fn show(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let id = match ground.text("who") {
        Some(who) => ground.account(&who)?,
        None => ground.actor()?.holder.account,
    };
    let facts = peer::account(&ground.mirror(), id)?;
    let mut page = Page::default().line(format!("{id}  {}", shown::balance(&facts)));
    if let Some(key) = &facts.key {
        page = page.line(format!("key   {}", shown::key_text(key)));
    }
    if !facts.memo.is_empty() {
        page = page.line(format!("memo  {}", facts.memo));
    }
    ground.answer(&json!({ "account": shown::account(&facts) }), &page)
}

pub(super) fn list(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let keys = ground.keys()?;
    let mut list = Vec::new();
    let mut rows = Vec::new();
    for name in keys.names() {
        let holder = keys.get(name)?;
        list.push(told(name, &holder)?);
        rows.push(
            [
                name.to_owned(),
                holder.account.to_string(),
                key_type(&holder.key).to_owned(),
                holder.inbound.map(|id| id.to_string()).unwrap_or_default(),
            ]
            .map(Cell::Text)
            .to_vec(),
        );
    }
    let page = if rows.is_empty() {
        Page::default().line("no accounts; inbox hcs account create NAME makes one".to_owned())
    } else {
        Page::default().table(vec!["NAME", "ACCOUNT", "KEY", "INBOUND"], rows)
    };
    ground.answer(&json!({ "accounts": list }), &page)
}

pub(super) fn fund(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let to = ground.account(&ground.must("who"))?;
    let amount: Hbar = ground.must("hbar").parse()?;
    let (payer, key) = ground.funder()?;
    let net = ground.net(payer, key)?;
    net.transfer(to, amount)?;
    net.catch_up();
    let facts = peer::account(&ground.mirror(), to)?;
    let page = Page::default().line(format!("{to}  {}", shown::balance(&facts)));
    ground.answer(&json!({ "account": shown::account(&facts) }), &page)
}

pub(super) fn reveal(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let name = agent_name(ground)?;
    let holder = ground.keys()?.get(&name)?;
    let key = holder.key.reveal();
    let page = Page::default().line(key.as_str().to_owned());
    let body = json!({ "account_id": holder.account.to_string(), "private_key": key.as_str() });
    ground.answer(&body, &page)
}
