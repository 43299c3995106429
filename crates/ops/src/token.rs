//! `token …`: what lets a program in over the network, as one agent.

use inbox_core::record::Millis;
use inbox_core::{AgentName, Code, EventId, Label, Refusal, Scope, Token, name};
use inbox_store::Abort;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::agent::as_roster;
use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::console::is_own_label;
use crate::lock::{must_be_proven, must_not_be_anothers};
use crate::page::{Cell, Page};

/// What every secret begins with, so that those who look for leaked ones know it.
pub(crate) const PREFIX: &str = "inbox_";

/// Make a token with which a program calls as an agent over the network
///
/// The secret is shown once and kept nowhere. Give it to the program in the variable INBOX_TOKEN or in a file that only its
/// user can read, named by INBOX_TOKEN_FILE.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenCreate {
    /// Let it call as this agent
    pub agent: AgentName,
    /// Allow this: read, write, override, admin; read and write unless told otherwise
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<Scope>,
    /// Say what it is for
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// End it after so many hours
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_hours: Option<i64>,
}

/// List tokens, without their secrets
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenList {}

/// Revoke a token
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRevoke {
    /// Its id
    pub id: String,
}

/// One token. Its `Debug` hides the secret.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct OneToken {
    /// The token.
    pub token: Token,
    /// Its secret, when it was just made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl std::fmt::Debug for OneToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let has_secret = self.secret.is_some();
        write!(f, "OneToken({}, secret {has_secret})", self.token.token_id)
    }
}

/// Tokens.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    /// The oldest first.
    pub tokens: Vec<Token>,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for TokenCreate {
    const NAME: &'static str = "token create";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Ignored;
    const SCOPE: Option<Scope> = Some(Scope::Admin);
    const FOR_RESERVED: bool = true;
    type Answer = OneToken;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<OneToken, Refusal> {
        if caller.key.is_some() {
            return Err(
                Refusal::input("a key would have the secret kept with the answer")
                    .hint("inbox token create without --key; inbox token list shows what was made"),
            );
        }
        if name::reserved(self.agent.as_str()).is_some() {
            return Err(Refusal::new(
                Code::NotAllowed,
                format!("nobody calls as {} by a token", self.agent),
            )
            .hint("inbox token create --agent NAME, with an agent's or a person's own name"));
        }
        if let Some(label) = self
            .label
            .as_ref()
            .filter(|label| is_own_label(label.as_str()))
        {
            return Err(
                Refusal::input(format!("the label {label:?} is the console's own"))
                    .hint("inbox token create --label TEXT says what it is for in other words"),
            );
        }
        let lasting = match self.ttl_hours {
            Some(hours) if !(1..=87_600).contains(&hours) => {
                return Err(Refusal::input(format!(
                    "--ttl-hours {hours} is not between 1 and 87600"
                )));
            }
            hours => hours.map(|hours| hours * 3_600_000),
        };
        let mut scopes = self.scope.clone();
        if scopes.is_empty() {
            scopes = vec![Scope::Read, Scope::Write];
        }
        scopes.sort_unstable();
        scopes.dedup();
        let secret = format!("{PREFIX}{}", random::<32>()?);
        let token_id = format!("tok_{}", random::<5>()?);
        inbox.write(self, &as_roster(caller), |tx, _| {
            must_be_proven(tx, caller, &self.agent)?;
            must_not_be_anothers(tx, caller, &self.agent)?;
            let now = tx.now();
            let token = Token {
                token_id: token_id.clone(),
                agent_id: self.agent.clone(),
                scopes: scopes.clone(),
                label: self
                    .label
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
                created_at: now,
                expires_at: lasting.map(|millis| Millis(now.0.saturating_add(millis))),
                revoked_at: None,
                seen_at: None,
            };
            tx.insert_token(&token, &hash(&secret))?;
            Ok(OneToken {
                token,
                secret: Some(secret.clone()),
                next_event_id: EventId(0),
            })
        })
    }
}

impl Operation for TokenList {
    const NAME: &'static str = "token list";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Ignored;
    const SCOPE: Option<Scope> = Some(Scope::Admin);
    type Answer = Tokens;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Tokens, Refusal> {
        inbox.read(|tx| {
            Ok(Tokens {
                tokens: tx.tokens(None)?,
                next_event_id: tx.newest_event()?,
            })
        })
    }
}

impl Operation for TokenRevoke {
    const NAME: &'static str = "token revoke";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Ignored;
    const SCOPE: Option<Scope> = Some(Scope::Admin);
    const FOR_RESERVED: bool = true;
    type Answer = OneToken;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<OneToken, Refusal> {
        inbox.write(self, &as_roster(caller), |tx, _| {
            tx.revoke_token(&self.id)?;
            let token = tx.tokens(Some(&self.id))?.into_iter().next();
            let token = token.ok_or_else(|| -> Abort {
                // The id may be a secret that was put here by mistake: it is not repeated.
                Refusal::new(Code::TokenNotFound, "no token has this id")
                    .hint("inbox token list shows the ids")
                    .into()
            })?;
            Ok(OneToken {
                token,
                secret: None,
                next_event_id: EventId(0),
            })
        })
    }
}

impl Inbox {
    /// The token that a secret is of. What is missing, unknown, ended or revoked is one refusal: who guesses learns
    /// nothing from it. That it is used is written down now and then.
    pub fn admit(&self, secret: Option<&str>) -> Result<Token, Refusal> {
        let refused = || {
            Refusal::new(
                Code::Unauthorized,
                "no valid token came with the request",
            )
            .hint("inbox token create --agent NAME makes one, where the server runs; send it as a bearer token")
        };
        let hash = secret
            .filter(|secret| secret.starts_with(PREFIX))
            .map(hash)
            .ok_or_else(refused)?;
        let found = self.store().read(|tx| {
            let now = tx.now();
            let is_valid = |token: &Token| {
                token.revoked_at.is_none() && token.expires_at.is_none_or(|end| now < end)
            };
            let token = tx.token(&hash)?.filter(is_valid);
            let is_unseen = token.as_ref().is_some_and(|token| tx.is_unseen(token));
            Ok(token.map(|token| (token, is_unseen)))
        })?;
        let (token, is_unseen) = found.ok_or_else(refused)?;
        if is_unseen {
            // A store that cannot be written may still be read.
            let _ = self.store().write(|tx| Ok(tx.see_token(&token)?));
        }
        Ok(token)
    }
}

pub(crate) fn hash(secret: &str) -> String {
    let digest = Sha256::digest(secret.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// So many random bytes, as letters and digits.
pub(crate) fn random<const BYTES: usize>() -> Result<String, Refusal> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Refusal::new(Code::Internal, format!("no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Answer for OneToken {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        match &self.secret {
            // Alone on its line, so that it can be piped into a file.
            Some(secret) => Page::default().line(secret.clone()),
            None => table(std::slice::from_ref(&self.token)),
        }
    }
}

impl Answer for Tokens {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        table(&self.tokens)
    }
}

fn table(tokens: &[Token]) -> Page {
    if tokens.is_empty() {
        return Page::default().line("no tokens".to_owned());
    }
    let headings = vec!["TOKEN", "AGENT", "ALLOWS", "STATE", "FOR"];
    Page::default().table(headings, tokens.iter().map(row).collect())
}

fn row(token: &Token) -> Vec<Cell> {
    let scopes: Vec<_> = token.scopes.iter().map(|scope| scope.name()).collect();
    let state = match (token.revoked_at, token.expires_at) {
        (Some(_), _) => Cell::Text("revoked".to_owned()),
        (None, Some(end)) => Cell::Until("ends".to_owned(), end),
        (None, None) => Cell::Text("valid".to_owned()),
    };
    vec![
        Cell::Text(token.token_id.clone()),
        Cell::Text(token.agent_id.to_string()),
        Cell::Text(scopes.join(",")),
        state,
        Cell::Text(token.label.clone()),
    ]
}
