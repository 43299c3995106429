//! What a web page, a rebound name or a form can make a browser send: nothing of it comes in.

use inbox_ops::{Operation, Visitor, Waiting, each_operation};

use super::Served;
use super::raw::{exchange, post};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// What this server is called.
const OWN_HOSTS: [&str; 4] = [
    "127.0.0.1:PORT",
    "localhost:PORT",
    "LOCALHOST:PORT",
    "[::1]:PORT",
];

/// What else a browser may be made to call it.
const FOREIGN_HOSTS: [&str; 15] = [
    "127.0.0.1",
    "localhost",
    "localhost:1",
    "localhost.:PORT",
    "localhost.evil.example:PORT",
    "127.0.0.1.evil.example:PORT",
    "evil.example:PORT",
    "evil.example",
    "0.0.0.0:PORT",
    "127.1:PORT",
    "2130706433:PORT",
    "user@localhost:PORT",
    "localhost:PORT@evil.example",
    " localhost:PORT x",
    "",
];

/// Where a request of this server's own pages, or of no page, comes from.
const OWN_ORIGINS: [Option<&str>; 3] = [
    None,
    Some("http://127.0.0.1:PORT"),
    Some("http://localhost:PORT"),
];

/// Where else a page may come from.
const FOREIGN_ORIGINS: [Option<&str>; 8] = [
    Some("null"),
    Some("http://evil.example"),
    Some("https://127.0.0.1:PORT"),
    Some("http://127.0.0.1:PORT.evil.example"),
    Some("http://127.0.0.1:PORT/"),
    Some("http://localhost"),
    Some("file://"),
    Some("chrome-extension://abc"),
];

/// Operations, what is told as it happens, what is open to all, the tools, and the console with its forms and its style.
const PATHS: [(&str, &str); 15] = [
    ("POST", "/v1/list"),
    ("POST", "/v1/send"),
    ("POST", "/v1/nothing"),
    ("GET", "/v1/events"),
    ("GET", "/v1/token"),
    ("GET", "/health"),
    ("GET", "/openapi.json"),
    ("GET", "/metrics"),
    ("GET", "/"),
    ("GET", "/threads"),
    ("GET", "/live"),
    ("GET", "/assets/console.css"),
    ("POST", "/compose"),
    ("POST", "/mcp"),
    ("GET", "/mcp"),
];

#[test]
fn only_hosts_and_origins_of_this_server_come_in_on_every_path() {
    let served = Served::start();
    let address = served.address();
    let (_, port) = address.rsplit_once(':').unwrap();
    let secret = format!("Bearer {}", served.token("lead", ""));
    let hosts = OWN_HOSTS.map(|host| (host, true)).into_iter();
    let hosts = hosts.chain(FOREIGN_HOSTS.map(|host| (host, false)));
    let (mut refused, mut let_in) = (0, 0);
    for (host, is_host) in hosts {
        let host = host.replace("PORT", port);
        let origins = OWN_ORIGINS.map(|origin| (origin, true)).into_iter();
        let origins = origins.chain(FOREIGN_ORIGINS.map(|origin| (origin, false)));
        for (origin, is_origin) in origins {
            let origin = origin.map(|origin| origin.replace("PORT", port));
            for (method, path) in PATHS {
                let mut headers = vec![JSON, ("Authorization", secret.as_str())];
                headers.extend(origin.as_deref().map(|origin| ("Origin", origin)));
                let request = post(path, &host, &headers, "{}");
                let request = String::from_utf8(request).unwrap();
                let request = request.replacen("POST", method, 1);
                let status = exchange(address, request.as_bytes()).status;
                let is_own = is_host && is_origin;
                let told = format!("{method} {path} to {host:?} from {origin:?}: {status}");
                assert_eq!(status == 403, !is_own, "{told}");
                refused += usize::from(!is_own);
                let_in += usize::from(is_own);
            }
        }
    }
    let foreign = FOREIGN_HOSTS.len() * (OWN_ORIGINS.len() + FOREIGN_ORIGINS.len());
    let foreign = foreign + OWN_HOSTS.len() * FOREIGN_ORIGINS.len();
    assert_eq!(refused, foreign * PATHS.len());
    assert_eq!(let_in, OWN_HOSTS.len() * OWN_ORIGINS.len() * PATHS.len());
}

/// What else there is beside the operations: of each place of the console something, its forms, the tools and what is told of them.
const OTHER_ROUTES: [(&str, &str); 37] = [
    ("GET", "/health"),
    ("GET", "/openapi.json"),
    ("GET", "/metrics"),
    ("GET", "/v1/token"),
    ("GET", "/v1/events"),
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("DELETE", "/mcp"),
    ("GET", "/"),
    ("GET", "/agents"),
    ("GET", "/agents/lead"),
    ("GET", "/agents/lead/card"),
    ("POST", "/agents/lead/card"),
    ("GET", "/threads"),
    ("GET", "/threads/thr_1"),
    ("POST", "/threads/thr_1/reply"),
    ("POST", "/threads/thr_1/assign"),
    ("POST", "/threads/thr_1/cancel"),
    ("GET", "/channels"),
    ("GET", "/channels/role:x"),
    ("GET", "/compose"),
    ("POST", "/compose"),
    ("GET", "/flow"),
    ("GET", "/dead"),
    ("POST", "/dead/msg_1"),
    ("GET", "/ledger"),
    ("POST", "/ledger/verify"),
    ("GET", "/store"),
    ("POST", "/read"),
    ("GET", "/read/msg_1"),
    ("GET", "/in/inbox_none"),
    ("POST", "/in/inbox_none"),
    ("POST", "/out"),
    ("GET", "/live"),
    ("GET", "/assets/console.css"),
    ("GET", "/assets/console.js"),
    ("GET", "/proof/msg_1"),
];

/// A foreign host and foreign pages.
const FOREIGN: [(&str, Option<&str>); 3] = [
    ("evil.example:PORT", None),
    ("127.0.0.1:PORT", Some("http://evil.example")),
    ("localhost:PORT", Some("null")),
];

/// Every operation's path.
struct Operations(Vec<String>);

impl Visitor for Operations {
    fn visit<O: Operation>(&mut self) {
        self.0.push(format!("/v1/{}", O::NAME.replace(' ', "-")));
    }

    fn visit_waiting<O: Waiting>(&mut self) {
        self.visit::<O>();
    }
}

#[test]
fn on_every_route_there_is_a_foreign_host_or_page_is_refused() {
    let console = include_str!("../../../../surfaces/src/http/console.rs");
    let places = console.split("const PLACES").nth(1);
    let places = places.and_then(|rest| rest.split("];").next());
    let places = places.expect("its places").split('"').skip(1).step_by(2);
    for place in places {
        let is_tried = |(_, path): &(&str, &str)| path.split('/').nth(1) == Some(place);
        assert!(OTHER_ROUTES.iter().any(is_tried), "add /{place} here");
    }
    let mut operations = Operations(Vec::new());
    each_operation(&mut operations);
    let operations = operations.0.iter().map(|path| ("POST", path.as_str()));
    let served = Served::start();
    let address = served.address();
    let (_, port) = address.rsplit_once(':').unwrap();
    for (method, path) in operations.chain(OTHER_ROUTES) {
        let foreign = FOREIGN.map(|(host, origin)| (host, origin, true));
        let own = ("127.0.0.1:PORT", None, false);
        for (host, origin, is_foreign) in foreign.into_iter().chain([own]) {
            let host = host.replace("PORT", port);
            let mut headers = vec![JSON];
            headers.extend(origin.map(|origin| ("Origin", origin)));
            let request = post(path, &host, &headers, "{}");
            let request = String::from_utf8(request).unwrap();
            let answered = exchange(address, request.replacen("POST", method, 1).as_bytes());
            let told = format!("{method} {path} to {host:?} from {origin:?}");
            assert_eq!(
                answered.status == 403,
                is_foreign,
                "{told}: {}",
                answered.body
            );
            let head = answered.head.to_lowercase();
            assert!(
                head.contains("content-security-policy: default-src 'none'"),
                "{told}: {head}"
            );
            assert!(
                head.contains("x-content-type-options: nosniff"),
                "{told}: {head}"
            );
            assert!(!head.contains("access-control"), "{told}: {head}");
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
