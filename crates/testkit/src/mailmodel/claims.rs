//! The model's claims: work is taken by one of those it reaches, and given back.

use inbox_core::{Code, Status};

use super::{Answer, Inbox, Model, Who};

impl Model {
    pub(super) fn claim(
        &mut self,
        who: Who,
        thread: Option<usize>,
        seconds: i64,
    ) -> Result<Answer, Code> {
        let Some(index) = thread.or_else(|| self.next(who)) else {
            return Ok(Answer::Thread(None, Status::Pending));
        };
        let now = self.now;
        let thread = &mut self.threads[index];
        if thread.status.is_final() {
            return Err(Code::InvalidTransition);
        }
        if thread.status == Status::Claimed && now < thread.until {
            return Err(Code::LeaseConflict);
        }
        thread.status = Status::Claimed;
        thread.holder = Some(who.agent);
        thread.until = now + seconds * 1000;
        thread.attempts += 1;
        self.appear(who.agent);
        Ok(Answer::Thread(Some(index), Status::Claimed))
    }

    fn next(&self, who: Who) -> Option<usize> {
        let inboxes = self.inboxes(who);
        self.threads.iter().position(|thread| {
            let is_free = |until: Option<i64>| match thread.status {
                Status::Pending => {
                    thread.attempts > 0 || until.is_none_or(|until| self.now < until)
                }
                status => status == Status::Claimed && thread.until <= self.now,
            };
            let reached =
                |(inbox, until): &(Inbox, Option<i64>)| inboxes.contains(inbox) && is_free(*until);
            thread.is_work && thread.to.iter().any(reached)
        })
    }

    pub(super) fn release(&mut self, index: usize) -> Result<Answer, Code> {
        let now = self.now;
        let thread = &mut self.threads[index];
        match thread.status {
            _ if thread.attempts == 0 => Ok(Answer::Nothing),
            Status::Claimed if now < thread.until => {
                thread.status = Status::Pending;
                thread.holder = None;
                Ok(Answer::Thread(Some(index), Status::Pending))
            }
            status if status.is_final() => Err(Code::InvalidTransition),
            _ => Err(Code::LeaseLost),
        }
    }
}
