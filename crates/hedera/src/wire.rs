//! What reading a message would lose.
//!
//! A reader of protocol buffers passes over fields that it does not know. For a transaction that would be a lie: it would be shown,
//! checked and carried out as less than was signed. So whoever reads one asks what was lost.

/// The deepest nesting that is looked at: deeper than any message that is used.
const DEPTH: usize = 40;

/// Where `original` has something that `again`, the same message written from what was read, has not: the numbers of the fields on the way
/// there. A field that is there and has the value that it would have without being there is no loss.
pub fn loses(original: &[u8], again: &[u8]) -> Option<Vec<u32>> {
    let mut path = Vec::new();
    is_lost(original, again, &mut path, DEPTH).then_some(path)
}

/// One field as it is on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn is_lost(original: &[u8], again: &[u8], path: &mut Vec<u32>, depth: usize) -> bool {
    let (Some(original), Some(again)) = (fields(original), fields(again)) else {
        return true;
    };
    let mut left = again.into_iter().map(Some).collect::<Vec<_>>();
    for (number, value) in original {
        // Fields of one number keep their order, and those of different ones need not.
        let next = left
            .iter_mut()
            .find(|kept| kept.is_some_and(|(other, _)| other == number));
        if is_nothing(value) {
            if let Some(next) = next {
                next.take_if(|(_, kept)| is_nothing(*kept));
            }
            continue;
        }
        let kept = next.and_then(Option::take);
        let is_same = match (value, kept) {
            (_, None) => false,
            (value, Some((_, kept))) if value == kept => true,
            (Value::Bytes(value), Some((_, Value::Bytes(kept)))) if depth > 0 => {
                path.push(number);
                if is_lost(value, kept, path, depth - 1) {
                    return true;
                }
                path.pop();
                true
            }
            _ => false,
        };
        if !is_same {
            path.push(number);
            return true;
        }
    }
    false
}

fn is_nothing(value: Value<'_>) -> bool {
    matches!(value, Value::Number(0) | Value::Bytes([]))
}

/// The fields of a message; nothing when it is not one.
fn fields(mut rest: &[u8]) -> Option<Vec<(u32, Value<'_>)>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        let number = u32::try_from(tag >> 3).ok().filter(|&number| number > 0)?;
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut rest)?),
            1 => Value::Number(u64::from_le_bytes(*rest.split_off(..8)?.as_array()?)),
            2 => {
                let length = usize::try_from(varint(&mut rest)?).ok()?;
                Value::Bytes(rest.split_off(..length)?)
            }
            5 => Value::Number(u64::from(u32::from_le_bytes(
                *rest.split_off(..4)?.as_array()?,
            ))),
            _ => return None,
        };
        found.push((number, value));
    }
    Some(found)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *rest.split_off_first()?;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::proto::{AccountId, Data, SubmitMessageBody, TopicId, TransactionBody};

    fn body() -> TransactionBody {
        TransactionBody {
            node_account_id: Some(AccountId::of(3)),
            memo: "a memo".into(),
            data: Some(Data::SubmitMessage(SubmitMessageBody {
                topic_id: Some(TopicId::of(1001)),
                message: b"hello".to_vec(),
                chunk_info: None,
            })),
            ..TransactionBody::default()
        }
    }

    fn read_again(bytes: &[u8]) -> Option<Vec<u32>> {
        let read = TransactionBody::decode(bytes).expect("it can be read");
        loses(bytes, &read.encode_to_vec())
    }

    #[test]
    fn what_is_known_is_not_lost_even_where_it_says_nothing() {
        let mut bytes = body().encode_to_vec();
        assert_eq!(read_again(&bytes), None);
        // A fee of 0 and an empty memo, written out as some programs do.
        bytes.extend([0x18, 0]);
        assert_eq!(read_again(&bytes), None);
    }

    #[test]
    fn a_field_that_nobody_knows_is_named_by_its_place() {
        let mut bytes = body().encode_to_vec();
        bytes.extend([0xa0, 0x06, 1]);
        assert_eq!(read_again(&bytes), Some(vec![100]));
        // Inside of the message that is submitted: field 9 of field 27.
        let mut inner = body();
        inner.data = None;
        let mut bytes = inner.encode_to_vec();
        bytes.extend([0xda, 0x01, 4, 0x12, 0, 0x48, 7]);
        assert_eq!(read_again(&bytes), Some(vec![27, 9]));
    }

    #[test]
    fn a_field_that_is_there_twice_and_counts_once_is_lost() {
        let mut bytes = body().encode_to_vec();
        bytes.extend([0x32, 1, b'x']);
        assert!(read_again(&bytes).is_some());
    }

    #[test]
    fn what_is_no_message_is_lost() {
        for bytes in [
            &b"\xff\xff"[..],
            b"\x0a\xff\xff\xff\xff\x0f",
            b"\x0b",
            b"\x00",
        ] {
            assert!(loses(bytes, b"").is_some(), "{bytes:?}");
        }
    }
}
