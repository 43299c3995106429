//! What is wrong with a document, and where. Faults are collected, so that one answer names them all.

use inbox_core::text::visible;
use serde::Serialize;
use serde_json::{Map, Value};

/// The most problems that are listed; one more says how many were left out. A hostile document could
/// otherwise make an answer many times its own size.
pub const MAX_PROBLEMS: usize = 1_000;

/// The most bytes of pointers that are listed, for the same reason: a key may be as long as the document.
const MAX_POINTERS: usize = 4 << 20;

/// One fault of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where: a JSON pointer (RFC 6901), `""` for the whole document.
    pub pointer: String,
    /// What is wrong, in lower case.
    pub message: String,
    /// Which sort of fault it is.
    #[serde(skip)]
    pub fault: Fault,
}

/// The sort of a fault, for callers that answer with different codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A rule of the format is broken.
    Rule,
    /// The document is of a version that this program does not know. It is then the only problem.
    UnknownVersion,
}

impl Problem {
    /// A broken rule.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Problem {
            pointer: pointer.into(),
            message: message.into(),
            fault: Fault::Rule,
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = if self.pointer.is_empty() {
            "the document"
        } else {
            &self.pointer
        };
        write!(f, "{place}: {}", self.message)
    }
}

/// Whether a document was refused because its version is not known.
pub fn is_unknown_version(problems: &[Problem]) -> bool {
    problems
        .iter()
        .any(|problem| problem.fault == Fault::UnknownVersion)
}

/// Appends one reference token to a JSON pointer.
pub(crate) fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    for c in token.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

/// A value from the document as a message may repeat it: short, on one line, harmless.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("\"{}\"", visible(&short, false))
}

/// Keys that `serde_json` would take for its own when it reads what it wrote.
pub(crate) const RESERVED: &str = "$serde_json::private::";

/// Whether a field that nobody reads can still be stored and read back as it is.
fn can_be_carried(key: &str, value: &Value) -> bool {
    let inside = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.contains('\0'),
        Value::Array(items) => items.iter().all(|item| can_be_carried("", item)),
        Value::Object(map) => map.iter().all(|(key, value)| can_be_carried(key, value)),
    };
    inside && !key.contains('\0') && !key.starts_with(RESERVED)
}

/// What sort of JSON value it is, for messages.
pub(crate) fn sort(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The problems of one document so far, and the place that is being looked at.
#[derive(Default)]
pub(crate) struct Report {
    path: String,
    problems: Vec<Problem>,
    pointers: usize,
    left_out: usize,
}

impl Report {
    /// A report whose pointers begin with `path`.
    pub(crate) fn below(path: &str) -> Self {
        Report {
            path: path.to_owned(),
            ..Report::default()
        }
    }

    /// Looks at what is under `key`.
    pub(crate) fn at<T>(&mut self, key: &str, look: impl FnOnce(&mut Report) -> T) -> T {
        let length = self.path.len();
        push_token(&mut self.path, key);
        let found = look(self);
        self.path.truncate(length);
        found
    }

    /// Notes a broken rule at this place. `None`, so that a reader can end with it.
    pub(crate) fn say<T>(&mut self, message: impl Into<String>) -> Option<T> {
        self.pointers += self.path.len();
        if self.problems.len() < MAX_PROBLEMS && self.pointers <= MAX_POINTERS {
            let problem = Problem::new(self.path.clone(), message);
            self.problems.push(problem);
        } else {
            self.left_out += 1;
        }
        None
    }

    /// How many problems there are.
    pub(crate) fn count(&self) -> usize {
        self.problems.len() + self.left_out
    }

    /// Every problem, in the order in which they were found.
    pub(crate) fn finish(mut self) -> Vec<Problem> {
        if self.left_out > 0 {
            let message = format!("{} more problems are not listed", self.left_out);
            self.problems.push(Problem::new("", message));
        }
        self.problems
    }
}

/// Reads one value of a document: the value in its type, or `None` after saying why not.
pub(crate) trait Read<T>: FnOnce(&Value, &mut Report) -> Option<T> {}
impl<T, F: FnOnce(&Value, &mut Report) -> Option<T>> Read<T> for F {}

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
            other => report.say(format!("must be an object, not {}", sort(other))),
        }
    }

    fn read<T>(&mut self, key: &'static str, value: &Value, read: impl Read<T>) -> Option<T> {
        self.report.at(key, |report| read(value, report))
    }

    fn ask(&mut self, key: &'static str) -> Option<&'v Value> {
        self.asked.push(key);
        self.map.get(key)
    }

    /// A field that must be there.
    pub(crate) fn required<T>(&mut self, key: &'static str, read: impl Read<T>) -> Option<T> {
        match self.ask(key) {
            Some(value) => self.read(key, value, read),
            None => self.report.at(key, |report| report.say("is required")),
        }
    }

    /// A field that may be left out, and has a default then.
    pub(crate) fn or<T>(&mut self, key: &'static str, default: T, read: impl Read<T>) -> Option<T> {
        match self.ask(key) {
            Some(value) => self.read(key, value, read),
            None => Some(default),
        }
    }

    /// A field that may be left out, and may not be null.
    #[expect(
        clippy::option_option,
        reason = "the outer one is whether it could be read"
    )]
    pub(crate) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl Read<T>,
    ) -> Option<Option<T>> {
        match self.ask(key) {
            Some(value) => self.read(key, value, read).map(Some),
            None => Some(None),
        }
    }

    /// A field that may be left out or null.
    #[expect(
        clippy::option_option,
        reason = "the outer one is whether it could be read"
    )]
    pub(crate) fn nullable<T>(
        &mut self,
        key: &'static str,
        read: impl Read<T>,
    ) -> Option<Option<T>> {
        match self.ask(key) {
            None | Some(Value::Null) => Some(None),
            Some(value) => self.read(key, value, read).map(Some),
        }
    }

    /// Refuses every field that was not asked for, but those whose name begins with `x_`.
    pub(crate) fn close(self) {
        for (key, value) in self.map {
            if key.starts_with("x_") {
                if !can_be_carried(key, value) {
                    let message =
                        "contains a NUL character or a reserved key, which cannot be carried";
                    self.report.at(key, |report| report.say::<()>(message));
                }
            } else if !self.asked.contains(&key.as_str()) {
                let message = format!(
                    "is unknown; the fields here are {}, and any that begins with x_",
                    self.asked.join(", ")
                );
                self.report.at(key, |report| report.say::<()>(message));
            }
        }
    }
}
