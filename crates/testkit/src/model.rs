//! A plain model of the whole contract, written without SQL and without `decide`, against which
//! random histories are held on every store.

mod play;
mod random;

use std::collections::BTreeMap;

use inbox_core::{Code, Kind, Priority, Status};

pub use play::Player;
pub use random::history;

/// What a caller shows of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Who {
    /// The agent, by number, when it names itself.
    pub agent: Option<usize>,
    /// The session, by number.
    pub session: Option<usize>,
    /// The lease token, by the number of the claim that gave it.
    pub claim: Option<usize>,
}

/// One step of a history. Threads are named by the order in which they were opened.
#[derive(Debug, Clone)]
pub enum Act {
    /// Open a thread.
    Send {
        /// By whom.
        from: usize,
        /// For whom.
        to: Vec<usize>,
        /// How urgent.
        priority: Priority,
        /// Opened by this kind.
        kind: Kind,
        /// Expiring after so many hours.
        ttl_hours: Option<i64>,
    },
    /// Claim a thread, or the best one.
    Claim {
        /// By whom.
        who: Who,
        /// Which thread.
        thread: Option<usize>,
        /// For how long.
        seconds: i64,
    },
    /// Write as the holder.
    Work {
        /// By whom.
        who: Who,
        /// In which thread.
        thread: usize,
        /// What.
        what: Work,
    },
    /// Add a message.
    Say {
        /// By whom.
        who: Who,
        /// In which thread.
        thread: usize,
        /// Of this kind.
        kind: Kind,
    },
    /// Call a thread off.
    Cancel {
        /// By whom.
        agent: usize,
        /// Which thread.
        thread: usize,
    },
    /// List what an agent could claim.
    Fetch {
        /// For whom.
        agent: usize,
    },
    /// Look for a reply.
    Wait {
        /// For whom.
        agent: usize,
        /// In which thread.
        thread: usize,
    },
    /// Let time pass.
    Pass {
        /// In milliseconds.
        millis: i64,
    },
}

/// What a holder can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Extend the lease by so many seconds.
    Renew(i64),
    /// Report progress.
    Start,
    /// Ask and wait.
    Block,
    /// Finish.
    Done,
    /// Give up.
    Fail,
    /// Give back.
    Release,
}

/// What a step answers, without what only a store knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Refused.
    Refused(Code),
    /// The thread, its status, attempts, whom it is assigned to, and the epoch of a lease.
    Thread(usize, Status, i64, String, Option<i64>),
    /// These threads.
    Threads(Vec<usize>),
    /// The sender and kind of a message, or nothing.
    Message(Option<(String, Kind)>),
    /// Nothing to say.
    Nothing,
}

#[derive(Debug, Clone)]
struct Claimed {
    thread: usize,
    agent: usize,
    session: Option<usize>,
    epoch: i64,
}

#[derive(Debug, Clone)]
struct MThread {
    to: Vec<usize>,
    priority: Priority,
    is_work: bool,
    expires: Option<i64>,
    status: Status,
    attempts: i64,
    epoch: i64,
    /// The claim that holds it, or finished it.
    claim: Option<usize>,
    until: i64,
    /// How long the lease was when it was taken or renewed.
    length: i64,
    messages: Vec<(usize, Kind)>,
}

/// The model.
#[derive(Debug, Default)]
pub struct Model {
    threads: Vec<MThread>,
    claims: Vec<Claimed>,
    now: i64,
}

impl Model {
    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// How many claims were made.
    pub fn claims(&self) -> usize {
        self.claims.len()
    }

    /// Takes a step.
    pub fn act(&mut self, act: &Act) -> Answer {
        match act {
            Act::Send {
                from,
                to,
                priority,
                kind,
                ttl_hours,
            } => {
                let mut addresses = Vec::new();
                for name in to {
                    if !addresses.contains(name) {
                        addresses.push(*name);
                    }
                }
                self.threads.push(MThread {
                    to: addresses,
                    priority: *priority,
                    is_work: *kind == Kind::Task,
                    expires: ttl_hours.map(|hours| self.now + hours * 3_600_000),
                    status: Status::Pending,
                    attempts: 0,
                    epoch: 0,
                    claim: None,
                    until: 0,
                    length: 0,
                    messages: vec![(*from, *kind)],
                });
                self.thread(self.threads.len() - 1)
            }
            Act::Claim {
                who,
                thread,
                seconds,
            } => self.claim(*who, *thread, *seconds),
            Act::Work { who, thread, what } => self.work(*who, *thread, *what),
            Act::Say { who, thread, kind } => self.say(*who, *thread, *kind),
            Act::Cancel { agent, thread } => {
                if self.threads[*thread].status.is_final() {
                    return Answer::Refused(Code::InvalidTransition);
                }
                self.drop_lease(*thread);
                self.threads[*thread].status = Status::Cancelled;
                self.threads[*thread].messages.push((*agent, Kind::Control));
                self.thread(*thread)
            }
            Act::Fetch { agent } => Answer::Threads(self.claimable(*agent)),
            Act::Wait { agent, thread } => self.wait(*agent, *thread),
            Act::Pass { millis } => {
                self.now += millis;
                Answer::Nothing
            }
        }
    }

    /// Looks for a reply. A holder who finds none keeps its lease, in the last third of it.
    fn wait(&mut self, agent: usize, thread: usize) -> Answer {
        let messages = &self.threads[thread].messages;
        let own = messages
            .iter()
            .rposition(|(from, _)| *from == agent)
            .map_or(0, |last| last + 1);
        let wanted = [Kind::Answer, Kind::Control, Kind::Result];
        let reply = messages[own..]
            .iter()
            .find(|(from, kind)| *from != agent && wanted.contains(kind));
        let reply = reply.map(|(from, kind)| (name(*from), *kind));
        let by_name = Who {
            agent: Some(agent),
            session: None,
            claim: None,
        };
        if reply.is_none() && self.must_hold(by_name, thread).is_ok() {
            let held = &mut self.threads[thread];
            if held.until - held.length / 3 <= self.now {
                held.until = self.now + held.length;
            }
        }
        Answer::Message(reply)
    }

    fn is_live(&self, thread: usize) -> bool {
        let thread = &self.threads[thread];
        thread.status.is_held() && self.now < thread.until
    }

    fn claimable(&self, agent: usize) -> Vec<usize> {
        let mut found: BTreeMap<(Priority, usize), usize> = BTreeMap::new();
        for (index, thread) in self.threads.iter().enumerate() {
            let free = match thread.status {
                Status::Pending => {
                    thread.attempts > 0 || thread.expires.is_none_or(|time| self.now < time)
                }
                status => status.is_held() && !self.is_live(index),
            };
            if thread.is_work && thread.to.contains(&agent) && free {
                found.insert((thread.priority, index), index);
            }
        }
        found.into_values().collect()
    }

    fn claim(&mut self, who: Who, thread: Option<usize>, seconds: i64) -> Answer {
        let Some(agent) = who.agent else {
            return Answer::Refused(Code::InvalidInput);
        };
        let index = match thread {
            Some(index) => index,
            None => match self.claimable(agent).first() {
                Some(index) => *index,
                None => return Answer::Nothing,
            },
        };
        if self.threads[index].status.is_final() {
            return Answer::Refused(Code::InvalidTransition);
        }
        if self.is_live(index) {
            return Answer::Refused(Code::LeaseConflict);
        }
        let thread = &mut self.threads[index];
        thread.epoch += 1;
        thread.attempts += 1;
        thread.status = Status::Claimed;
        thread.length = seconds * 1000;
        thread.until = self.now + thread.length;
        thread.claim = Some(self.claims.len());
        let epoch = thread.epoch;
        self.claims.push(Claimed {
            thread: index,
            agent,
            session: who.session,
            epoch,
        });
        self.thread(index)
    }

    /// Whose write this is: the name, else the one whose claim the token is.
    fn writer(&self, who: Who) -> Option<usize> {
        who.agent
            .or_else(|| who.claim.map(|claim| self.claims[claim].agent))
    }

    /// Whether the caller's token is the thread's newest, and its own.
    fn token_is_current(&self, who: Who, thread: usize, claim: usize) -> bool {
        self.threads[thread].claim == Some(claim)
            && self.threads[thread].epoch == self.claims[claim].epoch
            && who
                .agent
                .is_none_or(|agent| agent == self.claims[claim].agent)
    }

    fn ever_claimed(&self, thread: usize, matches: impl Fn(&Claimed) -> bool) -> usize {
        self.claims
            .iter()
            .filter(|claim| claim.thread == thread && matches(claim))
            .count()
    }

    /// The contract's order of refusals, word by word.
    fn must_hold(&self, who: Who, index: usize) -> Result<(), Code> {
        let thread = &self.threads[index];
        if thread.status.is_final() {
            return Err(Code::InvalidTransition);
        }
        if thread.status == Status::Pending {
            return Err(if who.claim.is_some() {
                Code::LeaseLost
            } else {
                Code::InvalidTransition
            });
        }
        let holder = thread.claim.map(|claim| &self.claims[claim]);
        let live = self.is_live(index);
        let or_lost = |fine: bool| {
            if fine && live {
                Ok(())
            } else {
                Err(Code::LeaseLost)
            }
        };
        if let Some(claim) = who.claim {
            return or_lost(self.token_is_current(who, index, claim));
        }
        let by_name = who.agent.map_or(0, |agent| {
            self.ever_claimed(index, |claim| claim.agent == agent)
        });
        let is_holder = holder.is_some_and(|holder| Some(holder.agent) == who.agent);
        let mut was_here = by_name > 0;
        if let Some(session) = who.session {
            let holder_session = holder.and_then(|holder| holder.session);
            let is_the_holders = holder_session == Some(session);
            // Another agent's session says nothing about who names it.
            if is_the_holders && (is_holder || who.agent.is_none()) {
                return or_lost(true);
            }
            let claimed = |claim: &Claimed| claim.session == Some(session);
            let before = !is_the_holders && self.ever_claimed(index, claimed) > 0;
            was_here |= before;
            if before || holder_session.is_some() {
                return Err(if was_here || !live {
                    Code::LeaseLost
                } else {
                    Code::LeaseConflict
                });
            }
        }
        if is_holder {
            return or_lost(by_name == 1);
        }
        Err(if was_here || !live {
            Code::LeaseLost
        } else {
            Code::LeaseConflict
        })
    }

    fn work(&mut self, who: Who, index: usize, what: Work) -> Answer {
        let Some(writer) = self.writer(who) else {
            return Answer::Refused(Code::InvalidInput);
        };
        if let Err(code) = self.must_hold(who, index) {
            return Answer::Refused(code);
        }
        let (status, kind) = match what {
            Work::Renew(seconds) => {
                self.threads[index].length = seconds * 1000;
                self.threads[index].until = self.now + seconds * 1000;
                return self.thread(index);
            }
            Work::Release => {
                self.drop_lease(index);
                self.threads[index].status = Status::Pending;
                return self.thread(index);
            }
            Work::Start => (Status::InProgress, Kind::Progress),
            Work::Block => (Status::Blocked, Kind::Question),
            Work::Done => (Status::Done, Kind::Result),
            Work::Fail => (Status::Failed, Kind::Result),
        };
        self.threads[index].status = status;
        self.threads[index].messages.push((writer, kind));
        self.thread(index)
    }

    fn say(&mut self, who: Who, index: usize, kind: Kind) -> Answer {
        let Some(writer) = self.writer(who) else {
            return Answer::Refused(Code::InvalidInput);
        };
        if kind == Kind::Result
            && self.threads[index].is_work
            && let Err(code) = self.must_hold(who, index)
        {
            return Answer::Refused(code);
        }
        let ended = self.threads[index].status.is_held() && !self.is_live(index);
        // The holder's own token in somebody else's hands is not the speaker's proof of anything.
        let own_claim = who.claim.filter(|claim| {
            let claimed = &self.claims[*claim];
            let is_newest = self.threads[index].claim == Some(*claim);
            let is_borrowed = is_newest && who.agent.is_some_and(|agent| agent != claimed.agent);
            claimed.thread == index && !is_borrowed
        });
        let lost = match (own_claim, who.session) {
            (Some(claim), _) => ended || !self.token_is_current(who, index, claim),
            (None, Some(session)) => {
                let holder = self.threads[index].claim.map(|claim| &self.claims[claim]);
                match holder.filter(|holder| holder.session == Some(session)) {
                    Some(holder) => holder.agent == writer && ended,
                    None => self.ever_claimed(index, |claim| claim.session == Some(session)) > 0,
                }
            }
            (None, None) => false,
        };
        if lost {
            return Answer::Refused(Code::LeaseLost);
        }
        self.threads[index].messages.push((writer, kind));
        self.thread(index)
    }

    fn drop_lease(&mut self, index: usize) {
        self.threads[index].epoch += 1;
        self.threads[index].claim = None;
    }

    fn thread(&self, index: usize) -> Answer {
        let thread = &self.threads[index];
        let holder = thread.claim.map(|claim| self.claims[claim].agent);
        let assigned = name(holder.unwrap_or(thread.to[0]));
        let epoch = thread.status.is_held().then_some(thread.epoch);
        Answer::Thread(index, thread.status, thread.attempts, assigned, epoch)
    }
}

/// The name of an agent by number.
pub fn name(agent: usize) -> String {
    format!("agent-{agent}")
}
