//! One thread in hand: its command is run, its lease kept, its output checked, and the thread brought to its end.

mod attend;
mod input;
mod judge;
mod park;
mod post;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use inbox_core::{Code, EventId, Refusal, Thread};
use inbox_ops::{Caller, Prompt, Read, Show, Shown, Watch};
use inbox_wire::BlockerType;

use crate::child::{How, Told};
use crate::decide::{Checked, Next, Reason, after_check, after_end};
use crate::house::{End, House, News};
use crate::leash::Leash;
use crate::line::{About, Line, is_passing};
use crate::said::Said;
use crate::used::Used;
use crate::{clock, verify};
use attend::{As, Attended};
use judge::{brief_of, is_unanswered};
use park::Parked;

/// How long after an answer a command that goes on is taken to have read it.
const READ_BY_THEN: Duration = Duration::from_secs(1);

/// How many lines may wait to be heard. A command that says more stands still until they are heard, and takes no memory.
const UNHEARD: usize = 64;

/// A thread that was claimed.
pub(crate) struct Claimed {
    pub(crate) thread: Thread,
    pub(crate) caller: Caller,
    pub(crate) epoch: i64,
    pub(crate) leash: Leash,
    pub(crate) next_event_id: EventId,
}

/// One thread in hand.
pub(crate) struct Hand<L: Line> {
    house: Arc<House<L>>,
    line: L,
    thread: Thread,
    caller: Caller,
    epoch: i64,
    leash: Leash,
    renew_at: Duration,
    /// Whether the thread is known not to be ours any more.
    is_lost: bool,
    tell: SyncSender<(u64, Told)>,
    heard: Receiver<(u64, Told)>,
    /// Which start of a command this is.
    turn: u64,
    /// When somebody else's message was heard of while a command ran.
    answered_at: Option<Duration>,
    began: Duration,
    /// The conversation with the client, where it can be gone on with.
    session: Option<String>,
    /// What was last said in it.
    last_words: String,
    /// What all starts of the command together used.
    used: Used,
    /// What its client last said of the whole conversation.
    so_far: Used,
    /// Whether one of the runner's places is this thread's.
    has_place: bool,
    /// Ends the one who listens to the thread.
    is_over: Arc<AtomicBool>,
}

impl<L: Line> Drop for Hand<L> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if self.has_place {
            self.house.slots.give();
        }
    }
}

impl<L: Line> Hand<L> {
    pub(crate) fn new(house: Arc<House<L>>, line: L, claimed: Claimed) -> Self {
        let (tell, heard) = sync_channel(UNHEARD);
        let is_over = Arc::new(AtomicBool::new(false));
        let hand = Hand {
            renew_at: claimed.leash.renew_at(),
            house,
            line,
            thread: claimed.thread,
            caller: claimed.caller,
            epoch: claimed.epoch,
            leash: claimed.leash,
            is_lost: false,
            tell,
            heard,
            turn: 0,
            answered_at: None,
            began: clock::now(),
            session: None,
            last_words: String::new(),
            used: Used::default(),
            so_far: Used::default(),
            has_place: true,
            is_over,
        };
        hand.listen(claimed.next_event_id);
        hand
    }

    /// Hands on what happens in the thread, so that a cancelled one ends at once.
    fn listen(&self, after: EventId) {
        let (house, thread) = (Arc::clone(&self.house), self.thread.thread_id);
        let (tell, is_over) = (self.tell.clone(), Arc::clone(&self.is_over));
        std::thread::spawn(move || {
            let Ok(line) = (house.open)() else { return };
            let nobody = Caller::local(None);
            let mut watch = Watch {
                thread: Some(thread),
                after_event: Some(after),
                timeout_seconds: Some(0),
                ..Watch::default()
            };
            let mut look = |line: &L| {
                let found = line.call(&watch, &nobody)?;
                watch.after_event = Some(found.next_event_id);
                if found.woke {
                    let _ = tell.send((0, Told::Happened(found.events)));
                }
                Ok(None::<()>)
            };
            let is_over = || is_over.load(Ordering::SeqCst);
            // Without this a loss is noticed when the lease is renewed.
            let _ = line.until(About::Thread(thread), &nobody, &mut look, &is_over);
        });
    }

    /// Brings the thread to its end.
    pub(crate) fn work(&mut self) -> (End, String) {
        match self.until_end() {
            Ok(ended) => ended,
            Err(refusal) if is_lost(&refusal) => (End::Lost, refusal.message),
            Err(refusal) if is_passing(&refusal) => self.release(&refusal.message),
            // What is wrong with this thread would be wrong again: somebody has to see to it.
            Err(refusal) => self
                .stuck(BlockerType::ToolFailure, &refusal.message)
                .unwrap_or_else(|_| self.release(&refusal.message)),
        }
    }

    pub(crate) fn took(&self) -> Duration {
        clock::now().saturating_sub(self.began)
    }

    fn until_end(&mut self) -> Result<(End, String), Refusal> {
        let shown = self.show()?;
        let brief = brief_of(&shown);
        let mut folder = self.house.plan.folder.clone();
        // Whoever had the thread before may have asked and gone.
        if is_unanswered(&shown, &self.thread.assigned_to) {
            match self.park("it was asked before")? {
                Parked::Answered => {}
                Parked::Lost => return Ok((End::Lost, String::new())),
                Parked::Left => return Ok(self.left()),
            }
        }
        if let Some(obstacle) = self.obstacle(brief.as_ref(), &mut folder) {
            return self.stuck(BlockerType::Resource, &obstacle);
        }
        if let Some(obstacle) = self.worktree(&mut folder) {
            return self.stuck(BlockerType::ToolFailure, &obstacle);
        }
        let most = u64::try_from(self.house.config.run.attempts).unwrap_or(1);
        let (mut attempt, mut feedback) = (1, String::new());
        loop {
            let attended = self.start_agent(&feedback, &folder)?;
            let said = Said::of(&attended.output);
            let standing = self.standing(&attended, said.complete.is_some())?;
            let run = &self.house.config.run;
            let (minutes, kib) = (run.timeout_minutes, run.output_kb);
            let limits = |reason| match reason {
                Reason::Time => {
                    format!("the command took longer than run.timeout_minutes allows, {minutes}")
                }
                _ => format!("the command said more than {kib} KiB"),
            };
            let asks = said.blocked.is_some();
            let parked = match after_end(&attended.how, attended.reason, standing, asks, &limits) {
                Next::Verify => {
                    let mut product = self.product(brief.as_ref(), &said, &folder)?;
                    let semantic = self.evaluate(brief.as_ref(), &mut product, &folder)?;
                    let Some(semantic) = semantic else {
                        let problem = "the evaluator answered neither pass nor fail";
                        return self.stuck(BlockerType::ToolFailure, problem);
                    };
                    if product.problems.is_empty() {
                        match self.done(&mut product, semantic, attempt) {
                            Err(refusal) if refusal.code == Code::ContractUnmet => {
                                product.problems.push(refusal.message);
                            }
                            done => return done,
                        }
                    }
                    self.told_problems(attempt, &product.problems)?;
                    match after_check(product.problems.len(), attempt, most) {
                        Checked::Finish | Checked::Again => {
                            attempt += 1;
                            feedback =
                                verify::feedback(&product.problems, &product.text, attempt, most);
                            continue;
                        }
                        Checked::Block => {
                            let reason = product.problems.join("; ");
                            self.block(BlockerType::VerificationFail, &reason, None, attempt)?;
                            self.park(&reason)?
                        }
                    }
                }
                Next::Ask => {
                    let (kind, reason, help) = said.blocked.map_or_else(
                        || (BlockerType::Ambiguity, said.text.clone(), None),
                        |asked| (asked.blocker_type, asked.reason, asked.suggested_resolution),
                    );
                    self.block(kind, &reason, help, attempt)?;
                    self.park(&reason)?
                }
                Next::Wait => self.park("the agent has asked")?,
                Next::Fail(reason) => {
                    let said = attended.found.error.clone();
                    let reason = said.map_or(reason.clone(), |said| format!("{reason}: {said}"));
                    return self.fail(&reason, &attended);
                }
                Next::Release => {
                    if let How::NotStarted(problem) = &attended.how {
                        self.house.give_up(Refusal::input(problem.clone()));
                    }
                    let was_cut = matches!(attended.how, How::Cut(_));
                    let (end, summary) = self.release("the command was ended");
                    let is_lost = was_cut && !self.house.stop.is_now();
                    return Ok((if is_lost { End::Lost } else { end }, summary));
                }
                Next::Leave(status) => {
                    return Ok((End::Final(status), "the agent ended it".to_owned()));
                }
                Next::Lose => return Ok((End::Lost, String::new())),
            };
            match parked {
                Parked::Answered => (attempt, feedback) = (1, self.answer()?),
                Parked::Lost => return Ok((End::Lost, String::new())),
                Parked::Left => return Ok(self.left()),
            }
        }
    }

    /// Starts the agent's command: with all that it has to know, or where its conversation goes on with what is new.
    fn start_agent(&mut self, news: &str, folder: &std::path::Path) -> Result<Attended, Refusal> {
        let house = Arc::clone(&self.house);
        let goes_on = self.can_go_on() && !news.is_empty();
        let mut attended = if goes_on {
            self.attend(house.plan.resume(), news, folder, As::AgentAgain)?
        } else {
            let prompt = self.prompt(news)?;
            self.attend(&house.plan.argv, &prompt, folder, As::Agent)?
        };
        let has_failed = |attended: &Attended| {
            let has_exited = matches!(attended.how, How::Exited(code) if code != 0);
            attended.reason.is_none() && (has_exited || attended.found.error.is_some())
        };
        self.count(&attended);
        if goes_on && has_failed(&attended) && !self.is_lost {
            // The client has forgotten the conversation, or cannot go on with it.
            self.session = None;
            let prompt = self.prompt(news)?;
            attended = self.attend(&house.plan.argv, &prompt, folder, As::Agent)?;
            self.count(&attended);
        }
        if has_failed(&attended) && attended.how == How::Exited(0) {
            attended.how = How::Exited(1);
        }
        Ok(attended)
    }

    /// Whether there is a conversation that can be gone on with.
    fn can_go_on(&self) -> bool {
        self.session.is_some() && !self.house.plan.resume().is_empty()
    }

    fn count(&mut self, attended: &Attended) {
        let found = &attended.found;
        if found.session != self.session {
            self.so_far = Used::default();
        }
        if found.session.is_some() {
            self.session.clone_from(&found.session);
        }
        self.last_words.clone_from(&attended.output);
        let since = found.so_far.since(self.so_far);
        self.used = self.used.and(found.used).and(since);
        self.so_far = found.so_far.or(self.so_far);
    }

    /// What the one who goes on with its conversation is told of an answer; whoever begins again finds it in the prompt.
    fn answer(&self) -> Result<String, Refusal> {
        if !self.can_go_on() {
            return Ok(String::new());
        }
        let own = self.caller.agent()?;
        let shown = self.show()?;
        let answer = shown
            .messages
            .iter()
            .rfind(|message| message.from_agent != *own);
        Ok(answer.map(verify::answer).unwrap_or_default())
    }

    fn left(&self) -> (End, String) {
        (End::Left, "nobody has answered yet".to_owned())
    }

    /// Blocks the thread for somebody else to see to, and waits; what is answered is for the next who takes it.
    fn stuck(&mut self, kind: BlockerType, reason: &str) -> Result<(End, String), Refusal> {
        self.block(kind, reason, None, 1)?;
        Ok(match self.park(reason)? {
            Parked::Answered => self.release("it was answered"),
            Parked::Lost => (End::Lost, String::new()),
            Parked::Left => self.left(),
        })
    }

    fn show(&self) -> Result<Shown, Refusal> {
        let id = self.thread.thread_id;
        self.persistently(|hand| hand.line.call(&Show::of(id), &hand.caller))
    }

    /// Tries until it is clear, or until the lease would have to be given up.
    fn persistently<T>(&self, f: impl Fn(&Self) -> Result<T, Refusal>) -> Result<T, Refusal> {
        loop {
            match f(self) {
                Err(refusal) if is_passing(&refusal) && clock::now() < self.leash.over_at() => {
                    std::thread::sleep(Duration::from_millis(200));
                }
                outcome => return outcome,
            }
        }
    }

    /// What the agent is told.
    fn prompt(&mut self, feedback: &str) -> Result<String, Refusal> {
        let request = Prompt {
            thread: Some(self.thread.thread_id),
        };
        let prompted = self.persistently(|hand| hand.line.call(&request, &hand.caller))?;
        for warning in &prompted.warnings {
            (self.house.tell)(News::Warning(warning.clone()));
        }
        if !prompted.messages.is_empty() {
            let read = Read {
                message: prompted.messages.clone(),
                ..Read::default()
            };
            // What is not marked is told again.
            let _ = self.line.call(&read, &self.caller);
        }
        Ok(prompted.prompt + feedback)
    }
}

/// Whether a refusal says that the thread is not ours.
fn is_lost(refusal: &Refusal) -> bool {
    matches!(
        refusal.code,
        Code::LeaseLost | Code::LeaseConflict | Code::InvalidTransition | Code::ThreadNotFound
    )
}
