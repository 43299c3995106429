//! Finds an order that explains a history, or shows that there is none: Wing and Gong's search, which remembers where it
//! has been (Lowe).

use std::collections::HashSet;

use super::{Deed, Standing};

/// A history that no order of its steps explains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unexplained {
    /// The longest order that was found, as numbers of steps.
    pub explained: Vec<usize>,
    /// How the thread stood then.
    pub standing: Standing,
    /// The step that had been answered by then and fits nowhere.
    pub deed: Deed,
}

impl std::fmt::Display for Unexplained {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "after {} steps the thread is {}, and nothing explains {:?}",
            self.explained.len(),
            self.standing,
            self.deed
        )
    }
}

/// A place in the list of questions and answers, in the order of time.
#[derive(Debug, Clone, Copy)]
enum Moment {
    Asked(usize),
    Answered(usize),
}

/// Gives an order of the steps that a thread could have taken, in which each step lies between its question and its
/// answer. Steps without an answer may be left out.
pub fn judge(deeds: &[Deed]) -> Result<Vec<usize>, Box<Unexplained>> {
    let mut search = Search::new(deeds);
    let mut at = search.list.first();
    while search.unanswered_for > 0 {
        match search.list.moment(at) {
            Some(Moment::Asked(deed)) => {
                at = if search.take(deed, at) {
                    search.list.first()
                } else {
                    search.list.after(at)
                };
            }
            // This step must have happened by now, and did not in the order that is tried.
            Some(Moment::Answered(deed)) => {
                search.remember_best(deed);
                match search.take_back() {
                    Some(asked) => at = search.list.after(asked),
                    None => return Err(Box::new(search.unexplained())),
                }
            }
            None => return Err(Box::new(search.unexplained())),
        }
    }
    Ok(search.order.iter().map(|taken| taken.deed).collect())
}

struct Taken {
    deed: usize,
    asked: usize,
    before: Standing,
}

struct Search<'a> {
    deeds: &'a [Deed],
    list: List,
    standing: Standing,
    order: Vec<Taken>,
    /// Which steps are in the order.
    taken: Vec<u64>,
    /// How many steps with an answer are not.
    unanswered_for: usize,
    seen: HashSet<(Vec<u64>, Standing)>,
    best: Option<Unexplained>,
}

impl<'a> Search<'a> {
    fn new(deeds: &'a [Deed]) -> Self {
        Search {
            deeds,
            list: List::new(deeds),
            standing: Standing::opened(),
            order: Vec::new(),
            taken: vec![0; deeds.len().div_ceil(64)],
            unanswered_for: deeds.iter().filter(|deed| deed.answered.is_some()).count(),
            seen: HashSet::new(),
            best: None,
        }
    }

    /// Takes a step as the next one, if it can be that and this was not tried before.
    fn take(&mut self, deed: usize, asked: usize) -> bool {
        let Some(next) = self.standing.after(&self.deeds[deed]) else {
            return false;
        };
        let mut taken = self.taken.clone();
        taken[deed / 64] |= 1 << (deed % 64);
        if !self.seen.insert((taken.clone(), next.clone())) {
            return false;
        }
        self.taken = taken;
        let before = std::mem::replace(&mut self.standing, next);
        self.order.push(Taken {
            deed,
            asked,
            before,
        });
        self.list.lift(asked, deed);
        self.unanswered_for -= usize::from(self.deeds[deed].answered.is_some());
        true
    }

    /// Takes the last step back, and gives the place of its question.
    fn take_back(&mut self) -> Option<usize> {
        let last = self.order.pop()?;
        self.taken[last.deed / 64] &= !(1 << (last.deed % 64));
        self.standing = last.before;
        self.list.put_back(last.asked, last.deed);
        self.unanswered_for += usize::from(self.deeds[last.deed].answered.is_some());
        Some(last.asked)
    }

    fn remember_best(&mut self, stuck: usize) {
        let longest = self.best.as_ref().map(|best| best.explained.len());
        if longest.is_none_or(|longest| self.order.len() > longest) {
            self.best = Some(Unexplained {
                explained: self.order.iter().map(|taken| taken.deed).collect(),
                standing: self.standing.clone(),
                deed: self.deeds[stuck].clone(),
            });
        }
    }

    fn unexplained(self) -> Unexplained {
        self.best.unwrap_or_else(|| Unexplained {
            explained: Vec::new(),
            standing: self.standing,
            deed: self.deeds[0].clone(),
        })
    }
}

/// The moments in their order, from which a step's two moments can be lifted and put back in constant time.
struct List {
    moments: Vec<Moment>,
    /// Where the answer to each step is.
    answer: Vec<Option<usize>>,
    next: Vec<usize>,
    previous: Vec<usize>,
}

impl List {
    fn new(deeds: &[Deed]) -> Self {
        let mut moments = Vec::with_capacity(2 * deeds.len());
        for (number, deed) in deeds.iter().enumerate() {
            // At one instant questions come first: then the two may have happened in either order.
            moments.push((deed.asked, false, Moment::Asked(number)));
            if let Some(answered) = deed.answered {
                moments.push((answered, true, Moment::Answered(number)));
            }
        }
        moments.sort_by_key(|(time, is_answer, _)| (*time, *is_answer));
        let moments: Vec<Moment> = moments.into_iter().map(|(_, _, moment)| moment).collect();
        let mut answer = vec![None; deeds.len()];
        for (place, moment) in moments.iter().enumerate() {
            if let Moment::Answered(deed) = moment {
                answer[*deed] = Some(place);
            }
        }
        // The place after the last is both ends of the list.
        let places = moments.len() + 1;
        List {
            moments,
            answer,
            next: (0..places).map(|place| (place + 1) % places).collect(),
            previous: (0..places)
                .map(|place| (place + places - 1) % places)
                .collect(),
        }
    }

    fn first(&self) -> usize {
        self.next[self.moments.len()]
    }

    fn after(&self, place: usize) -> usize {
        self.next[place]
    }

    fn moment(&self, place: usize) -> Option<Moment> {
        self.moments.get(place).copied()
    }

    fn lift(&mut self, asked: usize, deed: usize) {
        self.unlink(asked);
        if let Some(answer) = self.answer[deed] {
            self.unlink(answer);
        }
    }

    fn put_back(&mut self, asked: usize, deed: usize) {
        if let Some(answer) = self.answer[deed] {
            self.link(answer);
        }
        self.link(asked);
    }

    fn unlink(&mut self, place: usize) {
        let (previous, next) = (self.previous[place], self.next[place]);
        self.next[previous] = next;
        self.previous[next] = previous;
    }

    fn link(&mut self, place: usize) {
        let (previous, next) = (self.previous[place], self.next[place]);
        self.next[previous] = place;
        self.previous[next] = place;
    }
}
