//! The table, on the terminal and in the reference.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use crate::Outcome;

/// One measurement beside its goal.
#[derive(Debug, Default)]
struct Row {
    what: String,
    measured: String,
    ratio: String,
    goal: String,
    is_met: Option<bool>,
}

/// Everything that was measured.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    missing: Vec<String>,
}

impl Report {
    /// Adds a figure that others are compared with.
    pub(crate) fn fact(&mut self, what: &str, measured: String, ratio: String) {
        self.push(Row {
            what: what.to_owned(),
            measured,
            ratio,
            ..Row::default()
        });
    }

    /// Adds a figure that has a goal.
    pub(crate) fn goal(
        &mut self,
        what: &str,
        measured: String,
        ratio: String,
        goal: &str,
        is_met: bool,
    ) {
        self.push(Row {
            what: what.to_owned(),
            measured,
            ratio,
            goal: goal.to_owned(),
            is_met: Some(is_met),
        });
    }

    fn push(&mut self, row: Row) {
        say(&format!(
            "{} {} | {} | {} | {}",
            match row.is_met {
                None => "    ",
                Some(true) => "met ",
                Some(false) => "MISS",
            },
            row.what,
            row.measured,
            row.ratio,
            row.goal
        ));
        self.rows.push(row);
    }

    /// Notes loudly that something could not be measured.
    pub(crate) fn missing(&mut self, what: String) {
        say(&format!("!!!! NOT MEASURED: {what}"));
        self.missing.push(what);
    }

    /// The table in Markdown.
    fn table(&self) -> String {
        let mut text =
            "| what | measured | ratio | goal | met |\n|---|---|---|---|---|\n".to_owned();
        for row in &self.rows {
            let met = match row.is_met {
                None => "",
                Some(true) => "yes",
                Some(false) => "**no**",
            };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {met} |",
                row.what, row.measured, row.ratio, row.goal
            );
        }
        text
    }

    /// Prints the table and writes the page.
    pub(crate) fn publish(&self, page: &Path, versions: &str) -> Outcome<()> {
        let mut text = format!("{HEAD}\n{versions}\n\n{}", self.table());
        for what in &self.missing {
            let _ = write!(text, "\n**Not measured:** {what}\n");
        }
        text.push_str(TAIL);
        if let Some(folder) = page.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(page, text)?;
        say(&format!(
            "\n{}\nwritten to {}",
            self.table(),
            page.display()
        ));
        Ok(())
    }
}

/// Prints a line.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

const HEAD: &str = "# Benchmarks

<!-- Written by `make bench`; do not edit. -->

Every figure is of one run on one machine; the ratios within it are what the goals are about. Commands
are measured in rounds, each in another order, so that what else the machine does falls on all alike.
";

const TAIL: &str = "
## What the rows are

- Every write of `inbox` is on disk before it is answered (WAL, `synchronous=FULL`), in every row.
- *One process* is the time from starting a process to its end, of a whole command. With a *keeper*,
  another process has the store open, as a waiter or a server has.
- The `sqlite3` shell writes the same rows into a store of the same schema, in one transaction with
  `synchronous=FULL`. hcom writes in WAL mode with SQLite's default of FULL. agent-bus writes with
  `synchronous=NORMAL`, which is not on disk when it answers.
- *Commit → wake*: the waiters are threads of one process, each with a store of its own, each waiting
  for its own thread as `wait-reply` does: note the bell, look, block. The time is from the return of
  the send, which follows the commit and the ring by microseconds, to the waiter having its message
  read. Missed are those that no ring woke.
- *Idle CPU* is of real `inbox wait-reply` processes, by the kernel's account of each, in percent of
  one core.
- *Claim and fetch* run in process through the operations, durable as everywhere, in stores that were
  filled in bulk.
- *Bytes* are the growth of the database file, log moved into it, per sent task with a subject of 30
  characters.
- *PostgreSQL*: a private server on the same disk with its defaults, `fsync` on. The clients are threads with a
  connection each: `inbox` through its operations, one store each, work for one name that all of them claim for;
  plain SQL in the manner of pgmq, a table with a hidden-until time and an archive, with prepared statements, each
  a transaction of its own, no leases, no events and no threads. Both take turns within each round; rates and
  ratios are medians of the rounds, and the times are of one job, or of one whole cycle.
- *console*: pages of `inbox serve` on a store of a busy fortnight, 100,000 messages in 20,000 threads, 200 agents, a person with 3,000 unread
  messages and 150 open questions, texts as long as they may be; each page asked for forty times on one connection. Open consoles are 200 connections
  of one person on all these pages, each of which is sent every change. Sends go through the same server over HTTP, on disk before they
  are answered, a round with the consoles and a round without in turns; the ratio is the median of the rounds'.
- *devnet*: `inbox devnet` in a process of its own on the same disk, clients in another, each with a connection. A client
  signs a message, submits it over gRPC and asks for its receipt, and then begins again; the devnet checks the signature, takes
  the fee, extends the topic's running hash and writes it all before it answers. Its ledger outlives the end of the process at any
  moment (WAL, `synchronous=NORMAL`), and may lose the last moment with the machine's power. *Bare* is a loop in one thread
  that checks one signature and commits three rows with the same setting, and does nothing else.
- *ledger*: `inbox up --ledger` in a process of its own: server, devnet and bridge, every write of the store on disk. Messages are written by another process as
  fast as it can, each to the recipient's topic, and count when the topic's copy is in the store. Seen is what `read` gives. The fees are those that
  Hedera publishes, for messages of the size that these have on their topics.
- What other local networks need is as they publish it, and was not measured here.
";
