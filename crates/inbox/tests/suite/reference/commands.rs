//! Every command and flag, as the parser knows them.

use super::{page, table};

pub(super) fn document() -> String {
    let mut command = inbox_surfaces::cli::command();
    let everywhere: Vec<_> = command
        .get_arguments()
        .filter(|arg| arg.get_long() != Some("help") && arg.get_long() != Some("version"))
        .map(row)
        .collect();
    let mut body = format!(
        "## Everywhere\n\n{}",
        table(&["flag", "what it does"], everywhere)
    );
    let names: Vec<_> = command
        .get_subcommands()
        .map(|one| format!("[{0}](#inbox-{0})", one.get_name()))
        .collect();
    for subcommand in command.get_subcommands_mut() {
        let name = subcommand.get_name().to_owned();
        body.push_str(&section(&name, subcommand));
        for second in subcommand.get_subcommands_mut() {
            let name = format!("{name} {}", second.get_name());
            body.push_str(&section(&name, second));
        }
    }
    let about = format!(
        "A command answers on standard output and talks on standard error. Its exit status is 0 for\n\
         success, 10 when nothing matched or a wait timed out, and otherwise that of the error: see\n\
         [errors](errors.md). With `--json` it answers as [json](json.md) says.\n\n{}",
        names.join(" · ")
    );
    page("Commands", &about, &body)
}

/// One command: what it does, how it is called and what it takes.
fn section(name: &str, command: &mut clap::Command) -> String {
    let about = command
        .get_long_about()
        .or(command.get_about())
        .map(ToString::to_string)
        .unwrap_or_default();
    let about: Vec<_> = about.split("\n\n").map(sentence).collect();
    let mut body = format!("\n## inbox {name}\n\n{}\n", about.join("\n\n"));
    let usage = usage(name, command.render_usage().to_string().as_str());
    body.push_str(&format!("\n```text\n{usage}\n```\n"));
    let mut rows: Vec<_> = command.get_arguments().map(row).collect();
    rows.retain(|row| row[0] != "`--help`");
    if !rows.is_empty() {
        body.push_str(&format!("\n{}", table(&["flag", "what it does"], rows)));
    }
    body
}

fn usage(name: &str, text: &str) -> String {
    let line = text.trim_start_matches("Usage: ").trim();
    // The parser knows a command of two words by its second.
    let second = name.rsplit(' ').next().unwrap_or(name);
    let rest = line.strip_prefix("inbox ").unwrap_or(line);
    let rest = rest.strip_prefix(second).unwrap_or(rest);
    format!("inbox {name}{rest}")
}

/// A line of help as a sentence.
fn sentence(text: &str) -> String {
    if text.ends_with('.') {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

fn row(arg: &clap::Arg) -> Vec<String> {
    let value: Vec<_> = arg
        .get_value_names()
        .into_iter()
        .flatten()
        .filter(|_| arg.get_action().takes_values())
        .map(ToString::to_string)
        .collect();
    let flag = match arg.get_long() {
        Some(long) if value.is_empty() => format!("`--{long}`"),
        Some(long) => format!("`--{long} {}`", value.join(" ")),
        None => format!("`{}`", value.join(" ")),
    };
    let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    if arg.is_required_set() {
        help.push_str(" (required)");
    }
    if matches!(arg.get_action(), clap::ArgAction::Append) && arg.get_value_delimiter().is_none() {
        help.push_str(" (repeats)");
    }
    vec![flag, help]
}
