//! Editing JSON files that belong to somebody else: comments, order and spaces stay as they are.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Map, Value};

use super::piece::{Want, pretty};

/// Comments and commas at an end are usual in these files; what else is no JSON is a mistake in writing, which
/// no edit should cover up.
const READ: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The text with everything that must be in it.
pub(super) fn with(text: &str, wants: &[Want]) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(pretty(&fresh(wants)));
    }
    let (root, object) = read(text)?;
    for want in wants {
        match want {
            Want::Entry { path, value } => {
                let (holder, key) = holder(&object, path)?;
                match holder.get(key) {
                    Some(found) => merge(&found, value),
                    None => drop(holder.append(key, input(value))),
                }
            }
            Want::Hook { path, value, mark } => {
                let (holder, key) = holder(&object, path)?;
                let list = match holder.get(key) {
                    Some(found) => found
                        .array_value()
                        .ok_or_else(|| format!("{} is no list", path.join(".")))?,
                    None => holder.array_value_or_set(key),
                };
                let ours = command_of(value, mark);
                match list.elements().iter().find_map(|node| marked(node, mark)) {
                    Some(found) => merge_object(&found, &ours),
                    None => drop(list.append(input(value))),
                }
            }
            Want::Needed { key, value } => {
                if object.get(key).is_none() {
                    object.insert(0, key, input(value));
                }
            }
        }
    }
    Ok(root.to_string())
}

/// The text without what is ours.
pub(super) fn without(text: &str, wants: &[Want]) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let (root, object) = read(text)?;
    for want in wants {
        match want {
            Want::Entry { path, .. } => {
                if let Some(found) = lookup(&object, path) {
                    found.remove();
                    tidy(&object, path);
                }
            }
            Want::Hook { path, mark, .. } => {
                let list = lookup(&object, path).and_then(|found| found.array_value());
                let Some(list) = list else { continue };
                let before = list.elements().len();
                for node in list.elements() {
                    take_out(node, mark);
                }
                if list.elements().len() < before && list.elements().is_empty() {
                    if let Some(found) = lookup(&object, path) {
                        found.remove();
                    }
                    tidy(&object, path);
                }
            }
            Want::Needed { .. } => {}
        }
    }
    Ok(root.to_string())
}

/// Whether something of ours is in it.
pub(super) fn has_any(text: &str, wants: &[Want]) -> bool {
    without(text, wants).is_ok_and(|rest| rest != text)
}

/// Whether nothing is left but what a client insists on.
pub(super) fn is_bare(text: &str, wants: &[Want]) -> bool {
    let Ok((root, object)) = read(text) else {
        return text.trim().is_empty();
    };
    let needed = |name: &str| {
        let is_it = |want: &Want| matches!(want, Want::Needed { key, .. } if key == name);
        wants.iter().any(is_it)
    };
    let is_only_needed = object
        .properties()
        .iter()
        .all(|found| found.decoded_name().is_some_and(|name| needed(&name)));
    is_only_needed && !root.to_string().contains("//") && !root.to_string().contains("/*")
}

fn read(text: &str) -> Result<(CstRootNode, CstObject), String> {
    let root = CstRootNode::parse(text, &READ).map_err(|error| error.to_string())?;
    let object = root.object_value().ok_or("it is no JSON object")?;
    Ok((root, object))
}

/// A new file's value.
fn fresh(wants: &[Want]) -> Value {
    let mut whole = Value::Object(Map::new());
    for want in wants {
        match want {
            Want::Needed { key, value } => whole[key] = value.clone(),
            Want::Entry { path, value } => *place(&mut whole, path) = value.clone(),
            Want::Hook { path, value, .. } => {
                let list = place(&mut whole, path);
                match list.as_array_mut() {
                    Some(list) => list.push(value.clone()),
                    None => *list = Value::Array(vec![value.clone()]),
                }
            }
        }
    }
    whole
}

fn place<'a>(whole: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(whole, |value, key| &mut value[key])
}

/// The object that holds the last key of a path, made where it is missing, and the key.
fn holder<'a>(object: &CstObject, path: &'a [String]) -> Result<(CstObject, &'a str), String> {
    let (last, above) = path.split_last().ok_or("an entry has a name")?;
    let mut holder = object.clone();
    for key in above {
        holder = match holder.get(key) {
            Some(found) => found
                .object_value()
                .ok_or_else(|| format!("{key} is no object"))?,
            None => holder.object_value_or_set(key),
        };
    }
    Ok((holder, last))
}

fn lookup(object: &CstObject, path: &[String]) -> Option<CstObjectProp> {
    let (last, above) = path.split_last()?;
    let holder = above
        .iter()
        .try_fold(object.clone(), |holder, key| holder.object_value(key))?;
    holder.get(last)
}

/// Takes away the objects above an entry that it has left empty.
fn tidy(object: &CstObject, path: &[String]) {
    for depth in (1..path.len()).rev() {
        let Some(found) = lookup(object, &path[..depth]) else {
            continue;
        };
        if found
            .object_value()
            .is_some_and(|inner| inner.children_exclude_trivia_and_tokens().is_empty())
        {
            found.remove();
        }
    }
}

/// Sets what is ours in a value that is there, and leaves what the user added to it.
fn merge(found: &CstObjectProp, value: &Value) {
    match (found.object_value(), value.as_object()) {
        (Some(object), Some(wanted)) => merge_object(&object, wanted),
        _ if as_value(found.value()) == Some(value.clone()) => {}
        _ => found.set_value(input(value)),
    }
}

fn merge_object(object: &CstObject, wanted: &Map<String, Value>) {
    for (key, value) in wanted {
        match object.get(key) {
            // A time-out or a limit is the user's to change; what is run is ours.
            Some(found) if value.is_number() && found.value().is_some() => {}
            Some(found) => merge(&found, value),
            None => drop(object.append(key, input(value))),
        }
    }
}

fn as_value(node: Option<CstNode>) -> Option<Value> {
    // Its own text is JSON but for comments, and those make it different enough to be written again.
    serde_json::from_str(&node?.to_string()).ok()
}

/// The object with the command of ours, in a hook or in a group of them.
fn marked(node: &CstNode, mark: &str) -> Option<CstObject> {
    let object = node.as_object()?;
    if is_marked(&object, mark) {
        return Some(object);
    }
    let inner = object.array_value("hooks")?;
    inner.elements().iter().find_map(|node| marked(node, mark))
}

fn is_marked(object: &CstObject, mark: &str) -> bool {
    let command = object.get("command").and_then(|found| found.value());
    let text = command.and_then(|node| node.as_string_lit()?.decoded_value().ok());
    text.is_some_and(|text| text.ends_with(mark))
}

/// Takes a hook of ours out, and its group when it was alone in it.
fn take_out(node: CstNode, mark: &str) {
    let Some(object) = node.as_object() else {
        return;
    };
    if is_marked(&object, mark) {
        node.remove();
        return;
    }
    let Some(inner) = object.array_value("hooks") else {
        return;
    };
    let before = inner.elements().len();
    for node in inner.elements() {
        take_out(node, mark);
    }
    if is_empty_now(&inner, before) {
        node.remove();
    }
}

fn is_empty_now(list: &CstArray, before: usize) -> bool {
    before > 0 && list.elements().is_empty()
}

/// The innermost object of a wanted hook: the one with the command.
fn command_of(value: &Value, mark: &str) -> Map<String, Value> {
    let own = value.as_object().cloned().unwrap_or_default();
    let is_it = own
        .get("command")
        .and_then(Value::as_str)
        .is_some_and(|command| command.ends_with(mark));
    if is_it {
        return own;
    }
    let inner = own.get("hooks").and_then(Value::as_array);
    let found = inner.and_then(|list| list.first());
    found.map_or_else(Map::new, |value| command_of(value, mark))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(it) => CstInputValue::Bool(*it),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(object) => {
            let pairs = object
                .iter()
                .map(|(key, value)| (key.clone(), input(value)));
            CstInputValue::Object(pairs.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::damage::{cases, damaged_text};

    fn wants() -> Vec<Want> {
        let command = "/usr/bin/inbox hook claude stop";
        let path = |parts: &[&str]| parts.iter().map(ToString::to_string).collect();
        vec![
            Want::Needed {
                key: "version".into(),
                value: json!(1),
            },
            Want::Entry {
                path: path(&["mcpServers", "inbox"]),
                value: json!({ "command": "inbox", "args": ["mcp"] }),
            },
            Want::Hook {
                path: path(&["hooks", "Stop"]),
                value: json!({ "hooks": [{ "type": "command", "command": command, "timeout": 10 }] }),
                mark: "hook claude stop".into(),
            },
        ]
    }

    const FILES: &[&str] = &[
        "// mine\n{\n  \"mcpServers\": { \"other\": { \"command\": \"x\" }, },\n  \"hooks\": { \"Stop\": [] }\n}\n",
        "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"mine\"}]}]},\"mcpServers\":{}}",
        "{}",
        "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"inbox hook claude stop\"}]}]},\"version\":2}",
        "{\"mcpServers\":{\"inbox\":7}}",
    ];

    fn plain(text: &str) -> Option<Value> {
        serde_json::from_str(text).ok()
    }

    proptest! {
        #![proptest_config(cases(500))]

        /// What is edited stays JSON, an edit that was made is not made again, and taking out leaves nothing of ours.
        #[test]
        fn whatever_somebodys_file_is_it_is_edited_or_refused(text in damaged_text(FILES.to_vec())) {
            let wants = wants();
            let _ = (has_any(&text, &wants), is_bare(&text, &wants), without(&text, &wants));
            let Ok(edited) = with(&text, &wants) else { return Ok(()); };
            prop_assert_eq!(with(&edited, &wants), Ok(edited.clone()));
            let left = without(&edited, &wants).expect("what was written is read");
            if plain(&text).is_none() {
                return Ok(());
            }
            let value = plain(&edited);
            prop_assert!(value.is_some(), "{edited}");
            let left = plain(&left).expect("what is left is JSON");
            prop_assert!(left.pointer("/mcpServers/inbox").is_none(), "{left}");
            prop_assert!(!left.to_string().contains("/usr/bin/inbox hook"), "{left}");
        }
    }
}
