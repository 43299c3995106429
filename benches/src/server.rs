//! The server: durable work over a socket, beside Redis that syncs with every write, in turns.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use inbox_core::Scope;
use inbox_ops::{Caller, Operation, TokenCreate};
use serde_json::Value;

use crate::Outcome;
use crate::cycle::{Client, Job, Side, median, turn};
use crate::lab::{Lab, end, open};
use crate::postgres::Extent;
use crate::report::{Report, say};

const CLIENTS: [usize; 3] = [1, 8, 64];

/// A process that goes with the value.
pub(crate) struct Running(Option<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = self.0.take() {
            end(child);
        }
    }
}

/// The cycle at every number of clients, both sides in turns.
pub(crate) fn measure(lab: &Lab, extent: Extent, report: &mut Report) -> Outcome<()> {
    for count in CLIENTS {
        let (_redis, port) = redis(lab, count)?;
        let (_server, address, secret) = serve(lab, count)?;
        let theirs: Outcome<Vec<Box<dyn Client>>> = (0..count)
            .map(|_| Ok(Box::new(Redis::connect(port)?) as Box<dyn Client>))
            .collect();
        let ours: Outcome<Vec<Box<dyn Client>>> = (0..count)
            .map(|_| Ok(Box::new(Http::connect(&address, &secret)?) as Box<dyn Client>))
            .collect();
        let (mut ours, mut theirs) = (Side::new(ours?), Side::new(theirs?));
        for round in 0..=extent.rounds {
            ours.warm()?;
            theirs.warm()?;
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            turn(
                [&mut ours, &mut theirs],
                order,
                extent.each,
                round > 0,
                || (),
            )?;
        }
        tell(count, &ours, &theirs, report);
    }
    Ok(())
}

fn tell(count: usize, ours: &Side, theirs: &Side, report: &mut Report) {
    let who = if count == 1 { "client" } else { "clients" };
    for (place, job) in Job::ALL.into_iter().enumerate() {
        let (our, their) = (&ours.figures[place], &theirs.figures[place]);
        if our.rates.is_empty() || their.rates.is_empty() {
            continue;
        }
        let words = match job {
            Job::Floor => "three requests for nothing",
            job => job.words(),
        };
        let what = format!("server, {count} {who}: {words}");
        let pairs = our.rates.iter().zip(&their.rates);
        let times = median(&pairs.map(|(our, their)| our / their).collect::<Vec<_>>());
        let measured = format!("{}; Redis {}", our.words(), their.words());
        let ratio = format!("{times:.2}× the rate of Redis");
        if job == Job::Cycle && count == 64 {
            report.goal(&what, measured, ratio, "at least 0.9×", times >= 0.9);
        } else {
            report.fact(&what, measured, ratio);
        }
    }
    say("");
}

/// A port that nobody has.
fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn redis(lab: &Lab, count: usize) -> Outcome<(Running, u16)> {
    let folder = lab.folder(&format!("redis-{count}"))?;
    let port = free_port()?;
    let child = Command::new("redis-server")
        .args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
        ])
        .args(["--appendonly", "yes", "--appendfsync", "always"])
        .arg("--dir")
        .arg(&folder)
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| format!("redis-server: {error}; install Debian's package redis-server"))?;
    let running = Running(Some(child));
    let deadline = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if Instant::now() > deadline {
            return Err("Redis did not start".into());
        }
        std::thread::yield_now();
    }
    Ok((running, port))
}

fn serve(lab: &Lab, count: usize) -> Outcome<(Running, String, String)> {
    let db = lab.store(&format!("server-{count}"))?;
    let create = TokenCreate {
        agent: "carol".parse()?,
        scope: Scope::ALL.to_vec(),
        label: None,
        ttl_hours: None,
    };
    let made = create.run(&open(&db)?, &Caller::local(None))?;
    let (running, address) = serve_at(lab, &db)?;
    Ok((running, address, made.secret.ok_or("no secret")?))
}

/// Serves a store: the process, and where it listens.
pub(crate) fn serve_at(lab: &Lab, db: &Path) -> Outcome<(Running, String)> {
    let mut child = lab
        .inbox(db, &["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().ok_or("no pipe")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let said: Value = serde_json::from_str(&line)?;
    let url = said["url"].as_str().ok_or("no URL")?;
    let address = url.trim_start_matches("http://").to_owned();
    Ok((Running(Some(child)), address))
}

/// Reads one answer: its head and its body.
pub(crate) fn read_answer(stream: &mut TcpStream) -> Outcome<(String, Vec<u8>)> {
    let mut buffer = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Err("the server hung up".into());
        }
        buffer.extend_from_slice(&piece[..count]);
        let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            continue;
        };
        let head = std::str::from_utf8(&buffer[..end])?.to_owned();
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next());
        let length: usize = length.ok_or("no length")?.parse()?;
        if buffer.len() >= end + 4 + length {
            return Ok((head, buffer.split_off(end + 4)));
        }
    }
}

/// A program that keeps a connection to `inbox serve`.
pub(crate) struct Http {
    stream: TcpStream,
    head: String,
    held: Option<(String, String)>,
    buffer: Vec<u8>,
}

impl Http {
    pub(crate) fn connect(address: &str, secret: &str) -> Outcome<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let head = format!(
            "Host: {address}\r\nContent-Type: application/json\r\nAuthorization: Bearer {secret}\r\n"
        );
        Ok(Http {
            stream,
            head,
            held: None,
            buffer: Vec::new(),
        })
    }

    /// Sends to one of many agents.
    pub(crate) fn send_on(&mut self) -> Outcome<()> {
        let body = r#"{"to":["agent-011"],"subject":"please look at pull request 417"}"#;
        self.call("send", "", body).map(drop)
    }

    fn call(&mut self, path: &str, more: &str, body: &str) -> Outcome<String> {
        self.exchange(&format!(
            "POST /v1/{path} HTTP/1.1\r\n{}{more}Content-Length: {}\r\n\r\n{body}",
            self.head,
            body.len()
        ))
    }

    fn exchange(&mut self, request: &str) -> Outcome<String> {
        self.stream.write_all(request.as_bytes())?;
        self.buffer.clear();
        let mut piece = [0; 8192];
        loop {
            let count = self.stream.read(&mut piece)?;
            if count == 0 {
                return Err("the server hung up".into());
            }
            self.buffer.extend_from_slice(&piece[..count]);
            let text = std::str::from_utf8(&self.buffer)?;
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let length = head
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.split("\r\n").next());
            let length: usize = length.ok_or("no length")?.parse()?;
            if body.len() >= length {
                if !head.starts_with("HTTP/1.1 200") {
                    return Err(body.to_owned().into());
                }
                return Ok(body.to_owned());
            }
        }
    }
}

/// The value of a text field, without reading the rest.
fn field(body: &str, name: &str) -> Option<String> {
    let rest = body.split(&format!("\"{name}\":\"")).nth(1)?;
    rest.split('"').next().map(str::to_owned)
}

impl Client for Http {
    fn can(&self, job: Job) -> bool {
        job != Job::Claim
    }

    fn floor(&mut self) -> Outcome<()> {
        let request = format!("GET /health HTTP/1.1\r\n{}\r\n", self.head);
        for _ in 0..3 {
            self.exchange(&request)?;
        }
        Ok(())
    }

    fn send(&mut self) -> Outcome<()> {
        let body = r#"{"to":["carol"],"subject":"please review pull request 417"}"#;
        self.call("send", "", body).map(drop)
    }

    fn claim(&mut self) -> Outcome<bool> {
        let body = self.call("claim", "", "{}")?;
        self.held = field(&body, "thread_id").zip(field(&body, "lease_token"));
        Ok(self.held.is_some())
    }

    fn done(&mut self) -> Outcome<()> {
        let (thread, token) = self.held.take().ok_or("nothing was claimed")?;
        let body = format!(r#"{{"thread":"{thread}","summary":"reviewed, two remarks"}}"#);
        self.call("done", &format!("Inbox-Lease: {token}\r\n"), &body)
            .map(drop)
    }
}

/// The same in Redis's own manner: a stream, a group of consumers, an acknowledgement.
struct Redis {
    stream: BufReader<TcpStream>,
    held: Option<String>,
}

impl Redis {
    fn connect(port: u16) -> Outcome<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        let mut redis = Redis {
            stream: BufReader::new(stream),
            held: None,
        };
        // Whoever comes second is told that it is there already.
        let _ = redis.call(&["XGROUP", "CREATE", "work", "crew", "0", "MKSTREAM"]);
        Ok(redis)
    }

    /// Every bulk string of the answer.
    fn call(&mut self, words: &[&str]) -> Outcome<Vec<String>> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut found = Vec::new();
        let mut left = 1_i64;
        while left > 0 {
            left -= 1;
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let line = line.trim_end();
            let (kind, rest) = line.split_at_checked(1).ok_or("Redis hung up")?;
            match kind {
                "-" => return Err(rest.to_owned().into()),
                "*" => left += rest.parse::<i64>()?.max(0),
                "$" if rest != "-1" => {
                    let mut text = vec![0; rest.parse::<usize>()? + 2];
                    self.stream.read_exact(&mut text)?;
                    found.push(String::from_utf8_lossy(&text).trim_end().to_owned());
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

impl Client for Redis {
    fn can(&self, job: Job) -> bool {
        job != Job::Claim
    }

    fn floor(&mut self) -> Outcome<()> {
        for _ in 0..3 {
            self.call(&["PING"])?;
        }
        Ok(())
    }

    fn send(&mut self) -> Outcome<()> {
        let subject = "please review pull request 417";
        self.call(&["XADD", "work", "*", "from", "alice", "subject", subject])
            .map(drop)
    }

    fn claim(&mut self) -> Outcome<bool> {
        let found = self.call(&[
            "XREADGROUP",
            "GROUP",
            "crew",
            "carol",
            "COUNT",
            "1",
            "STREAMS",
            "work",
            ">",
        ])?;
        self.held = found.get(1).cloned();
        Ok(self.held.is_some())
    }

    fn done(&mut self) -> Outcome<()> {
        let id = self.held.take().ok_or("nothing was claimed")?;
        self.call(&["XACK", "work", "crew", &id]).map(drop)
    }
}
