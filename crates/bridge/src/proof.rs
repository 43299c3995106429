//! A proof of one message of the store: what of its topic it takes to compute the hashes again.

use std::ops::ControlFlow;

use inbox_core::{Code, Message, MessageId, Refusal, Thread};
use inbox_hcs::{
    Anchor, FileProof, Link, Proof, Proven, ProvenMessage, RunningHash, Sequence, Submission,
    TopicId,
};
use inbox_hedera::mirror::{MessageFacts, Mirror};
use inbox_hedera::network::Network;
use inbox_ops::Inbox;
use inbox_ops::ledger::Kept;
use inbox_store::{LedgerRecord, RecordState, TopicPlace, TopicRow};
use serde_json::{Value, json};

use crate::history;
use crate::net::topic as topic_facts;
use crate::told::Told;
use crate::truth::data;

/// How many links follow the message at most: enough to reach a hash that others have seen, and a small file.
const MOST_AFTER: u64 = 1_000;

/// How far back the pieces of a message are looked for.
const MOST_BEFORE: u64 = 10_000;

/// The networks that everybody knows by these names.
const KNOWN: [&str; 3] = ["mainnet", "testnet", "previewnet"];

/// Makes the proof of a message: of the topic that is named, or of the first that has it.
pub fn make(
    inbox: &Inbox,
    network: &Network,
    message: MessageId,
    only: Option<&str>,
) -> Result<Proof, Refusal> {
    let kept = inbox.kept_as(message)?;
    let (row, record) = record(inbox, &kept, only)?;
    let topic = crate::bridge::id_of(&row)?;
    let mirror = network.reader();
    let number = u64::try_from(record.sequence).ok().and_then(Sequence::new);
    let found = number.map(|number| mirror.message(topic, number).told());
    let last = found.transpose()?.flatten().ok_or_else(|| {
        differs(format!(
            "the store says that {message} is message {} of {topic}, and the topic has no such message",
            record.sequence
        ))
    })?;
    let pieces = pieces(&mirror, topic, &last)?;
    let first = pieces.first().map_or(last.sequence, |piece| piece.sequence);
    let before = before(&mirror, topic, first)?;
    let mut links = Vec::new();
    let after = Sequence::new(first.get() - 1);
    let most = last.sequence.get() + MOST_AFTER;
    history::pieces(&mirror, topic, after, |found| {
        let is_own = pieces.iter().any(|piece| piece.sequence == found.sequence);
        links.push(link(topic, found, is_own)?);
        Ok(if found.sequence.get() < most {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        })
    })?;
    let content: Vec<u8> = in_order(&pieces);
    let named = data(row.place, &content).and_then(|(_, data)| data.file());
    let file = named.map(|topic| file(&mirror, topic)).transpose()?;
    let transaction = match &last.piece {
        Some((_, _, id)) => Some(id.clone()),
        None => mirror
            .transaction_at(last.time)
            .told()?
            .and_then(|facts| facts.id),
    };
    let mut proof = Proof {
        network: called(network),
        topic,
        said: ProvenMessage {
            sequence: last.sequence,
            first,
            time: last.time,
            payer: last.payer,
            transaction,
            content,
        },
        before,
        links,
        file,
        stored: stored(&kept.message, &kept.thread),
    };
    // What the form of a Wire shows otherwise than the store has it is left to the Wire.
    loop {
        match Proof::check(&proof.write()) {
            Ok(_) => return Ok(proof),
            Err(unproven) => {
                let key = unproven.field().strip_prefix("stored.");
                let fields = proof.stored.as_object_mut();
                let taken = key.zip(fields).and_then(|(key, fields)| fields.remove(key));
                if taken.is_none() || key == Some("uid") {
                    return Err(differs(format!("{message} cannot be proven: {unproven}"))
                        .hint("inbox verify says what does not fit"));
                }
            }
        }
    }
}

/// Compares a proof that holds with what a mirror has now.
pub fn compare(mirror: &Mirror, proof: &Proof, proven: &Proven) -> Result<(), Refusal> {
    let mut wanted = vec![(proof.topic, proven.anchor)];
    if let (Some(file), Some(anchor)) = (&proof.file, proven.file_anchor) {
        wanted.push((file.topic, anchor));
    }
    for (topic, anchor) in wanted {
        let number = Sequence::new(anchor.sequence);
        let found = number.map(|number| mirror.message(topic, number).told());
        let found = found.transpose()?.flatten();
        let hash = found.and_then(|found| RunningHash::new(&found.running_hash));
        let number = anchor.sequence;
        if hash != Some(anchor.hash) {
            let has = hash.map_or("no such message".to_owned(), |hash| hash.to_string());
            return Err(differs(format!(
                "the proof leads to {} at message {number} of {topic}, and the mirror has {has}",
                anchor.hash
            ))
            .hint("ask another mirror: inbox verify --proof FILE --network NAME"));
        }
    }
    Ok(())
}

fn differs(message: String) -> Refusal {
    Refusal::new(Code::VerifyMismatch, message)
}

/// Where the message was found.
fn record(
    inbox: &Inbox,
    kept: &Kept,
    only: Option<&str>,
) -> Result<(TopicRow, LedgerRecord), Refusal> {
    let id = kept.message.message_id;
    let mut found = inbox.records_of(&kept.message.uid)?;
    // What leads to it proves less than what it is.
    found.sort_by_key(|(row, _)| row.place == TopicPlace::Role);
    let mut found = found.into_iter().filter(|(row, record)| {
        let is_it = matches!(record.state, RecordState::Confirmed | RecordState::Taken);
        is_it && only.is_none_or(|only| row.topic.as_deref() == Some(only))
    });
    found.next().ok_or_else(|| {
        let place = only.map_or("no topic has".to_owned(), |topic| format!("{topic} does not have"));
        Refusal::new(
            Code::MessageNotFound,
            format!("{place} the message {id}, as far as this store knows"),
        )
        .hint("inbox bridge status shows what waits for the ledger; what was sent to nobody who is on it never goes there")
        .detail("message_id", id.to_string())
    })
}

/// The pieces of a message, in the order of the topic; the one that it is, if it is one.
fn pieces(
    mirror: &Mirror,
    topic: TopicId,
    last: &MessageFacts,
) -> Result<Vec<MessageFacts>, Refusal> {
    let Some((_, total, id)) = last.piece.as_ref().filter(|(_, total, _)| *total > 1) else {
        return Ok(vec![last.clone()]);
    };
    let mut back = 100;
    loop {
        let from = last.sequence.get().saturating_sub(back);
        let mut found: Vec<MessageFacts> = Vec::new();
        history::pieces(mirror, topic, Sequence::new(from), |message| {
            let piece = message.piece.as_ref();
            let is_new = |number: u32| {
                let known = found.iter().filter_map(|one| one.piece.as_ref());
                !known.clone().any(|(known, _, _)| *known == number)
            };
            if piece.is_some_and(|(number, _, of)| of == id && is_new(*number)) {
                found.push(message.clone());
            }
            Ok(if message.sequence < last.sequence {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            })
        })?;
        if found.len() == *total as usize {
            return Ok(found);
        }
        if from == 0 || back >= MOST_BEFORE {
            let number = last.sequence;
            return Err(differs(format!(
                "{topic} does not have all pieces of message {number}"
            )));
        }
        back *= 10;
    }
}

fn in_order(pieces: &[MessageFacts]) -> Vec<u8> {
    let mut pieces: Vec<&MessageFacts> = pieces.iter().collect();
    pieces.sort_by_key(|piece| piece.piece.as_ref().map_or(0, |(number, _, _)| *number));
    pieces
        .into_iter()
        .flat_map(|piece| piece.message.iter().copied())
        .collect()
}

/// The hash before a message.
fn before(mirror: &Mirror, topic: TopicId, first: Sequence) -> Result<Anchor, Refusal> {
    let Some(number) = Sequence::new(first.get() - 1) else {
        return Ok(Anchor {
            sequence: 0,
            hash: RunningHash::EMPTY,
        });
    };
    let found = mirror.message(topic, number).told()?;
    let hash = found.and_then(|found| RunningHash::new(&found.running_hash));
    let hash = hash.ok_or_else(|| {
        differs(format!(
            "the mirror has no good message {number} of {topic}"
        ))
    })?;
    Ok(Anchor {
        sequence: number.get(),
        hash,
    })
}

fn link(topic: TopicId, found: &MessageFacts, is_own: bool) -> Result<Link, Refusal> {
    let number = found.sequence;
    let hash = RunningHash::new(&found.running_hash);
    let submission = Submission {
        payer: found.payer,
        topic,
        time: found.time,
        sequence: number,
        message: &found.message,
    };
    Ok(Link {
        sequence: number,
        time: found.time,
        payer: found.payer,
        digest: inbox_hcs::Hashed::from(&submission).message,
        bytes: is_own.then(|| found.message.clone()),
        piece: is_own.then(|| history::piece(found)).flatten(),
        hash: hash.ok_or_else(|| {
            differs(format!(
                "message {number} of {topic} has no good running hash"
            ))
        })?,
    })
}

/// All of a file's topic.
fn file(mirror: &Mirror, topic: TopicId) -> Result<FileProof, Refusal> {
    let facts = topic_facts(mirror, topic)?;
    let mut links = Vec::new();
    history::pieces(mirror, topic, None, |found| {
        links.push(link(topic, found, true)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(FileProof {
        topic,
        memo: facts.memo,
        links,
    })
}

/// What others call a network: a file on this machine is nobody else's name for it.
fn called(network: &Network) -> String {
    let name = network.name.as_str();
    let name = if KNOWN.contains(&name) {
        name
    } else if network.is_public() {
        "other"
    } else {
        "local"
    };
    name.to_owned()
}

fn stored(message: &Message, thread: &Thread) -> Value {
    json!({
        "message_id": message.message_id,
        "thread_id": message.thread_id,
        "uid": message.uid,
        "from_agent": message.from_agent,
        "to_agent": message.to_agent,
        "to": message.to,
        "kind": message.kind,
        "priority": message.priority,
        "subject": thread.subject,
        "summary": message.summary,
        "body": message.body,
        "payload_json": message.payload_json,
        "created_at": message.created_at,
    })
}
