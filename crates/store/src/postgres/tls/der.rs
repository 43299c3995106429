//! The little of X.509 that rustls does not tell: by which hash a certificate was signed, and when
//! it is valid. Nothing here decides whom to trust.

use sha2::{Digest, Sha256, Sha384, Sha512};

const SEQUENCE: u8 = 0x30;
const OID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// `[0]`: the version of a certificate, and the hash among the parameters of RSA-PSS.
const FIRST: u8 = 0xa0;

#[derive(Clone, Copy)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// The hash of a certificate by RFC 5929: the one that it was signed with, but SHA-256 for those
/// that are too weak. None for signatures without a hash of their own, as Ed25519's.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    Some(match hash(certificate)? {
        Hash::Sha256 => Sha256::digest(certificate).to_vec(),
        Hash::Sha384 => Sha384::digest(certificate).to_vec(),
        Hash::Sha512 => Sha512::digest(certificate).to_vec(),
    })
}

fn hash(certificate: &[u8]) -> Option<Hash> {
    let (body, _) = take(certificate, SEQUENCE)?;
    let (_, rest) = take(body, SEQUENCE)?;
    let (algorithm, _) = take(rest, SEQUENCE)?;
    let (oid, parameters) = take(algorithm, OID)?;
    match oid {
        // 1.2.840.113549.1.1: RSA with MD5, SHA-1, SHA-256, SHA-384, SHA-512, and PSS.
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, last] => match last {
            4 | 5 | 11 => Some(Hash::Sha256),
            12 => Some(Hash::Sha384),
            13 => Some(Hash::Sha512),
            10 => pss(parameters),
            _ => None,
        },
        // 1.2.840.10045.4: ECDSA with SHA-1, and with each of SHA-2.
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1] => Some(Hash::Sha256),
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, last] => match last {
            2 => Some(Hash::Sha256),
            3 => Some(Hash::Sha384),
            4 => Some(Hash::Sha512),
            _ => None,
        },
        _ => None,
    }
}

fn pss(parameters: &[u8]) -> Option<Hash> {
    let (parameters, _) = take(parameters, SEQUENCE)?;
    let Some((hash, _)) = take(parameters, FIRST) else {
        // SHA-1, which is too weak.
        return Some(Hash::Sha256);
    };
    let (algorithm, _) = take(hash, SEQUENCE)?;
    let (oid, _) = take(algorithm, OID)?;
    match oid {
        // 2.16.840.1.101.3.4.2
        [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, last] => match last {
            1 => Some(Hash::Sha256),
            2 => Some(Hash::Sha384),
            3 => Some(Hash::Sha512),
            _ => None,
        },
        _ => None,
    }
}

/// The times from and until which a certificate is valid, as `YYYYMMDDhhmmss` in UTC.
pub(super) fn validity(certificate: &[u8]) -> Option<(String, String)> {
    let (body, _) = take(certificate, SEQUENCE)?;
    let (fields, _) = take(body, SEQUENCE)?;
    // The first version of X.509 has no number.
    let fields = take(fields, FIRST).map_or(fields, |(_, rest)| rest);
    let (_, _, fields) = any(fields)?; // the serial number
    let (_, fields) = take(fields, SEQUENCE)?; // the algorithm
    let (_, fields) = take(fields, SEQUENCE)?; // the issuer
    let (times, _) = take(fields, SEQUENCE)?;
    let (from, rest) = time(times)?;
    let (until, _) = time(rest)?;
    Some((from, until))
}

fn time(input: &[u8]) -> Option<(String, &[u8])> {
    let (tag, text, rest) = any(input)?;
    let digits = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let full = match (tag, digits.len()) {
        (GENERALIZED_TIME, 14) => digits.to_owned(),
        // RFC 5280: two digits are a year from 1950 to 2049.
        (UTC_TIME, 12) if digits < "50" => format!("20{digits}"),
        (UTC_TIME, 12) => format!("19{digits}"),
        _ => return None,
    };
    Some((full, rest))
}

/// The contents of the value that `input` begins with if it has this tag, and what follows it.
fn take(input: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, contents, rest) = any(input)?;
    (found == tag).then_some((contents, rest))
}

/// The tag and the contents of the value that `input` begins with, and what follows it.
fn any(input: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let [tag, length, rest @ ..] = input else {
        return None;
    };
    let (length, rest) = if *length < 0x80 {
        (usize::from(*length), rest)
    } else {
        // More than three bytes of length would be a certificate of 16 MiB.
        let count = usize::from(*length & 0x7f);
        let (digits, rest) = rest.split_at_checked(count).filter(|_| count <= 3)?;
        let length = digits.iter().fold(0, |sum, b| sum << 8 | usize::from(*b));
        (length, rest)
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((*tag, contents, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_certificates_are_none_and_no_panic() {
        for bytes in [
            &[][..],
            &[0x30],
            &[0x30, 0x80],
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
            &[0x30, 0x82, 0xff],
            &[0x30, 0x02, 0x30, 0x05],
            &[0x30, 0xff],
        ] {
            assert_eq!(end_point(bytes), None, "{bytes:?}");
            assert_eq!(validity(bytes), None, "{bytes:?}");
        }
    }

    fn value(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let contents = parts.concat();
        [&[tag, u8::try_from(contents.len()).unwrap()], &contents[..]].concat()
    }

    fn signed_by(oid: &[u8], parameters: &[u8]) -> Option<usize> {
        let algorithm = value(SEQUENCE, &[&value(OID, &[oid]), parameters]);
        let certificate = value(SEQUENCE, &[&value(SEQUENCE, &[]), &algorithm]);
        end_point(&certificate).map(|hash| hash.len() * 8)
    }

    #[test]
    fn the_hash_is_the_signatures_and_never_weaker_than_sha256() {
        let rsa = |last: u8| signed_by(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, last], &[5, 0]);
        let ecdsa = |last: u8| signed_by(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, last], &[]);
        assert_eq!([4, 5, 11].map(rsa), [Some(256); 3]);
        assert_eq!([12, 13, 14].map(rsa), [Some(384), Some(512), None]);
        assert_eq!([2, 3, 4].map(ecdsa), [Some(256), Some(384), Some(512)]);
        let ed25519 = [0x2b, 0x65, 0x70];
        assert_eq!(signed_by(&ed25519, &[]), None);
        let pss = |last: u8| {
            let hash = value(OID, &[&[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, last]]);
            let hash = value(FIRST, &[&value(SEQUENCE, &[&hash])]);
            signed_by(
                &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 10],
                &value(SEQUENCE, &[&hash]),
            )
        };
        assert_eq!([1, 2, 3].map(pss), [Some(256), Some(384), Some(512)]);
    }

    #[test]
    fn a_year_of_two_digits_is_from_1950_to_2049() {
        let utc = |text: &str| {
            let mut der = vec![UTC_TIME, u8::try_from(text.len()).unwrap()];
            der.extend(text.bytes());
            time(&der).map(|(time, _)| time)
        };
        assert_eq!(utc("491231235959Z").as_deref(), Some("20491231235959"));
        assert_eq!(utc("500101000000Z").as_deref(), Some("19500101000000"));
        assert_eq!(utc("5001010000Z"), None);
        assert_eq!(utc("50010100000xZ"), None);
    }
}
