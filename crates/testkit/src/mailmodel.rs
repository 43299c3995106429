//! A plain model of mail: who is reached by what, until when, what they have read and what is handled.
//! It is written without SQL and keeps no bookmark: it looks at every message each time.

mod claims;
mod play;
mod random;
mod roster;

use std::collections::BTreeSet;

use inbox_core::{Code, Mode, Status};

pub use play::Player;
pub use random::{Seed, history};
pub use roster::Session;

const HOUR: i64 = 3_600_000;

/// How many agents there are; the last one's name is a role's too.
pub const AGENTS: usize = 4;

/// The agent that runs each session.
pub const OWNERS: [usize; 5] = [0, 0, 1, 2, 3];

/// A session that was not seen for so long is dead.
pub const DEAD_AFTER: i64 = 10 * HOUR;

/// An address as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// An agent's bare name.
    Name(usize),
    /// A role's bare name; that of role 1 is the last agent's.
    RoleName(usize),
    /// A session's id.
    Session(usize),
    /// A role with its prefix.
    Role(usize),
    /// A tag.
    Tag(usize),
    /// Everybody.
    All,
    /// An outside agent.
    Ledger,
}

/// Where a message lies. A name that nobody has is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inbox {
    /// An agent's.
    Agent(usize),
    /// That of a role's bare name, while nobody has it.
    Open(usize),
    /// A session's.
    Session(usize),
    /// A role's.
    Role(usize),
    /// A tag's.
    Tag(usize),
    /// Everybody's.
    All,
    /// An outside agent's.
    Ledger,
}

/// Who calls: an agent, and its session when it names one that is on the roster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Who {
    /// The agent.
    pub agent: usize,
    /// The session.
    pub session: Option<usize>,
}

/// One step of a history.
#[derive(Debug, Clone)]
pub enum Act {
    /// Do something with a session.
    Session(usize, Presence),
    /// Open a thread, or add to one.
    Send {
        /// By whom.
        who: Who,
        /// For whom.
        to: Vec<Written>,
        /// Whether it opens work.
        is_work: bool,
        /// Its time, in hours.
        ttl: Option<i64>,
        /// The thread that it is added to.
        thread: Option<usize>,
    },
    /// Look at everything, or read a page.
    Read(Who, Option<usize>),
    /// Acknowledge a message.
    Ack(Who, usize),
    /// Take a thread, or the next one.
    Claim(Who, Option<usize>, i64),
    /// Give a thread back by its newest token.
    Release(usize),
    /// Let time pass.
    Pass(i64),
}

/// What is done with a session.
#[derive(Debug, Clone)]
pub enum Presence {
    /// Begin it with these roles and tags.
    Start(Vec<usize>, Vec<usize>),
    /// Take on roles and tags, and give up others.
    Set(Vec<usize>, Vec<usize>, Vec<usize>),
    /// Say that it is there.
    Beat,
    /// Put it aside.
    Freeze,
    /// Go on with it.
    Resume,
    /// End it.
    End,
}

/// What a step answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Refused.
    Refused(Code),
    /// How each address was read, and how many it reaches.
    Sent(Vec<(Mode, i64)>),
    /// Messages, and how many are unread then.
    Mail(Vec<usize>, usize),
    /// A session's state and how much it has not read.
    Session(String, usize),
    /// Whether it was acknowledged before, and the thread's status.
    Acked(bool, Status),
    /// A thread and its status.
    Thread(Option<usize>, Status),
    /// Nothing to say.
    Nothing,
}

#[derive(Debug, Clone)]
struct Thread {
    is_work: bool,
    status: Status,
    holder: Option<usize>,
    until: i64,
    attempts: usize,
    to: Vec<(Inbox, Option<i64>)>,
}

#[derive(Debug, Clone)]
struct Message {
    thread: usize,
    is_opening: bool,
    from: Who,
    created: i64,
    /// Where it lies, until when, and whether it is handled there.
    lies: Vec<(Inbox, Option<i64>, bool)>,
    /// By whom it was read; without a session, for all of them.
    read: BTreeSet<(usize, Option<usize>)>,
    acked: Vec<(Inbox, usize)>,
}

/// The model.
#[derive(Debug, Clone, Default)]
pub struct Model {
    now: i64,
    known: [bool; AGENTS],
    sessions: [Option<Session>; OWNERS.len()],
    threads: Vec<Thread>,
    messages: Vec<Message>,
}

impl Model {
    /// How many threads and messages there are.
    pub fn sizes(&self) -> (usize, usize) {
        (self.threads.len(), self.messages.len())
    }

    /// The caller as it can be: a session that is not on the roster is not named.
    pub fn who(&self, agent: usize, session: Option<usize>) -> Who {
        let session =
            session.filter(|&index| OWNERS[index] == agent && self.sessions[index].is_some());
        Who { agent, session }
    }

    /// Takes a step. What is refused leaves no trace.
    pub fn act(&mut self, act: &Act) -> Answer {
        let mut next = self.clone();
        match next.step(act) {
            Ok(answer) => {
                *self = next;
                answer
            }
            Err(code) => Answer::Refused(code),
        }
    }

    fn step(&mut self, act: &Act) -> Result<Answer, Code> {
        match act {
            Act::Session(index, presence) => self.presence(*index, presence),
            Act::Send {
                who,
                to,
                is_work,
                ttl,
                thread,
            } => {
                self.see(who.session);
                self.send(*who, to, *is_work, *ttl, *thread)
            }
            Act::Read(who, None) => {
                let found = self.unread(*who);
                let count = found.len();
                Ok(Answer::Mail(found, count))
            }
            Act::Read(who, Some(limit)) => {
                self.see(who.session);
                let mut page = self.unread(*who);
                page.truncate(*limit);
                for &message in &page {
                    self.messages[message].read.insert((who.agent, who.session));
                }
                if !page.is_empty() {
                    self.appear(who.agent);
                }
                Ok(Answer::Mail(page, self.unread(*who).len()))
            }
            Act::Ack(who, message) => {
                self.see(who.session);
                self.ack(*who, *message)
            }
            Act::Claim(who, thread, seconds) => {
                self.see(who.session);
                self.claim(*who, *thread, *seconds)
            }
            Act::Release(thread) => self.release(*thread),
            Act::Pass(millis) => {
                self.now += millis;
                Ok(Answer::Nothing)
            }
        }
    }

    fn send(
        &mut self,
        who: Who,
        to: &[Written],
        is_work: bool,
        ttl: Option<i64>,
        thread: Option<usize>,
    ) -> Result<Answer, Code> {
        let mut answer = Vec::new();
        let mut lies: Vec<(Inbox, Option<i64>, bool)> = Vec::new();
        for &written in to {
            let (inbox, mode, reaches) = self.resolve(written)?;
            if lies.iter().any(|(other, _, _)| *other == inbox) {
                continue;
            }
            let hours = ttl.or(match inbox {
                Inbox::Session(_) => Some(24),
                Inbox::Tag(_) => Some(7 * 24),
                Inbox::All => Some(4),
                _ => None,
            });
            lies.push((inbox, hours.map(|hours| self.now + hours * HOUR), false));
            answer.push((mode, reaches));
        }
        let is_opening = thread.is_none();
        let thread = thread.unwrap_or_else(|| {
            self.threads.push(Thread {
                is_work,
                status: Status::Pending,
                holder: None,
                until: 0,
                attempts: 0,
                to: lies
                    .iter()
                    .map(|(inbox, until, _)| (*inbox, *until))
                    .collect(),
            });
            self.threads.len() - 1
        });
        self.messages.push(Message {
            thread,
            is_opening,
            from: who,
            created: self.now,
            lies,
            read: BTreeSet::new(),
            acked: Vec::new(),
        });
        self.appear(who.agent);
        Ok(Answer::Sent(answer))
    }

    /// What is unread, in the order in which it was sent.
    fn unread(&self, who: Who) -> Vec<usize> {
        let inboxes = self.inboxes(who);
        let is_unread = |message: &Message| {
            message
                .lies
                .iter()
                .any(|lie| inboxes.contains(&lie.0) && self.is_unread(who, message, *lie))
        };
        (0..self.messages.len())
            .filter(|&index| is_unread(&self.messages[index]))
            .collect()
    }

    fn is_unread(&self, who: Who, message: &Message, lie: (Inbox, Option<i64>, bool)) -> bool {
        let (inbox, until, is_handled) = lie;
        let by_session = matches!(inbox, Inbox::Tag(_) | Inbox::All);
        let now = match inbox {
            Inbox::Session(index) => self.sessions[index]
                .as_ref()
                .map_or(self.now, |one| one.clock(self.now)),
            _ => self.now,
        };
        let own_session = match inbox {
            Inbox::Tag(_) | Inbox::All => who.session,
            Inbox::Session(index) => who.session.or(Some(index)),
            _ => None,
        };
        let is_own = message.from.agent == who.agent
            && (own_session.is_none()
                || message.from.session.is_none()
                || message.from.session == own_session);
        let is_read = message.read.iter().any(|(agent, session)| {
            *agent == who.agent
                && (!by_session
                    || who.session.is_none()
                    || session.is_none()
                    || *session == who.session)
        });
        let thread = &self.threads[message.thread];
        let is_in_hand = matches!(inbox, Inbox::Role(_))
            && message.is_opening
            && thread.is_work
            && thread.holder.is_some_and(|holder| holder != who.agent);
        !is_handled && until.is_none_or(|until| now < until) && !is_own && !is_read && !is_in_hand
    }

    fn ack(&mut self, who: Who, index: usize) -> Result<Answer, Code> {
        let inboxes = self.inboxes(who);
        self.appear(who.agent);
        let message = &mut self.messages[index];
        let own: Vec<Inbox> = message
            .lies
            .iter()
            .map(|lie| lie.0)
            .filter(|inbox| inboxes.contains(inbox))
            .collect();
        if own.is_empty() {
            return Err(Code::NotAllowed);
        }
        let (mut is_new, mut is_theirs) = (false, false);
        for inbox in own {
            let by_each = matches!(inbox, Inbox::Tag(_) | Inbox::All);
            let earlier = message
                .acked
                .iter()
                .find(|(at, by)| *at == inbox && (!by_each || *by == who.agent))
                .map(|(_, by)| *by);
            match earlier {
                Some(by) if by != who.agent => {}
                Some(_) => is_theirs = true,
                None => {
                    is_theirs = true;
                    is_new = true;
                    message.acked.push((inbox, who.agent));
                    for lie in &mut message.lies {
                        lie.2 |= lie.0 == inbox && !by_each;
                    }
                }
            }
        }
        if !is_theirs {
            return Err(Code::AlreadyExists);
        }
        message.read.insert((who.agent, who.session));
        let thread = &mut self.threads[message.thread];
        if is_new && !thread.is_work && thread.status == Status::Pending {
            thread.status = Status::Done;
        }
        Ok(Answer::Acked(!is_new, thread.status))
    }
}
