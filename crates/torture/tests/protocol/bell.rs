//! The doorbell, explored whole: those who wait and those who commit, one step of one of them at a time, in every order there is. Nobody
//! looks by himself here, so that a wake that is missed is slept through for ever.

use std::collections::HashSet;

const WAITERS: usize = 2;
const WRITERS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Write {
    Commit,
    Ring,
    AskWhoWaits,
    WakeThem,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Register,
    Note,
    Look,
}

/// In which order things are done, and whether who would sleep compares first.
#[derive(Clone, Copy)]
struct Way {
    write: [Write; 4],
    wait: [Wait; 3],
    compares: bool,
}

/// What the store and its bell do.
const RIGHT: Way = Way {
    write: [
        Write::Commit,
        Write::Ring,
        Write::AskWhoWaits,
        Write::WakeThem,
    ],
    wait: [Wait::Register, Wait::Note, Wait::Look],
    compares: true,
};

/// Where somebody is who waits until everything is committed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum Waiter {
    #[default]
    Outside,
    /// At which step, and how many rings it has noted.
    Awake(usize, usize),
    Asleep,
    Gone,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct World {
    committed: usize,
    rings: usize,
    waiters: [Waiter; WAITERS],
    is_registered: [bool; WAITERS],
    /// How many steps each has taken, and whether it saw somebody wait.
    writers: [(usize, bool); WRITERS],
}

impl World {
    fn wait(mut self, number: usize, way: Way) -> Option<Self> {
        self.waiters[number] = match self.waiters[number] {
            Waiter::Outside => Waiter::Awake(0, 0),
            Waiter::Awake(step, noted) => match way.wait.get(step) {
                Some(Wait::Register) => {
                    self.is_registered[number] = true;
                    Waiter::Awake(step + 1, noted)
                }
                Some(Wait::Note) => Waiter::Awake(step + 1, self.rings),
                Some(Wait::Look) if self.committed == WRITERS => {
                    self.is_registered[number] = false;
                    Waiter::Gone
                }
                Some(Wait::Look) => Waiter::Awake(step + 1, noted),
                // The kernel compares and lets it sleep in one step.
                None if way.compares && noted != self.rings => Waiter::Awake(0, noted),
                None => Waiter::Asleep,
            },
            Waiter::Asleep | Waiter::Gone => return None,
        };
        Some(self)
    }

    fn write(mut self, number: usize, way: Way) -> Option<Self> {
        let (step, mut saw) = self.writers[number];
        match way.write.get(step)? {
            Write::Commit => self.committed += 1,
            Write::Ring => self.rings += 1,
            Write::AskWhoWaits => saw = self.is_registered.contains(&true),
            Write::WakeThem => {
                let asleep = |waiter: &&mut Waiter| saw && **waiter == Waiter::Asleep;
                for waiter in self.waiters.iter_mut().filter(asleep) {
                    *waiter = Waiter::Awake(0, 0);
                }
            }
        }
        self.writers[number] = (step + 1, saw);
        Some(self)
    }
}

/// Goes everywhere. How many worlds there are, or one in which somebody sleeps and nobody will wake him.
fn explore(way: Way) -> Result<usize, World> {
    let mut known = HashSet::from([World::default()]);
    let mut left = vec![World::default()];
    while let Some(world) = left.pop() {
        let waits = (0..WAITERS).filter_map(|number| world.wait(number, way));
        let writes = (0..WRITERS).filter_map(|number| world.write(number, way));
        let next: Vec<World> = waits.chain(writes).collect();
        if next.is_empty() && world.waiters != [Waiter::Gone; WAITERS] {
            return Err(world);
        }
        left.extend(next.into_iter().filter(|world| known.insert(*world)));
    }
    Ok(known.len())
}

#[test]
fn no_order_of_steps_makes_a_wait_miss_its_wake() {
    let worlds = explore(RIGHT).unwrap_or_else(|world| panic!("somebody sleeps on: {world:?}"));
    println!("{worlds} worlds");
    assert!(worlds > 10_000, "{worlds}");
}

#[test]
fn who_looks_before_noting_the_rings_sleeps_through_one() {
    let wait = [Wait::Register, Wait::Look, Wait::Note];
    assert!(explore(Way { wait, ..RIGHT }).is_err());
}

#[test]
fn who_rings_before_the_commit_wakes_for_nothing() {
    let write = [
        Write::Ring,
        Write::AskWhoWaits,
        Write::WakeThem,
        Write::Commit,
    ];
    assert!(explore(Way { write, ..RIGHT }).is_err());
}

#[test]
fn who_asks_who_waits_before_ringing_wakes_nobody_who_registers_late() {
    let wait = [Wait::Note, Wait::Look, Wait::Register];
    let write = [
        Write::Commit,
        Write::AskWhoWaits,
        Write::Ring,
        Write::WakeThem,
    ];
    let way = Way {
        write,
        wait,
        ..RIGHT
    };
    assert!(explore(way).is_err());
}

#[test]
fn who_sleeps_without_comparing_sleeps_through_a_ring() {
    let compares = false;
    assert!(explore(Way { compares, ..RIGHT }).is_err());
}
