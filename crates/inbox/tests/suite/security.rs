//! What attackers try, row by row of the threat model: what other suites do not have, and the table that names all of it.

mod answers;
mod bodies;
mod canary;
mod modes;
mod paths;
mod print;
mod sql;
mod threats;

/// A small generator with a seed, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("below a size")
    }
}

/// Damages bytes in a few places: cut out, put in, doubled or changed.
fn damage(bytes: &[u8], pieces: &[&str], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(bytes.len() + 1);
        let end = (at + dice.roll(12)).min(bytes.len());
        match dice.roll(4) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, pieces[dice.roll(pieces.len())].bytes())),
            2 => {
                let copy = bytes[at..end].to_vec();
                let to = dice.roll(bytes.len() + 1);
                drop(bytes.splice(to..to, copy));
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = u8::try_from(dice.roll(256)).expect("a byte");
                }
            }
        }
    }
    bytes
}
