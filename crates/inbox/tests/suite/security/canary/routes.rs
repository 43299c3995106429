//! Every route of the server, every tool and every page of the console, by who may and by who may not.

use std::collections::BTreeSet;
use std::io::{Read, Write};

use serde_json::{Value, json};

use super::ears::Ears;
use super::paths::{CONSOLE, OPERATIONS, PAGES, TOOLS};
use crate::server::raw::{Answered, connect, exchange, post};

/// Where a server is, and what opens it.
pub(super) struct House<'a> {
    pub(super) address: &'a str,
    pub(super) ears: &'a Ears,
    pub(super) bearer: &'a str,
    pub(super) cookie: &'a str,
}

impl House<'_> {
    /// Keeps an answer by its place, without the cookie where it is given.
    fn hear(&self, place: &str, answered: &Answered) {
        let whole = format!("{}\r\n\r\n{}", answered.head, answered.body);
        self.ears.hears(place, whole.as_bytes());
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answered {
        let address = self.address;
        let mut request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("Connection: close\r\n\r\n");
        let answered = exchange(address, request.as_bytes());
        self.hear(&format!("GET {path}"), &answered);
        answered
    }

    fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answered {
        let mut all = vec![("Content-Type", "application/json")];
        all.extend(headers);
        let answered = exchange(self.address, &post(path, self.address, &all, body));
        self.hear(&format!("POST {path}"), &answered);
        answered
    }

    /// What is told of as it happens: the first that comes.
    pub(super) fn streams(&self) {
        let last = "Last-Event-ID: 0".to_owned();
        for (path, header) in [
            (
                "/v1/events",
                format!("Authorization: {}\r\n{last}", self.bearer),
            ),
            ("/live?at=/", format!("Cookie: {}", self.cookie)),
        ] {
            let mut stream = connect(self.address);
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: {}\r\n{header}\r\n\r\n",
                self.address
            );
            stream.write_all(request.as_bytes()).expect("it is sent");
            let (mut said, mut piece) = (Vec::new(), [0; 4096]);
            while !String::from_utf8_lossy(&said).contains("data:") {
                let count = stream.read(&mut piece).expect("something is told");
                assert_ne!(count, 0, "{path}: {}", String::from_utf8_lossy(&said));
                said.extend_from_slice(&piece[..count]);
            }
            self.ears.hears(&format!("GET {path}"), &said);
        }
    }

    /// Every operation: as it succeeds, and as it is refused.
    pub(super) fn operations(&self) {
        let described: Value =
            serde_json::from_str(&self.get("/openapi.json", &[]).body).expect("JSON");
        let paths: BTreeSet<String> = described["paths"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        let known = OPERATIONS.iter().map(|(path, _)| format!("/v1/{path}"));
        let known: BTreeSet<String> = known.chain(PAGES.map(str::to_owned)).collect();
        let unknown: Vec<_> = paths.difference(&known).collect();
        assert!(unknown.is_empty(), "add them to OPERATIONS: {unknown:?}");
        let own = [("Authorization", self.bearer), ("Inbox-Session", "s-1")];
        let card = crate::cli::card_prompt::card().to_string();
        let (mut lease, mut lost, mut token) = (String::new(), String::new(), String::new());
        for (name, body) in OPERATIONS {
            let path = format!("/v1/{name}");
            let body = body
                .replace("CARD", &card)
                .replace("LOST", &lost)
                .replace("TOKEN", &token);
            let mut headers = own.to_vec();
            if !lease.is_empty() {
                headers.push(("Inbox-Lease", &lease));
            }
            let answered = self.post(&path, &headers, &body);
            assert_eq!(answered.status, 200, "{name}: {}", answered.body);
            let answer: Value = serde_json::from_str(&answered.body).expect("JSON");
            let text = |at: &str| {
                answer
                    .pointer(at)
                    .and_then(Value::as_str)
                    .map(str::to_owned)
            };
            if let Some(new) = text("/lease/lease_token") {
                self.ears.listen("a lease", new.rsplit('_').next().unwrap());
                lease = new;
            }
            if let Some(secret) = text("/secret") {
                self.ears.listen("a new token", &secret);
                token = text("/token/token_id").unwrap();
            }
            lost = text("/letters/0/message/message_id").unwrap_or(lost);
            // And as nobody, as another, with a broken body, with a broken lease.
            self.post(&path, &[], &body);
            let wrong = format!("{}0", self.bearer);
            self.post(&path, &[("Authorization", &wrong)], &body);
            self.post(&path, &own, r#"{"canary":1}"#);
            let broken = format!("{lease}u");
            let headers = [own[0], ("Inbox-Lease", broken.as_str())];
            self.post(&path, &headers, "{");
        }
    }

    /// What is no operation, and what is nowhere.
    pub(super) fn pages(&self) {
        let basic = self.bearer.replace("Bearer", "Basic");
        for path in PAGES {
            for headers in [
                &[("Authorization", self.bearer)][..],
                &[("Authorization", &basic)],
                &[("Cookie", self.cookie)],
                &[],
            ] {
                self.get(path, headers);
            }
        }
        let token = self.bearer.trim_start_matches("Bearer ");
        for path in ["/nothing", "/v1/nothing", "/v1/list"] {
            self.get(&format!("{path}?token={token}"), &[]);
            self.post(&format!("{path}?token={token}"), &[], "{}");
        }
        let headers = [("Authorization", self.bearer), ("Inbox-Agent", "eve")];
        self.post("/v1/send", &headers, "{}");
    }

    /// Every tool, as it succeeds and as it is refused.
    pub(super) fn tools(&self) {
        let call = |method: &str, params: Value| {
            let mut params = params;
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let name = params["name"].as_str().unwrap_or_default().to_owned();
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let mut headers = vec![
                ("Accept", "application/json, text/event-stream"),
                ("Authorization", self.bearer),
                ("MCP-Protocol-Version", "2026-07-28"),
                ("Mcp-Method", method),
            ];
            if method == "tools/call" {
                headers.push(("Mcp-Name", &name));
            }
            let all = [&[("Content-Type", "application/json")], &headers[..]].concat();
            let request = post("/mcp", self.address, &all, &body.to_string());
            let answered = exchange(self.address, &request);
            self.hear(&format!("POST /mcp {name}"), &answered);
            serde_json::from_str::<Value>(&answered.body).unwrap_or_default()
        };
        let listed = call("tools/list", json!({}));
        let listed: BTreeSet<&str> = listed["result"]["tools"]
            .as_array()
            .expect("tools")
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        let known: BTreeSet<&str> = TOOLS.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, known, "each has its line in TOOLS");
        let work = r#"{"to":["lead"],"subject":"Held"}"#;
        self.post("/v1/send", &[("Authorization", self.bearer)], work);
        let mut held = String::new();
        for (name, arguments) in TOOLS {
            let arguments: Value = serde_json::from_str(&arguments.replace("HELD", &held)).unwrap();
            let answer = call(
                "tools/call",
                json!({ "name": name, "arguments": arguments }),
            );
            assert_ne!(answer["result"]["isError"], true, "{name}: {answer}");
            assert!(answer["result"].is_object(), "{name}: {answer}");
            let said = &answer["result"]["structuredContent"];
            if let Some(lease) = said["lease"]["lease_token"].as_str() {
                self.ears
                    .listen("a lease", lease.rsplit('_').next().unwrap());
            }
            if name == "claim_work" {
                held = said["thread"]["thread_id"]
                    .as_str()
                    .expect("a thread")
                    .to_owned();
            }
            call(
                "tools/call",
                json!({ "name": name, "arguments": { "canary": 1 } }),
            );
        }
        self.post("/mcp", &[("Accept", "application/json")], "nonsense");
    }

    /// The word that a form of this session sends back.
    fn guard(&self) -> String {
        let page = self.get("/compose", &[("Cookie", self.cookie)]);
        assert_eq!(page.status, 200, "the session opens: {}", page.body);
        let guard = page.body.split_once("name=\"guard\" value=\"");
        let guard = guard.expect("a guard").1;
        guard.split('"').next().unwrap().to_owned()
    }

    fn form(&self, path: &str, fields: &str, guard: &str) {
        let origin = format!("http://{}", self.address);
        let headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Origin", origin.as_str()),
            ("Cookie", self.cookie),
        ];
        let body = format!("{fields}&guard={guard}");
        let answered = exchange(self.address, &post(path, self.address, &headers, &body));
        self.hear(&format!("POST {path}"), &answered);
    }

    /// What the console says of a ledger.
    pub(super) fn record(&self, message: &str) {
        for path in ["/ledger", "/agents/quinn", &format!("/proof/{message}")] {
            let answered = self.get(path, &[("Cookie", self.cookie)]);
            assert_eq!(answered.status, 200, "{path}: {}", answered.body);
        }
        self.form("/ledger/verify", "all=1", &self.guard());
        self.get("/ledger", &[("Cookie", self.cookie)]);
    }

    /// Every page and form of the console.
    pub(super) fn console(&self) {
        for arm in arms() {
            let is_tried = CONSOLE
                .iter()
                .any(|(path, form)| arm.fits(path, form.is_some()));
            assert!(is_tried, "add a line for {arm:?} to CONSOLE");
        }
        let own = [("Cookie", self.cookie)];
        let guard = self.guard();
        let bearer = [("Authorization", self.bearer)];
        for (path, form) in CONSOLE {
            let path = format!("/{path}");
            match form {
                None => {
                    for headers in [&own[..], &bearer, &[]] {
                        self.get(&path, headers);
                    }
                }
                Some(fields) => {
                    for guard in ["wrong", &guard] {
                        self.form(&path, fields, guard);
                    }
                }
            }
        }
        let after = self.get("/threads", &own);
        assert_eq!(after.status, 401, "the last form ends the session");
    }
}

/// A pattern of paths, as the console's sources have it.
#[derive(Debug)]
struct Arm {
    parts: Vec<String>,
    is_form: bool,
}

impl Arm {
    fn fits(&self, path: &str, is_form: bool) -> bool {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let fits = |(wanted, part): (&String, &&str)| match wanted.strip_prefix('"') {
            Some(word) => word.trim_end_matches('"') == *part,
            None => true,
        };
        is_form == self.is_form
            && parts.len() == self.parts.len()
            && self.parts.iter().zip(&parts).all(fits)
    }
}

/// What the console shows and does, read from where it says so: a new page or form is not forgotten here.
fn arms() -> Vec<Arm> {
    let source = |file: &str| {
        let path = crate::root().join("crates/surfaces/src").join(file);
        std::fs::read_to_string(path).expect("the source")
    };
    let mut arms = Vec::new();
    for (file, is_form) in [("console.rs", false), ("console/act.rs", true)] {
        for line in source(file).lines() {
            let Some((pattern, _)) = line.trim().split_once("] =>") else {
                continue;
            };
            let parts = pattern.trim_start_matches('[').split(", ");
            let parts = parts.filter(|part| !part.is_empty()).map(str::to_owned);
            arms.push(Arm {
                parts: parts.collect(),
                is_form,
            });
        }
    }
    let source = source("http/console.rs");
    let places = source.split_once("const PLACES").expect("the places").1;
    let places = places
        .split_once("= [")
        .unwrap()
        .1
        .split_once(']')
        .unwrap()
        .0;
    for place in places
        .split(',')
        .map(str::trim)
        .filter(|place| place.len() > 2)
    {
        let is_known = CONSOLE
            .iter()
            .any(|(path, _)| path.split('/').next() == Some(place.trim_matches('"')));
        assert!(
            is_known || place == "\"in\"",
            "add a line for {place} to CONSOLE"
        );
    }
    assert!(arms.len() > 12, "{arms:?}");
    arms
}
