//! The connections of an agent, from what stands on its topics.
//!
//! The agent that is asked has account 1, inbound topic 11 and outbound topic 12; the one that asks 2, 21 and 22. The
//! connection's topic is 30. Account 6 is a stranger.

use inbox_hcs::{
    CloseConnection, CloseMethod, ClosedRecord, ConnectionCreated, ConnectionKey,
    ConnectionRequest, ConnectionState, Connections, CreatedRecord, Data, Heard, Message,
    Operation, Participant, RequestRecord, Role,
};

use crate::{account, named, operator, sequence, topic};

fn asked() -> Connections {
    Connections::new(Participant {
        account: account(1),
        inbound_topic: topic(11),
        outbound_topic: topic(12),
    })
}

fn asking() -> Connections {
    Connections::new(Participant {
        account: account(2),
        inbound_topic: topic(21),
        outbound_topic: topic(22),
    })
}

const KEY: fn() -> ConnectionKey = || ConnectionKey {
    inbound_topic: topic(11),
    request: sequence(5),
};

fn request() -> Operation {
    Operation::ConnectionRequest(ConnectionRequest {
        operator: operator(21, 2),
        memo: None,
    })
}

fn created() -> Operation {
    Operation::ConnectionCreated(ConnectionCreated {
        connection_topic: topic(30),
        connected_account: account(2),
        operator: operator(11, 1),
        connection: sequence(5),
        memo: None,
    })
}

fn request_record() -> Operation {
    Operation::RequestRecord(RequestRecord {
        operator: operator(11, 1),
        outbound_topic: topic(22),
        request: sequence(5),
        memo: None,
    })
}

/// A record of the connection on an outbound topic; `who` is its operator.
fn created_record(own: u64, requestor: u64, who: (u64, u64)) -> Operation {
    Operation::CreatedRecord(CreatedRecord {
        connection_topic: topic(30),
        outbound_topic: topic(own),
        requestor_outbound_topic: Some(topic(requestor)),
        confirmed_request: Some(sequence(6)),
        request: sequence(5),
        operator: Some(operator(who.0, who.1)),
        memo: None,
    })
}

fn close(inbound: u64, of: u64) -> Operation {
    Operation::CloseConnection(CloseConnection {
        operator: operator(inbound, of),
        reason: None,
        memo: None,
    })
}

fn message(inbound: u64, of: u64) -> Operation {
    Operation::Message(Message {
        operator: operator(inbound, of),
        data: Data::new("hello"),
        memo: None,
    })
}

fn hear(
    connections: &mut Connections,
    on: u64,
    number: u64,
    payer: u64,
    said: &Operation,
) -> Heard {
    connections.hear(topic(on), sequence(number), account(payer), said)
}

fn ignores(
    connections: &mut Connections,
    on: u64,
    number: u64,
    payer: u64,
    said: &Operation,
) -> bool {
    matches!(
        hear(connections, on, number, payer, said),
        Heard::Ignored(_)
    )
}

fn state(connections: &Connections) -> ConnectionState {
    connections.get(KEY()).unwrap().state
}

#[test]
fn the_agent_that_is_asked_sees_request_connection_and_end() {
    let mut connections = asked();
    assert_eq!(hear(&mut connections, 11, 5, 2, &request()), Heard::Counted);
    assert_eq!(state(&connections), ConnectionState::Requested);
    assert_eq!(hear(&mut connections, 11, 6, 1, &created()), Heard::Counted);
    assert_eq!(state(&connections), ConnectionState::Created(topic(30)));
    let record = created_record(12, 22, (11, 1));
    assert!(ignores(&mut connections, 12, 1, 1, &record));
    let connection = connections.on_topic(topic(30)).unwrap();
    assert_eq!(
        (connection.role, connection.other),
        (Role::Responder, Some(account(2)))
    );
    assert!(connection.deviations.is_empty());

    assert_eq!(
        hear(&mut connections, 30, 1, 2, &message(21, 2)),
        Heard::Counted
    );
    assert_eq!(
        hear(&mut connections, 30, 2, 2, &close(21, 2)),
        Heard::Counted
    );
    let ConnectionState::Closed(_, closure) = state(&connections) else {
        panic!("it has ended");
    };
    assert_eq!(
        (closure.by, closure.method),
        (account(2), CloseMethod::Explicit)
    );
    assert!(ignores(&mut connections, 30, 3, 1, &message(11, 1)));
    assert!(ignores(&mut connections, 30, 4, 1, &close(11, 1)));
}

#[test]
fn the_agent_that_asks_sees_its_record_and_the_others_confirmation() {
    let mut connections = asking();
    assert_eq!(
        hear(&mut connections, 22, 1, 2, &request_record()),
        Heard::Counted
    );
    assert_eq!(hear(&mut connections, 11, 6, 1, &created()), Heard::Counted);
    let record = created_record(22, 22, (11, 1));
    assert!(ignores(&mut connections, 22, 2, 2, &record));
    let connection = connections.on_topic(topic(30)).unwrap();
    assert_eq!(
        (connection.role, connection.other),
        (Role::Requester, Some(account(1)))
    );
    assert_eq!(connection.key, KEY());
    assert!(connection.deviations.is_empty());
}

#[test]
fn its_own_records_alone_are_enough() {
    let mut connections = asking();
    hear(&mut connections, 22, 1, 2, &request_record());
    let record = created_record(22, 22, (11, 1));
    assert_eq!(hear(&mut connections, 22, 2, 2, &record), Heard::Counted);
    assert_eq!(state(&connections), ConnectionState::Created(topic(30)));
    let closed = Operation::ClosedRecord(ClosedRecord {
        connection_topic: topic(30),
        method: CloseMethod::SubmitKey,
        operator: operator(11, 1),
        reason: None,
        memo: None,
    });
    assert_eq!(hear(&mut connections, 22, 3, 2, &closed), Heard::Counted);
    let ConnectionState::Closed(_, closure) = state(&connections) else {
        panic!("it has ended");
    };
    assert_eq!(
        (closure.by, closure.method),
        (account(1), CloseMethod::SubmitKey)
    );
}

#[test]
fn records_as_the_typescript_client_writes_them_are_understood() {
    // The agent that was asked names the one that asked.
    let mut connections = asked();
    hear(&mut connections, 11, 5, 2, &request());
    let record = created_record(12, 22, (21, 2));
    assert_eq!(hear(&mut connections, 12, 1, 1, &record), Heard::Counted);
    assert_eq!(state(&connections), ConnectionState::Created(topic(30)));
    let found = named(&connections.get(KEY()).unwrap().deviations);
    assert_eq!(found, ["operator_is_requester /operator_id"]);

    // The agent that asked names the other's outbound topic as that of who asked.
    let mut connections = asking();
    hear(&mut connections, 22, 1, 2, &request_record());
    let record = created_record(22, 12, (11, 1));
    assert_eq!(hear(&mut connections, 22, 2, 2, &record), Heard::Counted);
    let found = named(&connections.get(KEY()).unwrap().deviations);
    assert_eq!(found, ["other_outbound_topic /requestor_outbound_topic_id"]);
}

#[test]
fn a_record_that_names_a_third_account_is_not_about_the_request() {
    let mut connections = asked();
    hear(&mut connections, 11, 5, 2, &request());
    let record = created_record(12, 22, (61, 6));
    assert!(ignores(&mut connections, 12, 1, 1, &record));
    assert_eq!(state(&connections), ConnectionState::Requested);
    // The agent itself, under an inbound topic that it had before.
    let record = created_record(12, 22, (10, 1));
    assert_eq!(hear(&mut connections, 12, 2, 1, &record), Heard::Counted);
    assert_eq!(state(&connections), ConnectionState::Created(topic(30)));
}

#[test]
fn a_record_of_the_end_counts_on_the_connection_too() {
    let record = |inbound, of| {
        Operation::ClosedRecord(ClosedRecord {
            connection_topic: topic(30),
            method: CloseMethod::Explicit,
            operator: operator(inbound, of),
            reason: None,
            memo: None,
        })
    };
    let mut connections = asked();
    hear(&mut connections, 11, 5, 2, &request());
    hear(&mut connections, 11, 6, 1, &created());
    assert_eq!(
        hear(&mut connections, 30, 1, 6, &record(21, 2)),
        Heard::Unverified
    );
    assert!(ignores(&mut connections, 30, 1, 6, &record(61, 6)));
    assert_eq!(
        hear(&mut connections, 11, 7, 2, &record(21, 2)),
        Heard::Unverified
    );
    assert_eq!(
        hear(&mut connections, 30, 2, 2, &record(21, 2)),
        Heard::Counted
    );
    assert!(matches!(state(&connections), ConnectionState::Closed(..)));
}

#[test]
fn strangers_change_nothing() {
    let mut connections = asked();
    // A request in another's name.
    assert_eq!(
        hear(&mut connections, 11, 5, 6, &request()),
        Heard::Unverified
    );
    assert_eq!(connections.iter().count(), 0);
    hear(&mut connections, 11, 5, 2, &request());
    // A confirmation that the agent did not write, in its name and in the stranger's.
    assert_eq!(
        hear(&mut connections, 11, 6, 6, &created()),
        Heard::Unverified
    );
    let forged = Operation::ConnectionCreated(ConnectionCreated {
        connection_topic: topic(66),
        connected_account: account(2),
        operator: operator(11, 6),
        connection: sequence(5),
        memo: None,
    });
    assert_eq!(hear(&mut connections, 11, 7, 6, &forged), Heard::Unverified);
    // Records on the agent's outbound topic that it did not write.
    let record = created_record(12, 22, (11, 1));
    assert_eq!(hear(&mut connections, 12, 1, 6, &record), Heard::Unverified);
    assert_eq!(state(&connections), ConnectionState::Requested);

    hear(&mut connections, 11, 8, 1, &created());
    assert_eq!(
        hear(&mut connections, 30, 1, 6, &close(21, 2)),
        Heard::Unverified
    );
    assert!(ignores(&mut connections, 30, 2, 6, &close(61, 6)));
    assert!(ignores(&mut connections, 30, 3, 6, &message(61, 6)));
    assert_eq!(state(&connections), ConnectionState::Created(topic(30)));
}

#[test]
fn on_anothers_inbound_topic_only_its_owner_confirms() {
    let forged = Operation::ConnectionCreated(ConnectionCreated {
        connection_topic: topic(66),
        connected_account: account(2),
        operator: operator(11, 6),
        connection: sequence(5),
        memo: None,
    });
    let mut connections = asking();
    // Only the request itself was seen, so nobody knows yet whose topic it is.
    assert_eq!(hear(&mut connections, 11, 5, 2, &request()), Heard::Counted);
    assert!(ignores(&mut connections, 11, 6, 6, &forged));
    assert_eq!(
        hear(&mut connections, 22, 1, 2, &request_record()),
        Heard::Counted
    );
    assert_eq!(hear(&mut connections, 11, 6, 6, &forged), Heard::Unverified);
    assert_eq!(hear(&mut connections, 11, 7, 1, &created()), Heard::Counted);
    assert_eq!(state(&connections), ConnectionState::Created(topic(30)));
}

#[test]
fn a_topic_belongs_to_one_connection() {
    let mut connections = asked();
    hear(&mut connections, 11, 5, 2, &request());
    hear(&mut connections, 11, 6, 1, &created());
    hear(&mut connections, 11, 7, 2, &request());
    for (connection_topic, connection) in [(30, 7), (11, 7), (12, 7)] {
        let again = Operation::ConnectionCreated(ConnectionCreated {
            connection_topic: topic(connection_topic),
            connected_account: account(2),
            operator: operator(11, 1),
            connection: sequence(connection),
            memo: None,
        });
        assert!(ignores(&mut connections, 11, 8, 1, &again));
    }
    // The first confirmation counts.
    let moved = Operation::ConnectionCreated(ConnectionCreated {
        connection_topic: topic(31),
        connected_account: account(2),
        operator: operator(11, 1),
        connection: sequence(5),
        memo: None,
    });
    assert!(ignores(&mut connections, 11, 9, 1, &moved));
    assert_eq!(state(&connections), ConnectionState::Created(topic(30)));
}

#[test]
fn a_confirmation_for_another_or_for_nothing_is_ignored() {
    let mut connections = asked();
    assert!(ignores(&mut connections, 11, 6, 1, &created()));
    hear(&mut connections, 11, 5, 2, &request());
    let other = Operation::ConnectionCreated(ConnectionCreated {
        connection_topic: topic(30),
        connected_account: account(6),
        operator: operator(11, 1),
        connection: sequence(5),
        memo: None,
    });
    assert!(ignores(&mut connections, 11, 6, 1, &other));
    assert_eq!(state(&connections), ConnectionState::Requested);
}

#[test]
fn a_third_party_speaks_once_it_was_admitted() {
    let mut connections = asked();
    hear(&mut connections, 11, 5, 2, &request());
    hear(&mut connections, 11, 6, 1, &created());
    assert!(!connections.admit(topic(99), account(6)));
    assert!(connections.admit(topic(30), account(6)));
    assert_eq!(
        hear(&mut connections, 30, 1, 6, &message(61, 6)),
        Heard::Counted
    );
    assert_eq!(
        hear(&mut connections, 30, 2, 6, &close(61, 6)),
        Heard::Counted
    );
}
