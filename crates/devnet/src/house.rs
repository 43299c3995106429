//! What every part of the devnet shares: the ledger, its writer, and the news of it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inbox_hedera::proto::{Code, Query, Response, TransactionResponse};
use tokio::sync::{oneshot, watch};

use crate::fault::Faults;
use crate::ledger::{Effects, Ledger, LedgerError, Offer, Payment};
use crate::recent::Recent;

/// How often it is looked whether the time of something is over.
const SETTLE: Duration = Duration::from_millis(500);

/// How many transactions wait for their turn before the node is busy.
const WAITING: usize = 1024;

/// How many of them share a commit.
const TOGETHER: usize = 64;

/// The ledger, and who is told of what it does.
struct Books {
    ledger: Mutex<Ledger>,
    recent: Mutex<Recent>,
    news: watch::Sender<u64>,
}

impl Books {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of what is on the ledger now.
    fn tell(&self, effects: Effects) {
        let mut recent = self.recent();
        for (id, receipt) in effects.receipts {
            recent.add(id, receipt);
        }
        drop(recent);
        if !effects.topics.is_empty() {
            self.news.send_modify(|count| *count += 1);
        }
    }

    /// Carries out what is offered until nobody can offer any more. What comes while one commit is made shares the next.
    fn write(&self, waiting: &Receiver<Waiting>) {
        while let Ok(first) = waiting.recv() {
            let together = std::iter::once(first).chain(waiting.try_iter());
            let (offers, callers): (Vec<_>, Vec<_>) = together
                .take(TOGETHER)
                .map(|one| (one.offer, one.caller))
                .unzip();
            let (responses, effects) = self.ledger().submit_all(&offers);
            self.tell(effects);
            for (caller, response) in callers.into_iter().zip(responses) {
                // Who asked may have gone; it has happened all the same.
                let _ = caller.send(response);
            }
        }
    }
}

/// A transaction that waits for its turn, and who waits for its answer.
struct Waiting {
    offer: Offer,
    caller: oneshot::Sender<TransactionResponse>,
}

pub(crate) struct House {
    books: Arc<Books>,
    queue: SyncSender<Waiting>,
    pub(crate) faults: Arc<Faults>,
    /// Where the node is.
    pub(crate) node: SocketAddr,
}

impl fmt::Debug for House {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("House")
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

impl House {
    /// Opens the house, and starts the thread that writes. It ends with the house.
    pub(crate) fn new(ledger: Ledger, node: SocketAddr) -> std::io::Result<Self> {
        let books = Arc::new(Books {
            ledger: Mutex::new(ledger),
            recent: Mutex::default(),
            news: watch::Sender::new(0),
        });
        let (queue, waiting) = sync_channel(WAITING);
        let writer = Arc::clone(&books);
        std::thread::Builder::new()
            .name("devnet-writer".into())
            .spawn(move || writer.write(&waiting))?;
        Ok(House {
            books,
            queue,
            faults: Arc::default(),
            node,
        })
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.books.ledger()
    }

    /// Puts messages on a topic without a transaction.
    pub(crate) fn pour(
        &self,
        topic: i64,
        messages: impl Iterator<Item = (i64, Vec<u8>)>,
    ) -> Result<bool, LedgerError> {
        let effects = self.ledger().pour(topic, messages)?;
        let is_there = effects.is_some();
        self.books.tell(effects.unwrap_or_default());
        Ok(is_there)
    }

    /// Changes with every message of a topic.
    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.books.news.subscribe()
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

    /// Has a transaction carried out. It is on the ledger when this says OK.
    pub(crate) async fn submit(&self, offer: Offer) -> TransactionResponse {
        let busy = TransactionResponse {
            precheck_code: Code::Busy.number(),
            cost: 0,
        };
        let (caller, answer) = oneshot::channel();
        match self.queue.try_send(Waiting { offer, caller }) {
            Ok(()) => answer.await.unwrap_or(busy),
            Err(_) => busy,
        }
    }

    /// Answers a question, after what it costs was taken.
    pub(crate) async fn ask(&self, query: &Query) -> Response {
        if let Some(answer) = self.books.recent().answer(query) {
            return answer;
        }
        let payment = self.ledger().payment(query);
        match payment {
            Payment::Free => {}
            Payment::Refused(response) => return response,
            Payment::Due(offer) => {
                let taken = self.submit(*offer).await;
                let code = Code::from(taken.precheck_code);
                if code != Code::Ok {
                    return Ledger::refuse(query, code, taken.cost);
                }
            }
        }
        self.ledger().ask(query)
    }

    /// Carries out what waited for its time, for ever.
    pub(crate) async fn settle(&self) {
        loop {
            tokio::time::sleep(SETTLE).await;
            let settled = self.ledger().settle();
            if let Ok(effects) = settled {
                self.books.tell(effects);
            }
        }
    }
}
