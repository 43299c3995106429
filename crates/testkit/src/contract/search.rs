//! Messages are found by their words, at once, newest first, and alike on every store.

use std::collections::BTreeSet;

use inbox_core::record::Millis;
use inbox_core::{Code, Kind, MessageId, Status};
use inbox_ops::{Caller, Inbox, Operation, Reply, Search, Searched, Send, When};
use inbox_store::Store;
use serde_json::json;

use crate::world::{World, by, code, task};

/// A search for these words.
pub fn search(query: &str) -> Search {
    Search {
        query: query.to_owned(),
        ..Search::default()
    }
}

/// Searches without a caller, as anybody may.
pub fn run(inbox: &Inbox, request: &Search) -> Searched {
    request
        .run(inbox, &Caller::local(None))
        .expect("a search succeeds")
}

fn found(world: &World, request: &Search) -> Vec<String> {
    let searched = run(world.inbox(), request);
    assert_eq!(searched.warnings, Vec::<String>::new());
    searched
        .hits
        .into_iter()
        .map(|hit| hit.message.summary)
        .collect()
}

fn message(summary: &str, body: &str) -> Send {
    Send {
        summary: Some(summary.to_owned()),
        body: Some(body.to_owned()),
        ..task("backend", "a thread")
    }
}

pub fn words_of_subject_summary_body_and_payload_are_found(world: &World) {
    let request = Send {
        summary: Some("Summary: überall".into()),
        body: Some("The body\nspans lines, and says fix-me.rs".into()),
        payload_json: Some(
            json!({"path": "src/\u{e9}t\u{e9}.rs", "n": [4711, {"deep": "京都タワー"}]}),
        ),
        ..task("backend", "A Subject of note")
    };
    let sent = world.call("lead", &request).expect("a send succeeds");
    for query in [
        "subject",
        "NOTE",
        "uberall",
        "ÜBERALL",
        "body lines",
        "\"the body spans\"",
        "fix-me.rs",
        "fix",
        "path",
        "ete",
        "4711",
        "deep",
        "京都",
        "タワー",
        "ワ",
        "not*",
        "subject 4711 -missing",
    ] {
        let searched = run(world.inbox(), &search(query));
        let ids: Vec<_> = searched
            .hits
            .iter()
            .map(|hit| hit.message.message_id)
            .collect();
        assert_eq!(ids, [sent.message.message_id], "{query}");
        let hit = &searched.hits[0];
        assert_eq!(hit.message, sent.message);
        assert_eq!(hit.thread.subject, sent.thread.subject);
        assert_eq!(hit.thread.status, Status::Pending);
        assert!(
            hit.snippet.chars().count() <= 160 && hit.score.is_none() && hit.archived.is_none()
        );
        assert_eq!(searched.next_event_id, sent.next_event_id);
    }
    for query in [
        "missing",
        "ubera",
        "\"body the\"",
        "subject -note",
        "京ワ",
        "not",
        "summary -\"the body\"",
    ] {
        let searched = run(world.inbox(), &search(query));
        assert!(
            searched.hits.is_empty() && !inbox_ops::Answer::is_something(&searched),
            "{query}"
        );
    }
}

pub fn the_newest_come_first_and_a_page_says_whether_there_is_more(world: &World) {
    for n in 0..25 {
        world
            .call("lead", &message(&format!("number {n}"), "everywhere"))
            .expect("a send succeeds");
    }
    let expected: Vec<_> = (0..25).rev().map(|n| format!("number {n}")).collect();
    assert_eq!(found(world, &search("everywhere")), expected[..20]);
    let of = |limit| Search {
        limit: Some(limit),
        ..search("everywhere")
    };
    for (limit, truncated) in [
        (1, true),
        (24, true),
        (25, false),
        (26, false),
        (10_000, false),
    ] {
        let searched = run(world.inbox(), &of(limit));
        assert_eq!(searched.truncated, truncated, "{limit}");
        let count = usize::try_from(limit.min(25)).expect("small");
        assert_eq!(searched.hits.len(), count);
    }
    for limit in [0, -1, 10_001] {
        assert_eq!(code(world.call("x", &of(limit))), Code::InvalidInput);
    }
}

pub fn the_best_come_first_on_request(world: &World) {
    for (summary, body) in [
        ("long", format!("needle {}", "straw ".repeat(400))),
        ("often", "needle needle needle".to_owned()),
        ("needle", String::new()),
        ("plain", "one needle here".to_owned()),
        ("none", "nothing".to_owned()),
    ] {
        world
            .call("lead", &message(summary, &body))
            .expect("a send succeeds");
    }
    let ranked = Search {
        rank: true,
        ..search("needle")
    };
    let searched = run(world.inbox(), &ranked);
    let scores: Vec<_> = searched
        .hits
        .iter()
        .map(|hit| hit.score.expect("a score"))
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert_eq!(found(world, &ranked), ["often", "needle", "plain", "long"]);
    assert_eq!(
        found(world, &search("needle")),
        ["plain", "needle", "often", "long"]
    );
}

pub fn every_filter_narrows_what_is_found(world: &World) {
    let sent = |from: &str, request: Send| {
        world.advance_ms(86_400_000);
        world.call(from, &request).expect("a send succeeds")
    };
    let of = |to: &str, summary: &str| Send {
        summary: Some(summary.to_owned()),
        ..task(to, "the word")
    };
    let labelled = Send {
        run: "run-1".parse().ok(),
        task: "T1".parse().ok(),
        ..of("quinn", "labelled")
    };
    let first = sent("lead", labelled).message;
    sent("quinn", of("role:reviewer", "by quinn"));
    let several = Send {
        to: vec![
            "tester".parse().expect("good"),
            "project:x".parse().expect("good"),
        ],
        ..of("tester", "to several")
    };
    let several = sent("lead", several);
    world.claim("tester", several.thread.thread_id, 600);
    let reply = Reply {
        thread: several.thread.thread_id,
        to: Vec::new(),
        kind: Some(Kind::Answer),
        summary: Some("reply".into()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    };
    world.advance_ms(86_400_000);
    world.call("lead", &reply).expect("a reply succeeds");
    let all = ["reply", "to several", "by quinn", "labelled"];
    let case = |change: &dyn Fn(&mut Search), expected: &[&str]| {
        let mut request = search("word");
        change(&mut request);
        assert_eq!(found(world, &request), expected, "{request:?}");
    };
    case(&|_| {}, &all);
    case(
        &|it| it.agent = "quinn".parse().ok(),
        &["by quinn", "labelled"],
    );
    case(
        &|it| it.agent = "tester".parse().ok(),
        &["reply", "to several"],
    );
    case(&|it| it.agent = "nobody".parse().ok(), &[]);
    case(
        &|it| it.address = "role:reviewer".parse().ok(),
        &["by quinn"],
    );
    case(&|it| it.address = "project:x".parse().ok(), &["to several"]);
    case(&|it| it.kind = vec![Kind::Answer], &["reply"]);
    case(&|it| it.kind = vec![Kind::Answer, Kind::Task], &all);
    case(
        &|it| it.status = vec![Status::Claimed],
        &["reply", "to several"],
    );
    case(
        &|it| it.status = vec![Status::Pending, Status::Done],
        &["by quinn", "labelled"],
    );
    case(&|it| it.run = "run-1".parse().ok(), &["labelled"]);
    case(&|it| it.run = "run-2".parse().ok(), &[]);
    case(&|it| it.task = "T1".parse().ok(), &["labelled"]);
    case(
        &|it| it.since = Some(When::At(Millis(first.created_at.0 + 1))),
        &all[..3],
    );
    case(&|it| it.since = Some(When::At(first.created_at)), &all);
    case(&|it| it.until = Some(When::At(first.created_at)), &[]);
    case(
        &|it| it.until = Some(When::At(Millis(first.created_at.0 + 1))),
        &["labelled"],
    );
    case(
        &|it| it.since = "36h".parse().ok(),
        &["reply", "to several"],
    );
    case(
        &|it| (it.since, it.until) = ("60h".parse().ok(), "36h".parse().ok()),
        &["by quinn"],
    );
    case(
        &|it| (it.agent, it.kind) = ("lead".parse().ok(), vec![Kind::Task]),
        &["to several", "labelled"],
    );
}

pub fn what_was_sent_after_the_last_search_is_found_at_once(world: &World) {
    let other = world.another();
    for n in 0..12 {
        world
            .call("lead", &message(&format!("number {n}"), "fresh"))
            .expect("a send succeeds");
        for inbox in [world.inbox(), &other] {
            let searched = run(inbox, &search("fresh"));
            assert_eq!(searched.hits.len(), n + 1);
            assert_eq!(searched.hits[0].message.summary, format!("number {n}"));
            assert_eq!(searched.indexed.total, i64::try_from(n + 1).expect("small"));
            assert_eq!(searched.indexed.through, searched.next_event_id);
        }
    }
}

pub fn a_search_appends_no_event(world: &World) {
    world.send("lead", "backend", "quiet");
    let before = world.inbox().store().newest_event().expect("it reads");
    run(world.inbox(), &search("quiet"));
    run(world.inbox(), &search("loud"));
    assert_eq!(
        world.inbox().store().newest_event().expect("it reads"),
        before
    );
}

/// Texts and queries that mean something to one of the databases, or to nobody.
pub fn hostile() -> Vec<String> {
    let mut texts: Vec<String> = [
        "\"quoted\" phrase",
        "'single' quotes",
        "a NEAR b",
        "NEAR(a b, 2)",
        "a AND b",
        "a OR b",
        "NOT a",
        "star* in",
        "* star",
        "subject:word",
        "{subject body}:word",
        "^begin",
        "(paren",
        "paren) here",
        "a + b",
        "a & b | !c",
        "<-> <2>",
        "x:*",
        "x:A",
        "back\\slash",
        "'; DROP TABLE threads; --",
        "%s %n $1 ?1 :name @p",
        "emoji 🚀 ship",
        "👩\u{200d}👩\u{200d}👧 family",
        "שלום עולם",
        "\u{202e}reversed\u{202c}",
        "مَرْحَبًا",
        "中文搜索引擎",
        "ひらがな カタカナ",
        "한국어 텍스트",
        "ภาษาไทย",
        "e\u{301}te\u{301}",
        "ÉTÉ",
        "ﬁne ligature",
        "Ⅷ ² ½",
        "naïve café",
        "ΣΊΣΥΦΟΣ",
        "İstanbul",
        "\u{e000}f0123456789abcdef",
        "foo_bar-baz.qux",
        "https://example.com/a?b=c&d=%20",
        "user@example.com",
        "C++ C# .NET",
        "tab\tand\u{a0}space\u{3000}wide",
        "-dash",
        "--flag value",
        "under\u{ad}soft",
        "zero\u{200b}width",
        "日本\n語",
        "ａｂｃ fullwidth",
        "ｶﾞ half",
        "𝒻𝒶𝓃𝒸𝓎",
        "\u{fffd}\u{ffff}x",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.push("long".repeat(2_500));
    texts.push("many words ".repeat(900));
    texts.push((0..900).map(|n| format!("w{n} ")).collect());
    texts.push("\"".repeat(999) + "q");
    texts.push("( ".repeat(2_000) + "deep");
    texts
}

pub fn a_hostile_query_is_text(world: &World) {
    use inbox_store::{Document, Query};
    let texts = hostile();
    let mut bodies = Vec::new();
    for text in &texts {
        world
            .call("lead", &message("s", text))
            .expect("a send succeeds");
        bodies.push(text.clone());
    }
    let mut queries = texts;
    queries.extend(
        [
            "\"a b\"*",
            "日*",
            "-a b",
            "a\0b",
            "w1 w2 -w899",
            "\"many words many\"",
            "\"w8 w9 w10*",
        ]
        .map(str::to_owned),
    );
    for text in queries {
        let request = Search {
            limit: Some(1_000),
            ..search(&text)
        };
        let Ok(query) = Query::parse(&text) else {
            assert_eq!(
                code(world.call("x", &request)),
                Code::InvalidInput,
                "{text}"
            );
            continue;
        };
        let expected: Vec<_> = bodies
            .iter()
            .rev()
            .filter(|body| query.matches(&Document::new("a thread", "s", body, "{}")))
            .collect();
        let searched = run(world.inbox(), &request);
        let bodies: Vec<_> = searched.hits.iter().map(|hit| &hit.message.body).collect();
        assert_eq!(bodies, expected, "{text}");
    }
}

pub fn a_query_without_words_is_refused(world: &World) {
    for query in [
        "",
        "  ",
        "*",
        "\"\"",
        "-",
        "-only -not",
        "()[]{}",
        "…",
        "\0",
        "\u{e000}",
    ] {
        let refusal = world
            .call("x", &search(query))
            .expect_err("nothing to look for");
        assert_eq!(refusal.code, Code::InvalidInput, "{query:?}");
        assert!(refusal.hint.starts_with("inbox search"), "{}", refusal.hint);
    }
    assert_eq!(
        code(world.call("x", &search(&"w ".repeat(9_000)))),
        Code::TooLarge
    );
}

pub fn searchers_and_senders_at_once_find_everything_once(world: &World) {
    const EACH: usize = 40;
    let ids = |searched: &Searched| -> Vec<MessageId> {
        searched
            .hits
            .iter()
            .map(|hit| hit.message.message_id)
            .collect()
    };
    let request = Search {
        limit: Some(1_000),
        ..search("common")
    };
    std::thread::scope(|scope| {
        for sender in ["ann", "bob"] {
            let inbox = world.another();
            scope.spawn(move || {
                for n in 0..EACH {
                    let sent = message(&format!("{sender} {n}"), "common").run(&inbox, &by(sender));
                    sent.expect("a send succeeds");
                }
            });
        }
        for _ in 0..3 {
            let (inbox, request) = (world.another(), &request);
            scope.spawn(move || {
                let mut seen = BTreeSet::new();
                while seen.len() < 2 * EACH {
                    let found = ids(&run(&inbox, request));
                    let distinct: BTreeSet<_> = found.iter().copied().collect();
                    assert_eq!(distinct.len(), found.len(), "nothing twice");
                    assert!(seen.is_subset(&distinct), "nothing is lost again");
                    seen = distinct;
                }
            });
        }
    });
    let searched = run(world.inbox(), &request);
    assert_eq!(searched.hits.len(), 2 * EACH);
    assert_eq!(
        searched.indexed.total,
        i64::try_from(2 * EACH).expect("small")
    );
}

/// A message of a store as a line of an archive.
fn line(world: &World, summary: &str, change: impl Fn(&mut Send)) -> String {
    let mut request = message(summary, "old words");
    change(&mut request);
    let sent = world.call("lead", &request).expect("a send succeeds");
    Store::archive_line(&sent.message, &sent.thread)
}

pub fn archived_messages_are_found_after_those_in_the_store(world: &World) {
    // Another store of the same sort stands for what was in this one.
    let past = World::sqlite();
    let labelled = |request: &mut Send| request.run = "run-7".parse().ok();
    let september: Vec<_> = (0..3)
        .map(|n| line(&past, &format!("sep {n}"), |_| {}))
        .collect();
    let october: Vec<_> = (0..40)
        .map(|n| line(&past, &format!("oct {n}"), labelled))
        .collect();
    world
        .call("lead", &message("live", "old words"))
        .expect("a send succeeds");
    let store = world.inbox().store();
    assert_eq!(store.indexed_archives().expect("it reads"), []);
    // Months may come in any order; what is no message is counted and passed over.
    let mut odd = october.clone();
    odd.insert(1, "{\"message\": 1}".to_owned());
    let done = store
        .index_archive("2026-10", "stamp-1", &odd)
        .expect("it indexes");
    assert_eq!((done.indexed, done.unreadable), (40, 1));
    store
        .index_archive("2026-09", "s", &september)
        .expect("it indexes");
    let archives = [("2026-09", "s"), ("2026-10", "stamp-1")];
    let archives = archives.map(|(month, stamp)| (month.to_owned(), stamp.to_owned()));
    assert_eq!(store.indexed_archives().expect("it reads"), archives);
    let all = Search {
        limit: Some(100),
        ..search("\"old words\"")
    };
    let mut expected = vec!["live".to_owned()];
    expected.extend((0..40).rev().map(|n| format!("oct {n}")));
    expected.extend((0..3).rev().map(|n| format!("sep {n}")));
    assert_eq!(found(world, &all), expected);
    let hits = run(world.inbox(), &all).hits;
    assert_eq!(hits[0].archived, None);
    assert_eq!(hits[1].archived.as_deref(), Some("2026-10"));
    assert_eq!(hits[43].archived.as_deref(), Some("2026-09"));
    let filtered = Search {
        run: "run-7".parse().ok(),
        limit: Some(5),
        ..search("old")
    };
    let searched = run(&world.another(), &filtered);
    assert_eq!((searched.hits.len(), searched.truncated), (5, true));
    assert!(found(world, &search("old -words")).is_empty());
    // Indexed again, an archive holds what it holds now.
    store
        .index_archive("2026-10", "stamp-2", &october[..1])
        .expect("it indexes");
    assert_eq!(
        found(world, &all),
        ["live", "oct 0", "sep 2", "sep 1", "sep 0"]
    );
    for month in ["2026-13", "2026-1", "26-10", "x", ""] {
        assert_eq!(
            code(store.index_archive(month, "", &[])),
            Code::InvalidInput,
            "{month}"
        );
    }
}

pub fn a_message_in_the_store_and_in_an_archive_is_found_once(world: &World) {
    let twice = line(world, "twice", |_| {});
    let store = world.inbox().store();
    store
        .index_archive("2026-10", "s", &[twice])
        .expect("it indexes");
    assert_eq!(found(world, &search("twice")), ["twice"]);
}
