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
        a_holder_that_waits_knows_when_to_renew_whatever_day_it_thinks_it_is
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
    search {
        words_of_subject_summary_body_and_payload_are_found
        the_newest_come_first_and_a_page_says_whether_there_is_more
        the_best_come_first_on_request
        every_filter_narrows_what_is_found
        what_was_sent_after_the_last_search_is_found_at_once
        a_search_appends_no_event
        a_hostile_query_is_text
        a_query_without_words_is_refused
        searchers_and_senders_at_once_find_everything_once
        archived_messages_are_found_after_those_in_the_store
        a_message_in_the_store_and_in_an_archive_is_found_once
    }
    roster {
        reserved_names_and_what_looks_like_them_cannot_write
        reserved_names_and_what_looks_like_them_cannot_be_added
        a_reserved_name_keeps_its_kind
        a_display_name_that_looks_like_another_agent_is_refused
        a_removed_agent_keeps_its_mail_and_is_back_with_its_next_write
        a_session_alone_says_who_calls
        a_session_of_another_agent_is_refused
        roles_and_tags_are_set_added_and_dropped
        a_silent_session_counts_as_dead_and_is_alive_again_when_seen
        an_ended_session_goes_on_only_by_beginning_again
        a_person_is_reached_as_human
    }
    addresses {
        a_bare_name_is_read_as_session_then_agent_then_role
        an_open_name_reaches_the_agent_that_first_appears
        an_open_name_reaches_the_role_that_first_appears
        an_open_name_joins_a_role_that_had_mail_already
        what_binds_late_is_not_lost_behind_a_bookmark
        a_role_message_waits_for_a_later_holder_until_one_acknowledges
        work_for_a_role_is_mail_until_one_claims_it_and_again_when_released
        work_for_a_tag_or_all_is_claimed_by_exactly_one
        tag_mail_is_read_by_each_session_and_comes_once
        a_message_by_several_addresses_is_counted_once
        a_dead_session_is_refused
        a_ledger_address_is_recorded_as_pending
        a_sender_is_told_of_silence_and_of_what_is_unread
        one_address_in_several_spellings_is_one
    }
    expiry {
        mail_to_a_frozen_session_waits_and_does_not_age
        a_reader_without_a_session_does_not_lose_a_sleepers_mail
        a_sleepers_other_addresses_age_on
        each_mode_has_its_time_and_a_sender_may_say_another
        a_message_expires_at_each_address_by_itself
        what_expired_leaves_the_polls_and_stays_in_show
        a_broadcast_is_for_the_living_and_for_who_comes_within_its_time
    }
    receipts {
        reading_leaves_one_receipt_and_looking_none
        the_ladder_shows_queued_read_acked_and_acted
        the_ladder_names_everybody_who_is_reached
        own_messages_are_never_unread
        what_one_session_passes_over_as_its_own_another_finds_or_never_had
        pages_and_bookmarks_lose_and_repeat_nothing
        a_keyed_read_gives_the_same_page_again
        mail_with_one_owner_is_acknowledged_once
        mail_to_a_tag_or_all_is_acknowledged_by_each
        acknowledging_ends_a_pending_conversation_and_never_work
        who_is_not_reached_cannot_acknowledge
        a_whole_thread_is_acknowledged_as_far_as_it_is_the_callers
        unread_mail_is_counted_up_to_a_thousand
    }
    circles {
        agents_that_take_turns_without_a_person_are_stopped
        a_chain_of_messages_without_a_person_is_stopped
        saying_the_same_again_and_again_is_stopped
        the_person_hears_of_a_circle_once_in_a_window
        work_may_end_and_ask_although_agents_go_in_circles
    }
    hostile {
        hostile_words_are_refused_clearly_or_kept
        extreme_numbers_and_lists_are_refused_clearly
        hostile_json_is_refused_or_comes_back_as_it_was
        a_payload_that_can_be_sent_can_be_read_and_sent_again
        names_with_wildcards_reach_only_themselves
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
        let mut versions = 0;
        for entry in std::fs::read_dir(fixtures()).unwrap() {
            let fixture = entry.unwrap().path();
            let name = fixture.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with("schema-") {
                continue;
            }
            let folder = TempDir::new();
            let path = folder.path().join("coord.db");
            std::fs::copy(fixture.join("coord.db"), &path).unwrap();
            let expected: Value =
                serde_json::from_str(&std::fs::read_to_string(fixture.join("seen.json")).unwrap())
                    .unwrap();
            let inbox = Inbox::new(Store::open(&Location::File(path)).unwrap());
            let found = like(&seen(&inbox), &expected);
            assert_eq!(found, expected, "{}", fixture.display());
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
        let folder = fixtures().join(format!("schema-{}", sql::SCHEMA_VERSION));
        std::fs::create_dir_all(&folder).unwrap();
        let database = folder.join("coord.db");
        let _ = std::fs::remove_file(&database);
        world.inbox().store().backup(&database).unwrap();
        let seen = serde_json::to_string_pretty(&seen(world.inbox())).unwrap();
        std::fs::write(folder.join("seen.json"), seen + "\n").unwrap();
    }
}
