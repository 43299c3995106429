//! What is said of an entity elsewhere: by another store, and by plain scripts.

use inbox_bridge::bridge::{Bridge, Turn};
use inbox_bridge::keys::Keys;
use inbox_core::{Auth, Priority};
use inbox_ops::{AgentSet, Claim, Done, Fail, Inbox, Note, Operation as _, Read, Send, Update};
use inbox_store::{RecordState, TopicPlace};
use inbox_testkit::sandbox::TempDir;
use inbox_testkit::world::{World, by};
use serde_json::{Value, json};

use crate::entity::{bare_topic, config, mail_of, note, post_json, run, stands, topic_of};
use crate::mail::{Post, both};
use crate::stage::holder;

/// Another store with the same agents.
struct Other {
    inbox: Inbox,
    folder: TempDir,
    _world: World,
}

impl Other {
    /// One that hears of an entity.
    fn new(post: &Post, world: World, routes: &[(&str, &str, Option<Priority>)]) -> Self {
        let inbox = world.another().with_config(config(routes));
        let folder = TempDir::new();
        let mut keys = Keys::open(&folder.path().join("keys"), "local").unwrap();
        for (name, player) in [("ada", &post.ada), ("ben", &post.ben)] {
            world.send(name, "nobody", "hello");
            let me = &player.me;
            let request = json!({
                "slug": name,
                "account_id": me.account.to_string(),
                "inbound_topic_id": me.inbound_topic.to_string(),
                "outbound_topic_id": me.outbound_topic.to_string(),
            });
            run::<AgentSet>(&inbox, name, request);
            let mut held = holder(&player.net);
            held.inbound = Some(me.inbound_topic);
            held.outbound = Some(me.outbound_topic);
            keys.put(name, &held).unwrap();
        }
        Other {
            inbox,
            folder,
            _world: world,
        }
    }

    fn settle(&self, post: &Post) -> u64 {
        let keys = self.folder.path().join("keys");
        let mut bridge = Bridge::new(&self.inbox, post.stage.network.clone(), keys).unwrap();
        let mut taken = 0;
        loop {
            let turn = bridge.turn().unwrap();
            taken += turn.taken;
            if turn == Turn::default() {
                bridge.leave().unwrap();
                return taken;
            }
        }
    }

    /// How many messages of an entity's topic came to what.
    fn states(&self) -> Vec<(RecordState, i64)> {
        self.inbox.ledger_standing().unwrap().records
    }
}

#[test]
fn the_steps_of_work_on_an_entity_are_wires_there_and_reach_another_store_by_its_routes() {
    both(|post| {
        let topic = bare_topic(&post);
        let entity = topic.to_string();
        let send = json!({ "to": ["ben"], "subject": "build", "priority": "urgent",
            "ref_type": "task", "ref_id": entity });
        let posted = run::<Send>(&post.inbox, "ada", send.clone());
        let thread = posted.thread.thread_id;
        let text = "words without end ".repeat(200);
        run::<Claim>(&post.inbox, "ben", json!({ "thread": thread }));
        run::<Update>(
            &post.inbox,
            "ben",
            json!({ "thread": thread, "status": "blocked",
            "summary": "which one?" }),
        );
        run::<Done>(
            &post.inbox,
            "ben",
            json!({ "thread": thread, "summary": "built",
            "body": text }),
        );
        let second = run::<Send>(&post.inbox, "ada", send).thread.thread_id;
        run::<Claim>(&post.inbox, "ben", json!({ "thread": second }));
        run::<Fail>(
            &post.inbox,
            "ben",
            json!({ "thread": second, "summary": text }),
        );
        post.settle();
        let said = stands(&post, topic);
        let types: Vec<&Value> = said.iter().map(|(_, said)| &said["type"]).collect();
        assert_eq!(types, ["claim", "blocked", "complete", "claim", "blocked"]);
        for (payer, wire) in &said {
            assert_eq!(*payer, post.ben.me.account);
            assert_eq!(
                (&wire["wire"], &wire["sender"]),
                (&json!("1.0"), &json!("ben"))
            );
            assert_eq!(wire["payload"]["task_id"], entity);
        }
        assert_eq!(
            said[0].1["payload"],
            json!({ "task_id": entity, "agent": "ben", "role": "ben" })
        );
        assert_eq!(said[1].1["payload"]["reason"], "which one?");
        assert_eq!(said[2].1["payload"]["summary"], "built");
        assert!(
            said[4].1["x_file"]
                .as_str()
                .unwrap()
                .starts_with("hcs://1/")
        );
        assert_eq!(post.inbox.ledger_standing().unwrap().backlog.count, 0);

        let routes = [
            ("task.blocked", "mindy", Some(Priority::Urgent)),
            ("task.complete", "engine", None),
            ("task.failed", "mindy", None),
        ];
        for world in [World::sqlite(), World::postgres()] {
            let other = Other::new(&post, world, &routes);
            run::<Send>(
                &other.inbox,
                "cleo",
                json!({ "to": ["dan"], "subject": "watch it",
                "ref_type": "task", "ref_id": entity }),
            );
            other.settle(&post);
            assert_eq!(other.states(), [(RecordState::Taken, 5 + 5)]);
            let told = mail_of(&other.inbox, "mindy");
            let types: Vec<&str> = told.iter().map(|(word, ..)| word.as_str()).collect();
            assert_eq!(types, ["task.blocked", "task.failed"]);
            assert_eq!(told[0].2, Priority::Urgent);
            assert!(told[1].1.split_whitespace().count() >= 150, "{}", told[1].1);
            let told = mail_of(&other.inbox, "engine");
            assert_eq!(
                (told[0].0.as_str(), told[0].1.as_str()),
                ("task.complete", "built")
            );
            assert_eq!(other.settle(&post), 0);
        }
    });
}

#[test]
fn a_note_of_a_plain_script_is_delivered_once_to_those_it_names_and_by_the_routes() {
    both(|mut post| {
        let urgent = Some(Priority::High);
        post.inbox = post
            .world
            .another()
            .with_config(config(&[("*.note", "engine", urgent)]));
        run::<Note>(&post.inbox, "ada", note("task:T-1", "mine", &[]));
        post.settle();
        let topic = topic_of(&post, TopicPlace::Entity, "task:T-1").unwrap();
        let said = json!({ "type": "task.note", "from_agent": "ben", "note": "all *good*",
            "notify": ["ada", "Justin", "not an address"], "ts": "2027-01-15T08:00:00Z" });
        post_json(&post.ben.net, topic, &said);
        post.settle();
        let first = mail_of(&post.inbox, "ada");
        let expected = (
            "task.note".to_owned(),
            "all *good*".to_owned(),
            Priority::High,
        );
        assert_eq!(first, std::slice::from_ref(&expected));
        assert_eq!(
            mail_of(&post.inbox, "justin"),
            std::slice::from_ref(&expected)
        );
        assert_eq!(mail_of(&post.inbox, "engine").len(), 2);
        let all = Read::default()
            .run(&post.inbox, &by("ada"))
            .unwrap()
            .messages;
        assert_eq!((all[0].auth, all[0].verified), (Auth::Ledger, true));
        assert_eq!(all[0].from_agent.as_str(), "ben");
        let states = [(RecordState::Confirmed, 1), (RecordState::Taken, 1)];
        assert_eq!(post.states(), states);
        // Whoever reads the topic from its beginning takes in the same: the UUID follows from where it stands.
        let uid = all[0].uid.clone();
        assert_eq!(uid.len(), 36);
        let other = Other::new(&post, World::sqlite(), &[]);
        let send = json!({ "to": ["dan"], "subject": "s", "ref_type": "task", "ref_id": topic.to_string() });
        run::<Send>(&other.inbox, "cleo", send);
        other.settle(&post);
        let there = Read::default()
            .run(&other.inbox, &by("ada"))
            .unwrap()
            .messages;
        assert_eq!(there[0].uid, uid);
    });
}
