//! Typed messages: payloads that are Wires are checked when they are written, and results against the brief.

use inbox_core::lifecycle::Command;
use inbox_core::sabotage::planted;
use inbox_core::{AgentName, Code, Refusal};
use inbox_store::{Abort, NewMessage, ThreadRow, Tx, private};
use inbox_wire::{
    Brief, Complete, Mechanical, Outputs, Payload, Problem, Semantic, Verification, Wire,
};
use serde_json::Value;

use crate::call::Inbox;
use crate::config::Config;

/// Reads JSON as strictly as everything that is kept: no key twice, no depth without end.
pub fn decode_json(text: &str) -> Result<Value, Refusal> {
    inbox_wire::decode_payload(text).map_err(|problem| Refusal::input(problem.to_string()))
}

/// The same of a whole request, whose size was checked where it came in.
pub fn decode_request(text: &str) -> Result<Value, Refusal> {
    inbox_wire::decode_request(text).map_err(|problem| Refusal::input(problem.to_string()))
}

/// The refusal that names every problem.
pub fn refusal(code: Code, what: &str, problems: &[Problem]) -> Refusal {
    let code = if inbox_wire::is_unknown_version(problems) {
        Code::UnknownVersion
    } else {
        code
    };
    let first = problems
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    let more = match problems.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let list = serde_json::to_value(problems).unwrap_or_default();
    let hint = match code {
        Code::UnknownVersion => "this program knows version 1.0; a newer one may know more",
        Code::ContractUnmet => {
            "meet the output contract of the brief, or say why not with inbox fail"
        }
        _ => "inbox wire new TYPE prints a good one; inbox wire schema TYPE prints the rules",
    };
    Refusal::new(code, format!("{what}: {first}{more}"))
        .hint(hint)
        .detail("problems", list)
}

/// The payload as a Wire, if it says that it is one.
pub(crate) fn wire(payload: &Value) -> Result<Option<Wire>, Refusal> {
    if payload.get("wire").is_none() {
        return Ok(None);
    }
    inbox_wire::parse(payload)
        .map(Some)
        .map_err(|problems| refusal(Code::InvalidWire, "the Wire breaks its rules", &problems))
}

/// Refuses a Wire that says to be a person's, from somebody who is none: it would be exported as theirs.
pub(crate) fn must_not_pass_for_human(
    tx: &mut Tx<'_>,
    agent: &AgentName,
    message: &NewMessage,
) -> Result<(), Abort> {
    let is_humans =
        message.payload_json.get("wire").is_some() && message.payload_json["sender"] == "human";
    if !is_humans || crate::lock::is_person(tx, agent)? {
        return Ok(());
    }
    let problem = Problem::new("/sender", format!("is human, and {agent} is sending"));
    Err(
        refusal(Code::InvalidWire, "the Wire is somebody else's", &[problem])
            .hint(
                "set sender to your own name; a person sends under the name that is on the roster",
            )
            .into(),
    )
}

/// The brief that a Wire must be. What it asks for must exist: nobody could finish it otherwise.
pub(crate) fn brief(config: &Config, json: &Value) -> Result<Brief, Refusal> {
    let found = inbox_wire::parse(json)
        .map_err(|problems| refusal(Code::InvalidWire, "the brief breaks its rules", &problems))?;
    let Payload::Brief(brief) = found.payload() else {
        return Err(Refusal::new(
            Code::InvalidWire,
            format!(
                "the Wire is a {}, where a brief is meant",
                found.wire_type()
            ),
        )
        .hint("inbox wire new brief prints one to fill in"));
    };
    if let Some(slug) = &brief.output_contract.schema_ref
        && contract(config, slug)?.is_none()
    {
        let problem = Problem::new(
            "/payload/output_contract/schema_ref",
            format!("there is no contract {slug:?}"),
        );
        return Err(
            refusal(Code::InvalidWire, "the brief breaks its rules", &[problem]).hint(format!(
                "put it beside the store as contracts/{slug}.json, or name one that is shipped"
            )),
        );
    }
    Ok(brief.clone())
}

/// The brief that opened a thread.
pub(crate) fn brief_of(tx: &mut Tx<'_>, row: &ThreadRow) -> Result<Option<Brief>, Abort> {
    let opening = tx.opening_payload(row.thread.thread_id)?;
    let Some(payload) = opening.filter(|payload| payload["type"] == "brief") else {
        return Ok(None);
    };
    // What was kept was good when it was written.
    Ok(match inbox_wire::parse(&payload).map(Wire::into_payload) {
        Ok(Payload::Brief(brief)) => Some(brief),
        _ => None,
    })
}

/// Holds a step to what it says: a `complete` Wire finishes, a `blocked` one asks or gives up, and what is
/// finished meets the contract of the brief.
pub(crate) fn check_step(
    tx: &mut Tx<'_>,
    config: &Config,
    agent: &AgentName,
    row: &ThreadRow,
    command: Command,
    message: &NewMessage,
) -> Result<(), Abort> {
    let given = wire(&message.payload_json)?.map(Wire::into_payload);
    let fits = match (command, &given) {
        (_, None) => true,
        (Command::Finish, Some(given)) => matches!(given, Payload::Complete(_)),
        (Command::Block, Some(given)) => matches!(given, Payload::Blocked(_)),
        (Command::Fail, Some(given)) => {
            matches!(given, Payload::Blocked(_) | Payload::Complete(_))
        }
        _ => true,
    };
    if !fits {
        let step = match command {
            Command::Finish => "done takes a complete one",
            Command::Block => "update --status blocked takes a blocked one",
            _ => "fail takes a blocked or a complete one",
        };
        let found = message.payload_json["type"].as_str().unwrap_or_default();
        return Err(Refusal::new(
            Code::InvalidWire,
            format!("the Wire is of the type {found}, and {step}"),
        )
        .hint("inbox wire new TYPE prints one to fill in; or leave the payload away")
        .into());
    }
    if command != Command::Finish {
        return Ok(());
    }
    let Some(brief) = brief_of(tx, row)? else {
        return Ok(());
    };
    let complete = match given {
        Some(Payload::Complete(complete)) => complete,
        _ => implied(agent, row, message),
    };
    let artifacts: Vec<String> = message
        .artifacts
        .iter()
        .map(|artifact| artifact.path.clone())
        .collect();
    let schema = match &brief.output_contract.schema_ref {
        Some(slug) => contract(config, slug)?,
        None => None,
    };
    let is_plain = message.payload_json.get("wire").is_none();
    let json = Some(&message.payload_json)
        .filter(|json| is_plain && json.as_object().is_none_or(|object| !object.is_empty()));
    let outputs = Outputs {
        text: Some(message.body.as_str()).filter(|body| !body.is_empty()),
        artifacts: &artifacts,
        json,
        schema: schema.as_ref(),
    };
    let problems = inbox_wire::check_complete(&brief, &complete, &outputs);
    if problems.is_empty() || planted("contract_forgotten") {
        Ok(())
    } else {
        Err(refusal(
            Code::ContractUnmet,
            "the output contract is not met",
            &problems,
        )
        .into())
    }
}

/// What a `done` without a Wire says: its summary is the summary; its payload's `output_ref`, else its first
/// artifact, is the output.
fn implied(agent: &AgentName, row: &ThreadRow, message: &NewMessage) -> Complete {
    let named = message.payload_json.get("output_ref");
    let named = named.and_then(Value::as_str).map(str::to_owned);
    Complete {
        task_id: row.thread.task_id.clone(),
        agent: agent.to_string(),
        output_ref: named.or_else(|| {
            let first = message.artifacts.first();
            first.map(|artifact| artifact.path.clone())
        }),
        summary: message.summary.clone(),
        cost_usd: None,
        duration_seconds: None,
        verification: Verification {
            mechanical: Mechanical::Pass,
            semantic: Semantic::Skipped,
            attempts: 1,
        },
    }
}

/// Every way in which an output breaks the contract of its brief, before it is called done.
pub fn check_output(
    config: &Config,
    brief: &Brief,
    complete: &Complete,
    text: Option<&str>,
    artifacts: &[String],
) -> Result<Vec<Problem>, Refusal> {
    let schema = match &brief.output_contract.schema_ref {
        Some(slug) => contract(config, slug)?,
        None => None,
    };
    let outputs = Outputs {
        text: text.filter(|text| !text.is_empty()),
        artifacts,
        json: None,
        schema: schema.as_ref(),
    };
    Ok(inbox_wire::check_complete(brief, complete, &outputs))
}

/// The largest output contract, in bytes.
const CONTRACT: u64 = 1 << 20;

/// An output contract: the user's own, else a shipped one; nothing when there is none.
pub(crate) fn contract(config: &Config, slug: &str) -> Result<Option<Value>, Refusal> {
    let own = config.beside("contracts", &format!("{slug}.json"));
    let Some(path) = own else {
        return Ok(inbox_wire::contract(slug));
    };
    let text = match private::read_any(&path, CONTRACT) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(inbox_wire::contract(slug));
        }
        Err(error) => {
            let code = match error.kind() {
                std::io::ErrorKind::FileTooLarge => Code::TooLarge,
                _ => Code::Storage,
            };
            let place = path.display();
            return Err(Refusal::new(
                code,
                format!("the contract {place} cannot be read: {error}"),
            )
            .hint(format!("ls -l {place} shows what it is")));
        }
    };
    let broken = |problems: &[Problem]| {
        let what = format!("the contract {}", path.display());
        refusal(Code::InvalidWire, &what, problems)
    };
    let schema = inbox_wire::decode(&text).map_err(|problem| broken(&[problem]))?;
    inbox_wire::ContractSchema::new(&schema).map_err(|problems| broken(&problems))?;
    Ok(Some(schema))
}

impl Inbox {
    /// The slugs of the output contracts that exist.
    pub(crate) fn contracts(&self) -> Vec<String> {
        let mut slugs: Vec<String> = inbox_wire::contracts()
            .iter()
            .map(|contract| contract.slug.to_owned())
            .collect();
        let folder = self.config().beside("contracts", "");
        let files = folder.and_then(|folder| std::fs::read_dir(folder).ok());
        for entry in files.into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(slug) = name.strip_suffix(".json") {
                slugs.push(slug.to_owned());
            }
        }
        slugs.sort();
        slugs.dedup();
        slugs
    }
}
