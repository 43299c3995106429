//! `devnet`: a Hedera network in this process, to develop against.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::task::Poll;

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_core::{Code, Refusal};
use inbox_devnet::ledger::{Ledger, LedgerError, TREASURY, TREASURY_KEY, funded};
use inbox_devnet::{Devnet, NoTrouble, Options, StartError, Trouble};
use inbox_hedera::key::{Algorithm, KeyError, PrivateKey};
use inbox_store::private;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::up;
use crate::cli::{Context, Ended, config};

/// Where its ledger is unless told otherwise: beside the usual store.
const DATA: &str = ".agents/devnet.db";

pub(super) fn describe(command: Command) -> Command {
    let address = |name: &'static str, usual: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("ADDRESS")
            .default_value(usual)
            .help(help)
    };
    let data = || {
        Arg::new("data")
            .long("data")
            .value_name("FILE")
            .default_value(DATA)
            .help("Keep the ledger in this file")
    };
    command
        .about("Run a Hedera network in this process, to develop against")
        .long_about(
            "Run a Hedera network in this process, to develop against\n\nIts ports are those that SDKs know a local network by, and account 0.0.2 has the key that other local networks give it. What it does not do it answers with NOT_SUPPORTED.\n\nFor the tests of programs that must live with a network, things go wrong on request: the next N transactions find the node busy (busy=N), or happen and their answer is lost (lose=N); the next N questions for a receipt find none (late=N); every call takes longer (slow=200ms); the mirror is behind (lag=2s); its next N answers leave a message out, have one twice, in the wrong order or of another topic (drop=N, repeat=N, reorder=N, other=N), end in the midst (cut=N), are 429, 500 or a page for people (limit=N, fail=N, html=N), have no list (bare=N), or call a message a piece of another (pieces=N). POST /devnet/faults on the REST port asks for the same while it runs.",
        )
        .disable_help_subcommand(true)
        .arg(address("node", "127.0.0.1:50211", "Take transactions here; port 0 is a free one"))
        .arg(address("mirror", "127.0.0.1:5600", "Stream topics and answer REST here"))
        .arg(address("rest", "127.0.0.1:5551", "Answer REST here"))
        .arg(data())
        .arg(
            Arg::new("fault")
                .long("fault")
                .value_name("FAULT")
                .action(ArgAction::Append)
                .help("Let something go wrong: busy=N, lose=N, late=N, slow=TIME, lag=TIME, drop=N, …"),
        )
        .subcommand(
            Command::new("accounts").about("Print accounts that have something, and their keys"),
        )
        .subcommand(
            Command::new("reset")
                .about("Throw the ledger away; the next devnet begins anew")
                .arg(data()),
        )
}

pub(super) fn run(name: &str, matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    match name {
        "devnet accounts" => accounts(context),
        "devnet reset" => reset(matches, context),
        _ => serve(matches, context),
    }
}

fn file(matches: &ArgMatches) -> PathBuf {
    let text = matches.get_one::<String>("data");
    PathBuf::from(text.map_or(DATA, String::as_str))
}

fn faults(matches: &ArgMatches) -> Result<Vec<Trouble>, Refusal> {
    let asked = matches.get_many::<String>("fault").into_iter().flatten();
    asked
        .map(|text| {
            text.parse().map_err(|no: NoTrouble| {
                Refusal::input(format!("--fault {no}"))
                    .hint("inbox devnet --fault busy=3 --fault lag=2s")
            })
        })
        .collect()
}

fn serve(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let address = |name: &str| -> Result<SocketAddr, Refusal> {
        let text = matches.get_one::<String>(name).cloned().unwrap_or_default();
        text.parse().map_err(|_| {
            Refusal::input(format!("--{name} {text:?} is not an address with a port")).hint(
                format!("inbox devnet --{name} 127.0.0.1:0 takes a free port"),
            )
        })
    };
    let options = Options {
        node: address("node")?,
        mirror: address("mirror")?,
        rest: address("rest")?,
        data: Some(file(matches)),
        faults: faults(matches)?,
    };
    let running = Running::start(&options)?;
    // Whoever works on a store whose devnet this is finds it at its new ports.
    let beside = file(matches).with_file_name(config::DEVNET);
    if beside.exists() {
        up::write(&beside, &running, running.is_usual())?;
    }
    running.runtime.block_on(async {
        let mut told = std::pin::pin!(crate::http::signalled());
        // Signals are listened for before anybody knows where it is.
        let first = std::future::poll_fn(|context| Poll::Ready(told.as_mut().poll(context))).await;
        if context.printer.is_json() {
            context.printer.object("devnet", true, &running.json())?;
        } else {
            context.printer.raw(&running.text())?;
        }
        match first {
            Poll::Ready(told) => told,
            Poll::Pending => told.await,
        }
    })?;
    Ok(Ended::Something)
}

/// A devnet in this process; it ends with the value.
pub(super) struct Running {
    devnet: Devnet,
    runtime: Runtime,
}

impl Running {
    pub(super) fn start(options: &Options) -> Result<Self, Refusal> {
        let folder = options.data.as_deref().and_then(Path::parent);
        if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
            private::make_folder(folder).map_err(|error| {
                let folder = folder.display();
                Refusal::new(Code::Storage, format!("cannot make {folder}: {error}"))
            })?;
        }
        if let Some(file) = &options.data {
            // SQLite takes the file's mode for those beside it. What is wrong with the file, it says, unless it is another file.
            let mut how = private::file();
            how.write(true).create(true).truncate(false);
            let opened = private::open(&mut how, file)
                .and_then(|_| private::may_sqlite_open(file, private::user()));
            if let Err(error) = opened
                && private::is_not_ours(&error)
            {
                let file = file.display();
                return Err(Refusal::new(
                    Code::StoreCorrupt,
                    format!("the devnet cannot be kept in {file}: {error}"),
                )
                .hint("ls -l shows what it is; inbox devnet --data FILE names another place"));
            }
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| Refusal::new(Code::Internal, format!("no runtime: {error}")))?;
        let devnet = runtime
            .block_on(Devnet::start(options))
            .map_err(|error| refused(error, options.data.as_deref()))?;
        Ok(Running { devnet, runtime })
    }

    /// Whether it is where everybody looks for a local network.
    pub(super) fn is_usual(&self) -> bool {
        let usual = Options::default();
        let Devnet {
            node, mirror, rest, ..
        } = &self.devnet;
        (*node, *mirror, *rest) == (usual.node, usual.mirror, usual.rest)
    }

    /// Where it is, for people.
    pub(super) fn text(&self) -> String {
        let Devnet {
            node, mirror, rest, ..
        } = &self.devnet;
        format!(
            "{node}  node 0.0.3\n{mirror}  mirror\nhttp://{rest}/api/v1  REST\ninbox devnet accounts prints accounts and their keys\n"
        )
    }

    /// Where it is, for programs.
    pub(super) fn json(&self) -> Value {
        json!({
            "node": self.devnet.node.to_string(),
            "node_account_id": "0.0.3",
            "mirror": self.devnet.mirror.to_string(),
            "rest": format!("http://{}", self.devnet.rest),
        })
    }
}

fn refused(error: StartError, data: Option<&Path>) -> Refusal {
    let message = error.to_string();
    match error {
        StartError::Listen(..) => Refusal::new(Code::Storage, message)
            .hint("inbox devnet --node 127.0.0.1:0 --mirror 127.0.0.1:0 --rest 127.0.0.1:0 takes free ports"),
        StartError::Thread(_) => Refusal::new(Code::Internal, message),
        StartError::Ledger(LedgerError::InUse(_)) => Refusal::new(Code::Storage, message)
            .hint("inbox devnet --data FILE keeps another ledger"),
        StartError::Ledger(error) if error.is_of_content() && data.is_some_and(is_devnet) => {
            Refusal::new(Code::Storage, message).hint("inbox devnet reset throws the ledger away")
        }
        StartError::Ledger(error) if error.is_of_content() => Refusal::new(Code::Storage, message)
            .hint("inbox devnet --data FILE names another file; this one is another program's"),
        StartError::Ledger(_) => Refusal::new(Code::Storage, message).hint(
            "ls -l shows who may write it and its folder; inbox devnet --data FILE names another place",
        ),
    }
}

fn accounts(context: &Context) -> Result<Ended, Refusal> {
    let broken = |error: KeyError| Refusal::new(Code::Internal, error.to_string());
    let treasury: PrivateKey = TREASURY_KEY.parse().map_err(broken)?;
    let mut all = vec![(TREASURY, treasury)];
    all.extend(
        funded()
            .map_err(broken)?
            .into_iter()
            .map(|one| (one.num, one.key)),
    );
    let named = |key: &PrivateKey| match key.algorithm() {
        Algorithm::Ed25519 => "ed25519",
        Algorithm::Ecdsa => "ecdsa",
    };
    if context.printer.is_json() {
        let list: Result<Vec<_>, Refusal> = all
            .iter()
            .map(|(num, key)| {
                Ok(json!({
                    "account_id": format!("0.0.{num}"),
                    "key_type": named(key),
                    "private_key": key.reveal().as_str(),
                    "public_key": key.public().map_err(broken)?.to_der(),
                }))
            })
            .collect();
        context
            .printer
            .object("devnet accounts", true, &json!({ "accounts": list? }))?;
    } else {
        let mut text = String::new();
        for (num, key) in &all {
            let id = format!("0.0.{num}");
            text.push_str(&format!(
                "{id:<9} {:<8} {}\n",
                named(key),
                key.reveal().as_str()
            ));
        }
        context.printer.raw(&text)?;
    }
    Ok(Ended::Something)
}

fn reset(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let data = file(matches);
    let shown = data.display().to_string();
    if !data.exists() {
        return Err(Refusal::new(
            Code::StoreNotFound,
            format!("there is no devnet in {shown}"),
        )
        .hint("inbox devnet begins one"));
    }
    match Ledger::open(&data) {
        Err(error @ LedgerError::InUse(_)) => {
            return Err(Refusal::new(Code::Storage, error.to_string())
                .hint("stop the devnet that runs, and try again"));
        }
        // Whatever it is, it is somebody's.
        Err(error) if error.is_of_content() && !is_devnet(&data) => {
            return Err(Refusal::input(error.to_string()).hint("inbox devnet reset --data FILE"));
        }
        // An older one, or a broken one, is thrown away like any other.
        _ => {}
    }
    let network = data.with_file_name(config::DEVNET).display().to_string();
    let files = ["", "-wal", "-shm"].map(|suffix| format!("{shown}{suffix}"));
    for path in files.into_iter().chain([network]) {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Refusal::new(
                    Code::Storage,
                    format!("cannot remove {path}: {error}"),
                ));
            }
            _ => {}
        }
    }
    if context.printer.is_json() {
        context
            .printer
            .object("devnet reset", true, &json!({ "data": shown }))?;
    } else {
        context
            .printer
            .raw(&format!("{shown} is gone; inbox devnet begins anew\n"))?;
    }
    Ok(Ended::Something)
}

/// Whether a file says that it is a devnet's, of whatever version.
fn is_devnet(path: &Path) -> bool {
    let mut head = [0; 72];
    let read = std::fs::File::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head));
    read.is_ok() && head.ends_with(b"INBD")
}
