//! `up --ledger`: a devnet and a bridge beside the server, in one process. The store's record lives on that devnet from then on.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use clap::ArgMatches;
use inbox_bridge::Inbound;
use inbox_bridge::bridge::{Bridge, Stopper};
use inbox_bridge::keys::Keys;
use inbox_bridge::provision::Provisioner;
use inbox_core::{AgentKind, Code, Refusal};
use inbox_devnet::Options;
use inbox_ops::{AgentList, AgentShow, Caller, Inbox, Operation};
use inbox_store::Location;
use serde_json::{Value, json};

use super::devnet::Running;
use super::{bridge, hcs};
use crate::cli::print::complain;
use crate::cli::{config, find, operation};

/// The ledger's file, beside the store's.
const LEDGER: &str = "devnet.db";

/// What a new account gets.
const FIRST: &str = "100";

/// How long to wait after a bridge that could not go on.
const PAUSE: Duration = Duration::from_secs(1);

/// A devnet and a bridge that run beside the server, and end with the value.
pub(super) struct Ledger {
    // The bridge ends first: it speaks to the devnet.
    _bridge: Follower,
    devnet: Running,
    network: String,
    provisioned: Option<usize>,
}

/// A bridge on a thread of its own, which ends with the value.
struct Follower {
    told: Arc<Told>,
    thread: Option<JoinHandle<()>>,
}

/// Whether the bridge is to stop, and what stops the one that runs.
#[derive(Default)]
struct Told {
    is_over: AtomicBool,
    stopper: Mutex<Option<Stopper>>,
}

impl Told {
    fn stopper(&self) -> std::sync::MutexGuard<'_, Option<Stopper>> {
        self.stopper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.told.is_over.store(true, Ordering::SeqCst);
        if let Some(stopper) = &*self.told.stopper() {
            stopper.stop();
        }
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Starts both, where they are wanted. Only `up` has the flags for it.
pub(super) fn start(matches: &ArgMatches, location: &Location) -> Result<Option<Ledger>, Refusal> {
    if !matches!(matches.try_get_one::<bool>("ledger"), Ok(Some(true))) {
        return Ok(None);
    }
    let ports = matches.get_one::<String>("ledger_ports");
    let (options, is_usual) = match ports.map_or("usual", String::as_str) {
        "usual" => (Options::default(), true),
        "anywhere" => (Options::anywhere(), false),
        other => {
            return Err(Refusal::input(format!(
                "--ledger-ports {other:?} is neither usual nor anywhere"
            ))
            .hint("inbox up --ledger --ledger-ports anywhere"));
        }
    };
    let beside = |name: &str| match location {
        Location::File(path) => path.with_file_name(name),
        // A database elsewhere has nothing beside it here.
        Location::Postgres(_) => config::folder(Some(location)).map_or_else(
            || PathBuf::from(find::DEFAULT).with_file_name(name),
            |folder| folder.join(name),
        ),
    };
    is_free(location, is_usual)?;
    let devnet = Running::start(&Options {
        data: Some(beside(LEDGER)),
        ..options
    })?;
    write(&beside(config::DEVNET), &devnet, is_usual)?;
    let inbox = operation::open_at(location)?;
    let network = inbox.config().ledger.network.clone().unwrap_or_default();
    let is_asked = matches!(matches.try_get_one::<bool>("provision"), Ok(Some(true)));
    let provisioned = is_asked.then(|| provision(&inbox, &network)).transpose()?;
    Ok(Some(Ledger {
        _bridge: follow(location.clone())?,
        devnet,
        network,
        provisioned,
    }))
}

/// Whether the record lives nowhere else already.
fn is_free(location: &Location, is_usual: bool) -> Result<(), Refusal> {
    let said = config::load(location)?.ledger.network;
    let here = config::devnet(Some(location)).map(|(network, _)| network);
    match said {
        Some(other) if Some(&other) != here.as_ref() && !(is_usual && other == "local") => {
            Err(Refusal::input(format!(
                "the record of this store lives on {other}, as ledger.network says, and not on a devnet beside it"
            ))
            .hint("inbox up and inbox bridge serve that one; inbox config shows where it is set"))
        }
        _ => Ok(()),
    }
}

/// Writes down where the devnet is, for every command that works on this store.
pub(super) fn write(path: &Path, devnet: &Running, is_usual: bool) -> Result<(), Refusal> {
    let said = devnet.json();
    let value = if is_usual {
        json!({ "network": "local" })
    } else {
        let node = said["node"].as_str().unwrap_or_default();
        json!({
            "network": { node: "0.0.3" },
            "mirrorNetwork": [said["mirror"]],
            "mirrorRest": said["rest"],
        })
    };
    let beside = path.with_extension("json.new");
    inbox_store::private::write(&beside, format!("{value}\n").as_bytes())
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(|error| {
            let path = path.display();
            Refusal::new(Code::Storage, format!("{path} cannot be written: {error}"))
        })
}

/// Gives everybody on the roster a place on the ledger: how many there are.
fn provision(inbox: &Inbox, named: &str) -> Result<usize, Refusal> {
    let network = hcs::network(named)?;
    let provisioner = Provisioner {
        network: &network,
        funder: hcs::patron(&network),
        balance: FIRST.parse()?,
        inbound: Inbound::Public,
        registry: None,
        most: inbox_bridge::Hbar::default(),
        watch: None,
        is_anew: false,
    };
    let caller = Caller::local(None);
    let listed = AgentList::default().run(inbox, &caller)?.agents.into_iter();
    let mut count = 0;
    for listed in listed.filter(|agent| agent.kind != AgentKind::System) {
        let show = AgentShow {
            slug: listed.agent_id,
        };
        let agent = show.run(inbox, &caller)?.agent;
        let mut keys = Keys::open(&hcs::keys_path(None)?, &network.name)?;
        let done = provisioner.provision(&mut keys, &agent)?;
        if let Some(request) = hcs::record(&agent, &done)? {
            request.run(inbox, &caller)?;
        }
        count += 1;
    }
    Ok(count)
}

/// Starts the bridge. One that cannot go on is begun again.
fn follow(location: Location) -> Result<Follower, Refusal> {
    let told: Arc<Told> = Arc::default();
    let hears = Arc::clone(&told);
    let thread = std::thread::Builder::new().name("bridge".to_owned());
    let thread = thread.spawn(move || {
        while let Err(refusal) = run(&location, &hears) {
            complain(&format!("inbox up: the bridge begins again: {refusal}"));
            std::thread::park_timeout(PAUSE);
            if hears.is_over.load(Ordering::SeqCst) {
                return;
            }
        }
    });
    let thread =
        thread.map_err(|error| Refusal::new(Code::Internal, format!("no thread: {error}")))?;
    Ok(Follower {
        told,
        thread: Some(thread),
    })
}

fn run(location: &Location, told: &Told) -> Result<(), Refusal> {
    let inbox = operation::open_at(location)?;
    let network = bridge::network(&inbox)?;
    let mut bridge = Bridge::new(&inbox, network, hcs::keys_path(None)?)?;
    *told.stopper() = Some(bridge.stopper());
    if !told.is_over.load(Ordering::SeqCst) {
        bridge::until_told(&mut bridge)?;
    }
    bridge.leave()
}

impl Ledger {
    /// Where it is, for people.
    pub(super) fn text(&self) -> String {
        let next = match self.provisioned {
            Some(count) => format!("{count} on the roster are on the ledger\n"),
            None => {
                "inbox hcs provision --all gives everybody on the roster an account and topics\n"
                    .to_owned()
            }
        };
        format!(
            "{}mail between agents that have an account goes through this ledger; inbox bridge status shows it\n{next}",
            self.devnet.text()
        )
    }

    /// Where it is, for programs.
    pub(super) fn json(&self) -> Value {
        let mut value = self.devnet.json();
        value["network"] = json!(self.network);
        value["provisioned"] = json!(self.provisioned);
        value
    }
}
