//! How often a command's output becomes a message: enough to follow it, and no more.

use std::time::Duration;

use inbox_core::text::visible;

/// The most messages that one start of a command becomes.
const MOST: u32 = 60;

/// The longest line that is shown.
const SHOWN: usize = 300;

/// How many lines one message has at the most.
const LINES: usize = 20;

/// What a command has said since the last message, and when the next may be.
#[derive(Debug)]
pub(crate) struct Pace {
    every: Duration,
    next: Duration,
    said: u32,
    last: String,
    waiting: Vec<String>,
    passed_over: usize,
}

/// A message about progress.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The newest line.
    pub(crate) summary: String,
    /// The lines before it.
    pub(crate) body: String,
}

impl Pace {
    /// One message in so much time; none when that is nothing.
    pub(crate) fn new(every: Duration, now: Duration) -> Self {
        Pace {
            every,
            // Who is done at once says so in the result.
            next: now + every.min(Duration::from_secs(5)),
            said: 0,
            last: String::new(),
            waiting: Vec::new(),
            passed_over: 0,
        }
    }

    /// Something that it said.
    pub(crate) fn add(&mut self, line: &str) {
        let line: String = visible(line.trim(), false).chars().take(SHOWN).collect();
        if line.is_empty() || self.waiting.last() == Some(&line) {
            return;
        }
        if self.waiting.len() == LINES {
            self.waiting.remove(0);
            self.passed_over += 1;
        }
        self.waiting.push(line);
    }

    /// When there is something to say.
    pub(crate) fn due(&self) -> Option<Duration> {
        let is_allowed = !self.every.is_zero() && self.said < MOST;
        (is_allowed && !self.waiting.is_empty()).then_some(self.next)
    }

    /// What to say now, if it is time.
    pub(crate) fn take(&mut self, now: Duration) -> Option<Progress> {
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        let mut lines = std::mem::take(&mut self.waiting);
        let passed_over = std::mem::take(&mut self.passed_over);
        let summary = lines.pop()?;
        self.next = now + self.every;
        if summary == self.last {
            return None;
        }
        self.said += 1;
        self.last.clone_from(&summary);
        let mut body = lines.join("\n");
        if passed_over > 0 {
            body = format!("… {passed_over} lines before\n{body}");
        }
        Some(Progress { summary, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_output_becomes_few_messages() {
        let mut pace = Pace::new(Duration::from_secs(30), Duration::ZERO);
        let mut messages = 0;
        for second in 0..36_000_u64 {
            for part in 0..10 {
                pace.add(&format!("line {second}.{part}\u{1b}[31m"));
            }
            if let Some(progress) = pace.take(Duration::from_secs(second)) {
                messages += 1;
                assert!(progress.body.lines().count() <= LINES);
                assert!(!progress.body.contains('\u{1b}') && !progress.summary.contains('\u{1b}'));
            }
        }
        assert_eq!(messages, MOST);
    }

    #[test]
    fn what_says_the_same_again_is_said_once() {
        let mut pace = Pace::new(Duration::from_secs(30), Duration::ZERO);
        pace.add("working");
        assert!(pace.take(Duration::from_secs(5)).is_some());
        pace.add("working");
        assert!(pace.take(Duration::from_secs(99)).is_none());
        pace.add("ready");
        assert!(pace.take(Duration::from_secs(199)).is_some());
    }
}
