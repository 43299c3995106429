//! Plays a history of mail on a store and gives answers in the model's words.

use inbox_core::{Kind, LeaseToken, Message, MessageId, Refusal, Thread, ThreadId};
use inbox_ops::{
    Ack, Caller, Cancel, Claim, Config, Inbox, OneSession, Operation, Read, Release, Send,
    SessionBeat, SessionEnd, SessionFreeze, SessionResume, SessionSet, SessionStart,
};

use super::{AGENTS, Act, Answer, DEAD_AFTER, OWNERS, Presence, Who, Written};
use crate::world::World;

/// One history on one store. Names have a prefix of their own, so that many histories share a store.
pub struct Player<'a> {
    inbox: &'a Inbox,
    prefix: String,
    threads: Vec<ThreadId>,
    messages: Vec<MessageId>,
    tokens: Vec<Option<LeaseToken>>,
}

impl<'a> Player<'a> {
    /// The operations on a store, without the loop guard, which would end most histories.
    pub fn open(world: &World) -> Inbox {
        let mut config = Config::default();
        config.guard.max_hops = 0;
        config.guard.max_turns = 0;
        config.guard.max_repeats = 0;
        config.presence.dead_after_minutes = DEAD_AFTER / 60_000;
        world.another().with_config(config)
    }

    /// A new history.
    pub fn new(inbox: &'a Inbox, number: usize) -> Self {
        Player {
            inbox,
            prefix: format!("h{number}-"),
            threads: Vec::new(),
            messages: Vec::new(),
            tokens: Vec::new(),
        }
    }

    fn agent(&self, agent: usize) -> String {
        format!("{}agent-{agent}", self.prefix)
    }

    fn role(&self, role: usize) -> String {
        match role {
            1 => self.agent(AGENTS - 1),
            other => format!("{}role-{other}", self.prefix),
        }
    }

    /// An id that is no name, so that it is never taken for an agent's.
    fn session(&self, session: usize) -> String {
        format!("{}@{session}", self.prefix)
    }

    fn tag(&self, tag: usize) -> String {
        format!("project:{}{tag}", self.prefix)
    }

    fn address(&self, written: Written) -> String {
        match written {
            Written::Name(agent) => self.agent(agent),
            Written::RoleName(role) => self.role(role),
            Written::Session(session) => self.session(session),
            Written::Role(role) => format!("role:{}", self.role(role)),
            Written::Tag(tag) => self.tag(tag),
            Written::All => "all".into(),
            Written::Ledger => "0.0.7".into(),
        }
    }

    fn caller(&self, who: Who) -> Caller {
        Caller {
            session: who
                .session
                .and_then(|session| self.session(session).parse().ok()),
            ..Caller::local(self.agent(who.agent).parse().ok())
        }
    }

    fn thread(&self, thread: &Thread) -> usize {
        let found = self.threads.iter().position(|id| *id == thread.thread_id);
        found.unwrap_or(usize::MAX)
    }

    /// Calls off what is open, so that no later history is given work that was for all.
    pub fn finish(&self) {
        let caller = Caller::local(self.agent(0).parse().ok());
        for &thread in &self.threads {
            let cancel = Cancel {
                thread,
                reason: None,
            };
            // What is over is over.
            let _ = cancel.run(self.inbox, &caller);
        }
    }

    /// Takes a step.
    pub fn act(&mut self, act: &Act) -> Answer {
        let outcome = match act {
            Act::Session(index, presence) => self.presence(*index, presence),
            Act::Send {
                who,
                to,
                is_work,
                ttl,
                thread,
            } => self.send(*who, to, *is_work, *ttl, *thread),
            Act::Read(who, limit) => self.read(*who, *limit),
            Act::Ack(who, message) => {
                let request = Ack {
                    message: vec![self.messages[*message]],
                    thread: None,
                };
                let acked = request.run(self.inbox, &self.caller(*who));
                acked.map(|acked| Answer::Acked(acked.acked[0].already, acked.threads[0].status))
            }
            Act::Claim(who, thread, seconds) => self.claim(*who, *thread, *seconds),
            Act::Release(thread) => self.release(*thread),
            Act::Pass(_) => Ok(Answer::Nothing),
        };
        outcome.unwrap_or_else(|refusal| Answer::Refused(refusal.code))
    }

    fn send(
        &mut self,
        who: Who,
        to: &[Written],
        is_work: bool,
        ttl: Option<i64>,
        thread: Option<usize>,
    ) -> Result<Answer, Refusal> {
        let addresses: Result<_, Refusal> =
            to.iter().map(|&one| self.address(one).parse()).collect();
        let kind = if is_work { Kind::Task } else { Kind::Question };
        let request = Send {
            to: addresses?,
            subject: thread.is_none().then(|| "a subject".into()),
            summary: Some("a summary".into()),
            thread: thread.map(|index| self.threads[index]),
            kind: Some(if thread.is_some() { Kind::Event } else { kind }),
            ttl_hours: ttl,
            ..Send::default()
        };
        let sent = request.run(self.inbox, &self.caller(who))?;
        if thread.is_none() {
            self.threads.push(sent.thread.thread_id);
            self.tokens.push(None);
        }
        self.messages.push(sent.message.message_id);
        let told = sent.delivery.iter().map(|one| (one.mode, one.reaches));
        Ok(Answer::Sent(told.collect()))
    }

    fn read(&self, who: Who, limit: Option<usize>) -> Result<Answer, Refusal> {
        let request = Read {
            peek: limit.is_none(),
            limit: Some(limit.map_or(1_000, |limit| i64::try_from(limit).unwrap_or(1))),
            ..Read::default()
        };
        let mail = request.run(self.inbox, &self.caller(who))?;
        let index = |message: &Message| {
            let found = self
                .messages
                .iter()
                .position(|id| *id == message.message_id);
            found.unwrap_or(usize::MAX)
        };
        let unread = usize::try_from(mail.unread).unwrap_or(usize::MAX);
        Ok(Answer::Mail(
            mail.messages.iter().map(index).collect(),
            unread,
        ))
    }

    fn claim(&mut self, who: Who, thread: Option<usize>, seconds: i64) -> Result<Answer, Refusal> {
        let request = Claim {
            thread: thread.map(|index| self.threads[index]),
            lease_seconds: Some(seconds),
            ..Claim::default()
        };
        let leased = request.run(self.inbox, &self.caller(who))?;
        let Some(thread) = leased.thread else {
            return Ok(Answer::Thread(None, inbox_core::Status::Pending));
        };
        let index = self.thread(&thread);
        if index == usize::MAX {
            return Ok(Answer::Thread(Some(index), thread.status));
        }
        self.tokens[index] = leased.lease.and_then(|lease| lease.lease_token);
        Ok(Answer::Thread(Some(index), thread.status))
    }

    fn release(&self, thread: usize) -> Result<Answer, Refusal> {
        let Some(token) = self.tokens[thread] else {
            return Ok(Answer::Nothing);
        };
        let caller = Caller {
            lease: Some(token),
            ..Caller::local(None)
        };
        let request = Release {
            thread: self.threads[thread],
        };
        let released = request.run(self.inbox, &caller)?;
        Ok(Answer::Thread(Some(thread), released.thread.status))
    }

    fn presence(&self, index: usize, presence: &Presence) -> Result<Answer, Refusal> {
        let caller = self.caller(Who {
            agent: OWNERS[index],
            session: Some(index),
        });
        let roles = |list: &[usize]| list.iter().map(|&role| self.role(role)).collect::<Vec<_>>();
        let tags = |list: &[usize]| list.iter().map(|&tag| self.tag(tag)).collect::<Vec<_>>();
        let inbox = self.inbox;
        let answer: OneSession = match presence {
            Presence::Start(held, had) => SessionStart {
                role: roles(held),
                tag: tags(had),
                client: None,
            }
            .run(inbox, &caller),
            Presence::Set(held, had, dropped) => SessionSet {
                add: [roles(held), tags(had)].concat(),
                drop: [roles(dropped), tags(dropped)].concat(),
                ..SessionSet::default()
            }
            .run(inbox, &caller),
            Presence::Beat => SessionBeat::default().run(inbox, &caller),
            Presence::Freeze => SessionFreeze::default().run(inbox, &caller),
            Presence::Resume => SessionResume::default().run(inbox, &caller),
            Presence::End => SessionEnd::default().run(inbox, &caller),
        }?;
        let unread = usize::try_from(answer.unread).unwrap_or(usize::MAX);
        Ok(Answer::Session(answer.session.state.name().into(), unread))
    }
}
