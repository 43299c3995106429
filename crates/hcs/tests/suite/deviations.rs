//! What other programs write: what is forgiven, what it is read as, and what is not forgiven.

use inbox_hcs::{
    CloseMethod, DeviationKind, Envelope, MAX_MESSAGE, Note, Operation, Place, TransactionMemo,
    read, read_registry,
};
use serde_json::{Value, json};

use crate::{account, named, operator, topic};

fn forgiven(value: &Value, place: Place) -> (Operation, Vec<String>) {
    let (operation, deviations) = read(value.to_string().as_bytes(), place)
        .unwrap_or_else(|refused| panic!("{value}: {refused}"));
    (operation, named(&deviations))
}

#[test]
fn a_registration_with_the_inbound_topic_is_read() {
    // The TypeScript client adds it.
    let value = json!({
        "p": "hcs-10", "op": "register", "account_id": "0.0.4",
        "inbound_topic_id": "0.0.5", "m": "Registering AI agent.",
    });
    let (operation, deviations) = forgiven(&value, Place::Registry);
    assert_eq!(deviations, ["unknown_field /inbound_topic_id"]);
    assert!(matches!(operation, Operation::Register(register) if register.account == account(4)));
}

#[test]
fn numbers_in_texts_and_texts_in_numbers_are_read() {
    let value = json!({
        "p": "hcs-10", "op": "connection_created", "connection_topic_id": "0.0.9",
        "connected_account_id": "0.0.4", "operator_id": "0.0.5@0.0.6", "connection_id": "12",
    });
    let (operation, deviations) = forgiven(&value, Place::Inbound);
    assert_eq!(deviations, ["number_as_text /connection_id"]);
    assert!(matches!(operation, Operation::ConnectionCreated(c) if c.connection.get() == 12));

    let value = json!({ "p": "hcs-10", "op": "delete", "uid": 3 });
    let (operation, deviations) = forgiven(&value, Place::Registry);
    assert_eq!(deviations, ["text_as_number /uid"]);
    assert!(matches!(operation, Operation::Delete(delete) if delete.uid.get() == 3));
}

#[test]
fn fields_that_say_nothing_are_left_out() {
    let value = json!({
        "p": "hcs-10", "op": "close_connection", "operator_id": "0.0.5@0.0.6",
        "reason": 7, "m": null,
    });
    let (operation, deviations) = forgiven(&value, Place::Connection);
    assert_eq!(deviations, ["ignored_field /reason", "null_field /m"]);
    let expected = json!({ "p": "hcs-10", "op": "close_connection", "operator_id": "0.0.5@0.0.6" });
    assert_eq!(operation.write().unwrap(), expected.to_string());
}

#[test]
fn data_of_any_sort_becomes_text() {
    for data in [json!({ "a": [1, 2] }), json!([1]), json!(1.50), json!(true)] {
        let value = json!({
            "p": "hcs-10", "op": "message", "operator_id": "0.0.5@0.0.6", "data": data,
        });
        let (operation, deviations) = forgiven(&value, Place::Connection);
        assert_eq!(deviations, ["data_is_not_text /data"]);
        let Operation::Message(message) = operation else {
            panic!("not a message");
        };
        assert_eq!(message.data.as_str(), data.to_string());
        assert_eq!(message.data.value(), Some(data));
    }
}

#[test]
fn a_closure_counts_where_others_put_it() {
    let value = json!({
        "p": "hcs-10", "op": "connection_closed", "connection_topic_id": "0.0.9",
        "operator_id": "0.0.5@0.0.6",
    });
    for place in [Place::Inbound, Place::Connection] {
        let (operation, deviations) = forgiven(&value, place);
        assert_eq!(deviations, ["misplaced ", "missing_field /close_method"]);
        let Operation::ClosedRecord(record) = operation else {
            panic!("not a record");
        };
        assert_eq!(record.method, CloseMethod::Explicit);
        assert_eq!(record.connection_topic, topic(9));
    }
    let mut value = value;
    value["close_method"] = json!("by_hand");
    value["op"] = json!("close_connection");
    let (operation, deviations) = forgiven(&value, Place::Outbound);
    assert_eq!(deviations, ["misplaced ", "unknown_word /close_method"]);
    assert!(matches!(operation, Operation::ClosedRecord(_)));
    value["op"] = json!("connection_closed");
    let (_, deviations) = forgiven(&value, Place::Outbound);
    assert_eq!(deviations, ["unknown_word /close_method"]);
}

#[test]
fn a_record_is_read_without_what_it_can_do_without() {
    let value = json!({
        "p": "hcs-10", "op": "connection_created", "connection_topic_id": "0.0.9",
        "outbound_topic_id": "0.0.8", "requestor_outbound_topic_id": "",
        "confirmed_request_id": 0, "connection_request_id": 5, "operator_id": "0.0.6",
    });
    let (operation, deviations) = forgiven(&value, Place::Outbound);
    assert_eq!(
        deviations,
        [
            "ignored_field /requestor_outbound_topic_id",
            "ignored_field /confirmed_request_id",
            "ignored_field /operator_id",
        ]
    );
    let Operation::CreatedRecord(record) = operation else {
        panic!("not a record");
    };
    assert_eq!((record.connection_topic, record.operator), (topic(9), None));
}

#[test]
fn a_transaction_memo_that_does_not_fit_is_named() {
    let value = json!({
        "p": "hcs-10", "op": "connection_closed", "connection_topic_id": "0.0.9",
        "close_method": "explicit", "operator_id": "0.0.5@0.0.6",
    });
    let (operation, _) = forgiven(&value, Place::Outbound);
    // The TypeScript client's helper gives this one unless there is an outbound topic.
    let deviation = TransactionMemo::check("hcs-10:op:5:3", &operation).unwrap();
    assert_eq!(deviation.kind, DeviationKind::OtherTransactionMemo);
    assert_eq!(deviation.expected, "hcs-10:op:5:2");
    assert_eq!(
        deviation.to_string(),
        "other_transaction_memo: the text: expected hcs-10:op:5:2, found \"hcs-10:op:5:3\""
    );
    assert!(TransactionMemo::check("", &operation).is_some());
}

#[test]
fn a_message_in_pieces_is_read_and_not_written() {
    let value = json!({
        "p": "hcs-10", "op": "message", "operator_id": "0.0.5@0.0.6", "data": "x".repeat(MAX_MESSAGE),
    });
    let (operation, deviations) = forgiven(&value, Place::Connection);
    assert_eq!(deviations, ["assembled "]);
    let refused = operation.write().unwrap_err().to_string();
    assert!(refused.contains("the most is 1024"), "{refused}");
}

#[test]
fn an_operation_that_cannot_be_trusted_to_mean_one_thing_is_refused() {
    let message =
        json!({ "p": "hcs-10", "op": "message", "operator_id": "0.0.5@0.0.6", "data": "x" });
    let with = |key: &str, value: Value| {
        let mut changed = message.clone();
        changed[key] = value;
        changed
    };
    let cases = [
        (json!([]), Place::Connection, "protocol"),
        (json!("hcs-10"), Place::Connection, "protocol"),
        (json!({}), Place::Connection, "protocol"),
        (with("p", json!("hcs-2")), Place::Connection, "\"hcs-2\""),
        (
            with("p", json!(["hcs-10"])),
            Place::Connection,
            "a list of 1",
        ),
        (
            with("op", json!("explode")),
            Place::Connection,
            "\"explode\" is unknown",
        ),
        (with("op", json!(6)), Place::Connection, "6 is unknown"),
        (with("op", json!("Message")), Place::Connection, "unknown"),
        (
            with("operator_id", json!("0.0.6")),
            Place::Connection,
            "/operator_id",
        ),
        (
            with("operator_id", json!(null)),
            Place::Connection,
            "/operator_id",
        ),
        (
            with("operator_id", json!("0.0.5@0.0.0")),
            Place::Connection,
            "/operator_id",
        ),
        (with("data", json!(null)), Place::Connection, "/data"),
        (
            message.clone(),
            Place::Registry,
            "does not belong on registry",
        ),
        (
            with("op", json!("close_connection")),
            Place::Inbound,
            "does not belong",
        ),
        (
            with("op", json!("close_connection")),
            Place::Outbound,
            "does not belong",
        ),
        (
            with("op", json!("register")),
            Place::Inbound,
            "does not belong",
        ),
        (
            with("op", json!("transaction")),
            Place::Connection,
            "/schedule_id",
        ),
    ];
    for (value, place, words) in cases {
        let refused = read(value.to_string().as_bytes(), place)
            .unwrap_err()
            .to_string();
        assert!(refused.contains(words), "{value}: {refused}");
    }
    let missing = json!({ "p": "hcs-10", "op": "message" });
    let refused = read(missing.to_string().as_bytes(), Place::Connection).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "/operator_id: is required; /data: is required"
    );
}

#[test]
fn a_topic_of_any_sort_may_move() {
    for place in Place::ALL {
        let value = json!({ "p": "hcs-10", "op": "migrate", "t_id": "0.0.9" });
        let (operation, deviations) = forgiven(&value, place);
        assert!(deviations.is_empty());
        let memo = TransactionMemo::of(&operation).to_string();
        assert_eq!(memo, format!("hcs-10:op:2:{}", place.code()));
    }
}

#[test]
fn an_envelope_is_read_for_what_it_says() {
    let data = inbox_hcs::Data::json(&json!({
        "message_type": "fyi", "subject": "s", "ref_type": "planet", "priority": "9",
        "context": {}, "ref_id": null,
    }));
    let (envelope, deviations) = Envelope::read(&data).unwrap();
    assert_eq!(
        named(&deviations),
        [
            "null_field /ref_id",
            "unknown_word /ref_type",
            "number_as_text /priority",
            "unknown_number /priority",
            "unknown_field /context",
        ]
    );
    assert_eq!(envelope.priority, inbox_core::Priority::Normal);
    assert_eq!((envelope.ref_id, envelope.ref_type), (None, None));
    assert!(Envelope::read(&inbox_hcs::Data::new("hello")).is_err());
    assert!(Envelope::read(&inbox_hcs::Data::new("{}")).is_err());
}

#[test]
fn a_note_says_what_it_is_about() {
    let note = json!({ "type": "stage.note", "from_agent": "quinn", "note": "n", "ts": "soon" });
    let (note, deviations) = Note::read(note.to_string().as_bytes()).unwrap();
    assert_eq!(named(&deviations), ["ignored_field /ts"]);
    assert!(note.write().is_err());
    for wrong in [
        json!({ "type": "note", "from_agent": "quinn", "note": "n" }),
        json!({ "type": "task.note", "from_agent": " ", "note": "n" }),
        json!({ "type": "task.note", "from_agent": "quinn" }),
        json!({ "type": "task.note", "from_agent": "quinn", "note": "n", "notify": "all" }),
    ] {
        assert!(Note::read(wrong.to_string().as_bytes()).is_err(), "{wrong}");
    }
}

#[test]
fn a_registry_forgives_what_it_can() {
    let long = json!({
        "p": "hcs-2", "op": "register", "t_id": "0.0.5", "metadata": { "a": 1 },
        "ttl": 99_999_999_999_u64, "m": "é".repeat(501),
    });
    let (operation, deviations) = read_registry(long.to_string().as_bytes()).unwrap();
    assert_eq!(
        named(&deviations),
        [
            "data_is_not_text /metadata",
            "ignored_field /ttl",
            "too_long /m"
        ]
    );
    assert!(
        operation
            .write()
            .unwrap_err()
            .to_string()
            .contains("the most is 500")
    );
    for wrong in [
        json!({ "p": "hcs-10", "op": "register", "t_id": "0.0.5" }),
        json!({ "p": "hcs-2", "op": "register", "t_id": "0.0.0" }),
        json!({ "p": "hcs-2", "op": "update", "t_id": "0.0.5" }),
        json!({ "p": "hcs-2", "op": "delete", "uid": "0" }),
        json!({ "p": "hcs-2", "op": "drop", "uid": "1" }),
    ] {
        assert!(
            read_registry(wrong.to_string().as_bytes()).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn who_is_named_must_have_paid() {
    use inbox_hcs::{Standing, standing};
    let verified = |value: Value, place, payer, owner: Option<u64>| {
        let (operation, _) = read(value.to_string().as_bytes(), place).unwrap();
        standing(&operation, account(payer), owner.map(account))
            == Standing::Verified(account(payer))
    };
    let message =
        json!({ "p": "hcs-10", "op": "message", "operator_id": "0.0.5@0.0.6", "data": "x" });
    assert!(verified(message.clone(), Place::Inbound, 6, Some(4)));
    assert!(!verified(message, Place::Inbound, 7, Some(7)));
    let created = json!({
        "p": "hcs-10", "op": "connection_created", "connection_topic_id": "0.0.9",
        "connected_account_id": "0.0.4", "operator_id": "0.0.5@0.0.6", "connection_id": 12,
    });
    assert!(verified(created.clone(), Place::Inbound, 6, Some(6)));
    assert!(verified(created.clone(), Place::Inbound, 6, None));
    assert!(!verified(created, Place::Inbound, 6, Some(7)));
    let record = json!({
        "p": "hcs-10", "op": "connection_request", "operator_id": "0.0.5@0.0.6",
        "outbound_topic_id": "0.0.8", "connection_request_id": 1,
    });
    assert!(verified(record.clone(), Place::Outbound, 4, Some(4)));
    assert!(!verified(record.clone(), Place::Outbound, 6, Some(4)));
    assert!(!verified(record, Place::Outbound, 4, None));
    assert_eq!(operator(5, 6).to_string(), "0.0.5@0.0.6");
}
