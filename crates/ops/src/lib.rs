//! The operations: what `inbox` can do, one file each, and the only API.
//!
//! A request holds values, never paths; its doc comments are the help, the tool description and the
//! schema. The command line, MCP and HTTP are visitors over [`each_operation`] and have no rules of
//! their own.

mod answer;
mod call;
mod cancel;
mod claim;
mod content;
mod done;
mod export;
mod fail;
mod fetch;
mod list;
mod page;
mod release;
mod renew;
mod reply;
mod send;
mod show;
mod update;
mod wait_reply;
mod watch;

pub use answer::{Answer, Delivery, Leased, Posted, Released, Threads};
pub use call::{Caller, Effect, Identity, Inbox, Operation, Waiting};
pub use cancel::Cancel;
pub use claim::Claim;
pub use content::ArtifactRef;
pub use done::Done;
pub use export::{Export, Exported, Format};
pub use fail::Fail;
pub use fetch::Fetch;
pub use list::List;
pub use page::{Block, Cell, Page};
pub use release::Release;
pub use renew::Renew;
pub use reply::Reply;
pub use send::Send;
pub use show::{Show, Shown};
pub use update::{Update, UpdateStatus};
pub use wait_reply::{WaitReply, Waited};
pub use watch::{Watch, Watched};

/// Something that is done with every operation.
pub trait Visitor {
    /// Visits an operation that answers at once.
    fn visit<O: Operation>(&mut self);
    /// Visits an operation that waits.
    fn visit_waiting<O: Waiting>(&mut self);
}

/// Visits every operation, in the order of the documentation.
pub fn each_operation(visitor: &mut impl Visitor) {
    visitor.visit::<Send>();
    visitor.visit::<Fetch>();
    visitor.visit::<Claim>();
    visitor.visit::<Renew>();
    visitor.visit::<Update>();
    visitor.visit::<Reply>();
    visitor.visit::<Done>();
    visitor.visit::<Fail>();
    visitor.visit::<Cancel>();
    visitor.visit::<Release>();
    visitor.visit::<List>();
    visitor.visit::<Show>();
    visitor.visit_waiting::<Watch>();
    visitor.visit_waiting::<WaitReply>();
    visitor.visit::<Export>();
}
