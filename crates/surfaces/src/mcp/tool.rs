//! The tools: arguments become an operation's request, and its answer becomes text and JSON.
//!
//! An argument that an operation has by another name is renamed, and every other one is handed on as it is:
//! what an operation does not know, it refuses itself.

mod args;
mod ask;

use std::task::Poll;
use std::time::{Duration, Instant};

use inbox_core::{Code, Kind, Refusal};
use inbox_ops::{
    Ack, Acked, Answer, Caller, Cancel, Claim, Done, Effect, Fail, Fetch, Leased, List, Mail, Note,
    Operation, Posted, Read, Release, Renew, Reply, Search, Send, Show, Update,
};
use inbox_store::bell::Key;
use serde_json::{Map, Value, json};

use self::args::Args;
use self::ask::ask;
use super::desk::{Desk, Ending, Proof};
use super::ground::Ground;
use super::look::Seen;
use super::text;

/// What a tool answers.
#[derive(Debug)]
pub(super) struct Told {
    /// For a model.
    pub(super) text: String,
    /// For a program: what the command line prints with `--json`.
    pub(super) json: Value,
}

impl Told {
    fn new<A: Answer>(command: &str, answer: &A, text: String) -> Result<Self, Refusal> {
        let mut object = Map::new();
        object.insert("ok".to_owned(), true.into());
        object.insert("command".to_owned(), command.into());
        if let Value::Object(body) = to_value(answer)? {
            object.extend(body);
        }
        Ok(Told {
            text,
            json: Value::Object(object),
        })
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.json[key] = value;
        self
    }
}

/// Calls a tool; `None` when there is none of this name. `meanwhile` is awaited by what waits.
pub(super) async fn call(
    desk: &Desk,
    name: &str,
    arguments: Map<String, Value>,
    meanwhile: impl Future<Output = Ending>,
) -> Option<Result<Told, Refusal>> {
    let args = match Args::new(desk, arguments) {
        Ok(args) => args,
        Err(refusal) => return Some(Err(refusal)),
    };
    let thread = args.thread;
    let meanwhile = lasting(meanwhile);
    let told = match name {
        "check_inbox" => check_inbox(desk, args, meanwhile).await,
        "send_message" => send_message(desk, args).await,
        "post_note" => post_note(desk, args).await,
        "reply" => post::<Reply>(desk, args).await,
        "ask" => ask(desk, args, meanwhile).await,
        "claim_work" => claim_work(desk, args, meanwhile).await,
        "update_work" => update_work(desk, args).await,
        "show_threads" => show_threads(desk, args).await,
        _ => return None,
    };
    if let (Err(refusal), Some(thread)) = (&told, thread)
        && refusal.code == Code::LeaseLost
    {
        desk.leases.forget(thread);
    }
    Some(told)
}

/// The same future, which may be awaited again after it has ended, and then ends in the same way.
fn lasting(f: impl Future<Output = Ending>) -> impl Future<Output = Ending> {
    let mut f = Box::pin(f);
    let mut ended = None;
    std::future::poll_fn(move |context| {
        if ended.is_none()
            && let Poll::Ready(ending) = f.as_mut().poll(context)
        {
            ended = Some(ending);
        }
        ended.map_or(Poll::Pending, Poll::Ready)
    })
}

fn to_value(answer: &impl serde::Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(answer).map_err(|error| {
        Refusal::new(
            Code::Internal,
            format!("the answer cannot be written as JSON: {error}"),
        )
    })
}

/// Runs an operation as it stands in the arguments.
async fn run<O>(desk: &Desk, args: &Args) -> Result<O::Answer, Refusal>
where
    O: Operation + std::marker::Send + 'static,
    O::Answer: std::marker::Send + 'static,
{
    desk.run::<O>(args.proof.clone(), args.request()?).await
}

/// An operation that writes a message.
async fn post<O>(desk: &Desk, args: Args) -> Result<Told, Refusal>
where
    O: Operation<Answer = Posted> + std::marker::Send + 'static,
{
    let posted = run::<O>(desk, &args).await?;
    if posted.thread.status.is_final() {
        desk.leases.forget(posted.thread.thread_id);
    }
    Told::new(O::NAME, &posted, text::of_posted(&posted))
}

async fn send_message(desk: &Desk, mut args: Args) -> Result<Told, Refusal> {
    // Mail unless it says that it is work, as in the view that plain SQL clients write to.
    if ["kind", "thread", "brief"]
        .iter()
        .all(|name| !args.map.contains_key(*name))
    {
        args.set("kind", Kind::Event.name());
    }
    post::<Send>(desk, args).await
}

async fn post_note(desk: &Desk, mut args: Args) -> Result<Told, Refusal> {
    if !args.map.contains_key("ref") {
        let mut part = |name: &str| match args.take(name) {
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(Refusal::input(format!(
                "{name} is {other}, which is no text"
            ))),
            None => Err(Refusal::input(format!("missing field `{name}`"))),
        };
        let entity = format!("{}:{}", part("entity_type")?, part("entity_id")?);
        args.set("ref", entity);
    }
    post::<Note>(desk, args).await
}

async fn check_inbox(
    desk: &Desk,
    mut args: Args,
    meanwhile: impl Future<Output = Ending>,
) -> Result<Told, Refusal> {
    let ack = args.take("ack");
    let request: Read = args.request()?;
    let acked: Option<Acked> = match ack {
        Some(Value::Array(ids)) if ids.is_empty() => None,
        Some(ids) => {
            let ids = if ids.is_array() { ids } else { json!([ids]) };
            let handled: Ack = serde_json::from_value(json!({ "message": ids }))
                .map_err(|error| Refusal::from_carried(&error.to_string()))?;
            Some(desk.run(args.proof.clone(), handled).await?)
        }
        None => None,
    };
    let until = args.until(Duration::ZERO);
    let peek = Read {
        peek: true,
        ..request.clone()
    };
    let mut mail = read_affordable(desk, &args, &request).await?;
    let mut meanwhile = std::pin::pin!(meanwhile);
    while !mail.is_something() && Instant::now() < until {
        let look = looking(peek.clone());
        let proof = args.proof.clone();
        let seen = desk.wait(proof, until, for_caller, look, meanwhile.as_mut());
        mail = seen.await?;
        if !mail.is_something() {
            break;
        }
        mail = read_affordable(desk, &args, &request).await?;
    }
    let told = Told::new(Read::NAME, &mail, text::of_mail(&mail))?;
    Ok(match acked {
        Some(acked) => told.with("acked", to_value(&acked.acked)?),
        None => told,
    })
}

/// Reads as much as can be shown, so that nothing counts as read that was not.
async fn read_affordable(desk: &Desk, args: &Args, request: &Read) -> Result<Mail, Refusal> {
    let peek = Read {
        peek: true,
        ..request.clone()
    };
    let effect = Effect::Read;
    let proof = args.proof.clone();
    let peeked = desk
        .stand(effect, proof, move |ground, caller| {
            ground.run(&peek, caller)
        })
        .await?;
    let count = text::affordable(&peeked.messages);
    let is_whole = count >= peeked.messages.len();
    if !peeked.is_something() || request.peek && is_whole {
        return Ok(peeked);
    }
    let request = Read {
        limit: i64::try_from(count).ok(),
        ..request.clone()
    };
    desk.run(args.proof.clone(), request).await
}

/// Looks with an operation until it finds something.
fn looking<O: Operation>(
    request: O,
) -> impl FnMut(&Ground<'_>, &Caller) -> Result<Seen<O::Answer>, Refusal> {
    move |ground, caller| {
        let answer = ground.look(&request, caller)?;
        Ok(Seen {
            is_over: answer.is_something(),
            answer,
            wake_at: None,
        })
    }
}

/// What rings for a caller.
fn for_caller(caller: &Caller) -> Key {
    caller.agent.as_ref().map_or(Key::Any, Key::from)
}

async fn claim_work(
    desk: &Desk,
    mut args: Args,
    meanwhile: impl Future<Output = Ending>,
) -> Result<Told, Refusal> {
    // A token proves an older claim, and none can be made with it.
    args.proof.lease = None;
    let until = args.until(Duration::ZERO);
    let mut leased = run::<Claim>(desk, &args).await?;
    let mut meanwhile = std::pin::pin!(meanwhile);
    while !leased.is_something() && Instant::now() < until {
        let look = looking(Fetch {
            limit: Some(1),
            ..Fetch::default()
        });
        let proof = args.proof.clone();
        let seen = desk.wait(proof, until, for_caller, look, meanwhile.as_mut());
        let found = seen.await?;
        leased.next_event_id = found.next_event_id;
        if !found.is_something() {
            break;
        }
        // Another may have been faster.
        leased = run::<Claim>(desk, &args).await?;
    }
    let mut shown = None;
    let mut is_kept = true;
    if let (Some(thread), Some(lease)) = (&leased.thread, &leased.lease) {
        is_kept = lease
            .lease_token
            .is_none_or(|token| desk.leases.keep(token));
        let show = Show::of(thread.thread_id);
        shown = desk.run(Proof::default(), show).await.ok();
    }
    let text = text::of_leased(&leased, shown.as_ref(), is_kept);
    Told::new(Claim::NAME, &leased, text)
}

/// Takes back what a call did that was cancelled while it was answered: nobody heard of having the work.
pub(super) async fn take_back(desk: &Desk, told: Result<Told, Refusal>) {
    let Ok(told) = told else { return };
    let leased = serde_json::from_value::<Leased>(told.json).ok();
    let Some(lease) = leased.and_then(|leased| leased.lease) else {
        return;
    };
    desk.leases.forget(lease.thread_id);
    let proof = Proof {
        lease: lease.lease_token,
        ..Proof::default()
    };
    let release = Release {
        thread: lease.thread_id,
    };
    // What cannot be given back comes back when its lease ends.
    let _ = desk.run(proof, release).await;
}

async fn update_work(desk: &Desk, mut args: Args) -> Result<Told, Refusal> {
    let status = args.take("status");
    match status.as_ref().and_then(Value::as_str) {
        None if status.is_none() && args.map.contains_key("lease_seconds") => {
            let leased = run::<Renew>(desk, &args).await?;
            Told::new(Renew::NAME, &leased, text::of_leased(&leased, None, true))
        }
        Some("done") => post::<Done>(desk, args).await,
        Some("failed") => post::<Fail>(desk, args).await,
        Some("released") => {
            let released = run::<Release>(desk, &args).await?;
            desk.leases.forget(released.thread.thread_id);
            let text = format!("{} {}\n", released.thread.thread_id, released.thread.status);
            Told::new(Release::NAME, &released, text)
        }
        Some("cancelled") => {
            if let Some(reason) = args.take("summary") {
                args.set("reason", reason);
            }
            post::<Cancel>(desk, args).await
        }
        _ => {
            if let Some(status) = status {
                args.set("status", status);
            }
            post::<Update>(desk, args).await
        }
    }
}

async fn show_threads(desk: &Desk, mut args: Args) -> Result<Told, Refusal> {
    let offset = match args.take("offset") {
        None => 0,
        Some(value) => value
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
            .ok_or_else(|| Refusal::input(format!("offset is {value}, which is no count")))?,
    };
    if let Some(Value::String(words)) = args.map.get("status") {
        let words: Vec<Value> = words.split(',').map(|word| word.trim().into()).collect();
        args.set("status", words);
    }
    if args.thread.is_some() || args.map.contains_key("ref") || args.map.contains_key("thread") {
        let shown = run::<Show>(desk, &args).await?;
        Told::new(Show::NAME, &shown, text::of_answer(&shown, offset))
    } else if args.map.contains_key("query") {
        let found = run::<Search>(desk, &args).await?;
        Told::new(Search::NAME, &found, text::of_answer(&found, offset))
    } else {
        let threads = run::<List>(desk, &args).await?;
        Told::new(List::NAME, &threads, text::of_answer(&threads, offset))
    }
}
