//! How a mirror writes things: ids, times, keys.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inbox_hedera::key::{Algorithm, hex};
use inbox_hedera::proto::{AccountId, FixedCustomFee, Key, Timestamp};
use prost::Message;
use serde_json::{Value, json};

const SECOND: i64 = 1_000_000_000;

/// The number of an id: `0.0.5`, or `5` alone.
pub(super) fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix("0.0.").unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| digits.parse().ok()).flatten()
}

pub(super) fn id(num: i64) -> String {
    format!("0.0.{num}")
}

pub(super) fn time(nanos: i64) -> String {
    format!(
        "{}.{:09}",
        nanos.div_euclid(SECOND),
        nanos.rem_euclid(SECOND)
    )
}

/// A time as it is asked for: seconds, with or without a fraction.
pub(super) fn nanos(text: &str) -> Option<i64> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if seconds.is_empty() || fraction.len() > 9 || !is_plain(seconds) || !is_plain(fraction) {
        return None;
    }
    let fraction: i64 = format!("{fraction:0<9}").parse().ok()?;
    let seconds: i64 = seconds.parse().ok()?;
    // Mirrors take ten digits of seconds, which is later than can be counted here.
    Some(seconds.saturating_mul(SECOND).saturating_add(fraction))
}

/// Nanoseconds as Hedera writes a time.
pub(super) fn timestamp(nanos: i64) -> Timestamp {
    Timestamp {
        seconds: nanos.div_euclid(SECOND),
        nanos: i32::try_from(nanos.rem_euclid(SECOND)).unwrap_or_default(),
    }
}

pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(super) fn key(key: Option<&Key>) -> Value {
    let Some(key) = key else { return Value::Null };
    match key.leaf() {
        Some(leaf) => {
            let kind = match leaf.algorithm() {
                Algorithm::Ed25519 => "ED25519",
                Algorithm::Ecdsa => "ECDSA_SECP256K1",
            };
            json!({ "_type": kind, "key": hex(leaf.bytes()) })
        }
        None => json!({ "_type": "ProtobufEncoded", "key": hex(&key.encode_to_vec()) }),
    }
}

pub(super) fn fee(fee: &FixedCustomFee) -> Value {
    let collector = fee
        .fee_collector_account_id
        .as_ref()
        .and_then(AccountId::num);
    json!({
        "amount": fee.fixed_fee.map_or(0, |fixed| fixed.amount),
        "collector_account_id": collector.map(id),
        "denominating_token_id": null,
    })
}

/// The letters of base32.
const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The bytes of base32 without padding, by which mirrors write an alias.
pub(super) fn base32(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 5 / 8);
    let (mut kept, mut bits) = (0_u32, 0);
    for letter in text.bytes() {
        let value = LETTERS.iter().position(|&one| one == letter)?;
        kept = (kept << 5 | u32::try_from(value).ok()?) & 0xffff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(kept >> bits & 0xff).ok()?);
        }
    }
    (!bytes.is_empty()).then_some(bytes)
}

/// Bytes as base32 without padding.
pub(super) fn to_base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 8 / 5 + 1);
    let (mut kept, mut bits) = (0_usize, 0);
    for byte in bytes {
        kept = (kept << 8 | usize::from(*byte)) & 0xffff;
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(LETTERS[kept >> bits & 31]));
        }
    }
    if bits > 0 {
        text.push(char::from(LETTERS[kept << (5 - bits) & 31]));
    }
    text
}

/// Text as it may stand in a URL's parameters.
pub(super) fn escaped(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@/".contains(&byte);
    text.bytes()
        .map(|byte| {
            if is_plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// Text of a URL with its escapes read.
pub(super) fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == b'%').then(|| after.get(..2)).flatten();
        let read = escaped
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|pair| inbox_hedera::key::unhex(pair).ok());
        match read.as_deref() {
            Some(&[byte]) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(if byte == b'+' { b' ' } else { byte });
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{base32, escaped, to_base32, unescaped};

    #[test]
    fn base32_is_read_as_it_is_written() {
        assert_eq!(to_base32(b"foobar"), "MZXW6YTBOI");
        assert_eq!(base32("MZXW6YTBOI").as_deref(), Some(&b"foobar"[..]));
        assert_eq!(base32("mzxw"), None);
        for length in 1..40_u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(37)).collect();
            assert_eq!(base32(&to_base32(&bytes)), Some(bytes));
        }
    }

    #[test]
    fn what_is_escaped_is_read_again() {
        let text = "gt:1.5 & größer=%";
        assert_eq!(unescaped(&escaped(text)), text);
    }
}
