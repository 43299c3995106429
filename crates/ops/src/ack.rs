//! `ack`: handled.

use inbox_core::lifecycle::{Command, decide};
use inbox_core::record::Millis;
use inbox_core::{
    Address, Code, EventId, Message, MessageId, Refusal, Step as Rung, Thread, ThreadId,
};
use inbox_store::{Abort, Reached, Reader, Step, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::page::Page;
use crate::send::no_message;
use crate::step::thread;

/// Say that messages have been handled
///
/// A message to an agent, a session or a role is acknowledged once, for everybody it reaches; mail to a tag or
/// to all by each for itself. Work keeps its status; a conversation that is still pending is done by it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// Acknowledge this message; repeat for several
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub message: Vec<MessageId>,
    /// Acknowledge every message of this thread that is for the caller
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
}

/// What was acknowledged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Acked {
    /// The messages.
    pub acked: Vec<AckedMessage>,
    /// The threads that they are in, as they are now.
    pub threads: Vec<Thread>,
    /// Where to go on.
    pub next_event_id: EventId,
}

/// One acknowledged message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AckedMessage {
    /// The message.
    pub message_id: MessageId,
    /// Its thread.
    pub thread_id: ThreadId,
    /// The addresses that it is handled for.
    #[serde(deserialize_with = "inbox_core::address::written")]
    pub addresses: Vec<Address>,
    /// When it was acknowledged.
    pub acked_at: Millis,
    /// Whether the caller had acknowledged it before.
    pub already: bool,
}

impl Operation for Ack {
    const NAME: &'static str = "ack";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    const FOR_RESERVED: bool = true;
    type Answer = Acked;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Acked, Refusal> {
        if self.message.is_empty() == self.thread.is_none() {
            return Err(
                Refusal::input("say what was handled: messages, or one thread")
                    .hint("inbox ack MESSAGE …, or inbox ack --thread THREAD"),
            );
        }
        inbox.write(self, caller, |tx, agent| {
            let mut reader = tx.reader(agent, caller.session.as_ref())?;
            reader.agent_no = tx.ensure_agent(agent)?;
            let mut messages = Vec::new();
            for id in &self.message {
                let (_, message) = tx.load_message(*id)?.ok_or_else(|| no_message(*id))?;
                if !messages
                    .iter()
                    .any(|other: &Message| other.message_id == *id)
                {
                    messages.push(message);
                }
            }
            let is_whole = self.thread.is_some();
            if let Some(id) = self.thread {
                thread(tx, id)?;
                messages = tx.messages(id)?;
            }
            let mut acked = Vec::new();
            for message in &messages {
                match acknowledge(tx, caller, &reader, message) {
                    Ok(done) => acked.push(done),
                    // Of a whole thread, what is not the caller's is passed over.
                    Err(Abort::Refused(refusal))
                        if is_whole
                            && matches!(refusal.code, Code::NotAllowed | Code::AlreadyExists) => {}
                    Err(abort) => return Err(abort),
                }
            }
            if acked.is_empty() {
                return Err(not_yours("no message of this thread is for you").into());
            }
            let mut threads: Vec<Thread> = Vec::new();
            for done in &acked {
                if !threads.iter().any(|row| row.thread_id == done.thread_id) {
                    threads.push(thread(tx, done.thread_id)?.thread);
                }
            }
            Ok(Acked {
                acked,
                threads,
                next_event_id: EventId(0),
            })
        })
    }
}

/// Acknowledges one message for every address by which it reaches the reader.
pub(crate) fn acknowledge(
    tx: &mut Tx<'_>,
    caller: &Caller,
    reader: &Reader,
    message: &Message,
) -> Result<AckedMessage, Abort> {
    let id = message.message_id;
    let mut own: Vec<&Reached> = Vec::new();
    for reached in &reader.addresses {
        if tx.is_delivered(id, reached.address_no)? {
            own.push(reached);
        }
    }
    if own.is_empty() {
        return Err(not_yours(&format!("{id} is not addressed to you")).into());
    }
    let receipts = tx.receipts(id)?;
    let mut acked_at = tx.now();
    let mut addresses = Vec::new();
    let mut taken = None;
    let mut is_new = false;
    for reached in own {
        let earlier = receipts.iter().find(|receipt| {
            receipt.step == Rung::Acked
                && receipt.address.as_ref() == Some(&reached.address)
                && (reached.mode.has_one_owner() || receipt.agent == reader.agent)
        });
        match earlier {
            Some(receipt) if receipt.agent != reader.agent => {
                taken = Some(receipt);
                continue;
            }
            Some(receipt) => acked_at = receipt.at,
            None => {
                tx.receipt(reader, id, Rung::Acked, Some(reached.address_no))?;
                tx.set_acked(id, reached.address_no)?;
                is_new = true;
            }
        }
        addresses.push(reached.address.clone());
    }
    if addresses.is_empty()
        && let Some(receipt) = taken
    {
        return Err(Refusal::new(
            Code::AlreadyExists,
            format!(
                "{id} was acknowledged by {} at {}",
                receipt.agent, receipt.at
            ),
        )
        .hint("it is handled: there is nothing to do")
        .detail("acked_by", receipt.agent.as_str())
        .into());
    }
    // What is handled is read, also in a session whose agent had handled it in another.
    tx.receipt(reader, id, Rung::Read, None)?;
    if is_new {
        let row = thread(tx, message.thread_id)?;
        let facts = tx.facts(&row, &caller.asking_as(&reader.agent))?;
        let decision = decide(&facts, Command::Acknowledge, tx.now())?;
        let step = Step {
            agent: &reader.agent,
            session: caller.session.as_ref(),
            decision,
            lease_ms: None,
            message: None,
            turns: None,
        };
        tx.commit_step(row, step)?;
    }
    Ok(AckedMessage {
        message_id: id,
        thread_id: message.thread_id,
        addresses,
        acked_at,
        already: !is_new,
    })
}

fn not_yours(problem: &str) -> Refusal {
    Refusal::new(Code::NotAllowed, problem)
        .hint("inbox read shows what is for you; its addressee acknowledges a message")
}

impl Answer for Acked {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        self.acked.iter().fold(Page::default(), |page, done| {
            let again = if done.already { " already" } else { "" };
            page.line(format!("{}  acknowledged{again}", done.message_id))
        })
    }
}
