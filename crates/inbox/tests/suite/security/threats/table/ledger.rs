//! The threats from a ledger, and from what the program is built from.

use super::{Cases, Held, Threat};

pub(super) const THREATS: [Threat; 11] = [
    Threat {
        number: 16,
        attack: "`operator_id` names another's account on a topic that anybody may write to",
        defence: "Who paid must be who is named, and the topic must be the one of that account's profile; anything else is put aside",
        held: &[Held(
            "crates/bridge/tests/suite/spoofs.rs",
            "two_hundred_spoofs_over_all_operations_change_nothing",
            Cases::Of(&["SPOOFS"]),
        )],
    },
    Threat {
        number: 17,
        attack: "A proposal says one thing and its bytes do another",
        defence: "What is shown is read from the scheduled bytes; what cannot be read cannot be approved; nothing is signed by itself",
        held: &[
            Held(
                "crates/bridge/tests/suite/approvals.rs",
                "what_cannot_be_read_cannot_be_approved",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/approvals.rs",
                "once_a_person_is_locked_nobody_signs_without_a_passphrase",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/proposals.rs",
                "who_signs_a_change_of_keys_sees_all_of_it",
                Cases::Untold,
            ),
            Held(
                "crates/hedera/tests/suite/sdk.rs",
                "a_transaction_that_was_cut_or_bent_is_never_taken_for_the_one_that_was_signed",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 18,
        attack: "Old messages are sent again, here or on another topic",
        defence: "A message of the ledger is its topic and number; a message's UUID is taken once, from its sender",
        held: &[
            Held(
                "crates/bridge/tests/suite/spoofs.rs",
                "two_hundred_spoofs_over_all_operations_change_nothing",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/killed.rs",
                "bridges_that_die_anywhere_leave_what_a_clean_run_makes",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/replays.rs",
                "a_thousand_messages_that_are_said_ten_times_among_restarts_are_taken_in_once_each",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 19,
        attack: "A mirror lies, lags, leaves out, repeats, reorders or leads elsewhere",
        defence: "Numbers must follow each other, running hashes must add up, links to other hosts are not followed",
        held: &[
            Held(
                "crates/bridge/tests/suite/compare.rs",
                "whatever_is_changed_missing_added_or_out_of_order_is_named",
                Cases::Of(&["TAMPERING"]),
            ),
            Held(
                "crates/bridge/tests/suite/files.rs",
                "a_mirror_that_changes_or_drops_a_message_is_caught",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/rewound.rs",
                "a_mirror_that_calls_a_message_a_piece_of_another_loses_none",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/rewound.rs",
                "a_mirror_that_is_behind_or_has_no_list_is_waited_for",
                Cases::Untold,
            ),
            Held(
                "crates/hedera/tests/suite/mirror.rs",
                "a_list_that_goes_elsewhere_round_in_circles_or_on_for_ever_is_given_up",
                Cases::Untold,
            ),
            Held(
                "crates/hedera/tests/suite/stream.rs",
                "a_stream_that_breaks_repeats_and_leaves_out_gives_every_message_once",
                Cases::Untold,
            ),
            Held(
                "crates/hedera/src/mirror/properties.rs",
                "whatever_a_mirror_answers_it_is_read_or_named_by_its_place",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 20,
        attack: "A flood on a public topic",
        defence: "Each payer has its measure and each topic too, counted after the cursor moved; what is too much is counted and not kept; strangers raise no priority",
        held: &[
            Held(
                "crates/bridge/tests/suite/flood.rs",
                "a_hundred_thousand_around_a_hundred_hold_up_nobody_and_cost_little",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/flood.rs",
                "a_thousand_payers_around_a_hundred_displace_nobody_and_cost_no_more_than_ten",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/flood.rs",
                "strangers_who_ask_or_refuse_leave_room_for_others_and_cost_a_bounded_number_of_rows",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 21,
        attack: "Garbage where JSON belongs: depth, doubled keys, huge numbers, lone surrogates, wrong types",
        defence: "One strict decoder with limits; every field refuses every wrong type; a bad message never stops the next",
        held: &[
            Held(
                "crates/hcs/tests/suite/hostile.rs",
                "what_is_no_json_or_two_things_at_once_is_refused",
                Cases::Of(&["CASES"]),
            ),
            Held(
                "crates/hcs/tests/suite/hostile.rs",
                "ids_and_numbers_that_overflow_are_refused",
                Cases::Of(&["OVERFLOWS"]),
            ),
            Held(
                "crates/wire/tests/suite/hostile.rs",
                "every_field_refuses_every_wrong_type_at_its_own_pointer",
                Cases::Of(&["WRONG_TYPES"]),
            ),
            Held(
                "crates/wire/tests/suite/hostile.rs",
                "what_only_looks_like_a_slug_is_refused_everywhere",
                Cases::Of(&["NOT_SLUGS"]),
            ),
            Held(
                "crates/wire/tests/suite/hostile.rs",
                "texts_that_must_not_get_as_far_as_a_wire_are_stopped_by_the_decoder",
                Cases::Of(&["DAMAGED"]),
            ),
            Held(
                "cli/hostile.rs",
                "files_that_are_no_wires_are_refused_by_name",
                Cases::Of(&["FILES"]),
            ),
            Held(
                "cli/hostile.rs",
                "files_that_are_no_cards_are_nobodys",
                Cases::Of(&["FILES"]),
            ),
            Held(
                "crates/hcs/tests/suite/fuzz.rs",
                "damaged_messages_are_answered",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/poison.rs",
                "what_no_store_can_hold_is_put_aside_and_the_topic_goes_on",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/rewound.rs",
                "what_never_comes_whole_is_kept_with_its_reason",
                Cases::Untold,
            ),
            Held(
                "crates/wire/tests/suite/fuzz.rs",
                "damaged_documents_are_answered",
                Cases::Untold,
            ),
            Held(
                "crates/surfaces/src/far/properties.rs",
                "whatever_a_server_answers_is_what_was_asked_for_or_refused",
                Cases::Untold,
            ),
            Held(
                "crates/surfaces/src/far/properties.rs",
                "no_operation_takes_an_empty_answer_for_its_own",
                Cases::Untold,
            ),
            Held(
                "crates/ops/src/exchange/properties.rs",
                "every_message_of_a_damaged_database_is_taken_or_named_by_its_place",
                Cases::Untold,
            ),
            Held(
                "crates/ops/src/exchange/mailbox/fuzz.rs",
                "damaged_lines_are_taken_or_reported",
                Cases::Untold,
            ),
            Held(
                "crates/surfaces/src/tui/keys.rs",
                "any_bytes_are_keys_or_nothing_and_cost_no_more_than_they_are",
                Cases::Untold,
            ),
            Held(
                "crates/core/src/properties.rs",
                "whatever_a_text_is_it_is_read_or_refused",
                Cases::Untold,
            ),
            Held(
                "crates/hcs/src/properties.rs",
                "a_damaged_proof_is_refused_or_says_what_it_said",
                Cases::Untold,
            ),
            Held(
                "crates/hedera/src/properties.rs",
                "whatever_bytes_are_they_are_a_message_or_none",
                Cases::Untold,
            ),
            Held(
                "crates/store/src/postgres/properties.rs",
                "whatever_a_server_says_ends_in_an_answer_or_a_failure",
                Cases::Untold,
            ),
            Held(
                "crates/store/src/search/properties.rs",
                "whatever_is_asked_for_is_words_that_no_index_takes_for_anything_else",
                Cases::Untold,
            ),
            Held(
                "crates/ops/src/properties.rs",
                "whatever_stands_in_a_request_it_is_taken_as_it_is_or_refused",
                Cases::Untold,
            ),
            Held(
                "crates/runner/src/properties.rs",
                "whatever_a_client_prints_is_read_as_far_as_it_means_something",
                Cases::Untold,
            ),
            Held(
                "crates/runner/src/properties.rs",
                "whatever_an_agent_says_ends_its_turn_or_leaves_it_open",
                Cases::Untold,
            ),
            Held(
                "crates/surfaces/src/mcp/stdio.rs",
                "whatever_a_client_says_is_a_message_or_answered",
                Cases::Untold,
            ),
            Held(
                "crates/surfaces/src/cli/config/tests.rs",
                "whatever_a_file_of_settings_says_it_is_read_or_refused",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 22,
        attack: "An HCS-1 file that explodes, lacks chunks, or is not what its topic says",
        defence: "Caps hold while it is read, windows are checked first, the hash must be the topic's",
        held: &[
            Held(
                "crates/hcs/tests/suite/bomb.rs",
                "bombs_are_refused_while_they_are_read",
                Cases::Untold,
            ),
            Held(
                "crates/hcs/tests/suite/bomb.rs",
                "an_index_out_of_range_is_refused_at_once",
                Cases::Untold,
            ),
            Held(
                "crates/hcs/tests/suite/bomb.rs",
                "a_million_chunks_end_at_the_limit",
                Cases::Untold,
            ),
            Held(
                "crates/hcs/tests/suite/bomb.rs",
                "bombs_cost_their_reader_no_more_than_what_it_may_need",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/files.rs",
                "a_file_that_is_not_what_its_topic_says_is_refused",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/files.rs",
                "a_file_without_end_is_given_up_at_its_bound",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 23,
        attack: "Links that lead to links, round in circles",
        defence: "A link is followed once, and never one inside what it led to; a registry's moves three times, and never back",
        held: &[
            Held(
                "crates/bridge/tests/suite/links.rs",
                "a_link_is_followed_once_and_never_one_inside_what_it_led_to",
                Cases::Of(&["CHAIN"]),
            ),
            Held(
                "crates/bridge/tests/suite/links.rs",
                "each_of_a_thousand_links_in_a_row_is_fetched_once",
                Cases::Untold,
            ),
            Held(
                "crates/hcs/tests/suite/registry.rs",
                "moves_are_followed_three_times_and_never_back",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 24,
        attack: "Malicious memos: overflow, foreign digits, negative times, ids of nobody",
        defence: "A strict reader of ASCII digits with checked arithmetic; what it reads, it writes again",
        held: &[
            Held(
                "crates/hcs/tests/suite/memo.rs",
                "malicious_memos_are_refused",
                Cases::Of(&["MALICIOUS"]),
            ),
            Held(
                "crates/hcs/tests/suite/memo.rs",
                "a_million_random_memos_are_answered",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 25,
        attack: "A ledger whose history is another than it was",
        defence: "Running hashes are kept and computed again; what does not follow stops the reader, and nothing is delivered again in silence",
        held: &[
            Held(
                "crates/hcs/src/audit.rs",
                "what_was_changed_left_out_or_put_back_is_found",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/compare.rs",
                "a_mirror_that_lies_is_told_from_a_store_that_was_changed",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/rewound.rs",
                "a_ledger_that_was_put_back_stops_its_topics_and_delivers_nothing_again",
                Cases::Untold,
            ),
            Held(
                "crates/inbox/tests/suite/hcs/rewound.rs",
                "a_bridge_that_meets_a_ledger_that_was_put_back_ends_with_fifty_and_delivers_nothing_again",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 26,
        attack: "What the program is built from",
        defence: "A lock file with hashes; few packages under few licences; `make audit`; no `unsafe` but in one module; a bill of materials; packages that are the same bytes twice",
        held: &[
            Held(
                "house.rs",
                "unsafe_code_is_forbidden_everywhere_but_in_one_module",
                Cases::Untold,
            ),
            Held("house.rs", "every_dependency_may_be_used", Cases::Untold),
            Held(
                "house.rs",
                "the_binary_is_built_from_few_packages",
                Cases::Untold,
            ),
            Held(
                "packaging.rs",
                "the_bill_of_materials_has_every_package_of_the_lock_that_is_linked",
                Cases::Untold,
            ),
            Held(
                "packaging.rs",
                "the_same_binary_gives_the_same_package_and_files_that_nobody_but_root_changes",
                Cases::Untold,
            ),
        ],
    },
];
