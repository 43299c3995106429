//! What the server counts, as Prometheus reads it.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use super::table::Table;

/// Upper ends of the buckets of time, in microseconds.
const MICROS: [u64; 10] = [
    250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000, 10_000_000,
];

#[derive(Default)]
struct Counts {
    answered: AtomicU64,
    refused: AtomicU64,
}

/// The counts.
pub(crate) struct Metrics {
    /// In the order of the table.
    operations: Vec<Counts>,
    names: Vec<&'static str>,
    buckets: [AtomicU64; MICROS.len()],
    micros: AtomicU64,
    timed: AtomicU64,
    commits: AtomicU64,
    writes: AtomicU64,
    waits: AtomicU64,
    connections: AtomicU64,
    turned_away: AtomicU64,
    faults: AtomicU64,
}

/// Something that is there for a while, counted until it is dropped.
pub(super) struct Counted<'a>(&'a AtomicU64);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    pub(super) fn new(table: &Table) -> Self {
        let count = table.entries().len();
        Metrics {
            operations: (0..count).map(|_| Counts::default()).collect(),
            names: table.entries().iter().map(|entry| entry.name).collect(),
            buckets: Default::default(),
            micros: AtomicU64::default(),
            timed: AtomicU64::default(),
            commits: AtomicU64::default(),
            writes: AtomicU64::default(),
            waits: AtomicU64::default(),
            connections: AtomicU64::default(),
            turned_away: AtomicU64::default(),
            faults: AtomicU64::default(),
        }
    }

    /// An operation ended. What waits is not timed: it takes as long as it is told to.
    pub(super) fn ended(&self, operation: usize, is_refused: bool, micros: Option<u128>) {
        if let Some(counts) = self.operations.get(operation) {
            let count = if is_refused {
                &counts.refused
            } else {
                &counts.answered
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
        let Some(micros) = micros else { return };
        let micros = u64::try_from(micros).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        self.timed.fetch_add(1, Ordering::Relaxed);
        if let Some(place) = MICROS.iter().position(|&end| micros <= end) {
            self.buckets[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The same of an operation by its name, where no path led to it.
    pub(super) fn ended_by_name(&self, name: &str, is_refused: bool, micros: Option<u128>) {
        if let Some(operation) = self.names.iter().position(|known| *known == name) {
            self.ended(operation, is_refused, micros);
        }
    }

    /// So many writes were committed at once.
    pub(super) fn committed(&self, writes: usize) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        let writes = u64::try_from(writes).unwrap_or(u64::MAX);
        self.writes.fetch_add(writes, Ordering::Relaxed);
    }

    /// How many operations and writes have ended: how busy the server is.
    pub(super) fn all_ended(&self) -> u64 {
        self.timed.load(Ordering::Relaxed) + self.writes.load(Ordering::Relaxed)
    }

    pub(super) fn waits(&self) -> Counted<'_> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        Counted(&self.waits)
    }

    pub(super) fn connects(&self) -> Counted<'_> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Counted(&self.connections)
    }

    pub(super) fn turned_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn fault(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    /// All of them in Prometheus's text form.
    pub(super) fn page(&self, table: &Table) -> String {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut page = String::new();
        let head = |page: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(
                page,
                "# HELP inbox_{name} {help}\n# TYPE inbox_{name} {kind}"
            );
        };
        head(
            &mut page,
            "operations_total",
            "counter",
            "Operations that ended.",
        );
        for (entry, counts) in table.entries().iter().zip(&self.operations) {
            for (outcome, count) in [("ok", &counts.answered), ("refused", &counts.refused)] {
                let (path, count) = (&entry.path, get(count));
                if count > 0 {
                    let labels = format!("operation=\"{path}\",outcome=\"{outcome}\"");
                    let _ = writeln!(page, "inbox_operations_total{{{labels}}} {count}");
                }
            }
        }
        head(
            &mut page,
            "operation_seconds",
            "histogram",
            "How long operations took that do not wait.",
        );
        let mut sum = 0;
        for (end, count) in MICROS.iter().zip(&self.buckets) {
            sum += get(count);
            let end = seconds(*end);
            let _ = writeln!(page, "inbox_operation_seconds_bucket{{le=\"{end}\"}} {sum}");
        }
        let timed = get(&self.timed);
        let _ = writeln!(
            page,
            "inbox_operation_seconds_bucket{{le=\"+Inf\"}} {timed}"
        );
        let _ = writeln!(
            page,
            "inbox_operation_seconds_sum {}",
            seconds(get(&self.micros))
        );
        let _ = writeln!(page, "inbox_operation_seconds_count {timed}");
        for (name, kind, help, count) in [
            (
                "commits_total",
                "counter",
                "Commits, each of one write or more.",
                &self.commits,
            ),
            (
                "writes_total",
                "counter",
                "Requests that shared those commits.",
                &self.writes,
            ),
            ("waits", "gauge", "Requests that wait now.", &self.waits),
            (
                "connections",
                "gauge",
                "Open connections.",
                &self.connections,
            ),
            (
                "turned_away_total",
                "counter",
                "Requests that were refused before they were read.",
                &self.turned_away,
            ),
            (
                "faults_total",
                "counter",
                "Faults of the program, each of which ended a request.",
                &self.faults,
            ),
        ] {
            head(&mut page, name, kind, help);
            let _ = writeln!(page, "inbox_{name} {}", get(count));
        }
        page
    }
}

/// Microseconds as seconds, without a rounding that a reader would trip over.
fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
