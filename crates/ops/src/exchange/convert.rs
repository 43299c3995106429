//! What every decoder needs: stable uids, times in many forms, cells of rows, and the limits.

use std::collections::HashMap;

use inbox_core::limit;
use inbox_core::record::Millis;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::Incoming;

/// What some editors put before UTF-8.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The payload of a message that has none.
pub(super) fn empty() -> Value {
    Value::Object(Map::new())
}

/// A payload with everything under the source's key; empty when there is nothing.
pub(super) fn under(source: &str, kept: Map<String, Value>) -> Value {
    let mut payload = Map::new();
    if !kept.is_empty() {
        payload.insert(source.to_owned(), kept.into());
    }
    payload.into()
}

/// The UUID, of version 8, that follows from what identifies something in its source.
pub(crate) fn uid(source: &str, key: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in std::iter::once(&source).chain(key) {
        // With their lengths, so that no two lists of parts are the same bytes.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let mut bytes = [0_u8; 16];
    for (byte, found) in bytes.iter_mut().zip(digest.iter()) {
        *byte = *found;
    }
    let number = u128::from_be_bytes(bytes);
    let number = number & !(0xf << 76) | (8 << 76);
    let number = number & !(0b11 << 62) | (0b10 << 62);
    let hex = format!("{number:032x}");
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

/// The source's own id in lower case where it is a UUID, else one that follows from it.
pub(crate) fn own_uid(source: &str, id: &str) -> String {
    let is_uuid = id.len() == 36
        && id.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    if is_uuid {
        id.to_ascii_lowercase()
    } else {
        uid(source, &[id])
    }
}

/// A time as text: RFC 3339, or without an offset, which is taken as UTC.
pub(super) fn time(text: &str) -> Option<Millis> {
    let text = text.trim();
    if let Ok(time) = text.parse::<Millis>() {
        return Some(time);
    }
    let civil: DateTime = text.parse().ok()?;
    let zoned = civil.to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp().into())
}

/// A time as text or as a number since 1970, whose size says the unit.
pub(super) fn time_of(value: &Value) -> Option<Millis> {
    match value {
        Value::String(text) => time(text),
        Value::Number(number) => {
            let number = number
                .as_i64()
                .or_else(|| number.to_string().split('.').next()?.parse().ok())?;
            let millis = match number.unsigned_abs() {
                // Seconds reach this in the year 5138, milliseconds had it in 1973.
                0..100_000_000_000 => number.checked_mul(1000)?,
                100_000_000_000..100_000_000_000_000 => number,
                100_000_000_000_000..100_000_000_000_000_000 => number / 1000,
                _ => number / 1_000_000,
            };
            Some(Millis(millis))
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A cell as text.
pub(super) fn text<'a>(row: &'a Map<String, Value>, column: &str) -> Option<&'a str> {
    row.get(column)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// A cell as a whole number.
pub(super) fn int(row: &Map<String, Value>, column: &str) -> Option<i64> {
    row.get(column).and_then(Value::as_i64)
}

/// Threads by what they are called in the source: each is known by the uid of its first message, which
/// no other source has.
#[derive(Default)]
pub(super) struct Threads(HashMap<String, String>);

impl Threads {
    /// The key of the thread called `name`, which begins with the message `uid` if it is new.
    pub(super) fn key(&mut self, name: &str, uid: &str) -> String {
        self.0
            .entry(name.to_owned())
            .or_insert_with(|| uid.to_owned())
            .clone()
    }
}

/// What would keep a message out of any store.
pub(super) fn fault(message: &Incoming) -> Option<String> {
    if message.to.is_empty() {
        return Some("it is for nobody".to_owned());
    }
    if message.to.len() > limit::ADDRESSES {
        let (found, most) = (message.to.len(), limit::ADDRESSES);
        return Some(format!("it has {found} addresses; the most is {most}"));
    }
    let checks = [
        limit::bytes("the body", &message.body, limit::BODY),
        limit::text(
            "the subject",
            message.subject.as_deref().unwrap_or_default(),
            limit::SUBJECT,
        ),
    ];
    if let Some(refusal) = checks.into_iter().find_map(Result::err) {
        return Some(refusal.message);
    }
    // A message of ours has its context and its thread in there until they are taken out.
    let most = if message.payload.get(super::mailbox::OWN).is_some() {
        3 * limit::PAYLOAD
    } else {
        limit::PAYLOAD
    };
    let size = message.payload.to_string().len();
    (size > most).then(|| format!("its payload has {size} bytes; the most is {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inbox_core::AgentName;

    #[test]
    fn a_uid_follows_from_its_key_and_is_of_version_8() {
        let one = uid("hcom", &["1", "2"]);
        assert_eq!(one, uid("hcom", &["1", "2"]));
        assert_ne!(one, uid("hcom", &["12", ""]));
        assert_ne!(one, uid("mailbox", &["1", "2"]));
        assert_eq!((one.len(), &one[14..15]), (36, "8"));
        assert!("89ab".contains(&one[19..20]), "{one}");
        let own = "0190A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B";
        assert_eq!(own_uid("mailbox", own), own.to_lowercase());
        assert_eq!(&own_uid("mailbox", "42")[14..15], "8");
        assert!(one.parse::<AgentName>().is_ok());
    }

    #[test]
    fn a_time_is_taken_in_the_forms_that_programs_write() {
        let expected = Some(Millis(1_773_671_400_000));
        for text in [
            "2026-03-16T14:30:00Z",
            "2026-03-16T14:30:00.000+00:00",
            "2026-03-16T16:30:00+02:00",
            "2026-03-16T14:30:00",
            "2026-03-16 14:30:00.000000",
        ] {
            assert_eq!(time(text), expected, "{text}");
        }
        for number in [
            "1773671400",
            "1773671400.25",
            "1773671400000",
            "1773671400000000",
        ] {
            let value = serde_json::from_str(number).unwrap();
            assert_eq!(time_of(&value), expected, "{number}");
        }
        for text in ["", "yesterday", "2026-13-01T00:00:00Z", "14:30"] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
