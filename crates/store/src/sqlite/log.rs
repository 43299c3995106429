//! Damage in the write-ahead log, which SQLite itself passes over in silence.
//!
//! SQLite reads the log up to the first frame that does not add up and takes the rest for what a crash
//! left behind. One unfinished transaction is that; commits that follow the bad frame are not: each
//! was on disk before the next began, so they were acknowledged, and are lost.

use std::io::{BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME: usize = 24;

/// What is wrong with the log at `path`, if something is. No log is a sound one.
pub(super) fn damage(path: &Path) -> Option<String> {
    let file = crate::private::open_any(path).ok()?;
    if file.metadata().ok()?.len() <= HEADER as u64 {
        return None;
    }
    // Frame by frame: a log may be larger than memory.
    let mut log = BufReader::with_capacity(1 << 16, file);
    let mut header = [0; HEADER];
    log.read_exact(&mut header).ok()?;
    let problem = || {
        format!(
            "the log {} is damaged: what was committed after the damage is lost",
            path.display()
        )
    };
    // The header is on disk before the first frame is written.
    let is_big = word(&header, 0) & 1 == 1;
    let mut sum = add(is_big, (0, 0), &header[..24]);
    let page = word(&header, 8) as usize;
    if word(&header, 0) & !1 != 0x377f_0682
        || sum != (word(&header, 24), word(&header, 28))
        || !page.is_power_of_two()
        || !(512..=65_536).contains(&page)
    {
        return Some(problem());
    }
    let mut is_sound = true;
    let mut commits = 0;
    let mut held = vec![0; FRAME + page];
    while log.read_exact(&mut held).is_ok() {
        let frame = held.as_slice();
        let is_of_this_log = frame[8..16] == header[16..24];
        let kept = (word(frame, 16), word(frame, 20));
        let follows =
            is_of_this_log && kept == add(is_big, add(is_big, sum, &frame[..8]), &frame[FRAME..]);
        sum = kept;
        if follows && !is_sound && word(frame, 4) != 0 {
            commits += 1;
        } else if !follows {
            is_sound = false;
            // What follows here must itself be one piece, or it may be leftovers of several crashes.
            commits = 0;
        }
        if commits > 1 {
            return Some(problem());
        }
    }
    None
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let word: Option<[u8; 4]> = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
    word.map_or(0, u32::from_be_bytes)
}

/// SQLite's running checksum over pairs of words.
fn add(is_big: bool, (mut s0, mut s1): (u32, u32), bytes: &[u8]) -> (u32, u32) {
    let read = |at: usize| {
        let word: u32 = word(bytes, at);
        if is_big { word } else { word.swap_bytes() }
    };
    for at in (0..bytes.len()).step_by(8) {
        s0 = s0.wrapping_add(read(at)).wrapping_add(s1);
        s1 = s1.wrapping_add(read(at + 4)).wrapping_add(s0);
    }
    (s0, s1)
}
