//! The real Claude Code and Codex, from npm, in a terminal and in a network of their own, where a stand-in answers for
//! their model: what a session is told at its start, and how it wakes. Without npm, Python and user namespaces
//! these tests fail: a door that no client has gone through is not tested.

mod claude;
mod codex;
mod stage;
