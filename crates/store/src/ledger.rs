//! What the store has to do with on the ledger: topics, what is to be said there, and what was found there.

mod audit;
mod connections;
mod proposals;
mod say;
mod share;

pub use connections::{ConnectionRole, ConnectionRow, ConnectionState, NewConnection};
pub use proposals::{ProposalRow, ProposalState};
pub use say::{Saying, Spoken};

use inbox_core::record::Millis;
use inbox_core::{AgentName, Message, MessageId, ThreadId};

use crate::error::StoreError;
use crate::row::ThreadRow;
use crate::sql;
use crate::tx::Tx;
use crate::value::{Param, Row, shown};

pub use audit::{Stuck, TopicBacklog};
pub use share::{FLOOD, TOPIC_FLOOD};

/// What a topic is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// An agent hears there; it has the agent's name.
    Inbound,
    /// What an agent did stands there; it has the agent's name.
    Outbound,
    /// What is said of an entity; it has its sort and id, as `task:T-1`.
    Entity,
    /// Pointers to work for a role; it has the role's name.
    Role,
    /// What the parties of a connection say; it has the topic's own id.
    Connection,
}

impl Place {
    /// Every place.
    pub const ALL: [Place; 5] = [
        Place::Inbound,
        Place::Outbound,
        Place::Entity,
        Place::Role,
        Place::Connection,
    ];

    const fn code(self) -> i64 {
        match self {
            Place::Inbound => 1,
            Place::Outbound => 2,
            Place::Entity => 3,
            Place::Role => 4,
            Place::Connection => 5,
        }
    }

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Place::Inbound => "inbound",
            Place::Outbound => "outbound",
            Place::Entity => "entity",
            Place::Role => "role",
            Place::Connection => "connection",
        }
    }

    fn read(code: i64) -> Result<Self, StoreError> {
        let found = Place::ALL.into_iter().find(|place| place.code() == code);
        found.ok_or_else(|| StoreError::Unreadable(format!("the place {code}")))
    }
}

/// A topic, and how far it was taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicRow {
    /// Its key.
    pub topic_no: i64,
    /// What it is for.
    pub place: Place,
    /// Whose or which.
    pub name: String,
    /// Its id on the ledger, once it is there.
    pub topic: Option<String>,
    /// The transaction that makes it.
    pub step_id: Option<String>,
    /// The last message that was taken in.
    pub sequence: i64,
    /// When that was.
    pub time: Option<String>,
    /// The topic's hash with it.
    pub hash: Option<String>,
    /// The last message that was judged, which may stand after one that is not whole yet.
    pub taken: i64,
    /// What is wrong.
    pub problem: Option<String>,
}

/// A place on a topic up to which everything was taken in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The last message.
    pub sequence: i64,
    /// When it was.
    pub time: Option<String>,
    /// The topic's hash with it.
    pub hash: Option<String>,
}

/// Where a message goes on the ledger beside the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Which of the message's addresses it is for.
    pub address: usize,
    /// What its topic is for.
    pub place: Place,
    /// Whose or which.
    pub name: String,
    /// The topic's id, where there is one already.
    pub topic: Option<String>,
    /// Whether it is delivered only when the topic has it.
    pub is_held: bool,
}

/// Something that is to be said on a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Its key.
    pub outbox_no: i64,
    /// What its topic is for.
    pub place: Place,
    /// The message; where there is `content`, the entry that it hangs on, which may be none.
    pub message: MessageId,
    /// Who says it.
    pub agent: AgentName,
    /// The transaction that says it, or makes its file: written down before it is sent.
    pub step_id: Option<String>,
    /// The file that it is in, where it is too large for a message; or how far that has come.
    pub file: Option<String>,
    /// What is said, where that is not the message's own Wire as it is now.
    pub content: Option<String>,
    /// Its number on the topic, once it is there.
    pub sequence: Option<i64>,
    /// How often it was tried.
    pub tries: i64,
    /// When to try next.
    pub next_at: Millis,
}

/// What became of a message that was found on a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordState {
    /// It is a message of this store, which was sent from here.
    Confirmed,
    /// It came from elsewhere and is a message of this store now.
    Taken,
    /// It has the UUID of a message that was there before.
    Repeated,
    /// It is not from whom it says.
    Unverified,
    /// It cannot be read.
    Unreadable,
    /// It is good, and nothing of this store's.
    Passed,
}

impl RecordState {
    /// Every state.
    pub const ALL: [RecordState; 6] = [
        RecordState::Confirmed,
        RecordState::Taken,
        RecordState::Repeated,
        RecordState::Unverified,
        RecordState::Unreadable,
        RecordState::Passed,
    ];

    const fn code(self) -> i64 {
        match self {
            RecordState::Confirmed => 1,
            RecordState::Taken => 2,
            RecordState::Repeated => 3,
            RecordState::Unverified => 4,
            RecordState::Unreadable => 5,
            RecordState::Passed => 6,
        }
    }

    /// Whether a message of which this became counts for nothing here.
    pub const fn is_nothing(self) -> bool {
        match self {
            RecordState::Confirmed | RecordState::Taken => false,
            RecordState::Repeated
            | RecordState::Unverified
            | RecordState::Unreadable
            | RecordState::Passed => true,
        }
    }

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            RecordState::Confirmed => "confirmed",
            RecordState::Taken => "taken",
            RecordState::Repeated => "repeated",
            RecordState::Unverified => "unverified",
            RecordState::Unreadable => "unreadable",
            RecordState::Passed => "passed",
        }
    }

    fn read(code: i64) -> Result<Self, StoreError> {
        let found = RecordState::ALL
            .into_iter()
            .find(|state| state.code() == code);
        found.ok_or_else(|| StoreError::Unreadable(format!("the state {code}")))
    }
}

/// A message that was found on a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its number.
    pub sequence: i64,
    /// When.
    pub time: String,
    /// Who paid for it.
    pub payer: String,
    /// The topic's hash with it.
    pub hash: String,
    /// What became of it.
    pub state: RecordState,
    /// The UUID of the message that it is in the store.
    pub uid: Option<String>,
    /// Why it is no more than this.
    pub reason: Option<String>,
    /// What it says, in base64.
    pub content: String,
}

impl Record {
    /// Its row in the table, with the reason as it is shown.
    fn row<'a>(&'a self, topic_no: i64, reason: Option<&'a str>) -> [Param<'a>; 9] {
        [
            topic_no.into(),
            self.sequence.into(),
            self.time.as_str().into(),
            self.payer.as_str().into(),
            self.hash.as_str().into(),
            self.state.code().into(),
            self.uid.as_deref().into(),
            reason.into(),
            self.content.as_str().into(),
        ]
    }
}

/// What waits to be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// How much.
    pub count: i64,
    /// Since when the oldest waits.
    pub since: Option<Millis>,
    /// How much of it met a problem.
    pub problems: i64,
}

impl Tx<'_> {
    /// The topic of a place.
    pub fn topic(&mut self, place: Place, name: &str) -> Result<Option<TopicRow>, StoreError> {
        let params = [place.code().into(), name.into()];
        let row = self.first(&sql::FIND_TOPIC, &params)?;
        row.map(|mut row| read_topic(&mut row)).transpose()
    }

    /// The topic of a place, made known if it was not; with its id where that is known.
    pub fn ensure_topic(
        &mut self,
        place: Place,
        name: &str,
        agent: Option<&AgentName>,
        topic: Option<&str>,
    ) -> Result<i64, StoreError> {
        if let Some(known) = self.topic(place, name)?
            && (topic.is_none() || known.topic.as_deref() == topic)
        {
            return Ok(known.topic_no);
        }
        // A topic is one place; who comes later with another word for it goes there too.
        if let Some(topic) = topic
            && let Some(known) = self.topic_of_id(topic)?
        {
            return Ok(known.topic_no);
        }
        let agent_no = agent.map(|name| self.ensure_agent(name)).transpose()?;
        let now = self.now().0;
        let params = [
            place.code().into(),
            name.into(),
            agent_no.into(),
            topic.into(),
            now.into(),
        ];
        let made = self.one_int(&sql::INSERT_TOPIC, &params)?;
        // Whoever follows topics has one more.
        self.ring_for_ledger();
        made.ok_or_else(|| StoreError::Unreadable("the key of a topic".into()))
    }

    /// Every topic; for a bridge, those that no other has.
    pub fn topics(&mut self, bridge: Option<&str>) -> Result<Vec<TopicRow>, StoreError> {
        let now = self.now().0;
        let mut rows = self.rows(&sql::LIST_TOPICS, &[bridge.into(), now.into()])?;
        rows.iter_mut().map(read_topic).collect()
    }

    /// Goes on in a topic to there, with everything judged up to this message. Whether it was still where it was.
    pub fn advance_topic(
        &mut self,
        topic: &TopicRow,
        to: &Cursor,
        taken: i64,
    ) -> Result<bool, StoreError> {
        let params = [
            to.sequence.into(),
            to.time.as_deref().into(),
            to.hash.as_deref().into(),
            taken.into(),
            topic.topic_no.into(),
            topic.sequence.into(),
            topic.taken.into(),
        ];
        Ok(self.one_int(&sql::ADVANCE_TOPIC, &params)?.is_some())
    }

    /// Says what is wrong with a topic.
    pub fn set_topic_problem(&mut self, topic_no: i64, problem: &str) -> Result<(), StoreError> {
        let problem = shown(problem);
        self.put(
            &sql::SET_TOPIC_PROBLEM,
            &[problem.as_ref().into(), topic_no.into()],
        )
    }

    /// Says that nothing is wrong with a topic any more.
    pub fn clear_topic_problem(&mut self, topic_no: i64) -> Result<(), StoreError> {
        let none: Option<&str> = None;
        self.put(&sql::SET_TOPIC_PROBLEM, &[none.into(), topic_no.into()])
    }

    /// Has a message said on a topic, and delivered only then if it is held.
    pub(crate) fn send_out(
        &mut self,
        passage: &Passage,
        entry_no: i64,
        agent_no: i64,
        inbox: (i64, Option<Millis>),
    ) -> Result<(), StoreError> {
        let topic = passage.topic.as_deref();
        let topic_no = self.ensure_topic(passage.place, &passage.name, None, topic)?;
        let now = self.now().0;
        let held = passage.is_held.then_some(inbox.0);
        let params = [
            topic_no.into(),
            entry_no.into(),
            agent_no.into(),
            held.into(),
            inbox.1.map(|time| time.0).into(),
            now.into(),
        ];
        self.put(&sql::INSERT_OUTBOX, &params)?;
        self.ring_for_ledger();
        Ok(())
    }

    /// What is to be said on a topic, the oldest first; so many of each sender.
    pub fn outgoing(&mut self, topic_no: i64, limit: i64) -> Result<Vec<Outgoing>, StoreError> {
        let mut rows = self.rows(&sql::OUTBOX_OF_TOPIC, &[topic_no.into(), limit.into()])?;
        rows.iter_mut()
            .map(|row| {
                Ok(Outgoing {
                    outbox_no: row.int()?,
                    place: Place::read(row.int()?)?,
                    message: MessageId::new(row.int()?),
                    agent: row.parsed::<AgentName>()?,
                    step_id: row.maybe_text()?,
                    file: row.maybe_text()?,
                    content: row.maybe_text()?,
                    sequence: row.maybe_int()?,
                    tries: row.int()?,
                    next_at: Millis(row.int()?),
                })
            })
            .collect()
    }

    /// Writes down how far something that is to be said has come.
    pub fn set_outgoing(
        &mut self,
        outgoing: &Outgoing,
        problem: Option<&str>,
    ) -> Result<(), StoreError> {
        let problem = problem.map(shown);
        let params = [
            outgoing.step_id.as_deref().into(),
            outgoing.file.as_deref().into(),
            outgoing.sequence.into(),
            outgoing.tries.into(),
            outgoing.next_at.0.into(),
            problem.as_deref().into(),
            outgoing.outbox_no.into(),
            outgoing.message.key().into(),
        ];
        self.put(&sql::SET_OUTBOX, &params)
    }

    /// What waits to be said.
    pub fn backlog(&mut self) -> Result<Backlog, StoreError> {
        let row = self.first(&sql::COUNT_OUTBOX, &[])?;
        let Some(mut row) = row else {
            return Err(StoreError::Unreadable("the backlog".into()));
        };
        Ok(Backlog {
            count: row.int()?,
            since: row.maybe_int()?.map(Millis),
            problems: row.int()?,
        })
    }

    /// The message that opened a thread.
    pub fn opening(&mut self, thread: ThreadId) -> Result<Option<MessageId>, StoreError> {
        let found = self.one_int(&sql::OPENING_ENTRY, &[thread.key().into()])?;
        Ok(found.map(MessageId::new))
    }

    /// Takes out of the outbox what the topic has, and delivers it where it waited to be. Whether it was there.
    pub fn said(
        &mut self,
        topic_no: i64,
        row: &ThreadRow,
        message: &Message,
    ) -> Result<bool, StoreError> {
        let params = [message.message_id.key().into(), topic_no.into()];
        let Some(mut found) = self.first(&sql::OUTBOX_OF_ENTRY, &params)? else {
            return Ok(false);
        };
        let (outbox_no, entry_no) = (found.int()?, found.int()?);
        let (address_no, expires_at) = (found.maybe_int()?, found.maybe_int()?);
        self.put(&sql::DELETE_OUTBOX, &[outbox_no.into()])?;
        if let Some(address_no) = address_no {
            let params = [address_no.into(), entry_no.into(), expires_at.into()];
            self.put(&sql::INSERT_DELIVERY, &params)?;
            // It stands before what may have been read meanwhile.
            self.put(&sql::DROP_BOOKMARKS, &[address_no.into()])?;
            if self.opening(row.thread.thread_id)? == Some(message.message_id) {
                self.receive(row, address_no, expires_at.map(Millis), false)?;
            }
            self.ring_at(&message.to)?;
        }
        Ok(true)
    }

    /// Keeps what was found on a topic.
    pub fn keep_record(&mut self, topic_no: i64, record: &Record) -> Result<(), StoreError> {
        let reason = record.reason.as_deref().map(shown);
        self.put(
            &sql::INSERT_RECORD,
            &record.row(topic_no, reason.as_deref()),
        )
    }

    /// Keeps what stands before others that were judged already. Whether it is new.
    pub fn keep_late_record(&mut self, topic_no: i64, record: &Record) -> Result<bool, StoreError> {
        let reason = record.reason.as_deref().map(shown);
        let params = record.row(topic_no, reason.as_deref());
        Ok(self.one_int(&sql::INSERT_LATE_RECORD, &params)?.is_some())
    }

    /// What was found on a topic after a message.
    pub fn records(
        &mut self,
        topic_no: i64,
        after: i64,
        limit: i64,
    ) -> Result<Vec<Record>, StoreError> {
        let params = [topic_no.into(), after.into(), limit.into()];
        let mut rows = self.rows(&sql::RECORDS_OF_TOPIC, &params)?;
        rows.iter_mut().map(read_record).collect()
    }

    /// How many records there are of each state.
    pub fn count_records(&mut self) -> Result<Vec<(RecordState, i64)>, StoreError> {
        let mut rows = self.rows(&sql::COUNT_RECORDS, &[])?;
        rows.iter_mut()
            .map(|row| Ok((RecordState::read(row.int()?)?, row.int()?)))
            .collect()
    }
}

fn read_topic(row: &mut Row) -> Result<TopicRow, StoreError> {
    Ok(TopicRow {
        topic_no: row.int()?,
        place: Place::read(row.int()?)?,
        name: row.text()?,
        topic: row.maybe_text()?,
        step_id: row.maybe_text()?,
        sequence: row.int()?,
        time: row.maybe_text()?,
        hash: row.maybe_text()?,
        problem: row.maybe_text()?,
        taken: row.int()?,
    })
}

fn read_record(row: &mut Row) -> Result<Record, StoreError> {
    Ok(Record {
        sequence: row.int()?,
        time: row.text()?,
        payer: row.text()?,
        hash: row.text()?,
        state: RecordState::read(row.int()?)?,
        uid: row.maybe_text()?,
        reason: row.maybe_text()?,
        content: row.text()?,
    })
}
