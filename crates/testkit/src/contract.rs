//! The contract of every store: one function a rule, run on SQLite and on PostgreSQL.

#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod addresses;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod board;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod circles;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod cursors;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod expiry;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod glance;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod hostile;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod keys;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod leases;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod locks;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod mail;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod memory;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod proof;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod queue;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod receipts;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod roster;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod search;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod steering;
#[expect(missing_docs, reason = "the name of a rule says it")]
pub mod waits;

/// Expands to one named test for each rule in a world of another sort.
#[macro_export]
macro_rules! contract_in {
    ($world:path: $($module:ident { $($rule:ident)* })*) => {
        $(mod $module { $(
            #[test]
            fn $rule() { inbox_testkit::contract::$module::$rule(&$world()); }
        )* })*
    };
}

/// Expands to one named test for each rule on each store.
#[macro_export]
macro_rules! store_contract {
    ($($module:ident { $($rule:ident)* })*) => {
        mod sqlite { $(mod $module { $(
            #[test]
            fn $rule() { inbox_testkit::contract::$module::$rule(&inbox_testkit::world::World::sqlite()); }
        )* })* }
        mod postgres { $(mod $module { $(
            #[test]
            fn $rule() { inbox_testkit::contract::$module::$rule(&inbox_testkit::world::World::postgres()); }
        )* })* }
    };
}

/// Gives every rule to another macro, behind what it is given itself.
#[macro_export]
macro_rules! every_rule {
    ($then:ident $($first:tt)*) => {
        $crate::$then! {
            $($first)*
            glance {
                a_header_is_shown_once_to_a_session_and_stays_unread
                what_is_shown_and_what_is_only_counted_are_two_steps
                what_came_after_an_event_is_not_told_and_the_door_is_on_the_receipt
                the_urgent_comes_first_and_can_be_had_alone
                a_glance_that_finds_nothing_writes_nothing_but_that_somebody_is_there
                what_the_caller_holds_is_told_while_the_lease_lives
                who_has_no_session_is_told_once_and_a_stranger_nothing
            }
            leases {
                no_two_claims_have_the_same_secret
                a_claim_gives_a_token_an_epoch_and_a_deadline
                anothers_session_proves_nothing
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
            }
            proof {
                the_holders_token_in_anothers_hands_is_no_proof_and_no_hindrance
                a_forged_token_meets_what_is_missing_or_final_before_it_is_told_that_it_proves_nothing
                a_claim_of_one_thread_takes_no_labels
                a_claim_by_who_is_reached_is_no_override
                a_token_with_another_secret_proves_nothing
                a_session_that_never_held_a_thread_may_write_into_it
            }
            locks {
                a_locked_name_is_its_persons_alone
                who_has_not_shown_to_be_a_person_makes_no_tokens_or_persons_once_one_is_locked
                over_the_network_an_agent_makes_no_person_and_no_token_of_one
                a_lock_is_changed_and_taken_away_by_whom_it_is_of
            }
            board {
                what_each_has_not_read_is_counted_as_it_is_for_one
                a_thread_is_shown_in_pages_from_its_end
                a_list_goes_on_behind_its_last_thread
                what_is_urgent_is_on_the_desk_wherever_it_lies
            }
            memory {
                what_has_more_and_rarer_words_is_found_first
                what_is_forgotten_is_gone_and_its_id_is_not_used_again
                a_thread_is_remembered_once
                a_prompt_has_what_is_remembered_about_its_work
            }
            steering {
                a_question_stands_on_the_desk_until_it_is_answered
                work_that_is_given_away_is_lost_to_its_holder_and_claimable_there
                a_channel_shows_what_was_said_to_it_whoever_read_it
                the_flow_of_work_is_counted
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
                a_keyed_write_is_remembered_before_there_is_any_mail
                a_keyed_retry_after_its_thread_was_archived_gives_the_first_answer_unchanged
                what_is_written_after_an_archive_began_is_not_archived_by_it
                a_key_with_other_content_is_a_conflict
                refusals_and_empty_claims_are_not_remembered
                a_keyed_retry_by_token_works_after_the_work_is_over
                a_keyed_message_is_added_once
                a_keyed_note_keeps_the_words_of_what_it_is_about
            }
            waits {
                a_lease_that_has_just_begun_is_left_alone_for_a_third_of_it
                who_begins_to_wait_in_the_last_third_renews_at_once
                who_has_lost_its_parent_keeps_no_lease
                a_session_that_claims_anew_ends_its_own_older_wait
                nobody_keeps_the_lease_of_another_by_waiting
                a_wait_takes_as_long_as_it_says_and_is_over_with_its_reply
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
                a_watch_gives_500_events_at_once_and_goes_on_behind_the_last
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
                a_message_is_read_by_its_id_and_the_others_stay_new
                a_page_that_is_just_full_is_the_last
                what_one_session_read_of_a_tag_another_of_the_agent_still_finds
            }
            circles {
                agents_that_take_turns_without_a_person_are_stopped
                a_chain_of_messages_without_a_person_is_stopped
                a_ring_of_fifty_who_pass_mail_on_is_stopped
                what_is_reported_follows_from_the_last_word
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
    };
}
