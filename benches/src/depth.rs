//! Claim and fetch in ever deeper queues.

use std::path::Path;
use std::time::Instant;

use inbox_ops::{Caller, Claim, Fetch, Inbox, Operation};
use rusqlite::Connection;

use crate::Outcome;
use crate::lab::{Lab, caller, open, send_task};
use crate::report::Report;
use crate::stats::{Samples, ratio};

const DEPTHS: [u32; 3] = [1_000, 100_000, 1_000_000];
const ROUNDS: usize = 300;

struct Queue {
    depth: u32,
    inbox: Inbox,
    claims: Samples,
    fetches: Samples,
}

/// Claims and fetches at each depth, round-robin.
pub(crate) fn measure(lab: &Lab, report: &mut Report) -> Outcome<()> {
    let bob = caller("bob")?;
    let mut queues = Vec::with_capacity(DEPTHS.len());
    for depth in DEPTHS {
        let db = lab.store(&format!("depth-{depth}"))?;
        fill(&db, depth)?;
        let plan = plan_of_claim(&db)?;
        if !plan.contains("recipients_queued") || plan.contains("TEMP B-TREE") {
            report.missing(format!(
                "the partial index in claims at {depth}: the plan is {plan}"
            ));
        }
        queues.push(Queue {
            depth,
            inbox: open(&db)?,
            claims: Samples::default(),
            fetches: Samples::default(),
        });
    }
    for _ in 0..ROUNDS {
        for queue in &mut queues {
            queue.round(&bob)?;
        }
    }
    tell("claim", &queues, |queue| &queue.claims, report);
    tell("fetch of 20", &queues, |queue| &queue.fetches, report);
    Ok(())
}

impl Queue {
    fn round(&mut self, caller: &Caller) -> Outcome<()> {
        let start = Instant::now();
        let claimed = Claim::default().run(&self.inbox, caller)?;
        self.claims.push(start.elapsed());
        if claimed.thread.is_none() {
            return Err("a claim found nothing in a full queue".into());
        }
        let request = Fetch {
            limit: Some(20),
            ..Fetch::default()
        };
        let start = Instant::now();
        let found = request.run(&self.inbox, caller)?;
        self.fetches.push(start.elapsed());
        if found.threads.len() != 20 {
            return Err("a fetch found too little in a full queue".into());
        }
        Ok(())
    }
}

fn tell(what: &str, queues: &[Queue], of: impl Fn(&Queue) -> &Samples, report: &mut Report) {
    let (Some(first), Some(last)) = (queues.first(), queues.last()) else {
        return;
    };
    let times = ratio(of(last).median(), of(first).median());
    for queue in queues {
        let name = format!("{what}, {} open threads", queue.depth);
        let words = of(queue).words();
        if queue.depth == last.depth {
            let goal = "flat within 1.3×";
            let ratio = format!("{times:.2}× that of {}", first.depth);
            report.goal(&name, words, ratio, goal, times <= 1.3);
        } else {
            report.fact(&name, words, String::new());
        }
    }
}

/// Fills a store with pending work for bob, in one transaction and without asking the disk.
fn fill(db: &Path, depth: u32) -> Outcome<()> {
    {
        // One real send makes the names.
        let inbox = open(db)?;
        send_task(&inbox, &caller("alice")?, "bob")?;
    }
    let connection = Connection::open(db)?;
    connection.execute_batch(&format!(
        "PRAGMA synchronous = OFF;
         PRAGMA cache_size = -400000;
         BEGIN IMMEDIATE;
         WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {depth})
         INSERT INTO threads (thread_no, version, status, priority, opened_by_kind, creator_no, to_no, attempts, epoch,
                              latest_message, created_at, updated_at, subject)
         SELECT i, 1, 1, 1 + i % 5, 1, 1, 1, 0, 0, i, 1760000000000 + i, 1760000000000 + i,
                'please review pull request ' || i FROM n;
         INSERT INTO recipients (address_no, thread_no, priority, queue)
         SELECT 1, thread_no, priority, 1 FROM threads WHERE thread_no > 1;
         INSERT INTO entries (entry_no, thread_no, event_type, status, source_no, created_at, kind, to_no, auth,
                              uid_random, summary)
         SELECT thread_no, thread_no, 1, 1, 1, created_at, 1, 1, 1, random(), subject FROM threads WHERE thread_no > 1;
         INSERT INTO deliveries (address_no, is_acked, entry_no) SELECT 1, 0, entry_no FROM entries WHERE entry_no > 1;
         COMMIT;
         PRAGMA wal_checkpoint(TRUNCATE);"
    ))?;
    Ok(())
}

/// How SQLite carries out the query of claims.
fn plan_of_claim(db: &Path) -> Outcome<String> {
    let query = inbox_store::sql::ALL
        .iter()
        .find(|sql| sql.name == "queued")
        .ok_or("there is no query of claims")?;
    let connection = Connection::open(db)?;
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", query.sqlite))?;
    let parameters = statement.parameter_count();
    for index in 1..=parameters {
        statement.raw_bind_parameter(index, rusqlite::types::Null)?;
    }
    let mut rows = statement.raw_query();
    let mut plan = Vec::new();
    while let Some(row) = rows.next()? {
        plan.push(row.get::<_, String>(3)?);
    }
    Ok(plan.join("; "))
}
