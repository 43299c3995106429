//! What a fuzzer feeds: what a client prints, and what an agent says in a turn. See `fuzz/`.

use inbox_ops::config::Preset;

use crate::acp::Talk;
use crate::preset::shipped;
use crate::reader::Reader;
use crate::said::Said;

/// Reads bytes as the output of every known client, and as an agent's side of a turn. Gives the costs that were found.
pub fn output(bytes: &[u8]) -> Vec<f64> {
    let lines = || bytes.split_inclusive(|byte| *byte == b'\n');
    let mut costs = Vec::new();
    for preset in shipped().unwrap_or_default().values() {
        let mut reader = Reader::new(Some(preset));
        for line in lines() {
            reader.feed(line);
        }
        let found = reader.finish();
        costs.extend(found.used.and(found.so_far).cost);
    }
    let mut talk = Talk::new(&Preset::default(), "prompt", "/", Some("s1")).after("Done.");
    for line in lines() {
        talk.feed(line);
    }
    let found = talk.finish();
    costs.extend(found.used.and(found.so_far).cost);
    let _ = Said::of(&String::from_utf8_lossy(bytes)).summary();
    costs
}
