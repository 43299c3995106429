//! Sizes and ranges that input must keep to.

use crate::error::{Code, Refusal};

/// The largest body, in bytes.
pub const BODY: usize = 1 << 20;
/// The largest payload or context, in bytes of JSON.
pub const PAYLOAD: usize = 1 << 20;
/// The deepest nesting of a payload or context.
pub const DEPTH: usize = 120;
/// The longest subject, in characters.
pub const SUBJECT: usize = 1_000;
/// The longest summary, in characters.
pub const SUMMARY: usize = 10_000;
/// The longest note or persona, in bytes.
pub const NOTE: usize = 256 << 10;
/// Past so many words the sender is told that mail is not a document.
pub const WORDS: usize = 500;
/// The most roles and tags a session may have.
pub const MEMBERSHIPS: usize = 64;
/// The longest label (run, task, key, message type, path, entity id), in bytes.
pub const LABEL: usize = 512;
/// The most addresses one message may have.
pub const ADDRESSES: usize = 64;
/// The most artifacts one message may have.
pub const ARTIFACTS: usize = 64;
/// The most that is read of a file to describe it, in bytes: as much as takes a minute.
pub const ARTIFACT: u64 = 16 << 30;
/// The shortest lease, in seconds.
pub const LEASE_MIN: i64 = 1;
/// The longest lease: seven days, in seconds.
pub const LEASE_MAX: i64 = 604_800;
/// The lease that a claim takes unless it says otherwise, in seconds.
pub const LEASE_DEFAULT: i64 = 900;
/// How many threads `fetch` and `list` give unless told otherwise.
pub const PAGE_DEFAULT: i64 = 100;
/// The largest page.
pub const PAGE_MAX: i64 = 10_000;
/// The longest expiry of a message: ten years, in hours.
pub const TTL_MAX_HOURS: i64 = 87_600;

/// Checks an integer against a range, naming the flag and the value.
pub fn in_range(what: &str, value: i64, min: i64, max: i64) -> Result<i64, Refusal> {
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    Err(Refusal::new(
        Code::InvalidInput,
        format!("{what} is {value}, which is not between {min} and {max}"),
    ))
}

/// Checks the length of a text in characters, and that PostgreSQL can hold it too.
pub fn text(what: &str, value: &str, max_chars: usize) -> Result<(), Refusal> {
    no_nul(what, value)?;
    let chars = value.chars().count();
    if chars > max_chars {
        return Err(too_large(what, chars, max_chars, "characters"));
    }
    Ok(())
}

/// Checks the length of a text in bytes, and that PostgreSQL can hold it too.
pub fn bytes(what: &str, value: &str, max_bytes: usize) -> Result<(), Refusal> {
    no_nul(what, value)?;
    if value.len() > max_bytes {
        return Err(too_large(what, value.len(), max_bytes, "bytes"));
    }
    Ok(())
}

/// A text that is required: not blank, and within its length.
pub fn required(what: &str, value: &str, max_chars: usize) -> Result<(), Refusal> {
    if value.trim().is_empty() {
        return Err(Refusal::new(Code::InvalidInput, format!("{what} is empty")));
    }
    text(what, value, max_chars)
}

fn no_nul(what: &str, value: &str) -> Result<(), Refusal> {
    if value.contains('\0') {
        return Err(Refusal::new(
            Code::InvalidInput,
            format!("{what} contains a NUL character, which cannot be stored"),
        ));
    }
    Ok(())
}

fn too_large(what: &str, size: usize, max: usize, unit: &str) -> Refusal {
    Refusal::new(
        Code::TooLarge,
        format!("{what} has {size} {unit}; the most is {max}"),
    )
    .hint("attach the content as a file with --artifact PATH and say in the summary what it is")
    .detail("size", size)
    .detail("limit", max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_long_as_it_may_be_is_taken_and_one_more_is_not() {
        assert_eq!(text("it", "äöü", 3), Ok(()));
        assert_eq!(text("it", "ä", 3), Ok(()));
        assert_eq!(bytes("it", "äö", 4), Ok(()));
        assert_eq!(bytes("it", "ä", 4), Ok(()));
        assert_eq!(required("it", "äöü", 3), Ok(()));
        for (refused, size, max) in [
            (text("it", "äöüß", 3), 4, 3),
            (bytes("it", "äöü", 4), 6, 4),
            (required("it", "äöüß", 3), 4, 3),
        ] {
            let refusal = refused.expect_err("it is too long");
            assert_eq!(refusal.code, Code::TooLarge);
            assert_eq!(refusal.details["size"], size);
            assert_eq!(refusal.details["limit"], max);
            assert!(refusal.message.contains("it has"), "{refusal}");
        }
    }

    #[test]
    fn what_is_blank_or_has_a_nul_is_refused() {
        let code = |checked: Result<(), Refusal>| checked.map_err(|refusal| refusal.code);
        for blank in ["", " ", "\n\t"] {
            assert_eq!(code(required("it", blank, 9)), Err(Code::InvalidInput));
        }
        for check in [text, bytes, required] {
            assert_eq!(code(check("it", "a\0b", 9)), Err(Code::InvalidInput));
        }
    }

    #[test]
    fn a_number_is_given_back_within_its_range_and_refused_beside_it() {
        for value in [-2, 0, 1, 5] {
            assert_eq!(in_range("it", value, -2, 5), Ok(value));
        }
        for value in [-3, 6] {
            let refusal = in_range("it", value, -2, 5).expect_err("it is out of range");
            assert_eq!(refusal.code, Code::InvalidInput);
            assert!(refusal.message.contains(&value.to_string()), "{refusal}");
        }
    }

    #[test]
    fn sizes_are_what_the_contract_says() {
        assert_eq!([BODY, PAYLOAD, NOTE], [1_048_576, 1_048_576, 262_144]);
    }
}
