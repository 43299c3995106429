//! `proof`: a file that proves one message to whoever trusts its topic's hash.

use std::io::Write;
use std::path::Path;

use clap::{Arg, ArgMatches, Command};
use inbox_bridge::proof::make;
use inbox_core::{Code, MessageId, Refusal};
use serde_json::json;

use super::verify::{network, network_flag, store, written};
use crate::cli::{Context, Ended};

pub(super) fn describe(command: Command) -> Command {
    command
        .about("Write a file that proves one message: where it stands on the ledger, and every hash from there on")
        .long_about(
            "Write a file that proves one message: where it stands on the ledger, and every hash from there on\n\ninbox verify --proof checks it without store and network. It has this message, and of those after it no more than their hashes.",
        )
        .arg(
            Arg::new("message")
                .value_name("MESSAGE")
                .required(true)
                .help("The message, such as msg_7"),
        )
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("FILE")
                .help("Write it here, where nothing is yet [default: standard output]"),
        )
        .arg(
            Arg::new("topic")
                .long("topic")
                .value_name("TOPIC")
                .help("On which topic, where several have it"),
        )
        .arg(network_flag())
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let text = |id: &str| matches.get_one::<String>(id);
    let message: MessageId = text("message").cloned().unwrap_or_default().parse()?;
    let out = text("out");
    if let Some(out) = out.filter(|out| Path::new(out).exists()) {
        return Err(exists(out));
    }
    let inbox = store(context, "proof")?;
    let network = network(&inbox, matches)?;
    let proof = make(&inbox, &network, message, text("topic").map(String::as_str))?;
    let written = written(&proof)?;
    let Some(out) = out else {
        if context.printer.is_json() {
            let body = json!({ "proof": proof.write() });
            context.printer.object("proof", true, &body)?;
        } else {
            context.printer.raw(&written)?;
        }
        return Ok(Ended::Something);
    };
    let saved = inbox_store::private::file()
        .write(true)
        .create_new(true)
        .open(out)
        .and_then(|mut file| file.write_all(written.as_bytes()));
    match saved {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Err(exists(out)),
        Err(error) => {
            return Err(Refusal::new(
                Code::Storage,
                format!("{out} cannot be written: {error}"),
            ));
        }
    }
    let (topic, number, links) = (proof.topic, proof.said.sequence, proof.links.len());
    if context.printer.is_json() {
        let body = json!({
            "message_id": message,
            "topic_id": topic.to_string(),
            "sequence_number": number.get(),
            "links": links,
            "out": out,
        });
        context.printer.object("proof", true, &body)?;
    } else {
        let shown = inbox_core::text::visible(out, false);
        let word = if links == 1 { "link" } else { "links" };
        context.printer.raw(&format!(
            "{shown}  message {number} of {topic}, {links} {word}\ninbox verify --proof {shown} checks it\n"
        ))?;
    }
    Ok(Ended::Something)
}

fn exists(out: &str) -> Refusal {
    Refusal::new(Code::AlreadyExists, format!("{out} exists already"))
        .hint("inbox proof MESSAGE --out FILE names another; a proof never overwrites")
}
