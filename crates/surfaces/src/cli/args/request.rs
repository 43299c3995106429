//! Requests made from the arguments, and from the files that they name.

use std::io::Read;

use clap::ArgMatches;
use inbox_core::{Refusal, limit};
use inbox_ops::{Identity, Operation};
use serde_json::{Map, Number, Value};

use super::{Field, Form, PLAIN, Place, is_long_text, place, word_id, word_name};

/// Makes an operation's request from its arguments, reading the files that they name.
pub(crate) fn request<O: Operation>(
    matches: &ArgMatches,
    fields: &[Field],
    agent_flag: Option<&str>,
) -> Result<O, Refusal> {
    let mut object = Map::new();
    for field in fields {
        if O::IDENTITY == Identity::Ignored && field.name == "agent" {
            match agent_flag {
                Some(agent) => drop(object.insert(field.name.clone(), agent.into())),
                None if field.is_required => return Err(Refusal::input("--agent is missing")),
                None => {}
            }
            continue;
        }
        match value(field, matches)? {
            Some(value) => drop(object.insert(field.name.clone(), value)),
            None if field.is_required => {
                return Err(Refusal::input(format!(
                    "{} is missing",
                    shown(O::NAME, field)
                )));
            }
            None => {}
        }
    }
    serde_json::from_value(Value::Object(object))
        .map_err(|error| Refusal::from_carried(&error.to_string()))
}

/// A field as the usage names it.
fn shown(command: &str, field: &Field) -> String {
    let flag = format!("--{}", field.flag());
    match place(command, &field.name) {
        Place::Flag if field.form == Form::Plain => PLAIN.to_owned(),
        Place::Flag => flag,
        Place::Word => word_name(&field.name),
        Place::Either => format!("{} or {flag}", word_name(&field.name)),
    }
}

fn value(field: &Field, matches: &ArgMatches) -> Result<Option<Value>, Refusal> {
    let flag = field.flag();
    let word = word_id(&field.name);
    let get = |id: &str| matches.try_get_many::<String>(id).ok().flatten();
    let one = || {
        [&field.name, &word]
            .into_iter()
            .find_map(|id| get(id)?.next())
    };
    let many = || {
        let values: Vec<String> = [&field.name, &word]
            .into_iter()
            .filter_map(|id| get(id))
            .flatten()
            .cloned()
            .collect();
        (!values.is_empty()).then_some(values)
    };
    Ok(match field.form {
        Form::Switch => matches.get_flag(&field.name).then_some(Value::Bool(true)),
        Form::Integer => match one() {
            None => None,
            Some(text) => Some(integer(&flag, text)?),
        },
        Form::Json => match one() {
            None => None,
            Some(text) => Some(inbox_ops::decode_json(text).map_err(|error| {
                Refusal::input(format!("--{flag} is not JSON: {error}"))
                    .hint("quote it for the shell: '{\"key\":\"value\"}'")
            })?),
        },
        Form::Text if is_long_text(&field.name) => match file(matches, &field.name) {
            Some(path) => Some(read_body(path)?.into()),
            None => one().cloned().map(Value::from),
        },
        Form::Text => match one() {
            Some(text)
                if text.starts_with("--")
                    && matches
                        .try_contains_id(text[2..].replace('-', "_").as_str())
                        .is_ok() =>
            {
                return Err(Refusal::input(format!(
                    "--{flag} has no value: {text} follows it"
                )));
            }
            text => text.cloned().map(Value::from),
        },
        Form::Words => many().map(|words| {
            words
                .into_iter()
                .map(|word| word.trim().to_owned())
                .collect::<Vec<_>>()
                .into()
        }),
        Form::Repeated => many().map(Value::from),
        Form::JsonFile => match one() {
            None => None,
            Some(path) => match inbox_ops::decode_json(&read_body(path)?) {
                // A file that was named and holds nothing is not the same as none.
                Ok(Value::Null) => {
                    return Err(Refusal::input(format!(
                        "{path}: the document is null, where an object is meant"
                    )));
                }
                Ok(value) => Some(value),
                Err(refusal) => {
                    return Err(Refusal {
                        message: format!("{path}: {}", refusal.message),
                        ..refusal
                    });
                }
            },
        },
        Form::Plain => many().map(|words| words.join(" ").into()),
        Form::Artifacts => many().map(|paths| {
            paths
                .into_iter()
                .map(|path| crate::cli::local::artifact(&path))
                .collect::<Vec<_>>()
                .into()
        }),
    })
}

/// The file that a long text is to be read from.
fn file<'a>(matches: &'a ArgMatches, field: &str) -> Option<&'a String> {
    let id = format!("{field}_file");
    matches.try_get_one::<String>(&id).ok().flatten()
}

fn integer(flag: &str, text: &str) -> Result<Value, Refusal> {
    let number: i64 = text.parse().map_err(|error: std::num::ParseIntError| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let problem = match error.kind() {
            PosOverflow => "too large",
            NegOverflow => "too small",
            _ => "not a whole number",
        };
        Refusal::input(format!("--{flag} is {text:?}, which is {problem}"))
    })?;
    if flag == "timeout-seconds" {
        limit::in_range("--timeout-seconds", number, 0, i64::from(u32::MAX))?;
    }
    if flag == "after-event" {
        limit::in_range("--after-event", number, 0, i64::MAX)?;
    }
    Ok(Value::Number(Number::from(number)))
}

pub(crate) fn read_body(path: &str) -> Result<String, Refusal> {
    // Who gives a secret itself, where the file with it is meant, does not see it again.
    let shown = if inbox_core::text::is_secret(path) {
        "(a secret in the place of a file's name)"
    } else {
        path
    };
    let cannot = |error: &dyn std::fmt::Display| {
        Refusal::input(format!("the file {shown} cannot be read: {error}")).detail("path", shown)
    };
    let mut bytes = Vec::new();
    // One byte more than is allowed tells too much from enough without reading a disk full of it.
    let most = limit::BODY as u64 + 1;
    if path == "-" {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes))
    }
    .map_err(|error| cannot(&error))?;
    if bytes.len() > limit::BODY {
        let mut refusal = limit::bytes("the body", &"x".repeat(bytes.len()), limit::BODY).err();
        if let Some(refusal) = refusal.as_mut() {
            refusal.message = format!("the file {path} has more than {} bytes", limit::BODY);
            refusal.details.shift_remove("size");
        }
        return Err(refusal.unwrap_or_else(|| cannot(&"it is too large")));
    }
    String::from_utf8(bytes).map_err(|_| cannot(&"it is not UTF-8 text"))
}
