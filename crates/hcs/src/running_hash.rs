//! The running hash of a topic, version 3: what makes a topic's history checkable by anyone.
//!
//! The network frames the fields as Java's object streams do (a byte array, a block of numbers, a byte array), and
//! takes SHA-384 of the 211 bytes. All numbers are big-endian.

use std::fmt;

use sha2::{Digest, Sha384};

use crate::file::hex;
use crate::id::{AccountId, Sequence, Timestamp, TopicId};
use crate::report::Refused;

/// The version that is hashed in.
const VERSION: u64 = 3;
/// A stream, then a new array of bytes with its class description.
const BEFORE_PREVIOUS: &[u8] = b"\xac\xed\x00\x05\x75\x72\x00\x02[B\xac\xf3\x17\xf8\x06\x08T\xe0\x02\x00\x00\x78\x70\x00\x00\x00\x30";
/// A block of 76 bytes.
const BEFORE_NUMBERS: &[u8] = b"\x77\x4c";
/// Another array, whose class was described before.
const BEFORE_MESSAGE: &[u8] = b"\x75\x71\x00\x7e\x00\x00\x00\x00\x00\x30";

/// The hash of a topic's history so far.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RunningHash([u8; 48]);

/// One message as the network hashes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission<'m> {
    /// Who paid.
    pub payer: AccountId,
    /// Where.
    pub topic: TopicId,
    /// When.
    pub time: Timestamp,
    /// Its number on the topic.
    pub sequence: Sequence,
    /// The bytes of this message alone: each piece of a larger one is hashed by itself.
    pub message: &'m [u8],
}

/// The same where only the hash of its bytes is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashed {
    /// Who paid.
    pub payer: AccountId,
    /// Where.
    pub topic: TopicId,
    /// When.
    pub time: Timestamp,
    /// Its number on the topic.
    pub sequence: Sequence,
    /// The SHA-384 of its bytes.
    pub message: [u8; 48],
}

impl From<&Submission<'_>> for Hashed {
    fn from(submission: &Submission<'_>) -> Self {
        Hashed {
            payer: submission.payer,
            topic: submission.topic,
            time: submission.time,
            sequence: submission.sequence,
            message: Sha384::digest(submission.message).into(),
        }
    }
}

impl RunningHash {
    /// The hash of a topic without messages.
    pub const EMPTY: RunningHash = RunningHash([0; 48]);

    /// A hash that a mirror node reported; `None` when it does not have 48 bytes.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(RunningHash)
    }

    /// A hash as it is written: 96 digits.
    pub fn read(text: &str) -> Option<Self> {
        let mut bytes = [0; 48];
        let is_hex = text.bytes().all(|digit| digit.is_ascii_hexdigit());
        if text.len() != 2 * bytes.len() || !is_hex {
            return None;
        }
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
        }
        Some(RunningHash(bytes))
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 48] {
        &self.0
    }

    /// The hash after one more message.
    pub fn next(&self, submission: &Submission<'_>) -> RunningHash {
        self.next_hashed(&Hashed::from(submission))
    }

    /// The same where only the hash of the message's bytes is known.
    pub fn next_hashed(&self, message: &Hashed) -> RunningHash {
        let Hashed {
            payer,
            topic,
            time,
            sequence,
            message,
        } = message;
        let mut hash = Sha384::new();
        hash.update(BEFORE_PREVIOUS);
        hash.update(self.0);
        hash.update(BEFORE_NUMBERS);
        let numbers = [
            VERSION,
            payer.shard(),
            payer.realm(),
            payer.number(),
            topic.shard(),
            topic.realm(),
            topic.number(),
            time.seconds(),
        ];
        for number in numbers {
            hash.update(number.to_be_bytes());
        }
        hash.update(time.nanos().to_be_bytes());
        hash.update(sequence.get().to_be_bytes());
        hash.update(BEFORE_MESSAGE);
        hash.update(message);
        RunningHash(hash.finalize().into())
    }
}

impl std::str::FromStr for RunningHash {
    type Err = Refused;
    /// Reads the 96 digits that it is written as.
    fn from_str(text: &str) -> Result<Self, Refused> {
        let bytes = read_digits(text).map(RunningHash);
        bytes.ok_or_else(|| Refused::text(text, "a hash, 96 digits of small hexadecimal"))
    }
}

/// Reads 48 bytes from their digits.
pub(crate) fn read_digits(text: &str) -> Option<[u8; 48]> {
    let is_good = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
    if text.len() != 96 || !text.bytes().all(is_good) {
        return None;
    }
    let mut bytes = [0; 48];
    for (byte, at) in bytes.iter_mut().zip((0..96).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

impl fmt::Display for RunningHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for RunningHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunningHash({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with Java's own object streams.
    const VECTORS: [(&str, &str); 3] = [
        (
            "hello",
            "f52fcedfe72cad68618e2c81046bb0e4fe34af549a7631b04b9b726b00c9f6d3808c45def1c5b03df442af1eacdb44ee",
        ),
        (
            "world",
            "72570d1460706ff37233d31435ae3adc37ecb3ef30e7a7b9b95d3dc8580f993965dbd5c081681b7b66c24871c61f0598",
        ),
        (
            r#"{"p":"hcs-10","op":"register","account_id":"0.0.1001"}"#,
            "870ed0e917f43b03b170c7ef2699092dadff4992cb1e553ea0ac3a666dcf30d44bbc2c91ca4a18cc0643ab2ca2ff8450",
        ),
    ];

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        for (_, text) in VECTORS {
            let hash = RunningHash::read(text).unwrap();
            assert_eq!(hash.to_string(), text);
            assert_eq!(RunningHash::read(&text[1..]), None);
            assert_eq!(RunningHash::read(&text.replace('f', "g")), None);
        }
        assert_eq!(RunningHash::read(&"é".repeat(48)), None);
        assert_eq!(RunningHash::read(&"+1".repeat(48)), None);
    }

    #[test]
    fn the_hashes_are_those_of_the_network() {
        let mut hash = RunningHash::EMPTY;
        for (index, (message, expected)) in (0_u64..).zip(VECTORS) {
            hash = hash.next(&Submission {
                payer: "0.0.1001".parse().unwrap(),
                topic: "0.0.1005".parse().unwrap(),
                time: Timestamp::new(1_700_000_000 + index, 123_456_789).unwrap(),
                sequence: Sequence::new(index + 1).unwrap(),
                message: message.as_bytes(),
            });
            assert_eq!(hash.to_string(), expected, "{message}");
        }
        assert_eq!(RunningHash::new(hash.as_bytes()), Some(hash));
        assert_eq!(RunningHash::new(&[0; 47]), None);
    }

    #[test]
    fn every_field_is_in_the_hash() {
        let plain = Submission {
            payer: "0.0.1001".parse().unwrap(),
            topic: "0.0.1005".parse().unwrap(),
            time: Timestamp::new(1, 2).unwrap(),
            sequence: Sequence::new(1).unwrap(),
            message: b"hello",
        };
        let others = [
            Submission {
                payer: "0.0.1002".parse().unwrap(),
                ..plain
            },
            Submission {
                payer: "0.1.1001".parse().unwrap(),
                ..plain
            },
            Submission {
                topic: "0.0.1006".parse().unwrap(),
                ..plain
            },
            Submission {
                topic: "1.0.1005".parse().unwrap(),
                ..plain
            },
            Submission {
                time: Timestamp::new(2, 2).unwrap(),
                ..plain
            },
            Submission {
                time: Timestamp::new(1, 3).unwrap(),
                ..plain
            },
            Submission {
                sequence: Sequence::new(2).unwrap(),
                ..plain
            },
            Submission {
                message: b"hellp",
                ..plain
            },
        ];
        let hash = RunningHash::EMPTY.next(&plain);
        for other in others {
            assert_ne!(RunningHash::EMPTY.next(&other), hash, "{other:?}");
        }
        assert_ne!(hash.next(&plain), hash);
    }
}
