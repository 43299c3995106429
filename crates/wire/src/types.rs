//! The payloads of Agent Wire 1.0, one struct each.
//!
//! Which fields may be left out is decided here: what a reader cannot do without is required, the rest has
//! a default. Fields that a sender adds under names beginning with `x_` stay in the [`Wire`](crate::Wire)'s
//! JSON and are not part of these structs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::rule::{self, LABEL, MOST, PLACE, SUBJECT, closed};
use crate::word::{BlockerType, Mechanical, OutputType, Semantic};

/// The version of the protocol that this crate speaks.
pub const WIRE_VERSION: &str = "1.0";

/// The most words in a brief's context.
pub(crate) const CONTEXT_WORDS: usize = 200;
/// The most words in a summary of completed work.
pub(crate) const SUMMARY_WORDS: usize = 150;

/// A task brief. `goal`, `acceptance_criteria` and `output_contract` are required.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(transform = closed)]
pub struct Brief {
    /// What must be true when the task is done: one declarative sentence ("X is built", not "Build X").
    #[schemars(schema_with = "rule::filled_schema")]
    pub goal: String,
    /// Background, at most 200 words; no instructions.
    #[schemars(schema_with = "rule::text_schema", default)]
    pub context: String,
    /// Constraints on this task.
    #[schemars(schema_with = "rule::list_schema", default)]
    pub constraints: Vec<String>,
    /// Conditions of completion, each testable; at least one.
    #[schemars(schema_with = "rule::some_schema")]
    pub acceptance_criteria: Vec<String>,
    /// What the task has to give.
    pub output_contract: OutputContract,
    /// Conditions on which the agent blocks the task.
    #[schemars(schema_with = "rule::list_schema", default)]
    pub escalation_triggers: Vec<String>,
    /// Where the task belongs.
    #[schemars(default)]
    pub env: Env,
}

/// What a task has to give. `type` is required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = closed)]
pub struct OutputContract {
    /// The sort of output.
    #[serde(rename = "type")]
    pub output_type: OutputType,
    /// The slug of the contract whose JSON Schema the output must keep, or null.
    #[schemars(schema_with = "rule::slug_or_null_schema", default)]
    pub schema_ref: Option<String>,
    /// Whether the completion must say where the output is.
    #[schemars(default)]
    pub output_ref_required: bool,
    /// The least length of the output's text, in characters.
    #[schemars(schema_with = "rule::whole_schema::<0, MOST>", default)]
    pub min_length: u64,
    /// What a semantic evaluator is asked, verbatim; null for the mechanical check alone.
    #[schemars(schema_with = "rule::filled_or_null_schema", default)]
    pub evaluate: Option<String>,
}

/// Where a task belongs. Everything may be null or left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = closed)]
pub struct Env {
    /// The client that the work is for.
    #[schemars(schema_with = "rule::line_or_null_schema::<LABEL>", default)]
    pub client_id: Option<String>,
    /// The task.
    #[schemars(schema_with = "rule::line_or_null_schema::<LABEL>", default)]
    pub task_id: Option<String>,
    /// The project.
    #[schemars(schema_with = "rule::line_or_null_schema::<LABEL>", default)]
    pub project_id: Option<String>,
    /// The repository to work in.
    #[schemars(schema_with = "rule::line_or_null_schema::<PLACE>", default)]
    pub repo_url: Option<String>,
    /// The folder to work in.
    #[schemars(schema_with = "rule::line_or_null_schema::<PLACE>", default)]
    pub worktree_path: Option<String>,
}

/// A message between agents. `to_agent`, `message_type`, `subject` and `body` are required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = closed)]
pub struct Inbox {
    /// Whom it is for: an agent's slug, or another address (`role:NAME`, a tag such as `project:NAME`, `all`).
    #[schemars(schema_with = "rule::address_schema")]
    pub to_agent: String,
    /// 1 needs attention now, 2 before the next task, 3 is for information.
    #[schemars(
        schema_with = "rule::whole_schema::<1, 3>",
        default = "default_priority"
    )]
    pub priority: u64,
    /// An open, dotted word in lower case, such as `review.request`.
    #[schemars(schema_with = "rule::dotted_schema")]
    pub message_type: String,
    /// The task that it is about, or null.
    #[schemars(schema_with = "rule::line_or_null_schema::<LABEL>", default)]
    pub ref_task_id: Option<String>,
    /// One line.
    #[schemars(schema_with = "rule::line_schema::<SUBJECT>")]
    pub subject: String,
    /// The text; may be empty.
    #[schemars(schema_with = "rule::text_schema")]
    pub body: String,
    /// Whether the receiver has to do something.
    #[schemars(default)]
    pub action_required: bool,
}

/// The priority of an inbox Wire that names none: for information.
pub(crate) const fn default_priority() -> u64 {
    3
}

/// How often something was tried when nothing is said.
pub(crate) const fn default_attempts() -> u64 {
    1
}

/// A completed task. `task_id`, `agent`, `summary` and `verification` are required.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(transform = closed)]
pub struct Complete {
    /// The task.
    #[schemars(schema_with = "rule::line_schema::<LABEL>")]
    pub task_id: String,
    /// Who did it.
    #[schemars(schema_with = "rule::slug_schema")]
    pub agent: String,
    /// Where the output is: a path, a URL or a branch; null when there is none.
    #[schemars(schema_with = "rule::line_or_null_schema::<PLACE>", default)]
    pub output_ref: Option<String>,
    /// What was done and what changed, at most 150 words.
    #[schemars(schema_with = "rule::filled_schema")]
    pub summary: String,
    /// What it cost, in US dollars; left out when it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "rule::amount_schema", default)]
    pub cost_usd: Option<f64>,
    /// How long it took; left out when it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "rule::amount_schema", default)]
    pub duration_seconds: Option<f64>,
    /// How the output was verified.
    pub verification: Verification,
}

/// How an output was verified. `mechanical` and `semantic` are required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = closed)]
pub struct Verification {
    /// The check against the contract.
    pub mechanical: Mechanical,
    /// The evaluator's verdict.
    pub semantic: Semantic,
    /// How often it was tried.
    #[schemars(
        schema_with = "rule::whole_schema::<1, MOST>",
        default = "default_attempts"
    )]
    pub attempts: u64,
}

/// A task that is stuck. `task_id`, `agent`, `reason` and `blocker_type` are required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = closed)]
pub struct Blocked {
    /// The task.
    #[schemars(schema_with = "rule::line_schema::<LABEL>")]
    pub task_id: String,
    /// Who is stuck.
    #[schemars(schema_with = "rule::slug_schema")]
    pub agent: String,
    /// What exactly is in the way.
    #[schemars(schema_with = "rule::filled_schema")]
    pub reason: String,
    /// The sort of blocker, by which it is routed.
    pub blocker_type: BlockerType,
    /// What might help, or null.
    #[schemars(schema_with = "rule::filled_or_null_schema", default)]
    pub suggested_resolution: Option<String>,
    /// How often it was tried.
    #[schemars(
        schema_with = "rule::whole_schema::<1, MOST>",
        default = "default_attempts"
    )]
    pub attempts: u64,
}

/// A claim on a task. Every field is required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = closed)]
pub struct Claim {
    /// The task.
    #[schemars(schema_with = "rule::line_schema::<LABEL>")]
    pub task_id: String,
    /// Who takes it.
    #[schemars(schema_with = "rule::slug_schema")]
    pub agent: String,
    /// The role in which it is taken.
    #[schemars(schema_with = "rule::slug_schema")]
    pub role: String,
}
