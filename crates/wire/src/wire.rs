//! One Wire: the envelope, its payload, and how JSON becomes them.

use inbox_core::AgentName;
use inbox_core::record::Millis;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::problem::{Fault, Object, Problem, Report, quoted, sort};
use crate::rule::{
    LABEL, MOST, PLACE, SUBJECT, address, amount, boolean, brief_text, dotted, filled, goal,
    is_blank, line, list, sender, slug, some, text, time, whole, word,
};
use crate::types::{
    Blocked, Brief, CONTEXT_WORDS, Claim, Complete, Env, Inbox, OutputContract, SUMMARY_WORDS,
    Verification, WIRE_VERSION, default_attempts, default_priority,
};
use crate::word::Type;

/// A valid Wire. It keeps the JSON that it was read from and gives back exactly that: fields beginning with
/// `x_`, the digits of numbers and the way a time was written are the sender's.
#[derive(Debug, Clone)]
pub struct Wire {
    sender: AgentName,
    ts: Millis,
    payload: Payload,
    json: Value,
}

/// What a Wire says, by its type.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// A task.
    Brief(Brief),
    /// A message.
    Inbox(Inbox),
    /// A task is done.
    Complete(Complete),
    /// A task is stuck.
    Blocked(Blocked),
    /// A task is taken.
    Claim(Claim),
}

impl Payload {
    /// The type of the Wire that carries it.
    pub const fn wire_type(&self) -> Type {
        match self {
            Payload::Brief(_) => Type::Brief,
            Payload::Inbox(_) => Type::Inbox,
            Payload::Complete(_) => Type::Complete,
            Payload::Blocked(_) => Type::Blocked,
            Payload::Claim(_) => Type::Claim,
        }
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Payload::Brief(payload) => payload.serialize(serializer),
            Payload::Inbox(payload) => payload.serialize(serializer),
            Payload::Complete(payload) => payload.serialize(serializer),
            Payload::Blocked(payload) => payload.serialize(serializer),
            Payload::Claim(payload) => payload.serialize(serializer),
        }
    }
}

impl Wire {
    /// A new Wire, held to every rule.
    pub fn new(sender: &AgentName, ts: Millis, payload: &Payload) -> Result<Wire, Vec<Problem>> {
        parse(&json!({
            "wire": WIRE_VERSION,
            "type": payload.wire_type(),
            "sender": sender,
            "ts": ts,
            "payload": payload,
        }))
    }

    /// Its type.
    pub const fn wire_type(&self) -> Type {
        self.payload.wire_type()
    }

    /// Who sent it: an agent, `system`, `human` or `runner`.
    pub const fn sender(&self) -> &AgentName {
        &self.sender
    }

    /// When it was made.
    pub const fn ts(&self) -> Millis {
        self.ts
    }

    /// What it says.
    pub const fn payload(&self) -> &Payload {
        &self.payload
    }

    /// The JSON, as it was read.
    pub const fn json(&self) -> &Value {
        &self.json
    }

    /// What it says, without its envelope.
    pub fn into_payload(self) -> Payload {
        self.payload
    }

    /// The JSON, as it was read.
    pub fn into_json(self) -> Value {
        self.json
    }
}

impl PartialEq for Wire {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl Serialize for Wire {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

/// Reads a Wire, or names every problem. An unknown version is the only problem then, and
/// [`is_unknown_version`](crate::is_unknown_version) tells it from the rest.
pub fn parse(json: &Value) -> Result<Wire, Vec<Problem>> {
    if let Some(problem) = unknown_version(json, "wire", WIRE_VERSION) {
        return Err(vec![problem]);
    }
    let mut report = Report::default();
    let wire = envelope(json, &mut report);
    match wire {
        Some(wire) if report.count() == 0 => Ok(wire),
        _ => Err(report.finish()),
    }
}

/// Every problem of a would-be Wire; none when it is valid.
pub fn validate(json: &Value) -> Vec<Problem> {
    parse(json).err().unwrap_or_default()
}

/// The one problem of a document whose version is a text that is not `known`.
pub(crate) fn unknown_version(json: &Value, key: &str, known: &str) -> Option<Problem> {
    match json.get(key) {
        Some(Value::String(version)) if version != known => Some(Problem {
            pointer: format!("/{key}"),
            message: format!(
                "version {} is not known; this program knows \"{known}\"",
                quoted(version)
            ),
            fault: Fault::UnknownVersion,
        }),
        _ => None,
    }
}

/// The version field itself, once an unknown version is excluded.
pub(crate) fn version(value: &Value, report: &mut Report) -> Option<()> {
    match value {
        Value::String(_) => Some(()),
        other => report.say(format!("must be a string, not {}", sort(other))),
    }
}

fn envelope(json: &Value, report: &mut Report) -> Option<Wire> {
    let mut object = Object::open(json, report)?;
    let version = object.required("wire", version);
    let wire_type = object.required("type", word::<Type>);
    let sender = object.required("sender", sender);
    let ts = object.required("ts", time);
    // Without a type nothing can be said about the payload, but that there is one.
    let payload = object.required("payload", |value, report| match wire_type {
        None => {
            Object::open(value, report)?;
            None
        }
        Some(Type::Brief) => brief(value, report).map(Payload::Brief),
        Some(Type::Inbox) => inbox(value, report).map(Payload::Inbox),
        Some(Type::Complete) => complete(value, report).map(Payload::Complete),
        Some(Type::Blocked) => blocked(value, report).map(Payload::Blocked),
        Some(Type::Claim) => claim(value, report).map(Payload::Claim),
    });
    object.close();
    version?;
    Some(Wire {
        sender: sender?,
        ts: ts?,
        payload: payload?,
        json: json.clone(),
    })
}

fn brief(value: &Value, report: &mut Report) -> Option<Brief> {
    let mut object = Object::open(value, report)?;
    let goal = object.required("goal", goal);
    let context = object.or("context", String::new(), brief_text::<CONTEXT_WORDS>);
    let constraints = object.or("constraints", Vec::new(), list(filled));
    let acceptance_criteria = object.required("acceptance_criteria", some(filled));
    let output_contract = object.required("output_contract", output_contract);
    let escalation_triggers = object.or("escalation_triggers", Vec::new(), list(filled));
    let env = object.or("env", Env::default(), env);
    object.close();
    Some(Brief {
        goal: goal?,
        context: context?,
        constraints: constraints?,
        acceptance_criteria: acceptance_criteria?,
        output_contract: output_contract?,
        escalation_triggers: escalation_triggers?,
        env: env?,
    })
}

fn output_contract(value: &Value, report: &mut Report) -> Option<OutputContract> {
    let mut object = Object::open(value, report)?;
    let output_type = object.required("type", word);
    let schema_ref = object.nullable("schema_ref", slug);
    let output_ref_required = object.or("output_ref_required", false, boolean);
    let min_length = object.or("min_length", 0, whole::<0, MOST>);
    let evaluate = object.nullable("evaluate", filled);
    object.close();
    Some(OutputContract {
        output_type: output_type?,
        schema_ref: schema_ref?,
        output_ref_required: output_ref_required?,
        min_length: min_length?,
        evaluate: evaluate?,
    })
}

fn env(value: &Value, report: &mut Report) -> Option<Env> {
    let mut object = Object::open(value, report)?;
    let client_id = object.nullable("client_id", line::<LABEL>);
    let task_id = object.nullable("task_id", line::<LABEL>);
    let project_id = object.nullable("project_id", line::<LABEL>);
    let repo_url = object.nullable("repo_url", line::<PLACE>);
    let worktree_path = object.nullable("worktree_path", line::<PLACE>);
    object.close();
    Some(Env {
        client_id: client_id?,
        task_id: task_id?,
        project_id: project_id?,
        repo_url: repo_url?,
        worktree_path: worktree_path?,
    })
}

fn inbox(value: &Value, report: &mut Report) -> Option<Inbox> {
    let mut object = Object::open(value, report)?;
    let to_agent = object.required("to_agent", address);
    let priority = object.or("priority", default_priority(), whole::<1, 3>);
    let message_type = object.required("message_type", dotted);
    let ref_task_id = object.nullable("ref_task_id", line::<LABEL>);
    let subject = object.required("subject", line::<SUBJECT>);
    let body = object.required("body", text);
    let action_required = object.or("action_required", false, boolean);
    object.close();
    Some(Inbox {
        to_agent: to_agent?,
        priority: priority?,
        message_type: message_type?,
        ref_task_id: ref_task_id?,
        subject: subject?,
        body: body?,
        action_required: action_required?,
    })
}

fn summary(value: &Value, report: &mut Report) -> Option<String> {
    let text = brief_text::<SUMMARY_WORDS>(value, report)?;
    if is_blank(&text) {
        return report.say("is empty");
    }
    Some(text)
}

fn complete(value: &Value, report: &mut Report) -> Option<Complete> {
    let mut object = Object::open(value, report)?;
    let task_id = object.required("task_id", line::<LABEL>);
    let agent = object.required("agent", slug);
    let output_ref = object.nullable("output_ref", line::<PLACE>);
    let summary = object.required("summary", summary);
    let cost_usd = object.optional("cost_usd", amount);
    let duration_seconds = object.optional("duration_seconds", amount);
    let verification = object.required("verification", verification);
    object.close();
    Some(Complete {
        task_id: task_id?,
        agent: agent?,
        output_ref: output_ref?,
        summary: summary?,
        cost_usd: cost_usd?,
        duration_seconds: duration_seconds?,
        verification: verification?,
    })
}

fn verification(value: &Value, report: &mut Report) -> Option<Verification> {
    let mut object = Object::open(value, report)?;
    let mechanical = object.required("mechanical", word);
    let semantic = object.required("semantic", word);
    let attempts = object.or("attempts", default_attempts(), whole::<1, MOST>);
    object.close();
    Some(Verification {
        mechanical: mechanical?,
        semantic: semantic?,
        attempts: attempts?,
    })
}

fn blocked(value: &Value, report: &mut Report) -> Option<Blocked> {
    let mut object = Object::open(value, report)?;
    let task_id = object.required("task_id", line::<LABEL>);
    let agent = object.required("agent", slug);
    let reason = object.required("reason", filled);
    let blocker_type = object.required("blocker_type", word);
    let suggested_resolution = object.nullable("suggested_resolution", filled);
    let attempts = object.or("attempts", default_attempts(), whole::<1, MOST>);
    object.close();
    Some(Blocked {
        task_id: task_id?,
        agent: agent?,
        reason: reason?,
        blocker_type: blocker_type?,
        suggested_resolution: suggested_resolution?,
        attempts: attempts?,
    })
}

fn claim(value: &Value, report: &mut Report) -> Option<Claim> {
    let mut object = Object::open(value, report)?;
    let task_id = object.required("task_id", line::<LABEL>);
    let agent = object.required("agent", slug);
    let role = object.required("role", slug);
    object.close();
    Some(Claim {
        task_id: task_id?,
        agent: agent?,
        role: role?,
    })
}
