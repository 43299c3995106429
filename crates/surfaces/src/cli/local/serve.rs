//! `serve` and `up`: the server, on the store that the command line would use.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_core::Refusal;
use inbox_store::{Location, Store};
use serde_json::json;

use super::notify;
use super::up::{self, Ledger};
use crate::cli::{Context, Ended, find, operation};
use crate::http::{self, Options};

/// Where it listens unless told otherwise: on this machine only.
const LISTEN: &str = "127.0.0.1:4380";

pub(super) fn describe(command: Command, name: &str) -> Command {
    let about = if name == "up" {
        "Serve the store here, and make it first when there is none"
    } else {
        "Serve the store over HTTP: every operation, and events as they happen"
    };
    let command = if name == "up" {
        command.arg(
            Arg::new("ledger")
                .long("ledger")
                .action(ArgAction::SetTrue)
                .help("Run a devnet and a bridge beside the server: mail between agents goes through that ledger, which is kept beside the store"),
        )
        .arg(
            Arg::new("provision")
                .long("provision")
                .action(ArgAction::SetTrue)
                .requires("ledger")
                .help("Give everybody on the roster an account, topics and a profile there first"),
        )
        .arg(
            Arg::new("ledger_ports")
                .long("ledger-ports")
                .value_name("WHICH")
                .default_value("usual")
                .requires("ledger")
                .help("The devnet's ports: usual, as SDKs know them, or anywhere, which takes free ones"),
        )
    } else {
        command
    };
    command
        .about(about)
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("ADDRESS")
                .default_value(LISTEN)
                .help("Listen on this address and port; port 0 is a free one"),
        )
        .arg(
            Arg::new("tls_cert")
                .long("tls-cert")
                .value_name("PATH")
                .requires("tls_key")
                .help("Use TLS with this certificate chain, in PEM"),
        )
        .arg(
            Arg::new("tls_key")
                .long("tls-key")
                .value_name("PATH")
                .requires("tls_cert")
                .help("Use TLS with this key, in PEM"),
        )
        .arg(
            Arg::new("allow_host")
                .long("allow-host")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help("Let clients call the server by this name, too"),
        )
        .arg(
            Arg::new("insecure")
                .long("insecure")
                .action(ArgAction::SetTrue)
                .help("Serve another than the loopback address without TLS"),
        )
}

pub(super) fn serve(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    run(matches, context, false)
}

/// Serves; `up` also tells people elsewhere what waits for them.
fn run(matches: &ArgMatches, context: &Context, is_up: bool) -> Result<Ended, Refusal> {
    let options = options(matches)?;
    // One that is not there is refused before the port is taken.
    let location = operation::open(context)?.store().location().clone();
    let place = near(&location.shown());
    let ledger = up::start(matches, &location)?;
    let notifier = is_up
        .then(|| notify::beside(&location))
        .transpose()?
        .flatten();
    http::serve(
        &options,
        || operation::open(context),
        |address| {
            let scheme = if options.tls.is_some() {
                "https"
            } else {
                "http"
            };
            let url = format!("{scheme}://{address}");
            if context.printer.is_json() {
                let mut body = json!({ "url": url, "db": place });
                if let Some(ledger) = &ledger {
                    body["ledger"] = ledger.json();
                }
                if let Some((_, reaches)) = &notifier {
                    body["notify"] = json!(reaches);
                }
                return context.printer.object("serve", true, &body);
            }
            let devnet = ledger.as_ref().map(Ledger::text).unwrap_or_default();
            let told = notifier.as_ref().map(|(_, reaches)| {
                let reaches = reaches.join(", ");
                format!("people are told of what is urgent and of questions: {reaches}\n")
            });
            let told = told.unwrap_or_default();
            context.printer.raw(&format!(
                "{url}  serves {place}\ninbox token create --agent NAME makes a token for a program\n{devnet}{told}"
            ))
        },
    )?;
    Ok(Ended::Something)
}

/// A path as one would write it here.
fn near(place: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = std::path::Path::new(place).strip_prefix(here);
    path.map_or(place.to_owned(), |path| path.display().to_string())
}

pub(super) fn up(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    if find::store(context.db.as_deref()).is_err() {
        let named = find::named(context.db.as_deref())?;
        let location = named.unwrap_or_else(|| Location::File(PathBuf::from(find::DEFAULT)));
        Store::init(&location)?;
    }
    run(matches, context, true)
}

fn options(matches: &ArgMatches) -> Result<Options, Refusal> {
    let text = |id: &str| matches.get_one::<String>(id).cloned();
    let listen = text("listen").unwrap_or_default();
    let address: SocketAddr = listen.parse().map_err(|_| {
        Refusal::input(format!("--listen {listen:?} is not an address with a port"))
            .hint(format!("inbox serve --listen {LISTEN}"))
    })?;
    let tls = text("tls_cert").zip(text("tls_key"));
    Ok(Options {
        listen: address,
        tls: tls.map(|(cert, key)| (cert.into(), key.into())),
        is_insecure: matches.get_flag("insecure"),
        names: matches
            .get_many::<String>("allow_host")
            .map(|names| names.cloned().collect())
            .unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}
