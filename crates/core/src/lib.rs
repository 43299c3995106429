//! The domain of `inbox`: its words, ids, names and addresses, the lifecycle of a thread, and the
//! one table of error codes.
//!
//! Pure: no I/O, no async, no clock. Every decision takes `now`; who asks and what is stored come
//! in as [`lifecycle::Facts`].

pub mod address;
pub mod entity;
pub mod error;
pub mod id;
pub mod lifecycle;
pub mod limit;
pub mod name;
pub mod record;
pub mod roster;
pub mod sabotage;
pub mod text;
pub mod word;

pub use address::{Address, Mode};
pub use entity::Entity;
pub use error::{Code, Refusal};
pub use id::{ArtifactId, EventId, LeaseToken, MemoryId, MessageId, ThreadId};
pub use name::{AgentName, Label, SessionId};
pub use record::{Artifact, Event, Lease, Message, Thread};
pub use roster::{Agent, Session, Token};
pub use word::{
    AgentKind, Auth, Door, EventType, Kind, Priority, RefType, Scope, SessionState, Status, Step,
};

#[cfg(test)]
#[expect(unreachable_pub, reason = "it is the test kit's, and public there")]
#[path = "../../testkit/src/damage.rs"]
mod damage;
#[cfg(test)]
mod properties;
