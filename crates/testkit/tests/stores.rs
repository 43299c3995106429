//! The contract suite on both stores, one process: the private PostgreSQL cluster starts once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

inbox_testkit::store_contract! {
    leases {
        a_claim_gives_a_token_an_epoch_and_a_deadline
        a_second_claim_is_refused_while_the_lease_lives
        a_worker_whose_lease_was_taken_over_leaves_no_trace
        an_expired_lease_is_refused_even_when_nobody_took_it
        two_workers_of_one_name_are_told_apart_by_token
        two_workers_of_one_name_are_told_apart_by_session
        a_name_suffices_while_it_has_claimed_the_thread_once
        a_token_alone_identifies_its_holder
        a_renewed_lease_outlives_its_first_deadline
        a_released_thread_is_pending_again_and_its_token_worthless
        a_cancelled_thread_takes_the_lease_from_its_holder
        a_finished_thread_is_final_and_takes_messages
        a_pending_thread_has_nobody_to_write_for_it
        a_claim_by_somebody_else_is_recorded_as_an_override
        a_result_in_a_work_thread_is_the_holders_alone
        a_token_of_another_thread_is_ignored_by_messages_and_refused_by_writes
        a_write_that_met_another_is_decided_again
        an_update_can_start_block_and_start_again
        the_holders_token_in_anothers_hands_is_no_proof_and_no_hindrance
        a_forged_token_meets_what_is_missing_or_final_before_it_is_told_that_it_proves_nothing
    }
    queue {
        the_most_urgent_then_the_oldest_is_claimed_first
        a_lapsed_lease_is_claimable_in_its_old_place
        work_for_several_is_claimed_by_one
        a_conversation_is_not_work
        what_expired_before_a_claim_is_not_offered
        fetch_and_list_change_nothing
        fetch_by_status_shows_what_is_not_claimable
        a_page_that_is_cut_short_says_so_and_can_go_on
        list_filters_by_every_label
        a_final_thread_leaves_the_queue
        unread_keeps_threads_with_a_message_by_somebody_else
        who_writes_must_say_who_it_is
    }
    keys {
        a_keyed_retry_gives_the_first_answer_unchanged
        a_keyed_claim_gives_its_token_again
        a_key_with_other_content_is_a_conflict
        refusals_and_empty_claims_are_not_remembered
        a_keyed_retry_by_token_works_after_the_work_is_over
        a_keyed_message_is_added_once
    }
    cursors {
        events_are_numbered_without_gap_in_the_order_of_commits
        a_cursor_gives_nothing_twice_and_misses_nothing
        a_watch_without_a_cursor_starts_now
        a_watch_by_an_agent_shows_what_concerns_it_by_others
        renewals_wake_nobody
        a_wait_returns_the_oldest_reply_and_its_own_event
        a_wait_passes_over_other_kinds_and_own_messages
        a_wait_without_a_cursor_starts_after_the_callers_last_message
        a_wait_after_a_message_starts_there
        a_waiter_whose_lease_is_lost_is_told
        a_cancellation_wakes_the_waiter_with_its_control_message
        a_refused_write_appends_no_event
    }
    mail {
        a_message_comes_back_as_it_was_sent
        what_was_not_given_is_empty
        a_send_says_how_each_address_was_read
        hostile_text_is_data
        what_is_too_large_is_refused
        what_is_missing_is_refused
    }
}

mod model {
    //! Random histories give the same answers on SQLite, on PostgreSQL and in a plain model.

    use std::sync::atomic::{AtomicUsize, Ordering};

    use inbox_testkit::model::{Act, Model, Player, history};
    use inbox_testkit::world::World;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    #[test]
    fn sqlite_postgres_and_a_plain_model_answer_alike() {
        let (sqlite, postgres) = (World::sqlite(), World::postgres());
        let count = AtomicUsize::new(0);
        // The same histories each time, so that a change is judged by itself; INBOX_MODEL_CASES=N tries
        // so many new ones.
        let more = std::env::var("INBOX_MODEL_CASES")
            .ok()
            .and_then(|n| n.parse().ok());
        let config = Config {
            cases: more.unwrap_or(120),
            failure_persistence: None,
            ..Config::default()
        };
        let mut runner = match more {
            Some(_) => TestRunner::new(config),
            None => {
                TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
            }
        };
        let outcome = runner.run(&history(50), |seeds| {
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
            panic!("{error}");
        }
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

    use std::path::{Path, PathBuf};

    use inbox_ops::{Caller, Done, Inbox, List, Operation, Reply, Show, UpdateStatus, Watch};
    use inbox_store::{Location, Store, sql};
    use inbox_testkit::sandbox::TempDir;
    use inbox_testkit::world::{World, by, task, update, with_token};
    use serde_json::{Value, json};

    fn fixtures() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
    }

    /// Everything that programs can see of a store.
    fn seen(inbox: &Inbox) -> Value {
        let caller = Caller::local(None);
        let listed = List::default().run(inbox, &caller).unwrap();
        let shown: Vec<_> = listed
            .threads
            .iter()
            .map(|thread| {
                Show {
                    thread: thread.thread_id,
                }
                .run(inbox, &caller)
                .unwrap()
            })
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
        let mut versions = 0;
        for entry in std::fs::read_dir(fixtures()).unwrap() {
            let fixture = entry.unwrap().path();
            let folder = TempDir::new();
            let path = folder.path().join("coord.db");
            std::fs::copy(fixture.join("coord.db"), &path).unwrap();
            let expected: Value =
                serde_json::from_str(&std::fs::read_to_string(fixture.join("seen.json")).unwrap())
                    .unwrap();
            let inbox = Inbox::new(Store::open(&Location::File(path)).unwrap());
            assert_eq!(seen(&inbox), expected, "{}", fixture.display());
            assert!(inbox.store().check().unwrap().is_empty());
            let sent = task("backend", "After the upgrade")
                .run(&inbox, &by("lead"))
                .unwrap();
            assert_eq!(sent.thread.status, inbox_core::Status::Pending);
            versions += 1;
        }
        assert!(versions > 0);
        assert!(
            fixtures()
                .join(format!("schema-{}", sql::SCHEMA_VERSION))
                .exists(),
            "this schema has no fixture yet"
        );
    }

    fn write_fixture() {
        let world = World::sqlite();
        furnish(&world);
        let folder = fixtures().join(format!("schema-{}", sql::SCHEMA_VERSION));
        std::fs::create_dir_all(&folder).unwrap();
        let database = folder.join("coord.db");
        let _ = std::fs::remove_file(&database);
        world.inbox().store().backup(&database).unwrap();
        let seen = serde_json::to_string_pretty(&seen(world.inbox())).unwrap();
        std::fs::write(folder.join("seen.json"), seen + "\n").unwrap();
    }
}
