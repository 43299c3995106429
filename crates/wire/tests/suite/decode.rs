//! The strict reader of JSON text beside the usual one.

use inbox_wire::{MAX_BYTES, MAX_DEPTH, decode};
use proptest::prelude::*;
use serde_json::Value;

fn refused(text: &str, pointer: &str, words: &str) {
    let problem = decode(text).expect_err(text);
    assert_eq!(problem.pointer, pointer, "{text:?}: {problem}");
    assert!(problem.message.contains(words), "{text:?}: {problem}");
}

#[test]
fn a_key_that_is_there_twice_is_refused_where_it_comes_again() {
    refused(r#"{"a":1,"a":1}"#, "/a", "there twice");
    refused(r#"{"a":1,"b":2,"\u0061":3}"#, "/a", "there twice");
    refused(
        r#"{"a":[0,{"b/c":{"":1,"":2}}]}"#,
        "/a/1/b~1c/",
        "there twice",
    );
    refused("{\"a\":1,\n \"a\":2}", "/a", "(line 2, column 5)");
}

#[test]
fn depth_and_size_have_an_end() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(decode(&nested(MAX_DEPTH)).is_ok());
    refused(
        &nested(MAX_DEPTH + 1),
        &"/0".repeat(MAX_DEPTH),
        "nested too deeply",
    );
    refused(
        &"[".repeat(500_000),
        &"/0".repeat(MAX_DEPTH),
        "nested too deeply",
    );
    refused(
        &"{\"a\":".repeat(100_000),
        &"/a".repeat(MAX_DEPTH),
        "nested too deeply",
    );
    let sized = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    assert!(decode(&sized(MAX_BYTES)).is_ok());
    refused(&sized(MAX_BYTES + 1), "", "the most is 1048576");
}

#[test]
fn characters_that_cannot_be_kept_are_refused() {
    refused(r#"{"a":"\u0000"}"#, "/a", "NUL");
    refused(r#"{"\u0000":1}"#, "", "NUL");
    refused("[\"\0\"]", "/0", "control character");
    for text in [
        r#"["\ud800"]"#,
        r#"["\udc00"]"#,
        r#"["\ud800\ud800"]"#,
        r#"["\ud800x"]"#,
        r#"["\ud800\n"]"#,
        r#"["\udfff\ud800"]"#,
        r#"["\uD83D\u0041"]"#,
    ] {
        refused(text, "/0", "lone surrogate");
    }
    assert_eq!(decode(r#""\ud83d\ude00""#).unwrap(), "😀");
}

#[test]
fn what_follows_the_value_is_refused() {
    for text in [
        "1 2",
        "{} {}",
        "null,",
        "[]]",
        "\"a\"b",
        "true false",
        "{}\u{feff}",
        "1\0",
    ] {
        refused(text, "", "after the value");
    }
    assert!(decode(" \t\r\n1\n ").is_ok());
}

#[test]
fn the_magic_key_of_the_library_is_refused() {
    refused(
        r#"{"$serde_json::private::Number":"1"}"#,
        "/$serde_json::private::Number",
        "reserved",
    );
    refused(
        r#"{"\u0024serde_json::private::RawValue":1}"#,
        "/$serde_json::private::RawValue",
        "reserved",
    );
}

#[test]
fn text_that_is_no_json_is_refused_with_its_place() {
    for text in [
        "",
        " ",
        "{",
        "[",
        "\"",
        "\"\\",
        "\"\\u12",
        "\"\\x\"",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{1:2}",
        "{a:1}",
        "{'a':1}",
        "[1,]",
        "[,]",
        "[1 2]",
        "tru",
        "nul",
        "nulll",
        "None",
        "NaN",
        "Infinity",
        "-",
        "-a",
        "01",
        "-01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "0x10",
        "1_000",
        "\"a\nb\"",
        "\"\t\"",
        "// c\n1",
        "/* */1",
        "\u{feff}1",
        "\u{a0}1",
        "[1\u{2028},2]",
        "{\"a\":1\u{0}}",
        "\"\\u{61}\"",
        "\"\\U0061\"",
        "\"\\ud8zz\"",
        "[}",
        "{]",
    ] {
        let problem = decode(text).expect_err(text);
        assert!(problem.message.contains("(line "), "{text:?}: {problem}");
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text:?}");
    }
}

#[test]
fn numbers_keep_their_digits() {
    for text in [
        "0",
        "-0",
        "0.00",
        "1e+400",
        "123456789012345678901234567890",
    ] {
        assert_eq!(decode(text).unwrap().to_string(), text);
    }
    for text in ["1e400", "-1.5E+10", "1E-7"] {
        assert_eq!(
            decode(text).unwrap(),
            serde_json::from_str::<Value>(text).unwrap()
        );
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC*".prop_map(Value::from),
        "[\u{1}-\u{ff}\u{2028}😀]*".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(".{0,6}", inner, 0..6).prop_map(|map| map
                .into_iter()
                .filter(|(key, _)| !key.contains('\0'))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn what_was_written_is_read(value in json()) {
        prop_assert_eq!(decode(&value.to_string()).unwrap(), value.clone());
        prop_assert_eq!(decode(&format!("{value:#}")).unwrap(), value);
    }

    #[test]
    fn any_text_is_answered_without_a_panic(text in ".*|[\\[\\]{}\",:0-9eE+.\\\\u tfn-]*") {
        let strict = decode(&text);
        let usual = serde_json::from_str::<Value>(&text);
        if let Ok(value) = strict {
            prop_assert_eq!(Some(value), usual.ok());
        }
    }

    #[test]
    fn a_damaged_text_is_answered_without_a_panic(value in json(), at in any::<prop::sample::Index>(), c in any::<char>()) {
        let mut text: Vec<char> = value.to_string().chars().collect();
        let at = at.index(text.len());
        text[at] = c;
        let text: String = text.into_iter().collect();
        if let Ok(value) = decode(&text) {
            prop_assert_eq!(Some(value), serde_json::from_str::<Value>(&text).ok());
        }
    }
}
