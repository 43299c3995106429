//! The ledger behind the store: how much mail goes through publisher and listener, how soon each priority is seen, and what it costs.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use inbox_core::Priority;
use inbox_ops::config::Config;
use inbox_ops::{Caller, Inbox, Operation, Read, Send};
use inbox_store::bell::Key;
use rusqlite::Connection;

use crate::Outcome;
use crate::lab::{Lab, caller, end, open};
use crate::report::Report;
use crate::stats::Samples;

/// Who writes to whom: each to the next.
const AGENTS: [&str; 8] = ["ada", "ben", "cyd", "dan", "eli", "fay", "gus", "hal"];

/// How many messages go through at once, and how often that is measured.
const MANY: u32 = 2_000;
const ROUNDS: usize = 3;

/// How many messages are waited for one by one, of each priority.
const SINGLE: usize = 200;

/// How long anything may take.
const LONGEST: Duration = Duration::from_mins(2);

/// What Hedera takes for a message by its published schedule, in hundred-millionths of a US cent: for up to so many bytes, and for each more.
const MESSAGE: u32 = 1_700_000;
const INCLUDED: u32 = 100;
const BYTE: u32 = 6_800;

/// A server with its devnet and bridge, in a process of its own.
struct Up {
    child: Child,
}

impl Up {
    fn start(lab: &Lab, db: &Path) -> Outcome<Self> {
        let mut command = lab.inbox(db, &["up", "--listen", "127.0.0.1:0", "--ledger"]);
        command.args(["--ledger-ports", "anywhere", "--provision"]);
        command.env("INBOX_HEDERA_KEYS", db.with_file_name("keys"));
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no pipe")?).read_line(&mut line)?;
        Ok(Up { child })
    }
}

/// Waits until something is so; the store's bell says when to look.
fn until(inbox: &Inbox, mut is_so: impl FnMut() -> Outcome<bool>) -> Outcome<()> {
    let begun = Instant::now();
    let mut bell = inbox.store().listen(&Key::Any);
    loop {
        bell.rearm();
        if is_so()? {
            return Ok(());
        }
        if begun.elapsed() > LONGEST {
            return Err("it does not come".into());
        }
        bell.wait(Duration::from_millis(100));
    }
}

fn mail(to: &str, subject: String, priority: Priority) -> Outcome<Send> {
    Ok(Send {
        to: vec![to.parse()?],
        subject: Some(subject),
        body: Some(
            "The invoices of May are counted, and two of them are missing. Please look.".into(),
        ),
        priority: Some(priority),
        ..Send::default()
    })
}

/// The agents, each with the name of whom it writes to.
fn pairs() -> Outcome<Vec<(Caller, &'static str)>> {
    let next = AGENTS.iter().cycle().skip(1);
    AGENTS
        .iter()
        .zip(next)
        .map(|(from, to)| Ok((caller(from)?, *to)))
        .collect()
}

/// Measures it.
pub(crate) fn measure(lab: &Lab, report: &mut Report) -> Outcome<()> {
    let db = lab.store("bridge")?;
    for name in AGENTS {
        lab.inbox(&db, &["agent", "add", name]).output()?;
    }
    let up = Up::start(lab, &db)?;
    let network = db.with_file_name("devnet.json");
    let mut config = Config::default();
    config.ledger.network = Some(network.display().to_string());
    let inbox = open(&db)?.with_config(config);
    let is_on_ledger = || {
        let standing = inbox.ledger_standing()?;
        let inbound = standing
            .topics
            .iter()
            .filter(|topic| topic.place == inbox_store::TopicPlace::Inbound);
        Ok(inbound.count() == AGENTS.len())
    };
    until(&inbox, is_on_ledger)?;
    let pairs = pairs()?;
    let mut rates = Vec::new();
    for round in 0..ROUNDS {
        let begun = Instant::now();
        for (place, (from, to)) in (0..MANY).zip(pairs.iter().cycle()) {
            mail(to, format!("{round} {place}"), Priority::Normal)?.run(&inbox, from)?;
        }
        let sent = begun.elapsed();
        until(&inbox, || Ok(inbox.ledger_standing()?.backlog.count == 0))?;
        let per_second = |time: Duration| (f64::from(MANY) / time.as_secs_f64()).round();
        rates.push((per_second(begun.elapsed()), per_second(sent)));
    }
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (through, sent) = rates[ROUNDS / 2];
    report.fact(
        "ledger: messages written, said on their topics and taken in, 8 senders",
        format!("{through} /s; written alone {sent} /s"),
        String::new(),
    );
    for priority in [Priority::Urgent, Priority::Normal] {
        let mut seen = Samples::default();
        for (place, (from, to)) in (0..SINGLE).zip(pairs.iter().cycle()) {
            let to_read = caller(to)?;
            Read {
                limit: Some(1_000),
                ..Read::default()
            }
            .run(&inbox, &to_read)?;
            let subject = format!("{priority} {place}");
            let begun = Instant::now();
            mail(to, subject.clone(), priority)?.run(&inbox, from)?;
            until(&inbox, || {
                let peek = Read {
                    peek: true,
                    limit: Some(1_000),
                    ..Read::default()
                };
                let found = peek.run(&inbox, &to_read)?.messages;
                Ok(found.iter().any(|message| message.summary == subject))
            })?;
            seen.push(begun.elapsed());
        }
        report.fact(
            &format!("ledger: from the send until the recipient sees it, {priority}"),
            seen.words(),
            String::new(),
        );
    }
    until(&inbox, || Ok(inbox.ledger_standing()?.backlog.count == 0))?;
    let size = Connection::open(&db)?.query_row(
        "SELECT CAST(AVG(length(content)) * 3 / 4 AS INTEGER) FROM records WHERE state = 1",
        [],
        |row| row.get::<_, u32>(0),
    )?;
    let each = MESSAGE + size.saturating_sub(INCLUDED) * BYTE;
    report.fact(
        "ledger: 1,000 messages on mainnet, by its published fees",
        format!("{:.2} US dollars, {size} bytes each", f64::from(each) / 1e7),
        String::new(),
    );
    end(up.child);
    Ok(())
}
