//! Structured content as sections that people read.

use serde_json::Value;

use super::html::{Html, escape, line, short};
use super::markdown::{beginning, plain};
use super::size::{LINE, TEXT, clip};

/// How deep values are laid out; what is deeper is shown as JSON.
const DEEPEST: usize = 4;

/// How many members of an object or a list are shown.
const MOST: usize = 100;

/// A text with more than this many characters, or with lines, is laid out as one.
const LONG: usize = 80;

/// The sections of a payload; of a Wire, those of what it carries. Whether there is more than is shown.
pub(super) fn sections(value: &Value) -> (Html, bool) {
    let mut sheet = Sheet::default();
    if let (Some(sort), Some(payload)) = (value["type"].as_str(), value.get("payload"))
        && value.get("wire").is_some()
    {
        let sort = short(sort);
        sheet.put(&format!(
            "<p class=\"wire\">Wire <code>{}</code></p>",
            escape(&sort)
        ));
        sheet.members(payload, 0);
    } else {
        sheet.members(value, 0);
    }
    (Html::new(sheet.out), sheet.is_cut)
}

/// What is written, until it is enough.
#[derive(Default)]
struct Sheet {
    out: String,
    is_cut: bool,
}

impl Sheet {
    fn put(&mut self, html: &str) {
        self.out.push_str(html);
    }

    /// Whether the next of these is written still: so many, and only while there is room.
    fn has_room(&mut self, index: usize) -> bool {
        let has_room = index < MOST && self.out.len() < TEXT;
        self.is_cut |= !has_room;
        has_room
    }

    fn members(&mut self, value: &Value, depth: usize) {
        let Some(fields) = value.as_object() else {
            if !value.is_null() {
                self.value(value, depth);
            }
            return;
        };
        if fields.is_empty() {
            return;
        }
        self.put("<dl>");
        let mut shown = 0;
        for (name, value) in fields {
            if !self.has_room(shown) {
                break;
            }
            let name = short(name).replace('_', " ");
            self.put(&format!("<dt>{}</dt><dd>", escape(&name)));
            self.value(value, depth + 1);
            self.put("</dd>");
            shown += 1;
        }
        self.put("</dl>");
        self.more(fields.len() - shown);
    }

    fn more(&mut self, count: usize) {
        if count > 0 {
            self.put(&format!("<p>… {count} more</p>"));
        }
    }

    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Null => self.put("<span class=\"nothing\">none</span>"),
            Value::Bool(true) => self.put("yes"),
            Value::Bool(false) => self.put("no"),
            Value::Number(number) => self.put(&escape(&short(&number.to_string()))),
            Value::String(text) if text.is_empty() => {
                self.put("<span class=\"nothing\">empty</span>");
            }
            Value::String(text) if text.chars().nth(LONG).is_some() || text.contains('\n') => {
                let (html, is_cut) = beginning(text);
                self.is_cut |= is_cut;
                self.put(&html.to_string());
            }
            Value::String(text) => self.put(&escape(&line(text))),
            Value::Array(_) | Value::Object(_) if depth >= DEEPEST => {
                let text = value.to_string();
                let shown = clip(&text, LINE);
                self.is_cut |= shown.len() < text.len();
                self.put(&plain(&shown).to_string());
            }
            Value::Array(list) if list.is_empty() => {
                self.put("<span class=\"nothing\">none</span>");
            }
            Value::Array(list) => {
                self.put("<ul>");
                let mut shown = 0;
                for item in list {
                    if !self.has_room(shown) {
                        break;
                    }
                    self.put("<li>");
                    self.value(item, depth + 1);
                    self.put("</li>");
                    shown += 1;
                }
                self.put("</ul>");
                self.more(list.len() - shown);
            }
            Value::Object(_) => self.members(value, depth),
        }
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
        let html = sections(&value).0.to_string();
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
            sections(&wire).0.to_string(),
            "<p class=\"wire\">Wire <code>claim</code></p><dl><dt>agent</dt><dd>quinn</dd></dl>"
        );
    }

    proptest::proptest! {
        #![proptest_config(crate::damage::cases(400))]

        #[test]
        fn whatever_a_payload_is_it_is_shown(text in crate::damage::damaged_text(vec![
            r#"{"wire":"1.0","type":"brief","payload":{"a":[1,{"b":"<b>"},[[]]],"c":null,"d":{"e":{"f":{"g":{"h":1}}}}}}"#,
        ])) {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                let shown = sections(&value).0.to_string();
                proptest::prop_assert!(!shown.contains("<b>"), "{shown}");
                let is_active = |c: char| c.is_control() && c != '\n' && c != '\t';
                proptest::prop_assert!(!shown.chars().any(is_active), "{shown:?}");
            }
        }
    }

    #[test]
    fn what_a_fuzzer_begins_with_is_shown() {
        let text = include_str!("../../../../fuzz/seeds/page_decode/text.md");
        assert!(crate::fuzzing::markdown(text).contains("<h4>One</h4>"));
        let query = include_str!("../../../../fuzz/seeds/page_decode/query.txt");
        assert!(crate::fuzzing::request(query).is_some_and(|text| text.contains("a b")));
    }
}
