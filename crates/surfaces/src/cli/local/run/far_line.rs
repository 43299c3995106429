//! A runner's way to a server.

use std::time::Duration;

use inbox_core::{EventId, Refusal};
use inbox_ops::{Caller, Operation, Watch};
use inbox_runner::{AGAIN, About, Line, Patience};

use crate::far::Far;

/// How long to leave a server alone that is away.
const AWAY: Duration = Duration::from_millis(300);

/// A server, with a connection of its own.
pub(super) struct FarLine {
    far: Far,
}

impl FarLine {
    pub(super) fn new(
        url: &str,
        secret: &str,
        authority: Option<&[u8]>,
    ) -> Result<FarLine, Refusal> {
        let far = Far::new(url, secret.to_owned(), authority)?;
        Ok(FarLine { far })
    }

    /// Waits at the server for something after an event; where to go on.
    fn wait(
        &self,
        about: About,
        caller: &Caller,
        after: Option<EventId>,
        most: Duration,
    ) -> Result<EventId, Refusal> {
        let watch = Watch {
            thread: match about {
                About::Thread(thread) => Some(thread),
                About::Caller => None,
            },
            after_event: after,
            timeout_seconds: u32::try_from(most.as_secs()).ok(),
            ..Watch::default()
        };
        let body = serde_json::to_string(&watch).map_err(crate::envelope::internal)?;
        let found = self.far.call_waiting(&watch, body, caller, most)?;
        Ok(found.next_event_id)
    }
}

impl Line for FarLine {
    fn call<O: Operation>(&self, request: &O, caller: &Caller) -> Result<O::Answer, Refusal> {
        self.far.call(request, caller)
    }

    fn until<T>(
        &self,
        about: About,
        caller: &Caller,
        look: &mut dyn FnMut(&Self) -> Result<Option<T>, Refusal>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<T>, Refusal> {
        let mut patience = Patience::default();
        let mut after = None;
        while !is_over() {
            // Where the log ends is noted before the look: what comes in between ends the wait at once.
            let noted = match after {
                Some(after) => Ok(after),
                None => self.wait(about, caller, None, Duration::ZERO),
            };
            let outcome = noted.and_then(|noted| {
                if let Some(found) = look(self)? {
                    return Ok(Err(found));
                }
                self.wait(about, caller, Some(noted), AGAIN).map(Ok)
            });
            match outcome {
                Ok(Err(found)) => return Ok(Some(found)),
                Ok(Ok(next)) => {
                    after = Some(next);
                    patience = Patience::default();
                }
                Err(refusal) if patience.endures(&refusal) => std::thread::sleep(AWAY),
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(None)
    }
}
