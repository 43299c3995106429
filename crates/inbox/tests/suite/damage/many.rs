//! Two thousand damaged images of one store, opened and used inside this process: that is cheap enough for all of them.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use inbox_core::Refusal;
use inbox_ops::{Caller, Fetch, Inbox, List, Operation, Send, Show};
use inbox_store::{Location, Store, StoreError};
use inbox_testkit::sandbox::TempDir;
use inbox_torture::Dice;

use super::filled;
use super::images::{Image, first_commit, originals, remove};

/// How many images there are of each sort.
const CUT: usize = 200;
const HEADER_BITS: usize = 400;
const PAGE_HEADER_BYTES: usize = 400;
const BITS: usize = 500;
const PAGES: usize = 200;
const LOG_BITS: usize = 200;
const LOGS_CUT: usize = 100;

/// How many images there are.
const IMAGES: usize = 2000;

/// When an image counts as one that hangs; no test passes or fails by how long it took.
const HANGS: Duration = Duration::from_mins(1);

const PAGE: usize = 4096;

/// Changes an image, and says how; nothing when that would leave it as it was.
type Damage = dyn FnMut(&mut Image, &mut Dice) -> String;

struct Images {
    dice: Dice,
    known: HashSet<String>,
    found: Vec<Image>,
}

impl Images {
    /// So many images that differ from the original and from each other.
    fn add(&mut self, count: usize, base: &Image, damage: &mut Damage) {
        let wanted = self.found.len() + count;
        for _ in 0..count * 20 {
            if self.found.len() == wanted {
                break;
            }
            let mut image = base.clone();
            let how = damage(&mut image, &mut self.dice);
            image.name = format!("{}: {how}", base.name);
            let is_changed = image.db != base.db || image.log != base.log;
            if is_changed && self.known.insert(image.name.clone()) {
                self.found.push(image);
            }
        }
        assert_eq!(self.found.len(), wanted, "{}: too few ways", base.name);
    }
}

fn images(in_file: &Image, in_log: &Image) -> Vec<Image> {
    let mut images = Images {
        dice: Dice::new(0x5eed_0002_abcd_0007),
        known: HashSet::new(),
        found: Vec::new(),
    };
    images.add(CUT, in_file, &mut |image, dice| {
        let length = 1 + dice.place(image.db.len() - 1);
        image.db.truncate(length);
        format!("cut to {length}")
    });
    images.add(HEADER_BITS, in_file, &mut |image, dice| {
        let (at, bit) = (dice.place(100), dice.place(8));
        image.db[at] ^= 1 << bit;
        format!("header bit {bit} of byte {at}")
    });
    images.add(PAGE_HEADER_BYTES, in_file, &mut |image, dice| {
        // The head of a page, and the list of where its cells are.
        let at = dice.place(image.db.len() / PAGE) * PAGE + dice.place(40);
        image.db[at] = u8::try_from(dice.place(256)).expect("a byte");
        format!("byte {at} becomes {}", image.db[at])
    });
    images.add(BITS, in_file, &mut |image, dice| {
        let (at, bit) = (dice.place(image.db.len()), dice.place(8));
        image.db[at] ^= 1 << bit;
        format!("bit {bit} of byte {at}")
    });
    images.add(PAGES, in_file, &mut |image, dice| {
        let count = image.db.len() / PAGE;
        let (to, from) = (dice.place(count), dice.place(count));
        if dice.place(4) == 0 {
            image.db[to * PAGE..][..PAGE].fill(0);
            return format!("page {to} is zeros");
        }
        image
            .db
            .copy_within(from * PAGE..(from + 1) * PAGE, to * PAGE);
        format!("page {to} is page {from}")
    });
    images.add(LOG_BITS, in_log, &mut |image, dice| {
        let (at, bit) = (dice.place(image.log.len()), dice.place(8));
        image.log[at] ^= 1 << bit;
        format!("log bit {bit} of byte {at}")
    });
    // Cut before its first commit, a log is what a crash leaves of a store without threads.
    let kept = first_commit(&in_log.log);
    images.add(LOGS_CUT, in_log, &mut move |image, dice| {
        let length = kept + dice.place(image.log.len() - kept);
        image.log.truncate(length);
        format!("log cut to {length}")
    });
    images.found
}

/// What is wrong with how an image was answered, if something is.
fn judge(image: &Image, db: &std::path::Path) -> Option<String> {
    let as_damaged = |refusal: Refusal| (refusal.code.exit() != 50).then(|| format!("{refusal:?}"));
    let inbox = match Store::open(&Location::File(db.to_path_buf())) {
        Ok(store) => Inbox::new(store),
        Err(error) => return as_damaged(refusal(error)),
    };
    let worker = Caller::local(Some("w".parse().expect("a name")));
    let thread = "thr_1".parse().expect("an id");
    let empty = |what: &str, is_empty: bool| is_empty.then(|| format!("{what}: an empty success"));
    let listed = List::default().run(&inbox, &worker);
    let fetched = Fetch::default().run(&inbox, &worker);
    let shown = Show::of(thread).run(&inbox, &worker);
    let send = Send {
        to: vec!["w".parse().expect("an address")],
        subject: Some("After the damage".into()),
        ..Send::default()
    };
    let problems = [
        listed.map_or_else(as_damaged, |it| empty("list", it.threads.is_empty())),
        fetched.map_or_else(as_damaged, |it| empty("fetch", it.threads.is_empty())),
        shown.map_or_else(as_damaged, |it| empty("show", it.messages.is_empty())),
        send.run(&inbox, &worker).map_or_else(as_damaged, |_| None),
        inbox
            .store()
            .check()
            .map_or_else(|error| as_damaged(refusal(error)), |_| None),
    ];
    let problem = problems.into_iter().flatten().next()?;
    Some(format!("{}: {problem}", image.name))
}

fn refusal(error: StoreError) -> Refusal {
    Refusal::from(error)
}

/// Goes through the images, and says before each which one it is.
fn go_through(images: &[Image], folder: &std::path::Path, say: &Sender<Result<String, String>>) {
    for (number, image) in images.iter().enumerate() {
        let _ = say.send(Ok(image.name.clone()));
        let db = folder.join(format!("image-{number}.db"));
        image.write(&db);
        let judged = catch_unwind(AssertUnwindSafe(|| judge(image, &db)));
        let problem = judged.unwrap_or_else(|_| Some(format!("{}: it panicked", image.name)));
        if let Some(problem) = problem {
            let _ = say.send(Err(problem));
        }
        remove(&db);
    }
}

#[test]
fn two_thousand_damaged_images_never_panic_hang_or_look_empty() {
    let inbox = filled();
    let (in_file, in_log) = originals(&inbox);
    let images = images(&in_file, &in_log);
    assert_eq!(images.len(), IMAGES);
    let folder = TempDir::in_memory();
    let (say, said) = channel();
    let place = folder.path().to_path_buf();
    // Apart, so that one that hangs is named; it cannot be ended, and so it is left behind.
    std::thread::spawn(move || go_through(&images, &place, &say));
    let (mut at, mut seen, mut problems) = (String::new(), 0, Vec::new());
    loop {
        match said.recv_timeout(HANGS) {
            Ok(Ok(name)) => {
                at = name;
                seen += 1;
            }
            Ok(Err(problem)) => problems.push(problem),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("{at}: it hangs"),
        }
    }
    assert_eq!(seen, IMAGES);
    let count = problems.len();
    assert!(
        problems.is_empty(),
        "{count} problems:\n{}",
        problems.join("\n")
    );
}
