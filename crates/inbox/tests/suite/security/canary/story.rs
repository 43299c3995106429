//! One story that calls every command so that it succeeds.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::paths::OPERATIONS;
use super::player::{Player, Staying};
use crate::server::raw::{exchange, post};

/// What a person types, and nobody sees.
pub(super) const PASSPHRASE: &str = "c4nary nine/brown+bells";

/// A webhook's path and secret, a database's password: what is in files and in the environment.
pub(super) const HOOK: &str = "c4nary-hook-7d1f55";
pub(super) const SIGNS: &str = "c4nary-signs/of+55aa";
pub(super) const PASSWORD: &str = "c4nary pg/word+9%41";

/// Whoever is run by inbox writes down here what it was given: its arguments, those of all who started it, its environment.
const WITNESS: &str = r#"#!/bin/sh
at="SEEN/${0##*/} ${1##*/*} $$"
{
    p=$$
    while [ "$p" -gt 1 ] && [ "$p" != TEST ]; do
        tr '\0' ' ' < "/proc/$p/cmdline"
        echo
        p=$(sed 's/.*) . //; s/ .*//' "/proc/$p/stat")
    done
} > "$at arguments"
env > "$at environment"
case $1 in
    embed) echo '[0.1, 0.2]' ;;
    *) echo done ;;
esac
"#;

/// Lines after which nothing is asked: of a store with one thread that quinn holds.
const LINES: &[&str] = &[
    "agent set quinn --persona careful",
    "agent list --work",
    "agent show quinn",
    "renew --thread thr_1",
    "update --thread thr_1 --summary going",
    "show --thread thr_1 --events 9 --receipts --wire",
    "list",
    "fetch --agent ben",
    "search words",
    "watch --after-event 0 --timeout-seconds 0",
    "wait-reply --thread thr_1 --timeout-seconds 0",
    "read --agent ben",
    "glance --agent ada",
    "desk --agent ada",
    "ack --agent quinn --thread thr_1",
    "receipts msg_1",
    "note --ref task:T1 --note remarkable --notify ben",
    "flow",
    "prompt --agent quinn --thread thr_1",
    "channel list",
    "channel show all",
    "memory add --agent quinn --text remembered",
    "memory search --agent quinn remembered",
    "memory list --agent quinn",
    "memory forget --agent quinn mem_1",
    "session start --agent ben --session s-1",
    "session beat s-1",
    "session set s-1 --add role:dev",
    "session freeze s-1",
    "session resume s-1",
    "session list",
    "send --from lead --to s-1 --subject Lost",
    "session end s-1",
    "agent add gone",
    "agent remove gone",
    "dead-letters",
    "export --thread thr_1",
    "export --format graph",
    "export --format mailbox --dir mail",
    "import mail",
    "assign --agent lead --thread thr_2 --to ben",
    "cancel --agent lead --thread thr_2 --reason enough",
    "reply --agent ben --thread thr_1 --summary yes",
    "config",
    "doctor",
    "completions bash",
    "man --dir pages",
    "skill",
    "wire types",
    "wire schema brief",
    "wire new brief",
    "wire validate wire.json",
    "agent add backend",
    "session start --agent analyst --role ba",
    "card validate card.json",
    "card set card.json",
    "card show backend",
    "token list",
    "bridge status",
    "bridge --once",
    "devnet accounts",
    "notify --once",
    "notify --status",
    "torture --only clock --rounds 1 --seed 7",
    "setup claude --yes",
    "setup claude --remove --yes",
    "archive --older-than-days 0 --dry-run",
];

/// A file of the user's own, which nobody else reads.
pub(super) fn private(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
}

/// Programs that inbox may start, all of which are witnesses, and where they write down what they saw.
fn witnesses(player: &Player<'_>) -> PathBuf {
    let (programs, seen) = (
        player.ears.folder().join("programs"),
        player.ears.folder().join("seen"),
    );
    std::fs::create_dir(&seen).unwrap();
    let script = WITNESS
        .replace("SEEN", seen.to_str().unwrap())
        .replace("TEST", &std::process::id().to_string());
    for name in ["witness", "xdg-open", "notify-send", "codex", "claude"] {
        private(&programs.join(name), &script);
        std::fs::set_permissions(programs.join(name), PermissionsExt::from_mode(0o700)).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    player.has("PATH", &format!("{}:{path}", programs.display()));
    programs.join("witness")
}

/// A server on a ledger, and what is needed to reach it.
pub(super) struct Stage {
    _up: Staying,
    pub(super) url: String,
    pub(super) cookie: String,
    pub(super) bearer: String,
    pub(super) lease: String,
}

/// Makes the store, its server and every secret.
pub(super) fn begin(player: &Player<'_>) -> Stage {
    let (folder, ears) = (player.desk.folder(), player.ears);
    let witness = witnesses(player);
    ears.listen("the passphrase", PASSPHRASE);
    ears.listen("the webhook's path", HOOK);
    ears.listen("the webhook's secret", SIGNS);
    ears.listen("the database's password", PASSWORD);
    player.ok("init");
    let settings = format!(
        "[notify]\nwebhook = \"http://127.0.0.1:9/{HOOK}\"\nwebhook_secret_file = \"webhook.secret\"\ncommand = [{witness:?}, \"notify\"]\n\n[prompt]\nmemory = [{witness:?}, \"memory\"]\n\n[memory]\nembed = [{witness:?}, \"embed\"]\n"
    );
    private(&folder.join(".agents/inbox.toml"), &settings);
    private(&folder.join(".agents/webhook.secret"), SIGNS);
    let escaped = PASSWORD.replace('\\', "\\\\").replace(':', "\\:");
    private(&folder.join(".pgpass"), &format!("*:*:*:*:{escaped}\n"));
    player.has("INBOX_WEBHOOK_SECRET", SIGNS);
    player.has("PGPASSWORD", PASSWORD);
    for line in [
        "agent add quinn",
        "agent add ben",
        "agent add ada --kind human",
    ] {
        player.ok(line);
    }
    let line = "up --ledger --ledger-ports anywhere --provision --listen 127.0.0.1:0 --json";
    let (up, said) = player.stays(line, &[]);
    let url = said["url"].as_str().expect("a URL").to_owned();
    let kept = std::fs::read(folder.join(".agents/hedera.keys")).expect("there are keys");
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    let network = kept["networks"]
        .as_object()
        .unwrap()
        .values()
        .next()
        .unwrap();
    for (agent, name) in [("quinn", "quinn's key"), ("ben", "ben's key")] {
        let key = network["agents"][agent]["private_key"].as_str().unwrap();
        ears.listen(name, bare(key));
    }
    let own = |field: &str| network["agents"]["quinn"][field].as_str().unwrap();
    player.has("INBOX_HEDERA_ACCOUNT", own("account_id"));
    player.has("INBOX_HEDERA_KEY", own("private_key"));

    player.ok("send --from lead --to quinn --subject Work --body words --key k-1");
    let claimed = player.ok("claim --agent quinn --thread thr_1 --key k-2");
    let lease = claimed["lease"]["lease_token"]
        .as_str()
        .expect("a lease")
        .to_owned();
    let parsed: inbox_core::LeaseToken = lease.parse().unwrap();
    ears.listen("the lease", lease.rsplit('_').next().unwrap());
    ears.listen("the lease", &parsed.secret.to_string());
    player.has("INBOX_LEASE", &lease);
    let scopes = "--scope read --scope write --scope admin --scope override";
    let made = player.ok(&format!("token create --agent lead {scopes}"));
    let token = made["secret"].as_str().expect("a secret");
    ears.listen("the token", token);
    private(&folder.join(".config/inbox/token"), token);
    player.has("INBOX_TOKEN", token);
    let dropped = player.ok("token create --agent ben --label old");
    ears.listen("a revoked token", dropped["secret"].as_str().unwrap());
    let id = dropped["token"]["token_id"].as_str().unwrap();
    player.ok(&format!("token revoke {id}"));
    let cookie = come_in(player, &url);
    Stage {
        _up: up,
        url,
        cookie,
        bearer: format!("Bearer {token}"),
        lease,
    }
}

/// A private key without what says of which sort it is.
pub(super) fn bare(key: &str) -> &str {
    &key[key.len() - 64..]
}

/// Comes into the console by a link: the cookie.
pub(super) fn come_in(player: &Player<'_>, url: &str) -> String {
    let address = url.split_once("://").unwrap().1;
    let shown = player.ok(&format!("ui --no-open --listen {address}"));
    let link = shown["url"].as_str().expect("a link");
    let code = link.rsplit('/').next().unwrap();
    player.ears.listen("the link", code);
    let asked = format!("GET /in/{code} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let answered = exchange(address, asked.as_bytes());
    let (head, cookie) = answered
        .head
        .split_once("et-cookie: ")
        .map(|(head, rest)| (head, rest.split(';').next().unwrap().to_owned()))
        .expect("a cookie");
    player
        .ears
        .listen("the session", cookie.split_once('=').unwrap().1);
    player.ears.hears("GET /in", head.as_bytes());
    player.ears.hears("GET /in", answered.body.as_bytes());
    cookie
}

/// Calls every command that ends by itself: a message that is on the ledger.
pub(super) fn tell(player: &Player<'_>) -> String {
    let folder = player.desk.folder();
    std::fs::create_dir(folder.join("pages")).unwrap();
    let wire = player.with("wire new brief", &[], "").stdout;
    std::fs::write(folder.join("wire.json"), wire).unwrap();
    let card = crate::cli::card_prompt::card().to_string();
    std::fs::write(folder.join("card.json"), card).unwrap();
    player.ok("send --from lead --to quinn --subject More");
    for line in LINES {
        player.ok(line);
    }
    let lost = player.ok("dead-letters")["letters"][0]["message"]["message_id"].clone();
    let lost = lost.as_str().unwrap_or_default().to_owned();
    player.ok(&format!("dead-letters readdress {lost} --to ben"));
    player.ok("backup --to copy.db");
    player.ok("migrate --from copy.db --to moved.db");
    let sent = player.ok("send --from quinn --to ben --subject Recorded");
    let sent = sent["message"]["message_id"].as_str().unwrap_or_default();
    player.ok("bridge --once");
    player.ok(&format!("proof {sent} --out proof.json"));
    player.ok("verify --proof proof.json");
    player.ok("verify");
    // One of the ways is shut.
    player.fails("notify --test", &[("INBOX_NOTIFY_DESKTOP", "true")]);
    let elsewhere = format!("https://127.0.0.1:9/{HOOK}?token={SIGNS}");
    player.ok_with("config", &[("INBOX_NOTIFY_WEBHOOK", &elsewhere)]);
    let said = player.with(
        "hook claude session-start --json",
        &[("INBOX_HOOK_DEBUG", "1")],
        r#"{"session_id":"s-9","cwd":"."}"#,
    );
    assert_eq!(said.code, 0, "{said}");
    let asks = [
        json!({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}),
        json!({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"show_threads","arguments":{}}}),
        json!({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nonsense","arguments":{}}}),
    ];
    let asks: String = asks.iter().map(|ask| format!("{ask}\n")).collect();
    let said = player.with("mcp --agent quinn", &[], &asks);
    assert_eq!(said.code, 0, "{said}");
    let _ = player.with("mcp --agent quinn --json", &[], &asks);
    player.ok("run --agent quinn --drain -- witness run {prompt}");
    // What the command was given is its own, and in nobody's arguments.
    let seen = std::fs::read_dir(player.ears.folder().join("seen")).unwrap();
    let given = seen.flatten().filter_map(|entry| {
        let is_run = entry.file_name().to_string_lossy().contains("witness run");
        let text = std::fs::read_to_string(entry.path())
            .ok()
            .filter(|_| is_run)?;
        let lease = text
            .lines()
            .find_map(|line| line.strip_prefix("INBOX_LEASE="))?;
        Some(lease.to_owned())
    });
    for lease in given {
        let secret = lease.rsplit('_').next().unwrap();
        player.ears.listen("the runner's lease", secret);
    }
    player.ok("release --thread thr_1");
    let last = player.ok("send --from lead --to quinn --subject Last");
    let last = last["thread"]["thread_id"].as_str().unwrap_or_default();
    for (thread, verb) in [("thr_1", "done"), (last, "fail")] {
        let lease =
            player.ok(&format!("claim --agent quinn --thread {thread}"))["lease"]["lease_token"]
                .clone();
        let lease = lease.as_str().unwrap_or_default().to_owned();
        player.ok_with(
            &format!("{verb} --agent quinn --thread {thread} --summary ended"),
            &[("INBOX_LEASE", &lease)],
        );
    }
    player.ok("archive --older-than-days 0");
    sent.to_owned()
}

/// Calls what stays until it is told to stop, and what only a person at a terminal does.
pub(super) fn stay(player: &Player<'_>, stage: &Stage) {
    let anywhere =
        "devnet --node 127.0.0.1:0 --mirror 127.0.0.1:0 --rest 127.0.0.1:0 --data other.db";
    drop(player.stays(&format!("{anywhere} --json"), &[]));
    player.ok("devnet reset --data other.db");
    player.ok("session start --agent ben --session s-2");
    player.ok("send --from lead --to ben --subject Wake");
    let session = [("CLAUDE_CODE_SESSION_ID", "s-2")];
    drop(player.stays("monitor claude --json", &session));
    // Faults of the program: what a panic says.
    let (server, said) = player.stays(
        "serve --listen 127.0.0.1:0 --json",
        &[("INBOX_FAULT", "write:1-2")],
    );
    let address = said["url"].as_str().expect("a URL").to_owned();
    let address = address.split_once("://").unwrap().1;
    for _ in 0..3 {
        let headers = [
            ("Content-Type", "application/json"),
            ("Authorization", stage.bearer.as_str()),
            ("Inbox-Lease", stage.lease.as_str()),
        ];
        let body = r#"{"to":["ben"],"subject":"a fault"}"#;
        let answered = exchange(address, &post("/v1/send", address, &headers, body));
        let whole = format!("{} {}", answered.head, answered.body);
        player.ears.hears("POST /v1/send", whole.as_bytes());
    }
    drop(server);
    player.fails(
        "send --from lead --to ben --subject fault",
        &[("INBOX_FAULT", "write:1")],
    );
}

/// Calls operations at the server too, by the token in a file; some of it is done already by then.
pub(super) fn call(player: &Player<'_>, stage: &Stage) {
    let (mut called, mut answered) = (0, 0);
    for line in LINES {
        let path = line.replace(' ', "-");
        if !OPERATIONS.iter().any(|(name, _)| path.starts_with(name)) {
            continue;
        }
        let line = format!("{line} --db {} --json", stage.url);
        let outcome = player.with(&line, &[("INBOX_TOKEN", "")], "");
        called += 1;
        answered += usize::from(matches!(outcome.code, 0 | 10));
    }
    assert!(
        called > 40 && answered > 20,
        "{answered} of {called} were answered"
    );
}
