//! The real Claude Code, Codex, Gemini and opencode from npm, each in a network of its own where a stand-in answers for its
//! model: they take a thread, ask, go on with the same conversation when they are answered, and what they used is read
//! from what they say themselves. Without npm, Python and user namespaces these tests fail.

use std::path::Path;
use std::process::{Command, Stdio};

use inbox_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use super::{Ground, Leashed, NEVER, text};
use crate::INBOX;
use crate::clients::offline;
use crate::setup::clients::{CLAUDE, CODEX, GEMINI, Package, installed};

const OPENCODE: Package = Package {
    name: "opencode-ai",
    version: "1.18.33",
    program: "opencode",
};

const CLAUDE_ACP: Package = Package {
    name: "@agentclientprotocol/claude-agent-acp",
    version: "0.99.1",
    program: "claude-agent-acp",
};

const CODEX_ACP: Package = Package {
    name: "@agentclientprotocol/codex-acp",
    version: "2.6.0",
    program: "codex-acp",
};

/// Where the stand-in listens, in the client's own network.
const MODEL: &str = "http://127.0.0.1:8765";

/// How many turns of [`NEVER`] a client may take: these are large programs, and the machine may be busy.
const PATIENCE: u32 = 4;

/// What two starts cost, of which each reads ten tokens and writes five: in millionths of a dollar, where the client
/// knows the price.
type Cost = Option<std::ops::RangeInclusive<f64>>;

/// A client, and what there is around it.
struct Case<'a> {
    preset: &'a str,
    package: &'a Package,
    files: &'a [(&'a str, &'a str)],
    variables: &'a [(&'a str, &'a str)],
    cost: Cost,
}

/// How a client takes up its work when it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// In the same conversation.
    GoesOn,
    /// In the same conversation, or from the beginning with question and answer.
    MayBegin,
}

/// Plays one thread with a client, and looks at what came of it.
#[track_caller]
fn plays(case: &Case<'_>, again: Again) {
    let mut ground = Ground {
        inbox: Sandbox::new(INBOX),
    };
    let root = ground.folder().to_owned();
    let program = installed(case.package);
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    for name in ["home", "tmp"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    for (name, content) in case.files {
        let place = root.join("home").join(name);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, content).unwrap();
    }
    for (name, value) in [
        ("HOME", root.join("home").display().to_string()),
        ("TMPDIR", root.join("tmp").display().to_string()),
        ("PATH", path),
        // What it says on its way must not be in the prompt of one that begins again.
        ("INBOX_RUN_PROGRESS_SECONDS", "0".to_owned()),
    ]
    .into_iter()
    .chain(
        case.variables
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned())),
    ) {
        ground.inbox.set(name, &value);
    }
    // Codex works in a repository, and in no other folder.
    let made = Command::new("git").args(["init", "-q"]).arg(&root).status();
    assert!(made.expect("git is there").success());

    let thread = ground.send("Fill the table");
    let log = root.join("log");
    let runner = start(&ground, &log, case.preset);
    until(&ground, &thread, &log, "blocked");
    assert_eq!(ground.last(&thread)["summary"], "Red or blue?");
    ground.reply(&thread, "The blue one");
    until(&ground, &thread, &log, "done");
    assert_eq!(runner.ends(), 0);

    let last = ground.last(&thread);
    assert_eq!(text(&last["body"]), "Used the blue one.", "{last}");
    let complete = &last["payload_json"]["payload"];
    assert_eq!(
        complete["x_tokens"],
        json!({ "input": 20, "output": 10 }),
        "{complete}"
    );
    let cost = complete["cost_usd"]
        .as_f64()
        .map(|cost| (cost * 1e6).round());
    let is_known = match (cost, &case.cost) {
        (Some(cost), Some(known)) => known.contains(&cost),
        (cost, known) => cost.is_none() && known.is_none(),
    };
    assert!(is_known, "{complete}");
    assert!(
        complete["x_session"]
            .as_str()
            .is_some_and(|id| id.len() > 8),
        "{complete}"
    );
    let asked = requests(&log);
    let mut after = asked.iter().filter(|asked| asked.contains("The blue one"));
    // What the model had said besides its question is known to nobody but the conversation.
    let goes_on = after.any(|asked| asked.contains("I looked at both."));
    let begins = asked
        .iter()
        .any(|asked| asked.contains("This thread so far") && asked.contains("The blue one"));
    assert!(goes_on || again == Again::MayBegin && begins, "{asked:#?}");
}

/// Starts the runner with its client beside the stand-in.
fn start(ground: &Ground, log: &Path, preset: &str) -> Leashed {
    // The sandbox's own command says which variables and which folder there are.
    let like = ground.inbox.command(["version"]);
    let mut command = offline("beside.py");
    command
        .arg(log)
        .arg(INBOX)
        .args(["run", "--agent", "quinn", "--once", "--preset", preset])
        .current_dir(ground.folder())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env_clear();
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let runner = command.spawn();
    Leashed(runner.expect("unshare is needed to give the client a network of its own"))
}

#[track_caller]
fn until(ground: &Ground, thread: &str, log: &Path, wanted: &str) {
    let deadline = std::time::Instant::now() + NEVER * PATIENCE;
    loop {
        let status = ground.status(thread);
        if status == wanted {
            return;
        }
        let is_over = ["done", "failed"].contains(&status.as_str());
        assert!(
            !is_over && std::time::Instant::now() < deadline,
            "{status}, and not {wanted}: {}\n{:#?}",
            ground.last(thread),
            requests(log),
        );
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

/// What was asked of the model.
fn requests(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let asked = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    asked
        .map(|asked: Value| asked["body"].to_string())
        .collect()
}

const KEY: &str = "sk-ant-stand-in-0123456789abcdef0123456789abcdef";

const ANTHROPIC: [(&str, &str); 4] = [
    ("ANTHROPIC_BASE_URL", MODEL),
    ("ANTHROPIC_API_KEY", KEY),
    ("ANTHROPIC_MODEL", "claude-sonnet-4-5"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
];

const CODEX_SETTINGS: (&str, &str) = (
    ".codex/config.toml",
    "model = \"gpt-5-codex\"\nmodel_provider = \"standin\"\napproval_policy = \"never\"\n\
     check_for_update_on_startup = false\n\n[model_providers.standin]\nname = \"stand-in\"\n\
     base_url = \"http://127.0.0.1:8765/v1\"\nwire_api = \"responses\"\n\n[analytics]\nenabled = false\n",
);

/// With a model that is named, Gemini asks no other one which to take.
const GEMINI_SETTINGS: (&str, &str) = (
    ".gemini/settings.json",
    r#"{ "security": { "auth": { "selectedType": "gemini-api-key" } }, "model": { "name": "gemini-2.5-flash" },
         "general": { "enableAutoUpdate": false }, "privacy": { "usageStatisticsEnabled": false } }"#,
);

const GOOGLE: [(&str, &str); 3] = [
    ("GEMINI_API_KEY", "x"),
    ("GOOGLE_GEMINI_BASE_URL", MODEL),
    ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
];

/// A dollar for a thousand tokens that are read, two for as many that are written.
const OPENCODE_SETTINGS: (&str, &str) = (
    ".config/opencode/opencode.json",
    r#"{ "autoupdate": false, "share": "disabled", "model": "standin/blue", "small_model": "standin/blue",
         "provider": { "standin": { "npm": "@ai-sdk/openai-compatible", "name": "Stand-in",
           "options": { "baseURL": "http://127.0.0.1:8765/v1", "apiKey": "x" },
           "models": { "blue": { "name": "Blue", "cost": { "input": 1000, "output": 2000 },
             "limit": { "context": 200000, "output": 8000 } } } } } }"#,
);

/// Three dollars for a million tokens that are read, and fifteen for as many that are written; twice.
const SONNET: Cost = Some(210.0..=210.0);
/// The adapter has the model find a title besides, and counts that among the costs.
const SONNET_AND_TITLES: Cost = Some(210.0..=420.0);
const BLUE: Cost = Some(40_000.0..=40_000.0);
const UNPRICED: Cost = None;

const CLAUDE_CASE: Case<'_> = Case {
    preset: "claude",
    package: &CLAUDE,
    files: &[],
    variables: &ANTHROPIC,
    cost: SONNET,
};

const CODEX_CASE: Case<'_> = Case {
    preset: "codex",
    package: &CODEX,
    files: &[CODEX_SETTINGS],
    variables: &[],
    cost: UNPRICED,
};

const GEMINI_CASE: Case<'_> = Case {
    preset: "gemini",
    package: &GEMINI,
    files: &[GEMINI_SETTINGS],
    variables: &GOOGLE,
    cost: UNPRICED,
};

const OPENCODE_CASE: Case<'_> = Case {
    preset: "opencode",
    package: &OPENCODE,
    files: &[OPENCODE_SETTINGS],
    variables: &[],
    cost: BLUE,
};

#[test]
fn claude_code_answers_asks_and_goes_on() {
    plays(&CLAUDE_CASE, Again::GoesOn);
}

#[test]
fn codex_answers_asks_and_goes_on() {
    plays(&CODEX_CASE, Again::GoesOn);
}

#[test]
fn gemini_answers_asks_and_goes_on() {
    plays(&GEMINI_CASE, Again::GoesOn);
}

#[test]
fn opencode_answers_asks_and_goes_on() {
    plays(&OPENCODE_CASE, Again::GoesOn);
}

#[test]
fn claude_code_answers_asks_and_goes_on_by_the_agent_client_protocol() {
    let case = Case {
        preset: "claude-acp",
        package: &CLAUDE_ACP,
        cost: SONNET_AND_TITLES,
        ..CLAUDE_CASE
    };
    plays(&case, Again::GoesOn);
}

#[test]
fn codex_answers_asks_and_goes_on_by_the_agent_client_protocol() {
    let case = Case {
        preset: "codex-acp",
        package: &CODEX_ACP,
        ..CODEX_CASE
    };
    plays(&case, Again::GoesOn);
}

#[test]
fn gemini_answers_and_asks_by_the_agent_client_protocol() {
    // Gemini 0.61 names the file of a session by the minute: a session that is loaded in the minute in which it was begun is
    // written over by the one that loads it, and Gemini says that there is no such session. Then it begins again.
    let case = Case {
        preset: "gemini-acp",
        ..GEMINI_CASE
    };
    plays(&case, Again::MayBegin);
}

#[test]
fn opencode_answers_asks_and_goes_on_by_the_agent_client_protocol() {
    let case = Case {
        preset: "opencode-acp",
        ..OPENCODE_CASE
    };
    plays(&case, Again::GoesOn);
}
