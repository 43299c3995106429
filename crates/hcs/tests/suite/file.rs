//! HCS-1 files: what is written comes back, what others wrote is read, and bombs are refused while they are read.

use base64::Engine as _;
use inbox_hcs::{
    Algorithm, Collector, File, FileMemo, Hash, Keys, Limits, MAX_MESSAGE, Mime, Refused, Written,
    write_file,
};
use proptest::prelude::*;

use crate::{Dice, named, vector};

fn write(content: &[u8], algorithm: Algorithm) -> Written {
    write_file(content, &Mime::json(), algorithm, &Limits::default()).unwrap()
}

fn gather<'m>(
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
fn packed(compressed: &[u8], algorithm: Algorithm) -> Result<(File, Vec<String>), Refused> {
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

fn noise(length: usize) -> Vec<u8> {
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
fn an_index_out_of_range_is_refused_at_once() {
    let memo = write(b"x", Algorithm::Brotli).memo;
    for index in [
        "2048",
        "1000000",
        "4294967296",
        "9223372036854775807",
        "18446744073709551615",
    ] {
        let mut collector = Collector::new(memo, Limits::default());
        let message = format!(r#"{{"o":{index},"c":"QUFB"}}"#);
        let refused = collector.add(message.as_bytes()).unwrap_err();
        assert!(
            matches!(refused, Refused::ChunkOutOfRange { .. }),
            "{refused}"
        );
    }
    // What is no index at all is no chunk.
    let mut collector = Collector::new(memo, Limits::default());
    for index in [
        "-1",
        "0.5",
        "1e1",
        "null",
        "\"x\"",
        "99999999999999999999999",
    ] {
        let message = format!(r#"{{"o":{index},"c":"QUFB"}}"#);
        collector.add(message.as_bytes()).unwrap();
    }
    assert!(collector.is_empty());
}

#[test]
fn a_million_chunks_end_at_the_limit() {
    let memo = write(b"x", Algorithm::Brotli).memo;
    let mut collector = Collector::new(memo, Limits::default());
    let refused = (0..1_000_000).find_map(|index| {
        let message = format!(r#"{{"o":{index},"c":"{}"}}"#, "A".repeat(1_000));
        collector.add(message.as_bytes()).err()
    });
    assert!(
        matches!(refused, Some(Refused::TooLarge { .. })),
        "{refused:?}"
    );
    assert!(collector.len() < 2_048);
    // As many as they like of one index, and of rubbish, cost nothing.
    let mut collector = Collector::new(memo, Limits::default());
    for _ in 0..10_000 {
        collector.add(br#"{"o":0,"c":"QUFB"}"#).unwrap();
        collector.add(b"rubbish").unwrap();
    }
    assert_eq!(collector.len(), 1);
}

#[test]
fn bombs_are_refused_while_they_are_read() {
    // Ten gibibytes in eight kilobytes.
    let brotli = vector("bomb/10GiB.br");
    assert!(brotli.len() < 10_000);
    let refused = packed(&brotli, Algorithm::Brotli).unwrap_err();
    assert_eq!(refused, Refused::Bomb { most: 1 << 20 });

    // Ten gibibytes of zstd: runs of 128 KiB in four bytes each, with a window of 1 MiB.
    let mut zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50];
    for _ in 0..81_920 {
        let header: u32 = (128 << 10) << 3 | 1 << 1;
        zstd.extend_from_slice(&header.to_le_bytes()[..3]);
        zstd.push(0);
    }
    let refused = packed(&zstd, Algorithm::Zstd).unwrap_err();
    assert_eq!(refused, Refused::Bomb { most: 1 << 20 });
}

#[test]
fn what_asks_for_much_memory_is_refused_before_it_gets_it() {
    // A zstd frame with a window of 2 GiB, and one of a single segment of 64 GiB.
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00];
    let segment = [
        0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0x01, 0x00, 0x00,
    ];
    for frame in [&window[..], &segment] {
        assert!(matches!(
            packed(frame, Algorithm::Zstd),
            Err(Refused::Corrupt(_))
        ));
    }
    // An empty frame with a window of 8 MiB is fine, and one that asks for 64 MiB is not.
    let empty = |window| [0x28, 0xb5, 0x2f, 0xfd, 0x00, window, 0x01, 0x00, 0x00];
    assert!(packed(&empty(0x68), Algorithm::Zstd).is_ok());
    assert!(matches!(
        packed(&empty(0x80), Algorithm::Zstd),
        Err(Refused::Corrupt(_))
    ));
    // An empty stream of brotli is fine, and one with a window of a gibibyte is not.
    assert!(packed(&[0x06], Algorithm::Brotli).is_ok());
    assert!(matches!(
        packed(&[0x11, 0xde], Algorithm::Brotli),
        Err(Refused::Corrupt(_))
    ));
    // A thousand empty frames.
    let frames = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x01, 0x00, 0x00].repeat(1_000);
    assert!(matches!(
        packed(&frames, Algorithm::Zstd),
        Err(Refused::Corrupt(_))
    ));
}

#[test]
fn frames_that_are_skipped_are_no_content() {
    let mut frames = vec![0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    frames.extend([0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x01, 0x00, 0x00]);
    assert_eq!(packed(&frames, Algorithm::Zstd).unwrap().0.content, b"");
    frames.truncate(9);
    assert!(packed(&frames, Algorithm::Zstd).is_err());
}

#[test]
fn other_compressions_and_rubbish_are_refused() {
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    for algorithm in Algorithm::ALL {
        assert!(packed(&gzip, algorithm).is_err());
        assert!(packed(&noise(5_000), algorithm).is_err());
        assert!(packed(b"", algorithm).is_err());
    }
    let memo = write(b"x", Algorithm::Brotli).memo;
    for piece in [
        "data:text/plain,QUFB",
        "data:text/plain;base64;QUFB",
        "data:;base64,!!!",
        "QQ Q=",
    ] {
        let message = format!(r#"{{"o":0,"c":"{piece}"}}"#);
        assert!(gather(memo, &[message]).is_err(), "{piece}");
    }
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
