//! `inbox hcs …`: an agent on Hedera, after HCS-10. The commands of a person or a script; what they do is in the bridge.

mod account;
mod connection;
mod directory;
mod file;
mod ground;
mod inspect;
mod profile;
mod proposal;
mod provision;
mod registry;
mod show;
mod topic;

use clap::{Arg, ArgMatches, Command};
use inbox_core::Refusal;

use crate::cli::{Context, Ended};
use ground::Ground;
pub(super) use ground::{keys_path, network, patron};
pub(super) use provision::record;

const EVERYWHERE: &str = "On every command of hcs";

pub(super) fn describe(command: Command) -> Command {
    let command = command
        .about("Be an agent on Hedera: accounts, topics, profiles, connections, proposals")
        .long_about(
            "Be an agent on Hedera: accounts, topics, profiles, connections, proposals\n\nWho acts is --agent, whose account and key are in the file of keys; INBOX_HEDERA_ACCOUNT and INBOX_HEDERA_KEY name another. The network is --network: local (what inbox devnet runs), testnet, previewnet, mainnet, or a file of a client's configuration.",
        )
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .arg(
            Arg::new("network")
                .long("network")
                .value_name("NAME|FILE")
                .global(true)
                .help_heading(EVERYWHERE)
                .help("Which network; INBOX_HEDERA_NETWORK does too [default: ledger.network of the store, else local]"),
        )
        .arg(
            Arg::new("keys")
                .long("keys")
                .value_name("FILE")
                .global(true)
                .help_heading(EVERYWHERE)
                .help("Where keys are; INBOX_HEDERA_KEYS does too [default: .agents/hedera.keys]"),
        );
    let parts = [
        provision::commands(),
        account::commands(),
        topic::commands(),
        profile::commands(),
        registry::commands(),
        directory::commands(),
        connection::commands(),
        proposal::commands(),
        file::commands(),
        inspect::commands(),
    ];
    command.subcommands(parts.into_iter().flatten())
}

/// A command that only holds others.
fn group(name: &'static str, about: &'static str) -> Command {
    Command::new(name)
        .about(about)
        .subcommand_required(true)
        .disable_help_subcommand(true)
}

/// What the command is about.
fn word(name: &'static str, shown: &'static str, help: &'static str) -> Arg {
    Arg::new(name).value_name(shown).required(true).help(help)
}

fn option(name: &'static str, shown: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(shown).help(help)
}

/// What a topic of somebody else may take for a message.
fn max_fee() -> Arg {
    option(
        "max-fee",
        "HBAR",
        "Let a topic take so much for a message; without it, a topic that takes something is refused",
    )
}

pub(super) fn run(name: &str, matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let ground = Ground::new(name, matches, context)?;
    let rest = name.strip_prefix("hcs ").unwrap_or_default();
    match rest {
        "provision" => provision::provision(&ground),
        "account create" => account::create(&ground),
        "account import" => account::import(&ground),
        "account show" => account::show(&ground),
        "account list" => account::list(&ground),
        "account fund" => account::fund(&ground),
        "account reveal" => account::reveal(&ground),
        "topic create" => topic::create(&ground),
        "topic show" => topic::show(&ground),
        "topic write" => topic::write(&ground),
        "topic update" => topic::update(&ground),
        "topic delete" => topic::delete(&ground),
        "profile show" => profile::show(&ground),
        "profile publish" => profile::publish(&ground),
        "profile resolve" => profile::resolve(&ground),
        "register" => registry::register(&ground),
        "deregister" => registry::deregister(&ground),
        "registry" => registry::list(&ground),
        "registry create" => registry::create(&ground),
        "registry migrate" => registry::migrate(&ground),
        "directory" => directory::search(&ground),
        "connect" => connection::connect(&ground),
        "accept" => connection::accept(&ground),
        "refuse" => connection::refuse(&ground),
        "say" => connection::say(&ground),
        "read" => connection::read(&ground),
        "close" => connection::close(&ground),
        "connections" => connection::list(&ground),
        "propose" => proposal::propose(&ground),
        "approve" => proposal::approve(&ground),
        "reject" => proposal::reject(&ground),
        "dismiss" => proposal::dismiss(&ground),
        "file put" => file::put(&ground),
        "file get" => file::get(&ground),
        "inspect" => inspect::inspect(&ground),
        "verify" => inspect::verify(&ground),
        _ => Err(Refusal::input(format!("{name:?} is no command"))
            .hint("inbox hcs --help lists the commands")),
    }
}
