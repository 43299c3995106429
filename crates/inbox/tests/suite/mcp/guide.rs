//! The guide's story is played: in an `mcp` block a line `agent → tool {arguments}` is a call, and what follows is
//! what its model reads.

use std::collections::HashMap;

use inbox_testkit::sandbox::Sandbox;
use serde_json::Value;

use super::client::Client;
use crate::guide::blurred;
use crate::{INBOX, check_document, root};

/// Marks are new with every text.
fn without_marks(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let at = line.find("mail-").map(|at| at + 5);
        match at.filter(|at| line.len() >= at + 8 && line.starts_with(['<'])) {
            Some(at) => format!("{}…{}", &line[..at], &line[at + 8..]),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Who calls which tool with what, if the line is a call.
fn call(line: &str) -> Option<(&str, &str, &str)> {
    let (agent, call) = line.split_once(" → ")?;
    let (tool, arguments) = call.split_once(' ')?;
    arguments
        .starts_with('{')
        .then_some((agent, tool, arguments))
}

#[test]
fn the_guide_shows_what_a_model_reads() {
    let path = "docs/guide/mcp.md";
    let document = std::fs::read_to_string(root().join(path)).expect("the guide is there");
    let sandbox = Sandbox::in_memory(INBOX);
    let mut agents: HashMap<String, Client> = HashMap::new();
    let mut out: Vec<String> = Vec::new();
    let mut lines = document.lines().peekable();
    let mut is_story = false;
    let mut calls = 0;
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            is_story = line == "```mcp";
        }
        out.push(line.to_owned());
        let Some((agent, tool, arguments)) = call(line).filter(|_| is_story) else {
            continue;
        };
        let arguments: Value = serde_json::from_str(arguments).expect("arguments are JSON");
        let client = agents
            .entry(agent.to_owned())
            .or_insert_with(|| Client::start(&sandbox, agent));
        let found = client.text(tool, &arguments);
        calls += 1;
        let mut shown = Vec::new();
        while let Some(line) =
            lines.next_if(|line| call(line).is_none() && !line.starts_with("```"))
        {
            shown.push(line);
        }
        let is_same = |a: &str, b: &str| blurred(&without_marks(a)) == blurred(&without_marks(b));
        if is_same(shown.join("\n").trim_end(), found.trim_end()) {
            out.extend(shown.into_iter().map(str::to_owned));
        } else {
            out.extend(found.trim_end().lines().map(str::to_owned));
        }
    }
    assert!(calls >= 8, "the guide tells a story of {calls} calls");
    check_document(path, &(out.join("\n") + "\n"));
}
