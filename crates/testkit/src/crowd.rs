//! A store as it is after a busy fortnight: a hundred thousand messages, two hundred agents, and everything that a page could
//! stumble over. It is made by the operations alone, and every run makes the same.
//!
//! What pages show (people, agents, questions, dead letters, texts at their limits) is always there in full; how much work
//! lies behind it is given. So a small one has the same pages as a large one.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use inbox_core::{AgentKind, Kind, LeaseToken, MessageId, Priority, Refusal, ThreadId, limit};
use inbox_ops::config::{Config, Guard};
use inbox_ops::{
    AgentAdd, Caller, Cancel, Claim, Done, Fail, Inbox, Operation, Posted, Read, Send,
    SessionStart, Update, UpdateStatus,
};
use inbox_store::{Clock, Location, Store};
use serde_json::json;

use crate::desk::at;
use crate::world::{by, token, with_token};

/// How long that is, in the clock's unit.
const FORTNIGHT: i64 = 14 * 86_400_000;

/// An hour: a quarter of all work was done in the last one.
const HOUR: i64 = 3_600_000;

/// How many threads share a commit.
const TOGETHER: usize = 200;

/// The person for whom things wait.
pub const PERSON: &str = "operator";

/// A run with a fortieth of all threads.
pub const RUN: &str = "release-7";

/// How much there is.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Messages, about.
    pub messages: usize,
    /// Messages in the one long thread.
    pub long: usize,
    /// Agents.
    pub agents: usize,
    /// Unread messages of the person.
    pub unread: usize,
    /// Open questions to the person.
    pub asks: usize,
    /// Letters that reached nobody.
    pub dead: usize,
}

impl Size {
    /// What the goals of speed speak of.
    pub const WHOLE: Size = Size {
        messages: 100_000,
        long: 2_000,
        agents: 200,
        unread: 3_000,
        asks: 150,
        dead: 500,
    };

    /// The same pages with less behind them.
    pub const SMALL: Size = Size {
        messages: 2_000,
        long: 120,
        agents: 200,
        unread: 300,
        asks: 150,
        dead: 150,
    };
}

/// Where to look.
#[derive(Debug, Clone, Copy)]
pub struct Crowd {
    /// The long thread.
    pub long: ThreadId,
    /// A thread whose messages are as long as messages may be.
    pub large: ThreadId,
    /// The largest message in it.
    pub largest: MessageId,
}

/// Fills a new store. What happened ends now, by the clock of this machine.
pub fn fill(location: &Location, size: Size) -> Result<Crowd, Refusal> {
    let now = jiff::Timestamp::now().as_millisecond();
    let clock = Arc::new(AtomicI64::new(now - FORTNIGHT));
    let store = Store::open(location)?.with_clock(Clock::Manual(Arc::clone(&clock)));
    let mut inbox = Inbox::new(store).with_config(Config {
        // They talk as much as they are told to.
        guard: Guard {
            max_hops: 0,
            max_turns: 0,
            max_repeats: 0,
            ..Guard::default()
        },
        ..Config::default()
    });
    let mut maker = Maker {
        clock,
        size,
        dice: 7,
    };
    maker.roster(&mut inbox)?;
    maker.dead(&mut inbox)?;
    maker.work(&mut inbox, now)?;
    let long = maker.long(&mut inbox)?;
    let (large, largest) = maker.large(&mut inbox)?;
    maker.for_the_person(&mut inbox)?;
    maker.reading(&mut inbox)?;
    Ok(Crowd {
        long,
        large,
        largest,
    })
}

struct Maker {
    clock: Arc<AtomicI64>,
    size: Size,
    dice: u64,
}

/// A text of this many words.
fn words(count: usize, seed: usize) -> String {
    const WORDS: [&str; 24] = [
        "the", "build", "of", "parser", "failed", "after", "review", "and", "a", "merge", "with",
        "tests", "for", "cache", "index", "was", "slow", "on", "branch", "until", "lease", "queue",
        "deploy", "again",
    ];
    let word = |n: usize| match n % 37 {
        0 => format!("case-{}", (seed * 31 + n) % 5_000),
        _ => WORDS[(seed * 7 + n * n + n / 3) % WORDS.len()].to_owned(),
    };
    let list: Vec<String> = (0..count).map(word).collect();
    list.join(" ")
}

/// A text that is as long as it may be once it is HTML.
fn hostile(bytes: usize) -> String {
    let piece = "\"&<'>[x](https://e.org/\"y) **b** | a | b |\n";
    piece.repeat(bytes / piece.len())
}

fn agent(number: usize) -> String {
    format!("agent-{number:03}")
}

fn role(number: usize) -> String {
    const ROLES: [&str; 12] = [
        "builder",
        "reviewer",
        "tester",
        "writer",
        "planner",
        "analyst",
        "operator-desk",
        "designer",
        "release",
        "security",
        "data",
        "support",
    ];
    ROLES[number % ROLES.len()].to_owned()
}

fn tag(number: usize) -> String {
    format!("project:p{:02}", number % 60)
}

impl Maker {
    /// The next number below `of`; the same in every run.
    fn roll(&mut self, of: usize) -> usize {
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.dice >> 33).unwrap_or(0) % of.max(1)
    }

    fn pass(&self, millis: i64) {
        self.clock.fetch_add(millis, Ordering::SeqCst);
    }

    /// Does something so many times, with one commit for many of them.
    fn times(
        &mut self,
        inbox: &mut Inbox,
        count: usize,
        mut f: impl FnMut(&mut Self, &Inbox, usize) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        for first in (0..count).step_by(TOGETHER) {
            inbox.share(|inbox| {
                (first..(first + TOGETHER).min(count)).try_for_each(|number| f(self, inbox, number))
            })??;
        }
        Ok(())
    }

    fn anybody(&mut self) -> String {
        let count = self.size.agents;
        agent(self.roll(count))
    }

    fn roster(&mut self, inbox: &mut Inbox) -> Result<(), Refusal> {
        let count = self.size.agents;
        self.times(inbox, count + 1, |_, inbox, number| {
            let is_person = number == count;
            let name = if is_person {
                PERSON.into()
            } else {
                agent(number)
            };
            let request = AgentAdd {
                slug: name.parse().ok(),
                kind: is_person.then_some(AgentKind::Human),
                persona: (!is_person).then(|| words(60, number)),
                ..AgentAdd::default()
            };
            request.run(inbox, &Caller::local(None)).map(drop)
        })?;
        // A session of each that has ended by now.
        self.sessions(inbox, "before")
    }

    /// A session for each, with two roles and four tags.
    fn sessions(&mut self, inbox: &mut Inbox, suffix: &str) -> Result<(), Refusal> {
        let count = self.size.agents;
        self.times(inbox, count, |_, inbox, number| {
            let name = agent(number);
            let start = SessionStart {
                role: vec![role(number), role(number * 5 + 1)],
                tag: (0..4).map(|n| tag(number * 7 + n * 13)).collect(),
                client: ["claude-code", "codex", "gemini-cli"][number % 3]
                    .parse()
                    .ok(),
            };
            start
                .run(inbox, &at(&name, &format!("{name}-{suffix}")))
                .map(drop)
        })
    }

    /// Letters that expired before anybody read them.
    fn dead(&mut self, inbox: &mut Inbox) -> Result<(), Refusal> {
        let count = self.size.dead;
        self.times(inbox, count, |maker, inbox, number| {
            let (from, to) = (maker.anybody(), format!("nobody-{:02}", number % 20));
            let request = Send {
                ttl_hours: Some(1),
                body: Some(words(40, number)),
                ..event(&to, &long_line(number, limit::SUBJECT))
            };
            request.run(inbox, &by(&from)).map(drop)
        })
    }

    /// Threads of work and of talk, most of them over.
    fn work(&mut self, inbox: &mut Inbox, now: i64) -> Result<(), Refusal> {
        let count = self.size.messages / 5;
        let busy = count - count / 4;
        let (ends, starts) = (now - HOUR, self.clock.load(Ordering::SeqCst));
        let slow = (ends - starts) / i64::try_from(busy).unwrap_or(1).max(1);
        let fast = (HOUR - 600_000) / i64::try_from(count / 4).unwrap_or(1).max(1);
        self.times(inbox, count, |maker, inbox, number| {
            if number == busy {
                maker.clock.store(ends, Ordering::SeqCst);
            }
            let step = if number < busy { slow } else { fast };
            maker.thread(inbox, number, step / 8)?;
            // Half of the agents read what came, now and then.
            if number % 50 == 49 {
                let reader = agent(number / 50 % maker.size.agents / 2);
                let read = Read {
                    limit: Some(1_000),
                    ..Read::default()
                };
                read.run(inbox, &by(&reader))?;
            }
            Ok(())
        })?;
        self.sessions(inbox, "now")
    }

    fn thread(&mut self, inbox: &Inbox, number: usize, pace: i64) -> Result<(), Refusal> {
        let (from, worker) = (self.anybody(), self.anybody());
        let to = match self.roll(10) {
            0..4 => worker.clone(),
            4..8 => format!("role:{}", role(number)),
            _ => tag(number),
        };
        let run = match self.roll(40) {
            0 => Some(RUN.to_owned()),
            1..20 => Some(format!("run-{}", number / 100)),
            _ => None,
        };
        let body = words(20 + self.roll(120), number);
        self.pass(pace);
        if number % 6 == 5 {
            return self.talk(inbox, number, &from, &to, body);
        }
        let task = Send {
            to: addresses(&to),
            subject: Some(format!("{} {number}", words(6, number))),
            body: Some(body),
            run: run.as_deref().map(str::parse).transpose()?,
            task: Some(format!("task-{number}").parse()?),
            priority: Some(Priority::ALL[self.roll(5)]),
            ..Send::default()
        };
        let thread = task.run(inbox, &by(&from))?.thread.thread_id;
        let fate = self.roll(100);
        if fate < 6 {
            return Ok(());
        }
        self.pass(pace);
        if fate < 8 {
            let cancel = Cancel {
                thread,
                reason: Some("no longer needed".into()),
            };
            return cancel.run(inbox, &by(&from)).map(drop);
        }
        // Two in a hundred are held still, and some of those by who is gone.
        let seconds = if fate < 10 { limit::LEASE_MAX } else { 86_400 };
        let lease = claim(inbox, &worker, thread, seconds)?;
        for turn in 0..self.roll(9) {
            self.pass(pace);
            let update = Update {
                thread,
                status: (turn == 0).then_some(UpdateStatus::InProgress),
                summary: Some(words(9, number + turn)),
                body: Some(words(30, number * 3 + turn)),
                payload_json: None,
                artifacts: Vec::new(),
            };
            update.run(inbox, &with_token(lease))?;
        }
        if fate < 10 {
            return Ok(());
        }
        self.pass(pace);
        let (summary, body) = (Some(words(8, number)), Some(words(50, number)));
        let payload_json = Some(json!({"files": ["a.rs", "b.rs"], "checks": {"passed": 12}}));
        if fate < 14 {
            let fail = Fail {
                thread,
                summary,
                body,
                payload_json,
                artifacts: Vec::new(),
            };
            return fail.run(inbox, &with_token(lease)).map(drop);
        }
        let done = Done {
            thread,
            summary,
            body,
            payload_json,
            artifacts: Vec::new(),
        };
        done.run(inbox, &with_token(lease)).map(drop)
    }

    /// Mail that is no work, with answers.
    fn talk(
        &mut self,
        inbox: &Inbox,
        number: usize,
        from: &str,
        to: &str,
        body: String,
    ) -> Result<(), Refusal> {
        let opening = Send {
            body: Some(body),
            ..event(to, &format!("{} {number}", words(5, number)))
        };
        let thread = opening.run(inbox, &by(from))?.thread.thread_id;
        for turn in 0..self.roll(8) {
            let speaker = self.anybody();
            say(inbox, &speaker, thread, words(25, number + turn))?;
        }
        Ok(())
    }

    /// One thread in which many talk.
    fn long(&mut self, inbox: &mut Inbox) -> Result<ThreadId, Refusal> {
        let request = event(&tag(1), "a very long thread");
        let thread = request.run(inbox, &by(&agent(1)))?.thread.thread_id;
        let count = self.size.long.saturating_sub(1);
        self.times(inbox, count, |maker, inbox, number| {
            let speaker = maker.anybody();
            maker.pass(10);
            say(inbox, &speaker, thread, words(40, number)).map(drop)
        })?;
        Ok(thread)
    }

    /// One thread with messages as long as they may be, and a channel that has them too.
    fn large(&mut self, inbox: &mut Inbox) -> Result<(ThreadId, MessageId), Refusal> {
        let request = Send {
            body: Some(hostile(limit::BODY)),
            ..event(&tag(2), &long_line(1, limit::SUBJECT))
        };
        let opened = request.run(inbox, &by(&agent(2)))?;
        let thread = opened.thread.thread_id;
        for number in 0..30 {
            let value = hostile(limit::PAYLOAD / 64);
            let payload: Vec<_> = (0..30).map(|_| json!({"text": value})).collect();
            let request = Send {
                to: (0..limit::ADDRESSES)
                    .flat_map(|n| addresses(&agent(n)))
                    .collect(),
                thread: Some(thread),
                kind: Some(Kind::Event),
                summary: Some(hostile(limit::SUMMARY)),
                body: Some(hostile(limit::BODY / 8)),
                payload_json: (number % 3 == 0).then(|| json!({"list": payload})),
                ..Send::default()
            };
            request.run(inbox, &by(&agent(number)))?;
        }
        Ok((thread, opened.message.message_id))
    }

    /// What waits for the person: mail, questions, work that is blocked, and leave to be given.
    fn for_the_person(&mut self, inbox: &mut Inbox) -> Result<(), Refusal> {
        let (asks, unread) = (self.size.asks, self.size.unread);
        self.times(inbox, unread, |maker, inbox, number| {
            let from = maker.anybody();
            maker.pass(20);
            let request = Send {
                body: Some(words(60, number)),
                priority: (number % 20 == 0).then_some(Priority::Urgent),
                message_type: match number % 7 {
                    0 => Some("task.note".parse()?),
                    _ => None,
                },
                ..event(PERSON, &long_line(number, limit::SUBJECT))
            };
            request.run(inbox, &by(&from)).map(drop)
        })?;
        self.times(inbox, asks, |maker, inbox, number| {
            maker.pass(500);
            let worker = agent(number % maker.size.agents);
            let body = match number % 15 {
                0 => hostile(limit::BODY / 4),
                _ => words(80, number),
            };
            let question = Send {
                kind: Some(Kind::Question),
                summary: Some(format!("may I go on with {number}?")),
                body: Some(body),
                message_type: match number % 4 {
                    0 => Some("exec.gate".parse()?),
                    _ => None,
                },
                ..Send::default()
            };
            if number % 3 == 0 {
                let opening = Send {
                    to: addresses(PERSON),
                    subject: Some(long_line(number, limit::SUBJECT)),
                    ..question
                };
                return opening.run(inbox, &by(&worker)).map(drop);
            }
            let task = Send {
                to: addresses(&worker),
                subject: Some(format!("blocked work {number}")),
                ..Send::default()
            };
            let thread = task.run(inbox, &by(PERSON))?.thread.thread_id;
            let lease = claim(inbox, &worker, thread, 86_400)?;
            let blocked = Update {
                thread,
                status: Some(UpdateStatus::Blocked),
                summary: question.summary,
                body: question.body,
                payload_json: Some(json!({"blocker_type": "question"})),
                artifacts: Vec::new(),
            };
            blocked.run(inbox, &with_token(lease)).map(drop)
        })
    }

    /// A third of the agents have read everything.
    fn reading(&mut self, inbox: &mut Inbox) -> Result<(), Refusal> {
        let count = self.size.agents / 3;
        self.times(inbox, count, |_, inbox, number| {
            let name = agent(number * 3);
            let read = Read {
                limit: Some(limit::PAGE_MAX),
                ..Read::default()
            };
            read.run(inbox, &at(&name, &format!("{name}-now")))
                .map(drop)
        })
    }
}

fn addresses(to: &str) -> Vec<inbox_core::Address> {
    to.parse().into_iter().collect()
}

/// Mail that is no work.
fn event(to: &str, subject: &str) -> Send {
    Send {
        to: addresses(to),
        subject: Some(subject.to_owned()),
        kind: Some(Kind::Event),
        ..Send::default()
    }
}

/// A line that is now and then as long as it may be.
fn long_line(number: usize, most: usize) -> String {
    match number % 10 {
        1 => hostile(most).replace('\n', " "),
        _ => format!("{} {number}", words(8, number)),
    }
}

fn claim(
    inbox: &Inbox,
    worker: &str,
    thread: ThreadId,
    seconds: i64,
) -> Result<LeaseToken, Refusal> {
    let claim = Claim {
        thread: Some(thread),
        lease_seconds: Some(seconds),
        ..Claim::default()
    };
    Ok(token(&claim.run(inbox, &by(worker))?))
}

fn say(inbox: &Inbox, from: &str, thread: ThreadId, body: String) -> Result<Posted, Refusal> {
    let request = Send {
        thread: Some(thread),
        kind: Some(Kind::Event),
        summary: Some(body.chars().take(60).collect()),
        body: Some(body),
        ..Send::default()
    };
    request.run(inbox, &by(from))
}
