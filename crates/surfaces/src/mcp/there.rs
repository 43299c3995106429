//! A server under `inbox mcp`: reached when it is first needed, with the token that there is then.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use inbox_core::{AgentName, Code, Refusal};
use inbox_ops::Caller;

use super::desk::{Ending, broken, cancelled};
use super::ground::Ground;
use super::look::{AWAY, Seen};
use crate::cli::{far, find};
use crate::far::Far;

/// How long the server is let wait for one look. What begins without an event, as a lease that ends, is seen so late.
const TURN: Duration = Duration::from_secs(10);

/// How long to leave a server alone that was there and is away.
const AGAIN: Duration = Duration::from_millis(300);

/// The server that the command line would call.
#[derive(Clone)]
pub(super) struct There {
    url: String,
    met: Arc<Mutex<Option<Met>>>,
}

/// A server that has been met, and by which token.
#[derive(Clone)]
struct Met {
    secret: String,
    far: Arc<Far>,
    /// Whose token it is: what only looks does more for a known agent, and is told who asks.
    agent: AgentName,
}

impl There {
    /// The server, if it is one that a flag or the environment names.
    pub(super) fn named(db: Option<&str>) -> Option<Self> {
        let url = find::server(db)?;
        let met = Arc::default();
        Some(There { url, met })
    }

    /// The server by the token of now, which may have been made or changed while this runs.
    fn meet(&self) -> Result<Met, Refusal> {
        let secret = far::secret()?;
        let known = |met: &&Met| met.secret == secret;
        if let Some(met) = self.met().as_ref().filter(known) {
            return Ok(met.clone());
        }
        let authority = far::authority()?;
        let far = Far::new(&self.url, secret.clone(), authority.as_deref())?;
        let met = Met {
            secret,
            agent: far.token()?.agent_id,
            far: Arc::new(far),
        };
        *self.met() = Some(met.clone());
        Ok(met)
    }

    fn met(&self) -> std::sync::MutexGuard<'_, Option<Met>> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `f` at the server, which may take so long to answer what waits.
    fn stand<T>(
        &self,
        mut caller: Caller,
        patience: Duration,
        f: impl FnOnce(&Ground<'_>, &Caller) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let met = self.meet()?;
        caller.agent.get_or_insert(met.agent);
        f(&Ground::Server(&met.far, patience), &caller)
    }

    /// Runs `f` at the server, as this caller.
    pub(super) async fn on<T: Send + 'static>(
        &self,
        caller: Caller,
        f: impl FnOnce(&Ground<'_>, &Caller) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let there = self.clone();
        let ran = tokio::task::spawn_blocking(move || there.stand(caller, Duration::ZERO, f));
        ran.await.unwrap_or_else(|_| Err(broken()))
    }

    /// Looks in turns, in which the server waits. What was seen last is the answer.
    pub(super) async fn wait<A: Send + 'static>(
        &self,
        caller: Caller,
        until: Instant,
        mut poll: impl FnMut(&Ground<'_>, &Caller) -> Result<Seen<A>, Refusal> + Send + 'static,
        meanwhile: impl Future<Output = Ending>,
    ) -> Result<A, Refusal> {
        let mut meanwhile = std::pin::pin!(meanwhile);
        let (mut seen, mut away) = (None, None);
        // The first look is at what there is, so that there is something to say however it ends.
        let mut patience = Duration::ZERO;
        loop {
            let (there, caller) = (self.clone(), caller.clone());
            let mut turn = tokio::task::spawn_blocking(move || {
                let looked = there.stand(caller, patience, &mut poll);
                (poll, looked)
            });
            let ended = tokio::select! {
                biased;
                ended = &mut turn => ended,
                ending = meanwhile.as_mut() => match (ending, seen) {
                    (Ending::Now, _) => return Err(cancelled()),
                    (Ending::WithLastLook, Some(answer)) => return Ok(answer),
                    (Ending::WithLastLook, None) => {
                        let (_, looked) = turn.await.map_err(|_| broken())?;
                        return looked.map(|seen| seen.answer);
                    }
                }
            };
            let (back, looked) = ended.map_err(|_| broken())?;
            poll = back;
            match looked {
                Ok(Seen {
                    answer, is_over, ..
                }) => {
                    if is_over || Instant::now() >= until {
                        return Ok(answer);
                    }
                    (seen, away) = (Some(answer), None);
                }
                // One that is started again is back in a moment.
                Err(refusal) => {
                    let since = *away.get_or_insert_with(Instant::now);
                    let is_endured = refusal.code == Code::Storage && since.elapsed() < AWAY;
                    if seen.is_none() || !is_endured || Instant::now() >= until {
                        return Err(refusal);
                    }
                    tokio::time::sleep(AGAIN).await;
                }
            }
            patience = until.saturating_duration_since(Instant::now()).min(TURN);
        }
    }
}
