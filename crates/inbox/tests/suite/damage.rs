//! An error is never an empty success: a damaged store shows what it held, or says that it is damaged.

use std::path::Path;

use inbox_testkit::sandbox::{Outcome, Sandbox};

use crate::INBOX;

const PAGE: usize = 4096;

/// A store with threads in it, whole in one file.
fn image() -> Vec<u8> {
    let sandbox = Sandbox::new(INBOX);
    for number in 0..20 {
        let subject = format!("Piece {number}");
        let send = [
            "send",
            "--agent",
            "lead",
            "--to",
            "backend",
            "--subject",
            &subject,
        ];
        sandbox.run(send.iter().chain(&["--json"])).ok();
    }
    let copy = sandbox.folder().join("copy.db");
    let backup = ["backup", "--to", "copy.db", "--json"];
    sandbox.run(backup).ok();
    std::fs::read(copy).expect("the copy can be read")
}

/// Places the image where a store is looked for, and asks for everything.
fn list(image: &[u8]) -> Outcome {
    let sandbox = Sandbox::empty(INBOX);
    let path = sandbox.store();
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).expect("the folder can be made");
    std::fs::write(&path, image).expect("the image can be written");
    sandbox.run(["list", "--json"])
}

#[track_caller]
fn is_honest(outcome: &Outcome, what: &str) {
    if outcome.code == 0 {
        let threads = outcome.json()["threads"].as_array().map_or(0, Vec::len);
        assert!(threads > 0, "{what}: an empty success\n{outcome}");
    } else {
        assert_eq!(outcome.code, 50, "{what}\n{outcome}");
        assert_eq!(outcome.json()["ok"], false, "{what}\n{outcome}");
    }
}

#[test]
fn a_store_that_was_cut_short_is_never_an_empty_one() {
    let image = image();
    for pages in 0..image.len() / PAGE {
        is_honest(&list(&image[..pages * PAGE]), &format!("{pages} pages"));
        is_honest(
            &list(&image[..pages * PAGE + 100]),
            &format!("{pages} pages and a bit"),
        );
    }
}

#[test]
fn a_store_with_a_blank_page_is_never_an_empty_one() {
    let image = image();
    for page in 0..image.len() / PAGE {
        let mut damaged = image.clone();
        damaged[page * PAGE..(page + 1) * PAGE].fill(0);
        is_honest(&list(&damaged), &format!("page {} blank", page + 1));
    }
}
