//! `man`: the page of the whole program, and one for each command, however deep it stands.

use std::io::ErrorKind;
use std::path::Path;

use clap::{Arg, ArgMatches, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use inbox_core::error::EXIT_NOTHING;
use inbox_core::text::visible;
use inbox_core::{Code, Refusal};
use serde_json::json;

use crate::cli::{Context, Ended};

/// What a page of manual says at its foot.
const SOURCE: &str = concat!("inbox ", env!("CARGO_PKG_VERSION"));

/// The variables that most need; the rest is in a document that is too long for a page.
const VARIABLES: &[(&str, &str)] = &[
    (
        "INBOX_DB",
        "The store: a file, a postgres:// URL, or the URL of a server. --db comes before it.",
    ),
    (
        "INBOX_AGENT",
        "Who is calling. --agent and --from come before it.",
    ),
    (
        "INBOX_SESSION",
        "Which session is calling. --session comes before it.",
    ),
    (
        "INBOX_LEASE",
        "The lease_token that proves a claim. --lease comes before it.",
    ),
    (
        "INBOX_TOKEN, INBOX_TOKEN_FILE",
        "The token that a server asks for, or a file with it.",
    ),
    (
        "INBOX_CA_FILE",
        "A certificate in PEM of an authority to trust beside the system's.",
    ),
    (
        "INBOX_LEAN",
        "Set to anything: lean text on a terminal too, as in a pipe.",
    ),
    (
        "NO_COLOR",
        "Set to anything: the console in a terminal has no colours.",
    ),
];

/// The files that it reads and makes.
const FILES: &[(&str, &str)] = &[
    (
        ".agents/coord.db",
        "The store: the nearest one above the working directory. What lies beside it under the same name belongs to it.",
    ),
    (
        ".agents/inbox.toml",
        "The settings of that store, over those of the user. inbox config shows each and where it came from.",
    ),
    (
        ".agents/archive/",
        "What inbox archive moved out of the store.",
    ),
    (".agents/hedera.keys", "The keys of inbox hcs."),
    (
        "~/.config/inbox/inbox.toml",
        "The user's settings, for every store.",
    ),
    ("~/.config/inbox/token", "The token that a server asks for."),
];

pub(super) fn describe(command: Command) -> Command {
    command
        .about("Print the man page, or write every page into a folder")
        .arg(
            Arg::new("dir")
                .long("dir")
                .value_name("PATH")
                .help("Write inbox.1 and a page for each command here; the folder is made"),
        )
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let mut command = crate::cli::command();
    // Only here do the commands below learn by which words they are called.
    command.build();
    let Some(folder) = matches.get_one::<String>("dir") else {
        let page = page(&command, true).map_err(|error| unwritten("the man page", &error))?;
        return super::print(context, "man", &String::from_utf8_lossy(&page));
    };
    if folder.is_empty() {
        return Err(Refusal::input("--dir is empty").hint("inbox man --dir PATH names a folder"));
    }
    std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    let mut pages = Vec::new();
    write(&command, true, Path::new(folder), &mut pages)
        .map_err(|error| unwritten(folder, &error))?;
    if context.printer.is_json() {
        context
            .printer
            .object("man", true, &json!({ "dir": folder, "pages": pages }))?;
    } else {
        context.printer.raw(&format!(
            "{}  {} pages\n",
            visible(folder, false),
            pages.len()
        ))?;
    }
    Ok(Ended::Something)
}

/// Writes the page of a command, and those of the commands below it.
fn write(
    command: &Command,
    is_whole: bool,
    folder: &Path,
    pages: &mut Vec<String>,
) -> std::io::Result<()> {
    let name = Man::new(command.clone()).get_filename();
    std::fs::write(folder.join(&name), page(command, is_whole)?)?;
    pages.push(name);
    let below = command.get_subcommands().filter(|one| !one.is_hide_set());
    for one in below {
        write(one, false, folder, pages)?;
    }
    Ok(())
}

/// A page; of the whole program with what holds for every command.
fn page(command: &Command, is_whole: bool) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone())
        .source(SOURCE)
        .manual("inbox")
        .render(&mut page)?;
    let mut more = Roff::new();
    list(&mut more, "EXIT STATUS", &exit_statuses());
    if is_whole {
        list(&mut more, "ENVIRONMENT", &owned(VARIABLES));
        list(&mut more, "FILES", &owned(FILES));
    } else {
        more.control("SH", ["SEE ALSO"]);
        more.text([bold("inbox"), roman("(1)")]);
    }
    more.to_writer(&mut page)?;
    Ok(page)
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, what)| ((*name).to_owned(), (*what).to_owned()))
        .collect()
}

fn list(roff: &mut Roff, heading: &str, entries: &[(String, String)]) {
    roff.control("SH", [heading]);
    for (name, what) in entries {
        roff.control("TP", []);
        roff.text([bold(name)]);
        roff.text([roman(what)]);
    }
}

/// Each status with the codes that end in it.
fn exit_statuses() -> Vec<(String, String)> {
    let mut found = vec![
        (0, "Success.".to_owned()),
        (
            EXIT_NOTHING,
            "Nothing matched, or a wait timed out: an outcome, not an error.".to_owned(),
        ),
    ];
    for code in Code::ALL {
        match found.last_mut().filter(|(exit, _)| *exit == code.exit()) {
            Some((_, names)) => {
                names.pop();
                names.push_str(&format!(", {code}."));
            }
            None => found.push((code.exit(), format!("{code}."))),
        }
    }
    let found = found.into_iter();
    found.map(|(exit, what)| (exit.to_string(), what)).collect()
}

/// A wrong path is the caller's; a full disk is not.
fn unwritten(place: &str, error: &std::io::Error) -> Refusal {
    let message = format!("{place} cannot be written: {error}");
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::Other => {
            Refusal::new(Code::Storage, message).hint("inbox man --dir PATH, where there is space")
        }
        _ => Refusal::input(message)
            .hint("inbox man --dir PATH names a folder that is there and yours, or can be made"),
    }
}
