//! On PostgreSQL a commit on one host wakes whoever waits on another, by the bell: one process of a host
//! listens to the server for all who wait there. Whatever happens to that, no wake is lost.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use inbox_core::{EventId, ThreadId};
use inbox_store::bell::Key;
use inbox_store::{Location, Store};
use inbox_surfaces::cli::wait::Woken;
use inbox_testkit::certs::{Authority, Validity};
use inbox_testkit::cluster::{Cluster, Setup, shared};
use inbox_testkit::sandbox::{Sandbox, TempDir};
use rustix::process::Signal;

use super::wake::{reply, wait};
use super::{Leashed, alone, ends, eventually, in_process, open, signal, start, thrown, words};
use crate::INBOX;

/// A store that two hosts share, and who listens to it.
struct Team<'a> {
    cluster: &'a Cluster,
    schema: String,
    url: String,
    /// The one host, whose processes wait.
    here: Sandbox,
    /// The other one, whose processes write. A bell of its own keeps it from ringing here.
    there: Sandbox,
    runtime: TempDir,
}

impl Team<'_> {
    fn on(cluster: &Cluster) -> Team<'_> {
        let url = cluster.fresh_url();
        let schema = url.rsplit('=').next().expect("it names one").to_owned();
        let runtime = TempDir::new();
        let host = |name: &str| {
            let folder = runtime.path().join(name);
            std::fs::DirBuilder::new()
                .mode(0o700)
                .create(&folder)
                .expect("a folder of a host");
            let mut sandbox = Sandbox::at(INBOX, &url);
            sandbox.set("XDG_RUNTIME_DIR", folder.to_str().expect("text"));
            sandbox
        };
        Team {
            here: host("here"),
            there: host("there"),
            cluster,
            schema,
            url,
            runtime,
        }
    }

    /// The store as one process of the one host opens it.
    fn seen_here(&self) -> Location {
        Location::parse(&self.url)
    }

    /// The same store as the other host opens it: a bell belongs to a server by its name.
    fn seen_there(&self) -> Location {
        Location::parse(&self.url.replace("127.0.0.1", "localhost"))
    }

    fn listeners(&self) -> Vec<String> {
        let sql = format!("SELECT listener FROM {}.listeners", self.schema);
        let rows = self.cluster.psql(&sql);
        rows.lines().map(str::to_owned).collect()
    }

    /// Waits until exactly one listens, who is not this one.
    #[track_caller]
    fn one_listens_but(&self, not: &str) -> String {
        eventually("one process listens", || match &self.listeners()[..] {
            [one] if one != not => Some(one.clone()),
            _ => None,
        })
    }

    /// Ends the connection on which a host listens.
    fn cut(&self, listener: &str) {
        let process = listener.split('-').next().expect("a process");
        let cut = self
            .cluster
            .psql(&format!("SELECT pg_terminate_backend({process})"));
        assert_eq!(cut, "t");
    }

    /// Who of these processes listens for its host: it holds the lock.
    fn who_listens(&self) -> u32 {
        let folder = self.runtime.path().join("here/inbox");
        eventually("one process has the lock", || {
            let lock = std::fs::read_dir(&folder).ok()?.flatten().find(|entry| {
                let name = entry.file_name();
                name.to_string_lossy().ends_with("-bell.listen")
            })?;
            let file = format!(":{} ", lock.metadata().ok()?.ino());
            let locks = std::fs::read_to_string("/proc/locks").ok()?;
            let held = locks
                .lines()
                .find(|line| line.contains("FLOCK") && line.contains(&file))?;
            held.split_whitespace().nth(4)?.parse().ok()
        })
    }

    /// Processes of the one host, each of which waits for a reply in its thread.
    fn processes(&self, count: usize, seconds: u32) -> Vec<(String, Leashed)> {
        let waiters = (0..count)
            .map(|n| {
                let thread = open(&self.here, "worker", &format!("question-{n}"));
                let line = format!(
                    "wait-reply --agent lead --thread {thread} --timeout-seconds {seconds}"
                );
                (thread, start(&self.here, &words(&line)))
            })
            .collect();
        self.wait_for(count);
        waiters
    }

    /// Until so many processes of the one host wait.
    #[track_caller]
    fn wait_for(&self, count: usize) {
        // Whoever looked in vain listens, or waits there for its turn to.
        let bell = eventually("somebody blocks", || {
            let folder = std::fs::read_dir(self.runtime.path().join("here/inbox")).ok()?;
            let mut files = folder.flatten().map(|entry| entry.path());
            files.find(|file| file.to_string_lossy().ends_with("-bell.listen"))
        });
        waits(&bell, count);
    }

    /// A reply from the other host, and the end of the one who waits for it.
    #[track_caller]
    fn answer(&self, (thread, waiter): (String, Leashed)) {
        self.say(&thread);
        woke(waiter, &thread);
    }

    #[track_caller]
    fn say(&self, thread: &str) {
        let line = format!("reply --from worker --thread {thread} --summary for-{thread}");
        self.there.run(words(&line)).ok();
    }
}

#[track_caller]
fn woke(waiter: Leashed, thread: &str) {
    let woke = ends(waiter).ok();
    assert_eq!(woke["message"]["summary"], format!("for-{thread}"));
}

/// Until so many wait at a bell.
#[track_caller]
fn waits(bell: &PathBuf, count: usize) {
    eventually("all of them wait", || {
        let bytes = std::fs::read(bell).ok()?;
        let waiting = bytes
            .chunks_exact(8)
            .map(|slot| u32::from_ne_bytes([slot[4], slot[5], slot[6], slot[7]]));
        (waiting.sum::<u32>() as usize == count).then_some(())
    });
}

#[test]
fn a_reply_on_another_host_wakes_by_the_bell_200_times() {
    let _alone = alone();
    let dice = thrown();
    let team = Team::on(shared());
    let thread: ThreadId = open(&team.here, "worker", "questions").parse().unwrap();
    // Somebody on this host waits already.
    let other = Store::open(&team.seen_here()).unwrap();
    let other = other.listen(&Key::Address("somebody".into()));
    other.wait(Duration::from_millis(1));
    team.one_listens_but("");
    let inbox = in_process(&team.seen_here());
    let (orders, queue) = mpsc::channel::<(Instant, String)>();
    let (commits, committed) = mpsc::channel::<Instant>();
    let mut late = Vec::new();
    let mut by_bell = 0;
    std::thread::scope(|scope| {
        let writer = team.seen_there();
        scope.spawn(move || {
            let inbox = in_process(&writer);
            for (moment, summary) in queue {
                std::thread::sleep(moment.saturating_duration_since(Instant::now()));
                reply(&inbox, thread, &summary);
                let _ = commits.send(Instant::now());
            }
        });
        // Moved in, so that a failed assertion ends the other thread too.
        let orders = orders;
        let mut after = EventId::default();
        for n in 0..200 {
            let summary = format!("reply {n}");
            let delay = Duration::from_micros(3_000 + dice.nth(n).below(10_000));
            orders
                .send((Instant::now() + delay, summary.clone()))
                .unwrap();
            let (woken, heard, next) = wait(&inbox, thread, after);
            let ended = Instant::now();
            assert_eq!(heard, summary, "reply {n} was missed: {woken:?}");
            after = next;
            let commit = committed.recv().unwrap();
            match woken {
                Woken::AtOnce => {}
                Woken::ByBell => {
                    by_bell += 1;
                    late.push(ended.saturating_duration_since(commit));
                }
                Woken::ByLook | Woken::InVain => panic!("nobody heard of reply {n}: {woken:?}"),
            }
        }
    });
    late.sort_unstable();
    let at = |percent: usize| late.get(late.len() * percent / 100);
    println!(
        "{by_bell} by the bell; commit -> wait's end: p50 {:?}, p99 {:?}",
        at(50),
        at(99)
    );
    // Otherwise every reply was there before its wait, and nothing was tried.
    assert!(by_bell > 50, "{by_bell}");
}

#[test]
fn a_host_of_20_waiting_processes_has_one_listener_and_a_killed_one_is_replaced() {
    let _alone = alone();
    // Its connections are counted.
    let cluster = Cluster::start();
    let team = Team::on(&cluster);
    let mut waiters = team.processes(20, 300);
    let first = team.one_listens_but("");
    let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'inbox'";
    eventually("there is one connection more than who wait", || {
        (cluster.psql(count) == "21").then_some(())
    });
    let holder = team.who_listens();
    let at = waiters
        .iter()
        .position(|(_, waiter)| waiter.id() == holder)
        .expect("one of those who wait listens");
    let (_, killed) = waiters.remove(at);
    signal(&killed, Signal::KILL);
    drop(killed);
    // The row of the killed one is struck out by whoever takes its place.
    team.one_listens_but(&first);
    assert_ne!(team.who_listens(), holder);
    eventually("the connections of the killed one are gone", || {
        (cluster.psql(count) == "20").then_some(())
    });
    for waiter in waiters {
        team.answer(waiter);
    }
    assert_eq!(team.listeners(), [""; 0]);
}

#[test]
fn whoever_listens_leaves_and_the_others_are_still_woken_by_the_bell() {
    let _alone = alone();
    let team = Team::on(shared());
    let (reports, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for n in 0..8 {
            let thread = open(&team.here, "worker", &format!("question-{n}"));
            threads.push(thread.clone());
            let (location, reports) = (team.seen_here(), reports.clone());
            scope.spawn(move || {
                let (woken, heard, _) = wait(
                    &in_process(&location),
                    thread.parse().unwrap(),
                    EventId::default(),
                );
                reports.send((woken, heard)).unwrap();
            });
        }
        let store = Store::open(&team.seen_here()).unwrap();
        waits(&store.bell().path().with_extension("listen"), 8);
        let mut by_bell = 0;
        for thread in threads {
            // Whoever left is struck out before its wait ends, so this is the next one.
            team.one_listens_but("");
            team.say(&thread);
            let (woken, heard) = ended.recv().unwrap();
            assert_eq!(heard, format!("for-{thread}"));
            by_bell += u32::from(woken == Woken::ByBell);
        }
        // A wait also looks by itself each second, and one of these looks may be between a commit and its ring.
        assert!(by_bell >= 6, "{by_bell} of 8 were woken by the bell");
    });
    assert_eq!(team.listeners(), [""; 0]);
}

/// Somebody who hears all that is sent, and is not written down as one who listens.
struct Eavesdropper {
    client: Leashed,
    said: BufReader<std::process::ChildStdout>,
}

impl Eavesdropper {
    fn on(team: &Team<'_>) -> Self {
        let mut command = team.cluster.client("inbox");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = Leashed(command.spawn().expect("psql starts"));
        let said = BufReader::new(client.stdout.take().expect("a pipe"));
        let mut one = Eavesdropper { client, said };
        one.heard(&format!("LISTEN \"inbox:{}\";", team.schema));
        one
    }

    /// How many notifications came until this statement was done.
    fn heard(&mut self, statement: &str) -> usize {
        let stdin = self.client.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{statement}\nSELECT 'so far';").expect("psql is there");
        let mut count = 0;
        loop {
            let mut line = String::new();
            let read = self.said.read_line(&mut line).expect("psql says something");
            assert!(read > 0, "psql ended");
            count += usize::from(line.contains("Asynchronous notification"));
            if line.starts_with("so far") {
                // What came with the answer is said behind it.
                return count;
            }
        }
    }
}

#[test]
fn nothing_is_sent_while_nobody_waits() {
    let team = Team::on(shared());
    let mut anybody = Eavesdropper::on(&team);
    let thread = open(&team.there, "worker", "alone");
    for _ in 0..5 {
        team.say(&thread);
    }
    assert_eq!(anybody.heard("SELECT 1;") + anybody.heard("SELECT 1;"), 0);

    let waiter = team.processes(1, 300).pop().expect("one");
    team.one_listens_but("");
    team.answer(waiter);
    let heard = anybody.heard("SELECT 1;") + anybody.heard("SELECT 1;");
    assert!(heard > 0, "while somebody waits everybody is told");

    // Who found its reply at once never listened, and who listened is struck out.
    assert_eq!(team.listeners(), [""; 0]);
    let again = format!("wait-reply --agent lead --thread {thread} --timeout-seconds 60");
    team.here.run(words(&again)).ok();
    for _ in 0..5 {
        team.say(&thread);
    }
    assert_eq!(anybody.heard("SELECT 1;") + anybody.heard("SELECT 1;"), 0);
}

#[test]
fn a_listening_connection_that_is_cut_is_made_again_and_no_wake_is_lost() {
    let _alone = alone();
    let team = Team::on(shared());
    let mut listener = String::new();
    for waiter in team.processes(5, 300) {
        // The reply may come before anybody listens again.
        listener = team.one_listens_but(&listener);
        team.cut(&listener);
        team.answer(waiter);
    }
    // And when it is there again, it is heard.
    let thread = open(&team.here, "worker", "later");
    std::thread::scope(|scope| {
        let location = team.seen_here();
        let id: ThreadId = thread.parse().unwrap();
        let waiter = scope.spawn(move || wait(&in_process(&location), id, EventId::default()));
        let first = team.one_listens_but("");
        team.cut(&first);
        team.one_listens_but(&first);
        team.say(&thread);
        let (woken, heard, _) = waiter.join().unwrap();
        assert_eq!((woken, heard), (Woken::ByBell, format!("for-{thread}")));
    });
}

#[test]
fn over_tls_a_reply_on_another_host_wakes_by_the_bell() {
    let _alone = alone();
    let papers = TempDir::new();
    let authority = Authority::new(&papers.path().join("authority"), "Authority");
    let server = authority.issue("server", "DNS:localhost,IP:127.0.0.1", Validity::Now);
    let hba = [
        "local all inbox trust",
        "hostssl all inbox 127.0.0.1/32 trust",
    ];
    let cluster = Cluster::start_with(Setup::with_tls(&server, &hba));
    let team = Team::on(&cluster);
    for n in 0..5 {
        let thread = open(&team.here, "worker", &format!("question-{n}"));
        std::thread::scope(|scope| {
            let (location, id) = (team.seen_here(), thread.parse().unwrap());
            let waiter = scope.spawn(move || wait(&in_process(&location), id, EventId::default()));
            team.one_listens_but("");
            team.say(&thread);
            let (woken, heard, _) = waiter.join().unwrap();
            assert_eq!((woken, heard), (Woken::ByBell, format!("for-{thread}")));
        });
    }
}

#[test]
fn where_notifications_are_suppressed_every_wait_finds_its_reply_by_looking() {
    let _alone = alone();
    let team = Team::on(shared());
    let schema = &team.schema;
    team.cluster.psql(&format!(
        "CREATE FUNCTION {schema}.hush() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER hush BEFORE INSERT OR UPDATE ON {schema}.listeners
             FOR EACH ROW EXECUTE FUNCTION {schema}.hush()"
    ));
    let waiters = team.processes(5, 300);
    let mut anybody = Eavesdropper::on(&team);
    for waiter in waiters {
        team.answer(waiter);
    }
    assert_eq!(anybody.heard("SELECT 1;") + anybody.heard("SELECT 1;"), 0);
}

#[test]
fn those_who_wait_outlive_a_restart_of_the_server_and_lose_no_wake() {
    let _alone = alone();
    let cluster = Cluster::start();
    let team = Team::on(&cluster);
    let mut waiters = team.processes(5, 300);
    let hasty = open(&team.here, "worker", "soon");
    let line = format!("wait-reply --agent lead --thread {hasty} --timeout-seconds 12");
    let hasty = start(&team.here, &words(&line));
    team.wait_for(6);
    let first = team.one_listens_but("");
    cluster.stop_immediately();
    // It stays away for longer than this one has.
    let refused = ends(hasty).refused(50, "storage");
    let hint = refused["error"]["hint"].as_str().expect("a hint");
    assert!(hint.starts_with("inbox doctor"), "{refused}");
    for (_, waiter) in &mut waiters {
        let ended = waiter.try_wait().expect("it can be asked");
        assert_eq!(ended, None, "it waits on");
    }
    cluster.restart();
    // Some before anybody listens again, some after.
    let later = waiters.split_off(2);
    for waiter in waiters {
        team.answer(waiter);
    }
    team.one_listens_but(&first);
    for waiter in later {
        team.answer(waiter);
    }
    assert_eq!(team.listeners(), [""; 0]);
}
