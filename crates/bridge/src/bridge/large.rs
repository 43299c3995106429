//! What is too large for a message goes into a file (HCS-1), step by step: each step is written down before it is taken, so that no file and
//! no message of one is there twice.
//!
//! How far a file has come stands in the outbox: `begun` before its topic is made, `0.0.5 2 5f0c…` when two of its messages are there,
//! and `0.0.5` when it is whole. The hash is of what is being written: another version of this program may compress otherwise.

use inbox_core::{Code, Refusal};
use inbox_hcs::{Algorithm, Hash, Limits, Mime, TopicId, Written, write_file};
use inbox_hedera::client::Asking;
use inbox_hedera::proto::{CreateTopicBody, Data, SubmitMessageBody};
use inbox_ops::Inbox;
use inbox_store::Outgoing;

use super::once::once;
use crate::net::{Net, topic_of};
use crate::told::{Told, named};

const BEGUN: &str = "begun";

/// How far a file has come.
enum Progress {
    Begun,
    Topic {
        id: TopicId,
        messages: usize,
        of: String,
    },
    Whole(TopicId),
}

/// Goes on with something that is to be said, from where it was.
pub(super) fn go_on(
    inbox: &Inbox,
    outgoing: &mut Outgoing,
    change: impl FnOnce(&mut Outgoing),
) -> Result<(), Refusal> {
    let mut next = outgoing.clone();
    change(&mut next);
    if !inbox.move_outgoing(outgoing, &next)? {
        return Err(Refusal::new(
            Code::Ledger,
            "another bridge has gone on with it",
        ));
    }
    *outgoing = next;
    Ok(())
}

/// The file of a text, whole: it is written, or gone on with.
pub(super) fn file_of(
    inbox: &Inbox,
    net: &Net,
    outgoing: &mut Outgoing,
    text: &str,
) -> Result<TopicId, Refusal> {
    if outgoing.file.is_none() {
        // What is written into the file stays as it is now, whatever becomes of the thread.
        go_on(inbox, outgoing, |it| {
            it.file = Some(BEGUN.to_owned());
            it.content = Some(text.to_owned());
            it.step_id = None;
        })?;
    }
    if let Progress::Whole(id) = progress(outgoing.file.as_deref()) {
        return Ok(id);
    }
    let (mime, limits) = (Mime::json(), Limits::default());
    let file = write_file(text.as_bytes(), &mime, Algorithm::Brotli, &limits).told()?;
    let of = Hash::of(file.messages.concat().as_bytes()).to_string();
    let of = of.get(..12).unwrap_or_default();
    loop {
        match progress(outgoing.file.as_deref()) {
            Progress::Whole(id) => return Ok(id),
            Progress::Topic { of: known, .. } if known != of => {
                // What is there cannot be gone on with.
                go_on(inbox, outgoing, |it| {
                    it.file = Some(BEGUN.to_owned());
                    it.step_id = None;
                })?;
            }
            _ => step(inbox, net, outgoing, &file, of)?,
        }
    }
}

/// The next step of a file.
fn step(
    inbox: &Inbox,
    net: &Net,
    outgoing: &mut Outgoing,
    file: &Written,
    of: &str,
) -> Result<(), Refusal> {
    let known = outgoing.step_id.clone();
    let progress = progress(outgoing.file.as_deref());
    let mut keep = |id: Option<&str>| {
        let id = id.map(str::to_owned);
        go_on(inbox, outgoing, |it| it.step_id = id)
    };
    let (id, messages) = match progress {
        Progress::Whole(_) => return Ok(()),
        Progress::Begun => {
            // Nobody may change it, and nobody else may add to it.
            let asking = Asking::of(topic_of(CreateTopicBody {
                memo: file.memo.to_string(),
                submit_key: Some(net.public_key()?),
                ..CreateTopicBody::default()
            }));
            let made = once(net, known.as_deref(), &asking, &mut keep)?;
            (named(made.topic, "a topic")?, 0)
        }
        Progress::Topic { id, messages, .. } => {
            let message = file.messages.get(messages);
            let asking = Asking::of(Data::SubmitMessage(SubmitMessageBody {
                topic_id: Some(id.into()),
                message: message.cloned().unwrap_or_default().into_bytes(),
                chunk_info: None,
            }));
            once(net, known.as_deref(), &asking, &mut keep)?;
            (id, messages + 1)
        }
    };
    let is_whole = messages >= file.messages.len();
    go_on(inbox, outgoing, |it| {
        it.step_id = None;
        it.file = Some(if is_whole {
            id.to_string()
        } else {
            format!("{id} {messages} {of}")
        });
    })
}

fn progress(file: Option<&str>) -> Progress {
    let parts: Vec<&str> = file.unwrap_or_default().split(' ').collect();
    match *parts.as_slice() {
        [id] => id.parse().map_or(Progress::Begun, Progress::Whole),
        [id, messages, of] => match (id.parse(), messages.parse()) {
            (Ok(id), Ok(messages)) => Progress::Topic {
                id,
                messages,
                of: of.to_owned(),
            },
            _ => Progress::Begun,
        },
        _ => Progress::Begun,
    }
}
