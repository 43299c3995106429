//! A store with something of everything, and everything that programs can see of it.

use inbox_core::{EventId, LeaseToken, MessageId, ThreadId};
use inbox_ops::{
    Ack, AgentList, AgentShow, Archive, Caller, DeadLetters, Done, Export, Fail, Fetch, Format,
    List, Note, Operation, Posted, Read, Receipts, Release, Reply, Search, Send, SessionList, Show,
    Watch,
};
use inbox_store::Location;
use inbox_testkit::cluster;
use inbox_testkit::desk::{HOUR, at, keyed, letter, work};
use inbox_testkit::world::{World, by, by_sql, with_token};
use serde_json::{Value, json};

/// What somebody holds of a store: a token, a key.
pub(crate) struct Held {
    pub(crate) thread: ThreadId,
    pub(crate) token: LeaseToken,
    pub(crate) keyed: Caller,
    pub(crate) request: Send,
    pub(crate) answer: Posted,
}

fn request<O: Operation>(fields: Value) -> O {
    serde_json::from_value(fields).unwrap()
}

/// In PostgreSQL, lets the next entry's number be another one than the next: writers that were refused leave
/// gaps, and those that run at the same time other orders.
pub(crate) fn jump(world: &World, number: i64) {
    if let Location::Postgres(url) = world.location() {
        let schema = url.split("schema=").nth(1).unwrap();
        let text = format!(
            "SELECT setval(pg_get_serial_sequence('{schema}.entries', 'entry_no'), {number})"
        );
        cluster::shared().psql(&text);
    }
}

/// What a plain SQL client writes.
pub(crate) const PLAIN: &str = "INSERT INTO inbox (to_agent, from_agent, message_type, subject) VALUES ('backend', 'outside', 'note', 'by SQL')";

/// Something of everything.
pub(crate) fn furnish(world: &World) -> Held {
    jump(world, 1000);
    let backend = world.start("backend", "b-1", &["critic"], &["project:x"]);
    let other = world.start("other", "o-1", &["critic"], &["project:x"]);
    let sleeper = world.start("sleeper", "s-1", &[], &[]);
    let gone = world.start("gone", "g-1", &[], &[]);
    world.start("lead", "l-1", &[], &[]);
    let full = Send {
        run: "run-1".parse().ok(),
        task: "T1".parse().ok(),
        body: Some("A body\nof \"two\" lines, żółć 日本 and \\u0041".into()),
        payload_json: Some(json!({"n": 1, "text": "a\u{7}b", "deep": [1.5, null, {"k": "v"}]})),
        artifacts: vec![
            serde_json::from_value(
                json!({"path": "notes.md", "size": 12, "media_type": "text/markdown"}),
            )
            .unwrap(),
        ],
        ..work(&["backend"], "Add posts")
    };
    let caller = keyed(&at("lead", "l-1"), "k-1");
    let answer = world.call_as(&caller, &full).unwrap();
    jump(world, 500);
    // One of every status, each by another way.
    let threads: Vec<ThreadId> = (0..7)
        .map(|n| {
            world
                .post(&by("lead"), &work(&["backend"], &format!("piece {n}")))
                .thread
                .thread_id
        })
        .collect();
    let [started, done, failed, cancelled, released, lapsed, _pending] = threads[..] else {
        panic!("seven")
    };
    jump(world, 2000);
    let said = |summary: &str| json!({"summary": summary});
    let with = |mut fields: Value, thread: ThreadId| {
        fields["thread"] = json!(thread);
        fields
    };
    let token = world.claim("backend", started, 100_000);
    let update: inbox_ops::Update = request(with(
        json!({"status": "blocked", "summary": "waiting"}),
        started,
    ));
    world.call_as(&with_token(token), &update).unwrap();
    let reply: Reply = request(with(said("an answer"), started));
    world.call("lead", &reply).unwrap();
    jump(world, 1500);
    for (thread, is_good) in [(done, true), (failed, false)] {
        let proof = with_token(world.claim("backend", thread, 600));
        if is_good {
            world
                .call_as(&proof, &request::<Done>(with(said("ready"), thread)))
                .unwrap();
        } else {
            world
                .call_as(&proof, &request::<Fail>(with(said("no"), thread)))
                .unwrap();
        }
    }
    world
        .call(
            "lead",
            &request::<inbox_ops::Cancel>(json!({"thread": cancelled, "reason": "over"})),
        )
        .unwrap();
    let proof = with_token(world.claim("other", released, 600));
    world
        .call_as(&proof, &request::<Release>(json!({"thread": released})))
        .unwrap();
    world.claim("other", lapsed, 1);
    jump(world, 3000);
    // Mail of every mode, some of it read and acknowledged.
    let letters = [
        &["backend", "role:critic"][..],
        &["project:x"],
        &["s-1"],
        &["g-1"],
        &["newcomer"],
        &["human"],
        &["backend"],
        &["all"],
    ];
    let mut sent = Vec::new();
    for (n, to) in letters.iter().enumerate() {
        if n % 3 == 2 {
            jump(world, if n == 2 { 2500 } else { 4000 });
        }
        let note = Send {
            ttl_hours: (n == 6).then_some(1),
            ..letter(to, &format!("letter {n}"))
        };
        sent.push(world.post(&by("lead"), &note).message.message_id);
    }
    world
        .call_as(
            &backend,
            &Read {
                limit: Some(2),
                ..Read::default()
            },
        )
        .unwrap();
    world.call_as(&other, &Read::default()).unwrap();
    let ack = |message: MessageId| Ack {
        message: vec![message],
        thread: None,
    };
    world.call_as(&other, &ack(sent[1])).unwrap();
    world.call("backend", &ack(sent[0])).unwrap();
    world.freeze(&sleeper);
    world.end(&gone);
    jump(world, 3500);
    let note: Note = request(json!({"ref": "task:T1", "note": "A *note*", "notify": ["backend"]}));
    world.call("critic", &note).unwrap();
    let card = json!({"slug": "backend", "name": "Backend", "persona": "careful"});
    world
        .call("lead", &request::<inbox_ops::AgentSet>(card))
        .unwrap();
    world
        .call(
            "lead",
            &request::<inbox_ops::AgentRemove>(json!({"slug": "gone"})),
        )
        .unwrap();
    world.advance_ms(2 * HOUR);
    world.post(&by("lead"), &letter(&["backend"], "the last one"));
    // One that is taken in, and one that is refused and stays.
    by_sql(world.location(), PLAIN);
    by_sql(
        world.location(),
        "INSERT INTO inbox (to_agent, from_agent, message_type, subject) VALUES ('', '', '', '')",
    );
    world.unread(&by("backend"));
    Held {
        thread: started,
        token,
        keyed: caller,
        request: full,
        answer,
    }
}

/// Everything that programs can see. Nothing of it writes, but for what a plain SQL client left.
pub(crate) fn seen(world: &World) -> Value {
    let nobody = Caller::local(None);
    let inbox = world.inbox();
    let list = List {
        limit: Some(1000),
        ..List::default()
    };
    let listed = list.run(inbox, &nobody).unwrap();
    let ids: Vec<_> = listed
        .threads
        .iter()
        .map(|thread| thread.thread_id)
        .collect();
    let shown: Vec<_> = ids
        .iter()
        .map(|id| {
            Show {
                wire: true,
                ..Show::of(*id)
            }
            .run(inbox, &nobody)
            .unwrap()
        })
        .collect();
    let export = |thread: Option<ThreadId>, format| {
        let export = Export {
            thread,
            format,
            after_event: None,
        };
        export.run(inbox, &nobody).unwrap()
    };
    let texts: Vec<_> = ids
        .iter()
        .map(|id| export(Some(*id), Format::Json))
        .collect();
    let mailbox: Vec<_> = [Format::Mailbox, Format::Reads]
        .into_iter()
        .map(|format| export(None, format))
        .collect();
    let ladders: Vec<_> = shown
        .iter()
        .flat_map(|shown| &shown.messages)
        .map(|message| {
            Receipts {
                message: message.message_id,
            }
            .run(inbox, &nobody)
            .unwrap()
        })
        .collect();
    let newest = inbox.store().newest_event().unwrap();
    let events: serde_json::Map<String, Value> = (0..=newest.0)
        .step_by(5)
        .map(|after| {
            let watch = Watch {
                after_event: Some(EventId(after)),
                ..Watch::default()
            };
            (after.to_string(), json!(watch.run(inbox, &nobody).unwrap()))
        })
        .collect();
    let readers = [
        at("backend", "b-1"),
        at("other", "o-1"),
        at("sleeper", "s-1"),
        by("backend"),
        by("other"),
        by("lead"),
        by("newcomer"),
        by("human"),
        by("gone"),
        by("critic"),
    ];
    let peek = Read {
        peek: true,
        limit: Some(1000),
        ..Read::default()
    };
    let unread: Vec<_> = readers
        .iter()
        .map(|reader| peek.run(inbox, reader).unwrap())
        .collect();
    let fetched: Vec<_> = readers
        .iter()
        .map(|reader| Fetch::default().run(inbox, reader).unwrap())
        .collect();
    let agents = AgentList::default().run(inbox, &nobody).unwrap();
    let agent = AgentShow {
        slug: "backend".parse().unwrap(),
    }
    .run(inbox, &nobody)
    .map_err(|refusal| refusal.code.name());
    let sessions: SessionList = request(json!({"state": ["alive", "frozen", "dead"]}));
    let archive = Archive {
        older_than_days: Some(0),
        dry_run: true,
        ..Archive::default()
    };
    let search = |query: &str| {
        let search: Search = request(json!({"query": query, "limit": 100}));
        search
            .run(inbox, &nobody)
            .map(|found| json!(found.hits))
            .unwrap()
    };
    json!({
        "listed": listed,
        "shown": shown,
        "texts": texts,
        "mailbox": mailbox,
        "ladders": ladders,
        "events": events,
        "unread": unread,
        "fetched": fetched,
        "agents": agents,
        "agent": agent,
        "sessions": sessions.run(inbox, &nobody).unwrap(),
        "dead": DeadLetters::default().run(inbox, &nobody).unwrap(),
        "archive": archive.run(inbox, &nobody).map_err(|refusal| refusal.code.name()),
        "found": [search("letter"), search("piece"), search("żółć")],
    })
}

/// Where two answers differ first.
pub(crate) fn difference(one: &Value, other: &Value) -> Option<String> {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => a
            .iter()
            .find_map(|(key, value)| {
                let inner = difference(value, b.get(key).unwrap_or(&Value::Null))?;
                Some(format!("{key}.{inner}"))
            })
            .or_else(|| (a.len() != b.len()).then(|| "keys".to_owned())),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(n, (a, b))| Some(format!("{n}.{}", difference(a, b)?)))
        }
        // A document is compared line by line.
        (Value::String(a), Value::String(b)) if a.contains('\n') => {
            let (a, b): (Vec<_>, Vec<_>) = (a.lines().collect(), b.lines().collect());
            let (a, b) = a.iter().zip(&b).find(|(a, b)| a != b)?;
            Some(format!("line: {a} and {b}"))
        }
        (a, b) => (a != b).then(|| format!(": {a} and {b}")),
    }
}
