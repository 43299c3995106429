//! How a client of an agent is run without a person, and how its output is read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A client's way of working without a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Preset {
    /// The command. `{prompt}` and `{prompt_file}` stand for the prompt and a file with it; else it is on standard input.
    pub command: Vec<String>,
    /// The command that goes on with a conversation, `{session}`; without it everything is told again.
    pub resume: Vec<String>,
    /// Variables that it needs beside those of `run.env`.
    pub env: Vec<String>,
    /// What is read from each line of its output; without any the whole output is the result.
    pub read: Vec<Reading>,
    /// How it is spoken with; `resume` and `read` are for a command that prints.
    pub speak: Speak,
    /// Kinds of tools that it may use when it asks: `read`, `edit`, `execute` and the like of the Agent Client Protocol, or
    /// `*` for all. Whatever is not named is refused.
    pub allow: Vec<String>,
    /// The way of signing in that is asked for, where it wants one.
    pub sign_in: Option<String>,
}

/// How a command is spoken with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speak {
    /// It is given its prompt, and prints.
    #[default]
    Text,
    /// By the Agent Client Protocol, on standard input and output.
    Acp,
}

/// What is read from a line of JSON, when it is such a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The values that make it such a line, each by its JSON pointer.
    #[serde(default)]
    pub when: BTreeMap<String, String>,
    /// Where the value is: a JSON pointer, in which `*` stands for every element.
    pub take: String,
    /// What the value is.
    #[serde(rename = "as")]
    pub what: What,
    /// Whether it is said for the whole conversation so far, and not for this start alone.
    #[serde(default)]
    pub so_far: bool,
}

/// What a value in a client's output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The result; the last one counts.
    Result,
    /// A piece of the result.
    Piece,
    /// Something to follow it by.
    Progress,
    /// The conversation's id.
    Session,
    /// What it cost, in US dollars; several are added up.
    Cost,
    /// Tokens that were read; several are added up.
    InputTokens,
    /// Tokens that were written; several are added up.
    OutputTokens,
    /// Why it failed, whatever its exit status says.
    Error,
}
