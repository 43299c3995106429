//! Spec 004's ontological mapping: each message as an act with its actors and its content.
//!
//! One JSON object a line. An entity has `entity` and `type`; a relation has `subject`, `relation`,
//! `object` and `quality`.

use std::collections::BTreeSet;

use inbox_core::Mode;
use serde_json::{Value, json};

use super::mailbox::Outgoing;

/// The lines of one message, without their ends: its entity, its actors, its content.
pub fn lines(outgoing: &Outgoing<'_>) -> Vec<String> {
    records(outgoing).iter().map(Value::to_string).collect()
}

fn records(outgoing: &Outgoing<'_>) -> Vec<Value> {
    let message = outgoing.message;
    let situation = format!("situation:mailbox-msg-{}", message.uid);
    let sender = message
        .from_session
        .as_ref()
        .map_or(message.from_agent.as_str(), |session| session.as_str());
    let mut records = vec![json!({"entity": situation, "type": "situation"})];
    let mut told = BTreeSet::new();
    let recipients = message.to.iter().map(|address| {
        // A role or a tag is an actor by its own name, which says that nobody in particular is.
        if matches!(address.mode(), Mode::Role | Mode::Tag) {
            address.to_string()
        } else {
            format!("agent:{address}")
        }
    });
    // Those who have read it are the agents that a role, a tag or all turned out to be.
    let readers = outgoing
        .reads
        .iter()
        .map(|seen| format!("agent:{}", seen.reader));
    for actor in std::iter::once(format!("agent:{sender}"))
        .chain(recipients)
        .chain(readers)
    {
        if told.insert(actor.clone()) {
            records.push(json!({
                "subject": actor,
                "relation": "belongs-to",
                "object": situation,
                "quality": "actor",
            }));
        }
    }
    records.push(json!({
        "subject": format!("message-content:{}", message.uid),
        "relation": "belongs-to",
        "object": situation,
        "quality": "materialization",
        "content": message.body,
        "timestamp": message.created_at,
    }));
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Seen;
    use crate::exchange::mailbox::tests::a_message;
    use inbox_core::record::Millis;

    fn graph(to: &[&str], session: Option<&str>, readers: &[&str]) -> Vec<Value> {
        let mut message = a_message();
        message.to = to.iter().map(|address| address.parse().unwrap()).collect();
        message.from_session = session.map(|session| session.parse().unwrap());
        let reads: Vec<_> = readers
            .iter()
            .map(|reader| Seen {
                reader: (*reader).to_owned(),
                at: Millis(0),
            })
            .collect();
        let outgoing = Outgoing {
            message: &message,
            thread: None,
            parent_uid: None,
            reads: &reads,
            acks: &[],
            artifacts: &[],
        };
        lines(&outgoing)
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn actors(records: &[Value]) -> Vec<&str> {
        records
            .iter()
            .filter(|record| record["quality"] == "actor")
            .map(|record| record["subject"].as_str().unwrap())
            .collect()
    }

    #[test]
    fn a_message_is_a_situation_with_two_actors_and_its_content() {
        let records = graph(&["quinn"], Some("s-1"), &[]);
        let uid = a_message().uid;
        let situation = format!("situation:mailbox-msg-{uid}");
        assert_eq!(
            records,
            [
                json!({"entity": situation, "type": "situation"}),
                json!({"subject": "agent:s-1", "relation": "belongs-to", "object": situation, "quality": "actor"}),
                json!({"subject": "agent:quinn", "relation": "belongs-to", "object": situation, "quality": "actor"}),
                json!({
                    "subject": format!("message-content:{uid}"),
                    "relation": "belongs-to",
                    "object": situation,
                    "quality": "materialization",
                    "content": a_message().body,
                    "timestamp": a_message().created_at,
                }),
            ]
        );
    }

    #[test]
    fn every_recipient_is_an_actor_once_and_so_is_who_read_it() {
        let records = graph(
            &["role:architect", "project:x", "all", "quinn"],
            None,
            &["quinn", "lead", "mira"],
        );
        assert_eq!(
            actors(&records),
            [
                "agent:lead",
                "role:architect",
                "project:x",
                "agent:all",
                "agent:quinn",
                "agent:mira"
            ]
        );
    }

    #[test]
    fn a_line_is_one_line_whatever_the_message_says() {
        let mut message = a_message();
        message.body = "two\nlines \u{2028} \"quoted\"".to_owned();
        let outgoing = Outgoing {
            message: &message,
            thread: None,
            parent_uid: None,
            reads: &[],
            acks: &[],
            artifacts: &[],
        };
        for line in lines(&outgoing) {
            assert!(!line.contains('\n'), "{line}");
        }
    }
}
