//! `setup`: gives the agents of a client an inbox, and takes it away again.
//!
//! Every change is settled and shown before the first file is written, and each file is replaced as a whole. What
//! a client may do, and what it asks its user for, is never touched.

mod client;
mod diff;
mod file;
mod json;
mod ledger;
mod piece;
mod plan;
mod proof;
mod toml;
pub(super) mod wiring;

use std::io::{BufRead, IsTerminal};

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_core::text::visible;
use inbox_core::{Code, Refusal};
use serde_json::{Value, json};

use super::super::args::suggest;
use super::super::print::complain;
use super::super::{Context, Ended};
pub(crate) use client::Client;
use client::{Places, Program, Scope};
use ledger::Ledger;
use plan::{Change, What};

pub(super) fn describe(command: Command) -> Command {
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    command
        .about("Give the agents of your clients an inbox")
        .long_about(
            "Give the agents of your clients an inbox\n\nWithout a name it is every client that is found here. It shows what it would change, asks once, keeps a copy of every file as it was, and then proves itself with a message that the client's hook prints. --remove takes it all out again, byte for byte where nobody has changed the file since.",
        )
        .arg(suggest(
            Arg::new("client")
                .value_name("CLIENT")
                .num_args(0..)
                .help("claude, codex, gemini, opencode, cursor or agy"),
            Client::ALL.map(Client::name),
        ))
        .arg(flag("yes").help("Do it without asking"))
        .arg(flag("dry-run").help("Show every change and do nothing"))
        .arg(flag("remove").help("Take out what setup put in"))
        .arg(flag("user").help("For you, in every folder; that is so unless told otherwise"))
        .arg(
            flag("project")
                .conflicts_with("user")
                .help("For this project, in files that its team shares"),
        )
}

/// What was asked for.
struct Order {
    scope: Scope,
    is_removal: bool,
    is_dry: bool,
    is_sure: bool,
}

impl Order {
    fn of(matches: &ArgMatches) -> Self {
        Order {
            scope: if matches.get_flag("project") {
                Scope::Project
            } else {
                Scope::User
            },
            is_removal: matches.get_flag("remove"),
            is_dry: matches.get_flag("dry-run"),
            is_sure: matches.get_flag("yes"),
        }
    }
}

/// A client, and what is done for it.
struct Part {
    client: Client,
    changes: Vec<Change>,
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let order = Order::of(matches);
    let places = Places::of_this_user()?;
    let clients = clients(matches, &places)?;
    if clients.is_empty() {
        return nobody(context);
    }
    let program = Program::this()?;
    let mut ledger = Ledger::open(&places.state)?;
    let mut parts: Vec<Part> = Vec::new();
    for client in &clients {
        let mut changes = Vec::new();
        for piece in piece::pieces(*client, order.scope, &places, &program) {
            let mut change = if order.is_removal {
                plan::unwire(*client, &piece, &ledger, &places, &clients)?
            } else {
                plan::wire(*client, &piece, &ledger, &places)?
            };
            // Clients share a skill, and for the next one it is there already.
            let is_done = |other: &Change| other.is_any() && other.real == change.real;
            if parts.iter().flat_map(|part| &part.changes).any(is_done) {
                change.what = What::Nothing;
            }
            changes.push(change);
        }
        parts.push(Part {
            client: *client,
            changes,
        });
    }
    let is_any = parts
        .iter()
        .any(|part| part.changes.iter().any(Change::is_any));
    let is_text = !context.printer.is_json();
    if is_text {
        context.printer.raw(&shown(&parts, &order, &places))?;
    }
    if !order.is_dry {
        if is_any && !order.is_sure && !confirmed(&order, context)? {
            context.printer.raw("nothing was changed\n")?;
            return Ok(Ended::Nothing);
        }
        let mut folders = Vec::new();
        for change in parts.iter().flat_map(|part| &part.changes) {
            folders.extend(plan::carry_out(change, &mut ledger, !order.is_removal)?);
        }
        plan::sweep(folders);
        if is_text && is_any {
            context.printer.raw(if order.is_removal {
                "removed\n"
            } else {
                "written\n"
            })?;
        }
    }
    let proofs = if order.is_dry || order.is_removal {
        Vec::new()
    } else {
        let prove = |part: &Part| proof::prove(part.client, &program, context);
        parts.iter().map(prove).collect()
    };
    if is_text {
        return end(&parts, &proofs, &order, context);
    }
    let body = answer(&parts, &proofs, &order);
    context.printer.object("setup", true, &body)?;
    Ok(Ended::Something)
}

fn clients(matches: &ArgMatches, places: &Places) -> Result<Vec<Client>, Refusal> {
    let named: Vec<Client> = matches
        .get_many::<String>("client")
        .into_iter()
        .flatten()
        .map(|name| name.parse())
        .collect::<Result<_, _>>()?;
    if !named.is_empty() {
        let mut once = Vec::new();
        for client in named {
            if !once.contains(&client) {
                once.push(client);
            }
        }
        return Ok(once);
    }
    Ok(Client::ALL
        .into_iter()
        .filter(|client| client.is_found(places))
        .collect())
}

fn nobody(context: &Context) -> Result<Ended, Refusal> {
    if context.printer.is_json() {
        let none: [Value; 0] = [];
        context
            .printer
            .object("setup", true, &json!({ "clients": none }))?;
    } else {
        context.printer.raw(
            "no client was found here\nhint: inbox setup claude, or the name of another, sets it up all the same\n",
        )?;
    }
    Ok(Ended::Nothing)
}

/// What is about to happen.
fn shown(parts: &[Part], order: &Order, places: &Places) -> String {
    let mut out = String::new();
    for part in parts {
        let is_any = part.changes.iter().any(Change::is_any);
        let state = match (is_any, order.is_removal) {
            (true, _) => "",
            (false, true) => "  nothing to remove",
            (false, false) => "  nothing to do",
        };
        out.push_str(&format!("{}{state}\n", part.client));
        for change in &part.changes {
            let word = change.what.word();
            let path = places.shown(&change.path);
            match change.what {
                What::Nothing => {}
                What::Keep => out.push_str(&format!("  {word}  {path}  you changed it\n")),
                What::Delete => out.push_str(&format!("  {word}  {path}\n")),
                // It takes nothing from anybody; a dry run shows what can be read at a glance.
                What::Create if !order.is_dry || !is_data(&change.path) => {
                    let lines = change.after.as_deref().unwrap_or_default().lines().count();
                    out.push_str(&format!("  {word}  {path}  {lines} lines\n"));
                }
                _ => {
                    out.push_str(&format!("  {word}  {path}\n"));
                    for line in change.diff().lines() {
                        out.push_str(&format!("    {line}\n"));
                    }
                }
            }
        }
    }
    visible(&out, true).into_owned()
}

/// Whether a file is short enough to be shown as a whole: data, and no program or skill.
fn is_data(path: &std::path::Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json" || extension == "toml")
}

/// Asks the person at the terminal; without one there is nobody to ask.
fn confirmed(order: &Order, context: &Context) -> Result<bool, Refusal> {
    let is_person = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !is_person || context.printer.is_json() {
        return Err(Refusal::new(
            Code::InvalidInput,
            "there is no terminal to ask on, and nothing was changed",
        )
        .hint("inbox setup --yes writes without asking; --dry-run only shows"));
    }
    let verb = if order.is_removal { "remove" } else { "write" };
    context.printer.raw(&format!("{verb} this? [y/N] "))?;
    let mut line = String::new();
    let _ = std::io::stdin().lock().read_line(&mut line);
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// What remains to be said: the proofs, and what only the user can do.
fn end(
    parts: &[Part],
    proofs: &[proof::Proof],
    order: &Order,
    context: &Context,
) -> Result<Ended, Refusal> {
    for proof in proofs {
        context.printer.raw(&visible(&proof.text(), true))?;
    }
    let mut hints: Vec<String> = Vec::new();
    for proof in proofs {
        if let Some(problem) = &proof.problem {
            complain(&visible(
                &format!("warning: {}: {problem}", proof.client),
                false,
            ));
        }
        if let Some(hint) = proof.hint.as_ref().filter(|hint| !hints.contains(hint)) {
            hints.push(hint.clone());
        }
    }
    if !order.is_removal {
        hints.extend(parts.iter().filter_map(|part| {
            note(part.client, order.scope).map(|note| format!("{}: {note}", part.client))
        }));
    }
    for hint in hints {
        context.printer.raw(&format!("hint: {hint}\n"))?;
    }
    Ok(Ended::Something)
}

/// What a client still wants from its user.
fn note(client: Client, scope: Scope) -> Option<&'static str> {
    match (client, scope) {
        (Client::Codex, Scope::User) => {
            Some("run /hooks in codex once and approve inbox; until then its hooks do not run")
        }
        (Client::Codex, Scope::Project) => Some(
            "trust this folder in codex, run /hooks once and approve inbox; until then its hooks do not run",
        ),
        (Client::Claude, Scope::User) => {
            Some("/reload-plugins loads it in a session that is running")
        }
        (Client::Claude, Scope::Project) => {
            Some("it is loaded once you trust this folder in claude")
        }
        (Client::Agy, _) => Some("it has no hooks that inbox uses; ask it to look for mail"),
        _ => None,
    }
}

fn answer(parts: &[Part], proofs: &[proof::Proof], order: &Order) -> Value {
    let clients: Vec<Value> = parts
        .iter()
        .map(|part| {
            let files: Vec<Value> = part
                .changes
                .iter()
                .map(|change| {
                    let diff = if change.is_any() {
                        change.diff()
                    } else {
                        String::new()
                    };
                    json!({
                        "path": change.path.display().to_string(),
                        "change": change.what.word(),
                        "diff": diff,
                    })
                })
                .collect();
            let proof = proofs.iter().find(|proof| proof.client == part.client);
            let note = note(part.client, order.scope).filter(|_| !order.is_removal);
            json!({
                "client": part.client.name(),
                "files": files,
                "note": note.unwrap_or_default(),
                "proof": proof.map(proof::Proof::value),
            })
        })
        .collect();
    json!({ "dry_run": order.is_dry, "removed": order.is_removal, "clients": clients })
}
