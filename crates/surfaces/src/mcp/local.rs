//! The engine of `inbox mcp`: one store of its own, opened when it is first needed, and a thread for each
//! wait.

use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use inbox_core::Refusal;
use inbox_ops::{Config, Effect, Inbox};
use inbox_store::bell::PATIENCE;
use inbox_store::{Location, Store};

use super::desk::{Engine, Job};
use super::look::Look;
use crate::cli::{config, find};

/// Runs operations on the store that the command line would find.
#[derive(Clone)]
pub(super) struct Local {
    db: Option<String>,
    open: Arc<Mutex<Option<Open>>>,
}

/// A store that is open, and what it was opened by.
struct Open {
    location: Location,
    file: Option<(u64, u64)>,
    config: Config,
    inbox: Arc<Inbox>,
}

impl Local {
    pub(super) fn new(db: Option<String>) -> Self {
        Local {
            db,
            open: Arc::default(),
        }
    }

    /// The store as it is now. It may be made, replaced or configured while the server runs, and a file that was
    /// deleted would take writes that nobody sees.
    fn inbox(&self) -> Result<Arc<Inbox>, Refusal> {
        let location = find::store(self.db.as_deref())?;
        let config = config::load(&location)?;
        let file = identity(&location);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = open
            .as_ref()
            .filter(|open| open.location == location && open.file == file && open.config == config)
        {
            return Ok(open.inbox.clone());
        }
        *open = None;
        let inbox = Inbox::new(Store::open(&location)?).with_config(config.clone());
        let inbox = Arc::new(inbox);
        *open = Some(Open {
            file: identity(&location),
            location,
            config,
            inbox: inbox.clone(),
        });
        Ok(inbox)
    }
}

/// Which file it is, whatever its name.
fn identity(location: &Location) -> Option<(u64, u64)> {
    match location {
        Location::File(path) => {
            let found = std::fs::metadata(path).ok()?;
            Some((found.dev(), found.ino()))
        }
        Location::Postgres(_) => None,
    }
}

impl Engine for Local {
    fn run(&self, _effect: Effect, job: Job) -> Result<(), Refusal> {
        let engine = self.clone();
        tokio::task::spawn_blocking(move || {
            let answered = match engine.inbox() {
                Ok(inbox) => job(Ok(&inbox)),
                Err(refusal) => job(Err(refusal)),
            };
            // Each write here has committed by itself.
            answered(Ok(()));
        });
        Ok(())
    }

    fn wait(&self, mut look: Box<dyn Look>) {
        let engine = self.clone();
        tokio::task::spawn_blocking(move || match engine.inbox() {
            Ok(inbox) => until_over(&mut *look, &inbox),
            Err(refusal) => drop(look.begin(Err(refusal))),
        });
    }
}

/// Note the bell, look, block while it stays. What rings in between is seen by the next look.
fn until_over(look: &mut dyn Look, inbox: &Inbox) {
    let Some(key) = look.begin(Ok(inbox)) else {
        return;
    };
    let store = inbox.store();
    let mut listener = store.listen(&key);
    loop {
        listener.rearm();
        let mark = store.change_mark();
        if look.look(inbox) {
            return;
        }
        loop {
            if !look.is_wanted() {
                return;
            }
            let now = Instant::now();
            let left = look.until().saturating_duration_since(now);
            if left.is_zero() {
                return look.give_up(inbox);
            }
            let due = look.wake_at().map(|at| at.saturating_duration_since(now));
            let patience = due.map_or(left, |due| due.min(left)).min(PATIENCE);
            let rang = listener.wait(patience);
            let is_due = due.is_some_and(|due| due <= patience);
            if rang || is_due || mark.is_none() || store.change_mark() != mark {
                break;
            }
        }
    }
}
