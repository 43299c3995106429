//! HCS-10 and what it stands on (HCS-1 files, HCS-2 registries, HCS-11 profiles), without a network.
//!
//! Pure: no I/O, no clock. Types hold only what the standards allow, and write it in their keys and order. What
//! others wrote is read by [`read`], [`TopicMemo::read`], [`Profile::read`] and the like, which forgive the faults
//! that are known of other programs and name each as a [`Deviation`]; what could be understood in two ways, or
//! would cost more than it may, is [`Refused`].
//!
//! ```
//! use inbox_hcs::{Operation, Place, TransactionMemo, read};
//!
//! let bytes = br#"{"p":"hcs-10","op":"message","operator_id":"0.0.5@0.0.4","data":{"a":1}}"#;
//! let (operation, deviations) = read(bytes, Place::Connection)?;
//! assert!(matches!(&operation, Operation::Message(message) if message.data.as_str() == r#"{"a":1}"#));
//! assert_eq!(deviations[0].kind.name(), "data_is_not_text");
//! assert_eq!(TransactionMemo::of(&operation).to_string(), "hcs-10:op:6:3");
//! # Ok::<(), inbox_hcs::Refused>(())
//! ```

mod account_memo;
mod assemble;
mod audit;
mod authority;
mod connections;
mod directory;
mod envelope;
mod fields;
mod file;
mod form;
mod hrl;
mod id;
mod memo;
mod note;
mod operation;
mod profile;
mod proof;
mod registry;
mod registry_profile;
mod report;
mod running_hash;
mod tx_memo;

#[cfg(test)]
#[expect(unreachable_pub, reason = "it is the test kit's, and public there")]
#[path = "../../testkit/src/damage.rs"]
mod damage;
#[cfg(test)]
mod properties;

pub use account_memo::{AccountMemo, Elsewhere, ProfileReference};
pub use assemble::{Assembler, Loose, Piece, Whole};
pub use audit::{Audit, Broken};
pub use authority::{Standing, Writer, standing, writer};
pub use connections::{
    Closure, Connection, ConnectionKey, ConnectionState, Connections, Heard, Participant, Role,
};
pub use directory::{Directory, Listing};
pub use envelope::Envelope;
pub use file::{
    Algorithm, Collector, File, FileMemo, Hash, Keys, Limits, Mime, Written, write_file,
};
pub use hrl::{Content, Hrl, resolve};
pub use id::{AccountId, OperatorId, ScheduleId, Sequence, Timestamp, TopicId};
pub use memo::{Indexed, MAX_MEMO, TopicMemo, TopicType, Ttl};
pub use note::{Note, NoteType};
pub use operation::{
    CloseConnection, CloseMethod, ClosedRecord, ConnectionCreated, ConnectionRequest,
    CreatedRecord, Data, Delete, InboundMessage, MAX_ASSEMBLED, MAX_MESSAGE, Message, Migrate,
    Operation, OutboundMessage, Register, RequestRecord, Transaction, read,
};
pub use profile::{
    AgentType, AiAgent, Capability, CustomTopic, Flora, FloraTopics, McpServer, McpService,
    McpTool, Member, PrivacyCompliance, Profile, ProfileKind, ProfileType, Resource, Social,
    Transport, Verification, VerificationType,
};
pub use proof::{Anchor, FileProof, Link, Proof, Proven, Said as ProvenMessage, Unproven};
pub use registry::{
    Access, Entry, MAX_MIGRATIONS, MigrationChain, Registry, RegistryOperation,
    RegistryTransactionMemo, Verdict, read_registry,
};
pub use registry_profile::{Links, RegistryOperator, RegistryProfile};
pub use report::{Deviation, DeviationKind, Found, Refused};
pub use running_hash::{Hashed, RunningHash, Submission};
pub use tx_memo::{OperationCode, Place, TransactionMemo};
