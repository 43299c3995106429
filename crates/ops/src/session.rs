//! `session …`: who is there now, and what reaches them.

use inbox_core::text::quoted;
use inbox_core::{
    Address, AgentName, Auth, Code, EventId, Label, Mode, Refusal, Session, SessionId,
    SessionState, limit,
};
use inbox_store::{Abort, SessionRow, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::page::Page;
use crate::read::count_unread;

/// Begin a session: one living instance of the caller
///
/// Its id is --session or INBOX_SESSION, else one is made. Set INBOX_SESSION to it, and the commands that
/// follow are known by it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionStart {
    /// Hold this role; repeat for several
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub role: Vec<String>,
    /// Have this tag, such as project:NAME; repeat for several
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tag: Vec<String>,
    /// Say which program it runs in
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Label>,
}

/// Declares a request about one session: the one that is named, else the caller's own. With a state, the
/// operation that sets it; a session that has ended goes on only by beginning again.
macro_rules! one_session {
    ($(#[$doc:meta])* $request:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $request {
            /// The session; the caller's own unless told otherwise
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub id: Option<SessionId>,
        }
    };
    ($(#[$doc:meta])* $request:ident $name:literal, $state:expr) => {
        one_session! { $(#[$doc])* $request }

        impl Operation for $request {
            const NAME: &'static str = $name;
            const EFFECT: Effect = Effect::Write;
            const IDENTITY: Identity = Identity::Optional;
            type Answer = OneSession;

            fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<OneSession, Refusal> {
                let state: fn(SessionState) -> SessionState = $state;
                change(inbox, caller, self, self.id.as_ref(), |row| match row.set_state {
                    SessionState::Dead => Err(ended(row)),
                    was => Ok(state(was)),
                })
            }
        }
    };
}

one_session! {
    /// Say that a session is still there
    SessionBeat "session beat", |was| was
}
one_session! {
    /// Put a session aside: its mail waits and does not age
    SessionFreeze "session freeze", |_| SessionState::Frozen
}
one_session! {
    /// Go on with a session that was put aside
    SessionResume "session resume", |_| SessionState::Alive
}
one_session! {
    /// End a session, and show the mail that it leaves
    ///
    /// What was sent to the session itself and is unread becomes a dead letter; mail to its agent, roles and
    /// tags waits for others.
    SessionEnd
}

/// Change the roles and tags of a session
///
/// --role and --tag replace what it has; --add and --drop change one of them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionSet {
    /// The session; the caller's own unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<SessionId>,
    /// Hold these roles in place of those it has; repeat for several
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub role: Vec<String>,
    /// Have these tags in place of those it has; repeat for several
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tag: Vec<String>,
    /// Take on a role or tag: role:NAME, project:NAME; repeat for several
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<String>,
    /// Give up a role or tag; repeat for several
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<String>,
}

/// List sessions
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionList {
    /// List only sessions of this agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// List only sessions in these states, separated by commas; all but dead ones unless told otherwise
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<SessionState>,
}

/// One session.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OneSession {
    /// The session.
    pub session: Session,
    /// How much it has not read, counted up to 1000.
    pub unread: i64,
    /// The last unread mail of a session that ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<inbox_core::Message>,
    /// Where to go on.
    pub next_event_id: EventId,
}

/// Sessions.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Sessions {
    /// The sessions, oldest first.
    pub sessions: Vec<Session>,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for SessionStart {
    const NAME: &'static str = "session start";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = OneSession;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<OneSession, Refusal> {
        let addresses = labels(&self.role, &self.tag)?;
        let id = match &caller.session {
            Some(id) => id.clone(),
            None => new_id()?,
        };
        inbox.write(self, caller, |tx, agent| {
            let was = tx.session(&id)?;
            let alike: Option<AgentName> = id.as_str().parse().ok();
            let is_agents = match &alike {
                Some(name) if was.is_none() => tx.agent(name)?.is_some(),
                _ => false,
            };
            if is_agents {
                return Err(Refusal::input(format!(
                    "{id} is an agent's name: a session called so would take its mail"
                ))
                .hint("leave --session out, and an id is made")
                .into());
            }
            let client = self.client.as_ref().map(Label::as_str);
            let row = tx.start_session(agent, &id, client)?;
            // A session that is begun again without saying what it is keeps what it was.
            let addresses = match &was {
                Some(was) if addresses.is_empty() => own_labels(was)?,
                _ => addresses.clone(),
            };
            tx.set_memberships(&row, &addresses)?;
            answer(tx, &id, false)
        })
    }
}

impl Operation for SessionSet {
    const NAME: &'static str = "session set";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = OneSession;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<OneSession, Refusal> {
        let id = own(self.id.as_ref(), caller)?;
        must_be_known(inbox, caller, &id)?;
        let (roles, tags) = (labels(&self.role, &[])?, labels(&[], &self.tag)?);
        let (add, drop) = (labels_of(&self.add)?, labels_of(&self.drop)?);
        inbox.write(self, &by_session(caller, &id), |tx, _| {
            let row = own_session(tx, caller, &id)?;
            let mut addresses = own_labels(&row)?;
            for (mode, given) in [(Mode::Role, &roles), (Mode::Tag, &tags)] {
                if !given.is_empty() {
                    addresses.retain(|address| address.mode() != mode);
                    addresses.extend(given.iter().cloned());
                }
            }
            addresses.retain(|address| !drop.contains(address));
            addresses.extend(add.iter().cloned());
            bounded(&addresses)?;
            tx.set_memberships(&row, &addresses)?;
            tx.set_session(&row, row.set_state)?;
            answer(tx, &id, false)
        })
    }
}

impl Operation for SessionEnd {
    const NAME: &'static str = "session end";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = OneSession;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<OneSession, Refusal> {
        let id = own(self.id.as_ref(), caller)?;
        must_be_known(inbox, caller, &id)?;
        inbox.write(self, &by_session(caller, &id), |tx, _| {
            let row = own_session(tx, caller, &id)?;
            let last = answer(tx, &id, true)?;
            tx.set_session(&row, SessionState::Dead)?;
            Ok(OneSession {
                session: session(tx, &id)?.session,
                ..last
            })
        })
    }
}

impl Operation for SessionList {
    const NAME: &'static str = "session list";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Ignored;
    type Answer = Sessions;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Sessions, Refusal> {
        inbox.read(|tx| {
            let next_event_id = tx.newest_event()?;
            let found = tx.sessions(self.agent.as_ref())?.into_iter();
            let sessions = found.map(|row| row.session).filter(|session| {
                if self.state.is_empty() {
                    session.state != SessionState::Dead
                } else {
                    self.state.contains(&session.state)
                }
            });
            Ok(Sessions {
                sessions: sessions.collect(),
                next_event_id,
            })
        })
    }
}

/// Sets the state of a session.
fn change<O: Operation<Answer = OneSession>>(
    inbox: &Inbox,
    caller: &Caller,
    request: &O,
    id: Option<&SessionId>,
    state: impl Fn(&SessionRow) -> Result<SessionState, Refusal>,
) -> Result<OneSession, Refusal> {
    let id = own(id, caller)?;
    must_be_known(inbox, caller, &id)?;
    inbox.write(request, &by_session(caller, &id), |tx, _| {
        let row = own_session(tx, caller, &id)?;
        tx.set_session(&row, state(&row)?)?;
        answer(tx, &id, false)
    })
}

/// The session that is meant: the one that is named, else the caller's.
fn own(id: Option<&SessionId>, caller: &Caller) -> Result<SessionId, Refusal> {
    id.or(caller.session.as_ref()).cloned().ok_or_else(|| {
        Refusal::input("which session? none was named")
            .hint("pass its id, or set INBOX_SESSION to that of inbox session start")
    })
}

/// Where only the session says who calls, one that is not there is not found, and no question of who calls.
fn must_be_known(inbox: &Inbox, caller: &Caller, id: &SessionId) -> Result<(), Refusal> {
    if caller.agent.is_some() || caller.lease.is_some() {
        return Ok(());
    }
    inbox.read(|tx| session(tx, id).map(drop))
}

/// Who changes a session without saying who it is, is the session itself.
fn by_session(caller: &Caller, id: &SessionId) -> Caller {
    let mut caller = caller.clone();
    if caller.agent.is_none() && caller.lease.is_none() {
        caller.session = Some(id.clone());
    } else if caller.session.as_ref() != Some(id) {
        // Somebody else's session may be ended by who cleans up.
        caller.session = None;
    }
    caller
}

/// A session that the caller may change. Whoever is at the machine cleans up; over the network one's own are enough.
fn own_session(tx: &mut Tx<'_>, caller: &Caller, id: &SessionId) -> Result<SessionRow, Abort> {
    let row = session(tx, id)?;
    let owner = &row.session.agent_id;
    let is_own = caller.auth == Auth::Local || caller.agent.as_ref() == Some(owner);
    if is_own || caller.may_override {
        return Ok(row);
    }
    let problem = format!("the session {id} is {owner}'s");
    Err(Refusal::new(Code::NotAllowed, problem)
        .hint("a token with the scope override may change the sessions of others")
        .into())
}

fn session(tx: &mut Tx<'_>, id: &SessionId) -> Result<SessionRow, Abort> {
    tx.session(id)?.ok_or_else(|| {
        Refusal::new(Code::SessionNotFound, format!("there is no session {id}"))
            .hint("inbox session list shows those there are; inbox session start begins one")
            .detail("session_id", id.as_str())
            .into()
    })
}

fn ended(row: &SessionRow) -> Refusal {
    let (id, agent) = (&row.session.session_id, &row.session.agent_id);
    Refusal::new(
        Code::InvalidTransition,
        format!("the session {id} has ended"),
    )
    .hint(format!(
        "inbox session start --agent {agent} --session {id} begins it again"
    ))
}

fn own_labels(row: &SessionRow) -> Result<Vec<Address>, Refusal> {
    labels(&row.session.roles, &row.session.tags)
}

/// Roles and tags as addresses. A role may be written with or without its prefix.
pub(crate) fn labels(roles: &[String], tags: &[String]) -> Result<Vec<Address>, Refusal> {
    let mut addresses = Vec::with_capacity(roles.len() + tags.len());
    for role in roles.iter().flat_map(|list| list.split(',')) {
        let role = role.trim().to_ascii_lowercase();
        let name = role.strip_prefix("role:").unwrap_or(&role);
        addresses.push(Address::role(&name.parse().map_err(|_| {
            Refusal::input(format!("{} is not a role", quoted(&role)))
                .hint("a role is named like an agent: architect")
        })?));
    }
    for tag in tags.iter().flat_map(|list| list.split(',')) {
        let tag = tag.trim();
        match tag.parse::<Address>() {
            Ok(address) if matches!(address.mode(), Mode::Tag | Mode::Role) => {
                addresses.push(address);
            }
            _ => {
                return Err(Refusal::input(format!("{} is not a tag", quoted(tag)))
                    .hint("a tag has a namespace: project:NAME, concern:NAME, domain:NAME"));
            }
        }
    }
    addresses.sort();
    addresses.dedup();
    bounded(&addresses)?;
    Ok(addresses)
}

fn labels_of(given: &[String]) -> Result<Vec<Address>, Refusal> {
    let (roles, tags): (Vec<_>, Vec<_>) = given
        .iter()
        .flat_map(|list| list.split(','))
        .map(|label| label.trim().to_owned())
        .partition(|label| !label.contains(':'));
    labels(&roles, &tags)
}

fn bounded(addresses: &[Address]) -> Result<(), Refusal> {
    let (found, most) = (addresses.len(), limit::MEMBERSHIPS);
    if found > most {
        return Err(Refusal::input(format!(
            "{found} roles and tags are named; the most is {most}"
        )));
    }
    Ok(())
}

fn new_id() -> Result<SessionId, Refusal> {
    let number = getrandom::u64()
        .map_err(|error| Refusal::new(Code::Internal, format!("no random numbers: {error}")))?;
    format!("ses_{number:016x}").parse()
}

/// The session as it is now, and with `whole` its unread mail.
fn answer(tx: &mut Tx<'_>, id: &SessionId, whole: bool) -> Result<OneSession, Abort> {
    let row = session(tx, id)?;
    let reader = tx.reader(&row.session.agent_id, Some(id))?;
    let (unread, _) = count_unread(tx, &reader)?;
    let messages = if whole {
        let (found, _) = crate::read::unread(tx, &reader, EventId(0), 20)?;
        found.into_iter().map(|(_, message)| message).collect()
    } else {
        Vec::new()
    };
    Ok(OneSession {
        session: row.session,
        unread,
        messages,
        next_event_id: EventId(0),
    })
}

impl Answer for OneSession {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        let page = Page::default().sessions(std::slice::from_ref(&self.session));
        let page = match self.unread {
            0 => page,
            unread if self.session.state == SessionState::Dead => {
                page.line(format!("{unread} unread when it ended"))
            }
            unread => page.line(format!("{unread} unread: inbox read")),
        };
        self.messages
            .iter()
            .fold(page, |page, message| page.mail(message))
    }
}

impl Answer for Sessions {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        Page::default().sessions(&self.sessions)
    }
}
