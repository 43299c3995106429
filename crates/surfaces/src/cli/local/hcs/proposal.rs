//! `inbox hcs propose`, `approve`, `reject`, `dismiss`: transactions that want a signature.

use std::io::{BufRead, IsTerminal};

use clap::{Arg, ArgAction, Command};
use inbox_bridge::Agent;
use inbox_bridge::agent::{Proposal, Transfer};
use inbox_core::{AgentName, Code, Refusal};
use inbox_ops::{Caller, Page};
use serde_json::{Value, json};

use super::ground::{Actor, Ground};
use super::{max_fee, option, word};
use crate::cli::{Ended, passphrase};

pub(super) fn commands() -> Vec<Command> {
    let connection = || word("connection", "CONNECTION", "The connection's topic");
    let message = || word("message", "NUMBER", "The proposal's number there");
    vec![
        Command::new("propose")
            .about("Propose a transaction that the other signs")
            .arg(connection())
            .arg(option("transfer", "FROM:TO:HBAR", "Who gives whom how much").required(true))
            .arg(option(
                "text",
                "TEXT",
                "What to say of it [default: what it does]",
            ))
            .arg(max_fee()),
        Command::new("approve")
            .about("Show what a proposal would do, ask, and sign it")
            .arg(connection())
            .arg(message())
            .arg(
                Arg::new("yes")
                    .long("yes")
                    .action(ArgAction::SetTrue)
                    .help("Sign without asking"),
            ),
        Command::new("reject")
            .about("Say no to a proposal")
            .arg(connection())
            .arg(message())
            .arg(option("reason", "TEXT", "Why").default_value("rejected"))
            .arg(max_fee()),
        Command::new("dismiss")
            .about("Hide a proposal here; the other is not told")
            .arg(connection())
            .arg(message()),
    ]
}

fn transfer(ground: &Ground<'_>) -> Result<Transfer, Refusal> {
    let text = ground.must("transfer");
    let mut parts = text.split(':');
    let (Some(from), Some(to), Some(amount), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Refusal::input(format!("{text:?} is no transfer"))
            .hint("write it as FROM:TO:HBAR, such as 0.0.1002:0.0.1003:10"));
    };
    Ok(Transfer {
        from: ground.account(from)?,
        to: ground.account(to)?,
        amount: amount.parse()?,
    })
}

pub(super) fn propose(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let topic = ground.topic("connection")?;
    let transfer = transfer(ground)?;
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let agent = ground.agent(&net, &actor)?;
    let (schedule, sequence) = agent.propose(topic, transfer, ground.text("text"))?;
    let page = Page::default().line(format!("{topic}  {sequence}  schedule {schedule}"));
    let body = json!({
        "topic_id": topic.to_string(),
        "sequence_number": sequence.get(),
        "schedule_id": schedule.to_string(),
    });
    ground.done(&net, &body, &page)
}

fn shown(proposal: &Proposal) -> Page {
    let mut page = Page::default().line(format!(
        "{} proposes schedule {}: {:?}",
        proposal.by, proposal.schedule, proposal.said
    ));
    page = page.line("it would:".to_owned());
    for line in &proposal.does {
        page = page.line(format!("  {line}"));
    }
    page
}

fn told(proposal: &Proposal) -> Value {
    json!({
        "topic_id": proposal.topic.to_string(),
        "sequence_number": proposal.sequence.get(),
        "proposed_by": proposal.by.to_string(),
        "schedule_id": proposal.schedule.to_string(),
        "text": proposal.said,
        "does": proposal.does,
    })
}

pub(super) fn approve(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let (topic, sequence) = (
        ground.topic("connection")?,
        ground.must_sequence("message")?,
    );
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let agent = Agent::new(&net, ground.participant(&actor)?);
    let proposal = agent.proposal(topic, sequence)?;
    let printer = ground.context.printer;
    if !printer.is_json() {
        printer.page(&shown(&proposal))?;
    }
    if !ground.is_set("yes") && !is_confirmed(ground, &proposal)? {
        let page = Page::default().line("nothing was signed".to_owned());
        return ground.answer(
            &json!({ "proposal": told(&proposal), "signed": false }),
            &page,
        );
    }
    must_be_a_person(ground, &actor, &proposal)?;
    let approved = agent.approve(proposal)?;
    let how = if approved.is_executed {
        "signed and carried out"
    } else {
        "signed; it waits for other signatures"
    };
    let body = json!({
        "proposal": told(&approved.proposal),
        "signed": true,
        "executed": approved.is_executed,
    });
    ground.answer(&body, &Page::default().line(how.to_owned()))
}

/// Once a person has a lock, a signature by hand takes her passphrase, as it does elsewhere. Where there is no store, nobody has one.
fn must_be_a_person(
    ground: &Ground<'_>,
    actor: &Actor,
    proposal: &Proposal,
) -> Result<(), Refusal> {
    let Some(inbox) = ground.store()? else {
        return Ok(());
    };
    let named = actor.name.as_deref().map(str::parse::<AgentName>);
    let caller = Caller::local(named.transpose()?);
    passphrase::with(&inbox, &caller, |caller| {
        inbox.must_sign(caller, proposal.sort, proposal.most)
    })
}

/// Asks the person at the terminal; without one there is nobody to ask.
fn is_confirmed(ground: &Ground<'_>, proposal: &Proposal) -> Result<bool, Refusal> {
    let printer = ground.context.printer;
    let is_person = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !is_person || printer.is_json() {
        return Err(Refusal::new(
            Code::InvalidInput,
            format!(
                "there is no terminal to ask on, and nothing was signed: it would {}",
                proposal.does.join("; ")
            ),
        )
        .detail("proposal", told(proposal))
        .hint("inbox hcs approve --yes signs without asking"));
    }
    printer.raw("sign this? [y/N] ")?;
    let mut line = String::new();
    let _ = std::io::stdin().lock().read_line(&mut line);
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

pub(super) fn reject(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let (topic, sequence) = (
        ground.topic("connection")?,
        ground.must_sequence("message")?,
    );
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let agent = ground.agent(&net, &actor)?;
    let proposal = agent.proposal(topic, sequence)?;
    let told_by = agent.reject(&proposal, &ground.must("reason"))?;
    ground.hide(&actor, format!("proposal {topic} {sequence}"))?;
    let page = Page::default().line(format!("{} was told no", proposal.by));
    let body = json!({ "proposal": told(&proposal), "sequence_number": told_by.get() });
    ground.done(&net, &body, &page)
}

pub(super) fn dismiss(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let (topic, sequence) = (
        ground.topic("connection")?,
        ground.must_sequence("message")?,
    );
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let agent = Agent::new(&net, ground.participant(&actor)?);
    let proposal = agent.proposal(topic, sequence)?;
    ground.hide(&actor, format!("proposal {topic} {sequence}"))?;
    let page = Page::default().line(format!("proposal {sequence} on {topic} is hidden here"));
    ground.answer(&json!({ "proposal": told(&proposal) }), &page)
}
