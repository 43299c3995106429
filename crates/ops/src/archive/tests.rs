use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use inbox_store::{Location, Store};
use serde_json::{Value, json};

use super::shelf::{LETTERS, Shelf, part_of};
use super::{Archive, Archived};
use crate::call::{Caller, Inbox, Operation};
use crate::config::Config;
use crate::search::{Search, Searched};
use crate::{Cancel, Send};

struct Desk {
    folder: PathBuf,
    inbox: Inbox,
    lead: Caller,
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Desk {
    fn new(name: &str) -> Desk {
        let folder = std::env::temp_dir().join(format!("inbox-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let place = Location::File(folder.join("coord.db"));
        Store::init(&place).unwrap();
        let config = Config {
            folder: Some(folder.clone()),
            ..Config::default()
        };
        Desk {
            inbox: Inbox::new(Store::open(&place).unwrap()).with_config(config),
            lead: Caller::local("lead".parse().ok()),
            folder,
        }
    }

    /// Opens threads of three letters each, of which the last ends them.
    fn ended(&mut self, names: impl IntoIterator<Item = String>) {
        let lead = self.lead.clone();
        let all = self.inbox.share(|inbox| {
            for name in names {
                let send: Send = serde_json::from_value(json!({
                    "to": ["backend"], "subject": name, "body": format!("needle {}", "x".repeat(300)),
                }))
                .unwrap();
                let thread = send.run(inbox, &lead).unwrap().thread.thread_id;
                let more: Send =
                    serde_json::from_value(json!({ "thread": thread, "summary": "more" })).unwrap();
                more.run(inbox, &lead).unwrap();
                let cancel: Cancel = serde_json::from_value(json!({ "thread": thread })).unwrap();
                cancel.run(inbox, &lead).unwrap();
            }
        });
        all.unwrap();
    }

    fn archive(&self, full: u64, keep: i64) -> Archived {
        let archive = Archive {
            keep: Some(keep),
            ..Archive::default()
        };
        archive.with_files_of(full, &self.inbox).unwrap()
    }

    fn search(&self, query: &str) -> Searched {
        let search = Search {
            query: query.to_owned(),
            limit: Some(1000),
            ..Search::default()
        };
        search.run(&self.inbox, &self.lead).unwrap()
    }

    /// The files of the archive with this in their names, in their order.
    fn files(&self, is_of_events: bool) -> Vec<PathBuf> {
        let found = std::fs::read_dir(self.folder.join("archive")).unwrap();
        let mut found: Vec<_> = found.map(|entry| entry.unwrap().path()).collect();
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        found.retain(|path| name(path).contains("events") == is_of_events);
        found.sort_by_key(|path| part_of(&name(path)).unwrap().1);
        found
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_full_file_is_followed_by_another_of_its_month_and_everything_is_found() {
    let mut desk = Desk::new("full");
    desk.ended((0..31).map(|n| format!("early{n}")));
    let full = 8192;
    let first = desk.archive(full, 0);
    assert_eq!((first.threads, first.messages), (30, 90));
    let files = desk.files(false);
    let named: Vec<_> = files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    assert!(files.len() > 3, "{files:?}");
    assert_eq!(first.files, named);
    assert!(desk.files(true).len() > 1);
    // The next run goes on in the last of them, and leaves the others alone.
    let before = std::fs::read(&files[0]).unwrap();
    desk.ended((0..30).map(|n| format!("late{n}")));
    desk.archive(full, 0);
    assert_eq!(std::fs::read(&files[0]).unwrap(), before);
    let files = desk.files(false);
    let mut seen = BTreeSet::new();
    let mut threads = BTreeSet::new();
    for path in &files {
        assert!(std::fs::metadata(path).unwrap().len() <= full, "{path:?}");
        let lines = lines(path);
        let own: BTreeSet<_> = lines
            .iter()
            .map(|line| {
                line["inbox"]["thread"]["thread_id"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        for line in &lines {
            assert!(
                seen.insert(line["id"].as_str().unwrap().to_owned()),
                "{line}"
            );
        }
        for thread in own {
            assert!(threads.insert(thread), "a thread is whole in one file");
        }
    }
    assert_eq!((seen.len(), threads.len()), (180, 60));
    for path in desk.files(true) {
        assert!(std::fs::metadata(&path).unwrap().len() <= full, "{path:?}");
    }
    let found = desk.search("needle");
    assert_eq!(found.hits.len(), 61);
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    let month = found.hits[60].archived.clone().unwrap();
    assert_eq!(month.len(), 7, "{month}");
    assert_eq!(desk.search("early3").hits.len(), 3);
    // What changed is indexed again, and nothing twice.
    assert_eq!(desk.search("needle").hits.len(), 61);
}

#[test]
fn what_a_run_that_died_left_in_any_file_is_not_written_again() {
    let desk = Desk::new("left");
    let folder = desk.folder.join("archive");
    let piece =
        |n: u32| vec![json!({ "id": format!("id-{n}"), "body": "x".repeat(90) }).to_string()];
    let pieces: Vec<_> = (0..9).map(piece).collect();
    let append = |pieces: &[Vec<String>]| {
        let mut shelf = Shelf::open(&folder, 250).unwrap();
        shelf.append("2029-09", &LETTERS, pieces).unwrap()
    };
    let written = append(&pieces[..8]);
    assert_eq!(written.len(), 4);
    let all = || -> Vec<_> {
        let files = desk.files(false).into_iter();
        files.map(|path| std::fs::read(path).unwrap()).collect()
    };
    let before = all();
    assert_eq!(append(&pieces[..8]), written);
    assert_eq!(all(), before);
    assert_eq!(append(&pieces[2..4]), written[1..2]);
    // Files that somebody took away leave the rest as it is.
    std::fs::remove_file(&written[0]).unwrap();
    assert_eq!(append(&pieces[8..]), [folder.join("2029-09.5.jsonl")]);
    assert!(!written[0].exists());
}

#[test]
fn the_oldest_move_until_as_many_are_left_as_are_kept_however_many_batches_that_takes() {
    let mut desk = Desk::new("kept");
    desk.ended((0..260).map(|n| format!("n{n}")));
    let moved = desk.archive(super::FULL, 31);
    assert_eq!((moved.threads, moved.messages), (250, 750));
    let left = desk.inbox.read(|tx| Ok(tx.count_messages()?)).unwrap();
    assert_eq!(left, 30);
    assert_eq!(desk.archive(super::FULL, 30).threads, 0);
}

#[test]
fn an_archive_that_cannot_be_read_is_told_by_every_search() {
    let mut desk = Desk::new("unread");
    desk.ended((0..3).map(|n| format!("n{n}")));
    let file = PathBuf::from(&desk.archive(super::FULL, 0).files[0]);
    let told = desk.inbox.index_files_of(100).unwrap();
    assert!(
        told.len() == 1 && told[0].contains("more than 100 bytes"),
        "{told:?}"
    );
    let link = file.with_file_name("2029-01.jsonl");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    // Nobody's month: it is not ours to read.
    std::fs::write(file.with_file_name("notes-1.jsonl"), "mine").unwrap();
    for _ in 0..2 {
        let found = desk.search("needle");
        assert_eq!(found.hits.len(), 3);
        let [told] = &found.warnings[..] else {
            panic!("{:?}", found.warnings)
        };
        assert!(
            told.contains("2029-01.jsonl") && told.contains("symbolic link"),
            "{told}"
        );
    }
    std::fs::remove_file(&link).unwrap();
    // A line that is none is told by who finds it; one that is not yet whole is still in the store.
    let good = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{{\"id\": 1\n{good}{{\"id\": \"not yet")).unwrap();
    let found = desk.search("needle");
    assert_eq!(found.hits.len(), 3);
    assert!(
        found.warnings.len() == 1 && found.warnings[0].starts_with("1 line of "),
        "{:?}",
        found.warnings
    );
    std::fs::remove_dir_all(desk.folder.join("archive")).unwrap();
    std::fs::write(desk.folder.join("archive"), "no folder").unwrap();
    assert_eq!(desk.search("needle").warnings.len(), 1);
}

#[test]
fn a_file_is_known_by_its_name() {
    for (name, part) in [
        ("2029-09.jsonl", Some(("2029-09", 1))),
        ("2029-09.2.jsonl", Some(("2029-09", 2))),
        ("2029-09-events.12.jsonl", Some(("2029-09-events", 12))),
        ("2029-09.1.jsonl", None),
        ("2029-09.02.jsonl", None),
        ("2029-09.+2.jsonl", None),
        ("2029-09.x.jsonl", None),
        ("2029-09.99999999999.jsonl", None),
        ("2029-09.new-7", None),
    ] {
        assert_eq!(part_of(name), part, "{name}");
    }
}

#[test]
fn a_store_that_went_back_to_a_copy_archives_what_came_after_under_the_same_numbers() {
    let mut desk = Desk::new("copy");
    desk.ended(["before".to_owned()]);
    let copy = desk.folder.join("copy.db");
    desk.inbox.store().backup(&copy).unwrap();
    desk.ended(["lost".to_owned()]);
    desk.ended(["last".to_owned()]);
    assert_eq!(desk.archive(1 << 20, 0).threads, 2);
    let events = |desk: &Desk| lines(&desk.files(true)[0]).len();
    let letters = |desk: &Desk| lines(&desk.files(false)[0]).len();
    let (before, written) = (events(&desk), letters(&desk));

    // As one goes back to a copy: the archive stays where it is.
    let store = desk.folder.join("coord.db");
    for suffix in ["", "-wal", "-shm", "-lock", "-bell"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", store.display()));
    }
    std::fs::copy(&copy, &store).unwrap();
    let config = Config {
        folder: Some(desk.folder.clone()),
        ..Config::default()
    };
    desk.inbox = Inbox::new(Store::open(&Location::File(store)).unwrap()).with_config(config);
    desk.ended(["anew".to_owned()]);
    desk.ended(["last".to_owned()]);
    // What was there before is known, and what has the numbers of what was lost is not that.
    assert_eq!(desk.archive(1 << 20, 0).threads, 2);
    assert_eq!(letters(&desk), written + 3);
    let each = before / 2;
    assert_eq!(events(&desk), before + each);
    assert_eq!(desk.search("anew").hits.len(), 3);
}
