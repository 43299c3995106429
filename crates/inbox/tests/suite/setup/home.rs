//! A user's home with the configurations of every client, written by hand, and the binary to run in it.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use inbox_testkit::sandbox::{Outcome, Sandbox};
use serde_json::Value;

use crate::INBOX;

/// Every client.
pub(super) const CLIENTS: [&str; 6] = ["claude", "codex", "gemini", "opencode", "cursor", "agy"];

/// What a user has written: a client, a file, and its content. Every line has something to lose.
pub(super) const BY_HAND: &[(&str, &str, &str)] = &[
    ("claude", ".claude/settings.json", SETTINGS),
    ("codex", ".codex/config.toml", TOML),
    ("codex", ".codex/hooks.json", GROUPED),
    ("gemini", ".gemini/settings.json", JSONC),
    ("opencode", ".config/opencode/opencode.jsonc", OPENCODE),
    ("cursor", ".cursor/mcp.json", SERVERS),
    ("cursor", ".cursor/hooks.json", FLAT),
    ("agy", ".gemini/antigravity-cli/mcp_config.json", SERVERS),
];

const SETTINGS: &str = "{\n  \"permissions\": { \"allow\": [\"Bash(ls:*)\"] }\n}\n";

const TOML: &str = "\
# How I like it.
model = \"some-model\"   # not the large one
approval_policy = \"on-request\"

[mcp_servers.files]  # mine
command = \"files\"
args = [ \"--root\",
  \"src\" ]

# The last word.
[tui]
notifications   = true
";

const GROUPED: &str = "{\"hooks\": {\n    \"Stop\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"say done\" } ] } ]\n}}";

const JSONC: &str = "\
{
  // The look of it.
  \"theme\": \"dark\",

  \"mcpServers\": {
    \"files\": { \"command\": \"files\", \"env\": { \"TOKEN\": \"hunter2\" } } // mine
  },
  /* Told to me. */
  \"hooks\": {
    \"SessionStart\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"date\" } ] } ]
  }
}
";

const OPENCODE: &str = "\
{
\t\"$schema\": \"https://opencode.ai/config.json\",
\t// Only these.
\t\"mcp\": {
\t\t\"files\": { \"type\": \"local\", \"command\": [\"files\"] },
\t},
\t\"permission\": { \"bash\": \"ask\" }, // always
}
";

const SERVERS: &str = "{ \"mcpServers\": { \"files\": { \"command\": \"files\", \"args\": [] } } }";

const FLAT: &str = "{\r\n    \"version\": 1,\r\n    \"hooks\": {\r\n        \"stop\": [{ \"command\": \"./stop.sh\" }]\r\n    }\r\n}\r\n";

/// A home, a project beside it, and a path on which there is a shell and nothing else.
pub(super) struct Home {
    pub(super) inbox: Sandbox,
}

/// Every file of a home: its text and mode, or where a link leads.
pub(super) type Tree = BTreeMap<PathBuf, (String, u32)>;

impl Home {
    pub(super) fn new() -> Self {
        let mut inbox = Sandbox::empty(INBOX);
        let folder = inbox.folder().to_owned();
        for name in ["home", "bin"] {
            std::fs::create_dir(folder.join(name)).unwrap();
        }
        symlink("/bin/sh", folder.join("bin/sh")).unwrap();
        inbox.set("HOME", &folder.join("home").display().to_string());
        inbox.set("PATH", &folder.join("bin").display().to_string());
        Home { inbox }
    }

    /// The same, with what a user has written for every client.
    pub(super) fn lived_in() -> Self {
        let home = Home::new();
        for (_, name, content) in BY_HAND {
            home.write(name, content);
        }
        home
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.inbox.folder().join("home").join(name)
    }

    pub(super) fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    #[track_caller]
    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[track_caller]
    pub(super) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    pub(super) fn chmod(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), PermissionsExt::from_mode(mode)).unwrap();
    }

    /// Runs `setup` with these words and `--json`.
    #[track_caller]
    pub(super) fn setup(&self, line: &str) -> Outcome {
        let words = ["setup"].into_iter().chain(line.split_whitespace());
        self.inbox.run(words.chain(["--json"]))
    }

    /// Every file of the home but what `setup` remembers.
    pub(super) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        let root = self.path("");
        walk(&root, &root, &mut tree);
        tree.retain(|path, _| !path.starts_with(".local"));
        tree
    }
}

fn walk(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_owned();
        let found = path.symlink_metadata().unwrap();
        let mode = found.permissions().mode() & 0o7777;
        if found.is_symlink() {
            let to = std::fs::read_link(&path).unwrap();
            tree.insert(name, (format!("-> {}", to.display()), 0));
        } else if found.is_dir() {
            // Empty folders count: none may be left behind.
            tree.insert(name, ("a folder".to_owned(), mode));
            walk(root, &path, tree);
        } else {
            let text = std::fs::read_to_string(&path).unwrap();
            tree.insert(name, (text, mode));
        }
    }
}

/// What happened to each file, in the answer's order.
pub(super) fn changes(answer: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&answer["clients"])
        .iter()
        .flat_map(|client| list(&client["files"]))
        .map(|file| file["change"].as_str().unwrap().to_owned())
        .collect()
}
