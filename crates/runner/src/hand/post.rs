//! What a runner writes to a thread: its end, a question, what was wrong.

use inbox_core::record::Millis;
use inbox_core::{AgentName, Code, Label, Refusal, Status, limit};
use inbox_ops::{Caller, Done, Fail, MemoryAdd, Operation, Posted, Release, Update, UpdateStatus};
use inbox_wire::{Blocked, BlockerType, Mechanical, Payload, Semantic, Verification, Wire};
use serde_json::{Value, json};

use super::Hand;
use super::attend::Attended;
use crate::house::{End, News};
use crate::line::Line;
use crate::verify::Product;

/// How much of a command's last words a failure carries, in characters.
const LAST_WORDS: usize = 4000;

impl<L: Line> Hand<L> {
    /// Writes once, however often it has to be tried.
    fn write<O: Operation>(&self, request: &O) -> Result<O::Answer, Refusal> {
        let caller = Caller {
            key: Some(key()?),
            ..self.caller.clone()
        };
        self.persistently(|hand| hand.line.call(request, &caller))
    }

    /// Finishes the thread.
    pub(super) fn done(
        &self,
        product: &mut Product,
        semantic: Semantic,
        attempts: u64,
    ) -> Result<(End, String), Refusal> {
        if product.text.len() > limit::BODY {
            product.problems.push(format!(
                "the output has {} bytes, and a message has room for {}: write it to a file and name that in a line output_ref: PATH",
                product.text.len(),
                limit::BODY
            ));
            return Err(Refusal::new(
                Code::ContractUnmet,
                "the output is longer than a message",
            ));
        }
        let complete = inbox_wire::Complete {
            cost_usd: self.used.cost,
            duration_seconds: Some(seconds(self.took())),
            verification: Verification {
                mechanical: Mechanical::Pass,
                semantic,
                attempts,
            },
            ..product.complete.clone()
        };
        let summary = complete.summary.clone();
        let done = Done {
            thread: self.thread.thread_id,
            summary: Some(summary.clone()),
            body: Some(clean(&product.text)).filter(|text| !text.is_empty()),
            payload_json: Some(self.with_use(wire(&Payload::Complete(complete))?)),
            artifacts: product.artifacts.clone(),
        };
        self.write(&done)?;
        self.remember(&summary);
        Ok((End::Final(Status::Done), summary))
    }

    /// Keeps what came of the work among what the agent remembers. The result itself is written already, so that this may fail.
    fn remember(&self, summary: &str) {
        let caller = Caller {
            lease: None,
            ..self.caller.clone()
        };
        let add = MemoryAdd {
            text: clean(&format!("{}: {summary}", self.thread.subject)),
            thread: Some(self.thread.thread_id),
        };
        let _ = self.line.call(&add, &caller);
    }

    /// A Wire with what the work used beside its cost, as far as that is known.
    fn with_use(&self, mut wire: Value) -> Value {
        let used = &self.used;
        if used.input_tokens.is_some() || used.output_tokens.is_some() {
            wire["payload"]["x_tokens"] =
                json!({ "input": used.input_tokens, "output": used.output_tokens });
        }
        if let Some(session) = &self.session {
            wire["payload"]["x_session"] = session.clone().into();
        }
        wire
    }

    /// Gives the work up.
    pub(super) fn fail(&self, reason: &str, attended: &Attended) -> Result<(End, String), Refusal> {
        let last = |text: &str| {
            let count = text.chars().count().saturating_sub(LAST_WORDS);
            clean(&text.chars().skip(count).collect::<String>())
        };
        let mut body = String::new();
        for (heading, text) in [
            ("Standard error", last(attended.complaints.trim())),
            ("Output", last(attended.output.trim())),
        ] {
            if !text.is_empty() {
                body.push_str(&format!("{heading}, at its end:\n\n{text}\n\n"));
            }
        }
        let fail = Fail {
            thread: self.thread.thread_id,
            summary: Some(reason.to_owned()),
            body: Some(body).filter(|body| !body.is_empty()),
            payload_json: None,
            artifacts: Vec::new(),
        };
        self.write(&fail)?;
        Ok((End::Final(Status::Failed), reason.to_owned()))
    }

    /// Gives the thread back, if it still is ours.
    pub(super) fn release(&self, why: &str) -> (End, String) {
        let release = Release {
            thread: self.thread.thread_id,
        };
        match self.line.call(&release, &self.caller) {
            Ok(_) => (End::Released, why.to_owned()),
            Err(_) => (End::Lost, why.to_owned()),
        }
    }

    /// Asks, or says what is in the way.
    pub(super) fn block(
        &self,
        kind: BlockerType,
        reason: &str,
        help: Option<String>,
        attempts: u64,
    ) -> Result<Posted, Refusal> {
        let agent = self.caller.agent()?;
        let reason: String = clean(reason).chars().take(limit::SUMMARY).collect();
        let blocked = Blocked {
            task_id: self.task(None),
            agent: agent.to_string(),
            reason: reason.clone(),
            blocker_type: kind,
            suggested_resolution: help,
            attempts,
        };
        self.write(&Update {
            thread: self.thread.thread_id,
            status: Some(UpdateStatus::Blocked),
            summary: Some(reason),
            body: None,
            payload_json: Some(wire(&Payload::Blocked(blocked))?),
            artifacts: Vec::new(),
        })
    }

    /// Tells what was wrong with an output.
    pub(super) fn told_problems(&self, attempt: u64, problems: &[String]) -> Result<(), Refusal> {
        (self.house.tell)(News::Refused {
            thread: self.thread.thread_id,
            attempt,
            reasons: problems.to_vec(),
        });
        let summary = format!(
            "attempt {attempt} was not accepted: {}",
            problems.join("; ")
        );
        self.say(&summary)
    }

    /// Says that the work goes on after an answer.
    pub(super) fn go_on(&self) -> Result<(), Refusal> {
        self.say("an answer came, and the work goes on")
    }

    fn say(&self, summary: &str) -> Result<(), Refusal> {
        let summary: String = clean(summary).chars().take(limit::SUMMARY).collect();
        self.write(&Update {
            thread: self.thread.thread_id,
            status: None,
            summary: Some(summary),
            body: None,
            payload_json: None,
            artifacts: Vec::new(),
        })
        .map(drop)
    }
}

/// A Wire from the runner.
fn wire(payload: &Payload) -> Result<Value, Refusal> {
    let sender: AgentName = "runner".parse()?;
    let now = Millis::from(jiff::Timestamp::now());
    Wire::new(&sender, now, payload)
        .map(Wire::into_json)
        .map_err(|problems| {
            inbox_ops::typed_refusal(Code::InvalidWire, "the Wire breaks its rules", &problems)
        })
}

/// A text that every store can hold.
fn clean(text: &str) -> String {
    text.replace('\0', "␀")
}

fn seconds(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

/// A key that was never used.
fn key() -> Result<Label, Refusal> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes)
        .map_err(|error| Refusal::new(Code::Internal, format!("no randomness: {error}")))?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("run-{hex}").parse()
}
