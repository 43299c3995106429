//! How a person comes into the console: by a link that opens once, and a session that it leaves behind.

use inbox_core::record::Millis;
use inbox_core::{AgentKind, AgentName, Code, Refusal, Scope, Token};
use inbox_store::{Abort, Tx};

use crate::call::{Caller, Inbox};
use crate::lock::{self, must_be_proven};
use crate::token::{PREFIX, hash, random};

/// How long a link may wait to be opened.
const LINK_MS: i64 = 5 * 60_000;

/// How long a session lasts.
const SESSION_MS: i64 = 12 * 3_600_000;

/// What links and sessions are called among tokens.
const LINK: &str = "console link";
/// One that is opened by a program: everybody on the machine can read a program's arguments.
const OPENED: &str = "console link, opened";
const SESSION: &str = "console";
/// What opens nothing: who knows its name has the store.
const PROBE: &str = "console probe";

/// How long a server may be asked whether it has the store.
const PROBE_MS: i64 = 60_000;

/// Who is taken in where no person is on the roster yet.
const NOBODY: &str = "operator";

/// A way in, for a person. Its `Debug` hides what opens.
#[derive(Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Who.
    pub person: AgentName,
    /// What opens once.
    pub code: String,
    /// What opens once too, and only for the user who runs the server: for the arguments of a program.
    pub own_code: String,
    /// Whether the person was put on the roster for this.
    pub is_new: bool,
    /// By what a server is known that has this store.
    pub probe: Probe,
}

/// A token that allows nothing. A server that has the store can tell its name, and nobody else can; who is shown the secret can do
/// nothing with it.
#[derive(Clone, PartialEq, Eq)]
pub struct Probe {
    /// What is shown.
    pub secret: String,
    /// What must come back.
    pub token_id: String,
}

impl std::fmt::Debug for Invitation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Invitation({}, …)", self.person)
    }
}

impl Inbox {
    /// Makes a link's code for a person: the one that is named, else the only one on the roster, who is made when there is none.
    /// Where a program is to open it, there is another code for that.
    pub fn invite(
        &self,
        caller: &Caller,
        named: Option<&AgentName>,
        is_opened: bool,
    ) -> Result<Invitation, Refusal> {
        let code = format!("{PREFIX}{}", random::<24>()?);
        let own_code = format!("{PREFIX}{}", random::<24>()?);
        let (id, own_id, probe_id) = (random::<5>()?, random::<5>()?, random::<5>()?);
        let probe = format!("{PREFIX}{}", random::<24>()?);
        let written = self.store().write(|tx| {
            let (person, is_new) = person(tx, named)?;
            must_be_proven(tx, caller, &person)?;
            // It opens the console, and nothing else.
            keep(tx, &person, (LINK, LINK_MS, Vec::new()), &id, &code)?;
            if is_opened {
                let own = (OPENED, LINK_MS, Vec::new());
                keep(tx, &person, own, &own_id, &own_code)?;
            }
            let none = (PROBE, PROBE_MS, Vec::new());
            let known = keep(tx, &person, none, &probe_id, &probe)?;
            Ok(Invitation {
                person,
                code: code.clone(),
                own_code: own_code.clone(),
                is_new,
                probe: Probe {
                    secret: probe.clone(),
                    token_id: known.token_id,
                },
            })
        })?;
        Ok(written.value)
    }

    /// The person at this machine: the only one on the roster, who is made when there is none.
    pub fn person(&self) -> Result<AgentName, Refusal> {
        let written = self.store().write(|tx| person(tx, None))?;
        Ok(written.value.0)
    }

    /// Opens a link, which then opens no more: the secret of the session, and whose it is. `is_own` says that who opens it is the
    /// user who runs the server.
    pub fn come_in(&self, code: &str, is_own: bool) -> Result<(String, Token), Refusal> {
        let token = self.admit(Some(code))?;
        let is_link = token.label == LINK || token.label == OPENED && is_own;
        if !is_link || !self.is_person(&token.agent_id)? {
            return Err(spent());
        }
        let secret = format!("{PREFIX}{}", random::<32>()?);
        let id = random::<5>()?;
        let written = self.store().write(|tx| {
            if !tx.revoke_token(&token.token_id)? {
                return Err(spent().into());
            }
            let all = vec![Scope::Read, Scope::Write, Scope::Override, Scope::Admin];
            let session = keep(
                tx,
                &token.agent_id,
                (SESSION, SESSION_MS, all),
                &id,
                &secret,
            )?;
            Ok((secret.clone(), session))
        })?;
        Ok(written.value)
    }

    /// The person whose session this is. No other token opens the console.
    pub fn in_console(&self, secret: &str) -> Result<Token, Refusal> {
        let token = self.admit(Some(secret))?;
        if is_session(&token) && token.scopes.contains(&Scope::Override) {
            Ok(token)
        } else {
            Err(spent())
        }
    }

    fn is_person(&self, name: &AgentName) -> Result<bool, Refusal> {
        self.store().read(|tx| lock::is_person(tx, name))
    }

    /// Ends a session.
    pub fn go_out(&self, token: &Token) -> Result<(), Refusal> {
        self.store()
            .write(|tx| Ok(tx.revoke_token(&token.token_id)?))
            .map(drop)
    }
}

/// Whether a token is the console's own: a browser has it, and no program calls with it.
pub fn is_session(token: &Token) -> bool {
    token.label == SESSION
}

/// Whether a label says that a token is the console's own.
pub(crate) fn is_own_label(label: &str) -> bool {
    matches!(label, LINK | OPENED | SESSION | PROBE)
}

fn spent() -> Refusal {
    Refusal::new(Code::Unauthorized, "this link or session has ended")
        .hint("inbox ui makes a new link")
}

fn person(tx: &mut Tx<'_>, named: Option<&AgentName>) -> Result<(AgentName, bool), Abort> {
    let mut people: Vec<AgentName> = tx
        .agents(None)?
        .into_iter()
        .filter(|details| {
            let agent = &details.agent;
            agent.kind == AgentKind::Human
                && agent.removed_at.is_none()
                && agent.agent_id.as_str() != "human"
        })
        .map(|details| details.agent.agent_id)
        .collect();
    match (named, people.len()) {
        (Some(name), _) if people.contains(name) => Ok((name.clone(), false)),
        (Some(name), _) => Err(Refusal::new(
            Code::AgentNotFound,
            format!("{name} is no person on the roster"),
        )
        .hint(format!("inbox agent add {name} --kind human adds one"))
        .into()),
        (None, 1) => Ok((people.remove(0), false)),
        (None, 0) => {
            let name: AgentName = NOBODY.parse()?;
            if tx.agent(&name)?.is_some() {
                return Err(
                    Refusal::new(Code::AgentNotFound, "no person is on the roster")
                        .hint("inbox agent add NAME --kind human adds one")
                        .into(),
                );
            }
            tx.ensure_agent_of(&name, AgentKind::Human)?;
            Ok((name, true))
        }
        (None, _) => {
            let names: Vec<&str> = people.iter().map(AgentName::as_str).collect();
            Err(Refusal::input(format!(
                "there are several persons on the roster: {}",
                names.join(", ")
            ))
            .hint(format!(
                "inbox ui --as {0}, or inbox --agent {0} in a terminal",
                names[0]
            ))
            .into())
        }
    }
}

fn keep(
    tx: &mut Tx<'_>,
    person: &AgentName,
    (label, lasting, scopes): (&str, i64, Vec<Scope>),
    id: &str,
    secret: &str,
) -> Result<Token, Abort> {
    let now = tx.now();
    let token = Token {
        token_id: format!("tok_{id}"),
        agent_id: person.clone(),
        scopes,
        label: label.to_owned(),
        created_at: now,
        expires_at: Some(Millis(now.0.saturating_add(lasting))),
        revoked_at: None,
        seen_at: None,
    };
    tx.insert_token(&token, &hash(secret))?;
    Ok(token)
}
