//! What is too large for a message goes into a file (HCS-1), step by step: each step is written down before it is taken, so that no file and
//! no message of one is there twice.
//!
//! How far a file has come stands in the outbox: `begun` before its topic is made, `0.0.5 2 5f0c…` when two of its messages are there,
//! and `0.0.5` when it is whole. The hash is of what is being written: another version of this program may compress otherwise.

use inbox_core::Refusal;
use inbox_hcs::{Algorithm, Hash, Limits, Mime, TopicId, Written, write_file};
use inbox_hedera::client::Asking;
use inbox_hedera::proto::{CreateTopicBody, Data, SubmitMessageBody};
use inbox_store::{Outgoing, TopicPlace};

use super::Bridge;
use super::once::once;
use super::speak::taken_over;
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

impl Bridge<'_> {
    /// The file of a text, whole: it is written, or gone on with.
    pub(super) fn file_of(
        &self,
        net: &Net,
        outgoing: &mut Outgoing,
        text: &str,
    ) -> Result<TopicId, Refusal> {
        if outgoing.file.is_none() {
            // What is written into the file stays as it is now, whatever becomes of the thread.
            self.go_on(outgoing, BEGUN.to_owned(), Some(text))?;
        }
        if let Progress::Whole(id) = progress(outgoing.file.as_deref()) {
            return Ok(id);
        }
        let limits = Limits::default();
        let mime = match outgoing.place {
            TopicPlace::Connection => "text/plain".parse::<Mime>().told()?,
            _ => Mime::json(),
        };
        let file = write_file(text.as_bytes(), &mime, Algorithm::Brotli, &limits).told()?;
        let of = Hash::of(file.messages.concat().as_bytes()).to_string();
        let of = of.get(..12).unwrap_or_default();
        loop {
            match progress(outgoing.file.as_deref()) {
                Progress::Whole(id) => return Ok(id),
                // What is there cannot be gone on with.
                Progress::Topic { of: known, .. } if known != of => {
                    self.go_on(outgoing, BEGUN.to_owned(), None)?;
                }
                progress => self.step(net, outgoing, &file, of, progress)?,
            }
        }
    }

    /// The next step of a file.
    fn step(
        &self,
        net: &Net,
        outgoing: &mut Outgoing,
        file: &Written,
        of: &str,
        progress: Progress,
    ) -> Result<(), Refusal> {
        let known = outgoing.step_id.clone();
        let data = match &progress {
            Progress::Topic { id, messages, .. } => Data::SubmitMessage(SubmitMessageBody {
                topic_id: Some((*id).into()),
                message: file
                    .messages
                    .get(*messages)
                    .cloned()
                    .unwrap_or_default()
                    .into_bytes(),
                chunk_info: None,
            }),
            // Nobody may change it, and nobody else may add to it.
            Progress::Begun | Progress::Whole(_) => topic_of(CreateTopicBody {
                memo: file.memo.to_string(),
                submit_key: Some(net.public_key()?),
                ..CreateTopicBody::default()
            }),
        };
        let reach = |point| self.inbox.store().reach(point);
        let done = once(net, known.as_deref(), &Asking::of(data), &reach, |id| {
            self.begin(outgoing, id)
        })?;
        let (id, messages) = match progress {
            Progress::Topic { id, messages, .. } => (id, messages + 1),
            Progress::Begun | Progress::Whole(_) => (named(done.topic, "a topic")?, 0),
        };
        let is_whole = messages >= file.messages.len();
        let next = if is_whole {
            id.to_string()
        } else {
            format!("{id} {messages} {of}")
        };
        self.go_on(outgoing, next, None)
    }

    /// Writes down how far a file has come, after which another step follows.
    fn go_on(
        &self,
        outgoing: &mut Outgoing,
        file: String,
        content: Option<&str>,
    ) -> Result<(), Refusal> {
        let mut next = outgoing.clone();
        next.file = Some(file);
        next.step_id = None;
        if let Some(content) = content {
            next.content = Some(content.to_owned());
        }
        if !self.inbox.move_outgoing(outgoing, &next, &self.name)? {
            return Err(taken_over());
        }
        *outgoing = next;
        Ok(())
    }
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
