//! What each client is given: its files, and what must be in them.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::client::{Client, Places, Program, Scope};

/// The skill for agents; what stands before a session's every turn is only its description.
const SKILL: &str = include_str!("../../../../../../skills/inbox/SKILL.md");

/// The plugin for opencode.
const PLUGIN: &str = include_str!("../../../../../../integrations/opencode/inbox.ts");

/// A description for clients that put it before every session: it costs tokens each time.
const DESCRIPTION: &str = "Durable mail and work between agents and people (command: inbox). Use to read, send or answer mail, claim work, ask when blocked, return results.";

/// How long a hook may take, in seconds. It takes milliseconds; this is for a machine that is asleep.
const PATIENCE: u32 = 10;

/// How long a session may be idle and still be woken by a hook of its last turn, in seconds.
const IDLE: u32 = 86_400;

/// How often Cursor may go on by itself before it waits for its user.
const LOOPS: u32 = 5;

/// A file of a client.
pub(super) struct Piece {
    pub(super) path: PathBuf,
    pub(super) content: Content,
}

/// What must be in a file.
pub(super) enum Content {
    /// This and nothing else: the file is ours.
    Whole(String),
    /// These, beside what is the user's.
    Json(Vec<Want>),
    /// The MCP server of Codex's configuration.
    Toml(McpServer),
}

/// How to start the MCP server.
pub(super) struct McpServer {
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

/// Something that must be in a JSON file.
pub(super) enum Want {
    /// A value under a key that is ours; further keys in it are the user's.
    Entry { path: Vec<String>, value: Value },
    /// A hook in a list that others use too. It is known by the end of its command.
    Hook {
        path: Vec<String>,
        value: Value,
        mark: String,
    },
    /// A value that the client insists on, whoever wrote it.
    Needed { key: String, value: Value },
}

/// The event's name in a client, and in `inbox hook`.
type Events = &'static [(&'static str, &'static str)];

const CLAUDE: Events = &[
    ("SessionStart", "session-start"),
    ("UserPromptSubmit", "prompt"),
    ("PostToolUse", "after-tool"),
    ("Stop", "stop"),
    ("SessionEnd", "end"),
    ("PreCompact", "compact"),
];

const GEMINI: Events = &[
    ("SessionStart", "session-start"),
    ("BeforeAgent", "prompt"),
    ("AfterTool", "after-tool"),
    ("AfterAgent", "stop"),
    ("SessionEnd", "end"),
];

const CURSOR: Events = &[
    ("sessionStart", "session-start"),
    ("beforeSubmitPrompt", "prompt"),
    ("postToolUse", "after-tool"),
    ("stop", "stop"),
    ("sessionEnd", "end"),
];

/// The files of a client.
pub(super) fn pieces(
    client: Client,
    scope: Scope,
    places: &Places,
    program: &Program,
) -> Vec<Piece> {
    let in_project = |path: &str| places.project.join(path);
    let at = |user: PathBuf, project: &str| match scope {
        Scope::User => user,
        Scope::Project => in_project(project),
    };
    let home = |path: &str| places.home.join(path);
    let skill = |folder: PathBuf| Piece {
        path: folder.join("inbox/SKILL.md"),
        content: Content::Whole(skill()),
    };
    let shared_skill = || skill(at(home(".agents/skills"), ".agents/skills"));
    match client {
        Client::Claude => {
            let folder = at(places.claude.join("skills"), ".claude/skills").join("inbox");
            claude(&folder, program)
        }
        Client::Codex => {
            let folder = at(places.codex.clone(), ".codex");
            vec![
                Piece {
                    path: folder.join("config.toml"),
                    content: Content::Toml(McpServer {
                        command: program.word().to_owned(),
                        args: vec!["mcp".to_owned()],
                    }),
                },
                Piece {
                    path: folder.join("hooks.json"),
                    content: Content::Json(grouped(client, CLAUDE, PATIENCE, program)),
                },
                shared_skill(),
            ]
        }
        Client::Gemini => {
            let mut wants = vec![mcp_server(program)];
            wants.extend(grouped(client, GEMINI, PATIENCE * 1000, program));
            vec![
                Piece {
                    path: at(home(".gemini"), ".gemini").join("settings.json"),
                    content: Content::Json(wants),
                },
                shared_skill(),
            ]
        }
        Client::Opencode => opencode(scope, places, program, skill),
        Client::Cursor => {
            let folder = at(home(".cursor"), ".cursor");
            vec![
                Piece {
                    path: folder.join("mcp.json"),
                    content: Content::Json(vec![mcp_server(program)]),
                },
                Piece {
                    path: folder.join("hooks.json"),
                    content: Content::Json(flat(program)),
                },
                skill(folder.join("skills")),
            ]
        }
        Client::Agy => vec![
            Piece {
                path: at(
                    home(".gemini/antigravity-cli/mcp_config.json"),
                    ".agents/mcp_config.json",
                ),
                content: Content::Json(vec![mcp_server(program)]),
            },
            shared_skill(),
        ],
    }
}

fn opencode(
    scope: Scope,
    places: &Places,
    program: &Program,
    skill: impl Fn(PathBuf) -> Piece,
) -> Vec<Piece> {
    let (root, folder) = match scope {
        Scope::User => (
            places.config.join("opencode"),
            places.config.join("opencode"),
        ),
        Scope::Project => (places.project.clone(), places.project.join(".opencode")),
    };
    let with_comments = root.join("opencode.jsonc");
    let plain = root.join("opencode.json");
    let path = if with_comments.exists() && !plain.exists() {
        with_comments
    } else {
        plain
    };
    let server = json!({ "type": "local", "command": [program.word(), "mcp"], "enabled": true });
    vec![
        Piece {
            path,
            content: Content::Json(vec![Want::Entry {
                path: keys(&["mcp", "inbox"]),
                value: server,
            }]),
        },
        Piece {
            path: folder.join("plugins/inbox.ts"),
            content: Content::Whole(PLUGIN.replace(
                "const INBOX = \"inbox\"",
                &format!("const INBOX = {}", Value::from(program.word())),
            )),
        },
        skill(folder.join("skills")),
    ]
}

/// The folder that Claude Code loads as a plugin: skill, hooks, MCP server and monitor.
fn claude(folder: &std::path::Path, program: &Program) -> Vec<Piece> {
    let manifest = json!({
        "$schema": "https://anthropic.com/claude-code/plugin.schema.json",
        "name": "inbox",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "A durable inbox for agents and the people who steer them",
        "author": { "name": "inbox" },
        "license": "MIT OR Apache-2.0",
    });
    let hooks: serde_json::Map<String, Value> = CLAUDE
        .iter()
        .map(|(name, event)| {
            let mut group = group(Client::Claude, event, PATIENCE, program);
            if *event == "stop"
                && let Some(hooks) = group["hooks"].as_array_mut()
            {
                hooks.push(rewake(program));
            }
            ((*name).to_owned(), json!([group]))
        })
        .collect();
    let server = json!({ "command": program.word(), "args": ["mcp"] });
    let monitor = json!([{
        "name": "mail",
        "command": format!("{} monitor claude", program.shell()),
        "description": "new mail in the inbox",
    }]);
    let whole = |name: &str, text: String| Piece {
        path: folder.join(name),
        content: Content::Whole(text),
    };
    vec![
        whole(".claude-plugin/plugin.json", pretty(&manifest)),
        whole("SKILL.md", skill()),
        whole("hooks/hooks.json", pretty(&json!({ "hooks": hooks }))),
        whole(
            ".mcp.json",
            pretty(&json!({ "mcpServers": { "inbox": server } })),
        ),
        whole("monitors/monitors.json", pretty(&monitor)),
    ]
}

/// A hook that runs on behind an idle session and ends when mail comes: it wakes where the monitor does not run.
fn rewake(program: &Program) -> Value {
    json!({
        "type": "command",
        "command": format!("{} monitor claude --door async_rewake", program.shell()),
        "asyncRewake": true,
        "timeout": IDLE,
    })
}

fn mcp_server(program: &Program) -> Want {
    Want::Entry {
        path: keys(&["mcpServers", "inbox"]),
        value: json!({ "command": program.word(), "args": ["mcp"] }),
    }
}

/// Hooks in groups, as Claude Code, Codex and Gemini have them.
fn grouped(client: Client, events: Events, timeout: u32, program: &Program) -> Vec<Want> {
    let hook = |(name, event): &(&str, &str)| Want::Hook {
        path: keys(&["hooks", name]),
        value: group(client, event, timeout, program),
        mark: mark(client, event),
    };
    events.iter().map(hook).collect()
}

fn group(client: Client, event: &str, timeout: u32, program: &Program) -> Value {
    let command = program.hook(client, event);
    json!({ "hooks": [{ "type": "command", "command": command, "timeout": timeout }] })
}

/// Hooks without groups, as Cursor has them.
fn flat(program: &Program) -> Vec<Want> {
    let version = Want::Needed {
        key: "version".to_owned(),
        value: json!(1),
    };
    let hook = |(name, event): &(&str, &str)| {
        let mut value =
            json!({ "command": program.hook(Client::Cursor, event), "timeout": PATIENCE });
        if *event == "stop" {
            value["loop_limit"] = json!(LOOPS);
        }
        Want::Hook {
            path: keys(&["hooks", name]),
            value,
            mark: mark(Client::Cursor, event),
        }
    };
    std::iter::once(version)
        .chain(CURSOR.iter().map(hook))
        .collect()
}

/// How a hook of ours is known, whatever the path of the program was.
fn mark(client: Client, event: &str) -> String {
    format!(" hook {client} {event}")
}

/// The skill with the short description.
fn skill() -> String {
    let line = |line: &str| {
        if line.starts_with("description:") {
            format!("description: \"{DESCRIPTION}\"\n")
        } else {
            format!("{line}\n")
        }
    };
    SKILL.lines().map(line).collect()
}

fn keys(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A JSON file as clients write it.
pub(super) fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
