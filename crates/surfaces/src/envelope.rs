//! The outer form of every answer and refusal in JSON, the same on every surface.

use inbox_core::{Code, Refusal};
use serde::Serialize;

/// The longest message of an error, in characters.
const MESSAGE: usize = 1_000;

/// An answer, with `ok` and `command` before its own keys, on one line.
pub(crate) fn answer(command: &str, body: &impl Serialize) -> Result<String, Refusal> {
    object(command, true, body)
}

/// The same of what a command says that failed in its own way.
pub(crate) fn object(command: &str, ok: bool, body: &impl Serialize) -> Result<String, Refusal> {
    let body = serde_json::to_string(body).map_err(internal)?;
    let rest = body.strip_prefix('{').unwrap_or("}");
    let comma = if rest == "}" { "" } else { "," };
    Ok(format!(
        "{{\"ok\":{ok},\"command\":\"{command}\"{comma}{rest}\n"
    ))
}

/// A refusal, on one line.
pub(crate) fn refusal(refusal: &Refusal) -> String {
    let error = serde_json::json!({ "ok": false, "error": shortened(refusal) });
    format!("{error}\n")
}

/// The refusal with a message of a length that can be shown: a value that was given in error may be a book.
pub(crate) fn shortened(refusal: &Refusal) -> Refusal {
    let mut refusal = refusal.clone();
    if let Some((end, _)) = refusal.message.char_indices().nth(MESSAGE) {
        refusal.message.truncate(end);
        refusal.message.push('…');
    }
    refusal
}

pub(crate) fn internal(error: impl std::fmt::Display) -> Refusal {
    Refusal::new(
        Code::Internal,
        format!("the answer cannot be written: {error}"),
    )
}
