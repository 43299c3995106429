//! Short public ids: a prefix and the store's integer key in Crockford's base32.

use std::fmt;
use std::str::FromStr;

use crate::error::{Code, Refusal};
use crate::text::quoted;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Writes `value` in Crockford's base32, in lower case and without leading zeros.
pub fn encode(mut value: u64) -> String {
    let mut digits = [0_u8; 13];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = ALPHABET[(value & 31) as usize];
        value >>= 5;
        if value == 0 {
            break;
        }
    }
    digits[start..]
        .iter()
        .map(|&digit| char::from(digit))
        .collect()
}

/// Reads Crockford's base32 in either case, with its look-alikes; `None` when it is not base32 or too large.
pub fn decode(text: &str) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut value: u64 = 0;
    for byte in text.bytes() {
        let digit = match byte.to_ascii_lowercase() {
            b'o' => 0,
            b'i' | b'l' => 1,
            lower => ALPHABET.iter().position(|&letter| letter == lower)? as u64,
        };
        value = value.checked_mul(32)?.checked_add(digit)?;
    }
    Some(value)
}

fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix)
        .then(|| &text[prefix.len()..])
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $noun:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(i64);

        impl $name {
            /// The id of the row with this key.
            pub const fn new(key: i64) -> Self { Self(key) }
            /// The store's key.
            pub const fn key(self) -> i64 { self.0 }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), encode(self.0.cast_unsigned()))
            }
        }

        impl FromStr for $name {
            type Err = Refusal;
            fn from_str(text: &str) -> Result<Self, Refusal> {
                strip_prefix(text, $prefix)
                    .and_then(decode)
                    .and_then(|key| i64::try_from(key).ok())
                    .map(Self)
                    .ok_or_else(|| {
                        Refusal::new(
                            Code::InvalidInput,
                            format!(concat!("{} is not a ", $noun, " id"), quoted(text)),
                        )
                        .hint(concat!("a ", $noun, " id looks like ", $prefix, "7k"))
                    })
            }
        }

        text_serde!($name, concat!("An id such as ", $prefix, "7k."));
    };
}

macro_rules! text_serde {
    ($name:ident, $description:expr) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(|refusal: $crate::error::Refusal| serde::de::Error::custom(refusal.carried()))
            }
        }
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "description": $description })
            }
        }
    };
}
pub(crate) use text_serde;

id_type!(
    /// The id of a thread.
    ThreadId, "thr_", "thread"
);
id_type!(
    /// The id of a message.
    MessageId, "msg_", "message"
);
id_type!(
    /// The id of something that an agent remembers.
    MemoryId, "mem_", "memory"
);
id_type!(
    /// The id of an artifact.
    ArtifactId, "art_", "artifact"
);

/// The number of an event in the store's one ordered log; also a cursor, which is exclusive.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct EventId(pub i64);

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The proof of one claim: which thread, which epoch, and a secret.
///
/// `Debug` hides the secret, so that a token cannot leak through a log line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LeaseToken {
    /// The thread that was claimed.
    pub thread: ThreadId,
    /// The claim's epoch.
    pub epoch: i64,
    /// 63 random bits.
    pub secret: i64,
}

impl fmt::Display for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "lse_{}_{}_{}",
            encode(self.thread.key().cast_unsigned()),
            encode(self.epoch.cast_unsigned()),
            encode(self.secret.cast_unsigned())
        )
    }
}

impl fmt::Debug for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeaseToken({}, epoch {}, …)", self.thread, self.epoch)
    }
}

impl FromStr for LeaseToken {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let parse = || {
            let rest = strip_prefix(text, "lse_")?;
            let mut parts = rest
                .split('_')
                .map(|part| decode(part).and_then(|n| i64::try_from(n).ok()));
            let token = LeaseToken {
                thread: ThreadId::new(parts.next()??),
                epoch: parts.next()??,
                secret: parts.next()??,
            };
            parts.next().is_none().then_some(token)
        };
        // The text is not repeated: it may be a secret with a typing error.
        parse().ok_or_else(|| {
            Refusal::new(Code::InvalidInput, "this is not a lease token")
                .hint("pass the lease_token that `inbox claim` printed; it begins with lse_")
        })
    }
}

text_serde!(LeaseToken, "The lease_token that claim gave.");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_reads_back_in_either_case(key in 0..i64::MAX) {
            let id = ThreadId::new(key);
            prop_assert_eq!(id.to_string().parse::<ThreadId>().ok(), Some(id));
            prop_assert_eq!(id.to_string().to_uppercase().parse::<ThreadId>().ok(), Some(id));
        }

        #[test]
        fn any_text_is_an_id_or_a_refusal_and_never_a_panic(text in ".*") {
            let _ = text.parse::<MessageId>();
            let _ = text.parse::<LeaseToken>();
        }

        #[test]
        fn a_token_reads_back(thread in 0..i64::MAX, epoch in 0..i64::MAX, secret in 0..i64::MAX) {
            let token = LeaseToken { thread: ThreadId::new(thread), epoch, secret };
            prop_assert_eq!(token.to_string().parse::<LeaseToken>().ok(), Some(token));
        }
    }

    #[test]
    fn an_id_of_the_wrong_sort_is_refused_with_the_sort_that_belongs() {
        let refusal = "msg_7k".parse::<ThreadId>().unwrap_err();
        assert_eq!(refusal.code, Code::InvalidInput);
        assert!(
            refusal.message.contains("not a thread id"),
            "{}",
            refusal.message
        );
    }

    #[test]
    fn crockfords_look_alikes_are_read_and_the_rest_is_not() {
        assert_eq!(decode("1O"), decode("10"));
        assert_eq!(decode("il"), decode("11"));
        assert_eq!(decode("u"), None);
        assert_eq!(decode("zzzzzzzzzzzzzz"), None);
    }

    #[test]
    fn the_debug_form_of_a_token_hides_its_secret() {
        let token = LeaseToken {
            thread: ThreadId::new(7),
            epoch: 1,
            secret: 123_456_789,
        };
        let said = format!("{token:?}");
        assert!(!said.contains(&encode(123_456_789)), "{said}");
        assert!(said.contains("thr_7"), "{said}");
    }

    #[test]
    fn a_cursor_is_written_as_its_number() {
        assert_eq!(EventId(417).to_string(), "417");
    }
}
