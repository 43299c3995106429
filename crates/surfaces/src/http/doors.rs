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
    known: Mutex<HashMap<[u8; 32], (Instant, Token)>>,
}

impl Doors {
    /// The token that a secret is of.
    pub(super) async fn open(
        &self,
        engine: &Engine,
        secret: Option<String>,
    ) -> Result<Token, Refusal> {
        let mark: [u8; 32] = Sha256::digest(secret.as_deref().unwrap_or_default()).into();
        if let Some((at, token)) = self.known().get(&mark)
            && at.elapsed() < FRESH
        {
            return Ok(token.clone());
        }
        let token = engine
            .look(move |inbox| {
                let token = inbox.admit(secret.as_deref())?;
                // A store that cannot be written may still be read.
                let _ = inbox.used(&token);
                Ok(token)
            })
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

    /// Forgets all: one may have been revoked.
    pub(super) fn forget(&self) {
        self.known().clear();
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], (Instant, Token)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
