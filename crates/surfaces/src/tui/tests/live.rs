//! The console's ears and its clerk, on a real store.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use inbox_core::Kind;
use inbox_ops::{Caller, Inbox, Operation, Send};
use inbox_store::{Location, Store};

use crate::tui::Event;
use crate::tui::clerk::{self, Errand, Filter, Found, Place, Step, Wish};
use crate::tui::ears::Bell;

/// How long something may take that must come.
const PATIENCE: Duration = Duration::from_mins(1);

/// A folder with a store, which is gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("inbox-tui-{name}-{}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        Store::init(&folder.location()).unwrap();
        folder
    }

    fn location(&self) -> Location {
        Location::File(self.0.join("store.db"))
    }

    fn open(&self) -> Inbox {
        Inbox::new(Store::open(&self.location()).unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn asks(inbox: &Inbox) {
    let question = Send {
        to: vec!["ada".parse().unwrap()],
        subject: Some("Which auth?".to_owned()),
        kind: Some(Kind::Question),
        ..Send::default()
    };
    let caller = Caller::local(Some("backend".parse().unwrap()));
    question.run(inbox, &caller).unwrap();
}

#[test]
fn what_others_commit_is_heard_by_the_bell() {
    let folder = Folder::new("bell");
    let (tell, hear) = channel();
    let bell = Bell::hear(&Arc::new(folder.open()), tell).unwrap();
    let heard = || matches!(hear.recv_timeout(PATIENCE), Ok(Event::Rang));
    assert!(heard(), "once when it begins to listen");
    assert!(hear.try_recv().is_err(), "and nothing has happened");
    asks(&folder.open());
    assert!(heard());
    drop(bell);
    // Its thread has gone, and with it whoever would tell.
    while let Ok(event) = hear.recv_timeout(PATIENCE) {
        assert!(matches!(event, Event::Rang));
    }
}

#[test]
fn the_clerk_looks_and_does_what_it_is_told() {
    let folder = Folder::new("clerk");
    asks(&folder.open());
    let (tell, hear) = channel();
    let (send, errands) = channel();
    let place = Place::Here(Arc::new(folder.open()));
    let ada = Caller::local(Some("ada".parse().unwrap()));
    let works = std::thread::spawn(move || clerk::work(&place, &ada, &errands, &tell));
    let wish = Wish {
        agents: true,
        threads: Some(Filter::default()),
        thread: Some("thr_1".parse().unwrap()),
    };
    let look = || {
        send.send(Errand::Look(wish.clone())).unwrap();
        match hear.recv_timeout(PATIENCE) {
            Ok(Event::Looked(looked, _)) => looked.unwrap(),
            _ => panic!("no look"),
        }
    };
    let seen = look();
    assert_eq!(seen.desk.asks.len(), 1);
    assert!(seen.agents.is_some_and(|found| !found.agents.is_empty()));
    let (_, found) = seen.threads.unwrap();
    assert!(matches!(found, Ok(Found::Threads(found)) if found.threads.len() == 1));
    let (_, shown) = seen.thread.unwrap();
    assert_eq!(shown.unwrap().receipts.len(), 1, "with how far it has come");
    let answer = |body: &str| Step::Say {
        thread: "thr_1".parse().unwrap(),
        is_answer: true,
        word: None,
        body: Some(body.to_owned()),
    };
    for body in ["E-mail", "E-mail"] {
        send.send(Errand::Do(answer(body))).unwrap();
        assert!(matches!(
            hear.recv_timeout(PATIENCE),
            Ok(Event::Done(_, Ok(())))
        ));
    }
    let seen = look();
    assert_eq!(seen.desk.asks.len(), 0);
    let (_, shown) = seen.thread.unwrap();
    let said = shown.unwrap().messages;
    assert_eq!(
        said.len(),
        3,
        "what was done for certain is done again when it is wanted again"
    );
    drop(send);
    works.join().unwrap();
}
