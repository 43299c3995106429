//! Registries of agents: who is listed, and by whose word.

use inbox_hcs::{Access, Delete, Directory, Migrate, Operation, Place, Register, Verdict};

use crate::{account, sequence, topic};

fn register(of: u64) -> Operation {
    Operation::Register(Register {
        account: account(of),
        memo: None,
    })
}

fn delete(uid: u64) -> Operation {
    Operation::Delete(Delete {
        uid: sequence(uid),
        memo: None,
    })
}

fn migrate(to: u64) -> Operation {
    Operation::Migrate(Migrate {
        place: Place::Registry,
        topic: topic(to),
        memo: None,
    })
}

fn play(directory: &mut Directory, messages: &[(u64, Operation)]) -> Vec<bool> {
    let mut verdicts = Vec::new();
    for (number, (payer, operation)) in (1..).zip(messages) {
        let verdict = directory.apply(sequence(number), account(*payer), operation);
        verdicts.push(verdict == Verdict::Counted);
    }
    verdicts
}

#[test]
fn an_agent_lists_itself_and_takes_itself_out() {
    let mut directory = Directory::new(Access::Open { owner: None });
    let messages = [
        (1, register(1)),
        (2, register(2)),
        (2, delete(1)),
        (1, delete(1)),
        (1, delete(1)),
    ];
    assert_eq!(
        play(&mut directory, &messages),
        [true, true, false, true, false]
    );
    assert!(directory.find(account(1)).is_none());
    assert_eq!(directory.find(account(2)).unwrap().uid, sequence(2));
}

#[test]
fn what_a_stranger_says_of_an_account_is_not_believed() {
    let mut directory = Directory::new(Access::Open {
        owner: Some(account(9)),
    });
    let messages = [(6, register(1)), (9, register(2)), (6, migrate(66))];
    assert_eq!(play(&mut directory, &messages), [true, true, false]);
    assert!(directory.find(account(1)).is_none());
    assert!(directory.find(account(2)).is_some());
    assert_eq!(directory.listings().count(), 2);
    // It can still be taken out by whom it names.
    assert_eq!(
        directory.apply(sequence(4), account(1), &delete(1)),
        Verdict::Counted
    );
}

#[test]
fn a_guarded_registry_is_believed_and_may_move() {
    let mut directory = Directory::new(Access::Guarded);
    let messages = [
        (9, register(1)),
        (9, register(1)),
        (9, migrate(20)),
        (9, register(2)),
    ];
    assert_eq!(play(&mut directory, &messages), [true, true, true, false]);
    assert_eq!(directory.find(account(1)).unwrap().uid, sequence(2));
    assert_eq!(directory.moved_to(), Some(topic(20)));
}
