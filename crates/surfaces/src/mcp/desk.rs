//! Who calls and on what: the caller of one connection, the leases kept for it, and the engine that runs it.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use inbox_core::sabotage::planted;
use inbox_core::{AgentName, Code, Label, LeaseToken, Refusal, Scope, ThreadId};
use inbox_ops::{Caller, Effect, Inbox, Operation};
use inbox_store::bell::Key;
use tokio::sync::oneshot;

use super::ground::Ground;
use super::look::{Look, Seen, Wait};
use super::there::There;

/// Something to be done on a store, or to be told why it cannot be.
pub type Job = Box<dyn FnOnce(Result<&Inbox, Refusal>) -> Answered + Send>;

/// What a job did, and where to say so: what was written counts once it is committed.
pub type Answered = Box<dyn FnOnce(Result<(), Refusal>) + Send>;

/// Where operations run, so that the protocol never waits for a disk.
pub trait Engine: Send + Sync + 'static {
    /// Runs a job soon, on a thread that may block.
    fn run(&self, effect: Effect, job: Job) -> Result<(), Refusal>;

    /// Looks, and again whenever something may have happened, until the look says that it is over.
    fn wait(&self, look: Box<dyn Look>);

    /// Hears that an operation ended, and how long it took unless it waits: for those who count.
    fn ended(&self, _name: &'static str, _is_refused: bool, _took: Option<Duration>) {}
}

/// How many leases are kept for one caller.
const KEPT: usize = 256;

/// The leases that a caller has taken, so that no model needs to copy a token.
#[derive(Clone, Default)]
pub struct Leases(Option<Arc<Mutex<Held>>>);

type Held = Vec<(ThreadId, LeaseToken)>;

impl Leases {
    /// Keeps leases for as long as the value and its clones live.
    pub fn kept() -> Self {
        Leases(Some(Arc::default()))
    }

    /// Keeps none: two who call under one name could not be told apart, and one would write with the other's.
    pub fn none() -> Self {
        Leases(None)
    }

    fn held(&self) -> Option<MutexGuard<'_, Held>> {
        let held = self.0.as_ref()?;
        Some(held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps a lease. Whether it did.
    pub(super) fn keep(&self, token: LeaseToken) -> bool {
        let Some(mut held) = self.held() else {
            return false;
        };
        held.retain(|(thread, _)| *thread != token.thread);
        held.push((token.thread, token));
        if held.len() > KEPT {
            held.remove(0);
        }
        true
    }

    pub(super) fn of(&self, thread: ThreadId) -> Option<LeaseToken> {
        let held = self.held()?;
        let mut held = held.iter();
        held.find(|(other, _)| *other == thread)
            .map(|(_, token)| *token)
    }

    pub(super) fn forget(&self, thread: ThreadId) {
        if let Some(mut held) = self.held() {
            held.retain(|(other, _)| *other != thread);
        }
    }
}

/// The caller as the surface established it.
#[derive(Debug, Clone)]
pub struct Who {
    /// The caller.
    pub caller: Caller,
    /// Whether only the client around it names the session, which then counts if it is on the roster.
    pub is_clients_session: bool,
    /// Whether its name was given with a flag, which is stronger than a session of the environment.
    pub is_agent_named: bool,
}

/// What one call says about who makes it.
#[derive(Debug, Clone, Default)]
pub(super) struct Proof {
    pub(super) lease: Option<LeaseToken>,
    pub(super) key: Option<Label>,
    /// Who the arguments say is sending.
    pub(super) from: Option<AgentName>,
}

/// Where a desk stands.
#[derive(Clone)]
enum Base {
    Store(Arc<dyn Engine>),
    Server(There),
}

/// One caller's place at the server.
#[derive(Clone)]
pub struct Desk {
    base: Base,
    who: Who,
    /// What it may do; everything, when nobody said.
    scopes: Option<Vec<Scope>>,
    pub(super) leases: Leases,
    pub(super) patience: Duration,
}

impl Desk {
    /// A desk for this caller. Handlers that serve the same caller share its leases.
    pub fn new(engine: Arc<dyn Engine>, who: Who, leases: Leases) -> Self {
        Desk::on(Base::Store(engine), who, leases)
    }

    /// The same, for a caller of a server, which decides by itself what it allows.
    pub(super) fn at(there: There, who: Who, leases: Leases) -> Self {
        Desk::on(Base::Server(there), who, leases)
    }

    fn on(base: Base, who: Who, leases: Leases) -> Self {
        Desk {
            base,
            who,
            scopes: None,
            leases,
            patience: super::PATIENCE,
        }
    }

    /// The same, for a caller that may do only so much.
    pub fn with_scopes(self, scopes: Vec<Scope>) -> Self {
        Desk {
            scopes: Some(scopes),
            ..self
        }
    }

    /// The same, with another length of waits that nobody gave one.
    pub fn with_patience(self, patience: Duration) -> Self {
        Desk { patience, ..self }
    }

    /// Runs an operation, as this caller.
    pub(super) async fn run<O>(&self, proof: Proof, request: O) -> Result<O::Answer, Refusal>
    where
        O: Operation + Send + 'static,
        O::Answer: Send + 'static,
    {
        let scope = O::SCOPE.unwrap_or(match O::EFFECT {
            Effect::Write => Scope::Write,
            Effect::Read | Effect::Wait => Scope::Read,
        });
        let begun = Instant::now();
        let ran = match self.must_allow(scope) {
            Err(refusal) => Err(refusal),
            Ok(()) => {
                let run = move |ground: &Ground<'_>, caller: &Caller| ground.run(&request, caller);
                self.stand(O::EFFECT, proof, run).await
            }
        };
        let took = (O::EFFECT != Effect::Wait).then(|| begun.elapsed());
        self.ended(O::NAME, ran.is_err(), took);
        ran
    }

    /// Counts an operation that was carried out in another way than by [`Desk::run`].
    pub(super) fn ended(&self, name: &'static str, is_refused: bool, took: Option<Duration>) {
        if let Base::Store(engine) = &self.base {
            engine.ended(name, is_refused, took);
        }
    }

    fn must_allow(&self, scope: Scope) -> Result<(), Refusal> {
        match &self.scopes {
            Some(scopes) if !scopes.contains(&scope) => Err(Refusal::new(
                Code::NotAllowed,
                format!("this token does not allow {scope}"),
            )
            .hint(format!(
                "inbox token create --scope {scope}, where the server runs"
            ))),
            _ => Ok(()),
        }
    }

    /// Runs `f` where the desk stands, as this caller.
    pub(super) async fn stand<T: Send + 'static>(
        &self,
        effect: Effect,
        proof: Proof,
        f: impl FnOnce(&Ground<'_>, &Caller) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let who = self.who.clone();
        let engine = match &self.base {
            Base::Store(engine) => engine,
            Base::Server(there) => return there.on(announced(who, proof), f).await,
        };
        let (tell, told) = oneshot::channel();
        let job: Job = Box::new(move |inbox| {
            let did = inbox.and_then(|inbox| {
                let caller = introduced(inbox, who, proof)?;
                f(&Ground::Store(inbox), &caller)
            });
            Box::new(move |committed| {
                // Whoever asked may have gone.
                let _ = tell.send(committed.and(did));
            })
        });
        engine.run(effect, job)?;
        told.await.unwrap_or_else(|_| Err(broken()))
    }

    /// Looks with `poll` until it says that it is over, or `until` has come. What it saw last is the answer.
    /// `meanwhile` is awaited beside it and may end the wait.
    pub(super) async fn wait<A: Send + 'static>(
        &self,
        proof: Proof,
        until: Instant,
        key: impl FnOnce(&Caller) -> Key + Send + 'static,
        mut poll: impl FnMut(&Ground<'_>, &Caller) -> Result<Seen<A>, Refusal> + Send + 'static,
        meanwhile: impl Future<Output = Ending>,
    ) -> Result<A, Refusal> {
        self.must_allow(Scope::Read)?;
        let who = self.who.clone();
        let engine = match &self.base {
            Base::Store(engine) => engine,
            Base::Server(there) => {
                let caller = announced(who, proof);
                return there.wait(caller, until, poll, meanwhile).await;
            }
        };
        let (wait, mut told, hurry) = Wait::new(
            until,
            Box::new(move |inbox| {
                let caller = introduced(inbox, who, proof)?;
                Ok((key(&caller), caller))
            }),
            Box::new(move |inbox, caller| poll(&Ground::Store(inbox), caller)),
        );
        engine.wait(Box::new(wait));
        tokio::select! {
            biased;
            answer = &mut told => return answer.unwrap_or_else(|_| Err(broken())),
            ending = meanwhile => match ending {
                Ending::Now => return Err(cancelled()),
                Ending::WithLastLook => hurry.now(),
            }
        }
        told.await.unwrap_or_else(|_| Err(broken()))
    }
}

/// How a wait is ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Nobody wants the answer.
    Now,
    /// The answer is what there is.
    WithLastLook,
}

/// The caller as a server is told of it, which knows it by its token and refuses every other name.
fn announced(who: Who, proof: Proof) -> Caller {
    let caller = who.caller;
    Caller {
        agent: proof.from.or(caller.agent),
        lease: proof.lease.or(caller.lease),
        key: proof.key.or(caller.key),
        ..caller
    }
}

/// The caller as the store knows it.
fn introduced(inbox: &Inbox, who: Who, proof: Proof) -> Result<Caller, Refusal> {
    let mut caller = who.caller;
    if who.is_clients_session {
        caller = inbox.with_known_session(caller)?;
    }
    if who.is_agent_named {
        caller = inbox.without_anothers_session(caller)?;
    }
    let mut caller = inbox.introduce(caller)?;
    if let Some(from) = proof.from.clone().filter(|_| planted("sender_by_argument")) {
        caller.agent = Some(from);
    }
    if let Some(from) = proof.from
        && caller.agent.as_ref() != Some(&from)
    {
        let known = match &caller.agent {
            Some(agent) => format!("{agent} is calling"),
            None => "nobody is known to be calling".to_owned(),
        };
        return Err(Refusal::new(
            Code::NotAllowed,
            format!("from_agent is {from}, and {known}"),
        )
        .hint("leave from_agent out: the sender is who the server was started for"));
    }
    caller.lease = proof.lease.or(caller.lease);
    caller.key = proof.key.or(caller.key);
    Ok(caller)
}

pub(super) fn cancelled() -> Refusal {
    Refusal::new(Code::Internal, "the call was cancelled")
}

pub(super) fn broken() -> Refusal {
    Refusal::new(Code::Internal, "the operation ended without an answer")
}
