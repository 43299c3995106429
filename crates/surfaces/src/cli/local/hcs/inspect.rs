//! `inbox hcs inspect`, `verify`: what stands on a topic, and whether its history is whole.

use clap::{Arg, ArgAction, Command};
use inbox_bridge::inspect::{Entry, Span, inspect as look};
use inbox_bridge::verify::verify as check;
use inbox_core::Refusal;
use inbox_ops::Page;
use serde_json::{Value, json};

use super::ground::Ground;
use super::{option, show as shown, word};
use crate::cli::Ended;

/// How many messages are shown unless told otherwise.
const USUAL: &str = "100";

pub(super) fn commands() -> Vec<Command> {
    vec![
        Command::new("inspect")
            .about("Decode a topic: its memo, its messages, and what was forgiven in them")
            .arg(word("topic", "TOPIC", "Any topic"))
            .arg(option(
                "after",
                "NUMBER",
                "Only what comes after this message",
            ))
            .arg(option("limit", "COUNT", "At most so many messages").default_value(USUAL))
            .arg(
                Arg::new("memos")
                    .long("memos")
                    .action(ArgAction::SetTrue)
                    .help("Compare the memo of each transaction too, which asks for each"),
            ),
        Command::new("verify")
            .about("Compute a topic's history again, and compare every hash")
            .arg(word("topic", "TOPIC", "Any topic")),
    ]
}

pub(super) fn inspect(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let id = ground.topic("topic")?;
    let after = ground.sequence("after")?;
    let limit = ground.must("limit");
    let limit: usize = limit
        .parse()
        .map_err(|_| Refusal::input(format!("--limit {limit:?} is not a count")))?;
    let span = Span {
        after,
        most: limit,
        has_memos: ground.is_set("memos"),
    };
    let found = look(&ground.mirror(), id, span)?;
    let (memo_type, memo_deviations, memo_refused) = match &found.memo {
        Ok((memo, deviations)) => (Some(memo_name(memo)), shown::deviations(deviations), None),
        Err(refused) => (None, Vec::new(), Some(refused.to_string())),
    };
    let mut page = Page::default().line(format!(
        "{id}  {}  {}",
        memo_type.unwrap_or("a topic of no standard"),
        found.facts.memo
    ));
    if let Ok((_, deviations)) = &found.memo {
        for deviation in deviations {
            page = page.line(format!("  forgiven {}", shown::deviation_text(deviation)));
        }
    }
    for entry in &found.entries {
        page = entry_page(page, entry);
    }
    if found.has_more {
        let last = found.entries.last().map_or(0, |entry| entry.sequence.get());
        page = page.line(format!("more: inbox hcs inspect {id} --after {last}"));
    }
    let entries: Vec<Value> = found.entries.iter().map(entry_value).collect();
    let body = json!({
        "topic": shown::topic(id, &found.facts),
        "type": memo_type,
        "memo_deviations": memo_deviations,
        "memo_refused": memo_refused,
        "messages": entries,
        "more": found.has_more,
    });
    ground.answer(&body, &page)
}

fn memo_name(memo: &inbox_hcs::TopicMemo) -> &'static str {
    use inbox_hcs::TopicMemo;
    match memo {
        TopicMemo::Inbound { .. } => "inbound",
        TopicMemo::Outbound { .. } => "outbound",
        TopicMemo::Connection { .. } => "connection",
        TopicMemo::AgentRegistry { .. } | TopicMemo::Registry { .. } => "registry",
        TopicMemo::File(_) => "file",
    }
}

fn entry_page(page: Page, entry: &Entry) -> Page {
    let doubt = match entry.is_verified {
        Some(false) => " unverified",
        _ => "",
    };
    let mut page = page.line(format!(
        "{} {}{doubt} {}  {}",
        entry.sequence,
        entry.payer,
        entry.kind,
        short(entry)
    ));
    if let Some(refused) = &entry.refused {
        page = page.line(format!("  refused  {refused}"));
    }
    for deviation in &entry.deviations {
        page = page.line(format!("  forgiven {}", shown::deviation_text(deviation)));
    }
    page
}

/// The beginning of what a message says.
fn short(entry: &Entry) -> String {
    const MOST: usize = 120;
    let text = match &entry.content {
        Value::Null => format!("{} bytes", entry.bytes),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], entry.bytes),
        None => text,
    }
}

fn entry_value(entry: &Entry) -> Value {
    json!({
        "sequence_number": entry.sequence.get(),
        "first_sequence_number": entry.first.get(),
        "consensus_timestamp": entry.time.to_string(),
        "payer_account_id": entry.payer.to_string(),
        "kind": entry.kind,
        "verified": entry.is_verified,
        "bytes": entry.bytes,
        "content": entry.content,
        "transaction_memo": entry.transaction_memo,
        "deviations": shown::deviations(&entry.deviations),
        "refused": entry.refused,
    })
}

pub(super) fn verify(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let id = ground.topic("topic")?;
    let verified = check(&ground.mirror(), id)?;
    let hash = verified.last.map(|(_, hash)| hash.to_string());
    let count = verified.messages;
    let page = match &hash {
        Some(hash) => Page::default().line(format!("{id}  {count} messages, whole, up to {hash}")),
        None => Page::default().line(format!("{id}  no messages")),
    };
    let body = json!({
        "topic_id": id.to_string(),
        "messages": count,
        "running_hash": hash,
    });
    ground.answer(&body, &page)
}
