//! Memos: the standards' own, what is forgiven, what is refused, and a million random ones.

use inbox_hcs::{
    AccountMemo, FileMemo, Hrl, Indexed, OperationCode, Place, RegistryTransactionMemo, Sequence,
    TopicMemo, TopicType, TransactionMemo, Ttl,
};
use proptest::prelude::*;

use crate::{Dice, account, named, sequence, topic};

/// The memos that the standards print, with their placeholders filled.
const TOPICS: [&str; 10] = [
    "hcs-10:0:60:0:0.0.789102",
    "hcs-10:0:60:0:0.0.123456",
    "hcs-10:0:3600:0:0.0.123456",
    "hcs-10:0:60:1",
    "hcs-10:0:3600:1",
    "hcs-10:1:60:2:0.0.789101:12345",
    "hcs-10:0:86400:3",
    "hcs-10:0:86400:3:0.0.55",
    "hcs-2:1:60",
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824:zstd:base64",
];

#[test]
fn the_memos_of_the_standards_are_read_and_written_as_they_were() {
    for text in TOPICS {
        let memo: TopicMemo = text.parse().unwrap_or_else(|refused| panic!("{refused}"));
        assert_eq!(memo.to_string(), text);
        assert_eq!(TopicMemo::read(text).unwrap(), (memo, Vec::new()));
    }
    for text in [
        "hcs-11:hcs://1/0.0.12345",
        "hcs-11:hcs://2/0.0.12345",
        "hcs-11:hcs://7/0.0.12345",
        "hcs-11:ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",
        "hcs-11:ar://KGU84y7MVhSZ_PNFSAtcBqxKXWBtYbHLUTuRpdDGSbM",
        "hcs-11:https://agents.example/profile.json",
    ] {
        let (memo, deviations) = AccountMemo::read(text).unwrap();
        assert_eq!((memo.to_string().as_str(), deviations), (text, Vec::new()));
        assert_eq!(AccountMemo::new(memo.profile().clone()), Ok(memo));
    }
    for text in [
        "hcs-2:op:0:0",
        "hcs-2:op:1:0",
        "hcs-2:op:2:0",
        "hcs-2:op:3:1",
    ] {
        let memo: RegistryTransactionMemo = text.parse().unwrap();
        assert_eq!(memo.to_string(), text);
    }
}

#[test]
fn a_topic_has_one_number_in_its_memo_and_another_in_transactions() {
    let numbers = |topic: TopicType| (topic.code(), Place::from(topic).code());
    let numbers: Vec<_> = TopicType::ALL.into_iter().map(numbers).collect();
    assert_eq!(numbers, [(0, 1), (1, 2), (2, 3), (3, 0)]);
    for text in TOPICS {
        let (memo, _) = TopicMemo::read(text).unwrap();
        if let Some(topic) = memo.topic_type() {
            assert_eq!(text.split(':').nth(3).unwrap(), topic.code().to_string());
        }
    }
}

#[test]
fn transaction_memos_are_those_that_mean_something() {
    let mut known = Vec::new();
    for operation in OperationCode::ALL {
        for place in Place::ALL {
            let text = format!("hcs-10:op:{}:{}", operation.code(), place.code());
            let memo = TransactionMemo::new(operation, place);
            assert_eq!(text.parse::<TransactionMemo>().ok(), memo, "{text}");
            if let Some(memo) = memo {
                assert_eq!(memo.to_string(), text);
                assert_eq!((memo.operation(), memo.place()), (operation, place));
                known.push(text.trim_start_matches("hcs-10:op:").to_owned());
            }
        }
    }
    let expected = [
        "0:0", "1:0", "2:0", "2:1", "2:2", "2:3", "3:1", "3:2", "4:1", "4:2", "5:2", "5:3", "6:1",
        "6:2", "6:3",
    ];
    assert_eq!(known, expected);
    for wrong in [
        "hcs-10:op:7:3",
        "hcs-10:op:6:4",
        "hcs-10:op:06:3",
        "hcs-10:op:6",
        "hcs-10:op:6:3:",
    ] {
        assert!(wrong.parse::<TransactionMemo>().is_err(), "{wrong}");
    }
}

#[test]
fn known_faults_are_forgiven_by_name_and_only_by_the_tolerant_reader() {
    for (text, meant, deviation) in [
        (
            "hcs-10:1:60:0:0.0.5",
            "hcs-10:0:60:0:0.0.5",
            "wrong_indexed ",
        ),
        (
            "hcs-10:0:60:2:0.0.5:7",
            "hcs-10:1:60:2:0.0.5:7",
            "wrong_indexed ",
        ),
        ("hcs-10:0:60:1:", "hcs-10:0:60:1", "trailing_colon "),
        ("hcs-2:0", "hcs-2:0:86400", "missing_ttl "),
    ] {
        let (memo, deviations) = TopicMemo::read(text).unwrap();
        assert_eq!(memo.to_string(), meant);
        assert_eq!(named(&deviations), [deviation]);
        assert!(text.parse::<TopicMemo>().is_err(), "{text}");
    }
    for (text, meant, deviation) in [
        ("hcs-11:0.0.5", "hcs-11:hcs://1/0.0.5", "bare_topic "),
        (
            "hcs-11:hcs://9/0.0.5",
            "hcs-11:hcs://9/0.0.5",
            "unknown_number ",
        ),
    ] {
        let (memo, deviations) = AccountMemo::read(text).unwrap();
        assert_eq!(memo.to_string(), meant);
        assert_eq!(named(&deviations), [deviation]);
    }
}

/// Memos that want to be more than they may.
const MALICIOUS: [&str; 51] = [
    "",
    ":",
    "::::",
    "hcs-10",
    "hcs-10:",
    "hcs-10:0:60",
    "hcs-10:0:60:4",
    "hcs-10:0:60:00",
    "hcs-10:2:60:1",
    "hcs-10:0::1",
    "hcs-10:0:-1:1",
    "hcs-10:0:+60:1",
    "hcs-10:0:060:1",
    "hcs-10:0:6 0:1",
    "hcs-10:0:1e3:1",
    "hcs-10:0:٦٠:1",
    "hcs-10:0:６０:1",
    "hcs-10:0:31536001:1",
    "hcs-10:0:4294967296:1",
    "hcs-10:0:999999999999:0:0.0.5",
    "hcs-10:0:18446744073709551616:1",
    "hcs-10:0:60:0",
    "hcs-10:0:60:0:",
    "hcs-10:0:60:0:0.0.0",
    "hcs-10:0:60:0:0.0.9223372036854775808",
    "hcs-10:0:60:0:0.0.18446744073709551617",
    "hcs-10:0:60:0:0.0.5:6",
    "hcs-10:0:60:0:0.0.5\u{0}",
    "hcs-10:0:60:0:0.0.5\n",
    "hcs-10:0:60:1:x",
    "hcs-10:0:60:1::",
    "hcs-10:1:60:2:0.0.5",
    "hcs-10:1:60:2:0.0.5:0",
    "hcs-10:1:60:2:0.0.5:-7",
    "hcs-10:1:60:2:0.0.5:9223372036854775808",
    "hcs-10:0:60:3:",
    "hcs-10:0:60:3:0.0.5:6",
    "HCS-10:0:60:1",
    "hcs-2:2:60",
    "hcs-2:0:60:1",
    "hcs-2:0:x",
    "hcs-11:",
    "hcs-11:hcs://1/0.0.0",
    "hcs-11:ipfs://",
    "hcs-11:ar://a b",
    "hcs-11:http://agents.example",
    "hcs-11:javascript:alert(1)",
    "2cf24dba:brotli:base64",
    "2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824:zstd:base64",
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824:gzip:base64",
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824:zstd:hex",
];

#[test]
fn malicious_memos_are_refused() {
    let long = format!("hcs-11:https://{}", "a".repeat(100));
    for text in MALICIOUS.into_iter().chain([long.as_str()]) {
        // `hcs-10:0:60:3:` is a registry with a colon too many, which is forgiven.
        if text != "hcs-10:0:60:3:" {
            assert!(TopicMemo::read(text).is_err(), "{text:?}");
        }
        assert!(text.parse::<TopicMemo>().is_err(), "{text:?}");
        assert!(AccountMemo::read(text).is_err(), "{text:?}");
        assert!(text.parse::<TransactionMemo>().is_err(), "{text:?}");
    }
}

/// What must hold of any memo: it is refused, or means what its own text means again. Whether it is a topic's.
pub(crate) fn hold(text: &str) -> bool {
    let topic = TopicMemo::read(text).ok();
    if let Some((memo, _)) = &topic {
        assert_eq!(memo.to_string().parse(), Ok(*memo), "{text:?}");
    }
    if let Ok((memo, _)) = AccountMemo::read(text) {
        assert_eq!(AccountMemo::read(&memo.to_string()).unwrap().0, memo);
    }
    if let Ok(memo) = text.parse::<TransactionMemo>() {
        assert_eq!(memo.to_string(), text);
    }
    if let Ok(hrl) = text.parse::<Hrl>() {
        assert_eq!(hrl.to_string(), text);
    }
    if let Ok(memo) = text.parse::<FileMemo>() {
        assert_eq!(memo.to_string(), text);
    }
    topic.is_some()
}

/// Pieces of which memos are made, and some that do not belong.
const PIECES: &[&str] = &[
    "hcs-10",
    "hcs-2",
    "hcs-11",
    "hcs://",
    "op",
    ":",
    ":",
    ":",
    "::",
    "0",
    "1",
    "2",
    "3",
    "60",
    "0.0.5",
    "0.0.",
    ".",
    "/",
    "-",
    "@",
    "9223372036854775807",
    "9223372036854775808",
    "é",
    "٣",
    "\u{0}",
    " ",
    "zstd",
    "brotli",
    "base64",
    "ipfs://",
    "a",
];

/// So many random memos; how many of them were a topic's.
fn random(seed: u64, count: u32) -> u32 {
    let mut dice = Dice(seed);
    let mut text = String::new();
    let mut taken = 0;
    for case in 0..count {
        text.clear();
        // Half of them begin as a memo does, so that they come further.
        if case % 2 == 0 {
            text.push_str(["hcs-10:0:60:", "hcs-10:op:", "hcs-2:0:", "hcs-11:"][dice.roll(4)]);
        }
        for _ in 0..dice.roll(8) {
            text.push_str(PIECES[dice.roll(PIECES.len())]);
        }
        taken += u32::from(hold(&text));
    }
    taken
}

#[test]
fn a_million_random_memos_are_answered() {
    let count: u32 = std::env::var("INBOX_CASES").map_or(1_000_000, |text| text.parse().unwrap());
    let taken: u32 = std::thread::scope(|scope| {
        let parts = [1, 2, 3, 4].map(|part: u64| {
            scope.spawn(move || random(88_172_645_463_325 * part, count.div_ceil(4)))
        });
        parts.into_iter().map(|part| part.join().unwrap()).sum()
    });
    assert!(taken > 0 || count < 10_000, "none was a memo");
}

fn topics() -> impl Strategy<Value = TopicMemo> {
    let ttl = (0..=Ttl::MAX.seconds()).prop_map(|seconds| Ttl::new(seconds).unwrap());
    let number = (1..=i64::MAX).prop_map(i64::cast_unsigned);
    (0..6, ttl, number, any::<bool>(), any::<[u8; 8]>()).prop_map(
        |(sort, ttl, number, flag, content)| match sort {
            0 => TopicMemo::Inbound {
                ttl,
                account: account(number),
            },
            1 => TopicMemo::Outbound { ttl },
            2 => TopicMemo::Connection {
                ttl,
                inbound_topic: topic(number),
                connection: sequence(number),
            },
            3 => TopicMemo::AgentRegistry {
                ttl,
                metadata: flag.then_some(topic(number)),
            },
            4 => TopicMemo::Registry {
                indexed: if flag { Indexed::All } else { Indexed::Newest },
                ttl,
            },
            _ => TopicMemo::File(FileMemo {
                hash: inbox_hcs::Hash::of(&content),
                algorithm: inbox_hcs::Algorithm::ALL[usize::from(flag)],
            }),
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_reads_back_and_fits(memo in topics()) {
        let text = memo.to_string();
        prop_assert!(text.len() <= inbox_hcs::MAX_MEMO);
        prop_assert_eq!(text.parse::<TopicMemo>().unwrap(), memo);
    }

    #[test]
    fn a_sequence_reads_back(number in 1..=i64::MAX) {
        let sequence = sequence(number.cast_unsigned());
        prop_assert_eq!(sequence.to_string().parse::<Sequence>().unwrap(), sequence);
    }
}
