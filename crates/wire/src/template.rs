//! What can be written: the types, the known message types, and a valid example of each type to fill in.

use inbox_core::AgentName;
use inbox_core::record::Millis;
use serde::Serialize;
use serde_json::{Value, json};

use crate::form::rfc3339;
use crate::types::WIRE_VERSION;
use crate::word::Type;

/// A type of Wire, for `wire types`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TypeInfo {
    /// Its name.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub about: &'static str,
    /// The words that its `message_type` usually has; other dotted words are taken as well.
    pub message_types: &'static [MessageType],
}

/// A known word for the `message_type` of an inbox Wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MessageType {
    /// The word.
    pub name: &'static str,
    /// What it is for, in one sentence.
    pub about: &'static str,
}

macro_rules! message_types {
    ($($name:literal $about:literal,)*) => {
        const MESSAGE_TYPES: &[MessageType] = &[$(MessageType { name: $name, about: $about },)*];
    };
}

message_types! {
    "task" "Work to be done.",
    "task.feedback" "Findings of a review, with the points to address.",
    "task.blocked" "A task is stuck and needs somebody.",
    "task.complete" "A task is done.",
    "task.note" "A note on a task.",
    "phase.note" "A note on a phase.",
    "phase.complete" "A phase is done.",
    "project.note" "A note on a project.",
    "status.update" "The state of work or of a project changed.",
    "exec.gate" "An approval is needed before the work goes on.",
    "review.request" "Something is ready to be reviewed.",
    "feedback" "An opinion on something, outside a review.",
    "question" "A question that does not stop the work.",
    "answer" "The answer to a question.",
    "info" "For information; nothing has to be done.",
    "fyi" "For information; nothing has to be done.",
}

const TYPES: &[TypeInfo] = &[
    info(Type::Brief),
    TypeInfo {
        message_types: MESSAGE_TYPES,
        ..info(Type::Inbox)
    },
    info(Type::Complete),
    info(Type::Blocked),
    info(Type::Claim),
];

const fn info(wire_type: Type) -> TypeInfo {
    TypeInfo {
        name: wire_type.name(),
        about: wire_type.about(),
        message_types: &[],
    }
}

/// Every type of Wire with what it is for.
pub const fn types() -> &'static [TypeInfo] {
    TYPES
}

/// The known message types.
pub const fn known_message_types() -> &'static [MessageType] {
    MESSAGE_TYPES
}

/// A valid Wire of the type, to be filled in.
pub fn template(wire_type: Type, now: Millis, sender: &AgentName) -> Value {
    let payload = match wire_type {
        Type::Brief => json!({
            "goal": "One sentence says what is true when this task is done.",
            "context": "Background, at most 200 words.",
            "constraints": ["A constraint on this task"],
            "acceptance_criteria": ["A condition that can be tested"],
            "output_contract": {
                "type": "file",
                "schema_ref": null,
                "output_ref_required": true,
                "min_length": 0,
                "evaluate": null,
            },
            "escalation_triggers": ["A condition on which the task is blocked"],
            "env": {
                "client_id": null,
                "task_id": null,
                "project_id": null,
                "repo_url": null,
                "worktree_path": null,
            },
        }),
        Type::Inbox => json!({
            "to_agent": "human",
            "priority": 3,
            "message_type": "info",
            "ref_task_id": null,
            "subject": "What it is about, in one line",
            "body": "The text",
            "action_required": false,
        }),
        Type::Complete => json!({
            "task_id": "TASK",
            "agent": sender,
            "output_ref": null,
            "summary": "What was built, what changed, and where the output is; at most 150 words.",
            "cost_usd": 0,
            "duration_seconds": 0,
            "verification": { "mechanical": "pass", "semantic": "skipped", "attempts": 1 },
        }),
        Type::Blocked => json!({
            "task_id": "TASK",
            "agent": sender,
            "reason": "What exactly is in the way.",
            "blocker_type": "spec_gap",
            "suggested_resolution": null,
            "attempts": 1,
        }),
        Type::Claim => json!({ "task_id": "TASK", "agent": sender, "role": "developer" }),
    };
    json!({
        "wire": WIRE_VERSION,
        "type": wire_type,
        "sender": sender,
        "ts": rfc3339(now),
        "payload": payload,
    })
}
