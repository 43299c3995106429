//! Bytes to the answers of a PostgreSQL server: nothing panics and nothing waits for more than there is.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| inbox_store::fuzzing::answers(bytes));
