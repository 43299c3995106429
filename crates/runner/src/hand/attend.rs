//! A command while it runs: what it says is kept, its lease renewed, and it is ended when it must be.

use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use inbox_core::sabotage::planted;
use inbox_core::{Code, EventType, Refusal};
use inbox_ops::{Renew, Update};

use super::Hand;
use super::input::{fill, scratch, write};
use crate::child::{How, Running, Told};
use crate::client::{self, Client};
use crate::decide::Reason;
use crate::guardian::{Cut, Start};
use crate::house::News;
use crate::line::{Line, is_passing};
use crate::pace::Pace;
use crate::reader::Found;
use crate::{clock, environment};

/// How long a command that is told to end may take.
const GRACE: Duration = Duration::from_secs(5);

/// How long one that has said all it had to say may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(2);

/// How long what a command leaves behind may take to end.
const REMAINS: Duration = Duration::from_secs(1);

/// How often it is looked whether the runner has to end.
const LOOK: Duration = Duration::from_millis(250);

/// The longest prompt that can be an argument: the system's own limit for one, with some room.
const ARGUMENT: usize = 120 << 10;

/// What a command is started as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum As {
    /// The agent, at the beginning.
    Agent,
    /// The agent, in a conversation of before.
    AgentAgain,
    /// The one who judges.
    Evaluator,
}

/// A command that has ended.
pub(super) struct Attended {
    pub(super) how: How,
    /// What the runner ended it for, if it did.
    pub(super) reason: Option<Reason>,
    pub(super) output: String,
    /// What its client says about it.
    pub(super) found: Found,
    /// The end of what it said on standard error.
    pub(super) complaints: String,
    pub(super) ended_at: Duration,
}

impl<L: Line> Hand<L> {
    /// Runs a command with this text as its input, until nothing of it is left.
    pub(super) fn attend(
        &mut self,
        argv: &[String],
        input: &str,
        folder: &Path,
        as_what: As,
    ) -> Result<Attended, Refusal> {
        let is_agent = as_what != As::Evaluator;
        let start = self.start(argv, input, folder, is_agent)?;
        let preset = self.house.plan.preset.as_ref().filter(|_| is_agent);
        let session = self.session.as_deref();
        let session = session
            .filter(|_| as_what == As::AgentAgain)
            .map(|session| (session, self.last_words.as_str()));
        let mut client = Client::new(preset, input, folder, session);
        self.turn += 1;
        self.answered_at = None;
        let guardian = &self.house.plan.guardian;
        let running = Running::start(guardian, start, self.turn, &self.tell);
        let mut running = running.map_err(|error| {
            Refusal::new(
                Code::Internal,
                format!("no command can be guarded: {error}"),
            )
        })?;
        running.live_by(&self.leash);
        if let Some(line) = client.opening() {
            running.say(line);
        }
        let run = &self.house.config.run;
        let whole = |value: i64| u64::try_from(value).unwrap_or(0);
        let every = Duration::from_secs(whole(run.progress_seconds));
        let most = usize::try_from(run.output_kb).unwrap_or(0) << 10;
        let began = clock::now();
        let ends_at = match whole(run.timeout_minutes) {
            0 => None,
            _ if planted("clock_stopped") => None,
            minutes => Some(began + Duration::from_secs(minutes * 60)),
        };
        let mut pace = Pace::new(every, began);
        let mut output: Vec<u8> = Vec::new();
        let mut reason = None;
        let mut farewell: Option<Duration> = None;
        loop {
            let now = clock::now();
            let wanted = if self.is_lost {
                Some((Reason::Lost, self.leash.grace()))
            } else if self.house.stop.is_now() {
                Some((Reason::Quit, GRACE))
            } else if ends_at.is_some_and(|ends_at| now >= ends_at) {
                Some((Reason::Time, GRACE))
            } else if output.len() > most {
                Some((Reason::Output, GRACE))
            } else {
                None
            };
            if let (Some((wanted, grace)), None) = (wanted, reason) {
                reason = Some(wanted);
                running.stop(grace);
            }
            if reason.is_none() && farewell.take_if(|until| now >= *until).is_some() {
                running.stop(GRACE);
            }
            if now >= self.renew_at && !self.is_lost {
                self.renew();
                running.live_by(&self.leash);
            }
            if is_agent && reason.is_none() && !self.is_lost {
                self.report(&mut pace);
            }
            let due = [Some(now + LOOK), pace.due(), Some(self.renew_at), farewell];
            let due = due.into_iter().flatten().min().unwrap_or(now);
            // What is late is seen to at once, but not without a pause.
            let pause = due.saturating_sub(now).max(Duration::from_millis(1));
            match self.heard.recv_timeout(pause) {
                Ok((_, Told::Happened(events))) => self.hear(&events),
                Ok((turn, _)) if turn != self.turn => {}
                // What comes after its last word, or is more than is allowed, is nothing to anybody.
                Ok((_, Told::Said(_))) if client.is_over() || output.len() > most => {}
                Ok((_, Told::Said(line))) => {
                    let fed = client.feed(&line);
                    for line in fed.say {
                        running.say(line);
                    }
                    if client.is_over() {
                        running.hush();
                        farewell = Some(clock::now() + FAREWELL);
                    }
                    for line in fed.progress.iter().flat_map(|said| said.lines()) {
                        if is_agent && !line.trim().is_empty() {
                            pace.add(line);
                            (self.house.tell)(News::Said {
                                thread: self.thread.thread_id,
                                line: line.trim().to_owned(),
                            });
                        }
                    }
                    // One piece more than is allowed says that there was more.
                    output.extend_from_slice(&line);
                }
                Ok((_, Told::Ended(ending))) => {
                    let has_said_all = client.is_over() && reason.is_none();
                    let found = client.finish();
                    let whole = || String::from_utf8_lossy(&output).into_owned();
                    return Ok(Attended {
                        how: match ending.how {
                            // How it goes when it is let go says nothing about its work.
                            How::Exited(_) | How::Signalled(_) | How::Cut(Cut::Told)
                                if has_said_all =>
                            {
                                How::Exited(0)
                            }
                            how => how,
                        },
                        reason,
                        output: found.result.clone().unwrap_or_else(whole),
                        found,
                        complaints: ending.complaints,
                        ended_at: clock::now(),
                    });
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// Renews the lease. What fails for a moment is tried again; the guardian knows when it is too late.
    pub(super) fn renew(&mut self) {
        let renew = Renew {
            thread: self.thread.thread_id,
            lease_seconds: Some(self.house.config.run.lease_seconds),
        };
        let asked = clock::now();
        match self.line.call(&renew, &self.caller) {
            Ok(_) => {
                self.leash.renewed(asked);
                self.renew_at = self.leash.renew_at();
            }
            Err(refusal) if is_passing(&refusal) => {
                self.renew_at = self.leash.again_at(clock::now());
            }
            Err(refusal) => {
                self.is_lost = true;
                (self.house.tell)(News::Warning(refusal.message));
            }
        }
    }

    /// Takes note of what happened in the thread.
    pub(super) fn hear(&mut self, events: &[inbox_core::Event]) {
        let own = self.caller.agent.clone();
        for event in events {
            match event.event_type {
                EventType::Cancelled => self.is_lost = true,
                _ if Some(&event.source) != own.as_ref() && event.message_id.is_some() => {
                    self.answered_at = Some(clock::now());
                }
                _ => {}
            }
        }
    }

    /// Says how far the command is, if it is time.
    fn report(&mut self, pace: &mut Pace) {
        let Some(progress) = pace.take(clock::now()) else {
            return;
        };
        let update = Update {
            thread: self.thread.thread_id,
            status: None,
            summary: Some(progress.summary),
            body: Some(progress.body).filter(|body| !body.is_empty()),
            payload_json: None,
            artifacts: Vec::new(),
        };
        // A question of the agent stays one: progress would say that it goes on.
        if self.is_blocked() {
            return;
        }
        // Not worth an error: the next one says more.
        let _ = self.line.call(&update, &self.caller);
    }

    fn is_blocked(&self) -> bool {
        self.show()
            .is_ok_and(|shown| shown.thread.status == inbox_core::Status::Blocked)
    }

    /// What is started, with its input where it wants it: on standard input, in a file or as an argument.
    fn start(
        &self,
        argv: &[String],
        input: &str,
        folder: &Path,
        is_agent: bool,
    ) -> Result<Start, Refusal> {
        let scratch = scratch()?;
        let file = scratch.join("prompt.md");
        write(&file, input)?;
        let path = file.display().to_string();
        let as_argument = argv.iter().any(|word| word.contains("{prompt}"));
        let as_file = argv.iter().any(|word| word.contains("{prompt_file}"));
        if as_argument && input.len() > ARGUMENT {
            return Err(Refusal::new(
                Code::TooLarge,
                format!(
                    "the prompt has {} bytes, and an argument has room for {ARGUMENT}",
                    input.len()
                ),
            )
            .hint("inbox run … -- COMMAND {prompt_file} gives it as a file"));
        }
        let session = self.session.as_deref().unwrap_or_default();
        let values = [
            ("{prompt_file}", path.as_str()),
            ("{prompt}", input),
            ("{session}", session),
        ];
        let argv = argv.iter().map(|word| fill(word, &values)).collect();
        let run = &self.house.config.run;
        let own = self.house.plan.preset.iter().flat_map(|preset| &preset.env);
        let list: Vec<String> = run.env.iter().chain(own).cloned().collect();
        let mut env = environment::allowed(&list, std::env::vars_os());
        env.extend(self.house.plan.env.iter().cloned());
        env.extend(self.own_variables());
        Ok(Start {
            argv,
            env,
            folder: folder.to_owned(),
            input: (!as_argument && !as_file).then_some(file),
            talks: is_agent && client::talks(self.house.plan.preset.as_ref()),
            limits: self.house.limits(),
            scratch: Some(scratch),
            grace_ms: u64::try_from(REMAINS.as_millis()).unwrap_or(0),
        })
    }

    /// Who the command is, and what it holds.
    fn own_variables(&self) -> Vec<(String, String)> {
        let agent = self.caller.agent.as_ref().map(ToString::to_string);
        let session = self.caller.session.as_ref().map(ToString::to_string);
        let lease = self.caller.lease.as_ref().map(ToString::to_string);
        let thread = Some(self.thread.thread_id.to_string());
        [
            ("INBOX_AGENT", agent),
            ("INBOX_SESSION", session),
            ("INBOX_LEASE", lease),
            ("INBOX_THREAD", thread),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
    }
}
