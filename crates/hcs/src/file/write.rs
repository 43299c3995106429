//! A file to be put on a topic.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Algorithm, FileMemo, Hash, Limits, Mime, codec};
use crate::operation::MAX_MESSAGE;
use crate::report::Refused;

/// What makes a file: the memo of its topic, and the messages to submit there, in any order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The topic's memo. The topic gets a submit key, and no admin key.
    pub memo: FileMemo,
    /// The messages, in the order of their index.
    pub messages: Vec<String>,
}

/// Makes a file of the content. Refused when a reader with the same limits would not take it.
pub fn write_file(
    content: &[u8],
    mime: &Mime,
    algorithm: Algorithm,
    limits: &Limits,
) -> Result<Written, Refused> {
    if content.len() > limits.content {
        return Err(Refused::TooLarge {
            what: "the file",
            bytes: content.len(),
            most: limits.content,
        });
    }
    let compressed = codec::compress(content, algorithm)?;
    // A topic cannot be taken back, so what was compressed is read once before anybody pays for it.
    let most = limits.allowed(compressed.len());
    if codec::decompress(&compressed, algorithm, most)? != content {
        return Err(Refused::Corrupt("it does not come back as it was"));
    }
    let text = format!(
        "data:{};base64,{}",
        mime.as_str(),
        STANDARD.encode(compressed)
    );
    let messages = cut(&text);
    if messages.len() > limits.chunks as usize {
        return Err(Refused::ChunkOutOfRange {
            index: messages.len() as u64 - 1,
            most: limits.chunks,
        });
    }
    Ok(Written {
        memo: FileMemo {
            hash: Hash::of(content),
            algorithm,
        },
        messages,
    })
}

/// Cuts the text so that each message, with what is around its piece, is as large as it may be. The text is
/// ASCII without quotes and backslashes, so that nothing in it grows.
fn cut(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let around = format!(r#"{{"o":{},"c":""}}"#, messages.len()).len();
        let (piece, after) = rest.split_at((MAX_MESSAGE - around).min(rest.len()));
        messages.push(format!(r#"{{"o":{},"c":"{piece}"}}"#, messages.len()));
        rest = after;
    }
    messages
}
