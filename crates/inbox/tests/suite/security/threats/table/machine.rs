//! The threats to what is on a machine: stores, servers, the console, mail and workers.

use super::{Cases, Held, Threat};

pub(super) const THREATS: [Threat; 15] = [
    Threat {
        number: 1,
        attack: "The store is another program's file, of a newer version, on a network disk, without its log, read-only or full",
        defence: "SQLite is built in; a store is known by its marker and version; network file systems are refused; each commit is noted beside it, so that a lost log is known; damage is an error and never an empty answer",
        held: &[
            Held(
                "damage/foreign.rs",
                "what_is_no_store_is_refused_and_left_as_it_is",
                Cases::Of(&["NOT_STORES", "COMMANDS"]),
            ),
            Held(
                "damage/foreign.rs",
                "a_store_of_a_newer_schema_is_refused_and_left_as_it_is",
                Cases::Of(&["COMMANDS"]),
            ),
            Held(
                "damage/foreign.rs",
                "a_store_that_lost_a_table_is_corrupt",
                Cases::Of(&["TABLES"]),
            ),
            Held(
                "damage.rs",
                "a_log_that_was_cut_changed_or_taken_away_is_told_of_by_every_command",
                Cases::Of(&["CUTS", "COMMANDS"]),
            ),
            Held(
                "damage.rs",
                "a_damaged_log_is_found_by_doctor_and_by_whoever_finds_nothing",
                Cases::Untold,
            ),
            Held(
                "damage.rs",
                "a_store_on_a_network_file_system_is_refused",
                Cases::Untold,
            ),
            Held(
                "damage/disk.rs",
                "a_full_disk_refuses_and_loses_nothing_that_was_acknowledged",
                Cases::Untold,
            ),
            Held(
                "damage/disk.rs",
                "a_store_on_a_read_only_disk_refuses_writes_and_says_why",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 2,
        attack: "A hostile or damaged file is handed to `--db`",
        defence: "Its schema must be to the letter what the migrations make, cells are checked, extensions cannot be loaded; what lies beside it must be a regular file with one name, of the user's; stores and settings of others are not used unless they are named; who finds nothing checks the store first",
        held: &[
            Held(
                "security/files/schema.rs",
                "what_somebody_put_into_a_schema_never_runs",
                Cases::Of(&["PLANTED"]),
            ),
            Held(
                "security/files.rs",
                "what_lies_beside_a_store_and_is_another_file_is_refused_and_left_as_it_is",
                Cases::Of(&["WAYS", "BESIDE"]),
            ),
            Held(
                "security/files.rs",
                "what_is_written_beside_a_store_follows_no_link",
                Cases::Untold,
            ),
            Held(
                "security/files.rs",
                "a_store_with_a_second_name_is_refused_and_one_behind_a_link_is_one_store",
                Cases::Untold,
            ),
            Held(
                "security/files.rs",
                "a_copy_is_a_new_file_of_that_very_name_and_nothing_is_overwritten",
                Cases::Untold,
            ),
            Held(
                "security/files.rs",
                "a_journal_beside_a_database_changes_neither_it_nor_the_file_that_it_names",
                Cases::Untold,
            ),
            Held(
                "security/files/found.rs",
                "a_store_that_another_user_left_above_is_refused_unless_it_is_named",
                Cases::Untold,
            ),
            Held(
                "security/files/found.rs",
                "settings_of_another_user_are_refused_wherever_the_store_is_named",
                Cases::Untold,
            ),
            Held(
                "security/files/found.rs",
                "keys_that_another_user_left_above_are_refused_unless_they_are_named",
                Cases::Untold,
            ),
            Held(
                "security/files.rs",
                "what_has_no_end_is_read_up_to_its_limit",
                Cases::Untold,
            ),
            Held(
                "torture/disks.rs",
                "of_2_200_damaged_images_none_panics_hangs_or_looks_empty",
                Cases::Drawn("DAMAGED"),
            ),
            Held(
                "crates/store/src/foreign/tests.rs",
                "what_is_no_database_is_refused_in_words",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 3,
        attack: "SQL in names, labels, filters and texts",
        defence: "Parameters everywhere; statements are files, and none is put together of texts",
        held: &[
            Held(
                "security/sql.rs",
                "sql_in_any_field_is_text_or_is_refused_on_both_databases",
                Cases::Of(&["TEXTS", "FIELDS"]),
            ),
            Held(
                "security/sql.rs",
                "pieces_of_sql_in_any_order_are_text_or_are_refused_on_both_databases",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 4,
        attack: "Another role of the database reads or writes, such as Supabase's `anon`",
        defence: "A schema of its own, row security on every table, no right for anybody but the owner, pinned search paths, TLS",
        held: &[
            Held(
                "cli/rights.rs",
                "by_the_catalog_nobody_else_has_any_right_on_anything_of_a_store",
                Cases::Of(&["ASKED"]),
            ),
            Held(
                "cli/rights.rs",
                "everything_that_they_attempt_is_denied_even_inside_the_schema",
                Cases::Of(&["OTHERS", "ATTEMPTS"]),
            ),
            Held(
                "crates/testkit/tests/tls.rs",
                "each_sslmode_takes_and_refuses_what_libpq_says",
                Cases::Untold,
            ),
            Held(
                "security/answers.rs",
                "a_server_that_answers_with_anything_is_refused_or_understood",
                Cases::Drawn("ANSWERS"),
            ),
        ],
    },
    Threat {
        number: 5,
        attack: "A lock or a transaction of another program stands in the way",
        defence: "Every statement, lock and transaction has an end; who waits is told for whom; readers miss nothing",
        held: &[
            Held(
                "cli/rights.rs",
                "a_lock_that_another_program_holds_ends_in_a_refusal_that_says_what_to_do",
                Cases::Untold,
            ),
            Held(
                "fire/order.rs",
                "on_postgresql_5_readers_among_8_writers_see_30_000_events_once_in_one_order_past_a_slow_commit",
                Cases::Untold,
            ),
            Held(
                "cli/rights.rs",
                "within_an_operation_the_path_is_pinned_and_nothing_waits_for_ever",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 6,
        attack: "A web page calls a server on this machine by a rebound name",
        defence: "Host and Origin are compared exactly, ahead of every route",
        held: &[
            Held(
                "server/gate.rs",
                "only_hosts_and_origins_of_this_server_come_in_on_every_path",
                Cases::Of(&["FOREIGN_HOSTS", "FOREIGN_ORIGINS", "PATHS"]),
            ),
            Held(
                "server/gate.rs",
                "only_hosts_and_origins_of_this_server_come_in_on_every_path",
                Cases::Of(&["FOREIGN_HOSTS", "OWN_ORIGINS", "PATHS"]),
            ),
            Held(
                "server/gate.rs",
                "only_hosts_and_origins_of_this_server_come_in_on_every_path",
                Cases::Of(&["OWN_HOSTS", "FOREIGN_ORIGINS", "PATHS"]),
            ),
            Held(
                "server/gate.rs",
                "on_every_route_there_is_a_foreign_host_or_page_is_refused",
                Cases::Of(&["OTHER_ROUTES", "FOREIGN"]),
            ),
            Held(
                "server/gate.rs",
                "two_hosts_no_host_and_a_foreign_request_line_are_refused",
                Cases::Untold,
            ),
            Held(
                "crates/surfaces/src/http/gate.rs",
                "whatever_a_host_or_an_origin_says_only_our_own_is_let_in",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 7,
        attack: "A form or a script of another site posts",
        defence: "JSON alone, a token on every operation, a strict cookie and a word in every form of the console, no CORS",
        held: &[
            Held(
                "server/gate.rs",
                "what_a_form_or_a_foreign_page_can_send_changes_nothing",
                Cases::Of(&["KINDS"]),
            ),
            Held(
                "server/gate.rs",
                "every_answer_tells_a_browser_to_keep_out",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 8,
        attack: "A secret leaks: by arguments, logs, addresses, errors, dumps, copies, or modes of files",
        defence: "Tokens are shown once and kept as hashes; secrets come by the environment or a private file; nothing repeats them; 0600 and 0700 whatever the umask; no redirect is followed",
        held: &[
            Held(
                "server/secrets.rs",
                "who_only_listens_where_a_server_may_be_is_told_nothing_that_opens",
                Cases::Untold,
            ),
            Held(
                "security/canary.rs",
                "no_command_shows_or_keeps_a_secret",
                Cases::Untold,
            ),
            Held(
                "security/canary.rs",
                "no_route_shows_a_secret",
                Cases::Untold,
            ),
            Held(
                "security/modes.rs",
                "nothing_that_a_command_writes_can_be_read_by_others_whatever_the_umask",
                Cases::Of(&["COMMANDS"]),
            ),
            Held(
                "server/secrets.rs",
                "a_secret_is_shown_once_and_found_nowhere",
                Cases::Untold,
            ),
            Held(
                "server/secrets.rs",
                "a_token_that_is_missing_wrong_revoked_or_ended_opens_nothing",
                Cases::Untold,
            ),
            Held(
                "security/files.rs",
                "a_token_goes_to_no_other_machine_without_tls",
                Cases::Of(&["PLAIN"]),
            ),
            Held(
                "cli/password.rs",
                "a_password_in_an_argument_is_refused",
                Cases::Untold,
            ),
            Held(
                "cli/password.rs",
                "no_list_of_processes_shows_a_password",
                Cases::Untold,
            ),
            Held(
                "crates/core/src/properties.rs",
                "a_secret_in_the_wrong_place_is_not_repeated",
                Cases::Untold,
            ),
            Held(
                "crates/store/src/postgres/properties.rs",
                "no_password_is_in_what_is_said_of_a_url",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/keys.rs",
                "a_key_in_the_wrong_place_of_the_file_is_not_repeated",
                Cases::Untold,
            ),
            Held(
                "crates/bridge/tests/suite/keys.rs",
                "whatever_a_file_of_keys_has_it_is_read_or_refused_and_no_key_is_repeated",
                Cases::Untold,
            ),
            Held(
                "crates/surfaces/src/cli/config/tests.rs",
                "a_mistake_in_a_file_does_not_show_the_url_of_a_webhook",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 9,
        attack: "Strangers wear a server out: sessions, slow or endless heads, huge bodies",
        defence: "A token before a body is read; limits on heads, bodies, times, connections and queues; who asks nothing leaves for who does",
        held: &[
            Held(
                "server/load.rs",
                "those_who_never_say_what_they_want_keep_nobody_out",
                Cases::Untold,
            ),
            // The same stranger, ten thousand times, is one case.
            Held(
                "server/load.rs",
                "strangers_and_the_slow_cost_next_to_nothing",
                Cases::Untold,
            ),
            Held(
                "server/load.rs",
                "a_body_that_is_too_large_is_refused_and_the_next_request_is_served",
                Cases::Untold,
            ),
            Held(
                "security/bodies.rs",
                "what_is_no_request_is_refused_by_every_operation_and_the_next_is_served",
                Cases::Of(&["BODIES", "OPERATIONS"]),
            ),
            Held(
                "security/bodies.rs",
                "damaged_frames_are_answered_and_the_tools_go_on",
                Cases::Drawn("DAMAGED"),
            ),
        ],
    },
    Threat {
        number: 10,
        attack: "A sender passes for another, or for the person",
        defence: "Over HTTP, MCP and the ledger a sender is who its credential says; reserved names have none; on the command line it is shown as unverified, and a person's name that is locked takes her passphrase",
        held: &[
            Held(
                "server/spoof.rs",
                "nobody_passes_for_another_or_for_the_person",
                Cases::Of(&["WRITING", "OTHERS"]),
            ),
            Held(
                "server/secrets.rs",
                "a_reader_keeps_no_lease_and_nobody_keeps_that_of_another",
                Cases::Untold,
            ),
            // A field that is not there is refused whatever it says: whom it names makes no other case.
            Held(
                "server/spoof.rs",
                "nobody_passes_for_another_or_for_the_person",
                Cases::Of(&["WRITING", "FIELDS"]),
            ),
            Held(
                "mcp/identity.rs",
                "no_tool_takes_anothers_name_in_any_argument",
                Cases::Of(&["FIELDS"]),
            ),
            Held(
                "server/mcp.rs",
                "by_no_tool_anybody_passes_for_another",
                Cases::Untold,
            ),
            Held(
                "server/spoof.rs",
                "what_asks_nobody_is_done_in_nobodys_name",
                Cases::Untold,
            ),
            Held(
                "server/spoof.rs",
                "mail_that_is_taken_in_from_elsewhere_proves_nobody",
                Cases::Untold,
            ),
            Held(
                "server/spoof.rs",
                "a_message_shows_everywhere_how_its_sender_is_known",
                Cases::Untold,
            ),
            Held(
                "tui/lock.rs",
                "whoever_speaks_as_a_person_with_a_lock_types_her_passphrase",
                Cases::Untold,
            ),
            Held(
                "server/secrets.rs",
                "over_the_network_nobody_changes_anothers_session",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 11,
        attack: "Mail gives orders to the agent that reads it, or sends itself on and on",
        defence: "Mail stands between random marks, as data behind the brief; a loop guard counts turns and repeated words",
        held: &[
            Held(
                "run/hostile.rs",
                "no_text_of_others_leaves_its_fence",
                Cases::Of(&["TEXTS"]),
            ),
            Held(
                "run/hostile.rs",
                "an_agent_that_obeys_finds_nothing_to_obey_in_its_prompt",
                Cases::Untold,
            ),
            Held(
                "mcp/hostile.rs",
                "mail_stays_between_marks_that_it_cannot_close",
                Cases::Of(&["HOSTILE"]),
            ),
            Held(
                "cli/guard.rs",
                "the_same_words_again_and_again_are_refused",
                Cases::Untold,
            ),
            Held(
                "crates/testkit/src/contract/circles.rs",
                "a_ring_of_fifty_who_pass_mail_on_is_stopped",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 12,
        attack: "Mail acts in the console: scripts, beacons, forms, false links",
        defence: "Markdown is read into events of which the console writes its own HTML; raw HTML and images are text; a strict policy behind it",
        held: &[Held(
            "console.rs",
            "three_hundred_hostile_messages_do_nothing",
            Cases::Of(&["HOSTILE"]),
        )],
    },
    Threat {
        number: 13,
        attack: "Mail drives the terminal: escape sequences, clipboards, reordering",
        defence: "Control, escape and reordering characters are made visible before anything is printed",
        held: &[
            Held(
                "tui/hostile.rs",
                "whatever_agents_write_a_terminal_obeys_the_console_alone",
                Cases::Of(&["TEXTS"]),
            ),
            Held(
                "security/print.rs",
                "whatever_agents_write_no_command_prints_what_a_terminal_obeys",
                Cases::Of(&["TEXTS"]),
            ),
            Held(
                "cli/hostile_words.rs",
                "what_people_see_of_hostile_text_is_harmless",
                Cases::Untold,
            ),
            Held(
                "crates/surfaces/src/console/markdown.rs",
                "whatever_is_written_is_laid_out_and_nothing_in_it_acts",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 14,
        attack: "An artifact points out of its folder, to a device, a pipe or another's file",
        defence: "A path is text; only the sender's own program reads a regular file's size and hash, with the sender's rights, from what it has opened and up to 16 GiB; a runner follows no link out of the folder that was worked in; a server reads nothing",
        held: &[
            Held(
                "crates/runner/src/verify.rs",
                "a_folder_that_becomes_a_link_at_any_moment_leads_nowhere",
                Cases::Untold,
            ),
            Held(
                "security/paths.rs",
                "over_http_a_path_is_text_and_nothing_is_read_through_it",
                Cases::Of(&["WAYS", "PLACES"]),
            ),
            Held(
                "cli/artifacts.rs",
                "what_is_no_readable_file_is_kept_by_its_path_with_a_warning",
                Cases::Untold,
            ),
            Held(
                "security/paths.rs",
                "a_name_that_is_another_thing_every_moment_holds_no_sender_up_and_is_described_whole_or_not_at_all",
                Cases::Untold,
            ),
            Held(
                "security/paths.rs",
                "a_file_without_end_is_not_read_to_it",
                Cases::Untold,
            ),
        ],
    },
    Threat {
        number: 15,
        attack: "A brief or a card gets a command, an argument or a variable into the runner",
        defence: "Commands come from the local configuration, as lists and without a shell; the prompt is data; a guardian ends the whole tree of processes",
        held: &[
            Held(
                "run/injection.rs",
                "no_word_of_work_becomes_a_command_an_argument_or_a_variable",
                Cases::Of(&["TEXTS"]),
            ),
            Held(
                "run/hostile.rs",
                "an_agent_that_obeys_finds_nothing_to_obey_in_its_prompt",
                Cases::Untold,
            ),
            Held(
                "run/kept.rs",
                "a_bomb_of_processes_stays_inside",
                Cases::Untold,
            ),
            Held(
                "crates/runner/src/hand/input.rs",
                "a_prompt_is_put_in_once_and_never_read_as_a_pattern",
                Cases::Untold,
            ),
        ],
    },
];
