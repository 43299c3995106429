//! Structured content as sections that people read.

use serde_json::Value;

use super::html::{Html, escape, line};
use super::markdown::{markdown, plain};

/// How deep values are laid out; what is deeper is shown as JSON.
const DEEPEST: usize = 4;

/// How many members of an object or a list are shown.
const MOST: usize = 100;

/// A text with more than this many characters, or with lines, is laid out as one.
const LONG: usize = 80;

/// The sections of a payload; of a Wire, those of what it carries.
pub(super) fn sections(value: &Value) -> Html {
    if let (Some(sort), Some(payload)) = (value["type"].as_str(), value.get("payload"))
        && value.get("wire").is_some()
    {
        return Html::new(format!(
            "<p class=\"wire\">Wire <code>{}</code></p>{}",
            escape(&line(sort)),
            members(payload, 0)
        ));
    }
    Html::new(members(value, 0))
}

fn members(value: &Value, depth: usize) -> String {
    let Some(fields) = value.as_object() else {
        return match value {
            Value::Null => String::new(),
            other => of(other, depth),
        };
    };
    if fields.is_empty() {
        return String::new();
    }
    let mut out = String::from("<dl>");
    for (name, value) in fields.iter().take(MOST) {
        let name = line(name).replace('_', " ");
        out.push_str(&format!(
            "<dt>{}</dt><dd>{}</dd>",
            escape(&name),
            of(value, depth + 1)
        ));
    }
    out.push_str("</dl>");
    out.push_str(&more(fields.len()));
    out
}

fn more(count: usize) -> String {
    match count.checked_sub(MOST) {
        Some(more) if more > 0 => format!("<p>… {more} more</p>"),
        _ => String::new(),
    }
}

fn of(value: &Value, depth: usize) -> String {
    match value {
        Value::Null => "<span class=\"nothing\">none</span>".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.is_empty() => "<span class=\"nothing\">empty</span>".to_owned(),
        Value::String(text) if text.chars().count() > LONG || text.contains('\n') => {
            markdown(text).to_string()
        }
        Value::String(text) => escape(&line(text)).into_owned(),
        Value::Array(_) | Value::Object(_) if depth >= DEEPEST => {
            plain(&value.to_string()).to_string()
        }
        Value::Array(list) => {
            let items: String = list
                .iter()
                .take(MOST)
                .map(|item| format!("<li>{}</li>", of(item, depth + 1)))
                .collect();
            match items.as_str() {
                "" => "<span class=\"nothing\">none</span>".to_owned(),
                items => format!("<ul>{items}</ul>{}", more(list.len())),
            }
        }
        Value::Object(_) => members(value, depth),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_payload_is_read_as_sections_and_nothing_in_it_acts() {
        let value = json!({
            "goal": "<b>ship</b>", "ready": true, "list": [1, "<i>"], "deep": {"a": {"b": {"c": {"d": "<u>"}}}},
        });
        let html = sections(&value).to_string();
        assert!(
            html.starts_with("<dl><dt>goal</dt><dd>&lt;b&gt;ship&lt;/b&gt;</dd>"),
            "{html}"
        );
        assert!(
            !html.contains("<b>") && !html.contains("<i>") && !html.contains("<u>"),
            "{html}"
        );
    }

    #[test]
    fn of_a_wire_what_it_carries_is_shown() {
        let wire = json!({"wire": "1.0", "type": "claim", "payload": {"agent": "quinn"}});
        assert_eq!(
            sections(&wire).to_string(),
            "<p class=\"wire\">Wire <code>claim</code></p><dl><dt>agent</dt><dd>quinn</dd></dl>"
        );
    }
}
