//! `verify`: whether the store has what its topics have, or whether a proof holds.

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_bridge::compare::{Compared, Mismatch, Report, compare};
use inbox_bridge::proof;
use inbox_core::{Code, MessageId, Refusal};
use inbox_hcs::{Proof, Proven, Unproven};
use inbox_hedera::mirror::Mirror;
use inbox_hedera::network::Network;
use inbox_ops::ledger::{Check, Named};
use inbox_ops::{Inbox, Page};
use serde_json::{Value, json};

use super::{bridge, hcs};
use crate::cli::{Context, Ended, find, operation};

/// The largest proof that is read, in bytes.
const MOST: u64 = 64 * 1024 * 1024;

pub(super) fn describe(command: Command) -> Command {
    command
        .about("Compare the store with its topics, message by message, or check a proof")
        .long_about(
            "Compare the store with its topics, message by message, or check a proof\n\nEvery topic is read from its first message on, and its hashes are computed again. What the store has of it must be the same, in the same order, and nothing else; what waits in the outbox or is not taken in yet is no mismatch. Each mismatch is named, and the command ends with 20.\n\nWith --proof a file of inbox proof is checked without store and network; with --network beside it, its hash is compared with what that network's mirror has.",
        )
        .arg(
            Arg::new("topic")
                .long("topic")
                .value_name("TOPIC")
                .conflicts_with("all")
                .help("Only this topic"),
        )
        .arg(
            Arg::new("all")
                .long("all")
                .action(ArgAction::SetTrue)
                .help("Every topic that the store follows, which is also what happens without it"),
        )
        .arg(
            Arg::new("proof")
                .long("proof")
                .value_name("FILE")
                .conflicts_with_all(["topic", "all"])
                .help("Check this proof, offline; - for standard input"),
        )
        .arg(network_flag())
}

/// Which network to ask.
pub(super) fn network_flag() -> Arg {
    Arg::new("network")
        .long("network")
        .value_name("NAME|FILE")
        .help("Ask the mirror of this network [default: ledger.network]")
}

/// The store itself: a server does not say what it has kept of its topics.
pub(super) fn store(context: &Context, name: &str) -> Result<Inbox, Refusal> {
    if let Some(url) = find::server(context.db.as_deref()) {
        let shown = find::shown_server(&url);
        return Err(Refusal::input(format!(
            "{shown} is a server, and inbox {name} reads the store itself"
        ))
        .hint(format!(
            "inbox {name} --db PATH, where the server runs, or postgres://… of its database"
        )));
    }
    operation::open(context)
}

/// The network of the flag, else of the store.
pub(super) fn network(inbox: &Inbox, matches: &ArgMatches) -> Result<Network, Refusal> {
    match matches.get_one::<String>("network") {
        Some(name) => hcs::network(name),
        None => bridge::network(inbox),
    }
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    if let Some(file) = matches.get_one::<String>("proof") {
        let network = matches.get_one::<String>("network");
        let network = network.map(|name| hcs::network(name)).transpose()?;
        return offline(file, network.as_ref(), context);
    }
    let inbox = store(context, "verify")?;
    let network = network(&inbox, matches)?;
    let only = matches.get_one::<String>("topic");
    let is_whole = only.is_none() && matches.get_one::<String>("network").is_none();
    // The console shows when the whole was compared last. A store that cannot be written to can be compared all the same.
    let begun = is_whole.then(|| inbox.begin_check().ok()).flatten();
    let report = compare(&inbox, &network.reader(), only.map(String::as_str));
    if let Some(check) = begun {
        let _ = inbox.note_check(&concluded(&inbox, check, &report));
    }
    show(&report?, context)
}

/// What is written down of a comparison that has ended.
fn concluded(inbox: &Inbox, begun: Check, report: &Result<Report, Refusal>) -> Check {
    let ended_at = inbox.now().ok();
    match report {
        Err(refusal) => Check {
            ended_at,
            refused: Some(refusal.message.clone()),
            ..begun
        },
        Ok(report) => {
            let sum = |of: fn(&Compared) -> u64| report.topics.iter().map(of).sum();
            let named = report.mismatches.iter().map(|found| Named {
                message: found.message,
                topic: found.topic.clone(),
                what: found.what.clone(),
            });
            Check {
                ended_at,
                topics: u64::try_from(report.topics.len()).unwrap_or(u64::MAX),
                messages: sum(|one| one.messages),
                mail: sum(|one| one.mail),
                mismatches: report.count(),
                named: named.collect(),
                ..begun
            }
        }
    }
}

/// Compares the whole store with the ledger that it is on.
pub(crate) fn check(inbox: &Inbox, begun: Check) -> Check {
    let report = bridge::network(inbox).and_then(|network| compare(inbox, &network.reader(), None));
    concluded(inbox, begun, &report)
}

/// The proof of a message on the ledger that the store is on, as a file has it.
pub(crate) fn proof_of(inbox: &Inbox, message: MessageId) -> Result<String, Refusal> {
    let network = bridge::network(inbox)?;
    written(&proof::make(inbox, &network, message, None)?)
}

/// A proof as a file has it.
pub(super) fn written(proof: &Proof) -> Result<String, Refusal> {
    serde_json::to_string_pretty(&proof.write())
        .map(|text| text + "\n")
        .map_err(|error| Refusal::new(Code::Internal, error.to_string()))
}

fn show(report: &Report, context: &Context) -> Result<Ended, Refusal> {
    let count = report.count();
    let refusal = (count > 0).then(|| {
        let things = if count == 1 { "thing" } else { "things" };
        Refusal::new(
            Code::VerifyMismatch,
            format!("the store and the ledger differ in {count} {things}"),
        )
        .hint("inbox verify --network NAME asks another mirror; inbox backup keeps the store as it is")
    });
    if context.printer.is_json() {
        let mut body = json!({
            "topics": report.topics.iter().map(topic_value).collect::<Vec<_>>(),
            "mismatches": report.mismatches.iter().map(mismatch_value).collect::<Vec<_>>(),
            "more": report.more,
        });
        if let Some(refusal) = &refusal {
            body["error"] = json!(refusal);
        }
        context.printer.object("verify", refusal.is_none(), &body)?;
    } else {
        context.printer.page(&page(report, refusal.as_ref()))?;
    }
    Ok(refusal.map_or(Ended::Something, |refusal| Ended::Failed(refusal.code)))
}

fn page(report: &Report, refusal: Option<&Refusal>) -> Page {
    let mut page = Page::default();
    for one in &report.topics {
        let row = &one.topic;
        let id = row.topic.as_deref().unwrap_or_default();
        let (place, name) = (row.place.name(), &row.name);
        let hash = one.last.map(|(_, hash)| hash.to_string());
        let hash = hash.map_or("no hash".to_owned(), |hash| {
            hash.get(..16).unwrap_or_default().to_owned()
        });
        page = page.line(format!(
            "{id}  {place} {name}  {} messages up to {hash}, {} compared, {} of them mail",
            one.messages, one.records, one.mail
        ));
        if one.ahead > 0 {
            page = page.line(format!("{id}  {} not taken in yet", one.ahead));
        }
    }
    for found in &report.mismatches {
        page = page.line(line(found));
    }
    if report.more > 0 {
        page = page.line(format!("and {} more", report.more));
    }
    match refusal {
        Some(refusal) => page.line(format!("{}: {}", refusal.message, refusal.hint)),
        None if report.topics.is_empty() => {
            page.line("the store follows no topic; inbox hcs provision makes some".to_owned())
        }
        None => page.line("the store has what its topics have".to_owned()),
    }
}

/// A mismatch on one line.
fn line(found: &Mismatch) -> String {
    let mut text = found.difference.name().to_owned();
    let number = found.sequence.map(|number| format!("#{number}"));
    let message = found.message.map(|id| id.to_string());
    for part in [found.topic.clone(), number, message] {
        text.push_str(&part.map_or(String::new(), |part| format!(" {part}")));
    }
    format!("{text}  {}: {}", found.field, found.what)
}

fn topic_value(one: &Compared) -> Value {
    json!({
        "topic_id": one.topic.topic,
        "place": one.topic.place.name(),
        "name": one.topic.name,
        "messages": one.messages,
        "records": one.records,
        "mail": one.mail,
        "not_taken_in": one.ahead,
        "sequence_number": one.last.map(|(sequence, _)| sequence.get()),
        "running_hash": one.last.map(|(_, hash)| hash.to_string()),
    })
}

fn mismatch_value(found: &Mismatch) -> Value {
    json!({
        "kind": found.difference.name(),
        "field": found.field,
        "topic_id": found.topic,
        "sequence_number": found.sequence,
        "message_id": found.message,
        "uid": found.uid,
        "what": found.what,
    })
}

fn offline(file: &str, network: Option<&Network>, context: &Context) -> Result<Ended, Refusal> {
    let text = read(file)?;
    let broken = |unproven: &Unproven| {
        Refusal::new(
            Code::VerifyMismatch,
            format!("{file} proves nothing: {unproven}"),
        )
        .hint("inbox proof MESSAGE writes another, where the store is")
        .detail("field", unproven.field())
    };
    // What is no JSON was never a proof, and contradicts nothing.
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        Refusal::input(format!("{file} is not a proof: it is not JSON ({error})"))
            .hint("inbox proof MESSAGE writes one, where the store is")
    })?;
    let (proof, proven) = Proof::check(&value).map_err(|unproven| broken(&unproven))?;
    if let Some(network) = network {
        proof::compare(&Mirror::new(&network.mirror), &proof, &proven)?;
    }
    let is_compared = network.is_some();
    if context.printer.is_json() {
        context
            .printer
            .object("verify", true, &proof_value(&proof, &proven, is_compared))?;
    } else {
        context
            .printer
            .page(&proof_page(&proof, &proven, is_compared))?;
    }
    Ok(Ended::Something)
}

fn read(file: &str) -> Result<String, Refusal> {
    use std::io::Read;
    let cannot = |error: std::io::Error| {
        Refusal::input(format!("{file} cannot be read: {error}"))
            .hint("inbox verify --proof FILE, which inbox proof wrote")
    };
    let mut text = String::new();
    let read = if file == "-" {
        std::io::stdin().take(MOST + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|open| open.take(MOST + 1).read_to_string(&mut text))
    };
    read.map_err(cannot)?;
    if text.len() as u64 > MOST {
        return Err(
            Refusal::new(Code::TooLarge, format!("{file} has more than {MOST} bytes"))
                .hint("inbox proof MESSAGE writes less"),
        );
    }
    Ok(text)
}

const NOT_PROVEN: [&str; 3] = [
    "that the hash is the network's: compare it with a mirror that you trust, inbox verify --proof FILE --network NAME",
    "who is behind the account that paid: its profile and its keys say that",
    "what is under stored beside the fields of the Wire, and the names of the network and of the transaction",
];

fn proof_page(proof: &Proof, proven: &Proven, is_compared: bool) -> Page {
    let said = &proof.said;
    let mut page = Page::default()
        .line(format!(
            "message {} of {}, at {}, paid for by {}",
            said.sequence, proof.topic, said.time, said.payer
        ))
        .line(format!("uid      {}", text(&proof.stored, "uid")))
        .line(format!("from     {}", text(&proof.stored, "from_agent")))
        .line(format!("subject  {}", text(&proof.stored, "subject")))
        .line(format!(
            "It is on the topic, and nothing of it was changed, if the running hash of {} at message {} is",
            proof.topic, proven.anchor.sequence
        ))
        .line(format!("  {}", proven.anchor.hash));
    if let (Some(file), Some(anchor)) = (&proof.file, proven.file_anchor) {
        page = page
            .line(format!(
                "What it says is in a file, and that is the same if the running hash of {} at message {} is",
                file.topic, anchor.sequence
            ))
            .line(format!("  {}", anchor.hash));
    }
    if is_compared {
        page = page.line("The mirror has the same.".to_owned());
    }
    page = page.line("It does not prove:".to_owned());
    for what in NOT_PROVEN.iter().skip(usize::from(is_compared)) {
        page = page.line(format!("- {what}"));
    }
    page
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn proof_value(proof: &Proof, proven: &Proven, is_compared: bool) -> Value {
    let said = &proof.said;
    json!({
        "network": proof.network,
        "topic_id": proof.topic.to_string(),
        "sequence_number": said.sequence.get(),
        "consensus_timestamp": said.time.to_string(),
        "payer_account_id": said.payer.to_string(),
        "transaction_id": said.transaction,
        "wire": proven.wire,
        "stored": proof.stored,
        "proves": {
            "topic_id": proof.topic.to_string(),
            "sequence_number": proven.anchor.sequence,
            "running_hash": proven.anchor.hash.to_string(),
            "file_topic_id": proof.file.as_ref().map(|file| file.topic.to_string()),
            "file_sequence_number": proven.file_anchor.map(|anchor| anchor.sequence),
            "file_running_hash": proven.file_anchor.map(|anchor| anchor.hash.to_string()),
        },
        "compared_with_mirror": is_compared,
        "does_not_prove": NOT_PROVEN.iter().skip(usize::from(is_compared)).collect::<Vec<_>>(),
    })
}
