//! `init`: makes a store, publishes its view, prints its migrations.

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_core::Refusal;
use inbox_core::text::visible;
use inbox_store::{Location, Store};
use serde_json::json;

use super::super::{Context, Ended, find};

pub(super) fn describe(command: Command) -> Command {
    command
        .about("Make a store, or bring an older one up to date")
        .long_about(
            "Make a store, or bring an older one up to date\n\nWithout --db and INBOX_DB it is .agents/coord.db in the working directory. A postgres:// URL is a database that is there already; the store is a schema in it: inbox, or what ?schema=NAME says.",
        )
        .arg(
            Arg::new("publish-inbox")
                .long("publish-inbox")
                .value_name("SCHEMA")
                .help("Show the view inbox in this schema of the PostgreSQL database too"),
        )
        .arg(
            Arg::new("grant")
                .long("grant")
                .value_name("ROLE")
                .action(ArgAction::Append)
                .requires("publish-inbox")
                .help("Let this role read the published view, write to it and acknowledge"),
        )
        .arg(
            Arg::new("print")
                .long("print")
                .action(ArgAction::SetTrue)
                .conflicts_with("publish-inbox")
                .help("Print the migrations as SQL and do nothing, for those who apply migrations themselves"),
        )
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let location =
        find::named(context.db.as_deref())?.unwrap_or_else(|| Location::File(find::DEFAULT.into()));
    if matches.get_flag("print") {
        return print(&location, context);
    }
    let schema = matches.get_one::<String>("publish-inbox");
    let roles: Vec<String> = matches
        .get_many("grant")
        .map(|roles| roles.cloned().collect())
        .unwrap_or_default();
    if schema.is_some() {
        inbox_store::may_publish(&location, &roles)?;
    }
    let made = Store::init(&location)?;
    if let Some(schema) = schema {
        Store::open(&location)?.publish(schema, &roles)?;
    }
    let db = location.shown();
    if context.printer.is_json() {
        let mut body =
            json!({ "db": db, "schema_version": made.schema_version, "created": made.created });
        if let Some(schema) = schema {
            body["published"] = json!({ "schema": schema, "view": "inbox", "granted": roles });
        }
        context.printer.object("init", true, &body)?;
        return Ok(Ended::Something);
    }
    let what = if made.created { "made" } else { "found" };
    let mut text = format!(
        "{what} {}  schema {}\n",
        visible(&location.named(), false),
        made.schema_version
    );
    if let Some(schema) = schema {
        let granted = if roles.is_empty() {
            "nobody but its owner".to_owned()
        } else {
            roles.join(", ")
        };
        let line = format!("published {schema}.inbox  for {granted}");
        text.push_str(&visible(&line, false));
        text.push('\n');
    }
    context.printer.raw(&text)?;
    Ok(Ended::Something)
}

fn print(location: &Location, context: &Context) -> Result<Ended, Refusal> {
    let scripts = inbox_store::scripts(location)?;
    if context.printer.is_json() {
        let migrations: Vec<_> = scripts
            .iter()
            .map(|script| {
                json!({ "version": script.version, "name": script.name, "sql": script.sql })
            })
            .collect();
        context
            .printer
            .object("init", true, &json!({ "migrations": migrations }))?;
    } else {
        let texts: Vec<_> = scripts
            .iter()
            .map(|script| format!("-- {}\n\n{}", script.name, script.sql))
            .collect();
        context.printer.raw(&texts.join("\n"))?;
    }
    Ok(Ended::Something)
}
