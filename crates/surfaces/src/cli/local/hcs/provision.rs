//! `inbox hcs provision`: agents of the roster get their place on the ledger, and the roster records it.

use std::sync::Arc;

use clap::{Arg, ArgAction, Command};
use inbox_bridge::provision::{Moment, Provisioned, Provisioner, Watch, is_there};
use inbox_core::{Agent, AgentKind, AgentName, Code, Label, Refusal};
use inbox_hedera::network::Network;
use inbox_ops::{AgentList, AgentSet, AgentShow, Caller, Cell, Inbox, Operation, Page};
use inbox_store::FailPoint;
use serde_json::{Value, json};

use super::ground::Ground;
use super::profile::{inbound, inbound_options};
use super::{max_fee, option};
use crate::cli::{Ended, far, find, operation};
use crate::far::Far;

/// What a new account gets unless told otherwise.
const FIRST: &str = "100";

pub(super) fn commands() -> Vec<Command> {
    let [who, fee] = inbound_options();
    vec![
        Command::new("provision")
            .about("Give agents of the roster an account, topics, a profile and an entry on the registry")
            .long_about("Give agents of the roster an account, topics, a profile and an entry on the registry\n\nThe agent is --agent. What it has is kept: a second time only what changed is written, such as the profile when the card did. If it is killed, the same command goes on, and nothing is made twice.")
            .arg(
                Arg::new("all")
                    .long("all")
                    .action(ArgAction::SetTrue)
                    .help("Every agent and person on the roster; one that fails does not stop the others"),
            )
            .arg(
                Arg::new("anew")
                    .long("anew")
                    .action(ArgAction::SetTrue)
                    .help("Make again what the network has not, as after inbox devnet reset; the store forgets what it read there. Not on a public network"),
            )
            .arg(who)
            .arg(fee)
            .arg(option("hbar", "HBAR", "Give a new account so much").default_value(FIRST))
            .arg(option(
                "registry",
                "TOPIC",
                "Which registry; INBOX_HEDERA_REGISTRY does too, else the one that was made last, else a new one",
            ))
            .arg(max_fee()),
    ]
}

/// The roster, in a store or behind a server.
enum Roster {
    Near(Arc<Inbox>),
    Far(Far),
}

impl Roster {
    fn open(ground: &Ground<'_>) -> Result<Self, Refusal> {
        Ok(match far::server(ground.context)? {
            Some(far) => Roster::Far(far),
            None => Roster::Near(Arc::new(operation::open(ground.context)?)),
        })
    }

    fn call<O: Operation>(&self, request: &O) -> Result<O::Answer, Refusal> {
        let caller = Caller::local(None);
        match self {
            Roster::Near(inbox) => request.run(inbox, &caller),
            Roster::Far(far) => far.call(request, &caller),
        }
    }

    fn agent(&self, name: &AgentName) -> Result<Agent, Refusal> {
        let request = AgentShow { slug: name.clone() };
        Ok(self.call(&request)?.agent)
    }

    /// What the store knows of a ledger that is no more is forgotten.
    fn begin_anew(&self) -> Result<(), Refusal> {
        match self {
            Roster::Near(inbox) => inbox.begin_ledger_anew(),
            Roster::Far(_) => Err(Refusal::input(
                "a server does not forget what it read on the ledger",
            )
            .hint("inbox hcs provision --anew --db PATH, where the server runs")),
        }
    }

    fn record(&self, agent: &Agent, done: &Provisioned) -> Result<(), Refusal> {
        match record(agent, done)? {
            Some(request) => self.call(&request).map(drop),
            None => Ok(()),
        }
    }

    /// A test may let the program die at every moment of a step.
    fn watch(&self) -> Option<Watch> {
        let Roster::Near(inbox) = self else {
            return None;
        };
        let inbox = Arc::clone(inbox);
        Some(Arc::new(move |moment| {
            inbox.store().reach(match moment {
                Moment::BeforeSend => FailPoint::LedgerBeforeSend,
                Moment::AfterSend => FailPoint::LedgerAfterSend,
                Moment::AfterReceipt => FailPoint::LedgerAfterReceipt,
                Moment::BeforeSave => FailPoint::LedgerBeforeSave,
            });
        }))
    }
}

/// What has to be changed on the roster for it to record what an agent has; nothing when it does.
pub(in crate::cli::local) fn record(
    agent: &Agent,
    done: &Provisioned,
) -> Result<Option<AgentSet>, Refusal> {
    let ids = [
        done.me.account.to_string(),
        done.me.inbound_topic.to_string(),
        done.me.outbound_topic.to_string(),
    ];
    let kept = [
        &agent.account_id,
        &agent.inbound_topic_id,
        &agent.outbound_topic_id,
    ];
    if kept
        .iter()
        .zip(&ids)
        .all(|(kept, id)| kept.as_ref() == Some(id))
    {
        return Ok(None);
    }
    let [account, inbound, outbound] = ids.map(|id| id.parse::<Label>());
    Ok(Some(AgentSet {
        slug: Some(agent.agent_id.clone()),
        account_id: Some(account?),
        inbound_topic_id: Some(inbound?),
        outbound_topic_id: Some(outbound?),
        ..AgentSet::default()
    }))
}

fn names(ground: &Ground<'_>, roster: &Roster) -> Result<Vec<AgentName>, Refusal> {
    if ground.is_set("all") {
        if let Some(agent) = &ground.context.agent_flag {
            return Err(
                Refusal::input(format!("--all and --agent {agent} name two sorts"))
                    .hint("pass one of them"),
            );
        }
        let listed = roster.call(&AgentList::default())?.agents.into_iter();
        return Ok(listed
            .filter(|agent| agent.kind != AgentKind::System)
            // Whoever is outside has an account already, and its key.
            .filter(|agent| agent.agent_id.account().is_none())
            .map(|agent| agent.agent_id)
            .collect());
    }
    match &ground.context.agent {
        Some(agent) => Ok(vec![agent.clone()]),
        None => Err(Refusal::input("which agent? there is no --agent, and no --all")
            .hint("inbox agent list shows who there is; inbox hcs provision --agent NAME provisions one")),
    }
}

/// Whether things may be made again: never where they cost something, and were paid for.
fn is_anew(ground: &Ground<'_>, network: &Network) -> Result<bool, Refusal> {
    let is_anew = ground.is_set("anew");
    if is_anew && network.is_public() {
        let name = &network.name;
        return Err(Refusal::input(format!(
            "{name} does not begin anew, and --anew would leave what was paid for there"
        ))
        .hint(
            "inbox hcs account list shows whose keys there are; --network names another network",
        ));
    }
    Ok(is_anew)
}

/// Forgets a ledger that is no more, if somebody on the roster is on it: the store's part of it, and everybody's account on the roster.
fn forget_old(
    ground: &Ground<'_>,
    roster: &Roster,
    names: &[AgentName],
    network: &Network,
) -> Result<(), Refusal> {
    let mirror = network.reader();
    for name in names {
        let account = roster.agent(name)?.account_id;
        let holder = ground.keys()?.find(name.as_str())?;
        let is_old = match (account, &holder) {
            (Some(_), Some(holder)) => match is_there(&mirror, name.as_str(), holder) {
                Ok(()) => false,
                Err(refusal) if refusal.code == Code::AccountNotFound => true,
                Err(refusal) => return Err(refusal),
            },
            _ => false,
        };
        if is_old {
            return roster.begin_anew();
        }
    }
    Ok(())
}

pub(super) fn provision(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let inbound = inbound(ground)?;
    let named = ground.text("registry");
    let registry = named.or_else(|| find::variable("INBOX_HEDERA_REGISTRY"));
    let registry = registry
        .map(|text| text.parse())
        .transpose()
        .map_err(|error: inbox_hcs::Refused| Refusal::input(error.to_string()))?;
    let roster = Roster::open(ground)?;
    let names = names(ground, &roster)?;
    let network = ground.booked();
    let provisioner = Provisioner {
        network: &network,
        funder: ground.patron(),
        balance: ground.hbar("hbar")?.unwrap_or_default(),
        inbound,
        registry,
        most: ground.max_fee()?,
        watch: roster.watch(),
        is_anew: is_anew(ground, &network)?,
    };
    if provisioner.is_anew {
        forget_old(ground, &roster, &names, &network)?;
    }
    let one = |name: &AgentName| {
        let agent = roster.agent(name)?;
        // Held for one agent, so that others get at their keys between two.
        let done = provisioner.provision(&mut ground.keys()?, &agent)?;
        roster.record(&agent, &done)?;
        Ok(done)
    };
    if !ground.is_set("all") {
        let mut shown = Shown::default();
        for name in &names {
            shown.done(name, &one(name)?);
        }
        return ground.answer(&json!({ "agents": shown.list }), &shown.page());
    }
    let mut shown = Shown::default();
    let mut worst: Option<Refusal> = None;
    for name in &names {
        match one(name) {
            Ok(done) => shown.done(name, &done),
            Err(refusal) => {
                shown.failed(name, &refusal);
                if worst
                    .as_ref()
                    .is_none_or(|worst| worst.code.exit() < refusal.code.exit())
                {
                    worst = Some(refusal);
                }
            }
        }
    }
    match worst {
        None => ground.answer(&json!({ "agents": shown.list }), &shown.page()),
        Some(refusal) => {
            ground.answer_in_part(&json!({ "agents": shown.list }), &shown.page(), &refusal)
        }
    }
}

/// What is said of each agent.
#[derive(Default)]
struct Shown {
    list: Vec<Value>,
    rows: Vec<Vec<Cell>>,
    failed: Vec<String>,
}

impl Shown {
    fn done(&mut self, name: &AgentName, done: &Provisioned) {
        let changes: Vec<&str> = done.changes.iter().map(|change| change.name()).collect();
        let what = if changes.is_empty() {
            "nothing, it is all there".to_owned()
        } else {
            changes.join(", ")
        };
        let me = done.me;
        self.rows.push(
            [
                name.to_string(),
                me.account.to_string(),
                me.inbound_topic.to_string(),
                me.outbound_topic.to_string(),
                format!("hcs://1/{}", done.profile),
                what,
            ]
            .map(Cell::Text)
            .to_vec(),
        );
        self.list.push(json!({
            "agent_id": name.as_str(),
            "account_id": me.account.to_string(),
            "inbound_topic_id": me.inbound_topic.to_string(),
            "outbound_topic_id": me.outbound_topic.to_string(),
            "profile": format!("hcs://1/{}", done.profile),
            "registry_topic_id": done.registry.to_string(),
            "uid": done.uid,
            "changes": changes,
        }));
    }

    fn failed(&mut self, name: &AgentName, refusal: &Refusal) {
        let Refusal { message, hint, .. } = refusal;
        self.failed.push(format!("{name}: {message}"));
        if !hint.is_empty() {
            self.failed.push(format!("  {hint}"));
        }
        self.list
            .push(json!({ "agent_id": name.as_str(), "error": refusal }));
    }

    fn page(&self) -> Page {
        let mut page = Page::default();
        if !self.rows.is_empty() {
            page = page.table(
                vec!["AGENT", "ACCOUNT", "INBOUND", "OUTBOUND", "PROFILE", "MADE"],
                self.rows.clone(),
            );
        }
        for line in &self.failed {
            page = page.line(line.clone());
        }
        if self.rows.is_empty() && self.failed.is_empty() {
            page = page.line("nobody is on the roster; inbox agent add NAME adds one".to_owned());
        }
        page
    }
}

impl Ground<'_> {
    /// Prints what was done, and fails by what was not.
    fn answer_in_part(
        &self,
        body: &Value,
        page: &Page,
        refusal: &Refusal,
    ) -> Result<Ended, Refusal> {
        let printer = self.context.printer;
        if printer.is_json() {
            let mut body = body.clone();
            body["error"] = json!(refusal);
            printer.object("hcs provision", false, &body)?;
        } else {
            printer.page(page)?;
        }
        Ok(Ended::Failed(refusal.code))
    }
}
