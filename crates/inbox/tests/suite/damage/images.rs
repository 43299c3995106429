//! Damaged images of one store: two hundred through the program, and two thousand more inside one process.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use inbox_testkit::sandbox::{Outcome, Sandbox};
use inbox_torture::Dice;

use super::{bounded, filled};

/// How many images the program itself opens.
const IMAGES: usize = 200;

/// A store's files: the database and its log.
#[derive(Clone)]
pub(super) struct Image {
    pub(super) name: String,
    pub(super) db: Vec<u8>,
    pub(super) log: Vec<u8>,
}

impl Image {
    /// Lays it down as a store's files.
    pub(super) fn write(&self, db: &Path) {
        std::fs::write(db, &self.db).expect("a test can do this");
        std::fs::write(format!("{}-wal", db.display()), &self.log).expect("a test can do this");
    }
}

fn take(inbox: &Sandbox, name: &str) -> Image {
    Image {
        name: name.to_owned(),
        db: std::fs::read(inbox.store()).expect("a test can do this"),
        log: std::fs::read(format!("{}-wal", inbox.store().display())).unwrap_or_default(),
    }
}

/// Two hundred ways to damage a store whose threads are in its file, or still in its log.
fn images(in_file: &Image, in_log: &Image) -> Vec<Image> {
    let mut dice = Dice::new(0x5eed_1234_abcd_0001);
    let mut found = Vec::new();
    let mut add = |base: &Image, what: String, change: &mut dyn FnMut(&mut Image)| {
        let mut image = base.clone();
        image.name = format!("{}: {what}", base.name);
        change(&mut image);
        found.push(image);
    };
    let size = in_file.db.len();
    let mut lengths = vec![
        1, 15, 16, 17, 99, 100, 101, 511, 512, 1024, 4095, 4096, 4097, 8192,
    ];
    lengths.extend((0..26).map(|_| 1 + dice.place(size - 1)));
    for length in lengths {
        add(in_file, format!("cut to {length}"), &mut |image| {
            image.db.truncate(length);
        });
    }
    for _ in 0..30 {
        let (at, bit) = (dice.place(100), dice.place(8));
        add(
            in_file,
            format!("header bit {bit} of byte {at}"),
            &mut |image| image.db[at] ^= 1 << bit,
        );
    }
    for _ in 0..50 {
        let (at, bit) = (dice.place(size), dice.place(8));
        add(in_file, format!("bit {bit} of byte {at}"), &mut |image| {
            image.db[at] ^= 1 << bit;
        });
    }
    for _ in 0..20 {
        let (page, at) = (dice.place(size / 4096), dice.place(108));
        let value = dice.place(256);
        let at = page * 4096 + at;
        add(
            in_file,
            format!("byte {at} becomes {value}"),
            &mut |image| {
                image.db[at] = u8::try_from(value).expect("a test can do this");
            },
        );
    }
    for _ in 0..10 {
        let page = dice.place(size / 4096);
        add(in_file, format!("page {page} is zeros"), &mut |image| {
            image.db[page * 4096..][..4096].fill(0);
        });
    }
    let size = in_log.log.len();
    for _ in 0..10 {
        let (at, bit) = (dice.place(32), dice.place(8));
        add(
            in_log,
            format!("log header bit {bit} of byte {at}"),
            &mut |image| image.log[at] ^= 1 << bit,
        );
    }
    for _ in 0..20 {
        let (at, bit) = (dice.place(size), dice.place(8));
        add(
            in_log,
            format!("log bit {bit} of byte {at}"),
            &mut |image| image.log[at] ^= 1 << bit,
        );
    }
    // Cut before its first commit, a log is what a crash leaves of a store without threads.
    let kept = first_commit(&in_log.log);
    for _ in 0..20 {
        let length = kept + dice.place(size - kept);
        add(in_log, format!("log cut to {length}"), &mut |image| {
            image.log.truncate(length);
        });
    }
    found
}

/// Where the first commit of a log ends. A frame is a header of 24 bytes, in which bytes 4 to 8 are
/// not zero when it ends a commit, and a page.
pub(super) fn first_commit(log: &[u8]) -> usize {
    let frames = log[32..].chunks_exact(24 + 4096);
    let ends = frames.take_while(|frame| frame[4..8] == [0; 4]).count() + 1;
    32 + ends * (24 + 4096)
}

const COMMANDS: &[&[&str]] = &[
    &["list"],
    &["fetch", "--agent", "w"],
    &["show", "--thread", "thr_1"],
    &["doctor"],
    &["send", "--from", "lead", "--to", "w", "--subject", "s"],
];

/// What is wrong with an outcome, if something is.
fn judge(args: &[&str], outcome: &Outcome) -> Option<&'static str> {
    if outcome.stderr.contains("panicked") {
        return Some("it panicked");
    }
    if !matches!(outcome.code, 0 | 50) {
        return Some("it neither works nor says that the store is damaged");
    }
    let Ok(answer) = serde_json::from_str::<serde_json::Value>(&outcome.stdout) else {
        return Some("its answer is not JSON");
    };
    if outcome.code == 50 {
        return (answer["ok"] != false).then_some("an error that says ok");
    }
    let is_empty = |key: &str| answer[key].as_array().is_none_or(Vec::is_empty);
    match args[0] {
        "list" | "fetch" => is_empty("threads").then_some("an empty success"),
        "show" => is_empty("messages").then_some("a thread without messages"),
        _ => None,
    }
}

fn check(inbox: &Sandbox, number: usize, image: &Image) -> Vec<String> {
    let db = inbox.folder().join(format!("image-{number}.db"));
    let mut problems = Vec::new();
    image.write(&db);
    for args in COMMANDS {
        let outcome = bounded(inbox, &db, args);
        if let Some(problem) = judge(args, &outcome) {
            problems.push(format!("{}: {}: {problem}\n{outcome}", image.name, args[0]));
        }
    }
    remove(&db);
    problems
}

pub(super) fn remove(db: &Path) {
    for suffix in ["", "-wal", "-shm", "-lock", "-bell", ".out", ".err"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", db.display()));
    }
}

/// A store whose threads are in its file, and one whose threads are still in its log.
pub(super) fn originals(inbox: &Sandbox) -> (Image, Image) {
    let in_log = take(inbox, "in the log");
    assert!(in_log.log.len() > 10 * 4120, "everything is in the log");
    super::sqlite(&inbox.store(), "PRAGMA wal_checkpoint(TRUNCATE);");
    let mut in_file = take(inbox, "in the file");
    in_file.log.clear();
    (in_file, in_log)
}

#[test]
fn two_hundred_damaged_images_never_panic_hang_or_look_empty() {
    let inbox = filled();
    let (in_file, in_log) = originals(&inbox);
    let images = images(&in_file, &in_log);
    assert_eq!(images.len(), IMAGES);
    let next = AtomicUsize::new(0);
    let problems: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut problems = Vec::new();
                    loop {
                        let number = next.fetch_add(1, Ordering::SeqCst);
                        let Some(image) = images.get(number) else {
                            break problems;
                        };
                        problems.extend(check(&inbox, number, image));
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect()
    });
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
}
