//! Waking: from a send to the one who waits for it, and what many who wait cost.

use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use inbox_core::ThreadId;
use inbox_ops::{Inbox, WaitReply, Waiting};
use inbox_store::bell::PATIENCE;
use inbox_store::{Location, Store};

use crate::Outcome;
use crate::lab::{Lab, answer, caller, end, open, send_task};
use crate::peers::Peers;
use crate::report::{Report, say};
use crate::stats::{Samples, ratio, time};

/// How often a process is woken.
const ROUNDS: usize = 30;

/// How often one of many waiters is woken.
const WAKES: usize = 300;

/// How long a process that waits is given to have come so far.
const SETTLE: Duration = Duration::from_millis(150);

/// Send starts → the process that waits has ended; ours and hcom's in turn.
pub(crate) fn measure_processes(lab: &Lab, peers: &Peers, report: &mut Report) -> Outcome<()> {
    let db = lab.store("wake")?;
    let (alice, inbox) = (caller("alice")?, open(&db)?);
    let mut ours = Samples::default();
    let mut theirs = Samples::default();
    if let Some(hcom) = &peers.hcom {
        hcom.drain()?;
    }
    for round in 0..ROUNDS {
        let thread = send_task(&inbox, &alice, "bob")?.to_string();
        // Who says the same again and again is stopped by the loop guard.
        let summary = format!("yes, {round}");
        let wait = ["wait-reply", "--agent", "alice", "--thread", &thread];
        let waiter = lab.inbox(&db, &wait).spawn()?;
        let send = [
            "send",
            "--from",
            "bob",
            "--kind",
            "answer",
            "--summary",
            &summary,
            "--thread",
            &thread,
        ];
        ours.push(woken(waiter, &mut lab.inbox(&db, &send))?);
        if let Some(hcom) = &peers.hcom {
            let listener = hcom.listen("20").spawn()?;
            theirs.push(woken(listener, &mut hcom.send())?);
        }
    }
    let what = "send starts → a process in `wait-reply` has ended";
    if theirs.len() == 0 {
        report.fact(what, ours.words(), String::new());
        return Ok(());
    }
    report.fact(
        "send starts → a process in `hcom listen` has ended",
        theirs.words(),
        String::new(),
    );
    let times = ratio(theirs.median(), ours.median());
    let goal = "at least 5× faster than hcom";
    report.goal(
        what,
        ours.words(),
        format!("{times:.1}× faster"),
        goal,
        times >= 5.0,
    );
    Ok(())
}

/// How long after the start of `send` the one who waits has ended.
fn woken(mut waiter: Child, send: &mut std::process::Command) -> Outcome<Duration> {
    std::thread::sleep(SETTLE);
    if let Some(status) = waiter.try_wait()? {
        return Err(format!("a process that should wait ended with {status}").into());
    }
    let start = Instant::now();
    let pid = rustix::process::Pid::from_child(&waiter);
    let mut sender = send.spawn()?;
    // Without a word from the sender the other would wait for ever.
    let minder = std::thread::spawn(move || -> std::io::Result<bool> {
        let is_sent = sender.wait()?.success();
        if !is_sent {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        Ok(is_sent)
    });
    let status = waiter.wait()?;
    let took = start.elapsed();
    let is_sent = minder.join().map_err(|_| "a thread panicked")??;
    if !is_sent || !status.success() {
        return Err(format!("a wake failed: {send:?}").into());
    }
    Ok(took)
}

/// Commit → the waiter has its message, with ever more who wait for something else.
pub(crate) fn measure_waiters(lab: &Lab, report: &mut Report) -> Outcome<()> {
    raise_file_limit();
    for count in [1, 100, 1000] {
        let (samples, missed) = wake_one_of(lab, count)?;
        let what = format!("commit → wake, {count} waiters");
        let measured = format!("{}, {missed} missed", samples.words());
        if count < 1000 {
            report.fact(&what, measured, String::new());
            continue;
        }
        let is_met = missed == 0 && samples.percentile(99) < Duration::from_micros(500);
        let goal = "p99 under 0.5 ms, none missed";
        report.goal(&what, measured, String::new(), goal, is_met);
    }
    Ok(())
}

/// What a waiter says: when it had its message, and whether a ring woke it.
type Woke = (Instant, bool);

fn wake_one_of(lab: &Lab, count: usize) -> Outcome<(Samples, usize)> {
    let file = Location::File(lab.store(&format!("waiters-{count}"))?);
    wake_between(&file, &file, count)
}

/// Commits at the one place wake those who wait at the other, which is the same store.
pub(crate) fn wake_between(
    from: &Location,
    to: &Location,
    count: usize,
) -> Outcome<(Samples, usize)> {
    let open = |place: &Location| Store::open(place).map(Inbox::new);
    let inbox = open(from)?;
    let (alice, bob) = (caller("alice")?, caller("bob")?);
    let over = std::sync::Arc::new(AtomicBool::new(false));
    let ready = std::sync::Arc::new(AtomicUsize::new(0));
    let (report, heard) = mpsc::channel();
    let mut threads = Vec::with_capacity(count);
    let mut waiters = Vec::with_capacity(count);
    for _ in 0..count {
        let thread = send_task(&inbox, &alice, "bob")?;
        threads.push(thread);
        let waiter = Waiter {
            inbox: open(to)?,
            thread,
            report: report.clone(),
        };
        let (over, ready) = (over.clone(), ready.clone());
        waiters.push(
            std::thread::Builder::new()
                .stack_size(512 * 1024)
                .spawn(move || waiter.run(&over, &ready))?,
        );
    }
    while ready.load(Ordering::SeqCst) < count {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300));
    let outcome = wake_in_turn(&inbox, &bob, &threads, &heard);
    over.store(true, Ordering::SeqCst);
    join(waiters);
    outcome
}

fn wake_in_turn(
    inbox: &Inbox,
    from: &inbox_ops::Caller,
    threads: &[ThreadId],
    heard: &Receiver<Woke>,
) -> Outcome<(Samples, usize)> {
    let mut samples = Samples::default();
    let mut missed = 0;
    for wake in 0..WAKES {
        // A step that shares no factor with the counts visits the waiters in no order of theirs.
        let thread = threads[wake * 367 % threads.len()];
        answer(inbox, from, thread)?;
        let committed = Instant::now();
        let (woke, by_ring) = heard.recv_timeout(Duration::from_secs(5))?;
        samples.push(woke.saturating_duration_since(committed));
        missed += usize::from(!by_ring);
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok((samples, missed))
}

fn join(waiters: Vec<JoinHandle<()>>) {
    for waiter in waiters {
        let _ = waiter.join();
    }
}

/// One who waits for the replies in one thread, as the command line does.
struct Waiter {
    inbox: Inbox,
    thread: ThreadId,
    report: Sender<Woke>,
}

impl Waiter {
    fn run(self, over: &AtomicBool, ready: &AtomicUsize) {
        let Ok(alice) = caller("alice") else { return };
        let mut request = WaitReply {
            thread: self.thread,
            after_message: None,
            after_event: None,
            kinds: Vec::new(),
            timeout_seconds: None,
        };
        let mut state = <WaitReply as Waiting>::State::default();
        let store = self.inbox.store();
        let mut listener = store.listen(&request.key(&alice));
        let mut by_ring = false;
        let mut is_first = true;
        while !over.load(Ordering::SeqCst) {
            listener.rearm();
            let mark = store.change_mark();
            let Ok(found) = request.poll(&mut state, &self.inbox, &alice) else {
                return;
            };
            if std::mem::take(&mut is_first) {
                ready.fetch_add(1, Ordering::SeqCst);
            }
            if found.woke {
                let _ = self.report.send((Instant::now(), by_ring));
                // The next reply counts.
                request.after_event = Some(found.next_event_id);
                state = <WaitReply as Waiting>::State::default();
                continue;
            }
            loop {
                by_ring = listener.wait(PATIENCE);
                let is_over = over.load(Ordering::SeqCst);
                if by_ring || is_over || mark.is_none() || store.change_mark() != mark {
                    break;
                }
            }
        }
    }
}

/// A thousand stores in one process need a few thousand files.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}

/// What a thousand processes that wait cost while nothing happens.
pub(crate) fn measure_idle(lab: &Lab, report: &mut Report) -> Outcome<()> {
    const COUNT: usize = 1000;
    const WATCHED: Duration = Duration::from_secs(6);
    // A process that waits takes about four MiB.
    let free = available_memory();
    if free < 8 << 30 {
        report.missing(format!(
            "the idle CPU of {COUNT} processes: only {free} bytes of memory are free"
        ));
        return Ok(());
    }
    let db = lab.store("idle")?;
    let (alice, inbox) = (caller("alice")?, open(&db)?);
    let mut waiters = Vec::with_capacity(COUNT);
    for _ in 0..COUNT {
        let thread = send_task(&inbox, &alice, "bob")?.to_string();
        let wait = ["wait-reply", "--agent", "alice", "--thread", &thread];
        waiters.push(lab.inbox(&db, &wait).spawn()?);
    }
    std::thread::sleep(Duration::from_secs(3));
    let before = cpu_of(&waiters);
    let start = Instant::now();
    std::thread::sleep(WATCHED);
    let after = cpu_of(&waiters);
    let watched = start.elapsed();
    let alive = waiters
        .iter_mut()
        .filter_map(|waiter| waiter.try_wait().ok())
        .filter(Option::is_none)
        .count();
    for waiter in waiters {
        end(waiter);
    }
    let percent = 100.0 * ratio(after.saturating_sub(before), watched);
    let measured = format!(
        "{percent:.2} % of a core ({} in {} by {alive} processes)",
        time(after.saturating_sub(before)),
        time(watched)
    );
    let is_met = percent < 2.0 && alive == COUNT;
    let what = format!("idle CPU of {COUNT} waiting processes");
    report.goal(&what, measured, String::new(), "under 2 %", is_met);
    Ok(())
}

/// The processor time of these processes.
fn cpu_of(processes: &[Child]) -> Duration {
    let nanos = |child: &Child| {
        // In nanoseconds; the ticks of `stat` are too coarse for a process that does next to nothing.
        let text = std::fs::read_to_string(format!("/proc/{}/schedstat", child.id())).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    let found: Vec<u64> = processes.iter().filter_map(nanos).collect();
    if found.len() < processes.len() {
        say("the processor time of some processes could not be read");
    }
    Duration::from_nanos(found.iter().sum())
}

fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
