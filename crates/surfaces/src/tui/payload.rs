//! Structured content as lines that people read, by the same rules as on the console's pages.

use serde_json::Value;

use super::paint::{safe, wrapped};

/// How deep values are laid out; what is deeper is shown as JSON.
const DEEPEST: usize = 4;

/// How many members of an object or a list are shown.
const MOST: usize = 100;

/// How many lines there are at the most, and how many characters of one text: whoever writes may not make the console slow.
const LINES: usize = 300;
const TEXT: usize = 4_000;

/// A line: whether it begins with the name of a field, which ends at this byte.
pub(super) struct Entry {
    pub(super) text: String,
    pub(super) name: usize,
}

/// The lines of a payload; of a Wire, those of what it carries.
pub(super) fn sections(value: &Value, width: usize) -> Vec<Entry> {
    let mut out = Vec::new();
    if let (Some(sort), Some(payload)) = (value["type"].as_str(), value.get("payload"))
        && value.get("wire").is_some()
    {
        let text = format!("Wire {}", safe(sort));
        out.push(Entry { text, name: 4 });
        members(payload, 0, width, &mut out);
    } else {
        members(value, 0, width, &mut out);
    }
    out
}

fn members(value: &Value, depth: usize, width: usize, out: &mut Vec<Entry>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields.iter().take(MOST) {
                if out.len() > LINES {
                    return;
                }
                let name = safe(beginning(name, MOST)).replace('_', " ");
                field(&format!("{name}:"), value, depth, width, out);
            }
            more(fields.len(), depth, out);
        }
        Value::Array(list) => {
            for item in list.iter().take(MOST) {
                if out.len() > LINES {
                    return;
                }
                field("-", item, depth, width, out);
            }
            more(list.len(), depth, out);
        }
        other => field("", other, depth, width, out),
    }
}

/// What a text begins with.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

fn more(count: usize, depth: usize, out: &mut Vec<Entry>) {
    if let Some(more) = count.checked_sub(MOST).filter(|more| *more > 0) {
        let text = format!("{}… {more} more", "  ".repeat(depth));
        out.push(Entry { text, name: 0 });
    }
}

fn field(name: &str, value: &Value, depth: usize, width: usize, out: &mut Vec<Entry>) {
    let indent = "  ".repeat(depth);
    let is_nested = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    if is_nested && depth < DEEPEST {
        let text = format!("{indent}{name}");
        let name = text.len();
        out.push(Entry { text, name });
        members(value, depth + 1, width, out);
        return;
    }
    let told = match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) if text.is_empty() => "empty".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(fields) if fields.is_empty() => "none".to_owned(),
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        other => other.to_string(),
    };
    let room = width.saturating_sub(indent.len() + name.len() + 1);
    let told = beginning(&told, TEXT);
    let lines = wrapped(told, room);
    // A text that needs more than a few lines stands below its name.
    if lines.len() > 1 && !name.is_empty() && name != "-" {
        let text = format!("{indent}{name}");
        let name = text.len();
        out.push(Entry { text, name });
        for line in wrapped(told, width.saturating_sub(indent.len() + 2)) {
            let text = format!("{indent}  {line}");
            out.push(Entry { text, name: 0 });
        }
        return;
    }
    let mut first = Some(name).filter(|name| !name.is_empty());
    let hang = " ".repeat(name.chars().count());
    for line in lines {
        let text = match first.take() {
            Some(name) => format!("{indent}{name} {line}"),
            None if name.is_empty() => format!("{indent}{line}"),
            None => format!("{indent}{hang} {line}"),
        };
        let is_first = text.starts_with(&format!("{indent}{name}"));
        let name = if is_first {
            indent.len() + name.len()
        } else {
            0
        };
        out.push(Entry { text, name });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lines(value: &Value) -> Vec<String> {
        let entries = sections(value, 40).into_iter();
        entries.map(|entry| entry.text).collect()
    }

    #[test]
    fn a_payload_is_read_as_sections_and_nothing_in_it_acts() {
        let value = json!({
            "goal": "ship\u{1b}[2J", "dry_run": true, "steps": [1, "two"], "none": null,
            "why": "a long text that does not fit beside its name at all", "deep": {"a": {"b": 1}},
        });
        assert_eq!(
            lines(&value),
            [
                "goal: ship␛[2J",
                "dry run: yes",
                "steps:",
                "  - 1",
                "  - two",
                "none: none",
                "why:",
                "  a long text that does not fit beside",
                "  its name at all",
                "deep:",
                "  a:",
                "    b: 1",
            ]
        );
    }

    #[test]
    fn a_payload_that_never_ends_is_cut() {
        let mut value = json!(["x".repeat(10_000)]);
        for _ in 0..3 {
            value = Value::from(vec![value; 9]);
        }
        assert!(lines(&value).len() < 2 * LINES);
    }

    #[test]
    fn of_a_wire_what_it_carries_is_shown() {
        let wire = json!({"wire": "1.0", "type": "claim", "payload": {"agent": "quinn"}});
        assert_eq!(lines(&wire), ["Wire claim", "agent: quinn"]);
        assert!(lines(&json!({})).is_empty());
    }
}
