//! HCS-1 files: what is written comes back, and what others wrote is read.

use base64::Engine as _;
use inbox_hcs::{
    Algorithm, Collector, File, FileMemo, Hash, Keys, Limits, MAX_MESSAGE, Mime, Refused, Written,
    write_file,
};
use proptest::prelude::*;

use crate::{Dice, named, vector};

pub(crate) fn write(content: &[u8], algorithm: Algorithm) -> Written {
    write_file(content, &Mime::json(), algorithm, &Limits::default()).unwrap()
}

pub(crate) fn gather<'m>(
    memo: FileMemo,
    messages: impl IntoIterator<Item = &'m String>,
) -> Result<(File, Vec<String>), Refused> {
    let mut collector = Collector::new(memo, Limits::default());
    for message in messages {
        collector.add(message.as_bytes())?;
    }
    let (file, deviations) = collector.finish(Keys::VALID)?;
    Ok((file, named(&deviations)))
}

/// A file that holds these compressed bytes, whatever they are.
pub(crate) fn packed(
    compressed: &[u8],
    algorithm: Algorithm,
) -> Result<(File, Vec<String>), Refused> {
    let text = base64::engine::general_purpose::STANDARD.encode(compressed);
    let text = format!("data:application/octet-stream;base64,{text}");
    let pieces = text.as_bytes().chunks(900).enumerate();
    let message = |(index, piece): (usize, &[u8])| {
        format!(
            r#"{{"o":{index},"c":"{}"}}"#,
            String::from_utf8_lossy(piece)
        )
    };
    let messages: Vec<_> = pieces.map(message).collect();
    let memo = FileMemo {
        hash: Hash::of(b""),
        algorithm,
    };
    gather(memo, &messages)
}

pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut dice = Dice(7);
    let mut byte = || u8::try_from(dice.roll(256)).unwrap();
    (0..length).map(|_| byte()).collect()
}

#[test]
fn a_file_comes_back_from_messages_that_fit() {
    for algorithm in Algorithm::ALL {
        for content in [
            Vec::new(),
            b"{}".to_vec(),
            vec![b'x'; 5_000],
            noise(40_000),
            vec![0; 1 << 20],
        ] {
            let written = write(&content, algorithm);
            assert_eq!(written.memo.to_string().parse(), Ok(written.memo));
            assert!(
                written
                    .messages
                    .iter()
                    .all(|message| message.len() <= MAX_MESSAGE)
            );
            let (file, deviations) = gather(written.memo, &written.messages).unwrap();
            assert_eq!(
                (file.content.len(), deviations),
                (content.len(), Vec::new())
            );
            assert!(file.content == content && file.mime == Mime::json());
        }
    }
    let several = write(&noise(40_000), Algorithm::Zstd).messages;
    assert!(several.len() > 40);
    assert!(several[1].starts_with(r#"{"o":1,"c":""#) && several[1].len() == MAX_MESSAGE);
}

#[test]
fn files_of_the_reference_compressors_are_read() {
    for name in ["zstd", "brotli"] {
        let text = String::from_utf8(vector(&format!("file/{name}.txt"))).unwrap();
        let mut lines = text.lines().map(str::to_owned);
        let memo: FileMemo = lines.next().unwrap().parse().unwrap();
        let messages: Vec<_> = lines.collect();
        assert!(messages.len() >= 5);
        let (file, deviations) = gather(memo, &messages).unwrap();
        assert_eq!(deviations, [] as [&str; 0]);
        assert_eq!(file.content.len(), 24_006);
        assert!(file.content.starts_with(br#"{"line":0,"value""#));
        let (file, _) = gather(memo, messages.iter().rev()).unwrap();
        assert_eq!(Hash::of(&file.content), memo.hash);
    }
}

#[test]
fn chunks_come_in_any_order_and_more_than_once() {
    let written = write(&noise(20_000), Algorithm::Brotli);
    let mut messages = written.messages.clone();
    messages.reverse();
    messages.extend(written.messages.iter().take(2).cloned());
    messages.insert(3, "not a chunk".to_owned());
    messages.insert(5, r#"{"o":1}"#.to_owned());
    let (file, deviations) = gather(written.memo, &messages).unwrap();
    assert_eq!(file.content, noise(20_000));
    assert_eq!(
        deviations,
        [
            "no_chunk ",
            "no_chunk ",
            "duplicate_chunk ",
            "duplicate_chunk "
        ]
    );
}

#[test]
fn a_chunk_that_is_missing_or_changed_is_found_out() {
    let written = write(&noise(20_000), Algorithm::Zstd);
    let without = |index: usize| {
        let mut messages = written.messages.clone();
        messages.remove(index);
        gather(written.memo, &messages).unwrap_err()
    };
    assert_eq!(without(0), Refused::MissingChunks { first: 0, count: 1 });
    assert_eq!(without(7), Refused::MissingChunks { first: 7, count: 1 });
    assert!(matches!(
        without(written.messages.len() - 1),
        Refused::Corrupt(_)
    ));
    let none = gather(written.memo, &[]).unwrap_err();
    assert_eq!(none, Refused::MissingChunks { first: 0, count: 1 });

    let mut changed = written.messages.clone();
    let other = write(&[vec![1], noise(20_000)].concat(), Algorithm::Zstd);
    changed[7].clone_from(&other.messages[7]);
    assert!(gather(written.memo, &changed).is_err());
    // A whole other file under this memo.
    let refused = gather(written.memo, &other.messages).unwrap_err();
    assert!(matches!(refused, Refused::HashMismatch { .. }), "{refused}");
}

#[test]
fn a_file_without_a_prefix_is_bytes() {
    let written = write(b"hello", Algorithm::Brotli);
    let prefix = "data:application/json;base64,";
    let bare = [written.messages[0].replace(prefix, "")];
    let (file, deviations) = gather(written.memo, &bare).unwrap();
    assert_eq!(
        (file.mime, file.content.as_slice()),
        (Mime::bytes(), &b"hello"[..])
    );
    assert_eq!(deviations, ["missing_prefix "]);
    let odd = [written.messages[0].replace("application/json", "")];
    let (file, deviations) = gather(written.memo, &odd).unwrap();
    assert_eq!(
        (file.mime, deviations),
        (Mime::bytes(), vec!["unknown_word ".to_owned()])
    );
    let bare = [written.messages[0].replace('=', "")];
    assert!(gather(written.memo, &bare).is_ok());
}

#[test]
fn a_topic_that_could_change_holds_no_file() {
    let written = write(b"hello", Algorithm::Brotli);
    for (has_submit_key, has_admin_key) in [(false, false), (true, true), (false, true)] {
        let mut collector = Collector::new(written.memo, Limits::default());
        collector.add(written.messages[0].as_bytes()).unwrap();
        let keys = Keys {
            has_submit_key,
            has_admin_key,
        };
        assert!(matches!(collector.finish(keys), Err(Refused::Keys(_))));
    }
}

#[test]
fn what_a_reader_would_refuse_is_not_written() {
    let large = vec![0; (1 << 20) + 1];
    let refused = write_file(
        &large,
        &Mime::bytes(),
        Algorithm::Brotli,
        &Limits::default(),
    );
    assert!(matches!(refused, Err(Refused::TooLarge { .. })));
    let limits = Limits {
        content: 4 << 20,
        ..Limits::default()
    };
    let refused = write_file(
        &vec![0; 4 << 20],
        &Mime::bytes(),
        Algorithm::Brotli,
        &limits,
    );
    assert_eq!(refused, Err(Refused::Bomb { most: 1 << 20 }));
    let few = Limits {
        chunks: 3,
        ..Limits::default()
    };
    let refused = write_file(&noise(9_000), &Mime::bytes(), Algorithm::Zstd, &few);
    assert!(matches!(refused, Err(Refused::ChunkOutOfRange { .. })));
}

#[test]
fn a_media_type_cannot_break_out_of_its_prefix() {
    for fine in [
        "text/plain",
        "text/plain;charset=utf-8",
        "application/vnd.a+json",
    ] {
        assert_eq!(fine.parse::<Mime>().unwrap().as_str(), fine);
    }
    let long = format!("text/{}", "a".repeat(130));
    for wrong in [
        "",
        "text",
        "text/",
        "/plain",
        "a/b,c",
        "a/b;base64",
        "a/b\"",
        "a/b\\",
        "a b/c",
        "é/a",
        &long,
    ] {
        assert!(wrong.parse::<Mime>().is_err(), "{wrong:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_content_comes_back(content in proptest::collection::vec(any::<u8>(), 0..4_000), repeat in 1..6_usize, choice in 0..2_usize) {
        let content = content.repeat(repeat);
        let written = write(&content, Algorithm::ALL[choice]);
        let (file, _) = gather(written.memo, written.messages.iter().rev()).unwrap();
        prop_assert_eq!(file.content, content);
    }

    #[test]
    fn damaged_compression_is_answered(at in 0..4_000_usize, byte in any::<u8>(), choice in 0..2_usize) {
        let algorithm = Algorithm::ALL[choice];
        let text = String::from_utf8(vector(&format!("file/{}.txt", algorithm.name()))).unwrap();
        let joined: String = text.lines().skip(1).map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            value["c"].as_str().unwrap().to_owned()
        }).collect();
        let (_, encoded) = joined.split_once(',').unwrap();
        let mut bytes = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
        let at = at % bytes.len();
        bytes[at] = byte;
        prop_assert!(packed(&bytes, algorithm).is_err());
    }
}
