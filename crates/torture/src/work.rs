//! A line of work: writes of every sort, one after the other, each with a mark and a key of its own. Who is killed in the
//! midst of it leaves something that can be compared with what it had said.

use std::collections::BTreeMap;

use inbox_core::{EventType, LeaseToken, Refusal, ThreadId};
use inbox_ops::{ArtifactRef, Caller, Claim, Done, Inbox, Operation, Reply, Send, Update};
use inbox_store::Store;

use crate::ground::caller;
use crate::races::first;
use crate::{Broken, must};

/// How many steps there are before they begin again.
pub const STEPS: u64 = 5;

/// Whether a step writes a message; the others write an event alone.
pub fn says_something(step: u64) -> bool {
    step % STEPS != 1
}

/// A line of work, as far as it has come.
#[derive(Debug, Clone)]
pub struct Work {
    /// What the marks of this line begin with.
    pub prefix: String,
    /// A conversation that every line writes into.
    pub shared: ThreadId,
    /// The step that comes next.
    pub step: u64,
    /// The thread in hand.
    pub thread: Option<ThreadId>,
    /// The proof of the claim on it.
    pub token: Option<LeaseToken>,
}

impl Work {
    /// A line that has not begun.
    pub fn new(prefix: impl Into<String>, shared: ThreadId) -> Self {
        Work {
            prefix: prefix.into(),
            shared,
            step: 0,
            thread: None,
            token: None,
        }
    }

    /// The mark of a step.
    pub fn mark(&self, step: u64) -> String {
        format!("{}-{step}", self.prefix)
    }

    /// Takes the step that comes next. Tried again after an unknown outcome, it has one effect.
    pub fn go_on(&mut self, inbox: &Inbox) -> Result<(), Refusal> {
        let (step, mark) = (self.step, self.mark(self.step));
        let me = Caller {
            key: Some(mark.parse()?),
            ..caller(&format!("w-{}", self.prefix))?
        };
        let holder = Caller {
            lease: self.token,
            ..me.clone()
        };
        let thread = self.thread.unwrap_or(self.shared);
        match step % STEPS {
            0 => {
                let send = Send {
                    to: vec![format!("w-{}", self.prefix).parse()?],
                    subject: Some(mark),
                    artifacts: attached(),
                    ..Send::default()
                };
                self.thread = Some(send.run(inbox, &me)?.thread.thread_id);
            }
            1 => {
                let claim = Claim {
                    thread: Some(thread),
                    lease_seconds: Some(90_000),
                    ..Claim::default()
                };
                let leased = claim.run(inbox, &me)?;
                self.token = leased.lease.and_then(|lease| lease.lease_token);
            }
            2 => {
                let update = Update {
                    thread,
                    status: None,
                    summary: Some(mark),
                    body: None,
                    payload_json: None,
                    artifacts: attached(),
                };
                update.run(inbox, &holder)?;
            }
            3 => {
                let reply = Reply {
                    summary: Some(mark),
                    artifacts: attached(),
                    ..Reply::to(self.shared)
                };
                reply.run(inbox, &me)?;
            }
            _ => {
                let done = Done {
                    thread,
                    summary: Some(mark),
                    body: None,
                    payload_json: None,
                    artifacts: attached(),
                };
                done.run(inbox, &holder)?;
                (self.thread, self.token) = (None, None);
            }
        }
        self.step += 1;
        Ok(())
    }

    /// The line that says how far it has come; [`Work::said`] reads it.
    pub fn say(&self) -> String {
        let thread = self.thread.map(|thread| thread.to_string());
        let token = self.token.map(|token| token.to_string());
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        format!("{} {} {}\n", self.step, or_none(thread), or_none(token))
    }

    /// Goes to where a whole line says that the work is. A part of a line says nothing.
    pub fn said(&mut self, line: &str) -> Option<()> {
        let line = line.strip_suffix('\n')?;
        let mut words = line.split(' ');
        let (step, thread, token) = (words.next()?, words.next()?, words.next()?);
        self.step = step.parse().ok()?;
        self.thread = thread.parse().ok();
        self.token = token.parse().ok();
        Some(())
    }
}

fn attached() -> Vec<ArtifactRef> {
    vec![ArtifactRef {
        path: "a.txt".to_owned(),
        size: Some(8),
        sha256: None,
        media_type: None,
    }]
}

/// What the tables hold of a mark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    threads: u32,
    recipients: u32,
    entries: u32,
    artifacts: u32,
    claims: u32,
    replays: u32,
}

impl Found {
    /// Whether there is nothing of it.
    pub fn is_nothing(self) -> bool {
        self == Found::default()
    }

    /// What the tables hold of a step that is there once.
    pub fn whole(step: u64) -> Self {
        let opens = u32::from(step.is_multiple_of(STEPS));
        let claims = u32::from(!says_something(step));
        Found {
            threads: opens,
            recipients: opens,
            entries: 1 - claims,
            artifacts: 1 - claims,
            claims,
            replays: 1,
        }
    }
}

/// How far back from the newest key is looked: a server gives keys out ahead, and not in the order of commits.
const SLACK: i64 = 10_000;

/// Looks at what lines of work have left, past everything that reads the store otherwise.
#[derive(Debug, Default)]
pub struct Books {
    entry: i64,
    thread: i64,
    found: BTreeMap<String, Found>,
}

impl Books {
    /// Books of what is written from here on.
    pub fn open(store: &Store) -> Result<Self, Broken> {
        let newest = |column: &str, table: &str| {
            let rows = store.look(&format!("SELECT COALESCE(max({column}), 0) FROM {table}"))?;
            let newest = i64::try_from(first(&rows)).unwrap_or(0);
            Ok::<_, Broken>((newest - SLACK).max(0))
        };
        Ok(Books {
            entry: newest("entry_no", "entries")?,
            thread: newest("thread_no", "threads")?,
            found: BTreeMap::new(),
        })
    }

    /// Reads what there is of the lines whose prefix begins so. One statement, so that a commit between two of them cannot look like half a write.
    pub fn read(&mut self, store: &Store, prefix: &str) -> Result<(), Broken> {
        let (entry, thread) = (self.entry, self.thread);
        let claimed = EventType::Claimed.code();
        // A claim is known by its thread, whose subject is the mark of the step before.
        let query = format!(
            "SELECT 0, subject FROM threads WHERE thread_no > {thread} AND subject LIKE '{prefix}%'
             UNION ALL SELECT 1, t.subject FROM recipients r JOIN threads t ON t.thread_no = r.thread_no
                        WHERE t.thread_no > {thread} AND t.subject LIKE '{prefix}%'
             UNION ALL SELECT 2, summary FROM entries WHERE entry_no > {entry} AND summary LIKE '{prefix}%'
             UNION ALL SELECT 3, e.summary FROM artifacts a JOIN entries e ON e.entry_no = a.entry_no
                        WHERE e.entry_no > {entry} AND e.summary LIKE '{prefix}%'
             UNION ALL SELECT 4, t.subject FROM entries e JOIN threads t ON t.thread_no = e.thread_no
                        WHERE e.entry_no > {entry} AND e.event_type = {claimed} AND t.subject LIKE '{prefix}%'
             UNION ALL SELECT 5, key FROM replays WHERE entry_no > {entry} AND key LIKE '{prefix}%'"
        );
        self.found.clear();
        for row in store.look(&query)? {
            let mut cells = row.into_iter();
            let (Some(sort), Some(mark)) = (cells.next().flatten(), cells.next().flatten()) else {
                continue;
            };
            let mark = if sort == "4" { after(&mark) } else { mark };
            let found = self.found.entry(mark).or_default();
            match sort.as_str() {
                "0" => found.threads += 1,
                "1" => found.recipients += 1,
                "2" => found.entries += 1,
                "3" => found.artifacts += 1,
                "4" => found.claims += 1,
                _ => found.replays += 1,
            }
        }
        Ok(())
    }

    /// What there is of a mark.
    pub fn of(&self, mark: &str) -> Found {
        self.found.get(mark).copied().unwrap_or_default()
    }

    /// That every step up to the one that comes next is there once, and that one by no half. Whether it is there.
    pub fn hold(&self, work: &Work) -> Result<bool, Broken> {
        self.hold_from(work, 0)
    }

    /// The same, where the steps before this one were looked for already.
    pub fn hold_from(&self, work: &Work, from: u64) -> Result<bool, Broken> {
        self.hold_up_to(work, from)?;
        let (mark, found) = (work.mark(work.step), self.of(&work.mark(work.step)));
        must(
            found.is_nothing() || found == Found::whole(work.step),
            || {
                format!(
                    "{mark} was not acknowledged and must be whole or absent, and there is {found:?}"
                )
            },
        )?;
        Ok(!found.is_nothing())
    }

    /// That the steps from this one on up to the one that comes next are there once, whatever became of that one.
    pub fn hold_up_to(&self, work: &Work, from: u64) -> Result<(), Broken> {
        for step in from..work.step {
            let (mark, found) = (work.mark(step), self.of(&work.mark(step)));
            must(found == Found::whole(step), || {
                format!("{mark} was acknowledged and must be there once, and there is {found:?}")
            })?;
        }
        Ok(())
    }
}

/// The mark of the step after this one.
fn after(mark: &str) -> String {
    let (prefix, step) = mark.rsplit_once('-').unwrap_or((mark, ""));
    let step: u64 = step.parse().unwrap_or(0);
    format!("{prefix}-{}", step + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(number: i64) -> ThreadId {
        ThreadId::new(number)
    }

    #[test]
    fn what_a_line_of_work_says_is_read_again_and_half_of_it_is_not() {
        let mut work = Work::new("r1-0", thread(1));
        work.step = 7;
        work.thread = Some(thread(9));
        let line = work.say();
        let mut heard = Work::new("r1-0", thread(1));
        assert_eq!(heard.said(&line), Some(()));
        assert_eq!(
            (heard.step, heard.thread, heard.token),
            (7, work.thread, None)
        );
        assert_eq!(heard.said(line.trim_end()), None);
    }

    #[test]
    fn books_that_lack_half_of_a_write_or_have_it_twice_do_not_hold() {
        let mut work = Work::new("r", thread(1));
        work.step = 1;
        let mut books = Books::default();
        books.found.insert("r-0".to_owned(), Found::whole(0));
        assert_eq!(books.hold(&work), Ok(false));
        books.found.insert("r-1".to_owned(), Found::whole(1));
        assert_eq!(books.hold(&work), Ok(true));
        let half = Found {
            artifacts: 0,
            ..Found::whole(0)
        };
        let twice = Found {
            entries: 2,
            ..Found::whole(0)
        };
        for wrong in [half, twice, Found::default()] {
            books.found.insert("r-0".to_owned(), wrong);
            assert!(books.hold(&work).is_err(), "{wrong:?}");
        }
        books.found.insert("r-0".to_owned(), Found::whole(0));
        let half = Found {
            replays: 0,
            ..Found::whole(1)
        };
        books.found.insert("r-1".to_owned(), half);
        assert!(books.hold(&work).is_err());
    }
}
