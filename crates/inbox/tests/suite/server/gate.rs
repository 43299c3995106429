//! What a web page, a rebound name or a form can make a browser send: nothing of it comes in.

use super::Served;
use super::raw::{exchange, post};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// What a browser may be made to call this server, and whether it is one of its names.
const HOSTS: [(&str, bool); 19] = [
    ("127.0.0.1:PORT", true),
    ("localhost:PORT", true),
    ("LOCALHOST:PORT", true),
    ("[::1]:PORT", true),
    ("127.0.0.1", false),
    ("localhost", false),
    ("localhost:1", false),
    ("localhost.:PORT", false),
    ("localhost.evil.example:PORT", false),
    ("127.0.0.1.evil.example:PORT", false),
    ("evil.example:PORT", false),
    ("evil.example", false),
    ("0.0.0.0:PORT", false),
    ("127.1:PORT", false),
    ("2130706433:PORT", false),
    ("user@localhost:PORT", false),
    ("localhost:PORT@evil.example", false),
    (" localhost:PORT x", false),
    ("", false),
];

/// Where a page may come from, and whether it is one of this server's.
const ORIGINS: [(Option<&str>, bool); 11] = [
    (None, true),
    (Some("http://127.0.0.1:PORT"), true),
    (Some("http://localhost:PORT"), true),
    (Some("null"), false),
    (Some("http://evil.example"), false),
    (Some("https://127.0.0.1:PORT"), false),
    (Some("http://127.0.0.1:PORT.evil.example"), false),
    (Some("http://127.0.0.1:PORT/"), false),
    (Some("http://localhost"), false),
    (Some("file://"), false),
    (Some("chrome-extension://abc"), false),
];

const PATHS: [&str; 5] = ["/v1/list", "/v1/nothing", "/health", "/", "/mcp"];

#[test]
fn only_hosts_and_origins_of_this_server_come_in_on_every_path() {
    let served = Served::start();
    let address = served.address();
    let (_, port) = address.rsplit_once(':').unwrap();
    let secret = format!("Bearer {}", served.token("lead", ""));
    let here = format!("127.0.0.1:{port}");
    let hosts = HOSTS.map(|(host, is_host)| (host.replace("PORT", port), is_host));
    let origins = ORIGINS.map(|(origin, is_origin)| {
        let origin = origin.map(|origin| origin.replace("PORT", port));
        (origin, is_origin)
    });
    for path in PATHS {
        for (host, is_host) in &hosts {
            let request = post(path, host, &[JSON, ("Authorization", &secret)], "{}");
            let status = exchange(address, &request).status;
            assert_eq!(status == 403, !is_host, "{path} {host:?}: {status}");
        }
        for (origin, is_origin) in &origins {
            let mut headers = vec![JSON, ("Authorization", secret.as_str())];
            if let Some(origin) = origin {
                headers.push(("Origin", origin));
            }
            let status = exchange(address, &post(path, &here, &headers, "{}")).status;
            assert_eq!(status == 403, !is_origin, "{path} {origin:?}: {status}");
        }
    }
}

#[test]
fn two_hosts_no_host_and_a_foreign_request_line_are_refused() {
    let served = Served::start();
    let address = served.address();
    let evil = "evil.example";
    let requests = [
        "GET /health HTTP/1.1\r\n\r\n".to_owned(),
        format!("GET /health HTTP/1.1\r\nHost: {address}\r\nHost: {evil}\r\n\r\n"),
        format!("GET /health HTTP/1.1\r\nHost: {address}\r\nHost: {address}\r\n\r\n"),
        format!("GET http://{evil}/health HTTP/1.1\r\nHost: {address}\r\n\r\n"),
        format!("GET /health HTTP/1.0\r\nHost: {address}\r\n\r\n"),
        format!(
            "GET /health HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nOrigin: null\r\n\r\n"
        ),
    ];
    for request in requests {
        let status = exchange(address, request.as_bytes()).status;
        assert!(matches!(status, 400 | 403), "{request:?}: {status}");
    }
    let own = format!("GET http://{address}/health HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert_eq!(exchange(address, own.as_bytes()).status, 200);
}

/// What a form or a page can say that it sends without being asked about it.
const KINDS: [Option<&str>; 7] = [
    None,
    Some("text/plain"),
    Some("text/plain; charset=application/json"),
    Some("application/x-www-form-urlencoded"),
    Some("multipart/form-data; boundary=x"),
    Some("application/jsonp"),
    Some("application/json-seq"),
];

#[test]
fn what_a_form_or_a_foreign_page_can_send_changes_nothing() {
    let served = Served::start();
    let address = served.address();
    let secret = format!("Bearer {}", served.token("lead", ""));
    let body = r#"{"to":["bob"],"subject":"by a page"}"#;
    for kind in KINDS {
        let mut headers = vec![("Authorization", secret.as_str())];
        headers.extend(kind.map(|kind| ("Content-Type", kind)));
        let answered = exchange(address, &post("/v1/send", address, &headers, body));
        assert_eq!(answered.status, 415, "{kind:?}: {}", answered.body);
    }
    for site in ["cross-site", "same-site"] {
        let headers = [
            JSON,
            ("Authorization", secret.as_str()),
            ("Sec-Fetch-Site", site),
        ];
        let answered = exchange(address, &post("/v1/send", address, &headers, body));
        assert_eq!(answered.status, 403, "{site}");
    }
    let preflight = format!(
        "OPTIONS /v1/send HTTP/1.1\r\nHost: {address}\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n\r\n"
    );
    let upgrade = format!(
        "GET /v1/events HTTP/1.1\r\nHost: {address}\r\nOrigin: http://evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    );
    for request in [preflight, upgrade] {
        let answered = exchange(address, request.as_bytes());
        assert_eq!(answered.status, 403);
        let head = answered.head.to_lowercase();
        assert!(!head.contains("access-control"), "{head}");
    }
    assert_eq!(
        served.desk.run(["list", "--json"]).ok()["threads"],
        serde_json::json!([])
    );
}

#[test]
fn every_answer_tells_a_browser_to_keep_out() {
    let served = Served::start();
    let address = served.address();
    for path in [
        "/health",
        "/openapi.json",
        "/metrics",
        "/v1/list",
        "/nothing",
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let head = exchange(address, request.as_bytes()).head.to_lowercase();
        for line in [
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "content-security-policy: default-src 'none'; frame-ancestors 'none'",
        ] {
            assert!(head.contains(line), "{path} lacks {line}: {head}");
        }
        assert!(!head.contains("access-control"), "{head}");
    }
}

#[test]
fn another_address_needs_tls_or_says_that_it_does_without() {
    let desk = inbox_testkit::sandbox::Sandbox::new(crate::INBOX);
    let refused = desk.run(["serve", "--listen", "0.0.0.0:0", "--json"]);
    let refused = refused.refused(30, "not_allowed");
    assert!(
        refused["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("--tls-cert")
    );
    for bad in ["127.0.0.1", "localhost:80", "127.0.0.1:99999", "x"] {
        desk.run(["serve", "--listen", bad, "--json"])
            .refused(30, "invalid_input");
    }
    desk.run([
        "serve",
        "--tls-cert",
        "missing.pem",
        "--tls-key",
        "missing.key",
        "--json",
    ])
    .refused(30, "invalid_input");
}
