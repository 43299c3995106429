//! `import`: mail from elsewhere.

mod part;

use std::collections::BTreeMap;

use inbox_core::lifecycle::{Decision, LeaseChange};
use inbox_core::text::first_line;
use inbox_core::{
    Address, AgentName, Auth, EventId, EventType, Kind, MessageId, Priority, Refusal, Scope,
    SessionId, Status, Step as Rung, ThreadId, limit,
};
use inbox_store::{Abort, NewArtifact, NewMessage, NewThread, Recorded, Step, Tx};
use part::Part;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::as_roster;
use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::content::json_size;
use crate::deliver::set_expiry;
use crate::exchange::mailbox::Original;
use crate::exchange::{Bad, Batch, Incoming, Seen};
use crate::page::Page;
use crate::step::thread;

/// Take in mail from a mailbox file or another program's inbox
///
/// Importing the same twice adds nothing. What cannot be taken is reported with its place, and the rest goes on. Others can write
/// meanwhile; with --key all of it is one change.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// What to take in
    pub batch: Batch,
}

/// What was taken in.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    /// How many messages are new.
    pub added: i64,
    /// How many were there already.
    pub known: i64,
    /// How many threads were opened for them.
    pub threads: i64,
    /// What could not be taken, and why.
    pub bad: Vec<Bad>,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Imported {
    fn add(&mut self, more: Imported) {
        self.added += more.added;
        self.known += more.known;
        self.threads += more.threads;
        self.bad.extend(more.bad);
        self.next_event_id = more.next_event_id;
    }
}

impl Operation for Import {
    const NAME: &'static str = "import";
    const SCOPE: Option<Scope> = Some(Scope::Admin);
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Optional;
    const FOR_RESERVED: bool = true;
    const IS_LONG: bool = true;
    type Answer = Imported;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Imported, Refusal> {
        let caller = as_roster(caller);
        let mut threads = BTreeMap::new();
        let mut all = Imported::default();
        for part in Part::all(&self.batch, caller.key.is_some()) {
            let mut opened = BTreeMap::new();
            let answer = inbox.write(self, &caller, |tx, _| {
                let mut import = Importing {
                    tx,
                    inbox,
                    threads: &threads,
                    opened: BTreeMap::new(),
                    answer: Imported::default(),
                };
                import.take_part(&part)?;
                opened = import.opened;
                Ok(import.answer)
            })?;
            threads.extend(opened);
            all.add(answer);
        }
        Ok(all)
    }
}

struct Importing<'a, 'b> {
    tx: &'a mut Tx<'b>,
    inbox: &'a Inbox,
    /// The threads that are known from the parts before.
    threads: &'a BTreeMap<String, ThreadId>,
    /// Those of this part.
    opened: BTreeMap<String, ThreadId>,
    answer: Imported,
}

impl Importing<'_, '_> {
    fn take_part(&mut self, part: &Part<'_>) -> Result<(), Abort> {
        self.answer.bad.extend_from_slice(part.bad);
        for incoming in part.messages {
            match self.take(incoming.clone()) {
                Ok(()) => {}
                Err(Abort::Refused(refusal)) => self.answer.bad.push(Bad {
                    place: incoming.place.clone(),
                    problem: refusal.message,
                }),
                Err(abort) => return Err(abort),
            }
        }
        for read in part.reads {
            let seen = Seen {
                reader: read.reader.clone(),
                at: read.at,
            };
            if let Some(id) = self.tx.message_by_uid(&read.message_uid)? {
                self.see(id, &[], std::slice::from_ref(&seen), &[])?;
            }
        }
        Ok(())
    }

    fn take(&mut self, mut incoming: Incoming) -> Result<(), Abort> {
        let original = Original::take(&mut incoming);
        if let Some(id) = self.tx.message_by_uid(&incoming.uid)? {
            self.answer.known += 1;
            if let Some((_, message)) = self.tx.load_message(id)? {
                if let Some(key) = &incoming.thread_key {
                    self.opened.insert(key.clone(), message.thread_id);
                }
                self.see(id, &message.to, &incoming.reads, &incoming.acks)?;
            }
            return Ok(());
        }
        // Everything is checked before anything is written: what is bad leaves no trace.
        let from: AgentName = incoming.from.parse()?;
        let session: Option<SessionId> = match &original {
            Some(original) => original.message.from_session.clone(),
            None => incoming
                .from_session
                .as_deref()
                .and_then(|id| id.parse().ok()),
        };
        let message = self.message(&incoming, original.as_ref())?;
        let to = message.to.clone();
        let recorded = match self.thread_of(&incoming, original.is_some())? {
            Some(id) => {
                let row = thread(self.tx, id)?;
                let decision = decided(EventType::Message, row.thread.status, LeaseChange::Keep);
                self.commit(row, &from, session.as_ref(), decision, Some(message))?
            }
            None => self.open(
                &incoming,
                original.as_ref(),
                &from,
                session.as_ref(),
                message,
            )?,
        };
        let Some(message) = recorded.message else {
            return Ok(());
        };
        if let Some(key) = incoming.thread_key {
            self.opened.insert(key, message.thread_id);
        }
        self.answer.added += 1;
        self.see(message.message_id, &to, &incoming.reads, &incoming.acks)
    }

    fn thread_of(&mut self, incoming: &Incoming, is_ours: bool) -> Result<Option<ThreadId>, Abort> {
        let Some(key) = &incoming.thread_key else {
            return Ok(None);
        };
        if let Some(id) = self.opened.get(key).or_else(|| self.threads.get(key)) {
            return Ok(Some(*id));
        }
        // What a message of ours follows from may be in another thread.
        if is_ours {
            return Ok(None);
        }
        // A thread that an earlier import opened is found by its first message, or by what this one follows.
        for uid in [Some(key), incoming.parent_uid.as_ref()]
            .into_iter()
            .flatten()
        {
            if let Some(id) = self.tx.message_by_uid(uid)?
                && let Some((_, message)) = self.tx.load_message(id)?
            {
                return Ok(Some(message.thread_id));
            }
        }
        Ok(None)
    }

    fn message(
        &mut self,
        incoming: &Incoming,
        original: Option<&Original>,
    ) -> Result<NewMessage, Abort> {
        let kind = incoming.kind.unwrap_or(Kind::Event);
        let summary = match original {
            Some(original) => original.message.summary.clone(),
            None => incoming
                .subject
                .clone()
                .unwrap_or_else(|| subject_of(&incoming.body)),
        };
        limit::required("the summary", &summary, limit::SUMMARY)?;
        limit::bytes("the body", &incoming.body, limit::BODY)?;
        json_size("the payload", &incoming.payload)?;
        let mut message = NewMessage::saying(kind, summary, Auth::Local);
        message.body.clone_from(&incoming.body);
        message.payload_json = incoming.payload.clone();
        message.message_type.clone_from(&incoming.message_type);
        message.uid = Some(incoming.uid.to_ascii_lowercase());
        message.created_at = Some(incoming.created_at);
        message.priority = incoming.priority;
        if incoming.to.is_empty() {
            return Err(Refusal::input("it is for nobody").into());
        }
        for to in &incoming.to {
            let address = self.address(to)?;
            if !message.to.contains(&address) {
                message.to.push(address);
            }
        }
        if let Some(parent) = &incoming.parent_uid {
            message.parent = self.tx.message_by_uid(parent)?;
        }
        set_expiry(
            self.inbox.config(),
            &mut message,
            incoming.ttl_hours,
            incoming.created_at,
        );
        if let Some(original) = original {
            message.context = original.message.context.clone();
            if original.artifacts.len() > limit::ARTIFACTS {
                return Err(Refusal::input(format!(
                    "{} artifacts are attached; the most is {}",
                    original.artifacts.len(),
                    limit::ARTIFACTS
                ))
                .into());
            }
            for artifact in &original.artifacts {
                limit::required("the artifact's path", &artifact.path, 4096)?;
                message.artifacts.push(NewArtifact {
                    path: artifact.path.clone(),
                    kind: artifact.kind.clone(),
                    metadata: artifact.metadata_json.clone(),
                });
            }
            message.hops = original.message.hops;
            message.priority = Some(original.message.priority);
            if original.message.expires_at != message.expires_at {
                message.expires_at = original.message.expires_at;
                message.deadlines.clear();
            }
        }
        Ok(message)
    }

    /// An address of ours; a bare one is read as it would be now.
    fn address(&mut self, text: &str) -> Result<Address, Abort> {
        let address: Address = text.parse()?;
        let Some(name) = address.bare_name() else {
            return Ok(address);
        };
        let found = self.tx.resolve(&name)?;
        Ok(if found.is_session {
            Address::session(&name.as_str().parse()?)
        } else if found.is_role && !found.is_agent {
            Address::role(&name)
        } else {
            address
        })
    }

    fn open(
        &mut self,
        incoming: &Incoming,
        original: Option<&Original>,
        from: &AgentName,
        session: Option<&SessionId>,
        message: NewMessage,
    ) -> Result<Recorded, Abort> {
        let was = original.and_then(|original| original.thread.as_ref());
        let filled = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let subject = was
            .map(|thread| thread.subject.clone())
            .or_else(|| incoming.subject.clone())
            .unwrap_or_else(|| message.summary.clone());
        let subject: String = subject.chars().take(limit::SUBJECT).collect();
        let own = was
            .and_then(|thread| thread.ref_type.zip(thread.ref_id.clone()))
            .map(|(sort, id)| Address::entity(sort, &id))
            .filter(|own| {
                // Read as a tag it is in lower case.
                let first = was.and_then(|thread| thread.to.first());
                first.is_some_and(|to| to.as_str().eq_ignore_ascii_case(own.as_str()))
            });
        let new = NewThread {
            subject,
            priority: was
                .map(|thread| thread.priority)
                .or(incoming.priority)
                .unwrap_or(Priority::Normal),
            run: was.and_then(|thread| filled(&thread.run_id)),
            task: was.and_then(|thread| filled(&thread.task_id)),
            entity: was.and_then(|thread| thread.ref_type.zip(thread.ref_id.clone())),
            own,
        };
        self.tx.ensure_agent(from)?;
        let mut recorded = self.tx.open_thread(from, session, new, message)?;
        self.answer.threads += 1;
        // Work that was over there is over here: it must not be offered again.
        let Some(was) = was else {
            return Ok(recorded);
        };
        let event = match was.status {
            Status::Done => EventType::Done,
            Status::Failed => EventType::Failed,
            Status::Cancelled => EventType::Cancelled,
            _ => return Ok(recorded),
        };
        let holder: Option<AgentName> = was.assigned_to.parse().ok();
        let holder = holder.filter(|_| was.attempts > 0 && was.status != Status::Cancelled);
        let mut row = recorded.row;
        let mut lease = LeaseChange::Keep;
        if let Some(holder) = &holder {
            // Who did the work, and after how many attempts, is on record here too.
            row.thread.attempts = was.attempts - 1;
            let until = self.tx.now();
            let claim = decided(
                EventType::Claimed,
                Status::Claimed,
                LeaseChange::Take { until },
            );
            row = self.commit(row, holder, None, claim, None)?.row;
            lease = LeaseChange::Finish;
        } else {
            row.thread.attempts = was.attempts;
        }
        let by = holder.as_ref().unwrap_or(from);
        let over = self.commit(row, by, None, decided(event, was.status, lease), None)?;
        recorded.row = over.row;
        Ok(recorded)
    }

    fn commit(
        &mut self,
        row: inbox_store::ThreadRow,
        agent: &AgentName,
        session: Option<&SessionId>,
        decision: Decision,
        message: Option<NewMessage>,
    ) -> Result<Recorded, Abort> {
        let step = Step {
            agent,
            session,
            decision,
            lease_ms: None,
            message,
            turns: None,
        };
        Ok(self.tx.commit_step(row, step)?)
    }

    /// Writes down who has read and acknowledged a message.
    fn see(
        &mut self,
        id: MessageId,
        to: &[Address],
        reads: &[Seen],
        acks: &[Seen],
    ) -> Result<(), Abort> {
        for (step, all) in [(Rung::Read, reads), (Rung::Acked, acks)] {
            for seen in all {
                let Some(agent) = self.reader(&seen.reader)? else {
                    continue;
                };
                let agent_no = self.tx.ensure_agent(&agent)?;
                if step == Rung::Read {
                    self.tx.old_receipt(id, step, 0, agent_no, seen.at)?;
                    continue;
                }
                for address in to {
                    if let Some(address_no) = self.tx.find_address(address)? {
                        self.tx
                            .old_receipt(id, step, address_no, agent_no, seen.at)?;
                        self.tx.set_acked(id, address_no)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whose reading it was: a session's agent, else the agent of that name.
    fn reader(&mut self, text: &str) -> Result<Option<AgentName>, Abort> {
        if let Ok(id) = text.parse::<SessionId>()
            && let Some(row) = self.tx.session(&id)?
        {
            return Ok(Some(row.session.agent_id));
        }
        Ok(text.parse().ok())
    }
}

fn decided(event: EventType, status: Status, lease: LeaseChange) -> Decision {
    Decision {
        event,
        status,
        lease,
        is_override: false,
    }
}

fn subject_of(body: &str) -> String {
    let line = match first_line(body) {
        "" => "(no text)",
        line => line,
    };
    line.to_owned()
}

impl Answer for Imported {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        let page = Page::default().line(format!(
            "{} new, {} known, {} bad",
            self.added,
            self.known,
            self.bad.len()
        ));
        self.bad.iter().fold(page, |page, bad| {
            page.line(format!("{}: {}", bad.place, bad.problem))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::subject_of;

    #[test]
    fn the_first_line_stands_for_a_subject_that_is_missing() {
        assert_eq!(subject_of("\n one\ntwo"), "one");
        assert_eq!(subject_of(""), "(no text)");
    }
}
