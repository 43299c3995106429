//! A devnet, and agents on it.

use inbox_bridge::keys::Holder;
use inbox_bridge::publish::{create_inbound, create_outbound, publish};
use inbox_bridge::{Agent, Hbar, Inbound, Net};
use inbox_core::{Code, Refusal};
use inbox_devnet::ledger::TREASURY_KEY;
use inbox_devnet::{Devnet, Options};
use inbox_hcs::{AccountId, AgentType, AiAgent, Participant, Profile, ProfileKind, TopicId};
use inbox_hedera::key::{Algorithm, PrivateKey};
use inbox_hedera::network::Network;
use inbox_hedera::proto::Key;
use tokio::runtime::Runtime;

pub(crate) struct Stage {
    pub(crate) devnet: Devnet,
    pub(crate) network: Network,
    // Ends after the devnet, whose tasks it has.
    _runtime: Runtime,
}

/// One who has an account, and topics of an agent.
pub(crate) struct Player {
    pub(crate) net: Net,
    pub(crate) me: Participant,
}

impl Player {
    pub(crate) fn agent(&self) -> Agent<'_> {
        Agent::new(&self.net, self.me)
    }

    pub(crate) fn paying(&self, hbar: &str) -> Agent<'_> {
        self.agent().up_to(hbar.parse().unwrap())
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let devnet = runtime
            .block_on(Devnet::start(&Options::anywhere()))
            .unwrap();
        let network = Network::at(
            devnet.node.to_string(),
            format!("http://{}", devnet.rest),
            devnet.mirror.to_string(),
        );
        Stage {
            devnet,
            network,
            _runtime: runtime,
        }
    }

    pub(crate) fn treasury(&self) -> Net {
        let account = AccountId::new(0, 0, 2).unwrap();
        Net::open(&self.network, account, TREASURY_KEY.parse().unwrap()).unwrap()
    }

    /// An account with something in it.
    pub(crate) fn account(&self, algorithm: Algorithm) -> Net {
        let key = PrivateKey::generate(algorithm).unwrap();
        let public = Key::from(&key.public().unwrap());
        let hundred = hbar("100");
        let account = self.treasury().create_account(public, hundred).unwrap();
        Net::open(&self.network, account, key).unwrap()
    }

    /// An agent that anybody may ask.
    pub(crate) fn player(&self, name: &str) -> Player {
        self.player_with(name, Inbound::Public, Algorithm::Ed25519)
    }

    pub(crate) fn player_with(&self, name: &str, inbound: Inbound, algorithm: Algorithm) -> Player {
        let net = self.account(algorithm);
        let me = Participant {
            account: net.account(),
            outbound_topic: create_outbound(&net).unwrap(),
            inbound_topic: create_inbound(&net, inbound).unwrap(),
        };
        publish(&net, me, profile(name)).unwrap();
        Player { net, me }
    }

    /// Two agents and the topic of their connection; the first asked.
    pub(crate) fn connected(&self) -> (Player, Player, TopicId) {
        let (ada, ben) = (self.player("Ada"), self.player("Ben"));
        let asked = ada.agent().connect(ben.me.account, None).unwrap();
        let accepted = ben.agent().accept(asked.request, &[], None, None).unwrap();
        (ada, ben, accepted.topic)
    }
}

pub(crate) fn hbar(text: &str) -> Hbar {
    text.parse().unwrap()
}

pub(crate) fn profile(name: &str) -> Profile {
    let agent = AiAgent {
        agent_type: AgentType::Autonomous,
        capabilities: Vec::new(),
        model: "any".into(),
        creator: None,
    };
    Profile::new(name, ProfileKind::AiAgent(agent))
}

pub(crate) fn holder(net: &Net) -> Holder {
    Holder {
        account: net.account(),
        key: net.key().clone(),
        inbound: None,
        outbound: None,
        hidden: Vec::new(),
    }
}

/// Requires that something was refused by this code, and gives why.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(outcome: Result<T, Refusal>, code: Code) -> String {
    let refusal = outcome.unwrap_err();
    assert_eq!(refusal.code, code, "{refusal:?}");
    refusal.message
}
