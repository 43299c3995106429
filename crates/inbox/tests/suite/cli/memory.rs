//! `memory …`: what an agent remembers, by words and by what it means.

use serde_json::Value;

use super::desk::Desk;

/// A command that knows of two things: what rolls, and what grows.
const EMBED: &str = r"
import json, sys
text = sys.stdin.read().lower()
rolls = sum(text.count(word) for word in ('car', 'automobile', 'wheel'))
grows = sum(text.count(word) for word in ('apple', 'tree', 'orchard'))
print(json.dumps([rolls, grows, 0.01]))
";

fn texts(found: &Value) -> Vec<&str> {
    let list = found["memories"].as_array().expect("a list");
    list.iter()
        .map(|memory| memory["text"].as_str().expect("a text"))
        .collect()
}

#[test]
fn what_is_remembered_is_found_listed_and_forgotten() {
    let desk = Desk::new();
    let added = desk.ok("memory add --agent quinn --text Staging~needs~a~proxy");
    let id = added["memory"]["memory_id"].as_str().expect("an id");
    assert!(id.starts_with("mem_"), "{added}");
    desk.file("long.md", "# Keys\n\nThey are in the vault.");
    desk.ok("memory add --agent quinn --text-file long.md");
    let found = desk.ok("memory search --agent quinn staging~proxy");
    assert_eq!(texts(&found), ["Staging needs a proxy"]);
    assert_eq!(
        texts(&desk.ok("memory list --agent quinn")),
        ["# Keys\n\nThey are in the vault.", "Staging needs a proxy"]
    );
    desk.nothing("memory search --agent quinn elephants");
    desk.nothing("memory list --agent mira");
    desk.ok(&format!("memory forget --agent quinn {id}"));
    desk.nothing("memory search --agent quinn staging");
    let gone = format!("memory forget --agent quinn {id}");
    desk.refused(40, "memory_not_found", &gone);
    desk.refused(30, "invalid_input", "memory add --agent quinn --text ~");
}

#[test]
fn with_a_command_what_means_the_same_is_found_and_without_it_words_are_enough() {
    let desk = Desk::new();
    desk.file("embed.py", EMBED);
    let script = desk.inbox.folder().join("embed.py");
    let script = script.to_str().expect("text");
    desk.file(
        ".agents/inbox.toml",
        format!("[memory]\nembed = [\"python3\", {script:?}]\n"),
    );
    desk.ok("memory add --agent quinn --text My~car~is~in~the~garage");
    desk.ok("memory add --agent quinn --text The~orchard~is~large");
    let found = desk.ok("memory search --agent quinn --limit 1 automobiles");
    assert_eq!(texts(&found), ["My car is in the garage"]);
    let found = desk.ok("memory search --agent quinn --limit 1 which~tree");
    assert_eq!(texts(&found), ["The orchard is large"]);

    // A command that fails, or says something else than a place, is told of and costs nothing else.
    for command in ["[\"no-such-program\"]", "[\"echo\", \"[1, \\\"x\\\"]\"]"] {
        desk.file(
            ".agents/inbox.toml",
            format!("[memory]\nembed = {command}\n"),
        );
        let found = desk.ok("memory search --agent quinn garage");
        assert_eq!(texts(&found), ["My car is in the garage"]);
        let warning = found["warnings"][0].as_str().unwrap_or_default();
        assert!(warning.starts_with("found by words alone"), "{found}");
    }
}
