//! The operations of HCS-10: one enum of what may stand on its topics, one reader, one writer.

mod connection;
mod data;
mod inbound;
mod outbound;
mod registry;

pub use connection::{CloseConnection, Message, Transaction};
pub use data::Data;
pub use inbound::{ConnectionCreated, ConnectionRequest, InboundMessage};
pub use outbound::{CloseMethod, ClosedRecord, CreatedRecord, OutboundMessage, RequestRecord};
pub use registry::{Delete, Migrate, Register};

use serde_json::Value;

use crate::fields::{Object, Report, document, shown_value};
use crate::form::Form;
use crate::report::{Deviation, DeviationKind, Refused};
use crate::tx_memo::Place;

/// The largest message that the network takes, in bytes. What is larger goes into a file.
pub const MAX_MESSAGE: usize = 1_024;
/// The most pieces of one message: what SDKs send at most.
pub(crate) const MAX_PIECES: u32 = 20;
/// The largest message that is read after its pieces were put together.
pub const MAX_ASSEMBLED: usize = MAX_PIECES as usize * MAX_MESSAGE;

const PROTOCOL: &str = "hcs-10";

/// An operation, by the sort of topic on which it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// On a registry: an agent is listed.
    Register(Register),
    /// On a registry: an entry is taken out.
    Delete(Delete),
    /// On any topic: it moves.
    Migrate(Migrate),
    /// On an agent's inbound topic: somebody asks for a connection.
    ConnectionRequest(ConnectionRequest),
    /// On its own inbound topic: an agent says that the connection is there.
    ConnectionCreated(ConnectionCreated),
    /// On an agent's inbound topic: a message without a connection, among agents that know each other.
    InboundMessage(InboundMessage),
    /// On its own outbound topic: an agent records its request.
    RequestRecord(RequestRecord),
    /// On its own outbound topic: an agent records that a connection is there.
    CreatedRecord(CreatedRecord),
    /// On its own outbound topic: an agent records that a connection ended.
    ClosedRecord(ClosedRecord),
    /// On its own outbound topic: an agent records a message that it sent to nobody's topic.
    OutboundMessage(OutboundMessage),
    /// On a connection's topic: a message.
    Message(Message),
    /// On a connection's topic: the end.
    CloseConnection(CloseConnection),
    /// On a connection's topic: a scheduled transaction that wants a signature.
    Transaction(Transaction),
}

/// Reads what somebody wrote on a topic of HCS-10, with what was forgiven.
pub fn read(bytes: &[u8], place: Place) -> Result<(Operation, Vec<Deviation>), Refused> {
    let value = document(bytes, "the message", MAX_ASSEMBLED)?;
    let name = name(&value, PROTOCOL)?;
    let mut report = Report::default();
    if bytes.len() > MAX_MESSAGE {
        let expected = format!("at most {MAX_MESSAGE} bytes, and a file for what is larger");
        let found = format!("{} bytes", bytes.len());
        report.forgive(DeviationKind::Assembled, expected, found);
    }
    let operation = Operation::read_named(name, &value, place, &mut report)?;
    report.finish(operation)
}

/// The operation's name, after the protocol was seen to be the right one.
pub(crate) fn name<'v>(value: &'v Value, protocol: &'static str) -> Result<&'v str, Refused> {
    let field = |key| value.get(key).unwrap_or(&Value::Null);
    if field("p") != protocol {
        return Err(Refused::OtherProtocol {
            found: shown_value(field("p")),
            expected: protocol,
        });
    }
    let name = field("op").as_str();
    name.ok_or_else(|| Refused::UnknownOperation(shown_value(field("op"))))
}

/// The fields of an operation, of which `p` and `op` were read.
pub(crate) fn fields<'v, 'r>(value: &'v Value, report: &'r mut Report) -> Option<Object<'v, 'r>> {
    let mut object = Object::open(value, report)?;
    object.known(&["p", "op"]);
    Some(object)
}

impl Operation {
    fn read_named(
        name: &str,
        value: &Value,
        place: Place,
        report: &mut Report,
    ) -> Result<Option<Operation>, Refused> {
        let found = match (name, place) {
            ("register", Place::Registry) => Register::read(value, report).map(Operation::Register),
            ("delete", Place::Registry) => Delete::read(value, report).map(Operation::Delete),
            ("migrate", _) => Migrate::read(value, place, report).map(Operation::Migrate),
            ("connection_request", Place::Inbound) => {
                ConnectionRequest::read(value, report).map(Operation::ConnectionRequest)
            }
            ("connection_created", Place::Inbound) => {
                ConnectionCreated::read(value, report).map(Operation::ConnectionCreated)
            }
            ("message", Place::Inbound) => {
                InboundMessage::read(value, report).map(Operation::InboundMessage)
            }
            ("connection_request", Place::Outbound) => {
                RequestRecord::read(value, report).map(Operation::RequestRecord)
            }
            ("connection_created", Place::Outbound) => {
                CreatedRecord::read(value, report).map(Operation::CreatedRecord)
            }
            ("connection_closed", Place::Outbound) => {
                ClosedRecord::read(value, report).map(Operation::ClosedRecord)
            }
            ("message", Place::Outbound) => {
                OutboundMessage::read(value, report).map(Operation::OutboundMessage)
            }
            // Others count it as if it could stand here, and it says the same wherever it is.
            ("connection_closed", Place::Inbound | Place::Connection) => {
                let expected = "connection_closed on an outbound topic";
                report.forgive(DeviationKind::Misplaced, expected, place.name());
                ClosedRecord::read(value, report).map(Operation::ClosedRecord)
            }
            // So they do with the operation that ends a connection, when a record of it names the topic.
            ("close_connection", Place::Outbound) if value.get("connection_topic_id").is_some() => {
                let expected = "connection_closed, and close_connection on the connection";
                report.forgive(DeviationKind::Misplaced, expected, name);
                ClosedRecord::read(value, report).map(Operation::ClosedRecord)
            }
            ("message", Place::Connection) => Message::read(value, report).map(Operation::Message),
            ("close_connection", Place::Connection) => {
                CloseConnection::read(value, report).map(Operation::CloseConnection)
            }
            ("transaction", Place::Connection) => {
                Transaction::read(value, report).map(Operation::Transaction)
            }
            (
                "register" | "delete" | "connection_request" | "connection_created"
                | "connection_closed" | "message" | "close_connection" | "transaction",
                _,
            ) => {
                return Err(Refused::NotHere {
                    operation: name.to_owned(),
                    place: place.name(),
                });
            }
            _ => return Err(Refused::UnknownOperation(crate::id::shown(name))),
        };
        Ok(found)
    }

    /// The sort of topic on which it stands.
    pub const fn place(&self) -> Place {
        crate::tx_memo::TransactionMemo::of(self).place()
    }

    /// The message to submit: refused when it does not fit into one, or lacks what only readers can do without.
    pub fn write(&self) -> Result<String, Refused> {
        let form = match self {
            Operation::Register(operation) => operation.form(),
            Operation::Delete(operation) => operation.form(),
            Operation::Migrate(operation) => operation.form(),
            Operation::ConnectionRequest(operation) => operation.form(),
            Operation::ConnectionCreated(operation) => operation.form(),
            Operation::InboundMessage(operation) => operation.form(),
            Operation::RequestRecord(operation) => operation.form(),
            Operation::CreatedRecord(operation) => operation.form()?,
            Operation::ClosedRecord(operation) => operation.form(),
            Operation::OutboundMessage(operation) => operation.form(),
            Operation::Message(operation) => operation.form(),
            Operation::CloseConnection(operation) => operation.form(),
            Operation::Transaction(operation) => operation.form(),
        };
        form.fit("the message", MAX_MESSAGE)
    }
}

fn form(operation: &str) -> Form {
    Form::operation(PROTOCOL, operation)
}
