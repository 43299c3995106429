//! What reading a message would lose.
//!
//! A reader of protocol buffers passes over fields that it does not know. For a transaction that would be a lie: it would be shown,
//! checked and carried out as less than was signed. So whoever reads one asks what was lost.

/// The deepest nesting that is looked at: deeper than any message that is used.
const DEPTH: usize = 40;

/// Where `original` has something that `again`, the same message written from what was read, has not: the numbers of the fields on the way
/// there. A field that has the value that it would have without being there is no loss, if it is known: [`louder`] finds that out.
pub fn loses(original: &[u8], again: &[u8]) -> Option<Vec<u32>> {
    let mut path = Vec::new();
    is_lost(original, again, &mut path, DEPTH).then_some(path)
}

/// The same message, but where `original` has a field that says nothing and `again` has it not at all, it says something: 1, or "x".
/// Nothing when there is no such field. Whoever knows the field keeps what it says, and whoever does not loses it; so it is found out
/// which of the two it is. That a field says nothing is no proof that it means nothing: an id of 0 may be somebody's.
pub fn louder(original: &[u8], again: &[u8]) -> Option<Vec<u8>> {
    let mut loud = Vec::with_capacity(original.len());
    make_louder(original, again, &mut loud, DEPTH).filter(|is_other| *is_other)?;
    Some(loud)
}

/// One field as it is on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Field<'a> {
    number: u32,
    /// How its value is written.
    kind: Kind,
    value: Value<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Varint = 0,
    Eight = 1,
    Bytes = 2,
    Four = 5,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Those of a message that are not accounted for yet.
struct Left<'a>(Vec<Option<Field<'a>>>);

impl<'a> Left<'a> {
    fn new(fields: Vec<Field<'a>>) -> Self {
        Left(fields.into_iter().map(Some).collect())
    }

    /// Takes what was written again of a field. Fields of one number keep their order, and those of different ones need not.
    fn take(&mut self, field: Field<'_>) -> Option<Value<'a>> {
        let mut all = self.0.iter_mut();
        let next = all.find(|kept| kept.is_some_and(|kept| kept.number == field.number))?;
        // One that says nothing is written again as such or not at all.
        let kept = next.take_if(|kept| !is_nothing(field.value) || is_nothing(kept.value))?;
        Some(kept.value)
    }
}

fn is_lost(original: &[u8], again: &[u8], path: &mut Vec<u32>, depth: usize) -> bool {
    let (Some(original), Some(again)) = (fields(original), fields(again)) else {
        return true;
    };
    let mut left = Left::new(again);
    for field in original {
        let kept = left.take(field);
        if is_nothing(field.value) {
            continue;
        }
        let is_same = match (field.value, kept) {
            (_, None) => false,
            (value, Some(kept)) if value == kept => true,
            (Value::Bytes(value), Some(Value::Bytes(kept))) if depth > 0 => {
                path.push(field.number);
                if is_lost(value, kept, path, depth - 1) {
                    return true;
                }
                path.pop();
                true
            }
            _ => false,
        };
        if !is_same {
            path.push(field.number);
            return true;
        }
    }
    false
}

/// Writes the louder message, and says whether it is another one; nothing when one of the two is no message.
fn make_louder(original: &[u8], again: &[u8], loud: &mut Vec<u8>, depth: usize) -> Option<bool> {
    let mut left = Left::new(fields(again)?);
    let mut is_other = false;
    for field in fields(original)? {
        let (value, kept) = (field.value, left.take(field));
        let below = depth.checked_sub(1);
        match (value, kept, below) {
            (value, None, _) if is_nothing(value) => {
                is_other = true;
                field.write(
                    loud,
                    match value {
                        Value::Number(_) => Value::Number(1),
                        Value::Bytes(_) => Value::Bytes(b"x"),
                    },
                );
            }
            (Value::Bytes(inner), Some(Value::Bytes(kept)), Some(below)) if inner != kept => {
                let mut louder = Vec::with_capacity(inner.len());
                is_other |= make_louder(inner, kept, &mut louder, below)?;
                field.write(loud, Value::Bytes(&louder));
            }
            (value, ..) => field.write(loud, value),
        }
    }
    Some(is_other)
}

impl Field<'_> {
    /// Writes it with another value.
    fn write(self, to: &mut Vec<u8>, value: Value<'_>) {
        write_varint(to, u64::from(self.number) << 3 | self.kind as u64);
        match (self.kind, value) {
            (Kind::Eight, Value::Number(number)) => to.extend(number.to_le_bytes()),
            (Kind::Four, Value::Number(number)) => to.extend(&number.to_le_bytes()[..4]),
            (_, Value::Number(number)) => write_varint(to, number),
            (_, Value::Bytes(bytes)) => {
                write_varint(to, u64::try_from(bytes.len()).unwrap_or(u64::MAX));
                to.extend(bytes);
            }
        }
    }
}

fn write_varint(to: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            to.push(low & 0x7f);
            return;
        }
        to.push(low | 0x80);
    }
}

fn is_nothing(value: Value<'_>) -> bool {
    matches!(value, Value::Number(0) | Value::Bytes([]))
}

/// The fields of a message; nothing when it is not one.
fn fields(mut rest: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        let number = u32::try_from(tag >> 3).ok().filter(|&number| number > 0)?;
        let (kind, value) = match tag & 7 {
            0 => (Kind::Varint, Value::Number(varint(&mut rest)?)),
            1 => {
                let bytes = *rest.split_off(..8)?.as_array()?;
                (Kind::Eight, Value::Number(u64::from_le_bytes(bytes)))
            }
            2 => {
                let length = usize::try_from(varint(&mut rest)?).ok()?;
                (Kind::Bytes, Value::Bytes(rest.split_off(..length)?))
            }
            5 => {
                let bytes = *rest.split_off(..4)?.as_array()?;
                let number = u32::from_le_bytes(bytes);
                (Kind::Four, Value::Number(u64::from(number)))
            }
            _ => return None,
        };
        found.push(Field {
            number,
            kind,
            value,
        });
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
        let again = read.encode_to_vec();
        loses(bytes, &again).or_else(|| {
            let loud = louder(bytes, &again)?;
            let read = TransactionBody::decode(loud.as_slice()).expect("it can be read");
            loses(&loud, &read.encode_to_vec())
        })
    }

    #[test]
    fn what_is_known_is_not_lost_even_where_it_says_nothing() {
        let mut bytes = body().encode_to_vec();
        assert_eq!(read_again(&bytes), None);
        // A fee of 0, written out as some programs do, and the shard of an account inside.
        bytes.extend([0x18, 0]);
        assert_eq!(read_again(&bytes), None);
        let mut other = body();
        other.node_account_id = None;
        other.memo.clear();
        let mut bytes = other.encode_to_vec();
        bytes.extend([0x12, 6, 0x08, 0, 0x10, 0, 0x18, 3]);
        bytes.extend([0x32, 0]);
        assert_eq!(read_again(&bytes), None);
    }

    #[test]
    fn a_field_that_nobody_knows_is_lost_even_where_it_says_nothing() {
        // An update of an account has a field 17 that names the node to stake to, and a node may have the number 0.
        let update = [0x7a, 7, 0x12, 2, 0x18, 9, 0x88, 0x01, 0];
        assert_eq!(read_again(&update), Some(vec![15, 17]));
        for (unknown, number) in [
            (&[0xa0, 0x06, 0][..], 100),
            (&[0xa2, 0x06, 0], 100),
            (&[0xa1, 0x06, 0, 0, 0, 0, 0, 0, 0, 0], 100),
            (&[0xa5, 0x06, 0, 0, 0, 0], 100),
        ] {
            let mut bytes = body().encode_to_vec();
            bytes.extend(unknown);
            assert_eq!(read_again(&bytes), Some(vec![number]), "{unknown:?}");
        }
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
