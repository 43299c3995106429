//! A gate in front of the store's write lock: commands queue behind it and are let go together.

use inbox_testkit::sandbox::{Outcome, Sandbox};
use inbox_torture::gate::Gate;

use super::{Leashed, ends, held, start};

/// The gate of a store, before which so many commands stand.
#[track_caller]
pub(super) fn gathered(inbox: &Sandbox, commands: &[Vec<String>]) -> (Gate, Vec<Leashed>) {
    let gate = held(Gate::close(&inbox.store()));
    let mut children: Vec<_> = commands.iter().map(|args| start(inbox, args)).collect();
    held(gate.gather(&mut children));
    (gate, children)
}

/// Lets the commands go at one moment and gives their outcomes in order.
#[track_caller]
pub(super) fn race(inbox: &Sandbox, commands: &[Vec<String>]) -> Vec<Outcome> {
    let (gate, children) = gathered(inbox, commands);
    drop(gate);
    children.into_iter().map(ends).collect()
}
