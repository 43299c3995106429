//! Tokens that were shown lately, so that not every request asks the store.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use inbox_core::{Refusal, Token};
use sha2::{Digest, Sha256};

use super::engine::Engine;

/// How long a token is taken for valid without asking again: so long after it was revoked elsewhere it may still open.
const FRESH: Duration = Duration::from_secs(1);

/// The most tokens to remember.
const MOST: usize = 1024;

/// What was found, by the hash of the secret: the secret itself is not kept.
#[derive(Default)]
pub(super) struct Doors {
    known: Mutex<HashMap<Mark, (Instant, Token)>>,
    /// Held by who asks the store: many may come with one token at once, and one of them asks for all.
    asking: [tokio::sync::Mutex<()>; 16],
}

type Mark = [u8; 32];

impl Doors {
    /// The token that a secret is of.
    pub(super) async fn open(
        &self,
        engine: &Engine,
        secret: Option<String>,
    ) -> Result<Token, Refusal> {
        let mark: Mark = Sha256::digest(secret.as_deref().unwrap_or_default()).into();
        if let Some(token) = self.fresh(&mark) {
            return Ok(token);
        }
        let _asking = self.asking[usize::from(mark[0]) % self.asking.len()]
            .lock()
            .await;
        if let Some(token) = self.fresh(&mark) {
            return Ok(token);
        }
        let token = engine
            .look(move |inbox| inbox.admit(secret.as_deref()))
            .await?;
        let mut known = self.known();
        if known.len() >= MOST {
            known.retain(|_, (at, _)| at.elapsed() < FRESH);
        }
        if known.len() < MOST {
            known.insert(mark, (Instant::now(), token.clone()));
        }
        Ok(token)
    }

    fn fresh(&self, mark: &Mark) -> Option<Token> {
        let known = self.known();
        let (at, token) = known.get(mark)?;
        (at.elapsed() < FRESH).then(|| token.clone())
    }

    /// Forgets all: one may have been revoked.
    pub(super) fn forget(&self) {
        self.known().clear();
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<Mark, (Instant, Token)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
