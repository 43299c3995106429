//! The arguments: clap commands made from the operations' schemas, and the requests made from them.

mod request;
mod suggest;
mod usage;

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_core::Refusal;
use inbox_ops::{Effect, Identity, Operation, Visitor, Waiting};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::local;

pub(crate) use request::{read_body, request};
pub(crate) use suggest::suggest;

/// What the arguments ask for.
pub(crate) enum Parsed {
    /// A command.
    Command {
        /// Its name.
        name: String,
        /// Its arguments.
        matches: ArgMatches,
        /// The fields of its request, if it is an operation.
        fields: Vec<Field>,
        /// What every command takes.
        globals: Globals,
    },
    /// No command, where that opens the console.
    Bare(Globals),
    /// Help or a version, to be printed.
    Text(String),
}

/// What every command takes.
#[derive(Default)]
pub(crate) struct Globals {
    pub(crate) db: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) session: Option<String>,
}

/// Parses the arguments. Bad usage is a refusal like any other bad input.
pub(crate) fn parse(argv: &[OsString]) -> Result<Parsed, Refusal> {
    // Only the command that is called is built: the others cost time and help nobody.
    let called = called(argv);
    let called = called.as_deref();
    let mut builder = build(called);
    let mut matches = match std::mem::take(&mut builder.command).try_get_matches_from(argv) {
        Ok(matches) => matches,
        Err(error)
            if matches!(
                error.kind(),
                clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
            ) =>
        {
            return Ok(Parsed::Text(error.render().to_string()));
        }
        Err(error) => return Err(usage::refusal(&error, called, argv, &command(None))),
    };
    let (mut name, mut matches) = matches.remove_subcommand().ok_or_else(usage::no_command)?;
    // A command of several words, such as `agent add`.
    while let Some((next, inner)) = matches.remove_subcommand() {
        name = format!("{name} {next}");
        matches = inner;
    }
    let fields = builder.fields.into_iter().find(|(of, _)| *of == name);
    let text = |id: &str| matches.get_one::<String>(id).cloned();
    let globals = Globals {
        db: text("db"),
        agent: text("agent"),
        session: text("session"),
    };
    Ok(Parsed::Command {
        fields: fields.map(|(_, fields)| fields).unwrap_or_default(),
        name,
        matches,
        globals,
    })
}

/// What is said where no command is: nothing but what every command takes.
pub(crate) fn bare(argv: &[OsString]) -> Option<Globals> {
    let base = base().subcommand_required(false);
    let matches = base.try_get_matches_from(argv).ok()?;
    let text = |id: &str| matches.get_one::<String>(id).cloned();
    Some(Globals {
        db: text("db"),
        agent: text("agent"),
        session: text("session"),
    })
}

/// The command among the arguments: the first word, or two, that are neither a flag nor a flag's value. An
/// agent may be named like a command.
pub(crate) fn called(argv: &[OsString]) -> Option<String> {
    let mut words = words(argv);
    let mut next = || words.next();
    let first = next()?;
    let names = names();
    if names.iter().any(|name| name == first) {
        // Some have further commands below them, such as `dead-letters`.
        let is_group = names.iter().any(|name| is_below(name, first));
        let whole = next()
            .filter(|_| is_group)
            .map(|second| format!("{first} {second}"));
        return whole
            .filter(|whole| names.contains(whole))
            .or_else(|| (!is_group).then(|| first.to_owned()));
    }
    let whole = format!("{first} {}", next()?);
    names.contains(&whole).then_some(whole)
}

/// The words among the arguments that are neither flags nor a flag's value, up to a flag that asks for help: the help before a command
/// is that of all commands.
fn words(argv: &[OsString]) -> impl Iterator<Item = &str> {
    let mut args = argv.iter().skip(1).map(|arg| arg.to_str().unwrap_or("-"));
    std::iter::from_fn(move || {
        loop {
            match args.next()? {
                "--db" | "--agent" | "--session" => drop(args.next()),
                "-h" | "--help" => return None,
                flag if flag.starts_with('-') => {}
                word => return Some(word),
            }
        }
    })
}

/// Whether a command is one of the second words of a group.
fn is_below(name: &str, group: &str) -> bool {
    name.strip_prefix(group)
        .is_some_and(|rest| rest.starts_with(' '))
}

/// The whole command; with `only`, without the others.
pub(crate) fn command(only: Option<&str>) -> Command {
    build(only).command
}

fn build(only: Option<&str>) -> Builder<'_> {
    let mut builder = Builder {
        only,
        command: base(),
        groups: Vec::new(),
        fields: Vec::new(),
    };
    builder.command = local::commands(only)
        .into_iter()
        .fold(builder.command, Command::subcommand);
    inbox_ops::each_operation(&mut builder);
    for group in std::mem::take(&mut builder.groups) {
        builder.command = builder.command.subcommand(group);
    }
    builder
}

fn base() -> Command {
    Command::new("inbox")
        .version(local::version())
        .about("A durable inbox for AI agents, and for the people who steer them")
        .subcommand_required(true)
        .arg_required_else_help(false)
        .disable_help_subcommand(true)
        .max_term_width(100)
        .arg(
            Arg::new("db")
                .long("db")
                .value_name("PATH|URL")
                .global(true)
                .help_heading("Everywhere")
                .help("Use this store: a file, or a postgres:// URL"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .global(true)
                .help_heading("Everywhere")
                .help("Answer in JSON"),
        )
        .arg(
            Arg::new("agent")
                .long("agent")
                .value_name("NAME")
                .global(true)
                .help_heading("Everywhere")
                .help("Say who is calling; INBOX_AGENT does too"),
        )
        .arg(
            Arg::new("session")
                .long("session")
                .value_name("ID")
                .global(true)
                .help_heading("Everywhere")
                .help("Say which session is calling; INBOX_SESSION does too"),
        )
}

struct Builder<'a> {
    only: Option<&'a str>,
    command: Command,
    /// Commands that only hold others.
    groups: Vec<Command>,
    /// What was found in the schemas, by operation: the request is made from it again.
    fields: Vec<(&'static str, Vec<Field>)>,
}

impl Builder<'_> {
    /// Adds a command, below its group when it has two words.
    fn add(&mut self, name: &str, command: Command) {
        let Some((first, second)) = name.split_once(' ') else {
            self.command = std::mem::take(&mut self.command).subcommand(command);
            return;
        };
        let command = command.name(second.to_owned());
        // A command may do something by itself and hold others too.
        if self.command.find_subcommand(first).is_some() {
            self.command = std::mem::take(&mut self.command)
                .mut_subcommand(first, |holder| holder.subcommand(command));
            return;
        }
        let at = self
            .groups
            .iter()
            .position(|group| group.get_name() == first);
        let group = match at {
            Some(at) => self.groups.remove(at),
            None => group(first),
        };
        self.groups
            .insert(at.unwrap_or(self.groups.len()), group.subcommand(command));
    }
}

/// A command that only holds others.
fn group(name: &str) -> Command {
    let about = match name {
        "agent" => "Keep the roster: who there is",
        "session" => "Keep the roster: who is there now",
        "dead-letters" => "See what reached nobody, and give it another address",
        "wire" => "Work with typed, versioned messages",
        "card" => "Work with agents' typed identities",
        "channel" => "Read what was said to a role, a tag or everybody",
        "memory" => "Keep what an agent remembers",
        "token" => "Keep the tokens with which programs call over the network",
        _ => "",
    };
    Command::new(name.to_owned())
        .about(about)
        .subcommand_required(true)
        .disable_help_subcommand(true)
}

impl Visitor for Builder<'_> {
    fn visit<O: Operation>(&mut self) {
        if self.only.is_none_or(|only| only == O::NAME) {
            let (about, fields) = fields::<O>();
            let command = subcommand::<O>(&about, &fields);
            self.fields.push((O::NAME, fields));
            self.add(O::NAME, command);
        }
    }

    fn visit_waiting<O: Waiting>(&mut self) {
        self.visit::<O>();
    }
}

struct Names(Vec<String>);

impl Visitor for Names {
    fn visit<O: Operation>(&mut self) {
        self.0.push(O::NAME.to_owned());
    }

    fn visit_waiting<O: Waiting>(&mut self) {
        self.visit::<O>();
    }
}

fn names() -> Vec<String> {
    let mut names = Names(local::NAMES.iter().map(|name| (*name).to_owned()).collect());
    inbox_ops::each_operation(&mut names);
    names.0
}

/// How a field of a request is written on the command line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Switch,
    Integer,
    Text,
    Json,
    /// Values of a vocabulary: separated by commas.
    Words,
    /// Values of any text: the flag repeats.
    Repeated,
    Artifacts,
    /// A document in a file: JSON.
    JsonFile,
    /// What the command is about: the words after its name.
    Plain,
}

/// A field of a request.
pub(crate) struct Field {
    name: String,
    form: Form,
    help: String,
    is_required: bool,
    /// The words that it may be, where there is a vocabulary.
    words: Vec<String>,
}

impl Field {
    fn flag(&self) -> String {
        match self.form {
            Form::Artifacts => "artifact".to_owned(),
            _ => self.name.replace('_', "-"),
        }
    }
}

/// A request's fields and its description, by its schema.
fn fields<T: JsonSchema>() -> (String, Vec<Field>) {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let about = text(schema.get("description"));
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    let fields = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| Field {
            name: name.clone(),
            form: form(name, property),
            help: text(property.get("description")),
            is_required: required.contains(&name.as_str()),
            words: vocabulary(property),
        });
    (about, fields.collect())
}

/// The words of a property, or of each of its items.
fn vocabulary(property: &Value) -> Vec<String> {
    let several = property.get("anyOf").and_then(Value::as_array);
    let places = several.into_iter().flatten();
    let mut places = places.chain(property.get("items")).chain([property]);
    let words = places.find_map(|place| place.get("enum")?.as_array());
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    words.map(str::to_owned).collect()
}

fn form(name: &str, property: &Value) -> Form {
    let types: Vec<&str> = match property.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if name == "artifacts" {
        Form::Artifacts
    } else if matches!(name, "brief" | "card") {
        Form::JsonFile
    } else if name == "query" {
        Form::Plain
    } else if types.contains(&"boolean") {
        Form::Switch
    } else if types.contains(&"integer") {
        Form::Integer
    } else if types.contains(&"array") {
        let has_words = property
            .get("items")
            .is_some_and(|items| items.get("enum").is_some());
        if has_words {
            Form::Words
        } else {
            Form::Repeated
        }
    } else if name.ends_with("_json") {
        Form::Json
    } else {
        Form::Text
    }
}

fn subcommand<O: Operation>(about: &str, fields: &[Field]) -> Command {
    let (short, long) = about.split_once("\n\n").unwrap_or((about, ""));
    let mut command = Command::new(O::NAME).about(short.to_owned());
    if !long.is_empty() {
        command = command.long_about(format!("{short}\n\n{}", long.replace('\n', " ")));
    }
    // Where a command holds others, `help` is none of them: `inbox help` takes their words.
    command = command.disable_help_subcommand(true);
    // The name of `card set` may be left away, and stands before the file.
    command = command.allow_missing_positional(O::NAME == "card set");
    for field in fields {
        // The filter of an operation that asks nobody is the global flag.
        if O::IDENTITY == Identity::Ignored && field.name == "agent" {
            continue;
        }
        // What is made from files is no flag.
        if field.name == "batch" {
            continue;
        }
        match place(O::NAME, &field.name) {
            Place::Flag => command = command.arg(argument(field)),
            Place::Word => command = command.arg(word(field)),
            Place::Either => {
                command = command
                    .arg(argument(field).required(false))
                    .arg(word(field));
            }
        }
        if is_long_text(&field.name) {
            let file = Arg::new(format!("{}_file", field.name))
                .long(format!("{}-file", field.name))
                .value_name("PATH")
                .conflicts_with(field.name.clone());
            command = command.arg(file.help(format!(
                "Read the {} from this file, or from standard input for -",
                field.name
            )));
        }
    }
    if O::EFFECT != Effect::Read {
        let lease = Arg::new("lease").long("lease").value_name("TOKEN");
        command =
            command.arg(lease.help("Prove the claim with its lease_token; INBOX_LEASE does too"));
    }
    if O::EFFECT == Effect::Write {
        let key = Arg::new("key").long("key").value_name("KEY");
        command =
            command.arg(key.help("Make a retry safe: the same key has one effect and one answer"));
    }
    // What reads and writes files is not in the request.
    command = local::with_files(O::NAME, command);
    if has_sender::<O>() {
        let from = Arg::new("from").long("from").value_name("AGENT");
        command = command.arg(from.help("Say who is sending, like --agent"));
    }
    command
}

/// Whether a text may be long enough to stand in a file.
pub(super) fn is_long_text(field: &str) -> bool {
    matches!(field, "body" | "note" | "persona" | "text")
}

/// Where a field stands on the command line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Behind its flag.
    Flag,
    /// By itself.
    Word,
    /// Either.
    Either,
}

fn place(command: &str, field: &str) -> Place {
    match (command, field) {
        (_, "slug" | "id") | ("card validate" | "card set", "card") => Place::Word,
        ("ack" | "receipts" | "dead-letters readdress", "message") => Place::Either,
        _ => Place::Flag,
    }
}

/// The argument that stands by itself has the name of its field, and a mark when there is a flag too.
pub(super) fn word_id(name: &str) -> String {
    format!("{name}+")
}

/// What stands in the usage for an argument that stands by itself.
fn word_name(field: &str) -> String {
    match field {
        "slug" => "NAME".to_owned(),
        "card" => "FILE".to_owned(),
        name => name.to_uppercase(),
    }
}

/// What stands in the usage for the words of a question.
const PLAIN: &str = "WORDS";

fn word(field: &Field) -> Arg {
    let arg = Arg::new(word_id(&field.name))
        .value_name(word_name(&field.name))
        .required(field.is_required && field.name == "card")
        .help(field.help.clone());
    match field.form {
        Form::Repeated | Form::Words => arg.action(ArgAction::Append).num_args(0..),
        _ => arg,
    }
}

/// Whether `--from` names the caller, as in spec 001.
fn has_sender<O: Operation>() -> bool {
    matches!(O::NAME, "send" | "reply")
}

fn argument(field: &Field) -> Arg {
    let arg = Arg::new(field.name.clone())
        .help(field.help.clone())
        .required(field.is_required && !is_long_text(&field.name));
    if field.form == Form::Plain {
        return arg.value_name(PLAIN).num_args(1..);
    }
    let arg = suggest(arg.long(field.flag()), field.words.iter().cloned());
    let value_name = field.flag().to_uppercase().replace('-', "_");
    match field.form {
        Form::Switch => arg.action(ArgAction::SetTrue),
        Form::Integer => arg.value_name("N").allow_negative_numbers(true),
        Form::Json => arg.value_name("JSON").allow_hyphen_values(true),
        Form::Text => {
            let is_prose = matches!(
                field.name.as_str(),
                "summary" | "body" | "subject" | "reason" | "note" | "persona" | "text"
            );
            arg.value_name(if is_prose {
                "TEXT".to_owned()
            } else {
                value_name
            })
            .allow_hyphen_values(is_prose)
        }
        Form::Words => arg
            .value_name("LIST")
            .action(ArgAction::Append)
            .value_delimiter(','),
        Form::Repeated => arg.value_name(value_name).action(ArgAction::Append),
        Form::Artifacts => arg.value_name("PATH").action(ArgAction::Append),
        Form::Plain => arg,
        Form::JsonFile => arg.value_name("FILE"),
    }
}
