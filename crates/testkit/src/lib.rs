//! Contract suites and harnesses: what holds every store and the real binary to the promises.

pub mod certs;
pub mod cluster;
pub mod contract;
pub mod crowd;
pub mod damage;
pub mod desk;
pub mod guards;
pub mod mailmodel;
pub mod model;
pub mod old;
pub mod pooler;
pub mod sandbox;
pub mod world;

/// What [`damage`] is made of, for the properties of crates that have nothing else to do with it.
pub use proptest;
