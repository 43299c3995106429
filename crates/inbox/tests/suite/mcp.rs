//! `inbox mcp` as clients use it: by hand, line by line, and with the official SDKs of both revisions.

pub(crate) mod client;
mod far;
mod faults;
mod guide;
mod hostile;
mod identity;
mod lines;
mod parity;
mod resources;
mod sdk;
mod tokens;
mod waits;
