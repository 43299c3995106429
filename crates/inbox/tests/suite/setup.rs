//! `setup` and `monitor`: what clients are given, that nothing of anybody else's is lost, and that the real
//! clients read it.

pub(crate) mod clients;
mod home;
mod monitor;
mod proof;
mod refused;
mod removed;
mod written;
