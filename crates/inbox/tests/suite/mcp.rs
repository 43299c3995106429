//! `inbox mcp` as clients use it: by hand, line by line, and with the official SDKs of both revisions.

// Helpers of theirs are tests too, which clippy knows only by the attribute.
#[cfg(test)]
mod client;
#[cfg(test)]
mod far;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod guide;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod parity;
#[cfg(test)]
mod resources;
#[cfg(test)]
mod sdk;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod waits;
