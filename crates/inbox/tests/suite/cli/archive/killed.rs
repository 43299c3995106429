//! An archive that dies, and one that may have few files open: nothing is lost.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;

use inbox_store::{FailPoint, Location, Store};
use inbox_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::INBOX;
use crate::cli::desk::{Desk, letter, letter_id, text, words};

#[test]
fn an_archive_has_as_many_months_as_there_are_however_few_files_may_be_open() {
    const MONTHS: usize = 80;
    let desk = Desk::new();
    let old = |n: usize| {
        let at = format!("20{:02}-{:02}-01T09:00:00Z", 10 + n / 12, 1 + n % 12);
        letter(n, &json!({"timestamp": at, "ttl_hours": 1}))
    };
    desk.file("old.jsonl", (0..MONTHS).map(old).collect::<String>());
    desk.ok("import old.jsonl");
    desk.ok("send --from lead --to w --subject stays");
    let limited = "ulimit -n 64 && exec \"$0\" \"$@\"";
    let archive = desk.inbox.command(words("archive"));
    let output = std::process::Command::new("sh")
        .args(["-c", limited, INBOX])
        .args(archive.get_args())
        .envs(
            archive
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(desk.inbox.folder())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(filed(&desk).len(), MONTHS);
    assert_eq!(
        desk.ok("search letter --limit 100")["hits"]
            .as_array()
            .map(Vec::len),
        Some(MONTHS)
    );
}

/// How many letters, in two months: two batches.
const LETTERS: usize = 260;

/// Whether an archive died at the how manieth time that it came by a point.
fn dies(desk: &Desk, point: FailPoint, time: u32) -> bool {
    let output = desk
        .inbox
        .command(words("archive"))
        .env("INBOX_FAIL_POINT", format!("{}:{time}", point as u32))
        .output()
        .unwrap();
    let is_killed = output.status.signal() == Some(9);
    assert!(is_killed || output.status.success(), "{output:?}");
    assert!(!is_killed || output.stdout.is_empty(), "{output:?}");
    is_killed
}

/// The uids of all letters in the files of the archive, each as often as it is there.
fn filed(desk: &Desk) -> Vec<String> {
    let folder = desk.inbox.folder().join(".agents/archive");
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().into_string().unwrap());
    let mut uids = Vec::new();
    for name in names.filter(|name| !name.contains("events")) {
        for line in desk.content(&format!(".agents/archive/{name}")).lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            uids.push(text(&line["id"]));
        }
    }
    uids.sort();
    uids
}

/// The uids of all letters in the store.
fn stored(desk: &Desk) -> Vec<String> {
    let store = Store::open(&Location::File(desk.inbox.store())).unwrap();
    let rows = store.look("SELECT uid FROM entries WHERE uid IS NOT NULL ORDER BY uid");
    let rows = rows.unwrap().into_iter();
    rows.map(|mut row| row.remove(0).unwrap()).collect()
}

#[test]
fn an_archive_that_dies_at_any_point_loses_nothing_and_goes_on() {
    let desk = Desk::new();
    let old = |n: usize| {
        let at = format!("2026-0{}-01T09:00:00Z", 5 + n % 2);
        letter(n, &json!({"timestamp": at, "ttl_hours": 1}))
    };
    desk.file("old.jsonl", (0..LETTERS).map(old).collect::<String>());
    desk.ok("import old.jsonl");
    desk.ok("send --from lead --to w --subject stays");
    desk.ok("backup --to before.db");
    let before = std::fs::read(desk.inbox.folder().join("before.db")).unwrap();
    let all: Vec<_> = (0..LETTERS).map(letter_id).collect();
    assert_eq!(stored(&desk), all);
    let mut deaths = Vec::new();
    for point in FailPoint::ALL {
        for time in 1.. {
            let desk = Desk {
                inbox: Sandbox::empty(INBOX),
            };
            desk.file(".agents/coord.db", &before);
            if !dies(&desk, point, time) {
                break;
            }
            deaths.push(point);
            let what = format!("{point:?} {time}");
            // Whoever was to move is here or there; who is in both is where it was before.
            let (here, there) = (stored(&desk), filed(&desk));
            let either: BTreeSet<_> = here.iter().chain(&there).cloned().collect();
            assert!(either.iter().eq(&all), "{what}");
            let found = desk.ok("search letter --limit 1000");
            let found = found["hits"].as_array().unwrap().iter();
            let mut found: Vec<_> = found.map(|hit| text(&hit["message"]["uid"])).collect();
            found.sort();
            assert_eq!(found, all, "{what}: each is found once");
            let rest = desk.ok("archive");
            assert_eq!(rest["threads"], here.len(), "{what}");
            assert_eq!(filed(&desk), all, "{what}: each is there once");
            assert_eq!(stored(&desk), [""; 0], "{what}");
            let events: Vec<_> = ["2026-05", "2026-06"]
                .map(|month| desk.content(&format!(".agents/archive/{month}-events.jsonl")))
                .concat()
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap()["event_id"].clone())
                .collect();
            let once: BTreeSet<_> = events.iter().map(Value::to_string).collect();
            assert_eq!((events.len(), once.len()), (LETTERS, LETTERS), "{what}");
            desk.ok("doctor");
        }
    }
    let times = |point| deaths.iter().filter(|death| **death == point).count();
    // Two months have a file of letters and one of events each, and there are two batches.
    assert_eq!(times(FailPoint::ArchiveMidst), 8);
    for point in [
        FailPoint::BeforeLock,
        FailPoint::AfterBegin,
        FailPoint::BeforeCommit,
        FailPoint::AfterCommit,
    ] {
        assert!(times(point) >= 2, "{point:?}: {deaths:?}");
    }
}
