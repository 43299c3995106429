//! Secrets of every sort, carried through every command and every route, and looked for in all that is said and kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use inbox_testkit::sandbox::{Sandbox, finish};
use serde_json::Value;

use crate::cli::misc::COMMANDS;
use crate::server::Served;
use crate::server::raw::{exchange, post};

/// Commands that go on until they are told to stop, or that open something: these are only called wrongly.
const STAY: [&str; 14] = [
    "serve",
    "up",
    "ui",
    "tui",
    "watch",
    "wait-reply",
    "run",
    "bridge",
    "devnet",
    "monitor",
    "notify",
    "mcp",
    "hook",
    "setup",
];

/// What must never be seen, each by its name.
struct Secrets(BTreeMap<&'static str, String>);

/// How a browser says who it is: a cookie of this name.
struct Stage {
    served: Served,
    secrets: Secrets,
    cookie: String,
}

impl Secrets {
    /// Which of them stand in some bytes.
    fn within(&self, bytes: &[u8]) -> Vec<&'static str> {
        let found = self.0.iter().filter(|(_, secret)| {
            let secret = secret.as_bytes();
            bytes.windows(secret.len()).any(|part| part == secret)
        });
        found.map(|(name, _)| *name).collect()
    }

    #[track_caller]
    fn are_not_in(&self, bytes: &[u8], what: &str) {
        let found = self.within(bytes);
        let text = String::from_utf8_lossy(bytes);
        assert!(found.is_empty(), "{what} shows {found:?}: {text:.2000}");
    }
}

/// Every private key of a file of keys.
fn keys(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(text) = value.as_str().filter(|_| name.contains("key")) {
                    found.push(text.to_owned());
                }
                keys(value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

/// The cookie of an answer's head: its name and its value.
fn cookie(head: &str) -> (String, String) {
    let line = head
        .lines()
        .find(|line| line.to_lowercase().starts_with("set-cookie:"));
    let pair = line
        .and_then(|line| line.split_once(": "))
        .expect("a cookie")
        .1;
    let (name, rest) = pair.split_once('=').expect("a value");
    (
        name.to_owned(),
        rest.split(';').next().expect("a value").to_owned(),
    )
}

/// Runs a command; what others can see of it while it runs, and all that it says.
fn said(mut command: Command) -> Vec<u8> {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut bytes = std::fs::read(format!("/proc/{}/cmdline", child.id())).unwrap_or_default();
    let outcome = finish(child);
    bytes.extend_from_slice(outcome.stdout.as_bytes());
    bytes.extend_from_slice(outcome.stderr.as_bytes());
    bytes
}

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            files(&path, found);
        } else if path.is_file() {
            found.push(path);
        }
    }
}

/// A server on a ledger with a claim, a token, a link, a session and keys.
fn stage() -> Stage {
    let served = Served::on_ledger(&["quinn", "ben"]);
    let desk = &served.desk;
    desk.ok("send --from lead --to quinn --subject Work --body words");
    let lease = desk.ok("claim --agent quinn --thread thr_1")["lease"]["lease_token"].clone();
    let token = served.token("lead", "");
    let address = served.address();
    let shown = desk.ok(&format!("ui --no-open --listen {address}"));
    let link = shown["url"]
        .as_str()
        .expect("a link")
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned();
    let open = format!("GET /in/{link} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let (name, session) = cookie(&exchange(address, open.as_bytes()).head);
    let cookie = format!("{name}={session}");
    let file = desk.folder().join(".agents/hedera.keys");
    let kept: Value =
        serde_json::from_slice(&std::fs::read(&file).expect("there are keys")).unwrap();
    let mut private = Vec::new();
    keys(&kept, &mut private);
    assert!(private.len() >= 2, "{}", private.len());
    let mut secrets = BTreeMap::from([
        ("the token", token),
        ("the lease", lease.as_str().expect("a lease").to_owned()),
        ("the link", link),
        ("the session", session),
        ("the webhook's secret", "canary-5d1f-webhook".to_owned()),
    ]);
    secrets.insert("a ledger key", private.remove(0));
    secrets.insert("another ledger key", private.remove(0));
    for (name, secret) in &secrets {
        assert!(secret.len() > 12, "{name}");
    }
    Stage {
        served,
        secrets: Secrets(secrets),
        cookie,
    }
}

/// A command of somebody who has all the secrets at hand.
fn armed(desk: &Sandbox, secrets: &Secrets, words: &[&str]) -> Command {
    let mut command = desk.command(words);
    command
        .env("INBOX_TOKEN", &secrets.0["the token"])
        .env("INBOX_LEASE", &secrets.0["the lease"])
        .env("INBOX_WEBHOOK_SECRET", &secrets.0["the webhook's secret"])
        .env("INBOX_HEDERA_KEY", &secrets.0["a ledger key"])
        .env("INBOX_AGENT", "quinn");
    command
}

#[test]
fn no_command_shows_or_keeps_a_secret() {
    let Stage {
        served, secrets, ..
    } = stage();
    let (desk, url) = (&served.desk, served.url.as_str());
    let mut ran = 0;
    for name in COMMANDS {
        let mut forms = vec![vec![*name, "--canary"], vec![*name, "--help"]];
        if !STAY.contains(name) {
            forms.push(vec![*name]);
            forms.push(vec![*name, "--json"]);
            forms.push(vec![*name, "--json", "--db", url]);
            forms.push(vec![*name, "nonsense", "--db", url]);
        }
        for words in forms {
            secrets.are_not_in(&said(armed(desk, &secrets, &words)), &words.join(" "));
            ran += 1;
        }
    }
    assert!(ran > 200, "{ran}");
    let more = [
        "update --thread thr_1 --summary going",
        "renew --thread thr_9",
        "show --thread thr_1",
        "watch --after-event 0 --timeout-seconds 0",
        "export --thread thr_1",
        "export --format mailbox --dir mail",
        "export --format graph",
        "backup --to copy.db",
        "doctor --json",
        "config --json",
        "token list --json",
        "token revoke nonsense",
        "hcs show --json",
        "hcs list --json",
        "verify --json",
        "migrate --from copy.db --to moved.db",
        "list --db http://127.0.0.1:9",
        "release --thread thr_1",
    ];
    for line in more {
        let words: Vec<_> = line.split_whitespace().collect();
        secrets.are_not_in(&said(armed(desk, &secrets, &words)), line);
    }
    // What is kept, here and in every copy: keys in their own file, and nothing else anywhere.
    let mut kept = Vec::new();
    files(desk.folder(), &mut kept);
    assert!(kept.len() > 8, "{kept:?}");
    for file in kept {
        let is_of_keys = file.file_name().is_some_and(|name| name == "hedera.keys");
        let bytes = std::fs::read(&file).unwrap();
        if is_of_keys {
            assert!(
                !secrets.within(&bytes).is_empty(),
                "the checker finds what is there"
            );
        } else {
            secrets.are_not_in(&bytes, &file.display().to_string());
        }
    }
}

#[test]
fn no_route_shows_a_secret() {
    let Stage {
        served,
        secrets,
        cookie,
    } = stage();
    let address = served.address();
    let bearer = format!("Bearer {}", secrets.0["the token"]);
    let get = |path: &str, headers: &[(&str, &str)]| {
        let mut request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("Connection: close\r\n\r\n");
        exchange(address, request.as_bytes())
    };
    let described: Value = serde_json::from_str(&get("/openapi.json", &[]).body).unwrap();
    let paths: Vec<_> = described["paths"]
        .as_object()
        .expect("paths")
        .keys()
        .cloned()
        .collect();
    assert!(paths.len() > 30, "{}", paths.len());
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", bearer.as_str()),
    ];
    for path in &paths {
        // What waits is not waited for: an argument that nobody knows ends it.
        for body in ["{\"canary\":1}", "nonsense"] {
            let answered = exchange(address, &post(path, address, &headers, body));
            let whole = format!("{}\n{}", answered.head, answered.body);
            secrets.are_not_in(whole.as_bytes(), path);
        }
    }
    for path in [
        "/",
        "/threads",
        "/threads/thr_1",
        "/agents",
        "/agents/quinn",
        "/flow",
        "/channels",
        "/ledger",
        "/store",
        "/nothing",
        "/health",
        "/metrics",
    ] {
        for headers in [
            &[("Cookie", cookie.as_str())][..],
            &[("Authorization", bearer.as_str())],
            &[],
        ] {
            let answered = get(path, headers);
            let whole = format!("{}\n{}", answered.head, answered.body);
            secrets.are_not_in(whole.as_bytes(), path);
        }
    }
    let inside = get("/threads", &[("Cookie", cookie.as_str())]);
    assert_eq!(inside.status, 200, "the session opens: {}", inside.body);
}
