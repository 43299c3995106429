//! `inbox wire …`: typed messages without a store.

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_core::{AgentName, Code, Refusal};
use inbox_ops::{Cell, Page};
use serde_json::{Value, json};

use crate::cli::args::read_body;
use crate::cli::{Context, Ended};

pub(super) fn describe(command: Command) -> Command {
    let wire_type = || {
        Arg::new("type")
            .value_name("TYPE")
            .required(true)
            .help("brief, inbox, complete, blocked or claim")
    };
    command
        .about("Work with typed, versioned messages")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand(
            Command::new("validate")
                .about("Check Wires, and name every problem by its JSON pointer")
                .arg(
                    Arg::new("file")
                        .value_name("FILE")
                        .required(true)
                        .action(ArgAction::Append)
                        .num_args(1..)
                        .help("The Wire; - for standard input"),
                ),
        )
        .subcommand(
            Command::new("schema")
                .about("Print the JSON Schema of a type")
                .arg(
                    wire_type()
                        .help("brief, inbox, complete, blocked, claim, envelope or agent-card"),
                ),
        )
        .subcommand(
            Command::new("new")
                .about("Print a Wire to fill in")
                .arg(wire_type()),
        )
        .subcommand(Command::new("types").about("List the types and the known message types"))
}

pub(super) fn run(name: &str, matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let one = |id: &str| matches.get_one::<String>(id).cloned().unwrap_or_default();
    match name {
        "wire validate" => validate(matches, context),
        "wire schema" => schema(&one("type"), context),
        "wire new" => new(&one("type"), context),
        _ => types(context),
    }
}

fn validate(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let mut valid = Vec::new();
    for path in matches.get_many::<String>("file").into_iter().flatten() {
        let text = read_body(path)?;
        let problems = match inbox_wire::decode(&text) {
            Ok(value) => match inbox_wire::parse(&value) {
                Ok(wire) => {
                    valid.push((path.clone(), wire.wire_type().to_string()));
                    continue;
                }
                Err(problems) => problems,
            },
            Err(problem) => vec![problem],
        };
        let refusal = inbox_ops::typed_refusal(Code::InvalidWire, path, &problems);
        if !context.printer.is_json() {
            let lines = problems
                .iter()
                .map(|problem| format!("{path}{}: {}\n", mark(&problem.pointer), problem.message));
            let page = Page::default().text(lines.collect());
            context.printer.page(&page)?;
        }
        return Err(refusal.detail("file", path.as_str()));
    }
    if context.printer.is_json() {
        let files: Vec<Value> = valid
            .iter()
            .map(|(file, wire_type)| json!({ "file": file, "type": wire_type }))
            .collect();
        context
            .printer
            .object("wire validate", true, &json!({ "valid": files }))?;
    } else {
        let rows = valid
            .into_iter()
            .map(|(file, wire_type)| vec![Cell::Text(file), Cell::Text(wire_type)]);
        context
            .printer
            .page(&Page::default().table(vec!["FILE", "TYPE"], rows.collect()))?;
    }
    Ok(Ended::Something)
}

/// Where in a file a problem is.
fn mark(pointer: &str) -> String {
    if pointer.is_empty() {
        String::new()
    } else {
        format!(" {pointer}")
    }
}

fn schema(name: &str, context: &Context) -> Result<Ended, Refusal> {
    let wanted = format!("{name}.schema.json");
    let found = inbox_wire::schemas()
        .into_iter()
        .find(|(file, _)| *file == wanted);
    let (_, schema) = found.ok_or_else(|| {
        Refusal::input(format!("unknown type {name:?}"))
            .hint("use one of brief, inbox, complete, blocked, claim, envelope, agent-card")
    })?;
    document(context, "wire schema", "schema", &schema)
}

fn new(name: &str, context: &Context) -> Result<Ended, Refusal> {
    let wire_type = name.parse().map_err(|_| {
        Refusal::input(format!("unknown type {name:?}"))
            .hint("use one of brief, inbox, complete, blocked, claim")
    })?;
    let sender: AgentName = match &context.agent {
        Some(agent) => agent.clone(),
        None => AgentName::system(),
    };
    let now = jiff::Timestamp::now().into();
    let template = inbox_wire::template(wire_type, now, &sender);
    document(context, "wire new", "wire", &template)
}

fn document(context: &Context, command: &str, key: &str, value: &Value) -> Result<Ended, Refusal> {
    if context.printer.is_json() {
        let mut body = serde_json::Map::new();
        body.insert(key.to_owned(), value.clone());
        context.printer.object(command, true, &body)?;
    } else {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        context.printer.raw(&format!("{text}\n"))?;
    }
    Ok(Ended::Something)
}

fn types(context: &Context) -> Result<Ended, Refusal> {
    if context.printer.is_json() {
        let body = json!({ "types": inbox_wire::types() });
        context.printer.object("wire types", true, &body)?;
        return Ok(Ended::Something);
    }
    let mut rows = Vec::new();
    for info in inbox_wire::types() {
        rows.push(vec![
            Cell::Text(info.name.to_owned()),
            Cell::Text(info.about.to_owned()),
        ]);
        for word in info.message_types {
            rows.push(vec![
                Cell::Text(format!("  {}", word.name)),
                Cell::Text(word.about.to_owned()),
            ]);
        }
    }
    context
        .printer
        .page(&Page::default().table(Vec::new(), rows))?;
    Ok(Ended::Something)
}
