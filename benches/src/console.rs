//! The console on a store after a busy fortnight: how long each page takes and how large it is, and what sends pay for those who
//! look on.

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use inbox_core::Scope;
use inbox_ops::{Caller, Inbox, Operation, TokenCreate};
use inbox_store::{Location, Store};
use inbox_testkit::cluster::Cluster;
use inbox_testkit::crowd::{self, Crowd, Size};

use crate::Outcome;
use crate::cycle::median;
use crate::lab::Lab;
use crate::report::{Report, say};
use crate::server::{Http, Running, read_answer, serve_at};
use crate::stats::Samples;

/// How often each page is asked for, after it was asked for once.
const TIMES: usize = 40;

/// What a page may take.
const GOAL: Duration = Duration::from_millis(100);
const LARGEST: usize = 200_000;

/// How many look on.
const CONSOLES: usize = 200;

/// How many rounds with and without them, and how long each is.
const ROUNDS: usize = 15;
const EACH: Duration = Duration::from_millis(1_500);

/// Every page, and what each filter and range leads to.
fn pages(crowd: &Crowd) -> Vec<String> {
    let mut pages: Vec<String> = [
        "/",
        "/agents",
        "/agents/agent-007",
        "/threads",
        "/threads?status=blocked",
        "/threads?status=pending",
        "/threads?status=failed&status=cancelled",
        "/threads?agent=agent-007",
        "/threads?agent=nobody-at-all",
        "/threads?run=release-7",
        "/threads?q=parser",
        "/threads?q=case-77&status=done",
        "/channels",
        "/channels/project:p02",
        "/channels/role:builder",
        "/compose",
        "/flow",
        "/flow?since=1d",
        "/flow?since=7d",
        "/flow?since=7d&run=release-7",
        "/dead",
        "/ledger",
        "/store",
    ]
    .map(str::to_owned)
    .to_vec();
    pages.push(format!("/threads/{}", crowd.long));
    pages.push(format!("/threads/{}", crowd.large));
    pages.push(format!("/threads/{}/{}", crowd.large, crowd.largest));
    pages
}

/// The pages on both databases, and the price of looking on.
pub(crate) fn measure(lab: &Lab, report: &mut Report) -> Outcome<()> {
    let db = lab.store("console")?;
    let location = Location::File(db.clone());
    let begun = Instant::now();
    let crowd = crowd::fill(&location, Size::WHOLE)?;
    say(&format!("a busy store, made in {:.0?}", begun.elapsed()));
    // Before sends are measured, which leave many threads behind.
    let cluster = Cluster::durable(&lab.folder("console-postgres")?);
    let url = cluster.url("console");
    let there = Location::parse(&url);
    inbox_store::move_store(&location, &there, &mut |_| (), &mut || Ok(()))?;
    cluster.psql("VACUUM ANALYZE");
    let guest = Guest::enter(lab, &db, &location)?;
    guest.see("SQLite", &pages(&crowd), report)?;
    guest.look_on("SQLite", &pages(&crowd), report)?;
    drop(guest);
    let guest = Guest::enter(lab, Path::new(&url), &there)?;
    guest.see("PostgreSQL", &pages(&crowd), report)?;
    guest.look_on("PostgreSQL", &pages(&crowd), report)
}

/// A person in the console, and a program that sends.
struct Guest {
    _server: Running,
    address: String,
    cookie: String,
    secret: String,
}

impl Guest {
    fn enter(lab: &Lab, db: &Path, location: &Location) -> Outcome<Self> {
        let inbox = Inbox::new(Store::open(location)?);
        let create = TokenCreate {
            agent: "carol".parse()?,
            scope: Scope::ALL.to_vec(),
            label: None,
            ttl_hours: None,
        };
        let secret = create.run(&inbox, &Caller::local(None))?.secret;
        let person = crowd::PERSON.parse()?;
        let code = inbox
            .invite(&Caller::local(None), Some(&person), false)?
            .code;
        let (server, address) = serve_at(lab, db)?;
        let mut stream = TcpStream::connect(&address)?;
        write!(stream, "GET /in/{code} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
        let (head, _) = read_answer(&mut stream)?;
        let cookie = head
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next())
            .ok_or("the link gave no cookie")?
            .to_owned();
        Ok(Guest {
            _server: server,
            address,
            cookie,
            secret: secret.ok_or("no secret")?,
        })
    }

    fn request(&self, path: &str) -> String {
        format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
            self.address, self.cookie
        )
    }

    /// Each page: how long it takes, and how large it is.
    fn see(&self, database: &str, pages: &[String], report: &mut Report) -> Outcome<()> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        let mut get = |path: &str| -> Outcome<usize> {
            stream.write_all(self.request(path).as_bytes())?;
            let (head, body) = read_answer(&mut stream)?;
            if !head.starts_with("HTTP/1.1 200") {
                return Err(format!("{path}: {head}").into());
            }
            Ok(body.len())
        };
        // The first search makes its index.
        get("/threads?q=parser")?;
        let mut all = Samples::default();
        for path in pages {
            let size = get(path)?;
            let mut samples = Samples::default();
            for _ in 0..TIMES {
                let begun = Instant::now();
                get(path)?;
                samples.push(begun.elapsed());
            }
            let is_met = samples.percentile(99) <= GOAL && size <= LARGEST;
            report.goal(
                &format!("console, {database}: `{}`", path.replace('|', "/")),
                format!("{}; {} kB", samples.words(), size / 1_000),
                String::new(),
                "at most 100 ms and 200 kB",
                is_met,
            );
            all.extend(samples);
        }
        report.fact(
            &format!("console, {database}: all pages"),
            all.words(),
            String::new(),
        );
        Ok(())
    }

    /// Sends with nobody looking on, and with many, in turns.
    fn look_on(&self, database: &str, pages: &[String], report: &mut Report) -> Outcome<()> {
        for count in [1, 8] {
            let (mut alone, mut watched) = (Vec::new(), Vec::new());
            let mut times = [Samples::default(), Samples::default()];
            for round in 0..=ROUNDS {
                for turn in 0..2 {
                    let is_watched = (round + turn) % 2 == 1;
                    let crowd = is_watched
                        .then(|| Onlookers::open(self, pages))
                        .transpose()?;
                    // Connections that nobody uses while consoles open are closed by the server.
                    let clients: Outcome<Vec<Http>> = (0..count)
                        .map(|_| Http::connect(&self.address, &self.secret))
                        .collect();
                    let (samples, rate) = send(&mut clients?)?;
                    drop(crowd);
                    // The first round warms up.
                    if round == 0 {
                        continue;
                    }
                    times[usize::from(is_watched)].extend(samples);
                    if is_watched { &mut watched } else { &mut alone }.push(rate);
                }
            }
            let pairs = alone.iter().zip(&watched);
            let ratio = median(
                &pairs
                    .map(|(alone, watched)| alone / watched)
                    .collect::<Vec<_>>(),
            );
            let who = if count == 1 { "client" } else { "clients" };
            report.goal(
                &format!(
                    "console, {database}: sends by {count} {who} while {CONSOLES} consoles are open"
                ),
                format!(
                    "{:.0}/s, {}; with none {:.0}/s, {}",
                    median(&watched),
                    times[1].words(),
                    median(&alone),
                    times[0].words()
                ),
                format!("{ratio:.2}× the time"),
                "at most 1.10×",
                ratio <= 1.10,
            );
        }
        Ok(())
    }
}

/// Every client sends for a while: how long each took, and how many in a second.
fn send(clients: &mut [Http]) -> Outcome<(Samples, f64)> {
    let begun = Instant::now();
    let found: Vec<Result<Samples, String>> = std::thread::scope(|scope| {
        let one = |client: &mut Http| -> Result<Samples, String> {
            let mut samples = Samples::default();
            while begun.elapsed() < EACH {
                let start = Instant::now();
                client.send_on().map_err(|error| error.to_string())?;
                samples.push(start.elapsed());
            }
            Ok(samples)
        };
        let running: Vec<_> = clients
            .iter_mut()
            .map(|client| scope.spawn(move || one(client)))
            .collect();
        running
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err("a client died".into()))
            })
            .collect()
    });
    let took = begun.elapsed();
    let mut all = Samples::default();
    for samples in found {
        all.extend(samples?);
    }
    let count = f64::from(u32::try_from(all.len()).unwrap_or(u32::MAX));
    Ok((all, count / took.as_secs_f64()))
}

/// Consoles that are open, each on a page, until this is dropped.
struct Onlookers {
    runtime: Option<tokio::runtime::Runtime>,
}

impl Onlookers {
    /// Opens them, and waits until each has its page.
    fn open(guest: &Guest, pages: &[String]) -> Outcome<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let shown = Arc::new(AtomicUsize::new(0));
        for number in 0..CONSOLES {
            let page = &pages[number % pages.len()];
            let request = guest.request(&format!("/live?at={}", page.replace('&', "%26")));
            let (address, shown) = (guest.address.clone(), Arc::clone(&shown));
            runtime.spawn(async move {
                // One that hangs up is not counted, and is missed below.
                let _ = follow(&address, &request, &shown).await;
            });
        }
        let deadline = Instant::now() + Duration::from_mins(2);
        while shown.load(Ordering::SeqCst) < CONSOLES {
            if Instant::now() > deadline {
                let shown = shown.load(Ordering::SeqCst);
                return Err(format!("{shown} of {CONSOLES} consoles have their page").into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Onlookers {
            runtime: Some(runtime),
        })
    }
}

impl Drop for Onlookers {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn follow(address: &str, request: &str, shown: &AtomicUsize) -> std::io::Result<()> {
    let stream = tokio::net::TcpStream::connect(address).await?;
    stream.writable().await?;
    stream.try_write(request.as_bytes())?;
    let mut buffer = vec![0; 64 * 1024];
    let mut is_shown = false;
    loop {
        stream.readable().await?;
        match stream.try_read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                let piece = String::from_utf8_lossy(&buffer[..count]);
                if !is_shown && piece.contains("event: page") {
                    is_shown = true;
                    shown.fetch_add(1, Ordering::SeqCst);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}
