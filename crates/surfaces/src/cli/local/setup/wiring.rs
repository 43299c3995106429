//! Whether clients are wired, for `doctor`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use inbox_core::Refusal;
use serde_json::{Value, json};

use super::client::{Client, Places, Program, Scope, on_path};
use super::ledger::Ledger;
use super::piece::{Content, Piece, pieces};
use super::plan::{self, What};
use super::{file, json as jsonc, toml};

/// How long Codex may take to say what it trusts.
const PATIENCE: Duration = Duration::from_secs(5);

/// How one client is wired.
pub(in crate::cli::local) struct Wiring {
    pub(in crate::cli::local) client: &'static str,
    pub(in crate::cli::local) is_fine: bool,
    pub(in crate::cli::local) message: String,
    pub(in crate::cli::local) hint: String,
}

/// Every client that is found here. What cannot be looked at is a finding, not a failure.
pub(in crate::cli::local) fn of_clients() -> Vec<Wiring> {
    let Ok(places) = Places::of_this_user() else {
        return Vec::new();
    };
    let Ok(program) = Program::this() else {
        return Vec::new();
    };
    let ledger = Ledger::open(&places.state).unwrap_or_default();
    Client::ALL
        .into_iter()
        .filter(|client| client.is_found(&places))
        .map(|client| of_client(client, &places, &program, &ledger))
        .collect()
}

fn of_client(client: Client, places: &Places, program: &Program, ledger: &Ledger) -> Wiring {
    let again = format!("inbox setup {client}");
    let finding = |is_fine: bool, message: String, hint: String| Wiring {
        client: client.name(),
        is_fine,
        message,
        hint,
    };
    let mut found = Vec::new();
    for scope in [Scope::User, Scope::Project] {
        let all = pieces(client, scope, places, program);
        match state(client, &all, places, ledger) {
            Ok(state) => found.push((scope, state)),
            Err(refusal) => {
                return finding(
                    false,
                    refusal.message,
                    format!("{again}, when the file is correct"),
                );
            }
        }
    }
    let word = |scope: Scope| match scope {
        Scope::User => "for you",
        Scope::Project => "for this project",
    };
    let wired = found.iter().find(|(_, state)| *state == State::Wired);
    let changed = found.iter().find(|(_, state)| *state == State::Changed);
    match (wired, changed) {
        (Some((scope, _)), _) => {
            let where_ = word(*scope);
            match (client, untrusted(client)) {
                (_, None) => finding(true, format!("wired {where_}"), String::new()),
                (_, Some(hooks)) => finding(
                    false,
                    format!("wired {where_}, but {hooks} of its hooks are not approved"),
                    "codex, then /hooks, and approve inbox; until then they do not run".to_owned(),
                ),
            }
        }
        (None, Some((scope, _))) => {
            let flag = if *scope == Scope::Project {
                " --project"
            } else {
                ""
            };
            finding(
                false,
                format!("wired {}, but not as this inbox would", word(*scope)),
                format!("{again}{flag} shows the difference and corrects it"),
            )
        }
        (None, None) => finding(
            false,
            "not wired".to_owned(),
            format!("{again} gives its agents an inbox"),
        ),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    Changed,
    Wired,
}

fn state(
    client: Client,
    all: &[Piece],
    places: &Places,
    ledger: &Ledger,
) -> Result<State, Refusal> {
    let mut is_whole = true;
    let mut is_any = false;
    for piece in all {
        // A file that cannot be written is none that must be.
        let change = match plan::wire(client, piece, ledger, places) {
            Ok(change) => change,
            Err(refusal) if refusal.code == inbox_core::Code::NotAllowed => {
                is_whole = false;
                continue;
            }
            Err(refusal) => return Err(refusal),
        };
        is_whole &= change.what == What::Nothing;
        let text = file::text_of(&change.real)?;
        is_any |= text.is_some_and(|text| match &piece.content {
            // The skill may be another client's.
            Content::Whole(_) => !piece.path.ends_with("SKILL.md"),
            Content::Json(wants) => jsonc::has_any(&text, wants),
            Content::Toml(_) => toml::without(&text).is_ok_and(|rest| rest != text),
        });
    }
    Ok(match (is_whole, is_any) {
        (true, _) => State::Wired,
        (false, true) => State::Changed,
        (false, false) => State::Absent,
    })
}

/// How many hooks of ours Codex will not run, as it says itself.
fn untrusted(client: Client) -> Option<usize> {
    if client != Client::Codex {
        return None;
    }
    let program = on_path("codex")?;
    let here = std::env::current_dir().ok()?;
    let mut child = Command::new(program)
        .arg("app-server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let client_info = json!({ "name": "inbox", "version": env!("CARGO_PKG_VERSION") });
    let asked = [
        json!({ "id": 1, "method": "initialize", "params": { "clientInfo": client_info } }),
        json!({ "method": "initialized" }),
        json!({ "id": 2, "method": "hooks/list", "params": { "cwds": [here.display().to_string()] } }),
    ];
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        for line in asked {
            let _ = stdin.write_all(format!("{line}\n").as_bytes());
        }
    }
    let (send, answers) = channel();
    let stdout = child.stdout.take();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(stdout?).lines() {
            let value: Value = serde_json::from_str(&line.ok()?).unwrap_or_default();
            if value["id"] == 2 {
                let _ = send.send(value);
                break;
            }
        }
        Some(())
    });
    let answer = answers.recv_timeout(PATIENCE).ok();
    // Its input closed and itself ended, the reader has nothing left to read.
    drop(stdin);
    let _ = child.kill();
    let _ = child.wait();
    let _ = reader.join();
    let count = not_approved(&answer?);
    (count > 0).then_some(count)
}

fn not_approved(answer: &Value) -> usize {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&answer["result"]["data"])
        .iter()
        .flat_map(|folder| list(&folder["hooks"]))
        .filter(|hook| {
            let command = hook["command"].as_str().unwrap_or_default();
            command.contains(" hook codex ")
        })
        .filter(|hook| {
            let status = hook["trustStatus"].as_str().unwrap_or_default();
            !matches!(status, "trusted" | "managed")
        })
        .count()
}
