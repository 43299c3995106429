//! Bytes to what clients print and what agents say: nothing panics, and what it cost is a number.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let costs = inbox_runner::fuzzing::output(bytes);
    assert!(costs.iter().all(|cost| cost.is_finite() && *cost >= 0.0));
});
