//! Plays a history on a store and gives answers in the model's words.

use inbox_core::{AgentName, LeaseToken, Refusal, Thread, ThreadId};
use inbox_ops::{
    Caller, Cancel, Claim, Done, Fail, Fetch, Release, Renew, Reply, Send, Show, Update,
    UpdateStatus, WaitReply,
};

use super::{Act, Answer, Who, Work, name};
use crate::world::World;

/// One history on one store. Agents have a prefix of their own, so that many histories share a store.
pub struct Player<'a> {
    world: &'a World,
    prefix: String,
    threads: Vec<ThreadId>,
    tokens: Vec<LeaseToken>,
}

impl<'a> Player<'a> {
    /// A new history.
    pub fn new(world: &'a World, number: usize) -> Self {
        Player {
            world,
            prefix: format!("h{number}-"),
            threads: Vec::new(),
            tokens: Vec::new(),
        }
    }

    fn agent(&self, agent: usize) -> AgentName {
        format!("{}{}", self.prefix, name(agent))
            .parse()
            .expect("a good name")
    }

    fn caller(&self, who: Who) -> Caller {
        Caller {
            session: who
                .session
                .and_then(|session| format!("{}s{session}", self.prefix).parse().ok()),
            lease: who.claim.map(|claim| self.tokens[claim]),
            ..Caller::local(who.agent.map(|agent| self.agent(agent)))
        }
    }

    fn named(&self, agent: usize) -> Caller {
        Caller::local(Some(self.agent(agent)))
    }

    fn strip(&self, name: &str) -> String {
        name.strip_prefix(&self.prefix).unwrap_or(name).to_owned()
    }

    fn answer(&self, outcome: Result<Thread, Refusal>) -> Answer {
        match outcome {
            Err(refusal) => Answer::Refused(refusal.code),
            Ok(thread) => {
                let index = self
                    .threads
                    .iter()
                    .position(|id| *id == thread.thread_id)
                    .expect("a known thread");
                let shown = self
                    .world
                    .call("x", &Show::of(thread.thread_id))
                    .expect("it is there");
                assert_eq!(
                    shown.thread, thread,
                    "what a write answers is what is stored"
                );
                let epoch = shown.lease.map(|lease| lease.epoch);
                Answer::Thread(
                    index,
                    thread.status,
                    thread.attempts,
                    self.strip(&thread.assigned_to),
                    epoch,
                )
            }
        }
    }

    /// Takes a step.
    pub fn act(&mut self, act: &Act) -> Answer {
        let world = self.world;
        match act {
            Act::Send {
                from,
                to,
                priority,
                kind,
                ttl_hours,
            } => {
                let request = Send {
                    to: to
                        .iter()
                        .map(|agent| inbox_core::Address::from(&self.agent(*agent)))
                        .collect(),
                    subject: Some("work".into()),
                    priority: Some(*priority),
                    kind: Some(*kind),
                    ttl_hours: *ttl_hours,
                    ..Send::default()
                };
                let sent = world.call_as(&self.named(*from), &request);
                if let Ok(sent) = &sent {
                    self.threads.push(sent.thread.thread_id);
                }
                self.answer(sent.map(|posted| posted.thread))
            }
            Act::Claim {
                who,
                thread,
                seconds,
            } => {
                let thread = thread.map(|index| self.threads[index]);
                let request = Claim {
                    thread,
                    lease_seconds: Some(*seconds),
                    ..Claim::default()
                };
                match world.call_as(&self.caller(*who), &request) {
                    Err(refusal) => Answer::Refused(refusal.code),
                    Ok(leased) => {
                        self.tokens
                            .extend(leased.lease.and_then(|lease| lease.lease_token));
                        match leased.thread {
                            None => Answer::Nothing,
                            Some(thread) => self.answer(Ok(thread)),
                        }
                    }
                }
            }
            Act::Work { who, thread, what } => {
                let outcome = self.work(&self.caller(*who), self.threads[*thread], *what);
                self.answer(outcome)
            }
            Act::Say { who, thread, kind } => {
                let request = Reply {
                    thread: self.threads[*thread],
                    to: Vec::new(),
                    kind: Some(*kind),
                    summary: Some("so".into()),
                    body: None,
                    payload_json: None,
                    artifacts: Vec::new(),
                };
                let outcome = world.call_as(&self.caller(*who), &request);
                self.answer(outcome.map(|posted| posted.thread))
            }
            Act::Cancel { agent, thread } => {
                let request = Cancel {
                    thread: self.threads[*thread],
                    reason: None,
                };
                let outcome = world.call_as(&self.named(*agent), &request);
                self.answer(outcome.map(|posted| posted.thread))
            }
            Act::Fetch { agent } => {
                let found = world
                    .call_as(&self.named(*agent), &Fetch::default())
                    .expect("a fetch succeeds");
                let index =
                    |thread: &Thread| self.threads.iter().position(|id| *id == thread.thread_id);
                Answer::Threads(found.threads.iter().filter_map(index).collect())
            }
            Act::Wait { agent, thread } => {
                let request = WaitReply {
                    thread: self.threads[*thread],
                    after_message: None,
                    after_event: None,
                    kinds: Vec::new(),
                    timeout_seconds: Some(0),
                };
                let waited = world
                    .call_as(&self.named(*agent), &request)
                    .expect("a wait by name succeeds");
                Answer::Message(
                    waited
                        .message
                        .map(|message| (self.strip(message.from_agent.as_str()), message.kind)),
                )
            }
            Act::Pass { .. } => Answer::Nothing,
        }
    }

    fn work(&self, caller: &Caller, thread: ThreadId, what: Work) -> Result<Thread, Refusal> {
        let world = self.world;
        let summary = Some("so".to_owned());
        let update = |status| Update {
            thread,
            status: Some(status),
            summary: summary.clone(),
            body: None,
            payload_json: None,
            artifacts: Vec::new(),
        };
        match what {
            Work::Renew(seconds) => world
                .call_as(
                    caller,
                    &Renew {
                        thread,
                        lease_seconds: Some(seconds),
                    },
                )
                .map(|leased| leased.thread.expect("a renewed lease has a thread")),
            Work::Start => world
                .call_as(caller, &update(UpdateStatus::InProgress))
                .map(|posted| posted.thread),
            Work::Block => world
                .call_as(caller, &update(UpdateStatus::Blocked))
                .map(|posted| posted.thread),
            Work::Done => {
                let done = Done {
                    thread,
                    summary,
                    body: None,
                    payload_json: None,
                    artifacts: Vec::new(),
                };
                world.call_as(caller, &done).map(|posted| posted.thread)
            }
            Work::Fail => {
                let fail = Fail {
                    thread,
                    summary,
                    body: None,
                    payload_json: None,
                    artifacts: Vec::new(),
                };
                world.call_as(caller, &fail).map(|posted| posted.thread)
            }
            Work::Release => world
                .call_as(caller, &Release { thread })
                .map(|released| released.thread),
        }
    }
}
