//! `ask`: a question, and the wait for its answer.

use inbox_core::{Kind, Refusal, limit};
use inbox_ops::{Caller, Operation, Read, Reply, Send, Update, WaitReply, Waiting};
use inbox_store::bell::Key;
use serde_json::json;

use super::args::Args;
use super::{Told, run};
use crate::mcp::desk::{Desk, Ending, Proof};
use crate::mcp::ground::{Ground, Polled};
use crate::mcp::look::Seen;
use crate::mcp::text;

pub(super) async fn ask(
    desk: &Desk,
    mut args: Args,
    meanwhile: impl Future<Output = Ending>,
) -> Result<Told, Refusal> {
    let until = args.until(desk.patience);
    let question = args.take("question");
    let after = args.take("after_event");
    let mut proof = args.proof.clone();
    let mut thread = args.thread;
    let mut asked = None;
    if let Some(question) = question {
        args.set("summary", question.clone());
        let posted = if thread.is_some() && proof.lease.is_some() {
            args.set("status", "blocked");
            run::<Update>(desk, &args).await?
        } else {
            args.set("kind", Kind::Question.name());
            if thread.is_some() {
                run::<Reply>(desk, &args).await?
            } else {
                let subject: String = question
                    .as_str()
                    .unwrap_or_default()
                    .chars()
                    .take(limit::SUBJECT)
                    .collect();
                args.set("subject", subject);
                run::<Send>(desk, &args).await?
            }
        };
        thread = Some(posted.thread.thread_id);
        asked = Some(posted.message.message_id);
    } else if args.map.keys().any(|name| name != "thread") {
        return Err(Refusal::input("missing field `question`")
            .hint("ask with thread_id alone goes on waiting for an answer"));
    }
    let Some(thread) = thread else {
        return Err(Refusal::input("ask in which thread, or whom?")
            .hint("ask with thread_id, or with to_agent for a new thread"));
    };
    let mut wait = json!({ "thread": thread });
    // An answer to what was just asked comes after it, wherever the model had been.
    if let Some(after) = after.filter(|_| asked.is_none()) {
        wait["after_event"] = after;
    }
    let request: WaitReply =
        serde_json::from_value(wait).map_err(|error| Refusal::from_carried(&error.to_string()))?;
    // The question was one effect; the wait has none to repeat.
    proof.key = None;
    let by = Proof {
        lease: None,
        ..proof.clone()
    };
    let mut polled = Polled::new(request);
    let look = move |ground: &Ground<'_>, caller: &Caller| {
        let waited = polled.look(ground, caller)?;
        Ok(Seen {
            is_over: WaitReply::is_over(&waited),
            answer: waited,
            wake_at: polled.wake_at(),
        })
    };
    let key = move |_: &Caller| Key::Thread(thread);
    let waited = desk.wait(proof, until, key, look, meanwhile).await;
    desk.ended(WaitReply::NAME, waited.is_err(), None);
    let waited = waited.map_err(|refusal| refusal.detail("thread_id", thread.to_string()))?;
    if let Some(message) = waited.message.as_ref().filter(|_| text::is_whole(&waited)) {
        // What was handed over is no news. A token that may only look leaves it as it is.
        let seen = Read {
            message: vec![message.message_id],
            ..Read::default()
        };
        let _ = desk.run(by, seen).await;
    }
    let told = Told::new(WaitReply::NAME, &waited, text::of_waited(&waited, thread))?;
    Ok(match asked {
        Some(message) => told.with(
            "asked",
            json!({ "thread_id": thread, "message_id": message }),
        ),
        None => told,
    })
}
