//! The nodes of a client: which one is next. One that failed is set aside, longer each time, while there are others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::NodeAt;
use crate::grpc::Channel;

/// How long a node that failed is set aside, twice as long each time after it, and the longest.
const ASIDE: Duration = Duration::from_secs(1);
const LONGEST_ASIDE: Duration = Duration::from_mins(1);

/// A node and how it has been doing.
pub(super) struct Node {
    pub(super) account: i64,
    pub(super) channel: Channel,
    health: Mutex<Health>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Health {
    failures: u32,
    aside_until: Option<Instant>,
}

impl Node {
    /// It gave an answer.
    pub(super) fn answered(&self) {
        *self.health.lock().unwrap_or_else(PoisonError::into_inner) = Health::default();
    }

    /// It gave none, or none that is of use.
    pub(super) fn failed(&self) {
        let mut health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        let aside = ASIDE.saturating_mul(1 << health.failures.min(10));
        health.failures = health.failures.saturating_add(1);
        health.aside_until = Instant::now().checked_add(aside.min(LONGEST_ASIDE));
    }

    /// How long it is set aside yet.
    fn aside(&self, now: Instant) -> Duration {
        let health = *self.health.lock().unwrap_or_else(PoisonError::into_inner);
        health
            .aside_until
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }
}

/// All nodes of a client, in turns.
pub(super) struct Nodes {
    all: Vec<Node>,
    turn: AtomicUsize,
}

impl Nodes {
    /// Those at these addresses, by TLS where the port says so.
    pub(super) fn new(
        nodes: impl IntoIterator<Item = NodeAt>,
        hashes: &BTreeMap<i64, [u8; 48]>,
        timeout: Duration,
    ) -> Self {
        let node = |NodeAt { account, address }| {
            let hash = hashes.get(&account).copied();
            Node {
                account,
                channel: Channel::to(address, hash, timeout),
                health: Mutex::default(),
            }
        };
        // Not everybody begins with the same one.
        let mut turn = [0; 2];
        let _ = getrandom::fill(&mut turn);
        Nodes {
            all: nodes.into_iter().map(node).collect(),
            turn: AtomicUsize::new(usize::from(u16::from_le_bytes(turn))),
        }
    }

    /// Sets how long one call may take.
    pub(super) fn within(&mut self, timeout: Duration) {
        for node in &mut self.all {
            node.channel.within(timeout);
        }
    }

    /// The next one that is not set aside; when all are, the one whose time is over first.
    pub(super) fn next(&self) -> Option<&Node> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let first = turn.checked_rem(self.all.len())?;
        let now = Instant::now();
        let (before, after) = self.all.split_at(first);
        after
            .iter()
            .chain(before)
            .min_by_key(|node| node.aside(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(count: i64) -> Nodes {
        let at = |account| NodeAt {
            account,
            address: format!("127.0.0.1:{account}"),
        };
        Nodes::new((1..=count).map(at), &BTreeMap::new(), ASIDE)
    }

    fn turns(nodes: &Nodes, count: usize) -> Vec<i64> {
        let mut turns: Vec<i64> = (0..count)
            .map(|_| nodes.next().expect("there are nodes").account)
            .collect();
        turns.sort_unstable();
        turns
    }

    #[test]
    fn everyone_has_a_turn_and_one_that_failed_waits_for_its_own() {
        let nodes = nodes(3);
        assert_eq!(turns(&nodes, 6), [1, 1, 2, 2, 3, 3]);
        nodes.all[1].failed();
        assert!(!turns(&nodes, 6).contains(&2));
        nodes.all[1].answered();
        assert_eq!(turns(&nodes, 6), [1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn when_all_have_failed_the_one_that_failed_least_is_tried() {
        let nodes = nodes(2);
        for _ in 0..4 {
            nodes.all[0].failed();
        }
        nodes.all[1].failed();
        assert_eq!(turns(&nodes, 3), [2, 2, 2]);
        let aside = |place: usize| nodes.all[place].aside(Instant::now());
        assert!(aside(0) > aside(1) && aside(1) > Duration::ZERO);
        for _ in 0..100 {
            nodes.all[0].failed();
        }
        assert!(aside(0) <= LONGEST_ASIDE);
    }

    #[test]
    fn where_there_is_nobody_there_is_no_turn() {
        assert!(nodes(0).next().is_none());
    }
}
