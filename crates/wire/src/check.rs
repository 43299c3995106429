//! The mechanical check of a completed task against its brief's output contract.

use serde_json::{Value, json};

use crate::decode::decode;
use crate::problem::{Problem, quoted};
use crate::rule::is_blank;
use crate::subset::ContractSchema;
use crate::types::{Brief, Complete};
use crate::word::OutputType;

/// What a task gave, as its runner found it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outputs<'a> {
    /// The text of the output, where there is one: a file's content, a message, what the agent said last.
    pub text: Option<&'a str>,
    /// The paths or names of what was attached.
    pub artifacts: &'a [String],
    /// The output as JSON, where it is that.
    pub json: Option<&'a Value>,
    /// The JSON Schema of the contract that the brief's `schema_ref` names, where the caller found one.
    pub schema: Option<&'a Value>,
}

/// Every way in which an output breaks its contract. Pointers are into the completion's payload, but those
/// that begin with `/output`, which are into [`output_document`], and `/output_contract`, into the brief.
///
/// - `output_ref_required`: there is an `output_ref`.
/// - `min_length`: characters of the output's text, or of the summary where there is no text.
/// - `file`: an artifact or an `output_ref`. `json`: JSON, given as such or as the text. `pr`: an
///   `output_ref` that looks like a URL or a branch. `message`: a text or a summary. `report`: a text, an
///   artifact or an `output_ref`.
/// - `schema_ref`: the output document keeps that schema.
pub fn check_complete(brief: &Brief, complete: &Complete, outputs: &Outputs<'_>) -> Vec<Problem> {
    let contract = &brief.output_contract;
    let mut problems = Vec::new();
    let mut say = |pointer: &str, message: String| problems.push(Problem::new(pointer, message));
    let output_ref = complete
        .output_ref
        .as_deref()
        .filter(|text| !is_blank(text));
    let text = outputs.text.filter(|text| !is_blank(text));
    let json = json_output(outputs);

    // A pull request says below, and more exactly, that it needs its reference.
    if contract.output_ref_required
        && output_ref.is_none()
        && contract.output_type != OutputType::Pr
    {
        say("/output_ref", "is required by the contract".to_owned());
    }
    match contract.output_type {
        OutputType::File if outputs.artifacts.is_empty() && output_ref.is_none() => {
            say(
                "/output_ref",
                "a file must be attached or referred to".to_owned(),
            );
        }
        OutputType::Json => {
            if let Err(problem) = &json {
                say(&problem.pointer, problem.message.clone());
            }
        }
        OutputType::Pr => match output_ref {
            None => say(
                "/output_ref",
                "a pull request or branch must be named".to_owned(),
            ),
            Some(found) if !is_url(found) && !is_branch(found) => say(
                "/output_ref",
                format!(
                    "{} looks neither like a URL nor like a branch",
                    quoted(found)
                ),
            ),
            Some(_) => {}
        },
        OutputType::Message if text.is_none() && is_blank(&complete.summary) => {
            say("/summary", "there is no message".to_owned());
        }
        OutputType::Report
            if text.is_none() && outputs.artifacts.is_empty() && output_ref.is_none() =>
        {
            say(
                "/output_ref",
                "a report must be given as text, attached or referred to".to_owned(),
            );
        }
        OutputType::File | OutputType::Message | OutputType::Report => {}
    }

    let (place, measured) = match outputs.text {
        Some(text) => ("/output/text", text),
        None => ("/summary", complete.summary.as_str()),
    };
    let length = measured.chars().count() as u64;
    if length < contract.min_length {
        let least = contract.min_length;
        say(
            place,
            format!("has {length} characters; the contract wants at least {least}"),
        );
    }

    if let Some(slug) = &contract.schema_ref {
        let pointer = "/output_contract/schema_ref";
        match outputs.schema.map(ContractSchema::new) {
            None => say(pointer, format!("there is no contract {}", quoted(slug))),
            Some(Err(faults)) => {
                for fault in faults {
                    say(
                        pointer,
                        format!("the contract {} cannot be applied: {fault}", quoted(slug)),
                    );
                }
            }
            Some(Ok(schema)) => match (contract.output_type, json) {
                // Without JSON there is nothing to hold against the schema, and that is said above.
                (OutputType::Json, Err(_)) => {}
                (OutputType::Json, Ok(value)) => {
                    problems.extend(schema.check_below("/output", &value));
                }
                _ => {
                    let document = output_document(complete, outputs);
                    problems.extend(schema.check_below("/output", &document));
                }
            },
        }
    }
    problems
}

/// What a contract's schema is applied to when the output is not JSON itself: `output_ref`, `summary`,
/// `text` (null when there is none) and `artifacts`.
pub fn output_document(complete: &Complete, outputs: &Outputs<'_>) -> Value {
    json!({
        "output_ref": complete.output_ref,
        "summary": complete.summary,
        "text": outputs.text,
        "artifacts": outputs.artifacts,
    })
}

fn json_output(outputs: &Outputs<'_>) -> Result<Value, Problem> {
    if let Some(value) = outputs.json {
        return Ok(value.clone());
    }
    let Some(text) = outputs.text else {
        return Err(Problem::new(
            "/output",
            "the contract wants JSON, and there is none",
        ));
    };
    decode(text).map_err(|problem| {
        Problem::new(
            format!("/output{}", problem.pointer),
            format!("the contract wants JSON: {}", problem.message),
        )
    })
}

/// Whether a text looks like the address of a page.
fn is_url(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        host.starts_with(|c: char| c.is_alphanumeric() || c == '[')
            && !text.contains(|c: char| c.is_whitespace() || c.is_control())
    })
}

/// Whether a text could be the name of a branch, by the rules of git for names of references.
fn is_branch(text: &str) -> bool {
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    !text.is_empty()
        && text != "@"
        && !text.contains(is_bad)
        && !text.starts_with('-')
        && !text.ends_with('.')
        && !["..", "@{"].iter().any(|bad| text.contains(bad))
        && text.split('/').all(|part| {
            let is_lock = part.strip_suffix(".lock").is_some();
            !part.is_empty() && !part.starts_with('.') && !is_lock
        })
}
