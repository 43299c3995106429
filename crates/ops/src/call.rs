//! How an operation is called: by whom, on what, and how often it takes effect.

use std::time::{Duration, Instant};

use inbox_core::sabotage::planted;
use inbox_core::{
    AgentName, Auth, Code, Label, LeaseToken, Refusal, Scope, Session, SessionId, name,
};
use inbox_store::bell::Key;
use inbox_store::{Abort, Asking, Foresight, Store, Tx};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::answer::Answer;
use crate::config::Config;
use crate::lock;

/// What an operation does to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It changes nothing.
    Read,
    /// It writes; `--key` makes a retry safe, `--lease` proves a claim.
    Write,
    /// It changes nothing and blocks until there is something.
    Wait,
}

/// Whether an operation needs to know who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// Without an agent it is refused.
    Required,
    /// It does more for a known agent.
    Optional,
    /// It does not ask; an `agent` among its fields is an ordinary filter.
    Ignored,
}

/// A request that can be carried out.
pub trait Operation: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// Its name on every surface.
    const NAME: &'static str;
    /// What it does to the store.
    const EFFECT: Effect;
    /// Whether it needs to know who calls.
    const IDENTITY: Identity;
    /// What it answers.
    type Answer: Answer;
    /// Whether a reserved name may call it: those that only look into the person's inbox.
    const FOR_RESERVED: bool = false;
    /// What a token must allow, where it is more than its effect says.
    const SCOPE: Option<Scope> = None;
    /// Whether it writes in parts, with others in between: what may take minutes shares no commit with theirs.
    const IS_LONG: bool = false;

    /// Carries it out.
    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Self::Answer, Refusal>;

    /// Adds to an answer that came as JSON what is not in it.
    fn completed(&self, answer: Self::Answer) -> Self::Answer {
        answer
    }

    /// Says what a write will ask for first, beside who calls.
    fn foresee(&self, _caller: &Caller, _foresight: &mut Foresight<'_>) {}
}

/// An operation that waits: a poll, around which each surface does its own waiting.
pub trait Waiting: Operation {
    /// What one wait remembers between its polls: where it began.
    type State: Default + Send + 'static;

    /// What to listen for.
    fn key(&self, caller: &Caller) -> Key;

    /// How long to wait at the most; `None` without end.
    fn timeout(&self) -> Option<Duration>;

    /// Looks once.
    fn poll(
        &self,
        state: &mut Self::State,
        inbox: &Inbox,
        caller: &Caller,
    ) -> Result<Self::Answer, Refusal>;

    /// Whether an answer ends the wait.
    fn is_over(answer: &Self::Answer) -> bool;

    /// When the wait must look again although nothing rang, by this process's own count of time: its clock
    /// and the store's may tell different days.
    fn wake_at(_state: &Self::State) -> Option<Instant> {
        None
    }

    /// Tells the wait that whoever started it is gone, so that it keeps nothing alive on its behalf.
    fn orphan(_state: &mut Self::State) {}

    /// Whether each answer is only one of many, as in following a log.
    fn is_stream(&self) -> bool {
        false
    }
}

/// Who calls, as the surface established it.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The agent.
    pub agent: Option<AgentName>,
    /// Its session.
    pub session: Option<SessionId>,
    /// The proof of its claim.
    pub lease: Option<LeaseToken>,
    /// What makes a retry of this call have one effect.
    pub key: Option<Label>,
    /// How the sender was established.
    pub auth: Auth,
    /// Whether it may act on threads that are not its own.
    pub may_override: bool,
    /// Whether it may write: who may only read keeps no lease alive by waiting.
    pub may_write: bool,
}

impl Caller {
    /// A caller on the local command line: it is who it says, and says so unverified.
    pub fn local(agent: Option<AgentName>) -> Self {
        Caller {
            agent,
            session: None,
            lease: None,
            key: None,
            auth: Auth::Local,
            may_override: true,
            may_write: true,
        }
    }

    /// The agent, or the refusal that asks for it.
    pub fn agent(&self) -> Result<&AgentName, Refusal> {
        self.agent.as_ref().ok_or_else(|| match &self.session {
            // A session that is known has said who it is before this.
            Some(id) => unknown_session(id),
            None => Refusal::input("who is calling? no agent was named")
                .hint("pass --agent NAME, or set INBOX_AGENT"),
        })
    }

    /// The caller of a write, as `agent`: the name it gave, or the one that its token proved.
    pub(crate) fn asking_as(&self, agent: &AgentName) -> Asking {
        Asking {
            agent: Some(agent.clone()),
            ..self.asking()
        }
    }

    pub(crate) fn asking(&self) -> Asking {
        Asking {
            agent: self.agent.clone(),
            session: self.session.clone(),
            token: self.lease,
            may_override: self.may_override,
        }
    }
}

/// The operations' view of a store.
pub struct Inbox {
    store: Store,
    config: Config,
}

impl Inbox {
    /// The operations on this store.
    pub fn new(store: Store) -> Self {
        Inbox {
            store,
            config: Config::default(),
        }
    }

    /// The same, as configured.
    pub fn with_config(self, config: Config) -> Self {
        let dead_after = config.presence.dead_after_minutes.saturating_mul(60_000);
        Inbox {
            store: self.store.with_dead_after(dead_after),
            config,
        }
    }

    /// How it is configured.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The caller without a session that only the environment named and that is somebody else's: who says its
    /// name in another's shell is who it says.
    pub fn without_anothers_session(&self, caller: Caller) -> Result<Caller, Refusal> {
        let (Some(agent), Some(session)) = (&caller.agent, &caller.session) else {
            return Ok(caller);
        };
        let found = self.store.read(|tx| Ok(tx.session(session)?))?;
        let is_anothers = found.is_some_and(|row| row.session.agent_id != *agent);
        Ok(Caller {
            session: caller.session.clone().filter(|_| !is_anothers),
            ..caller
        })
    }

    /// The caller with its name, where only its session says who it is.
    pub fn introduce(&self, caller: Caller) -> Result<Caller, Refusal> {
        let (None, None, Some(session)) = (&caller.agent, &caller.lease, &caller.session) else {
            return Ok(caller);
        };
        let found = self.store.read(|tx| Ok(tx.session(session)?))?;
        Ok(Caller {
            agent: found.map(|row| row.session.agent_id),
            ..caller
        })
    }

    /// The caller with a session that only the client around it named, if that is on the roster and the caller's:
    /// whoever says its name is who it says.
    pub fn with_known_session(&self, caller: Caller) -> Result<Caller, Refusal> {
        let Some(id) = &caller.session else {
            return Ok(caller);
        };
        let found = self.session(id)?;
        let is_own = found.is_some_and(|session| {
            let agent = caller.agent.as_ref();
            agent.is_none_or(|agent| *agent == session.agent_id)
        });
        Ok(Caller {
            session: caller.session.clone().filter(|_| is_own),
            ..caller
        })
    }

    /// The session with this id, if it is on the roster.
    pub fn session(&self, id: &SessionId) -> Result<Option<Session>, Refusal> {
        let found = self.store.read(|tx| Ok(tx.session(id)?))?;
        Ok(found.map(|row| row.session))
    }

    /// Writes down that the caller's session is still there.
    pub fn beat(&self, caller: &Caller) -> Result<(), Refusal> {
        let (Some(agent), Some(session)) = (&caller.agent, &caller.session) else {
            return Ok(());
        };
        self.store
            .write(|tx| Ok(tx.see(agent, Some(session))?))
            .map(drop)
    }

    /// Runs `f` on one consistent snapshot, after what plain SQL clients wrote has been taken in.
    pub(crate) fn read<T>(
        &self,
        mut f: impl FnMut(&mut Tx<'_>) -> Result<T, Abort>,
    ) -> Result<T, Refusal> {
        loop {
            let found = self.store.read_foreseeing(
                |foresight| foresight.intake(),
                |tx| {
                    if tx.intake_waits()? {
                        return Ok(None);
                    }
                    f(tx).map(Some)
                },
            )?;
            match found {
                Some(found) => return Ok(found),
                None => self.take_in()?,
            }
        }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Runs `f`, in which all writes share one commit: what each answered holds once this is `Ok`, and otherwise nothing of
    /// it happened. Nobody else can use the store meanwhile.
    pub fn share<T>(&mut self, f: impl FnOnce(&Inbox) -> T) -> Result<T, Refusal> {
        self.store.begin_sharing()?;
        let value = f(self);
        self.store.end_sharing()?;
        Ok(value)
    }

    /// Ends without a trace what a fault of the program has left of a shared commit.
    pub fn recover(&mut self) {
        self.store.recover();
    }

    /// Runs a write: who calls is established, a keyed retry gives the first answer, and otherwise `f`
    /// decides and writes in one transaction.
    pub(crate) fn write<O: Operation>(
        &self,
        request: &O,
        caller: &Caller,
        mut f: impl FnMut(&mut Tx<'_>, &AgentName) -> Result<O::Answer, Abort>,
    ) -> Result<O::Answer, Refusal> {
        let digest = match &caller.key {
            Some(_) => Some(digest(request)?),
            None => None,
        };
        let foresee = |foresight: &mut Foresight<'_>| {
            foresight.intake();
            if let Some(session) = &caller.session {
                foresight.session(session);
            }
            if let Some(agent) = &caller.agent {
                foresight.agent(agent);
            }
            request.foresee(caller, foresight);
        };
        let mut once = |tx: &mut Tx<'_>| {
            if tx.intake_waits()? {
                return Ok(None);
            }
            let Some(agent) = identify(tx, caller)? else {
                // A token of no claim proves nobody. The rules still speak first: a thread that is
                // missing or final is so for everybody. Nothing that they allow is kept.
                f(tx, &nobody()?)?;
                return Err(never_made().into());
            };
            lock::must_be_proven(tx, caller, &agent)?;
            if let (Some(key), Some(digest)) = (&caller.key, &digest)
                && let Some(replay) = tx.recall(&agent, key.as_str())?
            {
                if replay.digest != *digest {
                    return Err(Refusal::new(
                        Code::KeyConflict,
                        format!("{agent} has used the key {key} for another command"),
                    )
                    .hint(
                        "a retry must repeat the command exactly; a new command needs a new --key",
                    )
                    .into());
                }
                let answer = serde_json::from_str(&replay.answer).map_err(unreadable)?;
                return Ok(Some((answer, Some(replay.entry_no))));
            }
            if !O::FOR_RESERVED {
                must_be_free(tx, &agent)?;
            }
            tx.see(&agent, caller.session.as_ref())?;
            let answer = f(tx, &agent)?;
            if let (Some(key), Some(digest)) = (&caller.key, &digest)
                && answer.is_something()
                && !planted("key_forgotten")
            {
                let text = serde_json::to_string(&answer).map_err(unreadable)?;
                tx.remember(&agent, key.as_str(), digest, &text)?;
            }
            Ok(Some((answer, None)))
        };
        let (written, (mut answer, replayed)) = loop {
            let mut written = match self.store.write_foreseeing(foresee, &mut once) {
                Err(refusal) if refusal.code == Code::LoopGuard => {
                    return Err(self.tell_human(refusal));
                }
                written => written?,
            };
            match written.value.take() {
                Some(value) => break (written, value),
                None => self.take_in()?,
            }
        };
        answer.go_on_at(match replayed {
            Some(entry_no) => self.store.event_of(entry_no)?,
            None => written.next_event_id,
        });
        Ok(answer)
    }

    /// An empty answer is only given by a sound store; a damaged one can look empty.
    pub(crate) fn confirm_empty(&self) -> Result<(), Refusal> {
        self.store.confirm_empty().map_err(Into::into)
    }
}

/// Who calls: the agent it names, the one whose claim its token proves, if it was ever made, or the one
/// whose session it is.
fn identify(tx: &mut Tx<'_>, caller: &Caller) -> Result<Option<AgentName>, Abort> {
    match (&caller.agent, &caller.lease, &caller.session) {
        (Some(agent), ..) => {
            must_be_own_session(tx, caller)?;
            Ok(Some(agent.clone()))
        }
        (None, Some(token), _) => Ok(tx.agent_of_token(token)?),
        (None, None, _) => caller_by_session(tx, caller).map(Some),
    }
}

/// Refuses an agent that names another's session.
pub(crate) fn must_be_own_session(tx: &mut Tx<'_>, caller: &Caller) -> Result<(), Abort> {
    let (Some(agent), Some(id)) = (&caller.agent, &caller.session) else {
        return Ok(());
    };
    let owner = tx.session(id)?.map(|row| row.session.agent_id);
    match owner.filter(|owner| owner != agent) {
        None => Ok(()),
        Some(owner) => Err(Refusal::input(format!(
            "the session {id} is {owner}'s, and {agent} is calling"
        ))
        .hint("pass one of --agent and --session, or those that belong together")
        .into()),
    }
}

fn caller_by_session(tx: &mut Tx<'_>, caller: &Caller) -> Result<AgentName, Abort> {
    let Some(id) = &caller.session else {
        return Ok(caller.agent().cloned()?);
    };
    match tx.session(id)? {
        Some(row) => Ok(row.session.agent_id),
        None => Err(unknown_session(id).into()),
    }
}

fn unknown_session(id: &SessionId) -> Refusal {
    Refusal::input(format!(
        "who is calling? no agent was named, and the session {id} is not on the roster"
    ))
    .hint("pass --agent NAME, or begin the session with inbox session start --agent NAME")
}

/// Refuses names that belong to the person, to inbox itself, or to everybody, and what looks like them.
pub(crate) fn must_be_free(tx: &mut Tx<'_>, name: &AgentName) -> Result<(), Abort> {
    if let Some(account) = name.account() {
        return Err(Refusal::new(
            Code::NotAllowed,
            format!("{name} is whoever has the account {account}, and speaks only on the ledger"),
        )
        .hint("inbox hcs say TOPIC TEXT says it there, with the account's key")
        .into());
    }
    let Some(reserved) = name::reserved(name.as_str()) else {
        return Ok(());
    };
    // An older store may have an agent whose name only looks like a reserved one.
    if name.as_str() != reserved && tx.agent(name)?.is_some() {
        return Ok(());
    }
    let problem = if name.as_str() == reserved {
        format!("{name} is a reserved name: nobody on the command line may speak as it")
    } else {
        format!("{name} looks like the reserved name {reserved}")
    };
    Err(Refusal::new(Code::NotAllowed, problem)
        .hint("inbox agent add NAME --kind human makes a person's own name; call with that")
        .into())
}

fn nobody() -> Result<AgentName, Refusal> {
    "nobody".parse()
}

fn never_made() -> Refusal {
    Refusal::new(
        Code::LeaseLost,
        "this lease token is of no claim that was ever made here",
    )
    .hint("pass the lease_token of inbox claim, on the store that gave it")
}

/// What makes two requests the same: the operation and every field.
fn digest<O: Operation>(request: &O) -> Result<String, Refusal> {
    let text = serde_json::to_string(request)
        .map_err(|error| Refusal::new(Code::Internal, error.to_string()))?;
    let mut hash = Sha256::new();
    hash.update(O::NAME.as_bytes());
    hash.update(b"\n");
    hash.update(text.as_bytes());
    Ok(hash
        .finalize()
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

fn unreadable(error: serde_json::Error) -> Abort {
    Refusal::new(
        Code::Internal,
        format!("a remembered answer cannot be read: {error}"),
    )
    .into()
}
