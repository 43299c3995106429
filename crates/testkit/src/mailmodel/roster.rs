//! The model's roster: sessions and their states, what reaches whom, and names that are open.

use std::collections::BTreeSet;

use inbox_core::{Code, Mode};

use super::{AGENTS, Answer, DEAD_AFTER, Inbox, Model, OWNERS, Presence, Who, Written};

/// A session in the model.
#[derive(Debug, Clone)]
pub struct Session {
    state: State,
    changed: i64,
    seen: i64,
    roles: BTreeSet<usize>,
    tags: BTreeSet<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Alive,
    Frozen,
    Ended,
}

impl Session {
    /// The time by which its own mail ages.
    pub(super) fn clock(&self, now: i64) -> i64 {
        if self.state == State::Frozen {
            self.changed
        } else {
            now
        }
    }

    fn is_alive(&self, now: i64) -> bool {
        self.state == State::Alive && now - self.seen < DEAD_AFTER
    }

    fn is_silent(&self, now: i64) -> bool {
        self.state == State::Alive && !self.is_alive(now)
    }

    fn word(&self, now: i64) -> &'static str {
        match self.state {
            State::Alive if self.is_alive(now) => "alive",
            State::Frozen => "frozen",
            State::Alive | State::Ended => "dead",
        }
    }
}

impl Model {
    pub(super) fn presence(&mut self, index: usize, presence: &Presence) -> Result<Answer, Code> {
        let who = Who {
            agent: OWNERS[index],
            session: Some(index),
        };
        let now = self.now;
        if let Presence::Start(roles, tags) = presence {
            self.appear(who.agent);
            let is_new = self.sessions[index].is_none();
            let session = self.sessions[index].get_or_insert_with(|| Session {
                state: State::Alive,
                changed: now,
                seen: now,
                roles: BTreeSet::new(),
                tags: BTreeSet::new(),
            });
            if is_new || !(roles.is_empty() && tags.is_empty()) {
                session.roles = roles.iter().copied().collect();
                session.tags = tags.iter().copied().collect();
            }
            self.turn(index, State::Alive);
            self.bind_roles(index);
            return Ok(self.session_answer(who));
        }
        let session = self.sessions[index].as_mut().ok_or(Code::SessionNotFound)?;
        let next = match presence {
            Presence::Set(roles, tags, dropped) => {
                session.roles.retain(|role| !dropped.contains(role));
                session.tags.retain(|tag| !dropped.contains(tag));
                session.roles.extend(roles);
                session.tags.extend(tags);
                session.state
            }
            Presence::End => {
                let before = self.session_answer(who);
                self.turn(index, State::Ended);
                let Answer::Session(_, unread) = before else {
                    return Ok(before);
                };
                return Ok(Answer::Session("dead".into(), unread));
            }
            _ if session.state == State::Ended => return Err(Code::InvalidTransition),
            Presence::Freeze => State::Frozen,
            Presence::Resume => State::Alive,
            Presence::Beat | Presence::Start(..) => session.state,
        };
        self.turn(index, next);
        if matches!(presence, Presence::Set(..)) {
            self.bind_roles(index);
        }
        Ok(self.session_answer(who))
    }

    fn session_answer(&self, who: Who) -> Answer {
        let session = who.session.and_then(|index| self.sessions[index].as_ref());
        let word = session.map_or("none", |session| session.word(self.now));
        Answer::Session(word.into(), self.unread(who).len())
    }

    /// Puts a session into a state. What lay in a sleeper's inbox has not aged.
    fn turn(&mut self, index: usize, state: State) {
        let now = self.now;
        let Some(session) = &mut self.sessions[index] else {
            return;
        };
        session.seen = now;
        if session.state == state {
            return;
        }
        let (was, since) = (session.state, session.changed);
        session.state = state;
        session.changed = now;
        if was != State::Frozen {
            return;
        }
        let shift = |inbox: Inbox, until: &mut Option<i64>, came: i64| {
            if let Some(time) = until
                && inbox == Inbox::Session(index)
                && *time > since
            {
                *time += now - since.max(came);
            }
        };
        let mut opened = vec![0; self.threads.len()];
        for message in &mut self.messages {
            if message.is_opening {
                opened[message.thread] = message.created;
            }
            for (inbox, until, is_handled) in &mut message.lies {
                if !*is_handled {
                    shift(*inbox, until, message.created);
                }
            }
        }
        for (thread, came) in self.threads.iter_mut().zip(opened) {
            for (inbox, until) in &mut thread.to {
                shift(*inbox, until, came);
            }
        }
    }

    /// Who writes is there.
    pub(super) fn see(&mut self, session: Option<usize>) {
        let now = self.now;
        if let Some(session) = session.and_then(|index| self.sessions[index].as_mut())
            && now - session.seen >= 60_000
        {
            session.seen = now;
        }
    }

    /// A name that writes is an agent from then on. What waited for it lies in its inbox already.
    pub(super) fn appear(&mut self, agent: usize) {
        self.known[agent] = true;
    }

    /// What waits for a name that a role takes first is the role's.
    fn bind_roles(&mut self, index: usize) {
        let roles = self.sessions[index]
            .as_ref()
            .map(|session| session.roles.clone());
        for role in roles.unwrap_or_default() {
            let open = match role {
                1 if self.known[AGENTS - 1] => continue,
                1 => Inbox::Agent(AGENTS - 1),
                other => Inbox::Open(other),
            };
            let to = Inbox::Role(role);
            for message in &mut self.messages {
                let has = message.lies.iter().any(|lie| lie.0 == to);
                message.lies.retain(|lie| !(has && lie.0 == open));
                for lie in &mut message.lies {
                    if lie.0 == open {
                        lie.0 = to;
                    }
                }
            }
            for thread in &mut self.threads {
                let has = thread.to.iter().any(|(inbox, _)| *inbox == to);
                thread.to.retain(|(inbox, _)| !(has && *inbox == open));
                for (inbox, _) in &mut thread.to {
                    if *inbox == open {
                        *inbox = to;
                    }
                }
            }
        }
    }

    pub(super) fn resolve(&self, written: Written) -> Result<(Inbox, Mode, i64), Code> {
        let is_role = |role: usize| {
            let mut held = self.sessions.iter().flatten();
            held.any(|session| session.roles.contains(&role))
        };
        let count = |has: &dyn Fn(&Session) -> bool| {
            let living = self
                .sessions
                .iter()
                .flatten()
                .filter(|one| one.is_alive(self.now));
            i64::try_from(living.filter(|one| has(one)).count()).unwrap_or(i64::MAX)
        };
        match written {
            Written::Name(agent) if self.known[agent] => Ok((Inbox::Agent(agent), Mode::Agent, 1)),
            Written::Name(agent) if agent == AGENTS - 1 && is_role(1) => {
                self.resolve(Written::Role(1))
            }
            Written::Name(agent) => Ok((Inbox::Agent(agent), Mode::Agent, 0)),
            Written::RoleName(1) => self.resolve(Written::Name(AGENTS - 1)),
            Written::RoleName(role) if is_role(role) => self.resolve(Written::Role(role)),
            Written::RoleName(role) => Ok((Inbox::Open(role), Mode::Agent, 0)),
            Written::Session(index) => match &self.sessions[index] {
                None => Err(Code::InvalidInput),
                Some(one) if one.state == State::Frozen => {
                    Ok((Inbox::Session(index), Mode::Session, 0))
                }
                Some(one) if one.is_alive(self.now) => {
                    Ok((Inbox::Session(index), Mode::Session, 1))
                }
                Some(_) => Err(Code::RecipientDead),
            },
            Written::Role(role) => Ok((
                Inbox::Role(role),
                Mode::Role,
                count(&|one| one.roles.contains(&role)),
            )),
            Written::Tag(tag) => Ok((
                Inbox::Tag(tag),
                Mode::Tag,
                count(&|one| one.tags.contains(&tag)),
            )),
            Written::All => Ok((Inbox::All, Mode::Broadcast, count(&|_| true))),
            Written::Ledger => Ok((Inbox::Ledger, Mode::Ledger, 0)),
        }
    }

    /// What reaches a caller: by its session, else by every session of its agent that is not dead.
    pub(super) fn inboxes(&self, who: Who) -> BTreeSet<Inbox> {
        let mut found = BTreeSet::from([Inbox::Agent(who.agent)]);
        for (index, session) in self.sessions.iter().enumerate() {
            let Some(session) = session else { continue };
            let counts = match who.session {
                // Who has ended is reached by its agent's name alone.
                Some(own) => own == index && session.state != State::Ended,
                None => session.state != State::Ended && !session.is_silent(self.now),
            };
            if OWNERS[index] == who.agent && counts {
                found.extend([Inbox::Session(index), Inbox::All]);
                found.extend(session.roles.iter().map(|&role| Inbox::Role(role)));
                found.extend(session.tags.iter().map(|&tag| Inbox::Tag(tag)));
            }
        }
        found
    }
}
