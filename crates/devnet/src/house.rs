//! What every part of the devnet shares: the ledger, and the news of it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inbox_hedera::proto::TransactionResponse;
use tokio::sync::watch;

use crate::fault::Faults;
use crate::ledger::{Effects, Ledger};

/// How often it is looked whether the time of something is over.
const SETTLE: Duration = Duration::from_millis(500);

pub(crate) struct House {
    ledger: Mutex<Ledger>,
    news: watch::Sender<u64>,
    pub(crate) faults: Arc<Faults>,
    /// Where the node is.
    pub(crate) node: SocketAddr,
}

impl House {
    pub(crate) fn new(ledger: Ledger, node: SocketAddr) -> Self {
        House {
            ledger: Mutex::new(ledger),
            news: watch::Sender::new(0),
            faults: Arc::default(),
            node,
        }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes with every message of a topic.
    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// The ledger's clock, in nanoseconds.
    pub(crate) fn now(&self) -> i64 {
        self.ledger().now()
    }

    /// What the mirror has by now: everything up to this time, in nanoseconds.
    pub(crate) fn mirrored(&self) -> i64 {
        match self.faults.behind() {
            // Consensus may be ahead of the clock by a few nanoseconds.
            0 => i64::MAX,
            behind => self.now().saturating_sub(behind),
        }
    }

    pub(crate) fn submit(&self, bytes: &[u8]) -> TransactionResponse {
        let (response, effects) = self.ledger().submit(bytes);
        self.tell(&effects);
        response
    }

    fn tell(&self, effects: &Effects) {
        if !effects.topics.is_empty() {
            self.news.send_modify(|count| *count += 1);
        }
    }

    /// Carries out what waited for its time, for ever.
    pub(crate) async fn settle(&self) {
        loop {
            tokio::time::sleep(SETTLE).await;
            let settled = self.ledger().settle();
            if let Ok(effects) = settled {
                self.tell(&effects);
            }
        }
    }
}
