//! HCS-1: a file on a topic, as a memo with its hash and messages with its pieces.
//!
//! Written: compressed, in base64, behind a `data:` prefix, cut so that each whole message fits. Read: pieces in any
//! order, put together, decoded under caps that hold while it is read, and compared with the hash in the memo.

mod codec;
mod collect;
mod write;

pub use collect::Collector;
pub use write::{Written, write_file};

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::report::Refused;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// Zstandard. What we write is larger in it: our compressor knows its fastest level alone.
    Zstd,
    /// Brotli, which suits text and JSON.
    #[default]
    Brotli,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 2] = [Algorithm::Zstd, Algorithm::Brotli];

    /// Its word in memos.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Zstd => "zstd",
            Algorithm::Brotli => "brotli",
        }
    }
}

/// SHA-256 of a file's content, before it is compressed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash of this content.
    pub fn of(content: &[u8]) -> Self {
        Hash(Sha256::digest(content).into())
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl FromStr for Hash {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let parse = || {
            let mut bytes = [0; 32];
            let (pairs, rest) = text.as_bytes().as_chunks::<2>();
            if pairs.len() != bytes.len() || !rest.is_empty() {
                return None;
            }
            for (byte, &[high, low]) in bytes.iter_mut().zip(pairs) {
                *byte = digit(high)? << 4 | digit(low)?;
            }
            Some(Hash(bytes))
        };
        parse().ok_or_else(|| Refused::text(text, "a SHA-256 in 64 lower-case hexadecimal digits"))
    }
}

/// Bytes in lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The memo of a file's topic: `{sha256}:{algorithm}:base64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileMemo {
    /// The hash of the content.
    pub hash: Hash,
    /// How it is compressed.
    pub algorithm: Algorithm,
}

impl fmt::Display for FileMemo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:base64", self.hash, self.algorithm.name())
    }
}

impl FromStr for FileMemo {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let parse = || {
            let (hash, rest) = text.split_once(':')?;
            let name = rest.strip_suffix(":base64")?;
            Some(FileMemo {
                hash: hash.parse().ok()?,
                algorithm: Algorithm::ALL.into_iter().find(|a| a.name() == name)?,
            })
        };
        parse().ok_or_else(|| Refused::text(text, "the memo of a file, {sha256}:brotli:base64"))
    }
}

/// The type of a file's content, such as `application/json`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mime(String);

impl Mime {
    /// The longest.
    const MOST: usize = 127;

    /// Bytes of which nothing is known.
    pub fn bytes() -> Self {
        Mime("application/octet-stream".to_owned())
    }

    /// JSON.
    pub fn json() -> Self {
        Mime("application/json".to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Mime {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let is_token = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
        };
        let is_pair = |part: &str, middle: char| {
            part.split_once(middle)
                .is_some_and(|(left, right)| is_token(left) && is_token(right))
        };
        let mut parts = text.split(';');
        let is_mime = text.len() <= Mime::MOST
            && parts.next().is_some_and(|part| is_pair(part, '/'))
            && parts.all(|part| is_pair(part, '='));
        if is_mime {
            Ok(Mime(text.to_owned()))
        } else {
            Err(Refused::text(text, "a media type such as application/json"))
        }
    }
}

/// What a file may cost its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest content, in bytes.
    pub content: usize,
    /// How many times its compressed size a content of more than a mebibyte may be.
    pub ratio: usize,
    /// The most chunks.
    pub chunks: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            content: 1 << 20,
            ratio: 200,
            chunks: 2_048,
        }
    }
}

impl Limits {
    /// A content that needs no ratio.
    const SMALL: usize = 1 << 20;

    /// The largest content of so many compressed bytes.
    fn allowed(&self, compressed: usize) -> usize {
        let by_ratio = compressed.saturating_mul(self.ratio);
        self.content.min(by_ratio.max(Limits::SMALL))
    }

    /// The most text in all chunks: what does not compress grows by a third in base64, and a little more.
    const fn encoded(&self) -> usize {
        self.content
            .saturating_mul(3)
            .saturating_div(2)
            .saturating_add(4_096)
    }
}

/// Which keys a file's topic has. A file that could be added to or deleted is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys {
    /// Whether only the holder of a key may write.
    pub has_submit_key: bool,
    /// Whether somebody may change or delete the topic.
    pub has_admin_key: bool,
}

impl Keys {
    /// What a valid file's topic has.
    pub const VALID: Keys = Keys {
        has_submit_key: true,
        has_admin_key: false,
    };

    fn check(self) -> Result<(), Refused> {
        if self.has_admin_key {
            Err(Refused::Keys("has an admin key, so that it could change"))
        } else if self.has_submit_key {
            Ok(())
        } else {
            Err(Refused::Keys(
                "has no submit key, so that anybody could write",
            ))
        }
    }
}

/// A file that was read, and is what its topic's memo says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its type, as its writer says.
    pub mime: Mime,
    /// Its content.
    pub content: Vec<u8>,
}
