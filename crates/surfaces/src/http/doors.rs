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
        let mark = Sha256::digest(secret.as_deref().unwrap_or_default()).into();
        let asked = engine.look(move |inbox| inbox.admit(secret.as_deref()));
        self.one_of(mark, asked).await
    }

    /// The token with this mark, which is asked for unless it is known or another asks already.
    async fn one_of(
        &self,
        mark: Mark,
        asked: impl Future<Output = Result<Token, Refusal>>,
    ) -> Result<Token, Refusal> {
        if let Some(token) = self.fresh(&mark) {
            return Ok(token);
        }
        let _asking = self.asking[usize::from(mark[0]) % self.asking.len()]
            .lock()
            .await;
        if let Some(token) = self.fresh(&mark) {
            return Ok(token);
        }
        let token = asked.await?;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use inbox_core::Code;
    use inbox_core::record::Millis;
    use tokio::task::JoinSet;

    use super::*;

    fn token() -> Token {
        Token {
            token_id: "t-1".to_owned(),
            agent_id: "luna".parse().expect("a name"),
            scopes: Vec::new(),
            label: String::new(),
            created_at: Millis(0),
            expires_at: None,
            revoked_at: None,
            seen_at: None,
        }
    }

    /// How often a hundred that come at once with one secret ask a store that answers this.
    fn asked_by_a_herd(doors: &Arc<Doors>, answer: &Result<Token, Refusal>) -> usize {
        let asked = Arc::new(AtomicUsize::new(0));
        let one = || {
            let (doors, asked, answer) = (Arc::clone(doors), Arc::clone(&asked), answer.clone());
            async move {
                let expected = answer.clone();
                let ask = async move {
                    asked.fetch_add(1, Ordering::Relaxed);
                    // All others come before there is an answer.
                    tokio::task::yield_now().await;
                    answer
                };
                assert_eq!(doors.one_of([7; 32], ask).await, expected);
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(async {
            let herd: JoinSet<()> = (0..100).map(|_| one()).collect();
            herd.join_all().await;
        });
        asked.load(Ordering::Relaxed)
    }

    #[test]
    fn of_many_who_come_with_one_token_at_once_one_asks_for_all() {
        let doors = Arc::new(Doors::default());
        assert_eq!(asked_by_a_herd(&doors, &Ok(token())), 1);
        assert_eq!(asked_by_a_herd(&doors, &Ok(token())), 0);
        doors.forget();
        assert_eq!(asked_by_a_herd(&doors, &Ok(token())), 1);
    }

    #[test]
    fn a_refusal_is_nobody_elses() {
        let doors = Arc::new(Doors::default());
        let refusal = Refusal::new(Code::Unauthorized, "no such token");
        assert_eq!(asked_by_a_herd(&doors, &Err(refusal)), 100);
        assert_eq!(asked_by_a_herd(&doors, &Ok(token())), 1);
    }
}
