//! What inbox promises, tried on the user's own machine: kills, races, stopped holders, clocks, crowds.
//!
//! A [`Part`] is one sort of trouble and the promise that it must not break. It gets a [`Ground`] of its own, a scratch store
//! with the real program before it, and goes on in rounds, each of which comes again with its seed. [`play`] runs the
//! parts that a [`Plan`] asks for and gives the [`Report`].

pub mod bout;
pub mod child;
pub mod clock;
pub mod crowd;
pub mod cursor;
pub mod damage;
pub mod dice;
pub mod disk;
pub mod gate;
pub mod ground;
pub mod histories;
pub mod history;
mod http;
pub mod keeper;
pub mod kills;
pub mod ledger;
mod limit;
pub mod plan;
pub mod points;
pub mod power;
pub mod races;
mod reach;
pub mod recovery;
pub mod report;
pub mod scratch;
pub mod server;
pub mod soak;
pub mod trace;
pub mod wakes;
pub mod work;
pub mod worker;
pub mod zombies;

pub use bout::{Amount, Bout, Round};
pub use dice::Dice;
pub use ground::{Ground, Tools, Wait, Woken};
pub use plan::{Asked, Plan, play};
pub use report::{Report, Row, Verdict};

/// One sort of trouble, and the promise it must not break.
pub trait Part: Sync {
    /// Its name, as `--only` takes it.
    fn name(&self) -> &'static str;

    /// The promise, in a sentence.
    fn promise(&self) -> &'static str;

    /// Why it cannot be tried here. It is then reported as skipped, with the reason.
    fn applies(&self, _ground: &Ground<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Whether it runs only when it is asked for by name.
    fn is_by_name(&self) -> bool {
        false
    }

    /// Whether it makes the machine's limits itself, so that what it is told of them is its own doing.
    fn makes_limits(&self) -> bool {
        false
    }

    /// Tries it, for as many rounds as the bout has.
    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken>;
}

/// Every part, in the order in which they run.
pub const PARTS: &[&dyn Part] = &[
    &kills::Kills,
    &points::Points,
    &power::Power,
    &disk::Disk,
    &damage::Damage,
    &races::Races,
    &zombies::Zombies,
    &clock::Clocks,
    &histories::Histories,
    &cursor::Cursors,
    &wakes::Wakes,
    &crowd::Crowd(crowd::Size::Usual),
    &crowd::Crowd(crowd::Size::Large),
    &server::Server,
    &ledger::Ledger,
    &recovery::Recovery,
    &soak::Soak,
];

/// What a round came to that did not go on to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// What was seen, and what was promised.
    pub what: String,
    /// What it says of the promise.
    pub sort: Sort,
}

/// What it says of a promise that a round did not go on to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// It does not hold: what there is differs from what there must be. No limit of the machine excuses that.
    Promise,
    /// Something that had to work did not, so that it does not hold, unless a limit of the machine was in the way.
    Work,
    /// Nothing: it was not tried.
    Untried,
    /// Nothing: the torture itself failed.
    Fault,
}

impl Broken {
    /// A promise that did not hold in the round that is on.
    pub fn new(what: impl Into<String>) -> Self {
        Broken::of(Sort::Promise, what)
    }

    /// Something that had to work and did not: a call to the system, an operation, a child. If a limit of the machine is known to have been
    /// in the way, nothing is said of the promise.
    pub fn hindered(what: impl Into<String>) -> Self {
        Broken::of(Sort::Work, what)
    }

    /// What was to be tried did not come about, so that nothing is known of the promise.
    pub fn unable(what: impl Into<String>) -> Self {
        Broken::of(Sort::Untried, what)
    }

    fn of(sort: Sort, what: impl Into<String>) -> Self {
        Broken {
            what: what.into(),
            sort,
        }
    }

    /// The same with more words around it.
    #[must_use]
    pub fn told(self, words: impl FnOnce(&str) -> String) -> Self {
        Broken {
            what: words(&self.what),
            ..self
        }
    }

    /// A panic, which is a fault of the torture and says nothing of the store.
    pub fn of_panic(panic: &(dyn std::any::Any + Send)) -> Self {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        let said = said.unwrap_or("it panicked");
        Broken::of(
            Sort::Fault,
            format!("a fault of the torture itself: {said}"),
        )
    }

    /// Whether it is the torture itself that failed, and no promise.
    pub fn is_fault(&self) -> bool {
        self.sort == Sort::Fault
    }
}

/// What a thread came to; a panic of it is told with its message.
pub(crate) fn joined<T>(thread: std::thread::Result<Result<T, Broken>>) -> Result<T, Broken> {
    thread.unwrap_or_else(|panic| Err(Broken::of_panic(&*panic)))
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl From<String> for Broken {
    fn from(what: String) -> Self {
        Broken::new(what)
    }
}

impl From<inbox_core::Refusal> for Broken {
    fn from(refusal: inbox_core::Refusal) -> Self {
        let short = if refusal.code.exit() == 50 && limit::is_short_of_files() {
            ": Too many open files"
        } else {
            ""
        };
        let told = format!(
            "what had to succeed was refused: {} ({}){short}",
            refusal.message, refusal.code
        );
        if limit::may_be_behind(refusal.code) {
            Broken::hindered(told)
        } else {
            Broken::new(told)
        }
    }
}

impl From<inbox_store::StoreError> for Broken {
    fn from(error: inbox_store::StoreError) -> Self {
        Broken::from(inbox_core::Refusal::from(error))
    }
}

impl From<std::io::Error> for Broken {
    fn from(error: std::io::Error) -> Self {
        Broken::hindered(format!("the system refused: {error}"))
    }
}

impl From<serde_json::Error> for Broken {
    fn from(error: serde_json::Error) -> Self {
        Broken::new(format!("an answer cannot be read: {error}"))
    }
}

/// Goes on when it holds, and says otherwise what was seen.
pub fn must(holds: bool, seen: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds {
        Ok(())
    } else {
        Err(Broken::new(seen()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_parts_have_one_name() {
        let names: std::collections::BTreeSet<_> = PARTS.iter().map(|part| part.name()).collect();
        assert_eq!(names.len(), PARTS.len());
    }

    #[test]
    fn a_panic_is_told_with_its_message_and_is_a_fault() {
        let caught =
            std::thread::spawn(|| -> Result<(), Broken> { panic!("no {}", "luck") }).join();
        let broken = joined(caught).unwrap_err();
        assert!(broken.is_fault());
        assert_eq!(broken.what, "a fault of the torture itself: no luck");
        assert!(!Broken::new("gone").is_fault());
    }

    #[test]
    fn what_may_be_a_limit_of_the_machine_and_what_never_is_are_told_apart_with_any_words_around_it()
     {
        let refused = |code| Broken::from(inbox_core::Refusal::new(code, "no")).sort;
        assert_eq!(refused(inbox_core::Code::Storage), Sort::Work);
        assert_eq!(refused(inbox_core::Code::ThreadNotFound), Sort::Promise);
        assert_eq!(refused(inbox_core::Code::StoreCorrupt), Sort::Promise);
        let full = std::io::Error::from(rustix::io::Errno::NOSPC);
        assert_eq!(Broken::from(full).sort, Sort::Work);
        let lost = must(false, || "it is gone".to_owned()).unwrap_err();
        assert_eq!(lost.sort, Sort::Promise);
        let told = Broken::unable("nobody came").told(|what| format!("round 3: {what}"));
        assert_eq!(told, Broken::unable("round 3: nobody came"));
    }
}
