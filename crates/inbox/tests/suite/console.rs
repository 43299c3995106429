//! The console in a real browser: Debian's chromium, driven by playwright-core from npm. Each story is a function in
//! `console/stories.mjs`, on a store and a server of its own. Without chromium or npm they fail and say what to install.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::packages;
use crate::server::Served;

/// The folder with the packages from npm, and the scripts beside them.
fn node() -> &'static Path {
    static NODE: OnceLock<PathBuf> = OnceLock::new();
    NODE.get_or_init(|| {
        let folder = packages::npm(
            packages::folder("browser"),
            &[("playwright-core", "1.65.0"), ("axe-core", "4.14.0")],
        );
        for (name, text) in [
            ("stories.mjs", include_str!("console/stories.mjs")),
            ("stage.mjs", include_str!("console/stage.mjs")),
            ("cards.mjs", include_str!("console/cards.mjs")),
            ("hostile.mjs", include_str!("console/hostile.mjs")),
            ("pictures.mjs", include_str!("console/pictures.mjs")),
        ] {
            std::fs::write(folder.join(name), text).expect("it can be written");
        }
        folder
    })
}

fn chromium() -> String {
    let found = ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
        .into_iter()
        .find(|path| Path::new(path).exists());
    found
        .expect("there is no chromium: scripts/ensure-browser installs it (Debian: apt-get install chromium)")
        .to_owned()
}

#[track_caller]
fn play(story: &str) {
    play_on(&Served::start(), story);
}

#[track_caller]
fn play_on(served: &Served, story: &str) {
    let output = Command::new("node")
        .arg(node().join("stories.mjs"))
        .arg(story)
        .env("INBOX_BINARY", crate::INBOX)
        .env("INBOX_URL", &served.url)
        .env("CHROMIUM", chromium())
        .env("INBOX_HOSTILE", HOSTILE.to_string())
        .env(
            "INBOX_SHOTS",
            std::env::var_os("INBOX_SHOTS").unwrap_or_default(),
        )
        .current_dir(served.desk.folder())
        .output()
        .expect("node can be run");
    let told = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{story}\n{told}\n{complaint}");
}

/// How many hostile texts the page is given at least.
const HOSTILE: usize = 300;

macro_rules! stories {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            play(stringify!($name));
        })*
    };
}

#[test]
fn what_is_signed_is_what_the_network_says_and_the_page_compares_the_store_with_it() {
    let served = Served::on_ledger(&["quinn", "ben"]);
    play_on(
        &served,
        "what_is_signed_is_what_the_network_says_and_the_page_compares_the_store_with_it",
    );
}

stories! {
    a_morning_of_work_is_shown_as_the_documents_show_it
    a_blocked_worker_is_answered_from_the_page_while_two_more_consoles_watch
    an_approval_is_given_by_one_click
    a_channel_is_written_into_and_words_are_found
    a_dead_letter_gets_another_address
    everything_is_done_with_the_keyboard_alone
    no_page_has_a_fault_of_access_on_a_phone_on_a_desk_or_in_the_dark
    what_is_typed_outlives_every_change_of_the_page
    a_page_without_javascript_is_read_and_answered
    a_link_opens_once_and_nobody_else_gets_in
    three_hundred_hostile_messages_do_nothing
    work_is_given_to_another_and_called_off
    a_card_is_written_and_its_rules_are_told_while_one_types
    two_who_edit_one_card_lose_nothing
    a_card_is_edited_without_javascript
    an_agents_page_has_its_mail_its_sessions_and_what_wakes_it
}
