//! Hearing what is committed elsewhere. One process of a host listens to the server for all who wait
//! there: it rings the host's bell for what it hears, and whoever waits blocks on that bell, as for a file.
//! So the server has one listener for a host, however many wait. While there is none anywhere, nothing is
//! sent: who listens is written down in the table `listeners`.
//!
//! What is heard is a hint. A listener that dies, a notification that is lost and a server that restarts
//! delay a wake until whoever waits looks by itself, within a second.

use std::cell::OnceCell;
use std::fs::{DirBuilder, File};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use inbox_core::sabotage::planted;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};

use super::dial;
use super::failure::Failure;
use super::url::Target;
use super::wire::Wire;
use crate::bell::{Bell, Key};
use crate::error::StoreError;
use crate::private;

/// How often a process that does not listen asks whether it should: a listener that was killed tells nobody.
const TURN: Duration = Duration::from_millis(500);
/// How long a listener blocks before it looks around by itself.
const BLOCK: Duration = Duration::from_secs(1);
/// How long to read on when something has come: what is there already is read at once.
const MORE: Duration = Duration::from_millis(1);
/// How long a server that went away or refuses is left alone at first, and at most.
const RETRY: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_secs(1);
/// How long whoever waited stays until the server has heard that nobody listens any more.
const FAREWELL: Duration = Duration::from_millis(250);
/// The longest list of slots that is told. PostgreSQL takes less than 8,000 bytes.
const TOLD: usize = 4_000;
/// Told instead of a longer list.
const EVERYBODY: &str = "*";
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long a listener counts as there without a word of it.
const COUNTS_FOR: Duration = Duration::from_mins(1);
const REGISTER_EVERY: Duration = Duration::from_secs(20);

/// Where the bell of a host for a store is; nothing where no private place can be had.
pub(super) fn bell_file(target: &Target) -> Option<PathBuf> {
    let folder = private_folder()?;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in target.place.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    Some(folder.join(format!("{hash:016x}-bell")))
}

/// A folder of this user's alone. Somebody else's of that name would hear of every commit and could keep
/// everybody from listening.
fn private_folder() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let folder = match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) => PathBuf::from(folder).join("inbox"),
        None => std::env::temp_dir().join(format!("inbox-{user}")),
    };
    // It may be there already.
    let _ = DirBuilder::new().mode(0o700).create(&folder);
    let found = std::fs::symlink_metadata(&folder).ok()?;
    (found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0).then_some(folder)
}

/// What those who listen are told of these rings. A broadcast may concern more than a notification can name.
pub(super) fn told(rings: &[Key]) -> String {
    let slots: Vec<String> = rings.iter().map(|key| key.slot().to_string()).collect();
    let slots = slots.join(" ");
    if slots.len() > TOLD {
        EVERYBODY.to_owned()
    } else {
        slots
    }
}

/// Rings for what was told.
fn pass_on(told: &str, bell: &Bell) {
    if planted("deaf_ear") {
        return;
    }
    if told == EVERYBODY {
        bell.ring_all();
    } else {
        bell.ring_slots(told.split(' ').filter_map(|slot| slot.parse().ok()));
    }
}

/// Somebody on this host waits, and hears what is committed elsewhere while this lives.
pub(crate) struct Ear {
    target: Target,
    bell: PathBuf,
    thread: OnceCell<Option<Thread>>,
}

/// Who listens behind the caller's back.
struct Thread {
    life: Arc<Life>,
    /// Closed when it is over, which ends what the thread blocks in.
    end: Option<UnixStream>,
    /// Closed by the thread's end.
    gone: mpsc::Receiver<()>,
}

#[derive(Default)]
struct Life {
    is_over: AtomicBool,
    /// Whether the server may know of this listener.
    is_known: AtomicBool,
}

impl Life {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

impl Ear {
    pub(crate) fn new(url: &str, bell: &Path) -> Result<Ear, StoreError> {
        Ok(Ear {
            target: Target::parse(url)?,
            bell: bell.to_owned(),
            thread: OnceCell::new(),
        })
    }

    /// Listens from now on, or waits for its turn to. Whoever finds at once what it waits for never needs it.
    pub(crate) fn open(&self) {
        // Without a thread waiting goes on, by looking.
        self.thread
            .get_or_init(|| Thread::start(&self.target, &self.bell).ok());
    }
}

impl Thread {
    fn start(target: &Target, bell: &Path) -> std::io::Result<Thread> {
        let life = Arc::new(Life::default());
        let (end, over) = UnixStream::pair()?;
        let (going, gone) = mpsc::channel();
        let (target, bell, lives) = (target.clone(), bell.to_owned(), life.clone());
        std::thread::Builder::new()
            .name("inbox-ear".into())
            .spawn(move || {
                attend(&target, &bell, &lives, &over);
                drop(going);
            })?;
        Ok(Thread {
            life,
            end: Some(end),
            gone,
        })
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.life.is_over.store(true, Ordering::SeqCst);
        self.end = None;
        // The process may end with this, and a listener that is still written down has notifications sent to nobody.
        if self.life.is_known.load(Ordering::SeqCst) {
            let _ = self.gone.recv_timeout(FAREWELL);
        }
    }
}

fn attend(target: &Target, path: &Path, life: &Life, over: &UnixStream) {
    let bell = Bell::open(path.to_owned());
    // Whoever stops listening rings for those who wait for their turn.
    let turns = Bell::open(path.with_extension("listen"));
    let Ok(lock) = open(turns.path()) else { return };
    let mut turn = turns.listen(&Key::Any);
    let mut pause = RETRY;
    while !life.is_over() {
        turn.rearm();
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            turn.wait(TURN);
            continue;
        }
        let begun = Instant::now();
        if hear(target, &bell, life, over).is_ok() {
            // Nobody needs it any more, or nothing can be heard here.
            break;
        }
        if begun.elapsed() > PAUSE {
            pause = RETRY;
        }
        block_on(&[over.as_fd()], pause);
        pause = PAUSE.min(pause * 2);
    }
    drop(lock);
    turns.ring(&[Key::Any]);
}

fn open(path: &Path) -> std::io::Result<File> {
    private::open(
        private::file().write(true).create(true).truncate(false),
        path,
    )
}

/// Blocks until there is something to read from one of these, or its other end is closed.
fn block_on(any: &[BorrowedFd<'_>], limit: Duration) {
    let mut any: Vec<_> = any
        .iter()
        .map(|one| PollFd::new(one, PollFlags::IN))
        .collect();
    let limit = Timespec::try_from(limit).ok();
    // A signal only makes it look around early.
    let _ = poll(&mut any, limit.as_ref());
}

/// Listens until it is over. Returns at once behind a pooler, whose server processes are everybody's: what
/// one of them hears may be told to anybody.
fn hear(target: &Target, bell: &Bell, life: &Life, over: &UnixStream) -> Result<(), Failure> {
    let mut wire = dial::wire(target, ANSWER_WITHIN)?;
    let process = wire.process;
    let found = first_cell(wire.script("SELECT pg_backend_pid()")?);
    if found.as_deref() != Some(process.to_string().as_str()) {
        wire.close();
        return Ok(());
    }
    let schema = &target.schema;
    let name = format!("{process}-{}", random());
    // Who listens is nothing to wait for the disk for.
    wire.script(&format!(
        "SET synchronous_commit = off; LISTEN \"inbox:{schema}\""
    ))?;
    life.is_known.store(true, Ordering::SeqCst);
    if life.is_over() {
        wire.close();
        return Ok(());
    }
    register(&mut wire, schema, &name)?;
    // Who looked before this was registered was not told of what came after its look.
    bell.ring_all();
    let heard = hear_out(&mut wire, bell, life, over, (schema, &name));
    if heard.is_err() {
        // What was missed is found by looking.
        bell.ring_all();
        return heard;
    }
    wire.set_patience(Some(ANSWER_WITHIN))?;
    wire.script(&format!(
        "DELETE FROM \"{schema}\".listeners WHERE listener = '{name}'"
    ))?;
    wire.close();
    Ok(())
}

fn hear_out(
    wire: &mut Wire,
    bell: &Bell,
    life: &Life,
    over: &UnixStream,
    (schema, name): (&str, &str),
) -> Result<(), Failure> {
    let mut registered = Instant::now();
    while !life.is_over() {
        if registered.elapsed() > REGISTER_EVERY {
            wire.set_patience(Some(ANSWER_WITHIN))?;
            register(wire, schema, name)?;
            registered = Instant::now();
        }
        // Some may have come with the answer to something else.
        while let Some(notice) = wire.next_notice(MORE)? {
            pass_on(&notice.payload, bell);
        }
        block_on(&[over.as_fd(), wire.as_fd()], BLOCK);
    }
    Ok(())
}

/// Writes down that this server process listens for a host, and strikes out those that are gone.
fn register(wire: &mut Wire, schema: &str, name: &str) -> Result<(), Failure> {
    let now = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
    let counts_for = COUNTS_FOR.as_millis();
    wire.script(&format!(
        "DELETE FROM \"{schema}\".listeners WHERE until < {now}\n            OR split_part(listener, '-', 1) NOT IN (SELECT CAST(pid AS TEXT) FROM pg_stat_activity);\n         INSERT INTO \"{schema}\".listeners (listener, until) VALUES ('{name}', {now} + {counts_for})\n         ON CONFLICT (listener) DO UPDATE SET until = excluded.until"
    ))
    .map(drop)
}

fn first_cell(rows: Vec<Vec<Option<String>>>) -> Option<String> {
    rows.into_iter().next()?.into_iter().next()?
}

/// Tells apart the listeners that one server process number had, one after the other.
fn random() -> u64 {
    let mut bytes = [0; 8];
    // Two of one name only share a row.
    let _ = getrandom::fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_concerns_more_than_a_notification_can_name_is_told_to_everybody() {
        let names = |count: usize| -> Vec<Key> {
            (0..count)
                .map(|n| Key::Address(format!("agent-{n}")))
                .collect()
        };
        let few = names(64);
        let slots: Vec<usize> = told(&few)
            .split(' ')
            .map(|slot| slot.parse().unwrap())
            .collect();
        assert_eq!(slots, few.iter().map(Key::slot).collect::<Vec<_>>());
        assert_eq!(told(&names(10_000)), EVERYBODY);
    }
}
