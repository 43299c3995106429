//! The memos of topics (HCS-10, HCS-2, HCS-1): what a topic is for.
//!
//! The number of a topic's type here is not the one in transaction memos: see [`Place`] for that.

use std::fmt;
use std::str::FromStr;

use crate::file::FileMemo;
use crate::id::{AccountId, Sequence, TopicId, number, shown};
use crate::report::{Deviation, DeviationKind, Refused};
use crate::tx_memo::Place;

/// The longest memo of the network, in bytes.
pub const MAX_MEMO: usize = 100;

/// How long readers may keep what they read, in seconds; at most a year, so that nobody's memo can freeze a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ttl(u32);

impl Ttl {
    /// The longest: a year.
    pub const MAX: Ttl = Ttl(31_536_000);
    /// What HCS-2 suggests: a day.
    pub const DAY: Ttl = Ttl(86_400);
    /// What the topics of agents with a store behind them have: an hour.
    pub const HOUR: Ttl = Ttl(3_600);
    /// What agents' topics have: a minute.
    pub const MINUTE: Ttl = Ttl(60);

    /// So many seconds; `None` for more than a year.
    pub const fn new(seconds: u32) -> Option<Self> {
        if seconds <= Ttl::MAX.0 {
            Some(Ttl(seconds))
        } else {
            None
        }
    }

    /// The seconds.
    pub const fn seconds(self) -> u32 {
        self.0
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        number(text)
            .and_then(|seconds| u32::try_from(seconds).ok())
            .and_then(Ttl::new)
    }
}

/// Which messages of a topic make its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Indexed {
    /// All of them: 0.
    All,
    /// The newest alone: 1.
    Newest,
}

impl Indexed {
    /// The number in memos.
    pub const fn code(self) -> u8 {
        match self {
            Indexed::All => 0,
            Indexed::Newest => 1,
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "0" => Some(Indexed::All),
            "1" => Some(Indexed::Newest),
            _ => None,
        }
    }
}

/// The type of an HCS-10 topic as topic memos number it. Transaction memos number them otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TopicType {
    /// Where an agent hears requests.
    Inbound,
    /// Where an agent records what it does.
    Outbound,
    /// Where the parties of a connection talk.
    Connection,
    /// Where agents are listed.
    Registry,
}

impl TopicType {
    /// Every type, in the order of its number.
    pub const ALL: [TopicType; 4] = [
        TopicType::Inbound,
        TopicType::Outbound,
        TopicType::Connection,
        TopicType::Registry,
    ];

    /// The number in topic memos.
    pub const fn code(self) -> u8 {
        match self {
            TopicType::Inbound => 0,
            TopicType::Outbound => 1,
            TopicType::Connection => 2,
            TopicType::Registry => 3,
        }
    }

    /// Which messages make the state of such a topic.
    const fn indexed(self) -> Indexed {
        match self {
            TopicType::Connection => Indexed::Newest,
            TopicType::Inbound | TopicType::Outbound | TopicType::Registry => Indexed::All,
        }
    }
}

impl From<TopicType> for Place {
    fn from(topic: TopicType) -> Place {
        match topic {
            TopicType::Inbound => Place::Inbound,
            TopicType::Outbound => Place::Outbound,
            TopicType::Connection => Place::Connection,
            TopicType::Registry => Place::Registry,
        }
    }
}

/// What a topic's memo says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TopicMemo {
    /// `hcs-10:0:{ttl}:0:{account}`: where an agent hears requests.
    Inbound {
        /// How long to cache.
        ttl: Ttl,
        /// Whose topic it is.
        account: AccountId,
    },
    /// `hcs-10:0:{ttl}:1`: where an agent records what it does.
    Outbound {
        /// How long to cache.
        ttl: Ttl,
    },
    /// `hcs-10:1:{ttl}:2:{inbound}:{connection}`: where the parties of a connection talk.
    Connection {
        /// How long to cache.
        ttl: Ttl,
        /// The inbound topic on which the connection was asked for.
        inbound_topic: TopicId,
        /// The number of the request on that topic.
        connection: Sequence,
    },
    /// `hcs-10:0:{ttl}:3[:{metadata}]`: where agents are listed. Newer than the standard's first text.
    AgentRegistry {
        /// How long to cache.
        ttl: Ttl,
        /// The file that describes the registry.
        metadata: Option<TopicId>,
    },
    /// `hcs-2:{indexed}:{ttl}`: a registry of topics.
    Registry {
        /// Which messages count.
        indexed: Indexed,
        /// How long to cache.
        ttl: Ttl,
    },
    /// `{sha256}:{algorithm}:base64`: a file.
    File(FileMemo),
}

impl fmt::Display for TopicMemo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TopicMemo::Inbound { ttl, account } => write!(f, "hcs-10:0:{}:0:{account}", ttl.0),
            TopicMemo::Outbound { ttl } => write!(f, "hcs-10:0:{}:1", ttl.0),
            TopicMemo::Connection {
                ttl,
                inbound_topic,
                connection,
            } => write!(f, "hcs-10:1:{}:2:{inbound_topic}:{connection}", ttl.0),
            TopicMemo::AgentRegistry { ttl, metadata } => {
                write!(f, "hcs-10:0:{}:3", ttl.0)?;
                metadata.map_or(Ok(()), |topic| write!(f, ":{topic}"))
            }
            TopicMemo::Registry { indexed, ttl } => write!(f, "hcs-2:{}:{}", indexed.code(), ttl.0),
            TopicMemo::File(memo) => memo.fmt(f),
        }
    }
}

const EXPECTED: &str = "the memo of a topic of HCS-10, HCS-2 or HCS-1";

impl TopicMemo {
    /// Reads what somebody wrote, with what was forgiven.
    pub fn read(text: &str) -> Result<(Self, Vec<Deviation>), Refused> {
        must_fit(text)?;
        let mut deviations = Vec::new();
        let memo = read_topic(text, &mut deviations);
        memo.map(|memo| (memo, deviations))
            .ok_or_else(|| Refused::text(text, EXPECTED))
    }

    /// The type of an HCS-10 topic.
    pub const fn topic_type(&self) -> Option<TopicType> {
        match self {
            TopicMemo::Inbound { .. } => Some(TopicType::Inbound),
            TopicMemo::Outbound { .. } => Some(TopicType::Outbound),
            TopicMemo::Connection { .. } => Some(TopicType::Connection),
            TopicMemo::AgentRegistry { .. } => Some(TopicType::Registry),
            TopicMemo::Registry { .. } | TopicMemo::File(_) => None,
        }
    }
}

impl FromStr for TopicMemo {
    type Err = Refused;
    /// Reads exactly what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, Refused> {
        let (memo, deviations) = TopicMemo::read(text)?;
        if deviations.is_empty() {
            Ok(memo)
        } else {
            Err(Refused::text(text, EXPECTED))
        }
    }
}

pub(crate) fn must_fit(text: &str) -> Result<(), Refused> {
    if text.len() > MAX_MEMO {
        return Err(Refused::TooLarge {
            what: "the memo",
            bytes: text.len(),
            most: MAX_MEMO,
        });
    }
    Ok(())
}

pub(crate) fn deviation(
    kind: DeviationKind,
    expected: impl Into<String>,
    found: &str,
) -> Deviation {
    Deviation {
        kind,
        pointer: String::new(),
        expected: expected.into(),
        found: shown(found),
    }
}

fn read_topic(text: &str, deviations: &mut Vec<Deviation>) -> Option<TopicMemo> {
    let trimmed = text.strip_suffix(':').unwrap_or(text);
    let (protocol, rest) = trimmed.split_once(':')?;
    let memo = match protocol {
        "hcs-10" => read_hcs10(rest, deviations)?,
        "hcs-2" => read_hcs2(rest, deviations)?,
        _ => TopicMemo::File(trimmed.parse().ok()?),
    };
    if trimmed.len() < text.len() {
        // The general form of the standard ends in a colon before what a type may add.
        deviations.push(deviation(
            DeviationKind::TrailingColon,
            "no colon at the end",
            text,
        ));
    }
    Some(memo)
}

fn read_hcs10(rest: &str, deviations: &mut Vec<Deviation>) -> Option<TopicMemo> {
    let mut parts = rest.split(':');
    let indexed = Indexed::parse(parts.next()?)?;
    let ttl = Ttl::parse(parts.next()?)?;
    let code = number(parts.next()?)?;
    let topic = TopicType::ALL
        .into_iter()
        .find(|topic| code == u64::from(topic.code()))?;
    let memo = match topic {
        TopicType::Inbound => TopicMemo::Inbound {
            ttl,
            account: parts.next()?.parse().ok()?,
        },
        TopicType::Outbound => TopicMemo::Outbound { ttl },
        TopicType::Connection => TopicMemo::Connection {
            ttl,
            inbound_topic: parts.next()?.parse().ok()?,
            connection: parts.next()?.parse().ok()?,
        },
        TopicType::Registry => TopicMemo::AgentRegistry {
            ttl,
            metadata: match parts.next() {
                Some(metadata) => Some(metadata.parse().ok()?),
                None => None,
            },
        },
    };
    if parts.next().is_some() {
        return None;
    }
    if indexed != topic.indexed() {
        deviations.push(deviation(
            DeviationKind::WrongIndexed,
            topic.indexed().code().to_string(),
            &indexed.code().to_string(),
        ));
    }
    Some(memo)
}

fn read_hcs2(rest: &str, deviations: &mut Vec<Deviation>) -> Option<TopicMemo> {
    let (indexed, ttl) = match rest.split_once(':') {
        Some((indexed, ttl)) => (indexed, Ttl::parse(ttl)?),
        None => {
            // The standard's own example of a memo is `hcs-2:0`.
            let expected = "hcs-2:{indexed}:{ttl}";
            deviations.push(deviation(DeviationKind::MissingTtl, expected, rest));
            (rest, Ttl::DAY)
        }
    };
    Some(TopicMemo::Registry {
        indexed: Indexed::parse(indexed)?,
        ttl,
    })
}
