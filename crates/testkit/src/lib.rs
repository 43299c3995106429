//! Contract suites and harnesses: what holds every store and the real binary to the promises.

pub mod cluster;
pub mod sandbox;
