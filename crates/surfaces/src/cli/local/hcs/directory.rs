//! `inbox hcs directory`: agents on a registry, by what their profiles say.

use clap::{Arg, Command};
use inbox_bridge::directory::{Wanted, labels, search as look};
use inbox_core::Refusal;
use inbox_hcs::{Capability, Profile, ProfileKind};
use inbox_ops::{Cell, Page};
use serde_json::{Value, json};

use super::ground::Ground;
use super::{option, show as shown};
use crate::cli::Ended;

/// How many profiles are read unless told otherwise.
const MOST: &str = "100";

pub(super) fn commands() -> Vec<Command> {
    vec![
        Command::new("directory")
            .about("Find agents on a registry by name, capability or tag")
            .long_about("Find agents on a registry by name, capability or tag\n\nTheir profiles are read, and whose inbound topic is not its own is passed over, as is who has no profile that can be read; both are named.")
            .arg(option("name", "TEXT", "Whose name has this in it"))
            .arg(option("capability", "N|WORD", "Who can do this: a number of HCS-11, or a part of its name"))
            .arg(option("tag", "TAG", "Who has this tag or role"))
            .arg(super::registry::at())
            .arg(
                Arg::new("limit")
                    .long("limit")
                    .value_name("N")
                    .default_value(MOST)
                    .value_parser(crate::cli::local::whole::<u16>(1, 10_000))
                    .help("Read at most so many profiles"),
            ),
    ]
}

fn capabilities(text: &str) -> Result<Vec<Capability>, Refusal> {
    if let Some(found) = text.parse().ok().and_then(Capability::from_code) {
        return Ok(vec![found]);
    }
    let word = text.to_lowercase().replace(['-', ' '], "_");
    let all = Capability::ALL.iter().copied();
    let found: Vec<Capability> = all
        .filter(|capability| !word.is_empty() && capability.name().contains(&word))
        .collect();
    if found.is_empty() {
        let names: Vec<&str> = Capability::ALL.iter().map(|one| one.name()).collect();
        return Err(
            Refusal::input(format!("{text:?} is no capability: they are 0 to 18")).hint(format!(
                "inbox hcs directory --capability WORD, of {}",
                names.join(", ")
            )),
        );
    }
    Ok(found)
}

fn able(profile: &Profile) -> Vec<&'static str> {
    match &profile.kind {
        ProfileKind::AiAgent(agent) => agent.capabilities.iter().map(|one| one.name()).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn search(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let wanted = Wanted {
        name: ground.text("name"),
        capabilities: match ground.text("capability") {
            Some(text) => capabilities(&text)?,
            None => Vec::new(),
        },
        tag: ground.text("tag"),
    };
    let most = ground.matches.get_one::<u16>("limit").copied();
    let most = usize::from(most.unwrap_or(u16::MAX));
    let registry = super::registry::which(ground)?;
    let searched = look(&ground.mirror(), registry, &wanted, most)?;
    let mut rows = Vec::new();
    let mut agents: Vec<Value> = Vec::new();
    for found in &searched.found {
        let (operator, profile) = (found.operator, &found.profile);
        let labels: Vec<String> = labels(profile).collect();
        rows.push(
            [
                profile.display_name.clone(),
                operator.account.to_string(),
                operator.inbound_topic.to_string(),
                able(profile).join(", "),
                labels.join(", "),
            ]
            .map(Cell::Text)
            .to_vec(),
        );
        agents.push(json!({
            "account_id": operator.account.to_string(),
            "inbound_topic_id": operator.inbound_topic.to_string(),
            "profile": shown::profile(profile),
        }));
    }
    let is_found = !rows.is_empty();
    let mut page = Page::default();
    page = if is_found {
        page.table(vec!["NAME", "ACCOUNT", "INBOUND", "CAN", "TAGS"], rows)
    } else {
        page.line("nobody was found".to_owned())
    };
    for passed in &searched.passed_over {
        page = page.line(format!("passed over {}: {}", passed.account, passed.why));
    }
    if searched.left > 0 {
        let left = searched.left;
        page = page.line(format!(
            "{left} more were not looked at; --limit N reads more"
        ));
    }
    let passed: Vec<Value> = searched
        .passed_over
        .iter()
        .map(|passed| json!({ "account_id": passed.account.to_string(), "why": passed.why }))
        .collect();
    let body = json!({
        "registry_topic_id": searched.registry.to_string(),
        "agents": agents,
        "passed_over": passed,
        "left": searched.left,
    });
    let ended = ground.answer(&body, &page)?;
    Ok(if is_found { ended } else { Ended::Nothing })
}
