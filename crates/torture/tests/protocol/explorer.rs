//! Goes everywhere: breadth first, so that the way to a broken promise is the shortest.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use crate::Broken;
use crate::world::{Act, World};

/// Everything that can happen, from the beginning on.
#[derive(Default)]
pub(crate) struct Explored {
    pub(crate) worlds: Vec<World>,
    /// How each was first come to.
    from: Vec<(u32, Act)>,
    /// Where each leads, one after another, and where each one's part of that begins.
    pub(crate) leads: Vec<u32>,
    begins: Vec<usize>,
}

fn number(place: usize) -> u32 {
    u32::try_from(place).expect("not so many")
}

/// Explores until all is known, or a promise is broken: then what it was, and the shortest way to it.
pub(crate) fn explore(broken: Broken) -> Result<Explored, (String, Vec<Act>)> {
    let acts = World::acts();
    let mut known: HashMap<World, u32, BuildHasherDefault<DefaultHasher>> = HashMap::default();
    let mut all = Explored {
        worlds: vec![World::default().normal()],
        from: vec![(0, Act::Tick)],
        ..Explored::default()
    };
    known.insert(all.worlds[0], 0);
    let mut at = 0;
    while at < all.worlds.len() {
        all.begins.push(all.leads.len());
        for act in &acts {
            match all.worlds[at].after(*act, broken) {
                None => {}
                Some(Err(promise)) => {
                    let mut way = all.way(at);
                    way.push(*act);
                    return Err((promise.to_owned(), way));
                }
                Some(Ok(next)) => {
                    let next = next.normal();
                    let new = number(all.worlds.len());
                    let place = *known.entry(next).or_insert(new);
                    if place == new {
                        all.worlds.push(next);
                        all.from.push((number(at), *act));
                    }
                    all.leads.push(place);
                }
            }
        }
        at += 1;
    }
    all.begins.push(all.leads.len());
    all.must_stay_possible(
        "every result that was accepted can reach the mirror",
        World::is_delivered,
    )?;
    all.must_stay_possible("all work can be done", World::is_finished)?;
    Ok(all)
}

impl Explored {
    fn way(&self, to: usize) -> Vec<Act> {
        let mut way = Vec::new();
        let mut at = to;
        while at != 0 {
            let (before, act) = self.from[at];
            way.push(act);
            at = before as usize;
        }
        way.reverse();
        way
    }

    /// Wherever one has come, there is a way on to a world like this.
    fn must_stay_possible(
        &self,
        promise: &str,
        is_goal: fn(&World) -> bool,
    ) -> Result<(), (String, Vec<Act>)> {
        let mut can: Vec<bool> = self.worlds.iter().map(is_goal).collect();
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for at in (0..self.worlds.len()).rev() {
                let leads = &self.leads[self.begins[at]..self.begins[at + 1]];
                if !can[at] && leads.iter().any(|next| can[*next as usize]) {
                    can[at] = true;
                    has_changed = true;
                }
            }
        }
        match can.iter().position(|can| !can) {
            None => Ok(()),
            Some(stuck) => Err((promise.to_owned(), self.way(stuck))),
        }
    }
}
