//! Folders that come from others: names in them that lead to other files, stores and settings of other users, files without end, and
//! databases with a mind of their own.

mod found;
mod schema;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use inbox_testkit::sandbox::{Outcome, Sandbox, TempDir};

use crate::INBOX;

/// What a name beside a store may be that is no file of the store's.
const WAYS: [&str; 5] = ["link", "nowhere", "second", "pipe", "folder"];

/// What is opened or made beside a store, by its name after the store's.
const BESIDE: [&str; 5] = ["-bell", "-lock", "-wal", "-shm", "-journal"];

/// The same of the search index, without which a search does.
const INDEX: [&str; 5] = [
    "-search",
    "-search-lock",
    "-search-wal",
    "-search-shm",
    "-search-journal",
];

const KEPT: &str = "what the user wrote";

/// A command that must end by itself.
#[track_caller]
fn ended(command: &mut Command) -> Outcome {
    let folder = TempDir::new();
    // To files, so that no full pipe can hold the process up.
    let file = |name: &str| folder.path().join(name);
    let made = |name: &str| std::fs::File::create(file(name)).unwrap();
    let mut child = command
        .stdout(made("out"))
        .stderr(made("err"))
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("{command:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let read =
        |name: &str| String::from_utf8_lossy(&std::fs::read(file(name)).unwrap()).into_owned();
    Outcome {
        code: status.code().unwrap_or(-1),
        stdout: read("out"),
        stderr: read("err"),
    }
}

#[track_caller]
fn run(inbox: &Sandbox, words: &str) -> Outcome {
    ended(inbox.command(words.split(' ')).arg("--json"))
}

fn send(inbox: &Sandbox) -> Outcome {
    run(inbox, "send --from lead --to w --subject One --body Words")
}

/// Runs a program that must succeed.
#[track_caller]
fn must(program: &str, args: &[&str]) {
    let status = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .status();
    assert!(
        status.unwrap().success(),
        "{program} {args:?} failed; these tests need root"
    );
}

/// Gives a name to something that is no file of a store's, and says where the user's own file is.
fn plant(way: &str, name: &Path, elsewhere: &TempDir) -> PathBuf {
    let victim = elsewhere.path().join("victim");
    std::fs::write(&victim, KEPT).unwrap();
    match std::fs::remove_file(name) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
        _ => {}
    }
    match way {
        "link" => std::os::unix::fs::symlink(&victim, name).unwrap(),
        "nowhere" => std::os::unix::fs::symlink(elsewhere.path().join("none"), name).unwrap(),
        "second" => std::fs::hard_link(&victim, name).unwrap(),
        "pipe" => must("mkfifo", &[&name.display().to_string()]),
        _ => std::fs::create_dir(name).unwrap(),
    }
    victim
}

/// Nothing of the user's has changed, and nothing has come.
#[track_caller]
fn untouched(elsewhere: &TempDir, case: &str) {
    let names: Vec<_> = std::fs::read_dir(elsewhere.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["victim"], "{case}");
    let kept = std::fs::read(elsewhere.path().join("victim")).unwrap();
    assert_eq!(String::from_utf8_lossy(&kept), KEPT, "{case}");
}

fn beside(inbox: &Sandbox, suffix: &str) -> PathBuf {
    format!("{}{suffix}", inbox.store().display()).into()
}

#[test]
fn what_lies_beside_a_store_and_is_another_file_is_refused_and_left_as_it_is() {
    for way in WAYS {
        for suffix in BESIDE {
            let (inbox, elsewhere) = (Sandbox::new(INBOX), TempDir::new());
            plant(way, &beside(&inbox, suffix), &elsewhere);
            let case = format!("{way} {suffix}");
            if (way, suffix) == ("folder", "-bell") {
                // It can be no bell, and nothing is written there: who waits looks by himself.
                send(&inbox).ok();
                untouched(&elsewhere, &case);
                continue;
            }
            let refused = send(&inbox);
            assert!(
                refused.stdout.contains("store_corrupt"),
                "{case}: {refused}"
            );
            let answer = refused.refused(50, "store_corrupt");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(suffix), "{case}: {message}");
            let hint = answer["error"]["hint"].as_str().unwrap();
            assert!(hint.starts_with("ls -l"), "{case}: {hint}");
            untouched(&elsewhere, &case);
        }
        for suffix in INDEX {
            let (inbox, elsewhere) = (Sandbox::new(INBOX), TempDir::new());
            send(&inbox).ok();
            plant(way, &beside(&inbox, suffix), &elsewhere);
            let case = format!("{way} {suffix}");
            // Found without the index, or refused.
            let found = run(&inbox, "search Words");
            assert!([0, 50].contains(&found.code), "{case}: {found}");
            untouched(&elsewhere, &case);
        }
    }
}

#[test]
fn what_is_written_beside_a_store_follows_no_link() {
    let (inbox, elsewhere) = (Sandbox::new(INBOX), TempDir::new());
    send(&inbox).ok();
    run(&inbox, "cancel --agent lead --thread thr_1").ok();
    // The folder of archives.
    let archive = inbox.folder().join(".agents/archive");
    plant("link", &archive, &elsewhere);
    std::fs::remove_file(&archive).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), &archive).unwrap();
    // The newest thread always stays.
    send(&inbox).ok();
    run(&inbox, "archive --older-than-days 0").refused(50, "storage");
    untouched(&elsewhere, "archive");
    run(&inbox, "show --thread thr_1").ok();
    // The note of what went wrong in a hook.
    plant(
        "link",
        &inbox.folder().join(".agents/hook-error"),
        &elsewhere,
    );
    std::fs::remove_file(inbox.store()).unwrap();
    std::fs::write(inbox.store(), "no store").unwrap();
    let input = inbox.folder().join("input");
    std::fs::write(&input, "{\"session_id\":\"s1\"}").unwrap();
    let mut hook = inbox.command(["hook", "claude", "session-start"]);
    let _ = ended(hook.stdin(std::fs::File::open(input).unwrap()));
    assert!(!inbox.folder().join(".agents/hook-error").is_symlink());
    untouched(&elsewhere, "hook-error");
    // The files of an agent mailbox.
    let inbox = Sandbox::new(INBOX);
    send(&inbox).ok();
    for (n, way) in ["link", "nowhere", "second", "pipe"].iter().enumerate() {
        let folder = inbox.folder().join(format!("mail-{n}"));
        std::fs::create_dir(&folder).unwrap();
        let elsewhere = TempDir::new();
        plant(way, &folder.join("agent-mailbox.jsonl"), &elsewhere);
        let words = format!("export --format mailbox --dir {}", folder.display());
        run(&inbox, &words).refused(50, "storage");
        untouched(&elsewhere, way);
    }
}

#[test]
fn a_store_with_a_second_name_is_refused_and_one_behind_a_link_is_one_store() {
    let inbox = Sandbox::new(INBOX);
    send(&inbox).ok();
    let other = inbox.folder().join("other.db");
    std::fs::hard_link(inbox.store(), &other).unwrap();
    for name in [&inbox.store(), &other] {
        let answer = ended(inbox.command(["list", "--json"]).env("INBOX_DB", name));
        let answer = answer.refused(50, "store_corrupt");
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("second name")
        );
        assert!(answer["error"]["hint"].as_str().unwrap().starts_with("cp "));
    }
    std::fs::remove_file(&other).unwrap();
    // What one who died while it made the store left behind is no second name.
    std::fs::hard_link(inbox.store(), beside(&inbox, ".new-4711")).unwrap();
    send(&inbox).ok();
    assert!(!beside(&inbox, ".new-4711").exists());

    let folder = inbox.folder().join("elsewhere");
    std::fs::create_dir(&folder).unwrap();
    let link = folder.join("link.db");
    std::os::unix::fs::symlink(inbox.store(), &link).unwrap();
    for words in ["send --from a --to w --subject Two", "search One", "list"] {
        let mut command = inbox.command(words.split(' '));
        ended(command.arg("--json").env("INBOX_DB", &link)).ok();
    }
    // One log, one lock, one bell: those of the file that the link leads to.
    let names: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(
        run(&inbox, "list").ok()["threads"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

#[test]
fn a_copy_is_a_new_file_of_that_very_name_and_nothing_is_overwritten() {
    let inbox = Sandbox::new(INBOX);
    send(&inbox).ok();
    // To SQLite such names are URIs, of a database in memory or of another file.
    for name in ["file:copy.db?mode=memory", "file:plain.db", ":memory:"] {
        run(&inbox, &format!("backup --to {name}")).ok();
        let found = std::fs::metadata(inbox.folder().join(name)).unwrap();
        assert_eq!(
            std::os::unix::fs::MetadataExt::mode(&found) & 0o777,
            0o600,
            "{name}"
        );
        let copy = ended(&mut inbox.command(["list", "--json", "--db", name]));
        assert_eq!(copy.ok()["threads"].as_array().unwrap().len(), 1, "{name}");
    }
    assert!(!inbox.folder().join("plain.db").exists());
    run(&inbox, "init --db file:new.db?mode=ro").ok();
    assert!(inbox.folder().join("file:new.db?mode=ro").exists());
    for way in WAYS {
        let elsewhere = TempDir::new();
        let name = inbox.folder().join(format!("to-{way}"));
        plant(way, &name, &elsewhere);
        let refused = run(&inbox, &format!("backup --to {}", name.display()));
        assert!([20, 50].contains(&refused.code), "{way}: {refused}");
        untouched(&elsewhere, way);
    }
}

/// A rollback journal without pages, that ends with the path of a file that SQLite takes for its own: 3.40, for one, deletes any.
fn journal_that_names(victim: &Path) -> Vec<u8> {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let name = victim.to_str().unwrap().as_bytes();
    let sum: u32 = name.iter().map(|byte| u32::from(*byte)).sum();
    let length = u32::try_from(name.len()).unwrap();
    let mut bytes = MAGIC.to_vec();
    // No records, a number, two pages, sectors and pages of these sizes.
    for word in [0, 7, 2, 512, 4096_u32] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.resize(512, 0);
    bytes.extend((0x4000_0000_u32 / 4096 + 1).to_be_bytes());
    bytes.extend(name);
    bytes.extend(length.to_be_bytes());
    bytes.extend(sum.to_be_bytes());
    bytes.extend(MAGIC);
    bytes
}

#[test]
fn a_journal_beside_a_database_changes_neither_it_nor_the_file_that_it_names() {
    let (inbox, elsewhere) = (Sandbox::new(INBOX), TempDir::new());
    send(&inbox).ok();
    let victim = elsewhere.path().join("victim");
    std::fs::write(&victim, KEPT).unwrap();
    let other = inbox.folder().join("other.db");
    let database = rusqlite::Connection::open(&other).unwrap();
    database.execute_batch("CREATE TABLE a (b)").unwrap();
    drop(database);
    let journal = inbox.folder().join("other.db-journal");
    std::fs::write(&journal, journal_that_names(&victim)).unwrap();
    let refused = run(&inbox, "import other.db").refused(30, "invalid_input");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("several databases"), "{message}");
    untouched(&elsewhere, "import");
    // SQLite would cut the store down to the two pages that the journal speaks of.
    let journal = beside(&inbox, "-journal");
    std::fs::write(&journal, journal_that_names(&victim)).unwrap();
    run(&inbox, "list").refused(50, "store_corrupt");
    untouched(&elsewhere, "store");
    std::fs::remove_file(journal).unwrap();
    let threads = run(&inbox, "list").ok();
    assert_eq!(threads["threads"].as_array().unwrap().len(), 1);
}

#[test]
fn what_has_no_end_is_read_up_to_its_limit() {
    let inbox = Sandbox::new(INBOX);
    run(
        &inbox,
        "send --from lead --to w --subject One --body-file /dev/zero",
    )
    .refused(30, "too_large");
    run(&inbox, "import /dev/zero").refused(30, "too_large");
    let mut command =
        inbox.command("send --from a --to w --subject One --body-file - --json".split(' '));
    command.stdin(std::fs::File::open("/dev/zero").unwrap());
    ended(&mut command).refused(30, "too_large");
    // Settings, contracts and skills are files, and not pipes that nobody writes to.
    let settings = inbox.folder().join(".agents/inbox.toml");
    must("mkfifo", &[&settings.display().to_string()]);
    run(&inbox, "config").refused(30, "invalid_input");
    std::fs::remove_file(&settings).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &settings).unwrap();
    run(&inbox, "config").refused(30, "invalid_input");
    std::fs::remove_file(&settings).unwrap();
    let token = inbox.folder().join("token");
    must("mkfifo", &["-m", "600", &token.display().to_string()]);
    let mut command = inbox.command(["list", "--json"]);
    command
        .env("INBOX_DB", "http://127.0.0.1:9")
        .env("INBOX_TOKEN_FILE", &token);
    ended(&mut command).refused(30, "invalid_input");
}

/// Servers on other machines without TLS.
const PLAIN: [&str; 5] = [
    "http://192.0.2.1:4380",
    "http://inbox.example",
    "HTTP://[2001:db8::1]:80",
    "http://127.0.0.1.example:80",
    "http://localhost.example",
];

#[test]
fn a_token_goes_to_no_other_machine_without_tls() {
    let inbox = Sandbox::empty(INBOX);
    for url in PLAIN {
        let mut command = inbox.command(["list", "--json"]);
        command
            .env("INBOX_DB", url)
            .env("INBOX_TOKEN", "ibx_secret");
        let outcome = ended(&mut command);
        let answer = outcome.refused(30, "not_allowed");
        assert!(
            answer["error"]["hint"]
                .as_str()
                .unwrap()
                .contains("https://"),
            "{url}"
        );
        assert!(!outcome.to_string().contains("ibx_secret"), "{url}");
    }
}
