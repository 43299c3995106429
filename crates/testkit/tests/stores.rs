//! The contract suite on both stores, one process: the private PostgreSQL cluster starts once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

inbox_testkit::every_rule!(store_contract);

#[path = "stores/notices.rs"]
mod notices;
#[path = "stores/rules.rs"]
mod rules;
#[path = "stores/sharing.rs"]
mod sharing;
#[path = "stores/tokens.rs"]
mod tokens;

mod model {
    //! Random histories give the same answers on SQLite, on PostgreSQL and in a plain model.

    use std::sync::atomic::{AtomicUsize, Ordering};

    use inbox_testkit::model::{Act, Model, Player, history};
    use inbox_testkit::world::World;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    /// How many histories, each of so many steps, and by how many at once, each on stores of its own.
    const HISTORIES: u32 = 1_000;
    const STEPS: usize = 50;
    const LANES: u8 = 4;

    #[test]
    fn sqlite_postgres_and_a_plain_model_answer_alike_1_000_times() {
        std::thread::scope(|scope| {
            let lanes: Vec<_> = (0..LANES)
                .map(|lane| scope.spawn(move || play(lane)))
                .collect();
            for lane in lanes {
                if let Err(panic) = lane.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        });
    }

    /// One lane's part of the histories.
    fn play(lane: u8) {
        let (sqlite, postgres) = (World::in_memory(), World::postgres());
        let count = AtomicUsize::new(0);
        // The same histories each time, so that a change is judged by itself; INBOX_MODEL_CASES=N tries
        // so many new ones.
        let more = std::env::var("INBOX_MODEL_CASES")
            .ok()
            .and_then(|n| n.parse::<u32>().ok());
        let config = Config {
            cases: more.unwrap_or(HISTORIES).div_ceil(u32::from(LANES)),
            failure_persistence: None,
            ..Config::default()
        };
        let mut runner = match more {
            Some(_) => TestRunner::new(config),
            None => {
                let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[lane; 32]);
                TestRunner::new_with_rng(config, rng)
            }
        };
        let outcome = runner.run(&history(STEPS), |seeds| {
            let number = count.fetch_add(1, Ordering::SeqCst);
            let mut model = Model::default();
            let mut players = [Player::new(&sqlite, number), Player::new(&postgres, number)];
            for (step, seed) in seeds.iter().enumerate() {
                let act = seed.act(model.threads(), model.claims());
                if let Act::Pass { millis } = act {
                    sqlite.advance_ms(millis);
                    postgres.advance_ms(millis);
                }
                let expected = model.act(&act);
                for (store, player) in ["SQLite", "PostgreSQL"].iter().zip(&mut players) {
                    prop_assert_eq!(
                        &player.act(&act),
                        &expected,
                        "step {} on {}: {:?}",
                        step,
                        store,
                        act
                    );
                }
            }
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("lane {lane}: {error}");
        }
    }
}

mod mailmodel {
    //! Random histories of mail under a moving clock, on SQLite, on PostgreSQL and in a plain model.

    use std::sync::atomic::{AtomicUsize, Ordering};

    use inbox_testkit::mailmodel::{Act, Model, Player, Seed, history};
    use inbox_testkit::world::World;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    /// Between histories: nobody of the one before lives, and no mail of theirs to all is left.
    const APART: i64 = 40 * 86_400_000;

    /// PostgreSQL, which takes longer, plays every so many histories.
    const EVERY: usize = 4;

    #[test]
    fn sqlite_postgres_and_a_plain_model_deliver_alike() {
        let worlds = [World::sqlite(), World::postgres()];
        let inboxes = [Player::open(&worlds[0]), Player::open(&worlds[1])];
        let count = AtomicUsize::new(0);
        let more = std::env::var("INBOX_MODEL_CASES")
            .ok()
            .and_then(|n| n.parse().ok());
        let config = Config {
            cases: more.unwrap_or(16),
            failure_persistence: None,
            max_shrink_iters: 40,
            ..Config::default()
        };
        let mut runner = match more {
            Some(_) => TestRunner::new(config),
            None => {
                TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
            }
        };
        let outcome = runner.run(&history(60), |seeds| {
            let number = count.fetch_add(1, Ordering::SeqCst);
            let mut model = Model::default();
            let stores = if number.is_multiple_of(EVERY) { 2 } else { 1 };
            let player = |inbox| Player::new(inbox, number);
            let mut players: Vec<_> = inboxes[..stores].iter().map(player).collect();
            let pass = |millis| worlds.iter().for_each(|world| world.advance_ms(millis));
            pass(APART);
            let outcome = play(&seeds, &mut model, &mut players, &pass);
            players.iter().for_each(Player::finish);
            outcome
        });
        if let Err(error) = outcome {
            panic!("{error}");
        }
    }

    fn play(
        seeds: &[Seed],
        model: &mut Model,
        players: &mut [Player<'_>],
        pass: &dyn Fn(i64),
    ) -> Result<(), TestCaseError> {
        for (step, seed) in seeds.iter().enumerate() {
            let act = seed.act(model);
            if let Act::Pass(millis) = act {
                pass(millis);
            }
            let mut expected = vec![(act.clone(), model.act(&act))];
            let look = seed.look(model);
            expected.push((look.clone(), model.act(&look)));
            for (act, answer) in &expected {
                for (store, player) in ["SQLite", "PostgreSQL"].iter().zip(players.iter_mut()) {
                    prop_assert_eq!(
                        &player.act(act),
                        answer,
                        "step {} on {}: {:?}\nas the model has it: {:?}",
                        step,
                        store,
                        act,
                        model
                    );
                }
            }
        }
        Ok(())
    }
}

mod guards {
    use inbox_testkit::guards::agree_with_the_rules;
    use inbox_testkit::world::World;

    #[test]
    fn sqlite_agrees_with_the_rules_on_every_combination() {
        assert!(agree_with_the_rules(&World::sqlite()) > 10_000);
    }

    #[test]
    fn postgres_agrees_with_the_rules_on_every_combination() {
        assert!(agree_with_the_rules(&World::postgres()) > 10_000);
    }
}

mod schema {
    use std::collections::BTreeSet;

    use inbox_store::Location;
    use inbox_testkit::cluster;
    use inbox_testkit::world::World;

    /// Table or view, column, and whether it may be null.
    type Columns = BTreeSet<(String, String, bool)>;

    fn of_sqlite(world: &World) -> Columns {
        let Location::File(path) = world.location() else {
            panic!("a file")
        };
        let database = rusqlite::Connection::open(path).unwrap();
        let text = "SELECT m.name, c.name, c.\"notnull\" = 0 FROM sqlite_master m, pragma_table_info(m.name) c
                     WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'";
        let mut statement = database.prepare(text).unwrap();
        let rows = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    fn of_postgres(world: &World) -> Columns {
        let Location::Postgres(url) = world.location() else {
            panic!("a URL")
        };
        let schema = url.split("schema=").nth(1).unwrap();
        let text = format!(
            "SELECT c.table_name, c.column_name, c.is_nullable FROM information_schema.columns c
               JOIN information_schema.tables t USING (table_schema, table_name)
              WHERE t.table_type = 'BASE TABLE' AND c.table_schema = '{schema}'"
        );
        let lines = cluster::shared().psql(&text);
        lines
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| {
                let cells: Vec<_> = line.split('|').collect();
                (cells[0].to_owned(), cells[1].to_owned(), cells[2] == "YES")
            })
            .collect()
    }

    #[test]
    fn both_databases_have_the_same_tables_and_columns() {
        let (sqlite, mut postgres) = (of_sqlite(&World::sqlite()), of_postgres(&World::postgres()));
        // PostgreSQL numbers events behind the commit, in a column that SQLite does not need.
        assert!(postgres.remove(&("entries".into(), "event_id".into(), true)));
        assert!(postgres.remove(&("deliveries".into(), "event_id".into(), true)));
        // SQLite's search index is a file of its own, and its bell is one too.
        postgres.retain(|(table, ..)| !table.starts_with("search_") && table != "listeners");
        assert_eq!(sqlite, postgres);
        assert!(sqlite.len() > 60);
    }

    #[test]
    fn every_statement_can_be_prepared_on_both_databases() {
        for world in [World::sqlite(), World::postgres()] {
            world
                .inbox()
                .store()
                .prepare_all()
                .expect("the text fits the schema");
        }
    }
}

mod upgrade {
    //! Stores of every schema that landed are kept, and must open in every later version.

    use inbox_ops::{Caller, Done, Inbox, List, Operation, Reply, Show, UpdateStatus, Watch};
    use inbox_store::{Location, Store, sql};
    use inbox_testkit::old;
    use inbox_testkit::sandbox::TempDir;
    use inbox_testkit::world::{World, by, task, update, with_token};
    use serde_json::{Value, json};

    /// Everything that programs can see of a store.
    fn seen(inbox: &Inbox) -> Value {
        let caller = Caller::local(None);
        let listed = List::default().run(inbox, &caller).unwrap();
        let shown: Vec<_> = listed
            .threads
            .iter()
            .map(|thread| Show::of(thread.thread_id).run(inbox, &caller).unwrap())
            .collect();
        let watch = Watch {
            after_event: Some(inbox_core::EventId(0)),
            ..Watch::default()
        };
        json!({ "shown": shown, "events": watch.run(inbox, &caller).unwrap() })
    }

    /// A store with something of everything.
    fn furnish(world: &World) {
        let full = inbox_ops::Send {
            run: "run-1".parse().ok(),
            task: "T1".parse().ok(),
            body: Some("A body\nof two lines".into()),
            payload_json: Some(json!({"n": 1})),
            artifacts: vec![inbox_ops::ArtifactRef {
                path: "notes.md".into(),
                size: None,
                sha256: None,
                media_type: None,
            }],
            ..task("backend", "Add posts")
        };
        let keyed = Caller {
            key: "k-1".parse().ok(),
            session: "s-1".parse().ok(),
            ..by("lead")
        };
        let thread = world.call_as(&keyed, &full).unwrap().thread.thread_id;
        let holder = with_token(world.claim("backend", thread, 600));
        world
            .call_as(
                &holder,
                &inbox_ops::Update {
                    status: Some(UpdateStatus::Blocked),
                    ..update(thread)
                },
            )
            .unwrap();
        let (summary, body, payload_json, artifacts) =
            (Some("Email".to_owned()), None, None, Vec::new());
        let reply = Reply {
            thread,
            to: Vec::new(),
            kind: None,
            summary,
            body,
            payload_json,
            artifacts,
        };
        world.call("lead", &reply).unwrap();
        let done = Done {
            thread,
            summary: Some("Done".into()),
            body: None,
            payload_json: None,
            artifacts: Vec::new(),
        };
        world.call_as(&holder, &done).unwrap();
        world.send("lead", "role:reviewer", "Look at it");
        let held = world.send("lead", "backend", "Held");
        world.claim("backend", held, 604_800);
    }

    #[test]
    fn a_store_of_every_schema_that_landed_opens_and_shows_what_it_held() {
        if std::env::var_os("INBOX_WRITE_FIXTURE").is_some() {
            write_fixture();
        }
        for version in old::LANDED {
            let folder = TempDir::new();
            let path = folder.path().join("coord.db");
            old::lay_down(version, &path);
            let expected = old::seen(version);
            let inbox = Inbox::new(Store::open(&Location::File(path)).unwrap());
            let found = like(&seen(&inbox), &expected);
            assert_eq!(found, expected, "schema {version}");
            assert!(inbox.store().check().unwrap().is_empty());
            let sent = task("backend", "After the upgrade")
                .run(&inbox, &by("lead"))
                .unwrap();
            assert_eq!(sent.thread.status, inbox_core::Status::Pending);
        }
        old::older();
    }

    /// What is found, without keys that a later version added.
    fn like(found: &Value, expected: &Value) -> Value {
        match (found, expected) {
            (Value::Object(found), Value::Object(expected)) => expected
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), like(found.get(key)?, value))))
                .collect(),
            (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => found
                .iter()
                .zip(expected)
                .map(|(one, other)| like(one, other))
                .collect(),
            _ => found.clone(),
        }
    }

    fn write_fixture() {
        let world = World::sqlite();
        furnish(&world);
        let folder = old::fixture(sql::SCHEMA_VERSION);
        std::fs::create_dir_all(&folder).unwrap();
        let database = folder.join("coord.db");
        let _ = std::fs::remove_file(&database);
        world.inbox().store().backup(&database).unwrap();
        let seen = serde_json::to_string_pretty(&seen(world.inbox())).unwrap();
        std::fs::write(folder.join("seen.json"), seen + "\n").unwrap();
    }
}
