//! Tokens: who has none stays out, and none is ever shown.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use super::raw::{answer, connect, exchange, post};
use super::{Served, listening, serve, token};
use crate::INBOX;
use inbox_ops::{Caller, Inbox};
use inbox_store::{Location, Store};
use inbox_testkit::sandbox::{Sandbox, words};

const JSON: (&str, &str) = ("Content-Type", "application/json");

#[test]
fn a_token_that_is_missing_wrong_revoked_or_ended_opens_nothing() {
    let served = Served::start();
    let address = served.address();
    let good = served.token("lead", "");
    let short = good[..good.len() - 1].to_owned();
    let revoked = served.token("lead", "--label old");
    let listed = served.desk.ok("token list");
    let id = |label: &str| {
        let tokens = listed["tokens"].as_array().unwrap();
        let found = tokens.iter().find(|token| token["label"] == label);
        found.unwrap()["token_id"].as_str().unwrap().to_owned()
    };
    served
        .desk
        .run(["token", "revoke", &id("old"), "--json"])
        .ok();
    served
        .desk
        .run(["token", "revoke", &good, "--json"])
        .refused(40, "token_not_found");
    let cases = [
        (None, 401),
        (Some(String::new()), 401),
        (Some(format!("Basic {good}")), 401),
        (Some(format!("Bearer {short}")), 401),
        (Some(format!("Bearer {}", good.to_uppercase())), 401),
        (Some(format!("Bearer {revoked}")), 401),
        (Some("Bearer inbox_".to_owned()), 401),
        (Some("Bearer ".to_owned()), 401),
        (Some(format!("Bearer {good}")), 200),
        (Some(format!("bearer {good}")), 200),
    ];
    for (authorization, status) in cases {
        let mut headers = vec![JSON];
        if let Some(value) = &authorization {
            headers.push(("Authorization", value));
        }
        for path in ["/v1/list", "/v1/send", "/v1/watch"] {
            // With a token it would wait.
            if status == 200 && path == "/v1/watch" {
                continue;
            }
            let answered = exchange(address, &post(path, address, &headers, "{}"));
            let is_let_in = answered.status != 401;
            assert_eq!(
                is_let_in,
                status == 200,
                "{path} {authorization:?}: {}",
                answered.body
            );
        }
    }
    // In the path it is not even looked at.
    let request = post(&format!("/v1/list?token={good}"), address, &[JSON], "{}");
    assert_eq!(exchange(address, &request).status, 401);
}

#[test]
fn a_token_allows_what_its_scopes_say() {
    let served = Served::start();
    let address = served.address();
    let cases = [
        ("read", "/v1/list", "{}", 200),
        ("read", "/v1/send", r#"{"to":["bob"],"subject":"x"}"#, 403),
        ("read", "/v1/token-list", "{}", 403),
        ("write", "/v1/list", "{}", 403),
        ("write", "/v1/send", r#"{"to":["bob"],"subject":"x"}"#, 200),
        ("write", "/v1/agent-add", r#"{"slug":"eve"}"#, 403),
        ("admin", "/v1/token-list", "{}", 200),
        ("admin", "/v1/agent-add", r#"{"slug":"eve"}"#, 200),
        ("admin", "/v1/send", r#"{"to":["bob"],"subject":"x"}"#, 403),
    ];
    for (scope, path, body, status) in cases {
        let secret = format!(
            "Bearer {}",
            served.token("lead", &format!("--scope {scope}"))
        );
        let headers = [JSON, ("Authorization", secret.as_str())];
        let answered = exchange(address, &post(path, address, &headers, body));
        assert_eq!(answered.status, status, "{scope} {path}: {}", answered.body);
    }
}

/// The whole life of a token, looked for everywhere afterwards.
#[test]
fn a_secret_is_shown_once_and_found_nowhere() {
    let desk = Sandbox::new(INBOX);
    let secret = token(&desk, "lead", "");
    let (mut server, url) = serve(&desk, &[]);
    let mut client = Sandbox::empty(INBOX);
    client.set("INBOX_TOKEN", &secret);
    let mut said = String::new();
    for words in [
        "send --to bob --subject hello",
        "list",
        "send --subject nothing",
        "token list",
        "show --thread thr_999",
    ] {
        let mut words: Vec<_> = words.split_whitespace().collect();
        words.extend(["--db", &url]);
        let mut child = client.command(words);
        let child = child
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let child = child.spawn().expect("it starts");
        // What every user of the machine can read of a process while it runs.
        let line = fs::read(format!("/proc/{}/cmdline", child.id())).unwrap_or_default();
        said.push_str(&String::from_utf8_lossy(&line));
        let ended = child.wait_with_output().expect("it ends");
        said.push_str(&String::from_utf8_lossy(&ended.stdout));
        said.push_str(&String::from_utf8_lossy(&ended.stderr));
    }
    let line = fs::read(format!("/proc/{}/cmdline", server.id())).unwrap_or_default();
    said.push_str(&String::from_utf8_lossy(&line));
    let _ = server.kill();
    let _ = server.wait();
    for entry in fs::read_dir(desk.store().parent().unwrap()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap_or_default();
        said.push_str(&String::from_utf8_lossy(&bytes));
    }
    assert!(said.contains("hello"), "the server was used");
    assert!(!said.contains(&secret), "the secret was shown");
    assert!(
        !said.contains(&secret[10..40]),
        "a part of the secret was shown"
    );
}

#[test]
fn no_label_makes_a_token_the_consoles_own() {
    let desk = Sandbox::new(INBOX);
    for label in ["console", "console link", "console probe"] {
        let made = desk.run([
            "token", "create", "--agent", "bob", "--label", label, "--json",
        ]);
        made.refused(30, "invalid_input");
    }
}

#[test]
fn a_session_of_the_console_opens_the_console_and_nothing_for_programs() {
    let desk = Sandbox::new(INBOX);
    desk.ok("agent add ada --kind human");
    let inbox = Inbox::new(Store::open(&Location::File(desk.store())).expect("it opens"));
    let ada = "ada".parse().expect("a name");
    let link = inbox.invite(&Caller::local(None), Some(&ada), false);
    let (secret, _) = inbox
        .come_in(&link.expect("a link").code, false)
        .expect("a session");
    let served = Served::on(desk);
    let address = served.address();
    let bearer = format!("Bearer {secret}");
    let headers = [JSON, ("Authorization", bearer.as_str())];
    for (path, body) in [
        ("/v1/list", "{}"),
        ("/v1/token-create", r#"{"agent":"ada"}"#),
        ("/mcp", "{}"),
    ] {
        let answered = exchange(address, &post(path, address, &headers, body));
        assert_eq!(answered.status, 401, "{path}: {}", answered.body);
    }
    assert!(inbox.in_console(&secret).is_ok());
}

#[test]
fn who_only_listens_where_a_server_may_be_is_told_nothing_that_opens() {
    for said in [
        r#"{"ok":false}"#,
        r#"{"ok":true,"token":{"token_id":"tok_00000000","agent_id":"operator"}}"#,
        "<html>",
    ] {
        let thief = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = thief.local_addr().expect("its address");
        let ear = thief.try_clone().expect("it listens on");
        let overheard = std::thread::spawn(move || {
            let (mut stream, _) = ear.accept().expect("somebody asks");
            let mut head = [0; 4096];
            let count = stream.read(&mut head).expect("it says something");
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{said}",
                said.len()
            );
            stream.write_all(answer.as_bytes()).expect("it is told");
            String::from_utf8_lossy(&head[..count]).into_owned()
        });
        let desk = Sandbox::new(INBOX);
        let line = format!("ui --no-open --listen {address}");
        let (child, link) = listening(desk.command(words(&line)));
        let (url, code) = link.rsplit_once("/in/").expect("a link");
        let own = url.split_once("://").expect("a URL").1.to_owned();
        let code = code.to_owned();
        let served = Served {
            desk,
            child,
            url: url.to_owned(),
        };
        assert_ne!(own, address.to_string(), "the link leads to the thief");
        let heard = overheard.join().expect("it heard");
        assert!(!heard.contains(&code), "{heard}");
        let shown = heard
            .lines()
            .find_map(|line| line.split_once("Bearer "))
            .map(|(_, secret)| secret.trim().to_owned());
        let shown = shown.expect("by something it must be known");
        let open = |code: &str| {
            let asked = format!("GET /in/{code} HTTP/1.1\r\nHost: {own}\r\n\r\n");
            exchange(served.address(), asked.as_bytes()).status
        };
        assert_ne!(open(&shown), 303, "what was overheard opens the console");
        let bearer = format!("Bearer {shown}");
        let headers = [JSON, ("Authorization", bearer.as_str())];
        for path in ["/v1/list", "/v1/send", "/v1/token-create"] {
            let asked = exchange(&own, &post(path, &own, &headers, "{}"));
            assert_eq!(asked.status, 403, "{path}: {}", asked.body);
        }
        assert_eq!(open(&code), 303);
    }
}

#[test]
fn a_reader_keeps_no_lease_and_nobody_keeps_that_of_another() {
    let served = Served::start();
    let desk = &served.desk;
    desk.ok("send --from lead --to bob --subject Work");
    desk.ok("session start --agent bob --session bobs-1");
    desk.ok("claim --agent bob --session bobs-1 --lease-seconds 2");
    let address = served.address();
    let made = desk.ok("token create --agent bob --scope read");
    let reader = made["secret"].as_str().expect("a secret").to_owned();
    let stranger = served.token("eve", "");
    let wait = r#"{"thread":"thr_1","timeout_seconds":4}"#;
    let ask = |secret: &str, session: &str| {
        let bearer = format!("Bearer {secret}");
        let headers = [
            JSON,
            ("Authorization", bearer.as_str()),
            ("Inbox-Session", session),
        ];
        exchange(address, &post("/v1/wait-reply", address, &headers, wait))
    };
    let refused = ask(&stranger, "bobs-1");
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body.contains("invalid_input"), "{}", refused.body);
    // Past the end of the lease.
    let waited = ask(&reader, "bobs-1");
    assert_eq!(waited.status, 200, "{}", waited.body);
    let events = desk.ok("show --thread thr_1 --events 100");
    assert!(!events.to_string().contains("renewed"), "{events}");
    desk.ok("claim --agent bob --thread thr_1");
}

#[test]
fn over_the_network_nobody_changes_anothers_session() {
    let served = Served::start();
    served
        .desk
        .ok("session start --agent bob --session bobs-1 --role dev");
    let address = served.address();
    let change = |token: &str, path: &str, body: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [JSON, ("Authorization", bearer.as_str())];
        exchange(address, &post(path, address, &headers, body)).status
    };
    let (alice, bob) = (served.token("alice", ""), served.token("bob", ""));
    let set = r#"{"id":"bobs-1","role":["evil"]}"#;
    let of_bob = r#"{"id":"bobs-1"}"#;
    for (path, body) in [
        ("/v1/session-set", set),
        ("/v1/session-beat", of_bob),
        ("/v1/session-freeze", of_bob),
        ("/v1/session-end", of_bob),
    ] {
        assert_eq!(change(&alice, path, body), 403, "{path}");
    }
    let listed = served.desk.ok("session list");
    assert_eq!(listed["sessions"][0]["state"], "alive");
    assert_eq!(listed["sessions"][0]["roles"][0], "dev");
    assert_eq!(change(&bob, "/v1/session-set", set), 200);
    let steward = served.token("steward", "--scope write --scope override");
    assert_eq!(change(&steward, "/v1/session-end", of_bob), 200);
}

#[test]
fn a_wait_that_outlives_its_token_is_told_nothing() {
    let served = Served::start();
    let address = served.address();
    let (bob, admin) = (
        served.token("bob", "--label bobs"),
        served.token("root", "--scope admin --scope read"),
    );
    let bearer = format!("Bearer {bob}");
    let headers = [JSON, ("Authorization", bearer.as_str())];
    let mut waits = connect(address);
    waits
        .write_all(&post(
            "/v1/watch",
            address,
            &headers,
            r#"{"timeout_seconds":60}"#,
        ))
        .expect("it is sent");
    // It is let in once it is counted among those who wait.
    let scrape = format!(
        "GET /metrics HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {admin}\r\n\r\n"
    );
    let waiting = || {
        let page = exchange(address, scrape.as_bytes()).body;
        page.contains("inbox_waits 1").then_some(())
    };
    inbox_torture::child::eventually("it waits", waiting).expect("it waits");
    let tokens = served.desk.ok("token list");
    let tokens = tokens["tokens"].as_array().expect("tokens");
    let of_bob = tokens.iter().find(|token| token["label"] == "bobs");
    let body = serde_json::json!({ "id": of_bob.expect("bob's")["token_id"] }).to_string();
    let bearer = format!("Bearer {admin}");
    let headers = [JSON, ("Authorization", bearer.as_str())];
    let revoked = exchange(address, &post("/v1/token-revoke", address, &headers, &body));
    assert_eq!(revoked.status, 200, "{}", revoked.body);
    served.desk.ok("send --from lead --to bob --subject Secret");
    let told = answer(&mut waits);
    assert_eq!(told.status, 401, "{}", told.body);
    assert!(!told.body.contains("Secret"));
}

#[test]
fn a_token_file_that_others_can_read_is_refused() {
    let served = Served::start();
    let secret = served.token("lead", "");
    let mut client = Sandbox::empty(INBOX);
    let file = client.folder().join("token");
    fs::write(&file, format!("{secret}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    client.set("INBOX_TOKEN_FILE", file.to_str().unwrap());
    let list = ["list", "--json", "--db", &served.url];
    let refused = client.run(list).refused(30, "not_allowed");
    assert!(
        refused["error"]["hint"]
            .as_str()
            .unwrap()
            .starts_with("chmod 600")
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    client.run(list).ok();
    let nobody = Sandbox::empty(INBOX);
    nobody.run(list).refused(30, "unauthorized");
    let mut wrong = Sandbox::empty(INBOX);
    wrong.set("INBOX_TOKEN", "inbox_nothing");
    wrong.run(list).refused(30, "unauthorized");
}
