//! `inbox hcs profile …`: who an agent says that it is (HCS-11).

use clap::{Arg, Command};
use inbox_bridge::publish::{create_inbound, create_outbound, publish as put};
use inbox_bridge::{Inbound, peer};
use inbox_core::Refusal;
use inbox_hcs::{
    AccountMemo, AgentType, AiAgent, Capability, Hrl, Participant, Profile, ProfileKind,
    ProfileReference, TopicId,
};
use inbox_ops::Page;
use serde_json::json;

use super::ground::{Actor, Ground};
use super::{group, option, show as shown, word};
use crate::cli::Ended;
use crate::cli::args::read_body;

pub(super) fn commands() -> Vec<Command> {
    vec![
        group("profile", "Publish a profile, and read those of others")
            .subcommand(
                Command::new("show")
                    .about("Show the profile to which an account's memo leads")
                    .arg(
                        Arg::new("who")
                            .value_name("NAME|ACCOUNT")
                            .help("Whose; without it the agent that acts"),
                    ),
            )
            .subcommand(
                Command::new("publish")
                    .about("Make an agent of the account: its topics, its profile, its memo")
                    .long_about("Make an agent of the account: its topics, its profile, its memo\n\nTopics that it has are kept. The profile goes into a file on a topic of its own, to which the account's memo then leads.")
                    .arg(option("file", "FILE", "The profile as a document of HCS-11; - for standard input"))
                    .arg(option("display-name", "TEXT", "What it is called [default: its name here]"))
                    .arg(option("bio", "TEXT", "What it does"))
                    .arg(option("model", "TEXT", "Which model it is").default_value("unknown"))
                    .arg(option("capabilities", "N,N", "What it can do, by the numbers of HCS-11").default_value("0"))
                    .args(inbound_options()),
            )
            .subcommand(
                Command::new("resolve")
                    .about("Read the profile at a reference: an account's memo, a locator, or a topic")
                    .arg(word("reference", "REFERENCE", "Such as hcs-11:hcs://1/0.0.5, hcs://1/0.0.5 or 0.0.5")),
            ),
    ]
}

/// Who may write on a new inbound topic.
pub(super) fn inbound_options() -> [Arg; 2] {
    [
        option(
            "inbound",
            "WHO",
            "Who may ask it for a connection: public, controlled or fee",
        )
        .value_parser(["public", "controlled", "fee"])
        .default_value("public"),
        option("fee", "HBAR", "What each request costs, with --inbound fee"),
    ]
}

pub(super) fn show(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let id = match ground.text("who") {
        Some(who) => ground.account(&who)?,
        None => ground.actor()?.holder.account,
    };
    let mirror = ground.mirror();
    let found = peer::peer(&mirror, id)?;
    // A profile that names another's topic as its own is told as what it is.
    let trouble = match found.profile.inbound_topic {
        Some(_) => found.operator(&mirror).err().map(|refusal| refusal.message),
        None => None,
    };
    let mut page = described(&found.profile).line(format!("at       {}", found.reference));
    if let Some(trouble) = &trouble {
        page = page.line(format!("beware   {trouble}"));
    }
    for deviation in &found.deviations {
        page = page.line(format!("forgiven {}", shown::deviation_text(deviation)));
    }
    let body = json!({
        "account_id": id.to_string(),
        "reference": found.reference,
        "profile": shown::profile(&found.profile),
        "deviations": shown::deviations(&found.deviations),
        "trouble": trouble,
    });
    ground.answer(&body, &page)
}

fn described(profile: &Profile) -> Page {
    let mut page = Page::default().line(profile.display_name.clone());
    let mut say = |what: &str, text: Option<String>| {
        if let Some(text) = text {
            page = std::mem::take(&mut page).line(format!("{what:<8} {text}"));
        }
    };
    say("is", Some(profile.kind.profile_type().name().to_owned()));
    say("bio", profile.bio.clone());
    say("account", profile.base_account.map(|id| id.to_string()));
    say("inbound", profile.inbound_topic.map(|id| id.to_string()));
    say("outbound", profile.outbound_topic.map(|id| id.to_string()));
    page
}

pub(super) fn resolve(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let reference = ground.must("reference");
    let topic = topic_of(&reference)?;
    let (profile, deviations) = peer::profile(&ground.mirror(), topic)?;
    let mut page = described(&profile);
    for deviation in &deviations {
        page = page.line(format!("forgiven {}", shown::deviation_text(deviation)));
    }
    let body = json!({
        "reference": reference,
        "topic_id": topic.to_string(),
        "profile": shown::profile(&profile),
        "deviations": shown::deviations(&deviations),
    });
    ground.answer(&body, &page)
}

fn topic_of(reference: &str) -> Result<TopicId, Refusal> {
    let elsewhere = || {
        Refusal::input(format!("{reference:?} leads to no file on a topic"))
            .hint("inbox hcs profile show ACCOUNT reads the one that an account's memo names")
    };
    if let Ok(topic) = reference.parse() {
        return Ok(topic);
    }
    let hrl: Hrl = if reference.starts_with("hcs-11:") {
        let (memo, _) =
            AccountMemo::read(reference).map_err(|refused| Refusal::input(refused.to_string()))?;
        match memo.profile() {
            ProfileReference::Topic(hrl) => *hrl,
            ProfileReference::Elsewhere(_) => return Err(elsewhere()),
        }
    } else {
        reference
            .parse()
            .map_err(|refused: inbox_hcs::Refused| Refusal::input(refused.to_string()))?
    };
    if hrl.protocol == 1 {
        Ok(hrl.topic)
    } else {
        Err(elsewhere())
    }
}

pub(super) fn publish(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let actor = ground.actor()?;
    let profile = profile(ground, &actor)?;
    let inbound = inbound(ground)?;
    let net = ground.own_net(&actor)?;
    let Actor { name, mut holder } = actor;
    // What is made is kept at once, so that a second try does not pay for it again.
    let keep = |holder: &_| match &name {
        Some(name) => ground.keys()?.put(name, holder),
        None => Ok(()),
    };
    let outbound_topic = match holder.outbound {
        Some(topic) => topic,
        None => create_outbound(&net)?,
    };
    holder.outbound = Some(outbound_topic);
    keep(&holder)?;
    let inbound_topic = match holder.inbound {
        Some(topic) => topic,
        None => create_inbound(&net, inbound)?,
    };
    holder.inbound = Some(inbound_topic);
    keep(&holder)?;
    let me = Participant {
        account: holder.account,
        inbound_topic,
        outbound_topic,
    };
    let published = put(&net, me, profile)?;
    let page =
        described(&published.profile).line(format!("{:<8} hcs://1/{}", "at", published.file));
    let body = json!({
        "account_id": holder.account.to_string(),
        "inbound_topic_id": inbound_topic.to_string(),
        "outbound_topic_id": outbound_topic.to_string(),
        "reference": Hrl::file(published.file).to_string(),
        "profile": shown::profile(&published.profile),
    });
    ground.done(&net, &body, &page)
}

pub(super) fn inbound(ground: &Ground<'_>) -> Result<Inbound, Refusal> {
    let fee = ground.hbar("fee")?;
    match (ground.must("inbound").as_str(), fee) {
        ("fee", Some(fee)) => Ok(Inbound::Fee(fee)),
        ("fee", None) => Err(
            Refusal::input("what does a request cost? there is no --fee")
                .hint(format!("inbox {} --inbound fee --fee 2", ground.command())),
        ),
        (_, Some(_)) => Err(Refusal::input("--fee goes with --inbound fee")),
        ("controlled", None) => Ok(Inbound::Controlled),
        _ => Ok(Inbound::Public),
    }
}

fn profile(ground: &Ground<'_>, actor: &Actor) -> Result<Profile, Refusal> {
    if let Some(file) = ground.text("file") {
        let text = read_body(&file)?;
        let (profile, deviations) = Profile::read(text.as_bytes())
            .map_err(|refused| Refusal::input(format!("{file} is no profile: {refused}")))?;
        // What is ours to write is written as the standard says.
        let serious = deviations
            .iter()
            .find(|deviation| deviation.pointer != "/uaid");
        return match serious {
            None => Ok(profile),
            Some(deviation) => Err(Refusal::input(format!(
                "{file} is no good profile: {}",
                shown::deviation_text(deviation)
            ))),
        };
    }
    let own = actor.name.clone();
    let name = ground
        .text("display-name")
        .or(own)
        .ok_or_else(|| Refusal::input("what is it called? there is no --display-name"))?;
    let capabilities = ground.must("capabilities");
    let capabilities: Result<Vec<Capability>, Refusal> = capabilities
        .split(',')
        .map(|number| {
            let found = number.trim().parse().ok().and_then(Capability::from_code);
            found.ok_or_else(|| {
                Refusal::input(format!("{number:?} is no capability: they are 0 to 18"))
            })
        })
        .collect();
    let agent = AiAgent {
        agent_type: AgentType::Autonomous,
        capabilities: capabilities?,
        model: ground.must("model"),
        creator: None,
    };
    let mut profile = Profile::new(name, ProfileKind::AiAgent(agent));
    profile.bio = ground.text("bio");
    Ok(profile)
}
