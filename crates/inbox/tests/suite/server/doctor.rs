//! `doctor` at a server: what can be seen of it from outside.

use inbox_testkit::certs::{Authority, Validity};
use inbox_testkit::sandbox::Sandbox;
use serde_json::Value;

use super::{Served, serve, token};
use crate::INBOX;

/// Somebody on another machine.
fn client(url: &str, secret: &str) -> Sandbox {
    let mut client = Sandbox::empty(INBOX);
    client.set("INBOX_DB", url);
    if !secret.is_empty() {
        client.set("INBOX_TOKEN", secret);
    }
    client
}

fn named<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let checks = answer["checks"].as_array().expect("checks");
    let found = checks.iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {answer}"))
}

#[track_caller]
fn is(answer: &Value, name: &str, status: &str, words: &str) {
    let check = named(answer, name);
    assert_eq!(check["status"], status, "{check}");
    let message = check["message"].as_str().expect("a message");
    assert!(message.contains(words), "{check}");
    let hint = check["hint"].as_str().expect("a hint");
    assert_eq!(hint.is_empty(), status == "ok", "{check}");
}

#[test]
fn a_server_that_is_well_is_said_to_be() {
    let served = Served::start();
    let client = client(&served.url, &served.token("lead", ""));
    let answer = client.run(["doctor", "--json"]).ok();
    is(&answer, "server", "ok", &served.url);
    is(&answer, "tls", "ok", "on this machine");
    is(&answer, "server_version", "ok", env!("CARGO_PKG_VERSION"));
    is(&answer, "clock", "ok", "as the server's");
    is(
        &answer,
        "token",
        "ok",
        " calls as lead and allows read, write",
    );
    is(&answer, "store", "ok", "answers");
    let said = client.run(["doctor"]);
    assert_eq!(said.code, 0, "{said}");
    assert!(said.stdout.contains("ok  token  tok_"), "{said}");
}

#[test]
fn a_server_that_is_away_is_an_error_and_so_is_another_program() {
    let away = client("http://127.0.0.1:1", "x").run(["doctor", "--json"]);
    is(
        &away.refused(50, "storage"),
        "server",
        "error",
        "cannot reach",
    );
    // Something that answers every request, in its own way.
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = other.local_addr().expect("an address");
    let answering = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = other.accept().expect("a request");
        let mut head = [0; 4096];
        let _ = stream.read(&mut head).expect("its head");
        let page = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
        stream.write_all(page.as_bytes()).expect("an answer");
    });
    let other = client(&format!("http://{address}"), "x").run(["doctor", "--json"]);
    is(
        &other.refused(50, "storage"),
        "server",
        "error",
        "not as an inbox server does",
    );
    answering.join().expect("it answered");
}

#[test]
fn a_token_that_does_not_open_is_an_error_with_the_rest_beside_it() {
    let served = Served::start();
    for secret in ["", "ibx_nonsense"] {
        let outcome = client(&served.url, secret).run(["doctor", "--json"]);
        let answer = outcome.refused(30, "unauthorized");
        is(&answer, "server", "ok", &served.url);
        is(&answer, "token", "error", "token");
    }
    let good = served.token("lead", "");
    let mut named_otherwise = client(&served.url, &good);
    named_otherwise.set("INBOX_AGENT", "bob");
    let answer = named_otherwise.run(["doctor", "--json"]).ok();
    is(
        &answer,
        "agent",
        "warning",
        "bob is named here, and the token is lead's",
    );
    let ending = served.token("lead", "--ttl-hours 2");
    let answer = client(&served.url, &ending).run(["doctor", "--json"]).ok();
    is(&answer, "token", "warning", "for 1 h more");
}

#[test]
fn a_certificate_that_nobody_trusts_is_named_as_the_trouble() {
    let desk = Sandbox::new(INBOX);
    let authority = Authority::new(&desk.folder().join("ca"), "A team's authority");
    let own = authority.issue("server", "DNS:localhost,IP:127.0.0.1", Validity::Now);
    let secret = token(&desk, "lead", "");
    let (cert, key) = (
        own.cert.display().to_string(),
        own.key.display().to_string(),
    );
    let (mut server, url) = serve(&desk, &["--tls-cert", &cert, "--tls-key", &key]);
    // Each side with the other's way of speaking.
    let plain = client(&url.replace("https:", "http:"), &secret).run(["doctor", "--json"]);
    let hint = plain.refused(50, "storage")["error"]["hint"].to_string();
    assert!(hint.contains("--db https://"), "{hint}");
    let served = Served::start();
    let secured = client(&served.url.replace("http:", "https:"), &secret).run(["doctor", "--json"]);
    let hint = secured.refused(50, "storage")["error"]["hint"].to_string();
    assert!(hint.contains("--db http://"), "{hint}");
    let mut client = client(&url, &secret);
    let stranger = client.run(["doctor", "--json"]).refused(50, "storage");
    let check = named(&stranger, "server");
    assert!(
        check["hint"].as_str().unwrap().contains("INBOX_CA_FILE"),
        "{check}"
    );
    client.set("INBOX_CA_FILE", &authority.cert().display().to_string());
    let answer = client.run(["doctor", "--json"]).ok();
    is(
        &answer,
        "tls",
        "ok",
        "trusted by the system's authorities or ",
    );
    is(&answer, "token", "ok", "calls as lead");
    let _ = server.kill();
    let _ = server.wait();
}
