//! Nothing is made twice: topics and files, whoever dies in the midst of it.

use inbox_hcs::{Algorithm, Hash, Limits, Mime, TopicId, write_file};
use inbox_hedera::client::{Asking, Operator};
use inbox_hedera::proto::{CreateTopicBody, Data, Key, SubmitMessageBody, TransactionId};
use inbox_ops::Note;
use inbox_store::{Outgoing, RecordState, TopicPlace, TopicRow};
use serde_json::json;

use crate::entity::{run, stands, topic_of};
use crate::mail::{Post, both};

/// The topics whose memo begins so.
fn topics_of(post: &Post, memo: &str) -> Vec<TopicId> {
    let first = post.ada.me.account.number();
    let ids = (first..first + 60).filter_map(|number| TopicId::new(0, 0, number));
    let mirror = post.ada.net.mirror();
    ids.filter(|id| {
        let facts = mirror.topic(*id).unwrap();
        facts.is_some_and(|facts| facts.memo.starts_with(memo))
    })
    .collect()
}

/// Does as Ada what somebody did who died before writing down what came of it.
fn happen(post: &Post, id: &TransactionId, data: Data) -> Option<TopicId> {
    let client = post.stage.network.client(Operator {
        account: i64::try_from(post.ada.me.account.number()).unwrap(),
        key: post.ada.net.key().clone(),
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let asking = Asking::of(data);
    let happened = runtime.block_on(client.execute_as(id.clone(), &asking));
    happened.unwrap().receipt.topic_id.and_then(|id| id.id())
}

fn row(post: &Post) -> TopicRow {
    let topics = post.inbox.ledger_standing().unwrap().topics;
    let found = topics.into_iter().find(|it| it.place == TopicPlace::Entity);
    found.unwrap()
}

/// A bridge that has every topic, until it is gone.
fn gone(post: &Post, does: impl FnOnce(&str)) {
    post.inbox.ledger_topics("gone", 60_000).unwrap();
    does("gone");
    post.inbox.leave_topics("gone").unwrap();
}

/// Goes on with something that is to be said, as one who is gone.
fn go_on(post: &Post, from: &Outgoing, to: &Outgoing) {
    gone(post, |name| {
        assert!(post.inbox.move_outgoing(from, to, name).unwrap());
    });
}

fn note(post: &Post, text: &str) {
    let note = json!({ "ref": "task:T-1", "note": text, "notify": [] });
    run::<Note>(&post.inbox, "ada", note);
}

#[test]
fn a_topic_is_made_once_when_its_maker_dies_or_the_receipt_is_lost() {
    both(|post| {
        let cases: [fn(&Post); 4] = [
            |post| post.stage.devnet.faults().lose(1),
            |post| post.stage.devnet.faults().delay_receipts(2),
            // Written down, and not sent.
            |post| {
                let id = post.ada.net.next_id().to_string();
                gone(post, |name| {
                    assert!(post.inbox.begin_topic(&row(post), Some(&id), name).unwrap());
                });
            },
            // Sent, and not written down what came of it.
            |post| {
                let id = post.ada.net.next_id();
                let text = id.to_string();
                gone(post, |name| {
                    assert!(
                        post.inbox
                            .begin_topic(&row(post), Some(&text), name)
                            .unwrap()
                    );
                });
                let body = CreateTopicBody {
                    memo: "inbox:entity:task:T-1".into(),
                    ..CreateTopicBody::default()
                };
                happen(post, &id, Data::CreateTopic(body)).unwrap();
                // Who comes late with another does not make it either.
                let mut late = row(post);
                late.step_id = None;
                let step = Some("0.0.2@1.1");
                assert!(!post.inbox.begin_topic(&row(post), step, "nobody").unwrap());
                gone(post, |name| {
                    assert!(!post.inbox.begin_topic(&late, step, name).unwrap());
                });
            },
        ];
        for case in cases {
            let post = Post::new(if post.world.folder().is_some() {
                inbox_testkit::world::World::sqlite()
            } else {
                inbox_testkit::world::World::postgres()
            });
            note(&post, "first");
            case(&post);
            post.settle();
            note(&post, "second");
            post.settle();
            let topic = topic_of(&post, TopicPlace::Entity, "task:T-1").unwrap();
            assert_eq!(topics_of(&post, "inbox:entity:"), [topic]);
            let said = stands(&post, topic);
            let notes: Vec<_> = said.iter().map(|(_, said)| &said["note"]).collect();
            assert_eq!(notes, ["first", "second"]);
            assert_eq!(post.states(), [(RecordState::Confirmed, 2)]);
        }
    });
}

#[test]
fn two_bridges_make_one_topic() {
    both(|post| {
        note(&post, "first");
        let other = post.world.another();
        let mut first = post.bridge(&post.inbox);
        let mut second = post.bridge(&other);
        for _ in 0..3 {
            first.turn().unwrap();
            second.turn().unwrap();
            post.world.advance_ms(31_000);
            second.turn().unwrap();
            first.turn().unwrap();
        }
        assert_eq!(topics_of(&post, "inbox:entity:").len(), 1);
        assert_eq!(post.states(), [(RecordState::Confirmed, 1)]);
    });
}

#[test]
fn a_large_note_goes_through_one_file_which_is_gone_on_with() {
    let cases: [fn(&Post, &Outgoing); 4] = [
        |post, _| post.stage.devnet.faults().lose(3),
        // Its topic was made, which nobody wrote down.
        |post, outgoing| {
            let id = post.ada.net.next_id();
            let mut begun = outgoing.clone();
            begun.file = Some("begun".into());
            begun.step_id = Some(id.to_string());
            go_on(post, outgoing, &begun);
            made(post, &id, outgoing);
        },
        // Its first message is there, which nobody wrote down.
        |post, outgoing| {
            let topic = made(post, &post.ada.net.next_id(), outgoing);
            let (first, hash) = messages(outgoing);
            let id = post.ada.net.next_id();
            let mut under_way = outgoing.clone();
            under_way.file = Some(format!("{topic} 0 {hash}"));
            under_way.step_id = Some(id.to_string());
            go_on(post, outgoing, &under_way);
            let body = SubmitMessageBody {
                topic_id: Some(topic.into()),
                message: first.into_bytes(),
                chunk_info: None,
            };
            happen(post, &id, Data::SubmitMessage(body));
        },
        // It is whole, and nothing leads to it.
        |post, outgoing| {
            let topic = made(post, &post.ada.net.next_id(), outgoing);
            let content = outgoing.content.clone().unwrap();
            for message in write(&content).messages {
                let fees = inbox_bridge::Fees::None;
                post.ada
                    .net
                    .write(topic, message.as_bytes(), "", fees)
                    .unwrap();
            }
            let mut whole = outgoing.clone();
            whole.file = Some(topic.to_string());
            go_on(post, outgoing, &whole);
        },
    ];
    for case in cases {
        both_with(case, |post, case| {
            let text = noise(6_000);
            note(&post, &text);
            let leaving = post
                .inbox
                .leaving(row(&post).topic_no, 1)
                .unwrap()
                .remove(0);
            case(&post, &leaving.outgoing);
            post.settle();
            let topic = topic_of(&post, TopicPlace::Entity, "task:T-1").unwrap();
            let said = stands(&post, topic);
            assert_eq!(said.len(), 1);
            let pointer = said[0].1["note"].as_str().unwrap();
            let file: TopicId = pointer.strip_prefix("hcs://1/").unwrap().parse().unwrap();
            let memo = write(leaving.outgoing.content.as_deref().unwrap()).memo;
            assert_eq!(topics_of(&post, &memo.to_string()), [file]);
            let found = inbox_bridge::file::get(post.ada.net.mirror(), file).unwrap();
            let found: serde_json::Value = serde_json::from_slice(&found.content).unwrap();
            assert_eq!(found["note"], text);
            assert_eq!(post.states(), [(RecordState::Confirmed, 1)]);
        });
    }
}

fn both_with<C: Copy>(case: C, test: fn(Post, C)) {
    test(Post::new(inbox_testkit::world::World::sqlite()), case);
    test(Post::new(inbox_testkit::world::World::postgres()), case);
}

/// A text that does not compress into one message.
pub(crate) fn noise(length: usize) -> String {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + u8::try_from((state >> 24) % 26).unwrap())
    };
    (0..length).map(|_| next()).collect()
}

fn write(content: &str) -> inbox_hcs::Written {
    let (mime, limits) = (Mime::json(), Limits::default());
    write_file(content.as_bytes(), &mime, Algorithm::Brotli, &limits).unwrap()
}

/// The first message of a file, and the hash by which it is gone on with.
fn messages(outgoing: &Outgoing) -> (String, String) {
    let written = write(outgoing.content.as_deref().unwrap());
    assert!(written.messages.len() > 1);
    let hash = Hash::of(written.messages.concat().as_bytes()).to_string();
    (written.messages[0].clone(), hash[..12].to_owned())
}

fn made(post: &Post, id: &TransactionId, outgoing: &Outgoing) -> TopicId {
    let written = write(outgoing.content.as_deref().unwrap());
    let body = CreateTopicBody {
        memo: written.memo.to_string(),
        submit_key: Some(Key::from(&post.ada.net.key().public().unwrap())),
        ..CreateTopicBody::default()
    };
    happen(post, id, Data::CreateTopic(body)).unwrap()
}
