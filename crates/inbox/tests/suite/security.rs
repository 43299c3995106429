//! What attackers try, row by row of the threat model: what other suites do not have, and the table that names all of it.

mod answers;
mod bodies;
pub(crate) mod canary;
mod files;
mod modes;
mod paths;
mod print;
mod sql;
mod threats;

use inbox_torture::Dice;

/// Damages bytes in a few places: cut out, put in, doubled or changed.
fn damage(bytes: &[u8], pieces: &[&str], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.place(3) {
        let at = dice.place(bytes.len() + 1);
        let end = (at + dice.place(12)).min(bytes.len());
        match dice.place(4) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, pieces[dice.place(pieces.len())].bytes())),
            2 => {
                let copy = bytes[at..end].to_vec();
                let to = dice.place(bytes.len() + 1);
                drop(bytes.splice(to..to, copy));
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = u8::try_from(dice.place(256)).expect("a byte");
                }
            }
        }
    }
    bytes
}
