//! Reads JSON from files of others: nothing in it may mean two things or be too much to keep.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// How deep arrays and objects may be nested.
pub(super) const DEPTH: usize = 64;

/// Keys by which `serde_json` smuggles its own types through an object.
const PRIVATE: &str = "$serde_json::private::";

/// The object that `bytes` is, or what is wrong.
pub(super) fn object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    match value(bytes)? {
        Value::Object(object) => Ok(object),
        other => Err(format!("it is {}, not an object", sort(&other))),
    }
}

/// The value that `bytes` is, or what is wrong.
pub(super) fn value(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let value = serde_json::from_str(text).map_err(|error| {
        if error.is_eof() {
            "it is cut short".to_owned()
        } else {
            // Without the line, which is always the first, and with the column.
            let told = error.to_string();
            let told = told
                .split_once(" at line ")
                .map_or(told.as_str(), |found| found.0);
            format!("it is not JSON: {told} at column {}", error.column())
        }
    })?;
    unambiguous(text)?;
    if has_nul(&value) {
        return Err("it contains a NUL character, which cannot be stored".to_owned());
    }
    Ok(value)
}

/// What sort of value it is, for people.
pub(super) fn sort(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Whether a value that is nested so deep at most can be read back by [`value`].
pub(super) fn is_plain(value: &Value, most: usize) -> bool {
    depth(value) <= most && !has_nul(value) && !has_private_key(value)
}

/// How deep a value is nested.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(object) => 1 + object.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(object) => object
            .iter()
            .any(|(key, value)| key.contains('\0') || has_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn has_private_key(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_private_key),
        Value::Object(object) => object
            .iter()
            .any(|(key, value)| key.starts_with(PRIVATE) || has_private_key(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Refuses what the parser lets through: a key that is repeated, where the last would win; depth; and
/// keys of the parser's own. `text` is known to be JSON.
fn unambiguous(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    // The keys of each open object; nothing for an open array.
    let mut open: Vec<Option<HashSet<String>>> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => {
                open.push((byte == b'{').then(HashSet::new));
                if open.len() > DEPTH {
                    return Err(format!("it is nested deeper than {DEPTH} levels"));
                }
            }
            b'}' | b']' => {
                open.pop();
            }
            b'"' => {
                let end = end_of_text(bytes, at);
                let is_key = bytes
                    .get(end..)
                    .is_some_and(|rest| rest.trim_ascii_start().first() == Some(&b':'));
                if is_key && let Some(Some(keys)) = open.last_mut() {
                    let key: String = text
                        .get(at..end)
                        .and_then(|raw| serde_json::from_str(raw).ok())
                        .unwrap_or_default();
                    if key.starts_with(PRIVATE) {
                        return Err(format!("the key {key:?} is not allowed"));
                    }
                    if keys.contains(&key) {
                        return Err(format!("the key {key:?} is there twice"));
                    }
                    keys.insert(key);
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// Where the text that begins at `start` ends, past its closing quote.
fn end_of_text(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            None => return bytes.len(),
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_ambiguous_or_too_much_is_refused() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for (text, problem) in [
            (r#"{"a":1,"a":2}"#, "twice"),
            (r#"{"a":1,"\u0061":2}"#, "twice"),
            (r#"[{"b":{"c":1 , "c" :2}}]"#, "twice"),
            (r#"{"$serde_json::private::Number":"1"}"#, "not allowed"),
            (
                r#"{"a":{"$serde_json::private::RawValue":"1"}}"#,
                "not allowed",
            ),
            (r#""\u0000""#, "NUL"),
            (r#"{"\u0000":1}"#, "NUL"),
            (r#""\ud800""#, "not JSON"),
            (r#"{"a":"#, "cut short"),
            (&nested(65), "deeper"),
            (&nested(200), "not JSON"),
            ("1 2", "not JSON"),
        ] {
            let told = value(text.as_bytes()).unwrap_err();
            assert!(told.contains(problem), "{text}: {told}");
        }
        assert!(value(b"\"\xff\"").unwrap_err().contains("UTF-8"));
        for text in [
            &nested(64),
            r#"{"a":{"a":1},"b":["a","a:","\"a\":"]}"#,
            "1e999",
        ] {
            assert!(value(text.as_bytes()).is_ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = value(&bytes);
        }

        #[test]
        fn arbitrary_json_like_text_is_answered(text in r#"[\[\]{}":,\\a0u \-]{0,80}"#) {
            let _ = value(text.as_bytes());
        }
    }
}
