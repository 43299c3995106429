//! `ui`: the console for a person, by a link that opens once.

use std::io::{IsTerminal, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_core::{AgentName, Refusal};
use inbox_ops::Caller;
use inbox_ops::console::{Invitation, Probe};
use serde_json::{Value, json};

use crate::cli::{Context, Ended, operation, passphrase};
use crate::http::{self, Options, is_own_listener};

/// Where `up` and `serve` listen unless told otherwise.
const LISTEN: &str = "127.0.0.1:4380";

/// How long a server on this machine may take to say whether it has this store.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most that is read of what it says, in bytes.
const MOST: u64 = 64 * 1024;

pub(super) fn describe(command: Command) -> Command {
    command
        .about("Open the console: what waits for you, who does what, every thread")
        .long_about(
            "Open the console: what waits for you, who does what, every thread\n\nPrints a link that opens once, within five minutes, and opens it in the browser when this is a terminal. A server that runs on this store already is used; otherwise this command serves the console until it is told to stop.",
        )
        .arg(person())
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("ADDRESS")
                .default_value(LISTEN)
                .help("The server's address and port; a free port is taken when another program has it"),
        )
        .arg(
            Arg::new("no_open")
                .long("no-open")
                .action(ArgAction::SetTrue)
                .help("Print the link and open nothing"),
        )
}

/// Which person one is.
pub(super) fn person() -> Arg {
    Arg::new("as")
        .long("as")
        .value_name("NAME")
        .help("Be this person; needed when several are on the roster")
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let inbox = operation::open(context)?;
    let named = matches.get_one::<String>("as");
    let named = named.map(|name| name.parse::<AgentName>()).transpose()?;
    let listen = matches.get_one::<String>("listen").cloned();
    let listen = listen.unwrap_or_default();
    let address: SocketAddr = listen.parse().map_err(|_| {
        Refusal::input(format!("--listen {listen:?} is not an address with a port"))
            .hint(format!("inbox ui --listen {LISTEN}"))
    })?;
    let opens = !matches.get_flag("no_open") && std::io::stdout().is_terminal();
    let invitation = passphrase::with(&inbox, &Caller::local(None), |caller| {
        inbox.invite(caller, named.as_ref(), opens)
    })?;
    if is_own_listener(address) && serves(address, &invitation.probe) {
        tell(context, address, &invitation, opens)?;
        return Ok(Ended::Something);
    }
    let is_free = address.port() == 0 || TcpListener::bind(address).is_ok();
    let options = Options {
        listen: if is_free {
            address
        } else {
            SocketAddr::new(address.ip(), 0)
        },
        tls: None,
        is_insecure: false,
        names: Vec::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    http::serve(
        &options,
        || operation::open(context),
        |address| tell(context, address, &invitation, opens),
    )?;
    Ok(Ended::Something)
}

fn tell(
    context: &Context,
    address: SocketAddr,
    invitation: &Invitation,
    opens: bool,
) -> Result<(), Refusal> {
    let Invitation {
        person,
        code,
        own_code,
        is_new,
        probe: _,
    } = invitation;
    let link = format!("http://{address}/in/{code}");
    if opens {
        open(&link, &format!("http://{address}/in/{own_code}"));
    }
    if context.printer.is_json() {
        let body = json!({ "url": link, "agent_id": person, "is_new": is_new });
        return context.printer.object("ui", true, &body);
    }
    let new = if *is_new {
        format!("{person} is on the roster now: the person whom agents ask\n")
    } else {
        String::new()
    };
    context.printer.raw(&format!(
        "{new}{link}\nopens once, within five minutes, as {person}\n"
    ))
}

/// Whether a server at this address has this store: it knows the name of a token that opens nothing. Whoever else listens there is
/// told nothing that they could use.
fn serves(address: SocketAddr, probe: &Probe) -> bool {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(true)
        .build()
        .into();
    let asked = agent
        .get(format!("http://{address}/v1/token"))
        .header("authorization", format!("Bearer {}", probe.secret))
        .call();
    let told = asked.ok().and_then(|mut answer| {
        let text = answer.body_mut().with_config().limit(MOST).read_to_string();
        serde_json::from_str::<Value>(&text.ok()?).ok()
    });
    told.is_some_and(|told| told["token"]["token_id"] == probe.token_id.as_str())
}

/// Opens the console in the person's browser. Where that cannot be, the link is printed all the same. Everybody on the machine can read
/// the arguments of a program, so none has the link: it has one that opens for this user alone, or is told the link otherwise.
fn open(link: &str, own: &str) {
    let program = if cfg!(target_os = "macos") {
        "osascript"
    } else {
        "xdg-open"
    };
    let mut command = Process::new(program);
    let said = if cfg!(target_os = "macos") {
        command.arg("-");
        format!("open location \"{link}\"\n")
    } else {
        command.arg(own);
        String::new()
    };
    let child = inbox_ops::without_secrets(&mut command)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Some(mut pipe) = child.ok().and_then(|child| child.stdin) {
        let _ = pipe.write_all(said.as_bytes());
    }
}
