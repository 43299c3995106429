//! A thread that waits for an answer: its lease is kept, and its place is somebody else's meanwhile.

use std::time::Duration;

use inbox_core::Refusal;
use inbox_ops::WaitReply;

use super::Hand;
use crate::child::Told;
use crate::clock;
use crate::house::News;
use crate::line::{Line, is_passing};

/// How often it is looked whether the runner has to end.
const LOOK: Duration = Duration::from_millis(250);

/// How a wait for an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parked {
    /// There is one.
    Answered,
    /// The thread is not ours any more.
    Lost,
    /// The runner ends. The thread comes back when its lease has run out.
    Left,
}

impl<L: Line> Hand<L> {
    /// Waits for an answer, and then for a place.
    pub(super) fn park(&mut self, question: &str) -> Result<Parked, Refusal> {
        (self.house.tell)(News::Asked {
            thread: self.thread.thread_id,
            question: question.to_owned(),
        });
        self.house.slots.give();
        let parked = self.until_answered();
        // Whoever ends a thread gives its place back, so it must have one.
        while !self.house.slots.take() {
            self.house.slots.wait(LOOK);
            self.keep();
        }
        if parked == Ok(Parked::Answered) && !self.is_lost {
            (self.house.tell)(News::Answered {
                thread: self.thread.thread_id,
            });
            // The question is settled, for whoever looks at the thread and for the one who takes it next.
            self.go_on()?;
        }
        parked
    }

    fn until_answered(&mut self) -> Result<Parked, Refusal> {
        let mut must_look = true;
        loop {
            self.keep();
            if self.is_lost {
                return Ok(Parked::Lost);
            }
            if must_look {
                let reply = WaitReply {
                    thread: self.thread.thread_id,
                    after_message: None,
                    after_event: None,
                    kinds: Vec::new(),
                    timeout_seconds: Some(0),
                };
                match self.line.call(&reply, &self.caller) {
                    Ok(waited) if waited.woke => return Ok(Parked::Answered),
                    Ok(_) => must_look = false,
                    Err(refusal) if is_passing(&refusal) => {}
                    Err(refusal) => return Err(refusal),
                }
            }
            let plan = &self.house.plan;
            let is_drained = plan.drain && !self.house.slots.is_busy();
            if self.house.stop.is_asked() || is_drained {
                return Ok(Parked::Left);
            }
            if let Ok((_, Told::Happened(events))) = self.heard.recv_timeout(LOOK) {
                self.hear(&events);
                must_look = true;
            }
        }
    }

    /// Keeps the lease while nothing runs.
    fn keep(&mut self) {
        let now = clock::now();
        if now >= self.renew_at && !self.is_lost {
            self.renew();
        }
        if now >= self.leash.over_at() {
            self.is_lost = true;
        }
    }
}
