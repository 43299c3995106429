//! Short words for mail in tests: who sits where, what is sent, and what is found in an inbox.

use inbox_core::{Kind, Message, MessageId, Refusal, ThreadId};
use inbox_ops::{
    Ack, Acked, Caller, OneSession, Operation, Posted, Read, Send, SessionEnd, SessionFreeze,
    SessionResume, SessionSet, SessionStart, Show,
};

use crate::world::{World, by};

/// An hour, in the clock's unit.
pub const HOUR: i64 = 3_600_000;

/// An agent in one of its sessions.
pub fn at(agent: &str, session: &str) -> Caller {
    Caller {
        session: session.parse().ok(),
        ..by(agent)
    }
}

/// A session that says nothing of its agent, as the command line introduces it.
pub fn only(world: &World, session: &str) -> Caller {
    let caller = Caller {
        session: session.parse().ok(),
        ..Caller::local(None)
    };
    world.inbox().introduce(caller).expect("it is looked up")
}

/// The same caller with a key.
pub fn keyed(caller: &Caller, key: &str) -> Caller {
    Caller {
        key: key.parse().ok(),
        ..caller.clone()
    }
}

/// A list of texts as requests have them.
pub fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|&text| text.to_owned()).collect()
}

/// A message that opens a conversation.
pub fn letter(to: &[&str], subject: &str) -> Send {
    Send {
        to: to
            .iter()
            .map(|address| address.parse().expect("a good address"))
            .collect(),
        subject: Some(subject.to_owned()),
        kind: Some(Kind::Question),
        ..Send::default()
    }
}

/// A message that opens a piece of work.
pub fn work(to: &[&str], subject: &str) -> Send {
    Send {
        kind: Some(Kind::Task),
        ..letter(to, subject)
    }
}

/// What a test does with mail.
impl World {
    /// Begins a session with these roles and tags.
    #[track_caller]
    pub fn start(&self, agent: &str, session: &str, roles: &[&str], tags: &[&str]) -> Caller {
        let caller = at(agent, session);
        let request = SessionStart {
            role: texts(roles),
            tag: texts(tags),
            client: None,
        };
        self.call_as(&caller, &request).expect("a session starts");
        caller
    }

    /// Changes a session's roles and tags.
    #[track_caller]
    pub fn set(&self, caller: &Caller, add: &[&str], drop: &[&str]) -> OneSession {
        let request = SessionSet {
            add: texts(add),
            drop: texts(drop),
            ..SessionSet::default()
        };
        self.call_as(caller, &request).expect("a session is set")
    }

    /// Puts a session aside.
    #[track_caller]
    pub fn freeze(&self, caller: &Caller) {
        self.call_as(caller, &SessionFreeze::default())
            .expect("a session is frozen");
    }

    /// Goes on with it.
    #[track_caller]
    pub fn resume(&self, caller: &Caller) {
        self.call_as(caller, &SessionResume::default())
            .expect("a session is resumed");
    }

    /// Ends it.
    #[track_caller]
    pub fn end(&self, caller: &Caller) -> OneSession {
        self.call_as(caller, &SessionEnd::default())
            .expect("a session ends")
    }

    /// Sends, and gives the whole answer.
    #[track_caller]
    pub fn post(&self, caller: &Caller, request: &Send) -> Posted {
        self.call_as(caller, request).expect("a send succeeds")
    }

    /// Opens a conversation.
    #[track_caller]
    pub fn mail(&self, from: &str, to: &[&str], subject: &str) -> Posted {
        self.post(&by(from), &letter(to, subject))
    }

    /// The summaries of what is unread, without reading it.
    #[track_caller]
    pub fn unread(&self, caller: &Caller) -> Vec<String> {
        let request = Read {
            peek: true,
            limit: Some(1000),
            ..Read::default()
        };
        let mail = self.call_as(caller, &request).expect("a peek succeeds");
        assert_eq!(
            usize::try_from(mail.unread).expect("a count"),
            mail.messages.len(),
            "what is counted is what is there"
        );
        summaries(&mail.messages)
    }

    /// The summaries of what is read, and is read by that.
    #[track_caller]
    pub fn read(&self, caller: &Caller) -> Vec<String> {
        let mail = self
            .call_as(caller, &Read::default())
            .expect("a read succeeds");
        summaries(&mail.messages)
    }

    /// Acknowledges one message.
    pub fn ack(&self, caller: &Caller, message: MessageId) -> Result<Acked, Refusal> {
        let request = Ack {
            message: vec![message],
            thread: None,
        };
        self.call_as(caller, &request)
    }

    /// Everything that a thread has.
    #[track_caller]
    pub fn shown(&self, thread: ThreadId) -> Vec<Message> {
        let caller = Caller::local(None);
        let shown = Show::of(thread).run(self.inbox(), &caller);
        shown.expect("it is there").messages
    }
}

/// The summaries of messages.
pub fn summaries(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|one| one.summary.clone()).collect()
}
