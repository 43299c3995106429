//! HCS-1 files that would cost their reader too much: refused while they are read.

use inbox_hcs::{Algorithm, Collector, Limits, Refused};

use crate::file::{gather, noise, packed, write};
use crate::vector;

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

/// What a reader of bombs in a process of its own is told by.
const CHILD: &str = "INBOX_TEST_BOMBS";

/// The most that it may need, in kilobytes. The bombs are two hundred times as much.
const MEMORY: u64 = 64 * 1024;

/// What [`bombs_cost_their_reader_no_more_than_what_it_may_need`] runs; nothing where nobody has asked for it.
#[test]
fn a_reader_of_bombs_of_its_own_process() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    bombs_are_refused_while_they_are_read();
    what_asks_for_much_memory_is_refused_before_it_gets_it();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let most = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    println!("most={}", most.trim().trim_end_matches(" kB"));
}

#[test]
fn bombs_cost_their_reader_no_more_than_what_it_may_need() {
    let ended = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "bomb::a_reader_of_bombs_of_its_own_process",
            "--nocapture",
        ])
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let text = String::from_utf8_lossy(&ended.stdout);
    let most = text.lines().find_map(|line| line.strip_prefix("most="));
    let most: u64 = most.unwrap_or_else(|| panic!("{ended:?}")).parse().unwrap();
    assert!(most < MEMORY, "{most} kB");
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
