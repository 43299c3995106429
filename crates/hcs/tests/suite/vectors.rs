//! Every JSON example of the standards, both ways.

use std::collections::BTreeSet;
use std::path::PathBuf;

use inbox_hcs::{Envelope, Note, Operation, Place, Profile, TransactionMemo, read, read_registry};
use serde_json::Value;

use crate::{named, vector};

pub(crate) struct Vector {
    pub(crate) file: String,
    pub(crate) place: Option<Place>,
    memo: Option<String>,
    is_reordered: bool,
    deviations: Vec<String>,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn all() -> Vec<Vector> {
    let index: Value = serde_json::from_slice(&vector("index.json")).unwrap();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let vector = |entry: &Value| {
        let file = text(&entry["file"]).unwrap();
        assert!(!text(&entry["where"]).unwrap().is_empty(), "{file}");
        let place = text(&entry["place"]);
        let deviations = entry["deviations"].as_array().unwrap();
        Vector {
            place: place.map(|place| {
                let mut places = Place::ALL.into_iter();
                places.find(|known| known.name() == place).unwrap()
            }),
            memo: text(&entry["memo"]),
            is_reordered: entry["reordered"] == true,
            deviations: deviations.iter().filter_map(text).collect(),
            bytes: vector(&file),
            file,
        }
    };
    index.as_array().unwrap().iter().map(vector).collect()
}

impl Vector {
    fn is_in(&self, folder: &str) -> bool {
        self.file.starts_with(folder)
    }

    /// The example without its spaces, as it would be written.
    fn text(&self) -> String {
        let value: Value = serde_json::from_slice(&self.bytes).unwrap();
        value.to_string()
    }

    /// Requires that what was read is written as it was.
    fn must_be(&self, written: &str) {
        if self.is_reordered {
            let value: Value = serde_json::from_slice(&self.bytes).unwrap();
            assert_eq!(serde_json::from_str::<Value>(written).unwrap(), value);
        } else {
            assert_eq!(written, self.text(), "{}", self.file);
        }
    }
}

#[test]
fn every_operation_in_the_standard_is_read_and_written_as_it_was() {
    let mut count = 0;
    for vector in all().iter().filter(|vector| vector.is_in("operation/")) {
        let (operation, deviations) = read(&vector.bytes, vector.place.unwrap())
            .unwrap_or_else(|refused| panic!("{}: {refused}", vector.file));
        assert_eq!(named(&deviations), vector.deviations, "{}", vector.file);
        assert_eq!(operation.place(), vector.place.unwrap());
        let memo = TransactionMemo::of(&operation).to_string();
        assert_eq!(Some(&memo), vector.memo.as_ref(), "{}", vector.file);
        assert_eq!(TransactionMemo::check(&memo, &operation), None);
        if deviations.is_empty() {
            vector.must_be(&operation.write().unwrap());
        }
        count += 1;
    }
    assert_eq!(count, 39);
}

#[test]
fn what_was_forgiven_is_written_as_the_standard_has_it() {
    for vector in all()
        .iter()
        .filter(|vector| vector.is_in("operation/inbound-message"))
    {
        let (operation, _) = read(&vector.bytes, Place::Inbound).unwrap();
        let written = operation.write().unwrap();
        let (again, deviations) = read(written.as_bytes(), Place::Inbound).unwrap();
        assert_eq!((again, deviations), (operation.clone(), Vec::new()));

        let Operation::InboundMessage(message) = operation else {
            panic!("{}: not a message", vector.file);
        };
        let original: Value = serde_json::from_slice(&vector.bytes).unwrap();
        assert_eq!(message.data.value().as_ref(), Some(&original["data"]));
        let (envelope, deviations) = Envelope::read(&message.data).unwrap();
        assert_eq!(deviations, []);
        assert_eq!(envelope.to_data(), message.data);
        assert_eq!(message.written_at.unwrap().to_string(), original["ts"]);
    }
}

#[test]
fn the_diagram_of_a_connection_leaves_out_what_must_be_written() {
    let bytes = vector("operation/outbound-connection-created-2.json");
    let (operation, _) = read(&bytes, Place::Outbound).unwrap();
    let refused = operation.write().unwrap_err();
    assert!(
        refused.to_string().contains("requestor_outbound_topic_id"),
        "{refused}"
    );
}

#[test]
fn the_other_examples_are_read_and_written_as_they_were() {
    for vector in all() {
        let bytes = &vector.bytes;
        let (written, deviations) = if vector.is_in("profile/") {
            let (profile, deviations) = Profile::read(bytes).unwrap();
            (profile.write().unwrap(), deviations)
        } else if vector.is_in("note/") {
            let (note, deviations) = Note::read(bytes).unwrap();
            (note.write().unwrap(), deviations)
        } else if vector.is_in("registry/") {
            let (operation, deviations) = read_registry(bytes).unwrap();
            (operation.write().unwrap(), deviations)
        } else {
            continue;
        };
        assert_eq!(named(&deviations), vector.deviations, "{}", vector.file);
        vector.must_be(&written);
    }
}

#[test]
fn every_vector_is_in_the_index() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut found = BTreeSet::new();
    for name in ["operation", "profile", "note", "registry"] {
        for entry in std::fs::read_dir(folder.join(name)).unwrap() {
            let file = entry.unwrap().file_name();
            found.insert(format!("{name}/{}", file.to_string_lossy()));
        }
    }
    let listed: BTreeSet<_> = all().into_iter().map(|vector| vector.file).collect();
    assert_eq!(found, listed);
}
