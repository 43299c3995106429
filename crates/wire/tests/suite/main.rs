//! The tests of Agent Wire: the specification's own examples, each rule broken alone, hostile input, the
//! schemas beside the validator, and what is made of it all.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod card;
mod contract;
mod decode;
mod fields;
mod form;
mod fuzz;
mod hostile;
mod prompt;
mod schema;
mod subset;
mod vectors;

use std::path::PathBuf;

use inbox_wire::Problem;
use serde_json::Value;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a file that is made from the code; `INBOX_WRITE_DOCS` writes it.
fn check_document(path: &str, wanted: &str) {
    let file = root().join(path);
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    if found == wanted {
        return;
    }
    if std::env::var_os("INBOX_WRITE_DOCS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, wanted).unwrap();
        return;
    }
    panic!("{path} is out of date; make docs writes it. It should be:\n{wanted}");
}

/// The document with the value at the pointer replaced, or added where its parent is.
fn with(document: &Value, pointer: &str, value: Value) -> Value {
    let mut changed = document.clone();
    if pointer.is_empty() {
        return value;
    }
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match changed.pointer_mut(parent).unwrap() {
        Value::Object(map) => {
            map.insert(key.replace("~1", "/").replace("~0", "~"), value);
        }
        Value::Array(items) => {
            let index: usize = key.parse().unwrap();
            if index < items.len() {
                items[index] = value;
            } else {
                items.push(value);
            }
        }
        other => panic!("{pointer} is inside {other}"),
    }
    changed
}

/// The document without the field at the pointer.
fn without(document: &Value, pointer: &str) -> Value {
    let mut changed = document.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = changed.pointer_mut(parent).unwrap();
    parent.as_object_mut().unwrap().shift_remove(key).unwrap();
    changed
}

/// Requires one problem alone, at the pointer, whose message has the words.
fn only(problems: &[Problem], pointer: &str, words: &str, name: &str) {
    let [problem] = problems else {
        panic!("{name}: one problem was expected: {problems:#?}");
    };
    assert_eq!(problem.pointer, pointer, "{name}: {problem}");
    assert!(problem.message.contains(words), "{name}: {problem}");
}
