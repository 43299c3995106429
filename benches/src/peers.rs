//! The peers, installed from PyPI by name into a throw-away environment.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::lab::{Lab, timed};
use crate::report::{Report, say};

/// The peers that could be had.
#[derive(Default)]
pub(crate) struct Peers {
    pub(crate) hcom: Option<Hcom>,
    pub(crate) agent_bus: Option<AgentBus>,
}

/// hcom with two agents that know each other.
pub(crate) struct Hcom {
    program: PathBuf,
    home: PathBuf,
    version: String,
    sender: String,
    listener: String,
}

/// agent-bus (agent-group-mcp) with two agents that know each other.
pub(crate) struct AgentBus {
    program: PathBuf,
    home: PathBuf,
    version: String,
}

/// Installs both; one that cannot be had is left out, loudly.
pub(crate) fn install(lab: &Lab, report: &mut Report) -> Peers {
    let venv = lab.target.join("bench-peers").join("venv");
    let mut peers = Peers::default();
    match ensure(&venv, "hcom", "hcom").and_then(|version| Hcom::start(lab, &venv, version)) {
        Ok(hcom) => peers.hcom = Some(hcom),
        Err(error) => report.missing(format!(
            "hcom: it could not be had from PyPI or not be run ({error})"
        )),
    }
    match ensure(&venv, "agent-group-mcp", "agent-bus")
        .and_then(|version| AgentBus::start(lab, &venv, version))
    {
        Ok(agent_bus) => peers.agent_bus = Some(agent_bus),
        Err(error) => report.missing(format!(
            "agent-bus: agent-group-mcp could not be had from PyPI or not be run ({error})"
        )),
    }
    peers
}

/// Makes sure that a package is there, and gives its version.
fn ensure(venv: &Path, package: &str, program: &str) -> Outcome<String> {
    if !venv.join("bin/python").exists() {
        say("making an environment for the peers");
        run(Command::new("python3").args(["-m", "venv"]).arg(venv))?;
    }
    if !venv.join("bin").join(program).exists() {
        say(&format!("installing {package} from PyPI"));
        run(Command::new(venv.join("bin/python")).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--retries",
            "1",
            "--timeout",
            "20",
            package,
        ]))?;
    }
    let code = format!("import importlib.metadata as m; print(m.version({package:?}))");
    let version = run(Command::new(venv.join("bin/python")).args(["-c", &code]))?;
    Ok(version.trim().to_owned())
}

fn run(command: &mut Command) -> Outcome<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    let last = error.trim().lines().last().unwrap_or("no message");
    Err(last.to_owned().into())
}

impl Peers {
    pub(crate) fn versions(&self) -> String {
        let absent = "not measured";
        let hcom = self.hcom.as_ref().map_or(absent, |peer| &peer.version);
        let bus = self.agent_bus.as_ref().map_or(absent, |peer| &peer.version);
        format!("hcom {hcom}; agent-bus (agent-group-mcp) {bus}")
    }
}

impl Hcom {
    fn start(lab: &Lab, venv: &Path, version: String) -> Outcome<Self> {
        let mut hcom = Hcom {
            program: venv.join("bin/hcom"),
            home: lab.folder("hcom")?,
            version,
            sender: String::new(),
            listener: String::new(),
        };
        hcom.sender = hcom.agent()?;
        hcom.listener = hcom.agent()?;
        timed(&mut hcom.send())?;
        Ok(hcom)
    }

    /// Reads what was sent, fifty at a time, until a listener finds nothing.
    pub(crate) fn drain(&self) -> Outcome<()> {
        for _ in 0..20 {
            let found = self.listen("1").stdout(Stdio::piped()).output()?;
            if found.stdout.is_empty() {
                return Ok(());
            }
        }
        Err("hcom listen never ends".into())
    }

    /// Starts an agent; the first line of the answer names it.
    fn agent(&self) -> Outcome<String> {
        let said = run(self.command(&["start"]).stdout(Stdio::piped()))?;
        let line = said.lines().next().unwrap_or_default();
        line.strip_prefix("[hcom:")
            .and_then(|rest| rest.strip_suffix(']'))
            .map(str::to_owned)
            .ok_or_else(|| format!("hcom start said {line:?}").into())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Lab::clean(&self.program, &self.home);
        command.env("HCOM_DIR", self.home.join(".hcom")).args(args);
        command
    }

    /// Sends from one agent to the other.
    pub(crate) fn send(&self) -> Command {
        let to = format!("@{}", self.listener);
        let subject = "please review pull request 417";
        self.command(&[
            "send",
            &to,
            "--intent",
            "request",
            "--name",
            &self.sender,
            "--json",
            "--",
            subject,
        ])
    }

    /// Blocks until something has come, for at most so many seconds.
    pub(crate) fn listen(&self, seconds: &str) -> Command {
        self.command(&["listen", seconds, "--name", &self.listener, "--json"])
    }
}

impl AgentBus {
    fn start(lab: &Lab, venv: &Path, version: String) -> Outcome<Self> {
        let bus = AgentBus {
            program: venv.join("bin/agent-bus"),
            home: lab.folder("agent-bus")?,
            version,
        };
        // The first word of each registers it.
        for name in ["bob", "alice"] {
            timed(&mut bus.command(&["send", "--name", name, "--to", "*", "hi"]))?;
        }
        timed(&mut bus.send())?;
        Ok(bus)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Lab::clean(&self.program, &self.home);
        command
            .env("AGENT_BUS_DB", self.home.join("bus.db"))
            .env("AGENT_BUS_AUDIT_LOG", self.home.join("audit.log"))
            .args(args);
        command
    }

    /// Sends from one agent to the other.
    pub(crate) fn send(&self) -> Command {
        let subject = "please review pull request 417";
        self.command(&["send", "--name", "alice", "--to", "bob", "--json", subject])
    }
}
