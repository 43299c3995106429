//! `--artifact` and `--body-file`.

use std::io::Write;
use std::process::Stdio;

use inbox_testkit::sandbox::finish;
use serde_json::Value;

use super::desk::{Desk, keys, text, words};

const MIB: usize = 1 << 20;

#[test]
fn size_hash_and_media_type_of_a_readable_file_are_recorded() {
    let desk = Desk::new();
    let folder = desk.inbox.folder().to_owned();
    std::fs::write(folder.join("a.md"), "abc").unwrap();
    std::fs::write(folder.join("empty.json"), "").unwrap();
    std::fs::write(folder.join("fix.PATCH"), vec![b'x'; 200_000]).unwrap();
    let absolute = folder.join("a.md");
    let sent = desk.ok(&format!(
        "send --from lead --to w --subject s --artifact a.md --artifact empty.json --artifact fix.PATCH --artifact {}",
        absolute.display()
    ));
    let artifacts = sent["artifacts"].as_array().unwrap();
    let expected = [
        (
            "a.md",
            3,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "text/markdown",
        ),
        (
            "empty.json",
            0,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "application/json",
        ),
    ];
    for (artifact, (path, size, sha256, media_type)) in artifacts.iter().zip(expected) {
        assert_eq!(
            keys(artifact),
            [
                "artifact_id",
                "created_at",
                "kind",
                "message_id",
                "metadata_json",
                "path"
            ]
        );
        assert_eq!(artifact["path"], path);
        let metadata = &artifact["metadata_json"];
        assert_eq!(keys(metadata), ["media_type", "sha256", "size"]);
        assert_eq!(metadata["size"], size);
        assert_eq!(metadata["sha256"], sha256);
        assert_eq!(metadata["media_type"], media_type);
    }
    assert_eq!(artifacts[2]["metadata_json"]["size"], 200_000);
    assert_eq!(artifacts[2]["metadata_json"]["media_type"], "text/x-diff");
    assert_eq!(
        artifacts[3]["path"],
        absolute.display().to_string(),
        "kept as given"
    );
    assert_eq!(desk.show("thr_1")["artifacts"], sent["artifacts"]);
    assert!(sent.get("warnings").is_none());
}

#[test]
fn what_is_no_readable_file_is_kept_by_its_path_with_a_warning() {
    let desk = Desk::new();
    let folder = desk.inbox.folder().to_owned();
    std::fs::create_dir(folder.join("dir")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(folder.join("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("nowhere", folder.join("dangling")).unwrap();
    for path in [
        "missing.txt",
        "dir",
        "pipe",
        "dangling",
        "/dev/null",
        "a/b/c",
    ] {
        let sent = desk.ok(&format!(
            "send --from lead --to w --subject s --artifact {path}"
        ));
        let artifact = &sent["artifacts"][0];
        assert_eq!(artifact["path"], path);
        assert_eq!(
            artifact["metadata_json"],
            serde_json::json!({"size": null, "sha256": null, "media_type": null})
        );
        let warnings = sent["warnings"].as_array().unwrap();
        assert!(
            warnings.len() == 1 && text(&warnings[0]).contains(path),
            "{sent}"
        );
    }
    let said = desk.inbox.run([
        "send",
        "--from",
        "lead",
        "--to",
        "w",
        "--subject",
        "s",
        "--artifact",
        "missing.txt",
    ]);
    assert_eq!(said.code, 0);
    assert!(said.stderr.contains("warning: missing.txt"), "{said}");
    desk.refused(
        30,
        "invalid_input",
        "send --from lead --to w --subject s --artifact=",
    );
}

#[test]
fn every_command_that_writes_a_message_attaches_files() {
    let desk = Desk::new();
    std::fs::write(desk.inbox.folder().join("f.txt"), "x").unwrap();
    desk.send("--to w");
    desk.send("--to w");
    desk.claim("w", "thr_1");
    desk.claim("w", "thr_2");
    for line in [
        "send --from lead --to w --subject s",
        "send --from lead --thread thr_1 --summary s",
        "reply --from lead --thread thr_1 --summary s",
        "update --agent w --thread thr_1 --summary s",
        "done --agent w --thread thr_1 --summary s",
        "fail --agent w --thread thr_2 --summary s",
    ] {
        let answer = desk.ok(&format!("{line} --artifact f.txt --artifact f.txt"));
        assert_eq!(answer["artifacts"].as_array().unwrap().len(), 2, "{line}");
        assert_eq!(
            answer["artifacts"][0]["message_id"],
            answer["message"]["message_id"]
        );
    }
    let many = "--artifact f.txt ".repeat(65);
    desk.refused(
        30,
        "too_large",
        &format!("send --from lead --to w --subject s {many}"),
    );
}

#[test]
fn a_body_is_read_from_a_file_or_from_standard_input() {
    let desk = Desk::new();
    let folder = desk.inbox.folder().to_owned();
    let body = "# Result\n\nÄ ✓ \u{1f600}\r\nend\n";
    std::fs::write(folder.join("body.md"), body).unwrap();
    desk.send("--to w");
    desk.send("--to w");
    desk.claim("w", "thr_1");
    desk.claim("w", "thr_2");
    for line in [
        "send --from lead --to w --subject s",
        "reply --from lead --thread thr_1 --summary s",
        "update --agent w --thread thr_1 --summary s",
        "done --agent w --thread thr_1 --summary s",
        "fail --agent w --thread thr_2 --summary s",
    ] {
        let answer = desk.ok(&format!("{line} --body-file body.md"));
        assert_eq!(answer["message"]["body"], body, "{line}");
    }
    let mut command = desk
        .inbox
        .command(words("send --from lead --to w --subject s --body-file -"));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(body.as_bytes())
        .unwrap();
    assert_eq!(finish(child).ok()["message"]["body"], body);
    desk.refused(
        30,
        "invalid_input",
        "send --from a --to w --subject s --body x --body-file body.md",
    );
}

#[test]
fn a_body_file_that_cannot_be_read_is_bad_input() {
    let desk = Desk::new();
    let folder = desk.inbox.folder().to_owned();
    std::fs::create_dir(folder.join("dir")).unwrap();
    std::fs::write(folder.join("latin1"), b"caf\xe9").unwrap();
    std::fs::write(folder.join("nul"), b"a\0b").unwrap();
    std::fs::write(folder.join("large"), vec![b'x'; MIB + 1]).unwrap();
    let refused = |code: &str, file: &str| {
        let line = format!("send --from a --to w --subject s --body-file {file}");
        let error = desk.refused(30, code, &line);
        if file != "nul" {
            assert!(text(&error["message"]).contains(file), "{error}");
        }
    };
    for file in ["missing", "dir", "latin1", "nul", "a/b"] {
        refused("invalid_input", file);
    }
    refused("too_large", "large");
}

#[test]
fn a_body_has_at_most_one_mebibyte() {
    let desk = Desk::new();
    let body = "x".repeat(MIB);
    std::fs::write(desk.inbox.folder().join("full"), &body).unwrap();
    let sent = desk.ok("send --from a --to w --subject s --body-file full");
    assert_eq!(sent["message"]["body"], Value::from(body.clone()));
    assert_eq!(
        desk.show("thr_1")["messages"][0]["body"],
        Value::from(body.clone())
    );
    let mut command = desk
        .inbox
        .command(words("send --from a --to w --subject s --body-file -"));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        let _ = stdin.write_all(body.as_bytes());
        let _ = stdin.write_all(b"y");
    });
    finish(child).refused(30, "too_large");
    feeder.join().unwrap();
}
