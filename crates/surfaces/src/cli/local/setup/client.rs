//! The clients that `setup` knows: where each keeps its files, and how it is recognised on this machine.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use inbox_core::{Code, Door, Refusal};

use crate::cli::find;

/// A program in which agents live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// Cursor, the editor and its command line.
    Cursor,
    /// Antigravity's command line.
    Agy,
}

impl Client {
    pub(crate) const ALL: [Client; 6] = [
        Client::Claude,
        Client::Codex,
        Client::Gemini,
        Client::Opencode,
        Client::Cursor,
        Client::Agy,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
            Client::Opencode => "opencode",
            Client::Cursor => "cursor",
            Client::Agy => "agy",
        }
    }

    /// The variable in which a client tells its children which session they belong to.
    pub(crate) fn session_variable(self) -> Option<&'static str> {
        match self {
            Client::Claude => Some("CLAUDE_CODE_SESSION_ID"),
            _ => None,
        }
    }

    /// The door by which its monitor wakes.
    pub(crate) fn door(self) -> Door {
        match self {
            Client::Opencode => Door::OpencodePlugin,
            _ => Door::Monitor,
        }
    }

    fn binaries(self) -> &'static [&'static str] {
        match self {
            Client::Claude => &["claude"],
            Client::Codex => &["codex"],
            Client::Gemini => &["gemini"],
            Client::Opencode => &["opencode"],
            Client::Cursor => &["cursor-agent", "cursor"],
            Client::Agy => &["agy"],
        }
    }

    /// Whether the client is used here: its configuration or its program is there.
    pub(super) fn is_found(self, places: &Places) -> bool {
        let trace = match self {
            Client::Claude => places.claude.clone(),
            Client::Codex => places.codex.clone(),
            // Antigravity shares the folder, so the folder alone says nothing.
            Client::Gemini => places.home.join(".gemini/settings.json"),
            Client::Opencode => places.config.join("opencode"),
            Client::Cursor => places.home.join(".cursor"),
            Client::Agy => places.home.join(".gemini/antigravity-cli"),
        };
        trace.exists() || self.binaries().iter().any(|name| on_path(name).is_some())
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Client {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        Client::ALL
            .into_iter()
            .find(|client| client.name() == text)
            .ok_or_else(|| {
                let names: Vec<_> = Client::ALL.iter().map(|client| client.name()).collect();
                Refusal::input(format!("{text:?} is no client that inbox knows"))
                    .hint(format!("inbox setup takes {}", names.join(", ")))
            })
    }
}

/// For whom a client is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The user, in every folder.
    User,
    /// Everybody who works in this project.
    Project,
}

/// The folders in which clients and `inbox` itself keep their files.
pub(super) struct Places {
    pub(super) home: PathBuf,
    /// The user's configuration, by the XDG rules.
    pub(super) config: PathBuf,
    pub(super) claude: PathBuf,
    pub(super) codex: PathBuf,
    /// Where `setup` remembers what it wrote.
    pub(super) state: PathBuf,
    /// The project of the working directory.
    pub(super) project: PathBuf,
}

impl Places {
    pub(super) fn of_this_user() -> Result<Self, Refusal> {
        let variable = |name: &str| find::variable(name).map(PathBuf::from);
        let home = variable("HOME").ok_or_else(|| {
            Refusal::input("HOME is not set, so no client's files can be found")
                .hint("export HOME=… and run inbox setup again")
        })?;
        let here = std::env::current_dir().map_err(|error| {
            let message = format!("the working directory cannot be read: {error}");
            Refusal::new(Code::Storage, message)
        })?;
        let config = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let state = variable("XDG_STATE_HOME").unwrap_or_else(|| home.join(".local/state"));
        Ok(Places {
            claude: variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude")),
            codex: variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
            state: state.join("inbox/setup"),
            project: project_of(&here),
            config,
            home,
        })
    }

    /// A path as people write it.
    pub(super) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// The folder that a project begins in: that of its store, else of its repository, else this one.
fn project_of(here: &Path) -> PathBuf {
    [find::DEFAULT, ".git"]
        .iter()
        .find_map(|mark| here.ancestors().find(|folder| folder.join(mark).exists()))
        .unwrap_or(here)
        .to_owned()
}

/// How files call this program: by its name where that finds this very file, else by its path.
#[derive(Debug, Clone)]
pub(super) struct Program(String);

impl Program {
    pub(super) fn this() -> Result<Self, Refusal> {
        let own = std::env::current_exe().map_err(|error| {
            let message = format!("the path of this program cannot be found: {error}");
            Refusal::new(Code::Internal, message)
        })?;
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let is_on_path = on_path("inbox").is_some_and(|found| real(&found) == real(&own));
        if is_on_path {
            return Ok(Program("inbox".to_owned()));
        }
        own.into_os_string()
            .into_string()
            .map(Program)
            .map_err(|_| {
                Refusal::input("the path of this program is no text that a configuration can hold")
                    .hint("mv the program to a folder with an ordinary name")
            })
    }

    /// As one word of a list of arguments.
    pub(super) fn word(&self) -> &str {
        &self.0
    }

    /// In a line that a shell reads.
    pub(super) fn shell(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
        if self.0.chars().all(is_plain) {
            self.0.clone()
        } else {
            format!("'{}'", self.0.replace('\'', r"'\''"))
        }
    }

    /// The line that runs a hook.
    pub(super) fn hook(&self, client: Client, event: &str) -> String {
        format!("{} hook {client} {event}", self.shell())
    }
}

/// A program that the shell would find.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| {
            std::fs::metadata(file)
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        })
}
