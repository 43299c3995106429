//! HCS-2 registries: what their messages come to.

use inbox_hcs::{
    Access, Indexed, MigrationChain, Registry, RegistryOperation, RegistryTransactionMemo, Verdict,
};

use crate::{account, sequence, topic};

fn register(number: u64) -> RegistryOperation {
    RegistryOperation::Register {
        topic: topic(number),
        metadata: None,
        ttl: None,
        memo: None,
    }
}

fn update(uid: u64, number: u64) -> RegistryOperation {
    RegistryOperation::Update {
        uid: sequence(uid),
        topic: topic(number),
        metadata: Some("hcs://1/0.0.7".to_owned()),
        ttl: None,
        memo: None,
    }
}

fn delete(uid: u64) -> RegistryOperation {
    RegistryOperation::Delete {
        uid: sequence(uid),
        memo: None,
    }
}

fn migrate(number: u64) -> RegistryOperation {
    RegistryOperation::Migrate {
        topic: topic(number),
        metadata: None,
        memo: None,
    }
}

fn play(registry: &mut Registry, messages: &[(u64, RegistryOperation)]) -> Vec<bool> {
    let mut verdicts = Vec::new();
    for (number, (payer, operation)) in (1..).zip(messages) {
        let verdict = registry.apply(sequence(number), account(*payer), operation);
        verdicts.push(verdict == Verdict::Counted);
    }
    verdicts
}

fn topics(registry: &Registry) -> Vec<(u64, u64)> {
    let entry = |entry: &inbox_hcs::Entry| (entry.uid.get(), entry.topic.number());
    registry.entries().map(entry).collect()
}

#[test]
fn entries_are_added_changed_and_taken_out() {
    let mut registry = Registry::new(Indexed::All, Access::Guarded);
    let messages = [
        (1, register(10)),
        (1, register(11)),
        (2, update(1, 12)),
        (2, delete(2)),
        (2, delete(2)),
        (2, update(9, 13)),
        (1, register(14)),
    ];
    let verdicts = play(&mut registry, &messages);
    assert_eq!(verdicts, [true, true, true, true, false, false, true]);
    assert_eq!(topics(&registry), [(1, 12), (7, 14)]);
    let first = registry.entries().next().unwrap();
    assert_eq!(first.metadata.as_deref(), Some("hcs://1/0.0.7"));
}

#[test]
fn where_the_newest_message_counts_there_is_one_entry_and_no_change() {
    let mut registry = Registry::new(Indexed::Newest, Access::Guarded);
    let messages = [
        (1, register(10)),
        (1, register(11)),
        (1, update(2, 12)),
        (1, delete(2)),
    ];
    assert_eq!(play(&mut registry, &messages), [true, true, false, false]);
    assert_eq!(topics(&registry), [(2, 11)]);
}

#[test]
fn in_an_open_registry_entries_are_their_writers() {
    let access = Access::Open {
        owner: Some(account(9)),
    };
    let mut registry = Registry::new(Indexed::All, access);
    let messages = [
        (1, register(10)),
        (2, delete(1)),
        (2, update(1, 66)),
        (2, migrate(66)),
        (9, update(1, 12)),
        (1, delete(1)),
        (9, migrate(20)),
    ];
    let verdicts = play(&mut registry, &messages);
    assert_eq!(verdicts, [true, false, false, false, true, true, true]);
    assert_eq!(registry.moved_to(), Some(topic(20)));

    let mut nobodys = Registry::new(Indexed::All, Access::Open { owner: None });
    assert_eq!(
        play(&mut nobodys, &[(1, register(10)), (1, migrate(66))]),
        [true, false]
    );
}

#[test]
fn nothing_counts_after_a_move() {
    let mut registry = Registry::new(Indexed::All, Access::Guarded);
    let messages = [
        (1, register(10)),
        (1, migrate(20)),
        (1, register(11)),
        (1, delete(1)),
        (1, migrate(21)),
    ];
    assert_eq!(
        play(&mut registry, &messages),
        [true, true, false, false, false]
    );
    assert_eq!(
        (topics(&registry), registry.moved_to()),
        (vec![(1, 10)], Some(topic(20)))
    );
}

#[test]
fn moves_are_followed_three_times_and_never_back() {
    let mut chain = MigrationChain::new(topic(1));
    for number in 2..=4 {
        chain.follow(topic(number)).unwrap();
    }
    assert!(chain.follow(topic(5)).is_err());
    let mut circle = MigrationChain::new(topic(1));
    circle.follow(topic(2)).unwrap();
    assert!(circle.follow(topic(1)).is_err());
    assert!(MigrationChain::new(topic(1)).follow(topic(1)).is_err());
}

#[test]
fn the_numbers_of_operations_are_not_those_of_hcs_10() {
    let memo = |operation| RegistryTransactionMemo::of(&operation, Indexed::All).to_string();
    let memos = [register(1), update(1, 1), delete(1), migrate(1)].map(memo);
    assert_eq!(
        memos,
        [
            "hcs-2:op:0:0",
            "hcs-2:op:1:0",
            "hcs-2:op:2:0",
            "hcs-2:op:3:0"
        ]
    );
    let newest = RegistryTransactionMemo::of(&register(1), Indexed::Newest);
    assert_eq!(newest.to_string(), "hcs-2:op:0:1");
}
