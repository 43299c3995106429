//! How long a search of a million messages takes, and what a send pays for it. Run by
//! `cargo test --release -p inbox-testkit --test search_speed -- --ignored --nocapture --test-threads 1`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::time::{Duration, Instant};

use inbox_core::Status;
use inbox_ops::{Caller, Operation, Search};
use inbox_store::Location;
use inbox_testkit::cluster;
use inbox_testkit::world::{START, World};

/// `INBOX_SEARCH_MESSAGES=N` measures another number of messages.
fn messages() -> i64 {
    let given = std::env::var("INBOX_SEARCH_MESSAGES");
    given.ok().and_then(|n| n.parse().ok()).unwrap_or(1_000_000)
}

/// Ten words of ever rarer sorts. Numbers are spread by multiplication, alike on both databases.
fn body(n: &str, text: &str) -> String {
    let word = |letter: &str, salt: i64, of: i64| {
        format!("'{letter}' || CAST(({n} * {salt}) % 1000003 % {of} AS {text})")
    };
    let words = [
        word("a", 7_919, 10),
        word("a", 104_729, 10),
        word("b", 1_299, 1_000),
        word("b", 15_485, 1_000),
        word("c", 32_452, 50_000),
        word("c", 49_979, 50_000),
        word("d", 67_867, 1_000_003),
    ];
    format!("'everywhere in the ' || {}", words.join(" || ' ' || "))
}

fn statements(count: i64, text: &str, numbers: &str, event: (&str, &str)) -> String {
    let body = body("n", text);
    let (event_column, event_value) = event;
    format!(
        "INSERT INTO threads (thread_no, version, status, priority, opened_by_kind, creator_no, to_no, attempts, epoch, created_at, updated_at, subject)
         SELECT n, 1, CASE WHEN n % 1000 = 0 THEN 1 ELSE 5 END, 3, 1, 1, 1, 0, 0, {START}, {START}, 'subject ' || CAST(n AS {text})
           FROM {numbers} WHERE n <= {count} / 10;
         INSERT INTO entries (entry_no, {event_column} thread_no, event_type, status, source_no, created_at, kind, to_no, auth, uid_random, summary, body)
         SELECT n, {event_value} 1 + n % ({count} / 10), 1, 1, 1 + n % 50, {START} + n * 1000, 1, 1, 1, n * 77, 'message ' || CAST(n AS {text}), {body}
           FROM {numbers};"
    )
}

fn fill_sqlite(world: &World, count: i64) {
    let Location::File(path) = world.location() else {
        panic!("a file")
    };
    let database = rusqlite::Connection::open(path).unwrap();
    let numbers = format!(
        "(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {count}) SELECT n FROM c)"
    );
    database
        .execute_batch(&format!(
            "PRAGMA synchronous = OFF; BEGIN;
             INSERT INTO agents SELECT n, 'agent-' || n, 1, 0 FROM {numbers} WHERE n <= 50;
             INSERT INTO addresses VALUES (1, 1, 'backend');
             {} COMMIT; PRAGMA wal_checkpoint(TRUNCATE)",
            statements(count, "TEXT", &numbers, ("", ""))
        ))
        .unwrap();
}

fn fill_postgres(world: &World, count: i64) {
    let Location::Postgres(url) = world.location() else {
        panic!("a URL")
    };
    let schema = url.split("schema=").nth(1).unwrap();
    let numbers = format!("(SELECT CAST(g AS BIGINT) AS n FROM generate_series(1, {count}) g) s");
    cluster::shared().psql(&format!(
        "SET search_path = \"{schema}\";
         INSERT INTO agents (agent_no, name, kind, created_at) SELECT n, 'agent-' || n, 1, 0 FROM {numbers} WHERE n <= 50;
         INSERT INTO addresses (address_no, mode, address) VALUES (1, 1, 'backend');
         {}
         SELECT setval(pg_get_serial_sequence('entries', 'entry_no'), {count}), setval(pg_get_serial_sequence('threads', 'thread_no'), {count}),
                setval(pg_get_serial_sequence('agents', 'agent_no'), 1000), setval(pg_get_serial_sequence('addresses', 'address_no'), 1000);
         ANALYZE",
        statements(count, "TEXT", &numbers, ("event_id,", "n,"))
    ));
}

fn p(samples: &mut [Duration], percent: usize) -> f64 {
    samples.sort();
    let at = (samples.len() * percent).div_ceil(100).max(1) - 1;
    samples[at].as_secs_f64() * 1_000.0
}

fn sends(world: &World, rounds: usize) -> Vec<Duration> {
    let one = || {
        let begun = Instant::now();
        world.send("agent-1", "backend", "everywhere again");
        begun.elapsed()
    };
    (0..rounds).map(|_| one()).collect()
}

fn measure(name: &str, world: &World) {
    let count = messages();
    let nobody = Caller::local(None);
    let before = p(&mut sends(world, 200), 50);
    let begun = Instant::now();
    let built = Search {
        query: "everywhere".into(),
        ..Search::default()
    };
    let indexed = built.run(world.inbox(), &nobody).unwrap().indexed;
    let building = begun.elapsed();
    assert!(indexed.total >= count);
    println!(
        "{name}: {count} messages indexed in {:.1} s, {:.0} a second",
        building.as_secs_f64(),
        f64::from(i32::try_from(indexed.total).unwrap()) / building.as_secs_f64()
    );
    let after = p(&mut sends(world, 200), 50);
    println!(
        "{name}: a send, p50: {before:.3} ms before there is an index, {after:.3} ms with one"
    );
    let case = |what: &str, of: &dyn Fn(usize) -> Search, rounds: usize| {
        let mut samples = Vec::new();
        let mut hits = 0;
        for round in 0..rounds {
            let request = of(round);
            let begun = Instant::now();
            let searched = request.run(world.inbox(), &nobody).unwrap();
            samples.push(begun.elapsed());
            hits += searched.hits.len();
        }
        let (p50, p99) = (p(&mut samples, 50), p(&mut samples, 99));
        println!(
            "{name}: {what:<44} p50 {p50:8.3} ms   p99 {p99:8.3} ms   {} hits",
            hits / rounds
        );
    };
    let words = |query: String| Search {
        query,
        ..Search::default()
    };
    case("everywhere", &|_| words("everywhere".into()), 200);
    case("one in 5", &|n| words(format!("a{}", n % 10)), 200);
    case("one in 500", &|n| words(format!("b{}", n * 7 % 1_000)), 200);
    case(
        "one in 25,000",
        &|n| words(format!("c{}", n * 331 % 50_000)),
        200,
    );
    case(
        "one of all",
        &|n| words(format!("d{}", n * 4_999 % 1_000_003)),
        200,
    );
    case("none", &|_| words("nowhere".into()), 200);
    case(
        "two words",
        &|n| words(format!("a1 b{}", n * 7 % 1_000)),
        200,
    );
    case(
        "two words everywhere",
        &|_| words("everywhere the".into()),
        200,
    );
    case("a phrase everywhere", &|_| words("\"in the\"".into()), 200);
    case(
        "a phrase that is nowhere",
        &|_| words("\"the everywhere\"".into()),
        20,
    );
    case("a beginning", &|n| words(format!("b{}*", n % 100)), 200);
    case(
        "everywhere without a common word",
        &|_| words("everywhere -a1".into()),
        200,
    );
    let by = |agent: &str| Search {
        agent: agent.parse().ok(),
        ..words("everywhere".into())
    };
    case(
        "everywhere, by one agent in 50",
        &|n| by(&format!("agent-{}", n % 50 + 1)),
        200,
    );
    case("everywhere, by nobody", &|_| by("nobody"), 200);
    let then = |n: usize| Search {
        until: Some(inbox_ops::When::At(inbox_core::record::Millis(
            START + (1 + i64::try_from(n).unwrap()) * 3_600_000,
        ))),
        ..words("everywhere".into())
    };
    case("everywhere, long ago", &then, 100);
    let pending = |_| Search {
        status: vec![Status::Pending],
        ..words("a1".into())
    };
    case("one in 5, in a pending thread of 1,000", &pending, 20);
    let ranked = |query: &str| Search {
        rank: true,
        ..words(query.into())
    };
    case("best of everywhere", &|_| ranked("everywhere"), 20);
    case("best of one in 500", &|n| ranked(&format!("b{n}")), 20);
}

#[test]
#[ignore = "a measurement"]
fn sqlite() {
    let world = World::sqlite();
    fill_sqlite(&world, messages());
    measure("SQLite", &world);
    for suffix in ["", "-search"] {
        let path = world.folder().unwrap().join(format!("coord.db{suffix}"));
        println!(
            "SQLite: coord.db{suffix} has {} MB",
            std::fs::metadata(path).unwrap().len() / 1_000_000
        );
    }
}

#[test]
#[ignore = "a measurement"]
fn postgres() {
    let world = World::postgres();
    fill_postgres(&world, messages());
    measure("PostgreSQL", &world);
}
