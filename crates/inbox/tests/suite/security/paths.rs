//! Artifacts that point anywhere, by those who are not at the machine: a path is text, and nothing is read through it.

use serde_json::{Value, json};

use crate::server::Served;
use crate::server::raw::{exchange, post};

/// Ways up and out of a folder, each in front of every place.
const WAYS: [&str; 10] = [
    "",
    "/",
    "../",
    "../../../../../../../../",
    "./../",
    "a/../../",
    "..\\..\\",
    "%2e%2e/",
    "file://",
    concat!("/proc/self/ro", "ot/"),
];

/// What somebody may want to read.
const PLACES: [&str; 16] = [
    "etc/passwd",
    "etc/shadow",
    "proc/self/environ",
    "proc/self/mem",
    "proc/self/cmdline",
    "dev/zero",
    "dev/random",
    "dev/stdin",
    "dev/fd/0",
    "sys/kernel/notes",
    ".agents/coord.db",
    ".agents/inbox.toml",
    ".ssh/id_ed25519",
    "pipe",
    "link",
    "etc/passwd\u{0}.md",
];

#[test]
fn over_http_a_path_is_text_and_nothing_is_read_through_it() {
    let served = Served::start();
    let folder = served.desk.folder();
    let made = std::process::Command::new("mkfifo")
        .arg(folder.join("pipe"))
        .status();
    assert!(made.unwrap().success());
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).unwrap();
    let (address, secret) = (served.address(), served.token("eve", ""));
    let secret = format!("Bearer {secret}");
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", secret.as_str()),
    ];
    let mut cases = 0;
    for way in WAYS {
        for place in PLACES {
            let path = format!("{way}{place}");
            let body = json!({ "to": ["bob"], "subject": "s", "artifacts": [{ "path": path }] });
            let answered = exchange(
                address,
                &post("/v1/send", address, &headers, &body.to_string()),
            );
            let answer: Value = serde_json::from_str(&answered.body).expect("JSON");
            if answered.status == 200 {
                let kept = &answer["artifacts"][0];
                assert_eq!(kept["path"], path);
                let known = json!({ "size": null, "sha256": null, "media_type": null });
                assert_eq!(kept["metadata_json"], known, "{path:?} was looked at");
            } else {
                assert_eq!(answered.status, 400, "{path:?}: {}", answered.body);
            }
            cases += 1;
        }
    }
    assert_eq!(cases, WAYS.len() * PLACES.len());
    // A path in an address of the server leads nowhere either.
    for way in WAYS {
        for place in PLACES {
            let path = format!("/{way}{place}").replace(['\u{0}', '\\'], "");
            let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
            let answered = exchange(address, request.as_bytes());
            assert!(
                matches!(answered.status, 303 | 400 | 401 | 403 | 404 | 405),
                "{path}: {}",
                answered.status
            );
            assert!(!answered.body.contains("root:"), "{path}");
        }
    }
}
