//! The operations: what `inbox` can do, one file each, and the only API.
//!
//! A request holds values, never paths; its doc comments are the help, the tool description and the
//! schema. The command line, MCP and HTTP are visitors over [`each_operation`] and have no rules of
//! their own.

mod ack;
mod agent;
mod answer;
mod archive;
mod assign;
mod call;
mod cancel;
mod card;
mod channel;
mod claim;
pub mod config;
pub mod console;
mod content;
#[cfg(test)]
#[expect(unreachable_pub, reason = "it is the test kit's, and public there")]
#[path = "../../testkit/src/damage.rs"]
mod damage;
mod dead_letters;
mod deliver;
mod desk;
mod done;
pub mod exchange;
mod export;
mod fail;
mod fetch;
mod flow;
mod glance;
mod guard;
mod helper;
mod import;
mod intake;
pub mod ledger;
mod list;
mod lock;
mod memory;
mod note;
mod notify;
mod page;
mod prompt;
#[cfg(test)]
mod properties;
mod read;
mod receipts;
mod release;
mod renew;
mod reply;
mod route;
mod search;
mod send;
mod session;
mod show;
mod step;
mod token;
mod typed;
mod update;
mod wait_reply;
mod wake;
mod watch;

pub use ack::{Ack, Acked, AckedMessage};
pub use agent::{
    AgentAdd, AgentList, AgentRemove, AgentSet, AgentShow, Agents, Holding, OneAgent, Received,
    Work,
};
pub use answer::{Answer, Delivery, Leased, Posted, Released, Threads};
pub use archive::{Archive, Archived};
pub use assign::Assign;
pub use call::{Caller, Effect, Identity, Inbox, Operation, Waiting};
pub use cancel::Cancel;
pub use card::{CardSet, CardShow, CardValidate, ShownCard};
pub use channel::{Channel, ChannelList, ChannelShow, Channels, Posts};
pub use claim::Claim;
pub use config::Config;
pub use content::ArtifactRef;
pub use dead_letters::{DeadLetter, DeadLetters, DeadMail, Readdress};
pub use desk::{Ask, AskSort, Desk, Waits};
pub use done::Done;
pub use export::{Export, Exported, Format};
pub use fail::Fail;
pub use fetch::Fetch;
pub use flow::{Bar, BarStep, Flow, Flowed, Group, Part, Spread, Talk, Totals};
pub use glance::{Glance, Glanced, Header, Held, pointer, quotation};
pub use helper::without_secrets;
pub use import::{Import, Imported};
pub use list::List;
pub use lock::locked_name;
pub use memory::{Memories, Memory, MemoryAdd, MemoryForget, MemoryList, MemorySearch, OneMemory};
pub use note::Note;
pub use notify::{About, Notice, NoticeSort};
pub use page::{Block, Cell, Page};
pub use prompt::{Prompt, Prompted};
pub use read::{Mail, Read};
pub use receipts::{Ladder, Receipts, Rung};
pub use release::Release;
pub use renew::Renew;
pub use reply::Reply;
pub use search::{Indexed, Search, SearchHit, Searched, ThreadBrief, When};
pub use send::Send;
pub use session::{
    OneSession, SessionBeat, SessionEnd, SessionFreeze, SessionList, SessionResume, SessionSet,
    SessionStart, Sessions,
};
pub use show::{Show, Shown};
pub use token::{OneToken, TokenCreate, TokenList, TokenRevoke, Tokens};
pub use typed::{check_output, decode_json, decode_request, refusal as typed_refusal};
pub use update::{Update, UpdateStatus};
pub use wait_reply::{WaitReply, Waited};
pub use wake::Woken;
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
    visitor.visit::<Assign>();
    visitor.visit::<Release>();
    visitor.visit::<List>();
    visitor.visit::<Show>();
    visitor.visit::<Search>();
    visitor.visit_waiting::<Watch>();
    visitor.visit_waiting::<WaitReply>();
    visitor.visit::<Export>();
    visitor.visit::<Import>();
    visitor.visit::<Archive>();
    visitor.visit::<Read>();
    visitor.visit::<Glance>();
    visitor.visit::<Desk>();
    visitor.visit::<Ack>();
    visitor.visit::<Receipts>();
    visitor.visit::<DeadLetters>();
    visitor.visit::<Readdress>();
    visitor.visit::<Note>();
    visitor.visit::<Flow>();
    visitor.visit::<ChannelList>();
    visitor.visit::<ChannelShow>();
    visitor.visit::<AgentAdd>();
    visitor.visit::<AgentSet>();
    visitor.visit::<AgentList>();
    visitor.visit::<AgentShow>();
    visitor.visit::<AgentRemove>();
    visitor.visit::<CardValidate>();
    visitor.visit::<CardShow>();
    visitor.visit::<CardSet>();
    visitor.visit::<Prompt>();
    visitor.visit::<MemoryAdd>();
    visitor.visit::<MemorySearch>();
    visitor.visit::<MemoryList>();
    visitor.visit::<MemoryForget>();
    visitor.visit::<SessionStart>();
    visitor.visit::<SessionBeat>();
    visitor.visit::<SessionSet>();
    visitor.visit::<SessionFreeze>();
    visitor.visit::<SessionResume>();
    visitor.visit::<SessionEnd>();
    visitor.visit::<SessionList>();
    visitor.visit::<TokenCreate>();
    visitor.visit::<TokenList>();
    visitor.visit::<TokenRevoke>();
}
