//! The memos of transactions: which operation on which sort of topic, for those who count.
//!
//! The number of a topic's type here is not the one in topic memos: see [`TopicType`](crate::TopicType) for that.

use std::fmt;
use std::str::FromStr;

use crate::id::{number, shown};
use crate::operation::Operation;
use crate::report::{Deviation, DeviationKind, Refused};

/// The sort of topic on which an operation stands, as transaction memos number it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Where agents are listed.
    Registry,
    /// Where an agent hears requests.
    Inbound,
    /// Where an agent records what it does.
    Outbound,
    /// Where the parties of a connection talk.
    Connection,
}

impl Place {
    /// Every place, in the order of its number.
    pub const ALL: [Place; 4] = [
        Place::Registry,
        Place::Inbound,
        Place::Outbound,
        Place::Connection,
    ];

    /// The number in transaction memos.
    pub const fn code(self) -> u8 {
        match self {
            Place::Registry => 0,
            Place::Inbound => 1,
            Place::Outbound => 2,
            Place::Connection => 3,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Place::Registry => "registry",
            Place::Inbound => "inbound",
            Place::Outbound => "outbound",
            Place::Connection => "connection",
        }
    }
}

/// What an operation is counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationCode {
    /// An agent is listed.
    Register,
    /// An agent is taken from the list.
    Delete,
    /// A topic moves.
    Migrate,
    /// A connection is asked for.
    ConnectionRequest,
    /// A connection is there.
    ConnectionCreated,
    /// A connection ends.
    ConnectionClosed,
    /// A message; also a proposed transaction, for which the standard has no number of its own.
    Message,
}

impl OperationCode {
    /// Every code, in the order of its number.
    pub const ALL: [OperationCode; 7] = [
        OperationCode::Register,
        OperationCode::Delete,
        OperationCode::Migrate,
        OperationCode::ConnectionRequest,
        OperationCode::ConnectionCreated,
        OperationCode::ConnectionClosed,
        OperationCode::Message,
    ];

    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            OperationCode::Register => 0,
            OperationCode::Delete => 1,
            OperationCode::Migrate => 2,
            OperationCode::ConnectionRequest => 3,
            OperationCode::ConnectionCreated => 4,
            OperationCode::ConnectionClosed => 5,
            OperationCode::Message => 6,
        }
    }

    /// Whether such an operation stands on such a topic.
    const fn belongs_on(self, place: Place) -> bool {
        match self {
            OperationCode::Register | OperationCode::Delete => matches!(place, Place::Registry),
            OperationCode::Migrate => true,
            OperationCode::ConnectionRequest | OperationCode::ConnectionCreated => {
                matches!(place, Place::Inbound | Place::Outbound)
            }
            OperationCode::ConnectionClosed => matches!(place, Place::Outbound | Place::Connection),
            OperationCode::Message => !matches!(place, Place::Registry),
        }
    }
}

/// `hcs-10:op:{operation}:{topic}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionMemo {
    operation: OperationCode,
    place: Place,
}

impl TransactionMemo {
    /// The memo of such an operation; `None` when it does not belong on such a topic.
    pub fn new(operation: OperationCode, place: Place) -> Option<Self> {
        operation
            .belongs_on(place)
            .then_some(TransactionMemo { operation, place })
    }

    /// The memo with which an operation is submitted.
    pub const fn of(operation: &Operation) -> Self {
        let (code, place) = match operation {
            Operation::Register(_) => (OperationCode::Register, Place::Registry),
            Operation::Delete(_) => (OperationCode::Delete, Place::Registry),
            Operation::Migrate(migrate) => (OperationCode::Migrate, migrate.place),
            Operation::ConnectionRequest(_) => (OperationCode::ConnectionRequest, Place::Inbound),
            Operation::ConnectionCreated(_) => (OperationCode::ConnectionCreated, Place::Inbound),
            Operation::InboundMessage(_) => (OperationCode::Message, Place::Inbound),
            Operation::RequestRecord(_) => (OperationCode::ConnectionRequest, Place::Outbound),
            Operation::CreatedRecord(_) => (OperationCode::ConnectionCreated, Place::Outbound),
            Operation::ClosedRecord(_) => (OperationCode::ConnectionClosed, Place::Outbound),
            Operation::OutboundMessage(_) => (OperationCode::Message, Place::Outbound),
            Operation::Message(_) | Operation::Transaction(_) => {
                (OperationCode::Message, Place::Connection)
            }
            Operation::CloseConnection(_) => (OperationCode::ConnectionClosed, Place::Connection),
        };
        TransactionMemo {
            operation: code,
            place,
        }
    }

    /// What it is counted as.
    pub const fn operation(self) -> OperationCode {
        self.operation
    }

    /// Where it stands.
    pub const fn place(self) -> Place {
        self.place
    }

    /// Whether this is the memo of the operation, which others do not always write.
    pub fn check(found: &str, operation: &Operation) -> Option<Deviation> {
        let expected = TransactionMemo::of(operation).to_string();
        (found != expected).then(|| Deviation {
            kind: DeviationKind::OtherTransactionMemo,
            pointer: String::new(),
            expected,
            found: shown(found),
        })
    }
}

impl fmt::Display for TransactionMemo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "hcs-10:op:{}:{}",
            self.operation.code(),
            self.place.code()
        )
    }
}

impl FromStr for TransactionMemo {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let parse = || {
            let (operation, place) = text.strip_prefix("hcs-10:op:")?.split_once(':')?;
            let (operation, place) = (number(operation)?, number(place)?);
            let operation = OperationCode::ALL
                .into_iter()
                .find(|code| operation == u64::from(code.code()))?;
            let place = Place::ALL
                .into_iter()
                .find(|sort| place == u64::from(sort.code()))?;
            TransactionMemo::new(operation, place)
        };
        parse().ok_or_else(|| Refused::text(text, "a transaction memo such as hcs-10:op:6:3"))
    }
}
