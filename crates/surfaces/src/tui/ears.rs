//! What the console hears: keys, signals, and the store's bell or the server's word that something happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use inbox_core::{Code, Refusal};
use inbox_ops::{Caller, Inbox, Watch};
use inbox_store::bell::{Key, PATIENCE};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use super::Event;
use super::keys::Keys;
use crate::far::{Far, cursor};

/// How long the rest of a key's sequence may take.
const REST: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 40_000_000,
};

/// How long a server is asked to wait for something to happen.
const TURN: Duration = Duration::from_secs(50);

/// How long to leave a server alone that is away.
const AGAIN: Duration = Duration::from_secs(1);

pub(super) fn spawn(
    name: &str,
    f: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, Refusal> {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(f);
    spawned.map_err(|error| {
        Refusal::new(Code::Internal, format!("cannot start a thread: {error}"))
            .hint("ulimit -u shows how many processes and threads there may be")
    })
}

/// Hears keys until the terminal has gone.
pub(super) fn keys(tell: Sender<Event>) -> Result<(), Refusal> {
    spawn("keys", move || {
        let stdin = std::io::stdin();
        let mut keys = Keys::default();
        let mut bytes = [0; 4096];
        loop {
            let mut ends = [PollFd::new(&stdin, PollFlags::IN)];
            let rest = keys.is_open().then_some(&REST);
            match poll(&mut ends, rest) {
                // Nothing followed.
                Ok(0) => {
                    if let Some(key) = keys.end()
                        && tell.send(Event::Key(key)).is_err()
                    {
                        return;
                    }
                    continue;
                }
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => break,
            }
            match rustix::io::read(&stdin, &mut bytes) {
                Ok(0) => break,
                Ok(count) => {
                    for key in keys.read(&bytes[..count]) {
                        if tell.send(Event::Key(key)).is_err() {
                            return;
                        }
                    }
                }
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(_) => break,
            }
        }
        let _ = tell.send(Event::Stop);
    })
    .map(drop)
}

/// Hears signals.
pub(super) fn signals(tell: Sender<Event>) -> Result<(), Refusal> {
    let cannot = |error: std::io::Error| {
        Refusal::new(Code::Internal, format!("cannot hear signals: {error}"))
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(cannot)?;
    let heard = {
        let _inside = runtime.enter();
        let hear = |kind: SignalKind| signal(kind).map_err(cannot);
        let named = |name: Signal| hear(SignalKind::from_raw(name.as_raw()));
        let heard: [(tokio::signal::unix::Signal, fn() -> Event); 6] = [
            (hear(SignalKind::window_change())?, || Event::Resized),
            (hear(SignalKind::terminate())?, || Event::Stop),
            (hear(SignalKind::hangup())?, || Event::Stop),
            (hear(SignalKind::interrupt())?, || Event::Stop),
            (named(Signal::TSTP)?, || Event::Suspend),
            (named(Signal::CONT)?, || Event::Resumed),
        ];
        heard
    };
    spawn("signals", move || {
        let mut all = tokio::task::JoinSet::new();
        for (mut signal, event) in heard {
            let tell = tell.clone();
            all.spawn_on(
                async move {
                    while signal.recv().await.is_some() {
                        if tell.send(event()).is_err() {
                            return;
                        }
                    }
                },
                runtime.handle(),
            );
        }
        runtime.block_on(async { while all.join_next().await.is_some() {} });
    })
    .map(drop)
}

/// Hears the bell of a store, until it is told to stop.
pub(super) struct Bell {
    inbox: Arc<Inbox>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bell {
    pub(super) fn hear(inbox: &Arc<Inbox>, tell: Sender<Event>) -> Result<Self, Refusal> {
        let is_over = Arc::new(AtomicBool::new(false));
        let (hears, over) = (Arc::clone(inbox), Arc::clone(&is_over));
        let thread = spawn("bell", move || {
            crate::cli::wait::be_woken_with_others();
            let store = hears.store();
            let mut listener = store.listen(&Key::Any);
            let mut mark = store.change_mark();
            // What came before it listened is looked for once.
            if tell.send(Event::Rang).is_err() {
                return;
            }
            while !over.load(Ordering::SeqCst) {
                let rang = listener.wait(PATIENCE);
                // Before it is told, so that what comes after the look that follows rings again.
                listener.rearm();
                let now = store.change_mark();
                if (rang || now != mark) && tell.send(Event::Rang).is_err() {
                    return;
                }
                mark = now;
            }
        })?;
        Ok(Bell {
            inbox: Arc::clone(inbox),
            is_over,
            thread: Some(thread),
        })
    }
}

impl Drop for Bell {
    /// Whoever waits at a bell is counted there, and takes its name off when it goes.
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.inbox.store().bell().ring(&[Key::Any]);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Hears from a server, in turns. Without a name every event counts.
pub(super) fn server(far: Far, tell: Sender<Event>) -> Result<(), Refusal> {
    spawn("server", move || {
        let caller = Caller::local(None);
        let mut watch = Watch {
            timeout_seconds: Some(0),
            ..Watch::default()
        };
        loop {
            let Ok(body) = serde_json::to_string(&watch) else {
                return;
            };
            match far.call_waiting(&watch, body, &caller, TURN) {
                Ok(answer) => {
                    // What came before it listened is looked for once.
                    let is_first = watch.after_event.is_none();
                    let next = cursor(&answer).and_then(|next| next.as_i64());
                    watch.after_event = next.map(inbox_core::EventId);
                    watch.timeout_seconds = u32::try_from(TURN.as_secs()).ok();
                    if (answer.woke || is_first) && tell.send(Event::Rang).is_err() {
                        return;
                    }
                }
                // It may be back in a moment, and then there is something to see.
                Err(_) => {
                    std::thread::sleep(AGAIN);
                    if tell.send(Event::Rang).is_err() {
                        return;
                    }
                }
            }
        }
    })
    .map(drop)
}
