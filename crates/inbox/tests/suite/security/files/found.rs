//! What is found above the working directory, and what of it is believed.

use std::path::Path;

use inbox_testkit::sandbox::Sandbox;

use super::{ended, must, run, send};
use crate::INBOX;

/// A user who is not the one that runs the tests, and never logs in.
const NOBODY: &str = "65534";

fn give_away(path: &Path) {
    must("chown", &[NOBODY, &path.display().to_string()]);
}

fn mode(path: &Path, mode: &str) {
    must("chmod", &[mode, &path.display().to_string()]);
}

/// Gives each of these to another user or to everybody, in turn, and takes it back.
fn in_turn(paths: &[&Path], mut check: impl FnMut(&str)) {
    for path in paths {
        let shown = path.display().to_string();
        let before = std::fs::metadata(path).unwrap().permissions();
        give_away(path);
        check(&format!("{shown} of another user"));
        // With what SQLite has made beside it meanwhile, and given to the same user.
        let folder = path.parent().unwrap().display().to_string();
        must("chown", &["-R", "0", &folder]);
        for others in ["o+w", "g+w"] {
            must("chgrp", &["65534", &shown]);
            mode(path, others);
            check(&format!("{shown} {others}"));
            std::fs::set_permissions(path, before.clone()).unwrap();
            must("chgrp", &["0", &shown]);
        }
    }
}

#[test]
fn a_store_that_another_user_left_above_is_refused_unless_it_is_named() {
    let inbox = Sandbox::new(INBOX);
    send(&inbox).ok();
    let (folder, store) = (inbox.folder().join(".agents"), inbox.store());
    let below = inbox.folder().join("mine/deep");
    std::fs::create_dir_all(&below).unwrap();
    in_turn(&[&folder, &store], |case| {
        let found = ended(inbox.command(["list", "--json"]).current_dir(&below));
        let answer = found.refused(30, "not_allowed");
        let hint = answer["error"]["hint"].as_str().unwrap();
        assert!(hint.starts_with("inbox --db "), "{case}: {hint}");
        ended(inbox.command(["list", "--json"]).env("INBOX_DB", &store)).ok();
    });
    ended(inbox.command(["list", "--json"]).current_dir(&below)).ok();
}

#[test]
fn settings_of_another_user_are_refused_wherever_the_store_is_named() {
    let inbox = Sandbox::new(INBOX);
    let (store, settings) = (inbox.store(), inbox.folder().join(".agents/inbox.toml"));
    std::fs::write(&settings, "[notify]\ncommand = [\"touch\", \"ran\"]\n").unwrap();
    in_turn(&[&settings], |case| {
        for words in ["config", "list", "notify --once"] {
            let mut command = inbox.command(words.split(' '));
            let named = ended(command.arg("--json").env("INBOX_DB", &store));
            assert!(named.stdout.contains("not_allowed"), "{case}: {named}");
        }
    });
    assert!(!inbox.folder().join("ran").exists());
    run(&inbox, "config").ok();
    // With a store elsewhere the settings of the project are those of the nearest folder.
    give_away(&inbox.folder().join(".agents"));
    let mut command = inbox.command(["run", "--agent", "w", "--json", "--", "true"]);
    command
        .env("INBOX_DB", "http://127.0.0.1:9")
        .env("INBOX_TOKEN", "none");
    ended(&mut command).refused(30, "not_allowed");
}

#[test]
fn keys_that_another_user_left_above_are_refused_unless_they_are_named() {
    let inbox = Sandbox::new(INBOX);
    let keys = inbox.folder().join(".agents/hedera.keys");
    std::fs::write(&keys, "{\"version\":2,\"networks\":{}}\n").unwrap();
    mode(&keys, "600");
    run(&inbox, "hcs account list").ok();
    in_turn(&[&inbox.folder().join(".agents"), &keys], |case| {
        let found = run(&inbox, "hcs account list");
        assert!(found.stdout.contains("not_allowed"), "{case}: {found}");
    });
    run(&inbox, "hcs account list").ok();
}
