//! Editing Codex's configuration: comments, order and spaces stay as they are.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::piece::McpServer;

const SERVERS: &str = "mcp_servers";
const NAME: &str = "inbox";

/// The text with the MCP server in it.
pub(super) fn with(text: &str, server: &McpServer) -> Result<String, String> {
    let mut document = read(text)?;
    let is_first = document.is_empty();
    let servers = document.entry(SERVERS).or_insert_with(|| {
        let mut table = Table::new();
        // Only the tables in it have headings.
        table.set_implicit(true);
        Item::Table(table)
    });
    let is_inline = servers.is_inline_table();
    let servers = servers
        .as_table_like_mut()
        .ok_or_else(|| format!("{SERVERS} is no table"))?;
    if servers.get(NAME).is_none() {
        let made = if is_inline {
            Item::Value(Value::InlineTable(InlineTable::new()))
        } else {
            let mut table = Table::new();
            if !is_first {
                table.decor_mut().set_prefix("\n");
            }
            Item::Table(table)
        };
        servers.insert(NAME, made);
    }
    let own = servers
        .get_mut(NAME)
        .and_then(Item::as_table_like_mut)
        .ok_or_else(|| format!("{SERVERS}.{NAME} is no table"))?;
    set(own, "command", Value::from(server.command.as_str()));
    let args: Array = server.args.iter().map(String::as_str).collect();
    set(own, "args", Value::Array(args));
    Ok(document.to_string())
}

/// The text without it.
pub(super) fn without(text: &str) -> Result<String, String> {
    let mut document = read(text)?;
    let Some(servers) = document.get_mut(SERVERS) else {
        return Ok(text.to_owned());
    };
    let Some(table) = servers.as_table_like_mut() else {
        return Ok(text.to_owned());
    };
    if table.remove(NAME).is_none() {
        return Ok(text.to_owned());
    }
    if table.is_empty() {
        document.remove(SERVERS);
    }
    Ok(document.to_string())
}

fn read(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|error| {
        // Without the line itself, which may hold a secret.
        let before = error.span().and_then(|span| text.get(..span.start));
        match before {
            Some(before) => format!(
                "line {}: {}",
                before.matches('\n').count() + 1,
                error.message()
            ),
            None => error.message().to_owned(),
        }
    })
}

/// Sets a value unless it is there already, so that its own spaces stay.
fn set(table: &mut dyn TableLike, key: &str, value: Value) {
    let is_same = table
        .get(key)
        .and_then(Item::as_value)
        .is_some_and(|found| bare(found) == bare(&value));
    if !is_same {
        table.insert(key, Item::Value(value));
    }
}

/// A value without spaces and comments around it.
fn bare(value: &Value) -> String {
    match value {
        Value::Array(list) => {
            let items: Vec<_> = list.iter().map(bare).collect();
            items.join("\n")
        }
        Value::String(text) => text.value().clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::damage::{cases, damaged_text};

    const FILES: &[&str] = &[
        "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\"\n",
        "mcp_servers = { other = { command = \"y\" } }\n",
        "[mcp_servers.inbox]\ncommand = \"old\"\nargs = [\n  \"mcp\",\n]\n[a]\nb = 1979-05-27T07:32:00Z\n",
        "mcp_servers = 7\n[[mcp_servers.inbox]]\n",
    ];

    proptest! {
        #![proptest_config(cases(500))]

        #[test]
        fn whatever_somebodys_file_is_it_is_edited_or_refused(text in damaged_text(FILES.to_vec())) {
            let server = McpServer { command: "/usr/bin/inbox".into(), args: vec!["mcp".into()] };
            let _ = without(&text);
            let Ok(edited) = with(&text, &server) else { return Ok(()); };
            let value: toml::Table = edited.parse().expect("what is written is TOML");
            prop_assert_eq!(value["mcp_servers"]["inbox"]["command"].as_str(), Some("/usr/bin/inbox"));
            prop_assert_eq!(with(&edited, &server), Ok(edited.clone()));
            let left = without(&edited).expect("what was written is read");
            let value: toml::Table = left.parse().expect("what is left is TOML");
            let servers = value.get("mcp_servers");
            prop_assert!(servers.is_none_or(|servers| servers.get("inbox").is_none()), "{left}");
        }

        #[test]
        fn what_is_wrong_with_a_file_is_said_without_what_is_in_it(secret in "s[a-z0-9]{12}", at in 0..40_usize) {
            let mut text = format!("token = \"{secret}\"\n[x]\nkey = \"{secret}\"\n");
            text.insert_str(at.min(text.len()), "=\"");
            if let Err(problem) = read(&text) {
                prop_assert!(!problem.contains(&secret), "{problem}");
            }
        }
    }
}
