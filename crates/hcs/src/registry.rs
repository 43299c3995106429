//! HCS-2: a registry of topics. Its operations and their transaction memos; the state is in `state`.

mod state;

pub use state::{Access, Entry, MAX_MIGRATIONS, MigrationChain, Registry, Verdict};

use std::fmt;

use serde_json::Value;

use crate::fields::{Object, Report, document, parsed, shown_value, uid, whole};
use crate::form::Form;
use crate::id::{Sequence, TopicId};
use crate::memo::{Indexed, Ttl};
use crate::operation::{Data, MAX_ASSEMBLED, MAX_MESSAGE, fields, name};
use crate::report::{Deviation, DeviationKind, Refused};

const PROTOCOL: &str = "hcs-2";
/// The longest remark, in characters.
const MAX_REMARK: usize = 500;

/// An operation on a registry of topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryOperation {
    /// A topic is listed.
    Register {
        /// The topic.
        topic: TopicId,
        /// What is known of it, usually a locator.
        metadata: Option<String>,
        /// How long to cache this entry, where it differs from the registry's.
        ttl: Option<Ttl>,
        /// A remark of at most 500 characters.
        memo: Option<String>,
    },
    /// An entry changes. Only where all messages count.
    Update {
        /// The message that registered it.
        uid: Sequence,
        /// The topic from now on.
        topic: TopicId,
        /// What is known of it from now on.
        metadata: Option<String>,
        /// How long to cache this entry, where it differs from the registry's.
        ttl: Option<Ttl>,
        /// A remark of at most 500 characters.
        memo: Option<String>,
    },
    /// An entry is taken out. Only where all messages count.
    Delete {
        /// The message that registered it.
        uid: Sequence,
        /// A remark of at most 500 characters.
        memo: Option<String>,
    },
    /// The registry moves, and nothing after this counts.
    Migrate {
        /// Where to.
        topic: TopicId,
        /// What is known of it.
        metadata: Option<String>,
        /// A remark of at most 500 characters.
        memo: Option<String>,
    },
}

/// Reads what somebody wrote on a registry of topics, with what was forgiven.
pub fn read_registry(bytes: &[u8]) -> Result<(RegistryOperation, Vec<Deviation>), Refused> {
    let value = document(bytes, "the message", MAX_ASSEMBLED)?;
    let name = name(&value, PROTOCOL)?;
    let mut report = Report::default();
    let read = match name {
        "register" => read_register,
        "update" => read_update,
        "delete" => read_delete,
        "migrate" => read_migrate,
        _ => return Err(Refused::UnknownOperation(crate::id::shown(name))),
    };
    let operation = fields(&value, &mut report).and_then(read);
    report.finish(operation)
}

fn read_register(mut object: Object<'_, '_>) -> Option<RegistryOperation> {
    let topic = object.required("t_id", parsed);
    let metadata = object.optional("metadata", metadata);
    let ttl = object.optional("ttl", ttl);
    let memo = remark(&mut object);
    object.close();
    Some(RegistryOperation::Register {
        topic: topic?,
        metadata: metadata?,
        ttl: ttl?.flatten(),
        memo,
    })
}

fn read_update(mut object: Object<'_, '_>) -> Option<RegistryOperation> {
    let uid = object.required("uid", uid);
    let topic = object.required("t_id", parsed);
    let metadata = object.optional("metadata", metadata);
    let ttl = object.optional("ttl", ttl);
    let memo = remark(&mut object);
    object.close();
    Some(RegistryOperation::Update {
        uid: uid?,
        topic: topic?,
        metadata: metadata?,
        ttl: ttl?.flatten(),
        memo,
    })
}

fn read_delete(mut object: Object<'_, '_>) -> Option<RegistryOperation> {
    let uid = object.required("uid", uid);
    let memo = remark(&mut object);
    object.close();
    Some(RegistryOperation::Delete { uid: uid?, memo })
}

fn read_migrate(mut object: Object<'_, '_>) -> Option<RegistryOperation> {
    let topic = object.required("t_id", parsed);
    let metadata = object.optional("metadata", metadata);
    let memo = remark(&mut object);
    object.close();
    Some(RegistryOperation::Migrate {
        topic: topic?,
        metadata: metadata?,
        memo,
    })
}

fn metadata(value: &Value, report: &mut Report) -> Option<String> {
    Data::read(value, report).map(|data| data.as_str().to_owned())
}

#[expect(
    clippy::option_option,
    reason = "the outer one is whether it could be read"
)]
fn ttl(value: &Value, report: &mut Report) -> Option<Option<Ttl>> {
    let seconds = whole(value, report)?;
    let found = u32::try_from(seconds).ok().and_then(Ttl::new);
    if found.is_none() {
        let expected = format!("at most {} seconds", Ttl::MAX.seconds());
        report.forgive(DeviationKind::IgnoredField, expected, shown_value(value));
    }
    Some(found)
}

fn remark(object: &mut Object<'_, '_>) -> Option<String> {
    let memo = object.remark("m")?;
    let length = memo.chars().count();
    if length > MAX_REMARK {
        let expected = format!("at most {MAX_REMARK} characters");
        object.report().at("m", |report| {
            report.forgive(
                DeviationKind::TooLong,
                expected,
                format!("{length} characters"),
            );
        });
    }
    Some(memo)
}

impl RegistryOperation {
    /// The message to submit.
    pub fn write(&self) -> Result<String, Refused> {
        let form = |operation| Form::operation(PROTOCOL, operation);
        let seconds = |ttl: &Option<Ttl>| ttl.map(Ttl::seconds);
        let (form, memo) = match self {
            RegistryOperation::Register {
                topic,
                metadata,
                ttl,
                memo,
            } => (
                form("register")
                    .text("t_id", topic)
                    .maybe("metadata", metadata.clone())
                    .maybe("ttl", seconds(ttl)),
                memo,
            ),
            RegistryOperation::Update {
                uid,
                topic,
                metadata,
                ttl,
                memo,
            } => (
                form("update")
                    .text("uid", uid)
                    .text("t_id", topic)
                    .maybe("metadata", metadata.clone())
                    .maybe("ttl", seconds(ttl)),
                memo,
            ),
            RegistryOperation::Delete { uid, memo } => (form("delete").text("uid", uid), memo),
            RegistryOperation::Migrate {
                topic,
                metadata,
                memo,
            } => (
                form("migrate")
                    .text("t_id", topic)
                    .maybe("metadata", metadata.clone()),
                memo,
            ),
        };
        let length = memo.as_ref().map_or(0, |memo| memo.chars().count());
        if length > MAX_REMARK {
            return Err(Refused::TooLarge {
                what: "the remark",
                bytes: length,
                most: MAX_REMARK,
            });
        }
        form.maybe("m", memo.clone())
            .fit("the message", MAX_MESSAGE)
    }

    const fn code(&self) -> u8 {
        match self {
            RegistryOperation::Register { .. } => 0,
            RegistryOperation::Update { .. } => 1,
            RegistryOperation::Delete { .. } => 2,
            RegistryOperation::Migrate { .. } => 3,
        }
    }
}

/// `hcs-2:op:{operation}:{indexed}`. The operations have other numbers than those of HCS-10.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegistryTransactionMemo {
    operation: u8,
    indexed: Indexed,
}

impl RegistryTransactionMemo {
    /// The memo with which an operation is submitted to such a registry.
    pub const fn of(operation: &RegistryOperation, indexed: Indexed) -> Self {
        RegistryTransactionMemo {
            operation: operation.code(),
            indexed,
        }
    }
}

impl fmt::Display for RegistryTransactionMemo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hcs-2:op:{}:{}", self.operation, self.indexed.code())
    }
}

impl std::str::FromStr for RegistryTransactionMemo {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let parse = || {
            let (operation, indexed) = text.strip_prefix("hcs-2:op:")?.split_once(':')?;
            Some(RegistryTransactionMemo {
                operation: (0..4_u8).find(|code| operation == code.to_string())?,
                indexed: Indexed::parse(indexed)?,
            })
        };
        parse().ok_or_else(|| Refused::text(text, "a transaction memo such as hcs-2:op:0:0"))
    }
}
