//! The server: the same answers as the command line, to those with a token and to nobody else.

mod contract;
mod doctor;
mod fault;
mod gate;
mod ledger;
mod load;
mod long;
mod mcp;
mod notices;
mod pages;
mod parity;
pub(crate) mod raw;
mod secrets;
pub(crate) mod spoof;
mod stop;

use std::process::{Child, Command, Stdio};

use inbox_testkit::sandbox::Sandbox;
use serde_json::Value;

use crate::INBOX;

/// A real `inbox serve` on a store of its own.
pub(crate) struct Served {
    pub(crate) desk: Sandbox,
    child: Child,
    pub(crate) url: String,
}

impl Served {
    pub(crate) fn start() -> Served {
        Served::on(Sandbox::new(INBOX))
    }

    /// Serves the store of a desk.
    pub(crate) fn on(desk: Sandbox) -> Served {
        let (child, url) = serve(&desk, &[]);
        Served { desk, child, url }
    }

    /// Serves a store with these agents, whose record lives on a ledger beside it.
    pub(crate) fn on_ledger(agents: &[&str]) -> Served {
        let desk = Sandbox::new(INBOX);
        for agent in agents {
            desk.ok(&format!("agent add {agent}"));
        }
        let words = "up --ledger --ledger-ports anywhere --provision --listen 127.0.0.1:0 --json";
        let mut command = desk.command(words.split_whitespace());
        command.stderr(Stdio::inherit());
        let (child, url) = listening(command);
        Served { desk, child, url }
    }

    /// The address and port.
    pub(crate) fn address(&self) -> &str {
        self.url.split_once("://").expect("a URL").1
    }

    /// A secret that lets in as this agent, with these scopes besides.
    pub(crate) fn token(&self, agent: &str, more: &str) -> String {
        token(&self.desk, agent, more)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a token.
fn token(desk: &Sandbox, agent: &str, more: &str) -> String {
    let words = format!("token create --json --agent {agent} {more}");
    let made = desk.run(words.split_whitespace()).ok();
    made["secret"].as_str().expect("a secret").to_owned()
}

/// Starts a server and waits until it says where it listens.
fn serve(desk: &Sandbox, more: &[&str]) -> (Child, String) {
    let mut command: Command = desk.command(
        ["serve", "--listen", "127.0.0.1:0", "--json"]
            .into_iter()
            .chain(more.iter().copied()),
    );
    command.stderr(Stdio::inherit());
    listening(command)
}

/// Starts a server that was described, and waits until it says where it listens.
pub(crate) fn listening(mut command: Command) -> (Child, String) {
    use std::io::{BufRead, BufReader};
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("its output");
    BufReader::new(output)
        .read_line(&mut line)
        .expect("it says something");
    let said: Value = serde_json::from_str(&line).expect("JSON");
    let url = said["url"].as_str();
    let url = url.unwrap_or_else(|| panic!("no URL: {line}")).to_owned();
    (child, url)
}
