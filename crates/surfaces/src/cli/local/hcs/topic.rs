//! `inbox hcs topic …`: plain topics.

use clap::{Arg, ArgAction, Command};
use inbox_bridge::net::topic as topic_of;
use inbox_bridge::{Fees, publish};
use inbox_core::Refusal;
use inbox_hedera::proto::CreateTopicBody;
use inbox_ops::Page;
use serde_json::json;

use super::ground::Ground;
use super::{group, max_fee, option, show as shown, word};
use crate::cli::Ended;
use crate::cli::args::read_body;

pub(super) fn commands() -> Vec<Command> {
    let topic = || word("topic", "TOPIC", "The topic");
    let switch = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help(help)
    };
    vec![
        group(
            "topic",
            "Make topics, write on them, change and delete them",
        )
        .subcommand(
            Command::new("create")
                .about("Make a topic that the agent owns")
                .arg(option(
                    "memo",
                    "TEXT",
                    "Say what it is, in at most 100 bytes",
                ))
                .arg(switch("private", "Let only the agent's key write"))
                .arg(switch(
                    "fixed",
                    "Let nobody change or delete it, not even the agent",
                ))
                .arg(option(
                    "fee",
                    "HBAR",
                    "Take so much for the agent from everybody else who writes",
                )),
        )
        .subcommand(
            Command::new("show")
                .about("Show a topic, its keys and its fees")
                .arg(topic()),
        )
        .subcommand(
            Command::new("write")
                .about("Write a message on a topic")
                .arg(topic())
                .arg(Arg::new("text").value_name("TEXT").help("What to write"))
                .arg(option(
                    "file",
                    "FILE",
                    "Write what is in it; - for standard input",
                ))
                .arg(option("memo", "TEXT", "The memo of the transaction"))
                .arg(max_fee()),
        )
        .subcommand(
            Command::new("update")
                .about("Change a topic's memo, or who may write")
                .arg(topic())
                .arg(option("memo", "TEXT", "Its memo becomes this"))
                .arg(switch("private", "Let only the agent's key write")),
        )
        .subcommand(Command::new("delete").about("Delete a topic").arg(topic())),
    ]
}

pub(super) fn create(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let key = net.public_key()?;
    let mut body = CreateTopicBody {
        memo: ground.text("memo").unwrap_or_default(),
        admin_key: (!ground.is_set("fixed")).then(|| key.clone()),
        submit_key: ground.is_set("private").then(|| key.clone()),
        ..CreateTopicBody::default()
    };
    if let Some(fee) = ground.hbar("fee")? {
        publish::charge(&net, &mut body, fee)?;
    }
    let topic = net.create_topic(body)?;
    let page = Page::default().line(topic.to_string());
    ground.done(&net, &json!({ "topic_id": topic.to_string() }), &page)
}

pub(super) fn show(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let id = ground.topic("topic")?;
    let facts = topic_of(&ground.mirror(), id)?;
    let mut page = Page::default().line(format!("{id}  {}", facts.memo));
    let anybody = "anybody".to_owned();
    let key = |key: &Option<_>| key.as_ref().map(shown::key_text);
    let lines = [
        ("writes", key(&facts.submit_key).unwrap_or(anybody)),
        (
            "changes",
            key(&facts.admin_key).unwrap_or("nobody".to_owned()),
        ),
    ];
    for (what, who) in lines {
        page = page.line(format!("{what:<8} {who}"));
    }
    for fee in &facts.custom_fees {
        let fixed = fee.fixed_fee.unwrap_or_default();
        let to = fee.fee_collector_account_id.clone().unwrap_or_default();
        let amount = match fixed.denominating_token_id {
            None => inbox_bridge::Hbar::from_tinybars(fixed.amount).to_string(),
            Some(token) => format!("{} of token 0.0.{}", fixed.amount, token.num),
        };
        page = page.line(format!("{:<8} {amount} to {to}", "takes"));
    }
    ground.answer(&json!({ "topic": shown::topic(id, &facts) }), &page)
}

pub(super) fn write(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let topic = ground.topic("topic")?;
    let text = body(ground)?;
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let memo = ground.text("memo").unwrap_or_default();
    let fees = Fees::UpTo(ground.max_fee()?);
    let sequence = net.write(topic, text.as_bytes(), &memo, fees)?;
    let page = Page::default().line(format!("{topic}  {sequence}"));
    let body = json!({ "topic_id": topic.to_string(), "sequence_number": sequence.get() });
    ground.done(&net, &body, &page)
}

/// What to write: an argument, or a file, never both.
pub(super) fn body(ground: &Ground<'_>) -> Result<String, Refusal> {
    match (ground.text("text"), ground.text("file")) {
        (Some(text), None) => Ok(text),
        (None, Some(file)) => read_body(&file),
        (None, None) => Err(Refusal::input("there is nothing to say")
            .hint("give the text as an argument, or --file FILE")),
        (Some(_), Some(_)) => Err(Refusal::input(
            "the text is given twice: as an argument and by --file",
        )),
    }
}

pub(super) fn update(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let topic = ground.topic("topic")?;
    let (memo, is_private) = (ground.text("memo"), ground.is_set("private"));
    if memo.is_none() && !is_private {
        return Err(Refusal::input("there is nothing to change")
            .hint("inbox hcs topic update TOPIC --memo TEXT"));
    }
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let key = is_private.then(|| net.public_key()).transpose()?;
    net.update_topic(topic, memo, key)?;
    net.catch_up();
    show(ground)
}

pub(super) fn delete(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let topic = ground.topic("topic")?;
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    net.delete_topic(topic)?;
    let page = Page::default().line(format!("{topic} is gone"));
    ground.done(&net, &json!({ "topic_id": topic.to_string() }), &page)
}
