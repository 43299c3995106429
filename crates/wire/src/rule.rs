//! The rules that fields share. Each is a reader, which names what is wrong, and beside it the JSON Schema
//! that says as much of the same rule as a schema can. A schema is never stricter than its reader.

use inbox_core::record::Millis;
use inbox_core::{Address, AgentName};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::problem::{Report, quoted, sort};
use crate::sentence::{is_order, sentences, words};
use crate::word::Word;

/// The longest subject, in characters, as in the rest of inbox.
pub(crate) const SUBJECT: usize = inbox_core::limit::SUBJECT;
/// The longest id or name, in characters.
pub(crate) const LABEL: usize = inbox_core::limit::LABEL;
/// The longest path or URL, in characters.
pub(crate) const PLACE: usize = 4_096;
/// The longest item of a list on a card, in characters.
pub(crate) const PHRASE: usize = 1_000;
/// The longest message type, in characters.
pub(crate) const MESSAGE_TYPE: usize = 128;

/// The form of an agent's, role's or contract's slug.
const SLUG: &str = "^[a-z0-9][a-z0-9._-]{0,63}$";
/// The form of an address: a slug, `role:NAME`, a tag such as `project:NAME`, or `all`.
const ADDRESS: &str = "^[a-z0-9][a-z0-9._-]{0,63}(:[a-z0-9][a-z0-9._-]{0,63})?$";
/// The form of a message type.
const DOTTED: &str = "^[a-z][a-z0-9_-]*(\\.[a-z0-9][a-z0-9_-]*)*$";
/// The form of an RFC 3339 time.
const TIME: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$";
const CONTROL: &str = "[\\u0000-\\u001f\\u007f-\\u009f]";

fn string<'v>(value: &'v Value, report: &mut Report) -> Option<&'v str> {
    match value {
        Value::String(text) if text.contains('\0') => {
            report.say("contains a NUL character, which cannot be stored")
        }
        Value::String(text) => Some(text),
        other => report.say(format!("must be a string, not {}", sort(other))),
    }
}

/// Whether nothing of a text would be seen.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_whitespace()
            || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
    })
}

/// Any text.
pub(crate) fn text(value: &Value, report: &mut Report) -> Option<String> {
    string(value, report).map(str::to_owned)
}

pub(crate) fn text_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}

/// A text in which there is something to read.
pub(crate) fn filled(value: &Value, report: &mut Report) -> Option<String> {
    let text = string(value, report)?;
    if is_blank(text) {
        return report.say("is empty");
    }
    Some(text.to_owned())
}

pub(crate) fn filled_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "pattern": "\\S" })
}

pub(crate) fn filled_or_null_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "minLength": 1, "pattern": "\\S" })
}

/// One line of at most `MAX` characters.
pub(crate) fn line<const MAX: usize>(value: &Value, report: &mut Report) -> Option<String> {
    let text = filled(value, report)?;
    if text.chars().any(char::is_control) {
        return report.say("must be one line without control characters");
    }
    let length = text.chars().count();
    if length > MAX {
        return report.say(format!("has {length} characters; the most is {MAX}"));
    }
    Some(text)
}

fn line_keywords(kind: Value, max: usize) -> Schema {
    json_schema!({
        "type": kind,
        "minLength": 1,
        "maxLength": max,
        "pattern": "\\S",
        "not": { "type": "string", "pattern": CONTROL },
    })
}

pub(crate) fn line_schema<const MAX: usize>(_: &mut SchemaGenerator) -> Schema {
    line_keywords(json!("string"), MAX)
}

pub(crate) fn line_or_null_schema<const MAX: usize>(_: &mut SchemaGenerator) -> Schema {
    line_keywords(json!(["string", "null"]), MAX)
}

/// Whether a text is a slug: an agent's name as it is compared, in lower case.
pub(crate) fn is_slug(text: &str) -> bool {
    text.parse::<AgentName>()
        .is_ok_and(|name| name.as_str() == text)
}

/// A slug.
pub(crate) fn slug(value: &Value, report: &mut Report) -> Option<String> {
    let text = string(value, report)?;
    if !is_slug(text) {
        return report.say(format!(
            "{} is not a slug: 1 to 64 lower-case letters, digits, dots, dashes or underscores, first a letter or digit",
            quoted(text)
        ));
    }
    Some(text.to_owned())
}

pub(crate) fn slug_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": SLUG })
}

pub(crate) fn slug_or_null_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "pattern": SLUG })
}

/// A list of slugs.
pub(crate) fn slugs_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "string", "pattern": SLUG } })
}

/// The sender of a Wire.
pub(crate) fn sender(value: &Value, report: &mut Report) -> Option<AgentName> {
    slug(value, report)?.parse().ok()
}

/// Whether a text is an address in lower case.
pub(crate) fn is_address(text: &str) -> bool {
    text.parse::<Address>()
        .is_ok_and(|address| address.as_str() == text)
}

/// An address.
pub(crate) fn address(value: &Value, report: &mut Report) -> Option<String> {
    let text = string(value, report)?;
    if !is_address(text) {
        return report.say(format!(
            "{} is not an address: an agent's slug, role:NAME, a tag such as project:NAME, or all, in lower case",
            quoted(text)
        ));
    }
    Some(text.to_owned())
}

pub(crate) fn address_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": ADDRESS })
}

/// Whether a text is a dotted word in lower case.
pub(crate) fn is_dotted(text: &str) -> bool {
    let is_part = |part: &str| {
        let mut bytes = part.bytes();
        let is_first = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        bytes.next().is_some_and(is_first) && bytes.all(|b| is_first(b) || b == b'_' || b == b'-')
    };
    text.len() <= MESSAGE_TYPE
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.split('.').all(is_part)
}

/// A message type.
pub(crate) fn dotted(value: &Value, report: &mut Report) -> Option<String> {
    let text = string(value, report)?;
    if !is_dotted(text) {
        return report.say(format!(
            "{} is not a message type: a lower-case word with dots, such as review.request",
            quoted(text)
        ));
    }
    Some(text.to_owned())
}

pub(crate) fn dotted_schema(_: &mut SchemaGenerator) -> Schema {
    let known: Vec<_> = crate::template::known_message_types()
        .iter()
        .map(|known| known.name)
        .collect();
    json_schema!({ "type": "string", "maxLength": MESSAGE_TYPE, "pattern": DOTTED, "examples": known })
}

/// An RFC 3339 time. The parser for times takes more forms than this one.
pub(crate) fn time(value: &Value, report: &mut Report) -> Option<Millis> {
    let text = string(value, report)?;
    let time = is_time(text).then(|| text.parse::<Millis>().ok()).flatten();
    if time.is_none() {
        return report.say(format!(
            "{} is not an RFC 3339 time such as 2026-04-28T00:00:00Z",
            quoted(text)
        ));
    }
    time
}

/// Whether a text has the shape that [`TIME`] describes.
pub(crate) fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shape = "dddd-dd-ddTdd:dd:dd";
    let Some((head, mut rest)) = bytes.split_at_checked(shape.len()) else {
        return false;
    };
    let fits = |(&byte, form): (&u8, u8)| match form {
        b'd' => byte.is_ascii_digit(),
        form => byte.eq_ignore_ascii_case(&form),
    };
    if !head.iter().zip(shape.bytes()).all(fits) {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return false;
        }
        rest = &fraction[digits..];
    }
    match rest {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', a, b, b':', c, d] => [a, b, c, d].iter().all(|b| b.is_ascii_digit()),
        _ => false,
    }
}

pub(crate) fn time_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time", "pattern": TIME })
}

/// True or false.
pub(crate) fn boolean(value: &Value, report: &mut Report) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        other => report.say(format!("must be true or false, not {}", sort(other))),
    }
}

/// A whole number of at least `MIN` and at most `MAX`.
pub(crate) fn whole<const MIN: u64, const MAX: u64>(
    value: &Value,
    report: &mut Report,
) -> Option<u64> {
    let Value::Number(number) = value else {
        return report.say(format!("must be a whole number, not {}", sort(value)));
    };
    match number.as_u64() {
        Some(found) if (MIN..=MAX).contains(&found) => Some(found),
        _ => report.say(format!(
            "is {}, which is not a whole number from {MIN} to {MAX}",
            quoted(&number.to_string()).trim_matches('"')
        )),
    }
}

/// The largest count: what every reader of JSON can hold exactly.
pub(crate) const MOST: u64 = 9_007_199_254_740_991;

pub(crate) fn whole_schema<const MIN: u64, const MAX: u64>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
}

/// A number that is not negative.
pub(crate) fn amount(value: &Value, report: &mut Report) -> Option<f64> {
    let Value::Number(number) = value else {
        return report.say(format!("must be a number, not {}", sort(value)));
    };
    match number.as_f64() {
        Some(found) if found >= 0.0 && found.is_finite() => Some(found),
        _ => report.say(format!(
            "is {}, which is not a number of at least 0",
            quoted(&number.to_string()).trim_matches('"')
        )),
    }
}

pub(crate) fn amount_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "number", "minimum": 0 })
}

/// One word of a closed vocabulary.
pub(crate) fn word<W: Word>(value: &Value, report: &mut Report) -> Option<W> {
    let text = string(value, report)?;
    W::named(text).or_else(|| {
        let known = W::WORDS.join(", ");
        report.say(format!("{} is not one of {known}", quoted(text)))
    })
}

/// A list whose items are read by `item`.
pub(crate) fn list<T>(
    item: impl Fn(&Value, &mut Report) -> Option<T>,
) -> impl FnOnce(&Value, &mut Report) -> Option<Vec<T>> {
    move |value, report| {
        let Value::Array(items) = value else {
            return report.say(format!("must be a list, not {}", sort(value)));
        };
        // Every item is read, so that each fault is named, before the first missing one ends it.
        let read: Vec<Option<T>> = items
            .iter()
            .enumerate()
            .map(|(index, value)| report.at(&index.to_string(), |report| item(value, report)))
            .collect();
        read.into_iter().collect()
    }
}

/// The same, with at least one item.
pub(crate) fn some<T>(
    item: impl Fn(&Value, &mut Report) -> Option<T>,
) -> impl FnOnce(&Value, &mut Report) -> Option<Vec<T>> {
    move |value, report| {
        let items = list(item)(value, report)?;
        if items.is_empty() {
            return report.say("must have at least one item");
        }
        Some(items)
    }
}

/// A list of texts.
pub(crate) fn list_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "string", "minLength": 1, "pattern": "\\S" } })
}

/// A list of at least one text.
pub(crate) fn some_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = list_schema(generator);
    schema.insert("minItems".to_owned(), json!(1));
    schema
}

/// At most `max` sentences.
pub(crate) fn capped(text: &str, max: usize, report: &mut Report) -> Option<()> {
    let found = sentences(text);
    if found > max {
        let noun = if max == 1 { "sentence" } else { "sentences" };
        return report.say(format!("has {found} sentences; the most is {max} {noun}"));
    }
    Some(())
}

/// Prose of at most `MAX` sentences.
pub(crate) fn prose<const MAX: usize>(value: &Value, report: &mut Report) -> Option<String> {
    let text = filled(value, report)?;
    capped(&text, MAX, report)?;
    Some(text)
}

/// One phrase or sentence on one line.
pub(crate) fn phrase(value: &Value, report: &mut Report) -> Option<String> {
    let text = line::<PHRASE>(value, report)?;
    capped(&text, 1, report)?;
    Some(text)
}

/// A list of phrases.
pub(crate) fn phrases_schema(generator: &mut SchemaGenerator) -> Schema {
    let item = line_schema::<PHRASE>(generator);
    json_schema!({ "type": "array", "items": item })
}

/// A text of at most `MAX` words.
pub(crate) fn brief_text<const MAX: usize>(value: &Value, report: &mut Report) -> Option<String> {
    let text = text(value, report)?;
    let found = words(&text);
    if found > MAX {
        return report.say(format!("has {found} words; the most is {MAX}"));
    }
    Some(text)
}

/// The goal of a brief: one sentence that states what is true when the task is done.
pub(crate) fn goal(value: &Value, report: &mut Report) -> Option<String> {
    let text = filled(value, report)?;
    let is_single = capped(&text, 1, report);
    if is_order(&text) {
        return report.say("is an order; state what is true when the task is done: \"X is built\", not \"Build X\"");
    }
    is_single.map(|()| text)
}

/// Adds to the schema of a struct that unknown fields are refused, but those beginning with `x_`.
pub(crate) fn closed(schema: &mut Schema) {
    schema.insert("patternProperties".to_owned(), json!({ "^x_": true }));
    schema.insert("additionalProperties".to_owned(), json!(false));
}
