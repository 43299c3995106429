//! Garbage on topics that anybody may write to: every one is refused, and cheaply.

use inbox_hcs::{MAX_ASSEMBLED, Note, Place, Profile, Refused, read, read_registry};

const HEAD: &str = r#"{"p":"hcs-10","op":"message","operator_id":"0.0.5@0.0.6","#;

fn must_be_refused(bytes: &[u8]) {
    for place in Place::ALL {
        let found = read(bytes, place);
        assert!(found.is_err(), "{}", String::from_utf8_lossy(bytes));
    }
    assert!(read_registry(bytes).is_err());
    assert!(Note::read(bytes).is_err());
    assert!(Profile::read(bytes).is_err());
}

/// Texts that mean nothing, or two things.
const CASES: usize = 23;

#[test]
fn what_is_no_json_or_two_things_at_once_is_refused() {
    let cases: [Vec<u8>; CASES] = [
        b"".to_vec(),
        b"hello".to_vec(),
        b"null".to_vec(),
        b"\xff\xfe\x00".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        b"{}{}".to_vec(),
        b"{\"p\":\"hcs-10\"".to_vec(),
        b"{'p':'hcs-10'}".to_vec(),
        b"\x00\x01\x02".to_vec(),
        format!(r#"{HEAD}"data":"x","data":"y"}}"#).into_bytes(),
        format!(r#"{HEAD}"data":"x","op":"close_connection"}}"#).into_bytes(),
        format!(r#"{HEAD}"data":"\ud800"}}"#).into_bytes(),
        format!(r#"{HEAD}"data":"\u0000"}}"#).into_bytes(),
        format!("{HEAD}\"data\":\"\u{0}\"}}").into_bytes(),
        format!(r#"{HEAD}"data":{{"a":1,"a":2}}}}"#).into_bytes(),
        format!(r#"{HEAD}"data":{{"$serde_json::private::Number":"1"}}}}"#).into_bytes(),
        format!(r#"{HEAD}"data":NaN}}"#).into_bytes(),
        format!(r#"{HEAD}"data":01}}"#).into_bytes(),
        format!("{HEAD}\"data\":{}1{}}}", "[".repeat(33), "]".repeat(33)).into_bytes(),
        format!("{HEAD}\"data\":{}", "[".repeat(10_000)).into_bytes(),
        format!("{HEAD}\"data\":{}", r#"{"a":"#.repeat(3_000)).into_bytes(),
        vec![b' '; MAX_ASSEMBLED + 1],
        vec![b'['; 1 << 21],
    ];
    for bytes in cases {
        must_be_refused(&bytes);
    }
}

const OVERFLOWS: [(&str, &str); 17] = [
    ("connection_id", "18446744073709551616"),
    ("connection_id", "9223372036854775808"),
    ("connection_id", "1e400"),
    ("connection_id", "1e2"),
    ("connection_id", "12.0"),
    ("connection_id", "-1"),
    ("connection_id", "0"),
    ("connection_id", "\"0\""),
    ("connection_id", "\"9223372036854775808\""),
    ("connection_id", "\"-1\""),
    ("connection_id", "\"٣\""),
    ("connection_id", "null"),
    ("connection_topic_id", "\"0.0.0\""),
    ("connection_topic_id", "\"0.0.18446744073709551616\""),
    ("connection_topic_id", "9"),
    ("connected_account_id", "\"0.0.９\""),
    ("operator_id", "\"0.0.5@0.0.99999999999999999999\""),
];

#[test]
fn ids_and_numbers_that_overflow_are_refused() {
    for (key, value) in OVERFLOWS {
        let fields = [
            ("connection_topic_id", "\"0.0.9\""),
            ("connected_account_id", "\"0.0.4\""),
            ("operator_id", "\"0.0.5@0.0.6\""),
            ("connection_id", "12"),
        ];
        let field = |(name, fine): (&str, &str)| {
            let value = if name == key { value } else { fine };
            format!(",\"{name}\":{value}")
        };
        let fields: String = fields.into_iter().map(field).collect();
        let text = format!(r#"{{"p":"hcs-10","op":"connection_created"{fields}}}"#);
        let refused = read(text.as_bytes(), Place::Inbound).unwrap_err();
        assert!(refused.to_string().contains(key), "{text}: {refused}");
    }
}

#[test]
fn a_report_does_not_outgrow_what_it_is_about() {
    let fields: String = (0..1_500).map(|n| format!(",\"f{n}\":1")).collect();
    let text = format!(r#"{HEAD}"data":"x"{fields}}}"#);
    assert!(text.len() < MAX_ASSEMBLED);
    let (_, deviations) = read(text.as_bytes(), Place::Connection).unwrap();
    assert_eq!(deviations.len(), 200);
    let long = format!(r#"{{"p":"hcs-10","op":"{}"}}"#, "x".repeat(10_000));
    let refused = read(long.as_bytes(), Place::Connection).unwrap_err();
    assert!(refused.to_string().len() < 300, "{refused}");
}

#[test]
fn nothing_active_is_repeated() {
    let text = "{\"p\":\"hcs-10\",\"op\":\"\\u001b[31m\u{202e}\"}";
    let refused = read(text.as_bytes(), Place::Connection).unwrap_err();
    assert!(matches!(refused, Refused::UnknownOperation(_)));
    let shown = refused.to_string();
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\u{202e}'),
        "{shown:?}"
    );
}
