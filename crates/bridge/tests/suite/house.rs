//! A store with an agent that is on the ledger and a person, and agents outside.

use std::ops::ControlFlow;
use std::path::PathBuf;

use inbox_bridge::bridge::{Bridge, Turn};
use inbox_bridge::keys::Keys;
use inbox_bridge::{Inbound, history};
use inbox_core::{AgentKind, Code, Kind, Message, Refusal, ThreadId};
use inbox_hcs::{Operation, Place, TopicId, read};
use inbox_hedera::key::Algorithm;
use inbox_ops::config::{Config, Connections, Ledger, Policy, Signer};
use inbox_ops::{AgentSet, Inbox, Operation as _, Posted, Read, Reply, Show};
use inbox_store::{ConnectionRow, ProposalRow, RecordState};
use inbox_testkit::sandbox::TempDir;
use inbox_testkit::world::{World, by};

use crate::stage::{Player, Stage, holder};

pub(crate) struct House {
    pub(crate) stage: Stage,
    pub(crate) world: World,
    pub(crate) inbox: Inbox,
    pub(crate) ben: Player,
    folder: TempDir,
}

/// Policies by their word.
pub(crate) fn meeting(policy: Policy) -> Connections {
    Connections {
        policy,
        ..Connections::default()
    }
}

impl House {
    pub(crate) fn new(world: World, connections: Connections) -> Self {
        House::with(world, connections, Vec::new())
    }

    pub(crate) fn with(world: World, connections: Connections, signers: Vec<Signer>) -> Self {
        let stage = Stage::new();
        let ben = stage.player_with("Ben", Inbound::Public, Algorithm::Ecdsa);
        let config = Config {
            ledger: Ledger {
                network: Some("local".into()),
                connections,
                signers,
            },
            ..Config::default()
        };
        let inbox = world.another().with_config(config);
        let house = House {
            stage,
            world,
            inbox,
            ben,
            folder: TempDir::new(),
        };
        house.world.send("pat", "nobody", "hello");
        let person = AgentSet {
            slug: Some("pat".parse().unwrap()),
            kind: Some(AgentKind::Human),
            ..AgentSet::default()
        };
        person.run(&house.inbox, &by("pat")).unwrap();
        house.move_in("ben", &house.ben);
        house
    }

    /// Puts an agent on the roster with its place on the ledger, and its key into the file.
    pub(crate) fn move_in(&self, name: &str, player: &Player) {
        self.world.send(name, "nobody", "hello");
        let request = AgentSet {
            slug: Some(name.parse().unwrap()),
            account_id: Some(player.me.account.to_string().parse().unwrap()),
            inbound_topic_id: Some(player.me.inbound_topic.to_string().parse().unwrap()),
            outbound_topic_id: Some(player.me.outbound_topic.to_string().parse().unwrap()),
            ..AgentSet::default()
        };
        request.run(&self.inbox, &by(name)).unwrap();
        let mut held = holder(&player.net);
        held.inbound = Some(player.me.inbound_topic);
        held.outbound = Some(player.me.outbound_topic);
        let mut keys = Keys::open(&self.keys(), "local").unwrap();
        keys.put(name, &held).unwrap();
    }

    /// The file of keys.
    pub(crate) fn keys(&self) -> PathBuf {
        self.folder.path().join("keys")
    }

    pub(crate) fn bridge(&self) -> Bridge<'_> {
        Bridge::new(&self.inbox, self.stage.network.clone(), self.keys()).unwrap()
    }

    /// Turns until there is nothing to do.
    pub(crate) fn settle(&self) -> Turn {
        self.settle_with(self.bridge()).unwrap()
    }

    /// The same, until it dies.
    pub(crate) fn settle_with(&self, mut bridge: Bridge<'_>) -> Result<Turn, Refusal> {
        let mut all = Turn::default();
        loop {
            let turn = bridge.turn()?;
            all.sent += turn.sent;
            all.taken += turn.taken;
            all.problems += turn.problems;
            if turn == Turn::default() {
                bridge.leave().unwrap();
                return Ok(all);
            }
        }
    }

    /// Lets time pass, as long as anything is waited for at the most.
    pub(crate) fn wait(&self) -> Turn {
        self.world.advance_ms(310_000);
        self.settle()
    }

    pub(crate) fn connections(&self) -> Vec<ConnectionRow> {
        self.inbox.ledger_standing().unwrap().connections
    }

    pub(crate) fn proposals(&self) -> Vec<ProposalRow> {
        self.inbox.ledger_standing().unwrap().proposals
    }

    /// The only connection.
    pub(crate) fn connection(&self) -> ConnectionRow {
        let mut all = self.connections();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    /// What somebody has not read yet, which it then has.
    pub(crate) fn read(&self, name: &str) -> Vec<Message> {
        let read = Read::default().run(&self.inbox, &by(name)).unwrap();
        read.messages
    }

    pub(crate) fn answer(
        &self,
        name: &str,
        thread: ThreadId,
        words: &str,
    ) -> Result<Posted, Refusal> {
        self.reply(name, thread, words, "")
    }

    pub(crate) fn reply(
        &self,
        name: &str,
        thread: ThreadId,
        summary: &str,
        body: &str,
    ) -> Result<Posted, Refusal> {
        let request = Reply {
            thread,
            to: Vec::new(),
            kind: None,
            summary: Some(summary.into()),
            body: Some(body.into()),
            payload_json: None,
            artifacts: Vec::new(),
        };
        request.run(&self.inbox, &by(name))
    }

    /// What was said in a thread: who, of which kind, and what.
    pub(crate) fn said(&self, thread: ThreadId) -> Vec<(String, Kind, String)> {
        let shown = Show::of(thread).run(&self.inbox, &by("pat")).unwrap();
        let said = |message: Message| {
            let words = if message.body.is_empty() {
                message.summary
            } else {
                message.body
            };
            (message.from_agent.to_string(), message.kind, words)
        };
        shown.messages.into_iter().map(said).collect()
    }

    pub(crate) fn states(&self) -> Vec<(RecordState, i64)> {
        self.inbox.ledger_standing().unwrap().records
    }

    /// How many operations of each sort stand on a topic.
    pub(crate) fn operations(&self, topic: TopicId, place: Place) -> Vec<Operation> {
        let mut found = Vec::new();
        history::messages(self.ben.net.mirror(), topic, None, |said| {
            if let Ok((operation, _)) = read(&said.bytes, place) {
                found.push(operation);
            }
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        found
    }
}

/// Requires that a reply was refused by this code, and gives why.
#[track_caller]
pub(crate) fn refused(outcome: Result<Posted, Refusal>, code: Code) -> String {
    crate::stage::refused(outcome, code)
}

pub(crate) fn both(connections: &Connections, test: fn(House)) {
    test(House::new(World::sqlite(), connections.clone()));
    test(House::new(World::postgres(), connections.clone()));
}
