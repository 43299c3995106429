//! What is written is read as it was, without a deviation, and fits.

use inbox_hcs::{
    CloseConnection, CloseMethod, ClosedRecord, ConnectionCreated, ConnectionRequest,
    CreatedRecord, Data, Delete, InboundMessage, MAX_MESSAGE, Message, Migrate, Operation,
    OperatorId, OutboundMessage, Place, Refused, Register, RegistryOperation, RequestRecord,
    Transaction, Ttl, read, read_registry,
};
use proptest::prelude::*;

use crate::{account, operator, sequence, topic};

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![1..100_000_u64, Just(i64::MAX.cast_unsigned())]
}

fn operators() -> impl Strategy<Value = OperatorId> {
    (number(), number()).prop_map(|(inbound, of)| operator(inbound, of))
}

fn texts() -> impl Strategy<Value = Option<String>> {
    proptest::option::of("[^\u{0}]{0,60}")
}

/// Every operation.
pub(crate) fn operations() -> impl Strategy<Value = Operation> {
    let parts = (
        0..13,
        operators(),
        number(),
        number(),
        number(),
        "[^\u{0}]{0,400}",
        texts(),
        texts(),
        0..3_usize,
    );
    parts.prop_map(
        |(sort, operator, one, two, three, data, memo, reason, choice)| match sort {
            0 => Operation::Register(Register {
                account: account(one),
                memo,
            }),
            1 => Operation::Delete(Delete {
                uid: sequence(one),
                memo,
            }),
            2 => Operation::Migrate(Migrate {
                place: Place::ALL[choice],
                topic: topic(one),
                memo,
            }),
            3 => Operation::ConnectionRequest(ConnectionRequest { operator, memo }),
            4 => Operation::ConnectionCreated(ConnectionCreated {
                connection_topic: topic(one),
                connected_account: account(two),
                operator,
                connection: sequence(three),
                memo,
            }),
            5 => Operation::InboundMessage(InboundMessage {
                operator,
                data: Data::new(data),
                written_at: (choice > 0).then(|| {
                    jiff::Timestamp::new(i64::try_from(two % 1_000_000).unwrap(), 7).unwrap()
                }),
                memo,
            }),
            6 => Operation::RequestRecord(RequestRecord {
                operator,
                outbound_topic: topic(one),
                request: sequence(two),
                memo,
            }),
            7 => Operation::CreatedRecord(CreatedRecord {
                connection_topic: topic(one),
                outbound_topic: topic(two),
                requestor_outbound_topic: Some(topic(three)),
                confirmed_request: Some(sequence(one)),
                request: sequence(two),
                operator: Some(operator),
                memo,
            }),
            8 => Operation::ClosedRecord(ClosedRecord {
                connection_topic: topic(one),
                method: CloseMethod::ALL[choice],
                operator,
                reason,
                memo,
            }),
            9 => Operation::Message(Message {
                operator,
                data: Data::new(data),
                memo,
            }),
            10 => Operation::CloseConnection(CloseConnection {
                operator,
                reason,
                memo,
            }),
            11 => Operation::OutboundMessage(OutboundMessage {
                operator,
                data: Data::new(data),
                written_at: None,
                memo,
            }),
            _ => Operation::Transaction(Transaction {
                operator,
                schedule: format!("0.0.{one}").parse().unwrap(),
                data: Data::new(data),
                memo,
            }),
        },
    )
}

fn registrations() -> impl Strategy<Value = RegistryOperation> {
    let ttl = proptest::option::of((0..=Ttl::MAX.seconds()).prop_map(|s| Ttl::new(s).unwrap()));
    (0..4, number(), number(), texts(), ttl, texts()).prop_map(
        |(sort, one, two, metadata, ttl, memo)| match sort {
            0 => RegistryOperation::Register {
                topic: topic(one),
                metadata,
                ttl,
                memo,
            },
            1 => RegistryOperation::Update {
                uid: sequence(two),
                topic: topic(one),
                metadata,
                ttl,
                memo,
            },
            2 => RegistryOperation::Delete {
                uid: sequence(two),
                memo,
            },
            _ => RegistryOperation::Migrate {
                topic: topic(one),
                metadata,
                memo,
            },
        },
    )
}

proptest! {
    #[test]
    fn an_operation_is_read_as_it_was_written(operation in operations()) {
        match operation.write() {
            Ok(text) => {
                prop_assert!(text.len() <= MAX_MESSAGE);
                let found = read(text.as_bytes(), operation.place()).unwrap();
                prop_assert_eq!(found, (operation, Vec::new()));
            }
            Err(refused) => {
                let is_large = matches!(refused, Refused::TooLarge { .. });
                prop_assert!(is_large, "{}", refused);
            }
        }
    }

    #[test]
    fn a_registry_is_read_as_it_was_written(operation in registrations()) {
        let text = operation.write().unwrap();
        prop_assert_eq!(read_registry(text.as_bytes()).unwrap(), (operation, Vec::new()));
    }
}

#[test]
fn what_we_would_not_read_is_not_written() {
    let message = Operation::Message(Message {
        operator: operator(5, 6),
        data: Data::new("a\u{0}b"),
        memo: None,
    });
    assert!(matches!(message.write(), Err(Refused::NotJson(_))));
}
