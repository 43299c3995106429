//! The outer form of every answer and refusal in JSON, the same on every surface.

use inbox_core::{Code, Refusal};
use serde::Serialize;

/// The longest message of an error, in characters.
const MESSAGE: usize = 1_000;

/// Room for most answers, in bytes.
const USUAL: usize = 1_024;

/// An answer, with `ok` and `command` before its own keys, on one line.
pub(crate) fn answer(command: &str, body: &impl Serialize) -> Result<String, Refusal> {
    object(command, true, body)
}

/// The same of what a command says that failed in its own way.
pub(crate) fn object(command: &str, ok: bool, body: &impl Serialize) -> Result<String, Refusal> {
    let mut text = Vec::with_capacity(USUAL);
    text.extend_from_slice(b"{\"ok\":");
    text.extend_from_slice(if ok { b"true" } else { b"false" });
    text.extend_from_slice(b",\"command\":\"");
    text.extend_from_slice(command.as_bytes());
    text.push(b'"');
    let own = text.len();
    serde_json::to_writer(&mut text, body).map_err(internal)?;
    match text.get(own..) {
        Some([b'{', b'}']) => drop(text.drain(own..=own)),
        Some([b'{', ..]) => text[own] = b',',
        _ => return Err(internal("it is no object")),
    }
    text.push(b'\n');
    String::from_utf8(text).map_err(internal)
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
