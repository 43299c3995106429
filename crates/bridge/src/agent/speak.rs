//! What the parties of a connection say: messages, larger ones in files, and the end.

use std::ops::ControlFlow;

use inbox_core::Refusal;
use inbox_hcs::{
    Algorithm, CloseConnection, CloseMethod, ClosedRecord, Connection, Content, CreatedRecord,
    Data, Deviation, MAX_MESSAGE, Message, Mime, Operation, OperatorId, Place, Sequence, Standing,
    Timestamp, TopicId, read, resolve, standing,
};
use inbox_hedera::proto::UpdateTopicBody;

use super::{Agent, Reached};
use crate::net::Fees;
use crate::{file, history};

/// One message on a connection's topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number.
    pub sequence: Sequence,
    /// When.
    pub time: Timestamp,
    /// Who paid for it.
    pub payer: inbox_hcs::AccountId,
    /// Whether that is whom it names.
    pub is_verified: bool,
    /// What it is.
    pub what: What,
    /// What was forgiven in it.
    pub deviations: Vec<Deviation>,
}

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Something was said, and where it lay if not in the message itself.
    Message(Result<Content, String>, Option<TopicId>),
    /// A transaction wants a signature.
    Proposal(inbox_hcs::ScheduleId, String),
    /// The connection ends, and why.
    Close(Option<String>),
    /// Something that cannot be read, and why.
    Unreadable(String),
}

impl Agent<'_> {
    /// Says something. What does not fit into a message goes into a file.
    pub fn say(
        &self,
        topic: TopicId,
        content: &[u8],
        mime: &Mime,
        memo: Option<String>,
    ) -> Result<(Sequence, Option<TopicId>), Refusal> {
        self.enter(topic)?;
        let inline = std::str::from_utf8(content)
            .ok()
            .map(|text| self.message(Data::new(text), memo.clone()))
            .filter(fits);
        if let Some(message) = inline {
            let sequence = self.submit(topic, &message)?;
            return Ok((sequence, None));
        }
        let file = file::put(self.net, content, mime, Algorithm::Brotli)?;
        let message = self.message(Data::reference(file), memo);
        Ok((self.submit(topic, &message)?, Some(file)))
    }

    fn message(&self, data: Data, memo: Option<String>) -> Operation {
        Operation::Message(Message {
            operator: self.operator(),
            data,
            memo,
        })
    }

    pub(super) fn submit(
        &self,
        topic: TopicId,
        operation: &Operation,
    ) -> Result<Sequence, Refusal> {
        self.net.operate(topic, operation, Fees::UpTo(self.most))
    }

    /// Makes sure that a connection goes on, and records it where the other has confirmed it meanwhile.
    pub(super) fn enter(&self, topic: TopicId) -> Result<Connection, Refusal> {
        let overview = self.look(Reached::One(topic))?;
        let connection = overview.live(topic)?;
        if let Some((confirmed, operator)) = overview.unrecorded(connection) {
            self.settle(connection, topic, confirmed, operator)?;
        }
        Ok(connection.clone())
    }

    fn settle(
        &self,
        connection: &Connection,
        topic: TopicId,
        confirmed: Sequence,
        operator: OperatorId,
    ) -> Result<(), Refusal> {
        self.record(&Operation::CreatedRecord(CreatedRecord {
            connection_topic: topic,
            outbound_topic: self.me.outbound_topic,
            requestor_outbound_topic: Some(self.me.outbound_topic),
            confirmed_request: Some(confirmed),
            request: connection.key.request,
            operator: Some(operator),
            memo: None,
        }))
        .map(drop)
    }

    /// Ends a connection. With [`CloseMethod::SubmitKey`] nobody else can write on its topic afterwards.
    pub fn close(
        &self,
        topic: TopicId,
        reason: Option<String>,
        method: CloseMethod,
    ) -> Result<(), Refusal> {
        self.enter(topic)?;
        let close = Operation::CloseConnection(CloseConnection {
            operator: self.operator(),
            reason: reason.clone(),
            memo: None,
        });
        self.submit(topic, &close)?;
        let own = || self.net.public_key().map(Some);
        let body = UpdateTopicBody {
            topic_id: Some(topic.into()),
            ..UpdateTopicBody::default()
        };
        let body = match method {
            CloseMethod::Explicit => None,
            CloseMethod::SubmitKey => Some(UpdateTopicBody {
                submit_key: own()?,
                ..body
            }),
            CloseMethod::AdminKey => Some(UpdateTopicBody {
                admin_key: own()?,
                ..body
            }),
        };
        if let Some(body) = body {
            self.net.change_topic(body)?;
        }
        self.record(&Operation::ClosedRecord(ClosedRecord {
            connection_topic: topic,
            method,
            operator: self.operator(),
            reason,
            memo: None,
        }))
        .map(drop)
    }

    /// What was said on a connection, oldest first, with what lies in files.
    pub fn read(&self, topic: TopicId, after: Option<Sequence>) -> Result<Vec<Line>, Refusal> {
        let overview = self.look(Reached::Requests)?;
        if overview.connections.on_topic(topic).is_none() {
            overview.live(topic)?;
        }
        let mut lines = Vec::new();
        history::messages(self.net.mirror(), topic, after, |said| {
            let found = read(&said.bytes, Place::Connection);
            let (what, is_verified, deviations) = match found {
                Ok((operation, deviations)) => {
                    let standing = standing(&operation, said.payer, None);
                    let is_verified = matches!(standing, Standing::Verified(_));
                    (self.what(operation), is_verified, deviations)
                }
                Err(refused) => (What::Unreadable(refused.to_string()), false, Vec::new()),
            };
            lines.push(Line {
                sequence: said.sequence,
                time: said.time,
                payer: said.payer,
                is_verified,
                what,
                deviations,
            });
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(lines)
    }

    fn what(&self, operation: Operation) -> What {
        match operation {
            Operation::Message(message) => {
                let place = message.data.file();
                // A file that cannot be had is said so in its place: the others are still worth reading.
                let content = resolve(&message.data, |topic| {
                    file::get(self.net.mirror(), topic).map(|file| file.content)
                });
                What::Message(content.map_err(|refusal| refusal.message), place)
            }
            Operation::Transaction(proposal) => {
                What::Proposal(proposal.schedule, proposal.data.as_str().to_owned())
            }
            Operation::CloseConnection(close) => What::Close(close.reason),
            other => What::Unreadable(format!(
                "{} says nothing on a connection",
                inbox_hcs::TransactionMemo::of(&other)
            )),
        }
    }
}

fn fits(operation: &Operation) -> bool {
    operation
        .write()
        .is_ok_and(|text| text.len() <= MAX_MESSAGE)
}
