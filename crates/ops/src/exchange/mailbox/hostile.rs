//! Lines that somebody may have broken on purpose.

use serde_json::json;

use super::tests::{good, with, without};
use super::{LINE, decode};

#[test]
fn hostile_lines_are_bad_and_what_follows_them_is_read() {
    let mut table: Vec<Vec<u8>> = Vec::new();
    let mut add = |line: &str| table.push(line.as_bytes().to_vec());
    let text = good().to_string();
    // Cut short at many places, as by a writer that died.
    for end in (1..text.len()).step_by(5) {
        add(&text[..end]);
    }
    // Of the wrong sort, in each field.
    for key in ["id", "sender", "recipient", "timestamp", "content"] {
        add(&without(key));
        for value in [json!(null), json!(5), json!(true), json!({}), json!([[]])] {
            add(&with(key, value));
        }
        if key != "content" {
            add(&with(key, json!("")));
            add(&with(key, json!(" \t")));
        }
    }
    for value in [json!(5), json!([]), json!({}), json!(true)] {
        add(&with("thread", value));
    }
    for value in [
        json!(0),
        json!(-1),
        json!(1.5),
        json!("24"),
        json!(87_601),
        json!([]),
        json!(1e300),
    ] {
        add(&with("ttl_hours", value));
    }
    add(&text.replace(
        "\"ttl_hours\":null",
        "\"ttl_hours\":99999999999999999999999999",
    ));
    for value in [json!("s"), json!(5), json!([5]), json!([null]), json!({})] {
        add(&with("read_by", value.clone()));
        add(&with(
            "tags",
            if value == json!("s") { json!(7) } else { value },
        ));
    }
    add(&with("timestamp", json!("x".repeat(1 << 20))));
    add(&with("ttl_hours", json!("x".repeat(1 << 20))));
    for stamp in [
        "yesterday",
        "2026-02-30T00:00:00Z",
        "2026-03-16T25:00:00Z",
        "1773671400",
        "-",
        "99999-01-01T00:00:00Z",
    ] {
        add(&with("timestamp", json!(stamp)));
    }
    // JSON that means two things, or nothing.
    add(&text.replacen('{', "{\"id\":\"x\",", 1));
    add(&text.replacen('{', "{\"\\u0069d\":\"x\",", 1));
    add(&with("extra", json!("\0")));
    add(&with("content", json!("a\0b")));
    add(&text.replace("Hello", "\\ud800"));
    add(&text.replace("Hello", "\\udc00\\ud800"));
    add(&text.replace("Hello", "\\x41"));
    add(&text.replace("Hello", "a\tb"));
    add(&text.replace("Hello", "\u{1}"));
    add(&text.replace("null", "nil"));
    add(&text.replace("null", "NaN"));
    add(&text.replace("null", "1e"));
    add(&text.replace(':', "="));
    add(&text.replace('"', "'"));
    add(&format!("{text},"));
    add(&format!("{text}{text}"));
    add(&format!("[{text}]"));
    add(&format!("// a remark {text}"));
    add(&text.replacen('{', "{\"$serde_json::private::Number\":\"1\",", 1));
    add(&with(
        "x",
        (0..64).fold(json!(1), |inner, _| json!([inner])),
    ));
    add(&text.replace("null", &"[".repeat(5000)));
    add(&text.replace("null", &"{\"a\":".repeat(5000)));
    add(&with("content", json!("x".repeat(LINE + 1))));
    add(&with("content", json!("x".repeat((1 << 20) + 1))));
    add(&with("to", json!(5)).replace("\"recipient\"", "\"was\""));
    add(&with(
        "recipient",
        json!((0..65).map(|n| format!("a{n}")).collect::<Vec<_>>()),
    ));
    for line in [
        "null",
        "5",
        "\"x\"",
        "[]",
        "{}",
        "true",
        "}",
        "]",
        "{{",
        "\"",
        "\\",
        "<xml/>",
        "id,sender",
        "\u{feff}{}",
        "\0",
        "\u{1b}[31m",
    ] {
        add(line);
    }
    for bytes in [
        &b"\xff\xfe{\x00}\x00"[..],
        b"{\"id\":\"\xc3\x28\"}",
        b"\xed\xa0\x80",
        b"\x80",
    ] {
        table.push(bytes.to_vec());
    }
    assert!(table.len() >= 100, "{}", table.len());
    for line in &table {
        let told = || String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
        let batch = decode(line, b"");
        assert_eq!(
            (batch.messages.len(), batch.bad.len()),
            (0, 1),
            "{}",
            told()
        );
        assert_eq!(batch.bad[0].place, "line 1");
        assert!(
            !batch.bad[0].problem.is_empty() && batch.bad[0].problem.len() < 1000,
            "{}",
            told()
        );
        assert_eq!(decode(b"", line).bad.len(), 1, "{}", told());
    }
    let mut file = table.join(&b'\n');
    file.extend(format!("\n{text}").as_bytes());
    let batch = decode(&file, b"");
    assert_eq!((batch.messages.len(), batch.bad.len()), (1, table.len()));
    assert_eq!(batch.messages[0].place, format!("line {}", table.len() + 1));
    assert_eq!(batch.bad[16].place, "line 17");
}
