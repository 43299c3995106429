//! What a command's output says: a text, perhaps with a Wire at its end that says it exactly.

use inbox_wire::{Blocked, Complete, Payload, Problem};

/// The longest summary that is made of an output, in words and in characters.
const WORDS: usize = 150;
const CHARACTERS: usize = 1000;

/// What an output says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Said {
    /// The text, without the Wire.
    pub(crate) text: String,
    /// What was done, in the agent's own words.
    pub(crate) complete: Option<Complete>,
    /// What the agent asks.
    pub(crate) blocked: Option<Blocked>,
    /// Where the output is, as a line `output_ref: …` says.
    pub(crate) output_ref: Option<String>,
    /// Files that belong to it, as lines `artifact: …` say.
    pub(crate) artifacts: Vec<String>,
    /// What is wrong with a Wire that was meant.
    pub(crate) problems: Vec<Problem>,
}

impl Said {
    /// Reads an output.
    pub(crate) fn of(output: &str) -> Said {
        let output = output.trim();
        let mut said = Said {
            text: output.to_owned(),
            ..Said::default()
        };
        if let Some((before, json)) = last_object(output)
            && json.get("wire").is_some()
        {
            match inbox_wire::parse(&json).map(inbox_wire::Wire::into_payload) {
                Ok(Payload::Complete(complete)) => {
                    before.clone_into(&mut said.text);
                    said.complete = Some(complete);
                }
                Ok(Payload::Blocked(blocked)) => {
                    before.clone_into(&mut said.text);
                    said.blocked = Some(blocked);
                }
                // A Wire of another sort may be the output itself.
                Ok(_) => {}
                Err(problems) => said.problems = problems,
            }
        }
        for line in said.text.lines() {
            if let Some(place) = value(line, "output_ref") {
                said.output_ref = Some(place);
            } else if let Some(path) = value(line, "artifact") {
                said.artifacts.push(path);
            }
        }
        said
    }

    /// One line that says what it is.
    pub(crate) fn summary(&self) -> String {
        if let Some(complete) = &self.complete {
            return complete.summary.clone();
        }
        let is_label = |line: &&str| {
            let is_named = ["output_ref", "artifact"].map(|name| value(line, name).is_some());
            !line.trim().is_empty() && !is_named.contains(&true)
        };
        let last = self.text.lines().rfind(is_label).unwrap_or_default();
        let words: Vec<&str> = last.split_whitespace().take(WORDS).collect();
        let line: String = words.join(" ").chars().take(CHARACTERS).collect();
        if line.is_empty() {
            return "it ended without a word".to_owned();
        }
        line
    }
}

/// The value of a line `name: value`.
fn value(line: &str, name: &str) -> Option<String> {
    let rest = line.trim().strip_prefix(name)?.strip_prefix(':')?.trim();
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// The JSON object that a text ends with, alone or in a fence, and what stands before it.
fn last_object(text: &str) -> Option<(&str, serde_json::Value)> {
    let body = text.trim_end().trim_end_matches('`').trim_end();
    if !body.ends_with('}') {
        return None;
    }
    let starts = body.match_indices('{').filter(|(at, _)| {
        let before = &body[..*at];
        before.is_empty() || before.ends_with('\n')
    });
    for (at, _) in starts {
        if let Ok(json) = inbox_wire::decode(&body[at..]) {
            let before = body[..at].trim_end();
            let before = before
                .strip_suffix("```json")
                .or_else(|| before.strip_suffix("```"))
                .unwrap_or(before);
            return Some((before.trim_end(), json));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKED: &str = r#"{"wire":"1.0","type":"blocked","sender":"quinn","ts":"2026-04-28T00:00:00Z",
        "payload":{"task_id":"t","agent":"quinn","reason":"Which table?","blocker_type":"spec_gap"}}"#;

    #[test]
    fn a_wire_at_the_end_of_an_output_is_found_and_taken_out() {
        for output in [
            format!("I looked.\n{BLOCKED}"),
            format!("I looked.\n\n```json\n{BLOCKED}\n```\n"),
        ] {
            let said = Said::of(&output);
            assert_eq!(said.text, "I looked.", "{output}");
            assert_eq!(said.blocked.unwrap().reason, "Which table?");
        }
        let said = Said::of(&format!("The wire was {BLOCKED}, and I went on.\nDone."));
        assert_eq!(said.summary(), "Done.");
        assert_eq!(said.blocked, None);
    }

    #[test]
    fn a_wire_that_breaks_its_rules_is_a_problem_and_not_a_text() {
        let said = Said::of(r#"{"wire":"1.0","type":"blocked","payload":{}}"#);
        assert!(!said.problems.is_empty());
        assert_eq!(said.blocked, None);
    }

    #[test]
    fn the_last_line_is_the_summary_and_named_places_are_read() {
        let said =
            Said::of("Read the code.\n\nWrote it.\noutput_ref: out/report.md\nartifact: a.txt\n");
        assert_eq!(said.summary(), "Wrote it.");
        assert_eq!(said.output_ref.as_deref(), Some("out/report.md"));
        assert_eq!(said.artifacts, ["a.txt"]);
        assert_eq!(Said::of("").summary(), "it ended without a word");
        assert_eq!(Said::of(r#"{"a":1}"#).text, r#"{"a":1}"#);
    }

    #[test]
    fn nothing_that_an_agent_says_makes_this_fail() {
        for output in [
            "{",
            "}",
            "`}",
            "{}`",
            "\n{\n}\n",
            "{{{{}",
            "```json\n{\"wire\":\n}",
            "\u{0}",
        ] {
            let said = Said::of(output);
            assert!(!said.summary().is_empty());
        }
    }
}
