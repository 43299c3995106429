//! Secrets of every sort, carried through every command and every route, and looked for in all that is said and kept.
//!
//! Whoever adds a command, a route, a tool or a page finds here that it has no line yet.

mod ears;
mod ledger;
mod mistakes;
pub(crate) mod paths;
mod person;
mod player;
mod routes;
mod story;

use std::path::{Path, PathBuf};

use inbox_testkit::sandbox::Sandbox;

use super::modes::open_to_others;
use crate::INBOX;
use ears::{Ears, Leak};
use player::Player;
use routes::House;

/// Where a secret is given by contract: the command or the path, and the secret.
const GIVEN: &[(&str, &str)] = &[
    ("claim", "the lease"),
    ("renew", "the lease"),
    ("token create", "the token"),
    ("token create", "a revoked token"),
    ("ui", "the link"),
    ("ui", "an opened link"),
    ("hcs account reveal", "ann's key"),
    ("POST \\v1\\claim", "a lease"),
    ("POST \\v1\\renew", "a lease"),
    ("POST \\v1\\token-create", "a new token"),
    ("POST \\mcp claim_work", "a lease"),
];

/// Files in which a secret lives: the file's name, and the secret. The store knows a lease by the answer that it keeps for a key, and
/// by its number.
const KEPT: &[(&str, &str)] = &[
    ("hedera.keys", "quinn's key"),
    ("hedera.keys", "ben's key"),
    ("hedera.keys", "ann's key"),
    ("a.key", "ann's key"),
    ("inbox.toml", "the webhook's path"),
    ("webhook.secret", "the webhook's secret"),
    ("token", "the token"),
    (".pgpass", "the database's password"),
    ("coord.db", "the lease"),
    ("coord.db-wal", "the lease"),
    ("copy.db", "the lease"),
    ("moved.db", "the lease"),
];

/// What is made for others too, or by the test itself; nothing of the mail is in it.
const OPEN: [&str; 5] = ["pages", "card.json", "wire.json", "a.json", ".config"];

fn is_given(leak: &Leak) -> bool {
    let path = Path::new(&leak.place);
    if path.is_absolute() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        return KEPT.contains(&(name.as_ref(), leak.secret));
    }
    // What a command is given to work with is in its own environment.
    let own = leak.place.starts_with("seen/witness run") && leak.place.ends_with("environment");
    let place = leak.place.split_once(' ').map_or("", |(_, place)| place);
    own && leak.secret == "the runner's lease" || GIVEN.contains(&(place, leak.secret))
}

/// Nothing was found but where it belongs; and there it was found.
fn must_be_silent(ears: &Ears, folder: &Path, given: &[(&str, &str)]) {
    let leaks = ears.leaks(&[folder]);
    let wrong: Vec<_> = leaks.iter().filter(|leak| !is_given(leak)).collect();
    let told: String = wrong
        .iter()
        .map(|leak| format!("{leak:?}\n{}\n", ears.said(leak)))
        .collect();
    assert!(wrong.is_empty(), "{} leaks:\n{told}", wrong.len());
    for (place, secret) in given {
        let is_there = leaks
            .iter()
            .any(|leak| leak.place.ends_with(place) && leak.secret == *secret);
        assert!(is_there, "{secret} was not found in {place}, where it is");
    }
}

/// Everything that inbox has made is for its user alone.
fn must_be_private(folder: &Path) {
    let mut open = Vec::new();
    let count = open_to_others(folder, &mut open);
    let made = |line: &&String| {
        let path = PathBuf::from(line.split_once(' ').unwrap().1);
        let path = path.strip_prefix(folder).unwrap();
        !OPEN.iter().any(|name| path.starts_with(name))
    };
    let open: Vec<_> = open.iter().filter(made).collect();
    assert!(open.is_empty(), "{open:#?}");
    assert!(count > 40, "{count}");
}

#[test]
fn no_command_shows_or_keeps_a_secret() {
    let desk = Sandbox::empty(INBOX);
    let ears = Ears::new();
    let player = Player::new(&desk, &ears);
    let stage = story::begin(&player);
    // What a person does takes nobody else's turn. She locks her name when the ledger's signatures are made, which would ask for it.
    let (signed, is_signed) = std::sync::mpsc::channel::<()>();
    let recorded = std::thread::scope(|scope| {
        let told = scope.spawn(|| {
            let recorded = story::tell(&player);
            story::stay(&player, &stage);
            recorded
        });
        scope.spawn(|| {
            // Without an end of the ledger's story there is nobody who says so.
            let _ = is_signed.into_iter().next();
            person::type_in(&player);
            mistakes::fail_all(&player);
        });
        ledger::tell(&player);
        drop(signed);
        mistakes::make(&player, &stage);
        story::call(&player, &stage);
        told.join()
    });
    let house = House {
        address: stage.url.split_once("://").unwrap().1,
        ears: &ears,
        bearer: &stage.bearer,
        cookie: &stage.cookie,
    };
    house.record(&recorded.unwrap());
    let surprises = player.surprises();
    must_be_silent(&ears, desk.folder(), &GIVEN[..7]);
    must_be_private(desk.folder());
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    let mut untried = player.untried();
    // A hook never fails, so that no agent is stopped by it.
    untried.retain(|(leaf, tried)| leaf != "hook" || !tried.good);
    assert!(
        untried.is_empty(),
        "give each a line in the story: {untried:#?}"
    );
}

#[test]
fn no_route_shows_a_secret() {
    let desk = Sandbox::new(INBOX);
    let ears = Ears::new();
    let player = Player::new(&desk, &ears);
    player.ok("agent add ada --kind human");
    for line in [
        "agent add lead",
        "agent add backend",
        "session start --agent analyst --role ba",
    ] {
        player.ok(line);
    }
    let scopes = "--scope read --scope write --scope admin --scope override";
    let made = player.ok(&format!("token create --agent lead {scopes}"));
    let token = made["secret"].as_str().expect("a secret");
    ears.listen("the token", token);
    let (_server, said) = player.stays("serve --listen 127.0.0.1:0 --json", &[]);
    let url = said["url"].as_str().expect("a URL");
    let house = House {
        address: url.split_once("://").unwrap().1,
        ears: &ears,
        bearer: &format!("Bearer {token}"),
        cookie: &story::come_in(&player, url),
    };
    house.operations();
    house.tools();
    house.pages();
    house.streams();
    house.console();
    must_be_silent(&ears, desk.folder(), &GIVEN[7..]);
}
