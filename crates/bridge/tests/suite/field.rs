//! Agents of one store on a devnet, and bridges that are processes of their own, so that they can die.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use inbox_bridge::bridge::{Bridge, Turn};
use inbox_bridge::history;
use inbox_bridge::keys::Keys;
use inbox_core::record::Millis;
use inbox_core::{AgentKind, Message, Priority};
use inbox_hcs::{Operation as Hcs, Place, read};
use inbox_hedera::network::Network;
use inbox_ops::config::Config;
use inbox_ops::{AgentSet, Inbox, Note, Operation as _, Read, Send};
use inbox_store::{Location, Store, TopicRow};
use inbox_testkit::sandbox::TempDir;
use inbox_testkit::world::{START, World, by};
use serde_json::{Value, json};

use crate::stage::{Player, Stage, holder};

/// What a bridge of its own process is told by.
const CHILD: &str = "INBOX_TEST_BRIDGE";

/// Agents of one store on a devnet.
pub(crate) struct Field {
    pub(crate) stage: Stage,
    pub(crate) players: BTreeMap<&'static str, Player>,
    pub(crate) inbox: Inbox,
    world: World,
    location: Location,
    folder: TempDir,
    now: Millis,
}

impl Field {
    /// These agents on a devnet, and a store that knows them.
    pub(crate) fn new(names: &[&'static str], is_postgres: bool) -> Self {
        let stage = Stage::new();
        let named = names.iter().map(|name| (*name, stage.player(name)));
        let players = named.collect();
        Field::on(stage, players, is_postgres)
    }

    fn on(stage: Stage, players: BTreeMap<&'static str, Player>, is_postgres: bool) -> Self {
        let folder = TempDir::in_memory();
        let location = World::place(&folder, "coord.db", is_postgres);
        let keys = folder.path().join("keys");
        let made = child("init", &location, &keys, &stage.network, &[]);
        assert!(made.status.success(), "{made:?}");
        let world = World::sqlite().beside(location.clone());
        let inbox = with_roster(&world, &players);
        let field = Field {
            stage,
            players,
            inbox,
            world,
            location,
            folder,
            now: Millis(START),
        };
        field.keep_keys(|_| true);
        field
    }

    /// Has nobody here have an agent's key.
    pub(crate) fn forget_key(&self, forgotten: &str) {
        std::fs::remove_file(self.keys()).unwrap();
        self.keep_keys(|name| name != forgotten);
    }

    fn keep_keys(&self, is_kept: impl Fn(&str) -> bool) {
        for (name, player) in self.players.iter().filter(|(name, _)| is_kept(name)) {
            let mut held = holder(&player.net);
            held.inbound = Some(player.me.inbound_topic);
            held.outbound = Some(player.me.outbound_topic);
            Keys::open(&self.keys(), "local")
                .unwrap()
                .put(name, &held)
                .unwrap();
        }
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.folder.path().join("keys")
    }

    pub(crate) fn another(&self) -> Inbox {
        self.world.another().with_config(config())
    }

    /// The same store with other settings.
    pub(crate) fn another_with(&self, change: impl FnOnce(&mut Config)) -> Inbox {
        let mut config = config();
        change(&mut config);
        self.world.another().with_config(config)
    }

    pub(crate) fn bridge<'i>(&self, inbox: &'i Inbox) -> Bridge<'i> {
        Bridge::new(inbox, self.stage.network.clone(), self.keys()).unwrap()
    }

    /// Lets time pass, also for bridges of their own processes.
    pub(crate) fn advance_ms(&mut self, millis: i64) {
        self.world.advance_ms(millis);
        self.now.0 += millis;
    }

    pub(crate) fn send(
        &self,
        from: &str,
        to: &str,
        subject: &str,
        body: &str,
        priority: Priority,
    ) -> Message {
        let request = Send {
            to: vec![to.parse().unwrap()],
            subject: Some(subject.into()),
            body: Some(body.into()),
            priority: Some(priority),
            ..Send::default()
        };
        request.run(&self.inbox, &by(from)).unwrap().message
    }

    /// Has an agent note something on an entity.
    pub(crate) fn note(&self, from: &str, entity: &str, text: &str) {
        let request: Note = serde_json::from_value(json!({ "ref": entity, "note": text })).unwrap();
        request.run(&self.inbox, &by(from)).unwrap();
    }

    /// Turns until there is nothing to do.
    pub(crate) fn settle(&self) -> Turn {
        let mut bridge = self.bridge(&self.inbox);
        let all = settle(&mut bridge);
        bridge.leave().unwrap();
        all
    }

    /// A bridge of its own process, which does what there is to do and ends; or dies where these say.
    pub(crate) fn once(&self, environment: &[(&str, String)]) -> Output {
        let now = ("INBOX_NOW", self.now.to_string());
        let environment: Vec<_> = environment.iter().cloned().chain([now]).collect();
        child(
            "once",
            &self.location,
            &self.keys(),
            &self.stage.network,
            &environment,
        )
    }

    /// Puts a person on the roster.
    pub(crate) fn person(&self, name: &str) {
        self.world.send(name, "nobody", "hello");
        let person = AgentSet {
            slug: Some(name.parse().unwrap()),
            kind: Some(AgentKind::Human),
            ..AgentSet::default()
        };
        person.run(&self.inbox, &by(name)).unwrap();
    }

    /// All that an agent has not read, which is read then.
    pub(crate) fn unread(&self, name: &str) -> Vec<Message> {
        unread(&self.inbox, name)
    }

    pub(crate) fn topic(&self, name: &str) -> TopicRow {
        let standing = self.inbox.ledger_standing().unwrap();
        let mut topics = standing.topics.into_iter();
        topics.find(|topic| topic.name == name).unwrap()
    }

    /// The UUIDs of the messages that an agent's topic has from another, in their order.
    pub(crate) fn said(&self, from: &str, to: &str) -> Vec<String> {
        let payer = self.players[from].me.account;
        let mut found = Vec::new();
        let mirror = self.players[to].net.mirror();
        history::messages(mirror, self.players[to].me.inbound_topic, None, |said| {
            if said.payer == payer {
                let (operation, _) = read(&said.bytes, Place::Inbound).unwrap();
                let Hcs::InboundMessage(message) = operation else {
                    panic!("{operation:?}");
                };
                let text = match message.data.file() {
                    Some(file) => {
                        let file = inbox_bridge::file::get(mirror, file).unwrap();
                        String::from_utf8(file.content).unwrap()
                    }
                    None => message.data.as_str().to_owned(),
                };
                let wire: Value = serde_json::from_str(&text).unwrap();
                found.push(wire["x_uid"].as_str().unwrap().to_owned());
            }
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
        found
    }

    /// A second store of the same agents, which has none of their mail, after a bridge without a fault has taken in the topics.
    pub(crate) fn clean_run(&self) -> (World, Inbox) {
        let world = World::sqlite();
        let inbox = with_roster(&world, &self.players);
        settle(&mut self.bridge(&inbox));
        (world, inbox)
    }
}

fn with_roster(world: &World, players: &BTreeMap<&'static str, Player>) -> Inbox {
    let inbox = world.another().with_config(config());
    for (name, player) in players {
        world.send(name, "nobody", "hello");
        let request = AgentSet {
            slug: Some(name.parse().unwrap()),
            account_id: Some(player.me.account.to_string().parse().unwrap()),
            inbound_topic_id: Some(player.me.inbound_topic.to_string().parse().unwrap()),
            outbound_topic_id: Some(player.me.outbound_topic.to_string().parse().unwrap()),
            ..AgentSet::default()
        };
        request.run(&inbox, &by(name)).unwrap();
    }
    inbox
}

pub(crate) fn settle(bridge: &mut Bridge<'_>) -> Turn {
    let mut all = Turn::default();
    loop {
        let turn = bridge.turn().unwrap();
        all.sent += turn.sent;
        all.taken += turn.taken;
        all.problems += turn.problems;
        if turn.is_idle() {
            return all;
        }
    }
}

pub(crate) fn unread(inbox: &Inbox, name: &str) -> Vec<Message> {
    let mut all = Vec::new();
    loop {
        let mail = Read::default().run(inbox, &by(name)).unwrap();
        if mail.messages.is_empty() {
            return all;
        }
        all.extend(mail.messages);
    }
}

fn config() -> Config {
    let mut config = Config::default();
    config.ledger.network = Some("local".into());
    config
}

fn child(
    what: &str,
    location: &Location,
    keys: &Path,
    network: &Network,
    environment: &[(&str, String)],
) -> Output {
    let db = match location {
        Location::File(path) => format!("file {}", path.display()),
        Location::Postgres(url) => format!("postgres {url}"),
    };
    let node = &network.nodes[0].address;
    let told = [
        what,
        &db,
        &keys.display().to_string(),
        node,
        &network.mirror,
        &network.stream,
    ]
    .join("\n");
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "field::a_bridge_of_its_own_process",
            "--nocapture",
        ])
        .env(CHILD, told)
        .env("INBOX_TEST_STORE", "1")
        .envs(
            environment
                .iter()
                .map(|(name, value)| (*name, value.as_str())),
        )
        .output()
        .unwrap()
}

/// What [`child`] runs; nothing where nobody has asked for it.
#[test]
fn a_bridge_of_its_own_process() {
    let Ok(told) = std::env::var(CHILD) else {
        return;
    };
    let told: Vec<&str> = told.lines().collect();
    let [what, db, keys, node, mirror, stream] = told[..] else {
        panic!("{told:?}");
    };
    let location = match db.split_once(' ').unwrap() {
        ("file", path) => Location::File(path.into()),
        (_, url) => Location::Postgres(url.into()),
    };
    if what == "init" {
        Store::init(&location).unwrap();
        return;
    }
    let inbox = Inbox::new(Store::open(&location).unwrap()).with_config(config());
    let network = Network::at(node, mirror, stream);
    let mut bridge = Bridge::new(&inbox, network, keys.into()).unwrap();
    settle(&mut bridge);
    bridge.leave().unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let most = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    println!("most={}", most.trim().trim_end_matches(" kB"));
}

/// The most memory that a bridge of its own process had, in kilobytes.
pub(crate) fn most_memory(output: &Output) -> u64 {
    let text = String::from_utf8_lossy(&output.stdout);
    let most = text.lines().find_map(|line| line.strip_prefix("most="));
    most.unwrap_or_else(|| panic!("{output:?}"))
        .parse()
        .unwrap()
}
