//! A client that says exactly what a test wants, and waits for what the server says.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use inbox_testkit::sandbox::Sandbox;
use serde_json::{Map, Value, json};

/// When a server that says nothing counts as broken; no test passes or fails by how long it took.
const BROKEN: Duration = Duration::from_secs(100);

/// What every request of 2026-07-28 carries.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    said: Receiver<Value>,
    /// What was said before anybody asked for it.
    kept: Vec<Value>,
    last_id: i64,
    is_stateless: bool,
}

impl Client {
    /// A server for this agent, with a session of 2025-11-25.
    pub(crate) fn start(sandbox: &Sandbox, agent: &str) -> Self {
        Client::named(sandbox, agent, "test")
    }

    /// The same, for a client of this name.
    pub(crate) fn named(sandbox: &Sandbox, agent: &str, name: &str) -> Self {
        let mut client = Client::raw(sandbox, &["mcp", "--agent", agent], &[]);
        client.greet(name);
        client
    }

    /// Begins a session of 2025-11-25.
    pub(crate) fn greet(&mut self, name: &str) -> Value {
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": name, "version": "1" },
        });
        let id = self.request("initialize", &hello);
        let answer = self.answer(id);
        self.line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        answer
    }

    /// A server of 2026-07-28, which has no session.
    pub(crate) fn stateless(sandbox: &Sandbox, agent: &str) -> Self {
        let mut client = Client::raw(sandbox, &["mcp", "--agent", agent], &[]);
        client.is_stateless = true;
        client
    }

    /// A server that nothing was said to.
    pub(crate) fn raw(sandbox: &Sandbox, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = sandbox
            .command(args)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the server starts");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("there is an output");
        let (say, said) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = line.expect("the output is text");
                let value = serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("not the protocol ({error}): {line}"));
                if say.send(value).is_err() {
                    return;
                }
            }
        });
        Client {
            child,
            stdin,
            said,
            kept: Vec::new(),
            last_id: 0,
            is_stateless: false,
        }
    }

    /// Says a line.
    pub(crate) fn line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        writeln!(stdin, "{line}").expect("the server reads");
    }

    /// Asks, and gives the number to wait for.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        let mut params = params.clone();
        if self.is_stateless {
            for (key, value) in meta().as_object().expect("it is an object") {
                params["_meta"][key] = value.clone();
            }
        }
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.line(&request.to_string());
        id
    }

    /// The next thing that fits.
    #[track_caller]
    pub(crate) fn next(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&fits) {
            return self.kept.remove(at);
        }
        loop {
            let said = self.said.recv_timeout(BROKEN);
            let said = said.unwrap_or_else(|error| panic!("the server never said {what}: {error}"));
            if fits(&said) {
                return said;
            }
            self.kept.push(said);
        }
    }

    /// The whole answer to a request.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        self.next("the answer", |said| {
            said["id"] == id && said.get("method").is_none()
        })
    }

    /// The next notice of this kind.
    #[track_caller]
    pub(crate) fn notice(&mut self, method: &str) -> Value {
        self.next(method, |said| said["method"] == method)
    }

    /// The next error that belongs to no request.
    #[track_caller]
    pub(crate) fn complaint(&mut self) -> Value {
        self.next("what is wrong", |said| {
            said.get("id").is_none() && said.get("error").is_some()
        })
    }

    /// Whether something was said that nobody asked for yet.
    pub(crate) fn has_kept(&self, fits: impl Fn(&Value) -> bool) -> bool {
        self.kept.iter().any(fits)
    }

    /// Calls a tool, and gives the number to wait for.
    pub(crate) fn begin(&mut self, tool: &str, arguments: &Value) -> i64 {
        self.request(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// The result of a tool.
    #[track_caller]
    pub(crate) fn end(&mut self, id: i64) -> Value {
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Calls a tool and gives its result.
    #[track_caller]
    pub(crate) fn result(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.begin(tool, arguments);
        self.end(id)
    }

    /// Calls a tool and gives its answer as JSON.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.result(tool, arguments)["structuredContent"].clone()
    }

    /// Calls a tool and gives what a model reads.
    #[track_caller]
    pub(crate) fn text(&mut self, tool: &str, arguments: &Value) -> String {
        text(&self.result(tool, arguments))
    }

    /// Closes the input, and gives everything that was still said and the exit status.
    pub(crate) fn close(mut self) -> (Vec<Value>, i32) {
        drop(self.stdin.take());
        let mut said = std::mem::take(&mut self.kept);
        said.extend(self.said.iter());
        let status = self.child.wait().expect("the server can be waited for");
        (said, status.code().unwrap_or(-1))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a model reads of a result.
pub(crate) fn text(result: &Value) -> String {
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {result}"))
        .to_owned()
}

/// An answer without what differs from one store to another.
pub(crate) fn settled(mut answer: Value) -> Value {
    fn settle(value: &mut Value) {
        match value {
            Value::Object(map) => {
                for key in ["uid", "lease_token"] {
                    if map.contains_key(key) {
                        map.insert(key.to_owned(), "…".into());
                    }
                }
                Map::values_mut(map).for_each(settle);
            }
            Value::Array(items) => items.iter_mut().for_each(settle),
            _ => {}
        }
    }
    settle(&mut answer);
    answer
}
