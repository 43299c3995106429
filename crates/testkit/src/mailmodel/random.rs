//! Random histories of mail: each step may name threads and messages that exist by then.

use proptest::prelude::*;

use super::{AGENTS, Act, Model, OWNERS, Presence, Written};

/// A step before it is known what exists: picks are taken modulo their number.
#[derive(Debug, Clone)]
pub struct Seed {
    choice: u8,
    agent: usize,
    session: usize,
    is_named: bool,
    picks: [usize; 3],
    amount: usize,
    to: Vec<(u8, usize)>,
}

/// A history of this many steps.
pub fn history(steps: usize) -> impl Strategy<Value = Vec<Seed>> {
    let seed = (
        0_u8..50,
        0..AGENTS,
        0..OWNERS.len(),
        any::<bool>(),
        any::<[usize; 3]>(),
        0_usize..12,
        prop::collection::vec((0_u8..9, any::<usize>()), 1..4),
    );
    let seed = seed.prop_map(
        |(choice, agent, session, is_named, picks, amount, to)| Seed {
            choice,
            agent,
            session,
            is_named,
            picks,
            amount,
            to,
        },
    );
    prop::collection::vec(seed, steps)
}

impl Seed {
    fn labels(&self, index: usize) -> Vec<usize> {
        (0..2)
            .filter(|bit| self.picks[index] >> bit & 1 == 1)
            .collect()
    }

    /// The step, on what the model has by now.
    pub fn act(&self, model: &Model) -> Act {
        let (threads, messages) = model.sizes();
        let named = self.is_named.then_some(self.session);
        let who = model.who(named.map_or(self.agent, |index| OWNERS[index]), named);
        // What a session may add to a thread that it once held is the other model's matter.
        let unnamed = model.who(who.agent, None);
        let send = |thread: Option<usize>| Act::Send {
            who: if thread.is_some() { unnamed } else { who },
            to: self
                .to
                .iter()
                .map(|&(mode, pick)| written(mode, pick))
                .collect(),
            is_work: !self.picks[0].is_multiple_of(3),
            ttl: [None, None, None, Some(1), Some(6), Some(30)][self.amount % 6],
            thread,
        };
        // What was opened lately is more often still somebody's mail.
        let recent = threads.saturating_sub(1 + self.picks[1] % 3);
        match self.choice {
            0..=2 => Act::Session(
                self.session,
                Presence::Start(self.labels(0), self.labels(1)),
            ),
            3 | 4 => {
                let set = Presence::Set(self.labels(0), self.labels(1), self.labels(2));
                Act::Session(self.session, set)
            }
            5 => Act::Session(self.session, Presence::Beat),
            6 | 7 => Act::Session(self.session, Presence::Freeze),
            8 | 9 => Act::Session(self.session, Presence::Resume),
            10 => Act::Session(self.session, Presence::End),
            11..=17 => send(None),
            18 if threads > 0 => send(Some(self.picks[1] % threads)),
            19..=23 | 47..=49 => Act::Read(who, Some(1 + self.amount % 4)),
            24 => Act::Read(who, Some(50)),
            25..=28 if messages > 0 => Act::Ack(who, self.picks[1] % messages),
            29 | 30 | 40..=43 if threads > 0 => Act::Claim(who, Some(recent), self.seconds()),
            31 => Act::Claim(who, None, self.seconds()),
            32..=34 | 44..=46 if threads > 0 => Act::Release(recent),
            35..=38 => {
                let steps = [
                    1, 1_000, 59_999, 60_000, 600_000, 3_600_000, 14_400_000, 18_000_000,
                ];
                let more = [86_400_000, 108_000_000, 604_800_000, 3_599_999];
                Act::Pass(*steps.iter().chain(&more).nth(self.amount).unwrap_or(&1))
            }
            _ => Act::Read(who, None),
        }
    }

    /// Another look: by whom the state is compared after the step.
    pub fn look(&self, model: &Model) -> Act {
        let session = self.picks[2] % OWNERS.len();
        let named = (!self.picks[1].is_multiple_of(3)).then_some(session);
        Act::Read(model.who(OWNERS[session], named), None)
    }

    fn seconds(&self) -> i64 {
        [60, 36_000, 604_800, 604_800][self.amount % 4]
    }
}

fn written(mode: u8, pick: usize) -> Written {
    match mode {
        0 | 1 => Written::Name(pick % AGENTS),
        2 => Written::RoleName(pick % 2),
        3 => Written::Session(pick % OWNERS.len()),
        4 | 5 => Written::Role(pick % 2),
        6 | 7 => Written::Tag(pick % 2),
        _ if pick.is_multiple_of(8) => Written::Ledger,
        _ => Written::All,
    }
}
