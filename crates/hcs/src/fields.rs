//! Reading JSON that others wrote: strict about what JSON is, tolerant about fields, and each fault is named.

use std::str::FromStr;

use inbox_wire::Problem;
use serde_json::{Map, Value};

use crate::id::{Sequence, number, shown};
use crate::report::{Deviation, DeviationKind, Refused};

/// The deepest nesting of lists and objects in what a stranger may send.
const MAX_DEPTH: usize = 32;
/// The most faults that are listed: a hostile text could otherwise make a report many times its size.
const MAX_FAULTS: usize = 200;

/// The bytes as one JSON value.
pub(crate) fn document(bytes: &[u8], what: &'static str, most: usize) -> Result<Value, Refused> {
    if bytes.len() > most {
        return Err(Refused::TooLarge {
            what,
            bytes: bytes.len(),
            most,
        });
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Refused::NotText)?;
    let value = inbox_wire::decode(text).map_err(Refused::NotJson)?;
    if depth(&value) > MAX_DEPTH {
        let message = format!("is nested too deeply; the most is {MAX_DEPTH} levels");
        return Err(Refused::NotJson(Problem::new("", message)));
    }
    Ok(value)
}

/// The levels of a value, which the decoder has limited already.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// A value as a report may repeat it.
pub(crate) fn shown_value(value: &Value) -> String {
    match value {
        Value::String(text) => shown(text),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(map) => format!("an object of {} fields", map.len()),
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => short(&number.to_string()),
    }
}

/// The digits of a number, if they are few.
fn short(number: &str) -> String {
    const MOST: usize = 40;
    if number.len() > MOST {
        return format!("a number of {} characters", number.len());
    }
    number.to_owned()
}

/// The faults of one document so far, and the place that is being looked at.
#[derive(Default)]
pub(crate) struct Report {
    path: String,
    deviations: Vec<Deviation>,
    problems: Vec<Problem>,
}

impl Report {
    /// Looks at what is under `key`.
    pub(crate) fn at<T>(&mut self, key: &str, look: impl FnOnce(&mut Report) -> T) -> T {
        let length = self.path.len();
        self.path.push('/');
        self.path
            .push_str(&key.replace('~', "~0").replace('/', "~1"));
        let found = look(self);
        self.path.truncate(length);
        found
    }

    /// Forgives a fault at this place.
    pub(crate) fn forgive(
        &mut self,
        kind: DeviationKind,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        if self.deviations.len() < MAX_FAULTS {
            self.deviations.push(Deviation {
                kind,
                pointer: self.path.clone(),
                expected: expected.into(),
                found: found.into(),
            });
        }
    }

    /// Notes a fault that cannot be forgiven. `None`, so that a reader can end with it.
    pub(crate) fn refuse<T>(&mut self, message: impl Into<String>) -> Option<T> {
        if self.problems.len() < MAX_FAULTS {
            self.problems.push(Problem::new(self.path.clone(), message));
        }
        None
    }

    /// What was read, unless something could not be forgiven.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<(T, Vec<Deviation>), Refused> {
        match value {
            Some(value) if self.problems.is_empty() => Ok((value, self.deviations)),
            _ => Err(Refused::Fields(self.problems)),
        }
    }
}

/// An object whose fields are read one by one. What was not asked for is unknown.
pub(crate) struct Object<'v, 'r> {
    map: &'v Map<String, Value>,
    report: &'r mut Report,
    asked: Vec<&'static str>,
}

impl<'v, 'r> Object<'v, 'r> {
    /// The value as an object.
    pub(crate) fn open(value: &'v Value, report: &'r mut Report) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Object {
                map,
                report,
                asked: Vec::new(),
            }),
            other => report.refuse(format!("must be an object, not {}", shown_value(other))),
        }
    }

    fn ask(&mut self, key: &'static str) -> Option<&'v Value> {
        self.asked.push(key);
        self.map.get(key)
    }

    /// The report, for what concerns the whole object.
    pub(crate) fn report(&mut self) -> &mut Report {
        self.report
    }

    /// Fields that the caller has read.
    pub(crate) fn known(&mut self, keys: &[&'static str]) {
        self.asked.extend(keys);
    }

    /// Whether the field is there.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// A field that must be there.
    pub(crate) fn required<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value, &mut Report) -> Option<T>,
    ) -> Option<T> {
        let value = self.ask(key);
        self.report.at(key, |report| match value {
            Some(value) => read(value, report),
            None => report.refuse("is required"),
        })
    }

    /// A field that may be left out.
    #[expect(
        clippy::option_option,
        reason = "the outer one is whether it could be read"
    )]
    pub(crate) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value, &mut Report) -> Option<T>,
    ) -> Option<Option<T>> {
        let value = self.ask(key);
        self.report.at(key, |report| match value {
            None => Some(None),
            Some(Value::Null) => {
                let expected = "the field is left out where it says nothing";
                report.forgive(DeviationKind::NullField, expected, "null");
                Some(None)
            }
            Some(value) => read(value, report).map(Some),
        })
    }

    /// A field that the standard requires and readers can do without: where it is missing or cannot be read, the rest is
    /// still worth reading.
    pub(crate) fn wanted<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value, &mut Report) -> Option<T>,
    ) -> Option<T> {
        let value = self.ask(key);
        self.report.at(key, |report| {
            let Some(value) = value else {
                report.forgive(DeviationKind::MissingField, "the field is there", "nothing");
                return None;
            };
            let mut attempt = Report {
                path: report.path.clone(),
                ..Report::default()
            };
            let found = read(value, &mut attempt).filter(|_| attempt.problems.is_empty());
            if found.is_some() {
                report.deviations.append(&mut attempt.deviations);
            } else {
                let expected = "the field, as the standard has it";
                report.forgive(DeviationKind::IgnoredField, expected, shown_value(value));
            }
            found
        })
    }

    /// A text for people that may be left out; anything else there is left out.
    pub(crate) fn remark(&mut self, key: &'static str) -> Option<String> {
        let value = self.ask(key)?;
        self.report.at(key, |report| match value {
            Value::String(text) => Some(text.clone()),
            Value::Null => {
                let expected = "the field is left out where it says nothing";
                report.forgive(DeviationKind::NullField, expected, "null");
                None
            }
            other => {
                report.forgive(DeviationKind::IgnoredField, "a text", shown_value(other));
                None
            }
        })
    }

    /// Names every field that was not asked for.
    pub(crate) fn close(self) {
        for (key, value) in self.map {
            if !self.asked.contains(&key.as_str()) {
                let expected = format!("no field but {}", self.asked.join(", "));
                let forgive = |report: &mut Report| {
                    report.forgive(DeviationKind::UnknownField, expected, shown_value(value));
                };
                self.report.at(key, forgive);
            }
        }
    }
}

/// A text.
pub(crate) fn text(value: &Value, report: &mut Report) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        other => report.refuse(format!("must be a text, not {}", shown_value(other))),
    }
}

/// A text that says something.
pub(crate) fn filled(value: &Value, report: &mut Report) -> Option<String> {
    let text = text(value, report)?;
    if text.trim().is_empty() {
        return report.refuse("must not be empty");
    }
    Some(text)
}

/// An id or another text that is a value of its own.
pub(crate) fn parsed<T: FromStr<Err = Refused>>(value: &Value, report: &mut Report) -> Option<T> {
    let text = text(value, report)?;
    match text.parse() {
        Ok(parsed) => Some(parsed),
        Err(refused) => report.refuse(refused.to_string()),
    }
}

/// A whole number; one in a text is forgiven.
pub(crate) fn whole(value: &Value, report: &mut Report) -> Option<u64> {
    let (found, is_text) = match value {
        Value::Number(found) => (found.as_u64(), false),
        Value::String(text) => (number(text), true),
        _ => (None, false),
    };
    match found {
        Some(found) => {
            if is_text {
                report.forgive(DeviationKind::NumberAsText, "a number", shown_value(value));
            }
            Some(found)
        }
        None => report.refuse(format!(
            "must be a whole number, not {}",
            shown_value(value)
        )),
    }
}

/// The number of a message, written as a number.
pub(crate) fn sequence(value: &Value, report: &mut Report) -> Option<Sequence> {
    let found = whole(value, report)?;
    match Sequence::new(found) {
        Some(sequence) => Some(sequence),
        None => report.refuse(format!("must be a sequence number from 1, not {found}")),
    }
}

/// The number of a message, written as a text; a plain number is forgiven.
pub(crate) fn uid(value: &Value, report: &mut Report) -> Option<Sequence> {
    match value {
        Value::Number(_) => {
            let found = sequence(value, report)?;
            report.forgive(
                DeviationKind::TextAsNumber,
                format!("\"{found}\""),
                found.to_string(),
            );
            Some(found)
        }
        other => parsed(other, report),
    }
}

/// A list, each item by the same reader. `None` when one could not be read.
pub(crate) fn list<T>(
    value: &Value,
    report: &mut Report,
    read: impl Fn(&Value, &mut Report) -> Option<T>,
) -> Option<Vec<T>> {
    let Value::Array(items) = value else {
        return report.refuse(format!("must be a list, not {}", shown_value(value)));
    };
    let read =
        |(index, item): (usize, &Value)| report.at(&index.to_string(), |report| read(item, report));
    items.iter().enumerate().map(read).collect()
}

/// A list of texts.
pub(crate) fn texts(value: &Value, report: &mut Report) -> Option<Vec<String>> {
    list(value, report, text)
}

/// A time such as `2026-04-25T10:00:00Z`; anything else is left out.
#[expect(
    clippy::option_option,
    clippy::unnecessary_wraps,
    reason = "it is a reader, and readers can fail"
)]
pub(crate) fn time(value: &Value, report: &mut Report) -> Option<Option<jiff::Timestamp>> {
    let found = value.as_str().and_then(|text| text.parse().ok());
    if found.is_none() {
        report.forgive(
            DeviationKind::IgnoredField,
            "a time such as 2026-04-25T10:00:00Z",
            shown_value(value),
        );
    }
    Some(found)
}
