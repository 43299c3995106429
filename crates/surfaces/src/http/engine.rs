//! Where a server's requests meet the store: writes share commits, reads and looks go beside them.
//!
//! A file has one writer, so one thread writes: it takes what has come in, runs each in a part of its own, commits once, and
//! only then are they answered. PostgreSQL commits for all its clients by itself: there, several threads write.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use inbox_core::{Code, Refusal};
use inbox_ops::{Caller, Inbox};
use tokio::sync::oneshot;

use super::fault;
use super::metrics::Metrics;
use super::table::{Ready, Reply};
use super::waker::Waker;
use crate::mcp::Job;

/// How many requests may wait for each kind of thread. One that finds the queue full is told to come again.
const QUEUE: usize = 1024;

/// The most writes that share one commit: the first of them waits for all the others.
const TOGETHER: usize = 128;

/// How many threads read.
const READERS: usize = 4;

/// How many threads write to PostgreSQL.
const WRITERS: usize = 8;

/// The threads that have the store.
pub(crate) struct Engine {
    writes: SyncSender<Job>,
    reads: SyncSender<Job>,
    pub(super) waker: Waker,
    pub(super) metrics: Arc<Metrics>,
    stopping: AtomicBool,
    /// Held by what writes beside the others.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Engine {
    /// Starts the threads, each with a store that `open` opens.
    pub(crate) fn start(
        open: impl Fn() -> Result<Inbox, Refusal>,
        metrics: Arc<Metrics>,
    ) -> Result<Engine, Refusal> {
        let first = open()?;
        let shares = first.store().shares_commits();
        let (writes, waiting) = sync_channel(QUEUE);
        if shares {
            let metrics = Arc::clone(&metrics);
            spawn("writer", move || write_together(first, &waiting, &metrics))?;
        } else {
            let waiting = Arc::new(Mutex::new(waiting));
            spawn_one_by_one("writer", first, &waiting, &metrics)?;
            for _ in 1..WRITERS {
                spawn_one_by_one("writer", open()?, &waiting, &metrics)?;
            }
        }
        let (reads, waiting) = sync_channel(QUEUE);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..READERS {
            spawn_one_by_one("reader", open()?, &waiting, &metrics)?;
        }
        let waker = Waker::start(open()?)?;
        Ok(Engine {
            writes,
            reads,
            waker,
            metrics,
            stopping: AtomicBool::new(false),
            turn: Arc::default(),
        })
    }

    /// Has every wait end as if its time had passed.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Runs a request that writes.
    pub(crate) async fn write(&self, ready: Ready, caller: Caller) -> Reply {
        self.on(&self.writes, move |inbox| ready(inbox, &caller))
            .await?()
    }

    /// Runs a request that writes in parts, each with a commit of its own. One at a time, so that threads are left for those who read.
    pub(crate) async fn write_beside(&self, ready: Ready, caller: Caller) -> Reply {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let run = move |inbox: &Inbox| {
            // Until it has ended, also when who asked has gone.
            let _turn = turn;
            ready(inbox, &caller)
        };
        self.on(&self.reads, run).await?()
    }

    /// Runs a request that reads.
    pub(crate) async fn read(&self, ready: Ready, caller: Caller) -> Reply {
        self.on(&self.reads, move |inbox| ready(inbox, &caller))
            .await?()
    }

    /// Runs something beside the writes.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Inbox) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.on(&self.reads, f).await
    }

    /// Runs something that writes.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Inbox) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.on(&self.writes, f).await
    }

    /// Hands a job to the threads that write, or to those that read.
    pub(super) fn submit(&self, is_write: bool, job: Job) -> Result<(), Refusal> {
        let threads = if is_write { &self.writes } else { &self.reads };
        submit(threads, job)
    }

    async fn on<T: Send + 'static>(
        &self,
        threads: &SyncSender<Job>,
        f: impl FnOnce(&Inbox) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |inbox| {
            let did = inbox.and_then(f);
            Box::new(move |committed| {
                // Who asked may have gone.
                let _ = answer.send(committed.and(did));
            })
        });
        submit(threads, job)?;
        answered.await.unwrap_or_else(|_| Err(fault::refusal()))
    }
}

fn submit(threads: &SyncSender<Job>, job: Job) -> Result<(), Refusal> {
    threads.try_send(job).map_err(|error| match error {
        TrySendError::Full(_) => {
            Refusal::new(Code::RateLimited, format!("{QUEUE} requests wait already"))
                .hint("send it again in a moment, with the same key")
        }
        TrySendError::Disconnected(_) => fault::refusal(),
    })
}

/// Runs what comes in, as much as there is at once, with one commit.
fn write_together(mut inbox: Inbox, waiting: &Receiver<Job>, metrics: &Metrics) {
    while let Ok(first) = waiting.recv() {
        let mut next = Some(first);
        let mut answers = Vec::new();
        let shared = || {
            inbox.share(|inbox| {
                while let Some(job) = next.take() {
                    answers.push(fault::run(metrics, job, Ok(inbox)));
                    if answers.len() < TOGETHER {
                        next = waiting.try_recv().ok();
                    }
                }
            })
        };
        let Some(committed) = fault::contained(metrics, shared) else {
            inbox.recover();
            continue;
        };
        if let (Some(job), Err(refusal)) = (next, &committed) {
            answers.push(job(Err(refusal.clone())));
        }
        metrics.committed(answers.len());
        for answer in answers {
            answer(committed.clone());
        }
    }
}

fn spawn_one_by_one(
    name: &str,
    inbox: Inbox,
    waiting: &Arc<Mutex<Receiver<Job>>>,
    metrics: &Arc<Metrics>,
) -> Result<(), Refusal> {
    let (waiting, metrics) = (Arc::clone(waiting), Arc::clone(metrics));
    spawn(name, move || {
        loop {
            let next = waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .recv();
            let Ok(job) = next else { return };
            fault::run(&metrics, job, Ok(&inbox))(Ok(()));
        }
    })
}

pub(super) fn spawn(name: &str, f: impl FnOnce() + Send + 'static) -> Result<(), Refusal> {
    std::thread::Builder::new()
        .name(format!("inbox-{name}"))
        .spawn(f)
        .map(drop)
        .map_err(|error| Refusal::new(Code::Internal, format!("no thread can be started: {error}")))
}
