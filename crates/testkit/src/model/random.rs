//! Random histories: each step may name threads and tokens that exist by then.

use inbox_core::{Kind, Priority};
use proptest::prelude::*;

use super::{Act, Who, Work};

/// A step before it is known which threads and claims exist: picks are taken modulo their number.
#[derive(Debug, Clone)]
pub struct Seed {
    choice: u8,
    agent: usize,
    others: Vec<usize>,
    session: Option<usize>,
    by: u8,
    thread: usize,
    claim: usize,
    priority: usize,
    seconds: i64,
    kind: usize,
}

/// A history of this many steps.
pub fn history(steps: usize) -> impl Strategy<Value = Vec<Seed>> {
    let seed = (
        0_u8..20,
        0_usize..3,
        prop::collection::vec(0_usize..3, 1..3),
        prop::option::weighted(0.4, 0_usize..2),
        0_u8..6,
        any::<usize>(),
        any::<usize>(),
        0_usize..5,
        1_i64..4,
        0_usize..7,
    );
    let seed = seed.prop_map(
        |(choice, agent, others, session, by, thread, claim, priority, seconds, kind)| Seed {
            choice,
            agent,
            others,
            session,
            by,
            thread,
            claim,
            priority,
            seconds,
            kind,
        },
    );
    prop::collection::vec(seed, steps)
}

impl Seed {
    /// The step, given how many threads and claims there are.
    pub fn act(&self, threads: usize, claims: usize) -> Act {
        let send = || Act::Send {
            from: self.agent,
            to: self.others.clone(),
            priority: Priority::ALL[self.priority],
            kind: if self.by == 0 {
                Kind::Question
            } else {
                Kind::Task
            },
            ttl_hours: (self.kind == 0).then_some(1),
        };
        if threads == 0 {
            return send();
        }
        let thread = self.thread % threads;
        let token = (claims > 0).then(|| self.claim % claims.max(1));
        let who = match self.by {
            0 | 1 => Who {
                agent: Some(self.agent),
                session: None,
                claim: None,
            },
            2 => Who {
                agent: Some(self.agent),
                session: self.session,
                claim: None,
            },
            3 => Who {
                agent: Some(self.agent),
                session: self.session,
                claim: token,
            },
            _ if token.is_some() => Who {
                agent: None,
                session: self.session,
                claim: token,
            },
            _ => Who {
                agent: Some(self.agent),
                session: self.session,
                claim: None,
            },
        };
        match self.choice {
            0..=2 => send(),
            3..=6 => {
                let who = Who {
                    agent: Some(self.agent),
                    session: self.session,
                    claim: None,
                };
                Act::Claim {
                    who,
                    thread: (self.by > 1).then_some(thread),
                    seconds: self.seconds,
                }
            }
            7 => Act::Work {
                who,
                thread,
                what: Work::Renew(self.seconds),
            },
            8..=9 => Act::Work {
                who,
                thread,
                what: Work::Start,
            },
            10 => Act::Work {
                who,
                thread,
                what: Work::Block,
            },
            11 => Act::Work {
                who,
                thread,
                what: Work::Done,
            },
            12 => Act::Work {
                who,
                thread,
                what: Work::Fail,
            },
            13 => Act::Work {
                who,
                thread,
                what: Work::Release,
            },
            14 => Act::Say {
                who,
                thread,
                kind: Kind::ALL[self.kind],
            },
            15 => Act::Cancel {
                agent: self.agent,
                thread,
            },
            16 => Act::Fetch { agent: self.agent },
            17 => Act::Wait {
                agent: self.agent,
                thread,
            },
            _ => Act::Pass {
                millis: self.seconds * [1, 500, 1000, 4_000_000][self.kind % 4],
            },
        }
    }
}
