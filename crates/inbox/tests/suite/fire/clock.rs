//! Time on PostgreSQL is the database's: a client whose clock is a day off gets the same answers, and
//! gives them to others.

use std::path::PathBuf;
use std::process::Command;

use inbox_core::record::Millis;
use inbox_testkit::cluster::shared;
use inbox_testkit::sandbox::{Sandbox, TempDir, finish};
use serde_json::{Value, json};

use super::{lapses, words};
use crate::INBOX;

/// Moves what a process is told of the time of day by `SHIFT_SECONDS`; time that only counts on is left
/// alone.
const SHIFT: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t shift(void) {
    const char *seconds = getenv("SHIFT_SECONDS");
    return seconds ? atol(seconds) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *found) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int outcome = real(clock, found);
    if (outcome == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) found->tv_sec += shift();
    return outcome;
}

int gettimeofday(struct timeval *restrict found, void *restrict zone) {
    struct timespec now;
    (void)zone;
    int outcome = clock_gettime(CLOCK_REALTIME, &now);
    found->tv_sec = now.tv_sec;
    found->tv_usec = now.tv_nsec / 1000;
    return outcome;
}

time_t time(time_t *found) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (found) *found = now.tv_sec;
    return now.tv_sec;
}
"#;

const DAY: i64 = 86_400;

/// The library that moves the clock.
struct Shift {
    _folder: TempDir,
    library: PathBuf,
}

impl Shift {
    fn build() -> Self {
        let folder = TempDir::new();
        let source = folder.path().join("shift.c");
        let library = folder.path().join("shift.so");
        std::fs::write(&source, SHIFT).unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .output()
            .expect("the C compiler that SQLite is built with");
        assert!(built.status.success(), "{built:?}");
        Shift {
            _folder: folder,
            library,
        }
    }

    /// Runs a command whose clock is off by so many seconds.
    fn run(&self, inbox: &Sandbox, seconds: i64, line: &str) -> Value {
        let child = inbox
            .command(words(line))
            .env("LD_PRELOAD", &self.library)
            .env("SHIFT_SECONDS", seconds.to_string())
            .spawn()
            .expect("the binary starts");
        finish(child).json()
    }
}

/// The database's clock, in seconds.
fn now() -> i64 {
    let now = shared().psql("SELECT floor(extract(epoch FROM clock_timestamp()))");
    now.parse().expect("a number")
}

/// The answers of a client whose clock is off, with others around it whose clocks are right.
fn history(shift: &Shift, off: i64) -> Vec<Value> {
    let inbox = Sandbox::at(INBOX, shared().fresh_url());
    let begun = now();
    let mut answers = Vec::new();
    let mut odd = |line: &str| {
        let answer = shift.run(&inbox, off, line);
        answers.push(answer.clone());
        answer
    };
    let fair = |line: &str| inbox.run(words(line)).json();
    let thread = |answer: &Value| answer["thread"]["thread_id"].as_str().unwrap().to_owned();
    let token = |answer: &Value| answer["lease"]["lease_token"].as_str().unwrap().to_owned();
    // Sessions: who is there, as each sees the other.
    odd("session start --agent odd --session s-odd --role dev");
    fair("session start --agent fair --session s-fair --role dev");
    odd("session list");
    assert_eq!(fair("session list")["sessions"][0]["state"], "alive");
    assert_eq!(fair("session list")["sessions"][1]["state"], "alive");
    odd("send --from odd --to s-fair --kind question --subject there");
    assert_eq!(
        fair("send --from fair --to s-odd --kind question --subject back")["ok"],
        true
    );
    // Mail: when it was sent, and when it expires.
    odd("send --from odd --to fair --kind question --subject soon --ttl-hours 1");
    fair("send --from fair --to odd --kind question --subject late --ttl-hours 1");
    assert_eq!(
        fair("read --agent fair --session s-fair")["messages"][1]["summary"],
        "soon"
    );
    odd("read --agent odd --session s-odd");
    odd("search there --since 1h");
    odd("search there --until 1h");
    // Leases: those that live and those that have ended, of one's own and of others.
    let theirs = thread(&fair("send --from fair --to crew --subject theirs"));
    let held = fair(&format!(
        "claim --agent fair --thread {theirs} --lease-seconds 900"
    ));
    odd(&format!("claim --agent odd --thread {theirs}"));
    let own = thread(&odd("send --from odd --to crew --subject own"));
    let mine = odd(&format!(
        "claim --agent odd --thread {own} --lease-seconds 900"
    ));
    let refused = fair(&format!("claim --agent fair --thread {own}"));
    assert_eq!(refused["error"]["code"], "lease_conflict", "{refused}");
    odd(&format!(
        "renew --lease {} --thread {own} --lease-seconds 1800",
        token(&mine)
    ));
    odd(&format!(
        "update --lease {} --thread {own} --summary on",
        token(&mine)
    ));
    odd(&format!(
        "wait-reply --lease {} --thread {own} --timeout-seconds 0",
        token(&mine)
    ));
    let short = thread(&fair("send --from fair --to crew --subject short"));
    let old = odd(&format!(
        "claim --agent odd --thread {short} --lease-seconds 1"
    ));
    // By the database's clock. A claim that is refused uses up a number, and a look does not.
    lapses(&inbox, "crew", &short);
    let taken = fair(&format!(
        "claim --agent fair --thread {short} --lease-seconds 900"
    ));
    assert_eq!(taken["ok"], true, "{taken}");
    odd(&format!(
        "done --lease {} --thread {short} --summary late",
        token(&old)
    ));
    odd(&format!(
        "done --lease {} --thread {own} --summary ready",
        token(&mine)
    ));
    let done = fair(&format!(
        "done --lease {} --thread {theirs} --summary ready",
        token(&held)
    ));
    assert_eq!(done["ok"], true, "{done}");
    odd("list");
    odd(&format!("show --thread {own}"));
    odd("watch --after-event 0 --timeout-seconds 0");
    assert_eq!(shift.run(&inbox, off, "doctor")["ok"], true);
    let span = begun..=now() + 1;
    answers.iter().map(|answer| plain(answer, &span)).collect()
}

/// The answer without what is another in every run: times become how far they are from the run, and what
/// is random becomes a word.
fn plain(value: &Value, span: &std::ops::RangeInclusive<i64>) -> Value {
    match value {
        Value::Array(list) => list.iter().map(|one| plain(one, span)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| {
                let is_random =
                    ["lease_token", "message_uuid", "uid", "uuid"].contains(&name.as_str());
                let field = if is_random && field.is_string() {
                    json!("random")
                } else {
                    plain(field, span)
                };
                (name.clone(), field)
            })
            .collect(),
        Value::String(text) => {
            let words = text.split(' ').map(|word| match word.parse::<Millis>() {
                Ok(time) => distance(time.0 / 1000, span),
                Err(_) => word.to_owned(),
            });
            json!(words.collect::<Vec<_>>().join(" "))
        }
        other => other.clone(),
    }
}

/// How far a time is from the run, in the lengths that the run uses.
fn distance(time: i64, span: &std::ops::RangeInclusive<i64>) -> String {
    for after in [0, 900, 1800, 3600, DAY, 7 * DAY] {
        if span.contains(&(time - after)) {
            return format!("the run + {after} s");
        }
    }
    format!("{} s from the run's start", time - span.start())
}

#[test]
fn on_postgresql_a_client_whose_clock_is_a_day_off_changes_no_answer() {
    let shift = Shift::build();
    // On a file the clock is the client's: this is how we know that it was moved.
    let file = Sandbox::new(INBOX);
    for off in [-DAY, DAY] {
        let sent = shift.run(&file, off, "send --from odd --to fair --subject moved");
        let created: Millis = sent["message"]["created_at"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        let by = created.0 / 1000 - now();
        assert!((by - off).abs() < 3600, "moved by {by} s");
    }
    let [behind, right, ahead] = std::thread::scope(|scope| {
        [-DAY, 0, DAY]
            .map(|off| {
                let shift = &shift;
                scope.spawn(move || history(shift, off))
            })
            .map(|run| run.join().unwrap())
    });
    for ((behind, right), ahead) in behind.iter().zip(&right).zip(&ahead) {
        assert_eq!(behind, right, "a day behind");
        assert_eq!(ahead, right, "a day ahead");
    }
    assert_eq!((behind.len(), ahead.len()), (right.len(), right.len()));
    let all = Value::from(right).to_string();
    assert!(
        all.contains("the run + 900 s") && all.contains("the run + 3600 s"),
        "{all}"
    );
}
