//! Ids of a Hedera network: accounts, topics and schedules, the pair that names an agent, and consensus times.
//!
//! Digits are ASCII, without a sign or leading zeros, so that one id has one text; numbers end where the
//! network's do (63 bits).

use std::fmt;
use std::str::FromStr;

use inbox_core::text::quoted;

use crate::report::Refused;

/// Reads a whole number: ASCII digits alone, no leading zero, at most `i64::MAX` as on the network.
pub(crate) fn number(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty()
        && text.len() <= 19
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text.len() == 1 || !text.starts_with('0'));
    if !is_plain {
        return None;
    }
    text.parse()
        .ok()
        .filter(|&number| i64::try_from(number).is_ok())
}

/// Shard, realm and number.
fn entity(text: &str) -> Option<(u64, u64, u64)> {
    let mut parts = text.split('.').map(number);
    let found = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(found)
}

macro_rules! entity_id {
    ($(#[$doc:meta])* $name:ident $noun:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            shard: u64,
            realm: u64,
            number: u64,
        }

        impl $name {
            /// The id with these parts; `None` when the number is 0, which names nothing, or a part is above `i64::MAX`.
            pub fn new(shard: u64, realm: u64, number: u64) -> Option<Self> {
                let fits = |part: u64| i64::try_from(part).is_ok();
                (number > 0 && fits(shard) && fits(realm) && fits(number))
                    .then_some(Self { shard, realm, number })
            }

            /// The shard, nearly always 0.
            pub const fn shard(self) -> u64 { self.shard }
            /// The realm, nearly always 0.
            pub const fn realm(self) -> u64 { self.realm }
            /// The number in its realm.
            pub const fn number(self) -> u64 { self.number }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}.{}.{}", self.shard, self.realm, self.number)
            }
        }

        impl FromStr for $name {
            type Err = Refused;
            fn from_str(text: &str) -> Result<Self, Refused> {
                entity(text)
                    .and_then(|(shard, realm, number)| Self::new(shard, realm, number))
                    .ok_or_else(|| Refused::text(text, concat!($noun, " such as 0.0.1234")))
            }
        }
    };
}

entity_id!(
    /// An account.
    AccountId "an account id"
);
entity_id!(
    /// A topic.
    TopicId "a topic id"
);
entity_id!(
    /// A scheduled transaction.
    ScheduleId "a schedule id"
);

/// Who an agent says that it is: its inbound topic and its account, as `0.0.5@0.0.4`.
///
/// It is a claim. It counts when the account paid for the message that carries it: see [`standing`](crate::standing).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperatorId {
    /// Where the agent hears requests.
    pub inbound_topic: TopicId,
    /// The agent's account.
    pub account: AccountId,
}

impl fmt::Display for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.inbound_topic, self.account)
    }
}

impl FromStr for OperatorId {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let parse = || {
            let (topic, account) = text.split_once('@')?;
            Some(OperatorId {
                inbound_topic: topic.parse().ok()?,
                account: account.parse().ok()?,
            })
        };
        parse().ok_or_else(|| {
            Refused::text(
                text,
                "an operator id such as 0.0.5@0.0.4 (inbound topic, account)",
            )
        })
    }
}

/// The number of a message on its topic; the first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(u64);

impl Sequence {
    /// The first message of a topic.
    pub const FIRST: Sequence = Sequence(1);

    /// The message with this number; `None` for 0 and above `i64::MAX`.
    pub fn new(number: u64) -> Option<Self> {
        (number > 0 && i64::try_from(number).is_ok()).then_some(Sequence(number))
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Sequence {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        number(text)
            .and_then(Sequence::new)
            .ok_or_else(|| Refused::text(text, "a sequence number from 1"))
    }
}

/// A consensus time, as `1700000000.123456789`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    seconds: u64,
    nanos: u32,
}

impl Timestamp {
    /// The time with these parts; `None` when the nanoseconds are a second or more.
    pub fn new(seconds: u64, nanos: u32) -> Option<Self> {
        (i64::try_from(seconds).is_ok() && nanos < 1_000_000_000)
            .then_some(Timestamp { seconds, nanos })
    }

    /// Seconds since 1970.
    pub const fn seconds(self) -> u64 {
        self.seconds
    }

    /// Nanoseconds within the second.
    pub const fn nanos(self) -> u32 {
        self.nanos
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.seconds, self.nanos)
    }
}

impl FromStr for Timestamp {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let parse = || {
            let (seconds, nanos) = text.split_once('.')?;
            let is_plain = nanos.len() == 9 && nanos.bytes().all(|byte| byte.is_ascii_digit());
            let nanos = is_plain.then_some(nanos)?.parse().ok()?;
            Timestamp::new(number(seconds)?, nanos)
        };
        parse().ok_or_else(|| Refused::text(text, "a consensus time such as 1700000000.000000001"))
    }
}

/// A text as a message may repeat it.
pub(crate) fn shown(text: &str) -> String {
    quoted(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_has_one_text_and_ends_where_the_network_does() {
        let most = "0.0.9223372036854775807";
        assert_eq!(most.parse::<TopicId>().unwrap().to_string(), most);
        for wrong in [
            "",
            "0.0",
            "0.0.0",
            "0.0.5.6",
            "0.0.05",
            "00.0.5",
            "0.0.-5",
            "0.0.+5",
            "0.0.5 ",
            " 0.0.5",
            "0.0.٥",
            "0.0.５",
            "0.0.1e3",
            "0..5",
            "0.0.5-vfmkw",
            "0.0.9223372036854775808",
            "0.0.18446744073709551616",
            "0.9223372036854775808.5",
            "0.0.99999999999999999999999999",
        ] {
            assert!(wrong.parse::<TopicId>().is_err(), "{wrong:?}");
            assert!(wrong.parse::<AccountId>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn an_operator_id_is_a_topic_and_an_account() {
        let operator: OperatorId = "0.0.789101@0.0.123456".parse().unwrap();
        assert_eq!(operator.account.number(), 123_456);
        for wrong in [
            "0.0.5",
            "0.0.5@",
            "@0.0.5",
            "0.0.5@0.0.6@0.0.7",
            "0.0.5@0.0.0",
        ] {
            assert!(wrong.parse::<OperatorId>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_time_has_nine_digits_of_nanoseconds() {
        let time: Timestamp = "1700000000.000000001".parse().unwrap();
        assert_eq!((time.seconds(), time.nanos()), (1_700_000_000, 1));
        for wrong in [
            "1700000000",
            "1.1",
            "1.0000000001",
            "-1.000000000",
            "1.00000000+",
        ] {
            assert!(wrong.parse::<Timestamp>().is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(shard in 0..5_u64, realm in 0..5_u64, number in 1..=i64::MAX, nanos in 0..1_000_000_000_u32) {
            let number = number.cast_unsigned();
            let topic = TopicId::new(shard, realm, number).unwrap();
            prop_assert_eq!(topic.to_string().parse::<TopicId>().unwrap(), topic);
            let account = AccountId::new(shard, realm, number).unwrap();
            let operator = OperatorId { inbound_topic: topic, account };
            prop_assert_eq!(operator.to_string().parse::<OperatorId>().unwrap(), operator);
            let time = Timestamp::new(number, nanos).unwrap();
            prop_assert_eq!(time.to_string().parse::<Timestamp>().unwrap(), time);
        }

        #[test]
        fn any_text_is_an_id_or_a_refusal(text in ".*") {
            let _ = text.parse::<TopicId>();
            let _ = text.parse::<OperatorId>();
            let _ = text.parse::<Timestamp>();
        }
    }
}
