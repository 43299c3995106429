//! What stands in the way of a thread before it is begun, and how its output is judged.

use std::path::{Path, PathBuf};

use inbox_core::{Kind, Message, Refusal, Status};
use inbox_ops::Shown;
use inbox_wire::{Brief, Payload, Semantic};

use super::attend::{As, Attended};
use super::{Hand, READ_BY_THEN};
use crate::child::How;
use crate::decide::{Reason, Standing};
use crate::environment;
use crate::line::{Line, is_passing};
use crate::said::Said;
use crate::verify::{self, Product, Verdict};

impl<L: Line> Hand<L> {
    /// What stands in the way before anything is started; finds the folder to work in.
    pub(super) fn obstacle(&self, brief: Option<&Brief>, folder: &mut PathBuf) -> Option<String> {
        let brief = brief?;
        let run = &self.house.config.run;
        if brief.output_contract.evaluate.is_some() && run.evaluator.is_empty() {
            return Some(
                "the brief asks for an evaluation, and run.evaluator is not set here".to_owned(),
            );
        }
        let wanted = brief.env.worktree_path.as_deref()?;
        let roots: Vec<PathBuf> = run.roots.iter().map(PathBuf::from).collect();
        let found = environment::folder(wanted, &roots, &self.house.plan.folder);
        put(folder, found)
    }

    /// Gives the thread a worktree of its own, where that is configured; what stands in the way otherwise.
    pub(super) fn worktree(&self, folder: &mut PathBuf) -> Option<String> {
        let below = self.house.config.run.worktrees.as_ref()?;
        let below = self.house.plan.folder.join(below);
        let thread = self.thread.thread_id.to_string();
        put(folder, environment::worktree(folder, &below, &thread))
    }

    /// How the thread stands now that its command has ended.
    pub(super) fn standing(
        &self,
        attended: &Attended,
        is_complete: bool,
    ) -> Result<Standing, Refusal> {
        let shown = match self.show() {
            Ok(shown) => shown,
            // Nobody can say.
            Err(refusal) if is_passing(&refusal) => return Ok(Standing::Lost),
            Err(refusal) => return Err(refusal),
        };
        let status = shown.thread.status;
        if status.is_final() {
            return Ok(Standing::Final(status));
        }
        if shown.lease.as_ref().map(|lease| lease.epoch) != Some(self.epoch) {
            return Ok(Standing::Lost);
        }
        if status != Status::Blocked || is_complete {
            return Ok(Standing::Held);
        }
        let went_on = self
            .answered_at
            .is_some_and(|at| attended.ended_at >= at + READ_BY_THEN);
        let is_open = is_unanswered(&shown, &self.thread.assigned_to) || !went_on;
        Ok(if is_open {
            Standing::Asking
        } else {
            Standing::Held
        })
    }

    pub(super) fn product(
        &self,
        brief: Option<&Brief>,
        said: &Said,
        folder: &Path,
    ) -> Result<Product, Refusal> {
        let agent = self.caller.agent()?;
        let task = self.task(brief);
        verify::product(&self.house.config, brief, said, agent, &task, folder)
    }

    /// The task's name: the scheduler's, else the brief's, else the thread's.
    pub(super) fn task(&self, brief: Option<&Brief>) -> String {
        let named = Some(self.thread.task_id.clone()).filter(|task| !task.is_empty());
        let briefs = || brief.and_then(|brief| brief.env.task_id.clone());
        named
            .or_else(briefs)
            .unwrap_or_else(|| self.thread.thread_id.to_string())
    }

    /// Asks the evaluator, where the brief wants it and nothing else is wrong. Nothing when it gave no verdict.
    pub(super) fn evaluate(
        &mut self,
        brief: Option<&Brief>,
        product: &mut Product,
        folder: &Path,
    ) -> Result<Option<Semantic>, Refusal> {
        let evaluate = brief.and_then(|brief| brief.output_contract.evaluate.clone());
        let Some(evaluate) = evaluate.filter(|_| product.problems.is_empty()) else {
            return Ok(Some(Semantic::Skipped));
        };
        let argv = self.house.config.run.evaluator.clone();
        let question = verify::question(&evaluate, product);
        // Once more for a moment's trouble.
        for _ in 0..2 {
            let answered = self.attend(&argv, &question, folder, As::Evaluator)?;
            if answered.how != How::Exited(0) {
                if self.is_lost || answered.reason == Some(Reason::Quit) {
                    break;
                }
                continue;
            }
            match verify::verdict(&answered.output) {
                Verdict::Pass => return Ok(Some(Semantic::Pass)),
                Verdict::Fail(reason) => {
                    product.problems.push(format!("the evaluator: {reason}"));
                    return Ok(Some(Semantic::Fail));
                }
                Verdict::Unclear => {}
            }
        }
        Ok(None)
    }
}

/// Puts a folder that was found in its place; what was in the way otherwise.
fn put(folder: &mut PathBuf, found: Result<PathBuf, Refusal>) -> Option<String> {
    match found {
        Ok(found) => {
            *folder = found;
            None
        }
        Err(refusal) => Some(refusal.message),
    }
}

/// The brief that opened a thread.
pub(super) fn brief_of(shown: &Shown) -> Option<Brief> {
    let payload = &shown.messages.first()?.payload_json;
    if payload["type"] != "brief" {
        return None;
    }
    match inbox_wire::parse(payload).ok()?.into_payload() {
        Payload::Brief(brief) => Some(brief),
        _ => None,
    }
}

/// Whether the agent's last question has no answer after it.
pub(super) fn is_unanswered(shown: &Shown, agent: &str) -> bool {
    let is_question =
        |message: &&Message| message.kind == Kind::Question && message.from_agent.as_str() == agent;
    let Some(asked) = shown.messages.iter().rfind(is_question) else {
        return false;
    };
    let answers = [Kind::Answer, Kind::Control, Kind::Result];
    !shown.messages.iter().any(|message| {
        message.message_id > asked.message_id
            && (answers.contains(&message.kind) && message.from_agent.as_str() != agent
                || message.kind == Kind::Progress && message.from_agent.as_str() == agent)
    })
}
