//! Placeholder.
pub mod cluster;
