//! The roster and the ledger beside it: profiles follow cards, and a network that was begun anew is told and begun anew with.

use inbox_bridge::bridge::Bridge;
use inbox_bridge::keys::Keys;
use inbox_bridge::provision::Provisioned;
use inbox_bridge::{peer, registry};
use inbox_core::{Agent, Code};
use inbox_ops::config::Config;
use inbox_ops::{AgentAdd, AgentSet, AgentShow, Inbox, Operation as _, Send};
use inbox_testkit::sandbox::TempDir;
use inbox_testkit::world::{World, by};
use serde_json::json;

use crate::provision::provisioner;
use crate::stage::{Stage, refused};

/// A store, a network and the keys of its agents.
struct Office {
    stage: Stage,
    world: World,
    inbox: Inbox,
    folder: TempDir,
}

impl Office {
    fn new(world: World) -> Self {
        let mut config = Config::default();
        config.ledger.network = Some("local".into());
        let inbox = world.another().with_config(config);
        Office {
            stage: Stage::new(),
            world,
            inbox,
            folder: TempDir::new(),
        }
    }

    fn keys(&self) -> Keys {
        Keys::open(&self.folder.path().join("keys"), "local").unwrap()
    }

    fn agent(&self, name: &str) -> Agent {
        let request = AgentShow {
            slug: name.parse().unwrap(),
        };
        request.run(&self.inbox, &by("lead")).unwrap().agent
    }

    fn add(&self, name: &str) {
        let request = AgentAdd {
            slug: Some(name.parse().unwrap()),
            ..AgentAdd::default()
        };
        request.run(&self.inbox, &by("lead")).unwrap();
    }

    fn provision(&self, name: &str, is_anew: bool) -> Provisioned {
        let mut provisioner = provisioner(&self.stage);
        provisioner.is_anew = is_anew;
        let done = provisioner.provision(&mut self.keys(), &self.agent(name));
        let done = done.unwrap();
        let id = |text: String| Some(text.parse().unwrap());
        let request = AgentSet {
            slug: Some(name.parse().unwrap()),
            account_id: id(done.me.account.to_string()),
            inbound_topic_id: id(done.me.inbound_topic.to_string()),
            outbound_topic_id: id(done.me.outbound_topic.to_string()),
            ..AgentSet::default()
        };
        request.run(&self.inbox, &by("lead")).unwrap();
        done
    }

    fn turn(&self) {
        let keys = self.folder.path().join("keys");
        let mut bridge = Bridge::new(&self.inbox, self.stage.network.clone(), keys).unwrap();
        while !bridge.turn().unwrap().is_idle() {}
        bridge.leave().unwrap();
    }

    fn profile(&self, done: &Provisioned) -> (String, String) {
        let mirror = self.stage.network.reader();
        let seen = peer::peer(&mirror, done.me.account).unwrap();
        (seen.reference, seen.profile.display_name)
    }
}

fn both(test: fn(Office)) {
    test(Office::new(World::sqlite()));
    test(Office::new(World::postgres()));
}

#[test]
fn a_card_that_changes_is_published_once_and_the_entry_stays() {
    both(|office| {
        office.add("ada");
        let done = office.provision("ada", false);
        let before = office.profile(&done);
        office.turn();
        assert_eq!(office.profile(&done), before, "nothing changed");
        let request = AgentSet {
            slug: Some("ada".parse().unwrap()),
            name: Some("Ada of the Counts".into()),
            card: Some(json!({
                "card_version": "1.0",
                "identity": { "slug": "ada", "name": "Ada the Second", "reports_to": "human", "model": "m-1" },
                "scope": "Owns the counting and nothing else.",
                "capabilities": ["counting"],
            })),
            ..AgentSet::default()
        };
        request.run(&office.inbox, &by("lead")).unwrap();
        office.turn();
        let after = office.profile(&done);
        assert_ne!(after.0, before.0);
        assert_eq!(after.1, "Ada the Second");
        office.turn();
        assert_eq!(office.profile(&done), after, "it is published once");
        let listed = registry::list(&office.stage.network.reader(), done.registry).unwrap();
        assert!(listed.directory.find(done.me.account).is_some());
        assert_eq!(listed.directory.listings().count(), 1);
    });
}

#[test]
fn an_account_and_topics_are_taken_off_the_roster() {
    both(|office| {
        office.add("ada");
        office.provision("ada", false);
        let none = || Some("none".parse().unwrap());
        let request = AgentSet {
            slug: Some("ada".parse().unwrap()),
            account_id: none(),
            inbound_topic_id: none(),
            outbound_topic_id: none(),
            ..AgentSet::default()
        };
        let ada = request.run(&office.inbox, &by("lead")).unwrap().agent;
        assert_eq!(
            (ada.account_id, ada.inbound_topic_id, ada.outbound_topic_id),
            (None, None, None)
        );
        office.turn();
    });
}

#[test]
fn a_network_that_was_begun_anew_is_told_and_begun_anew_with() {
    both(|mut office| {
        for name in ["ada", "ben"] {
            office.add(name);
            office.provision(name, false);
        }
        let send = |office: &Office, subject: &str| {
            office.world.advance_ms(1);
            let request = Send {
                to: vec!["ben".parse().unwrap()],
                subject: Some(subject.into()),
                ..Send::default()
            };
            request.run(&office.inbox, &by("ada")).unwrap();
        };
        send(&office, "one");
        office.turn();
        let records = |office: &Office| office.inbox.ledger_standing().unwrap().records;
        assert_eq!(records(&office).len(), 1);

        office.stage = Stage::new();
        send(&office, "two");
        office.turn();
        let stuck = office.inbox.stuck(10).unwrap();
        assert!(stuck[0].problem.contains("begun anew"), "{stuck:?}");
        let provisioner = provisioner(&office.stage);
        let ada = office.agent("ada");
        let why = refused(
            provisioner.provision(&mut office.keys(), &ada),
            Code::AccountNotFound,
        );
        assert!(why.contains("begun anew"), "{why}");

        office.inbox.begin_ledger_anew().unwrap();
        for name in ["ada", "ben"] {
            assert_eq!(office.agent(name).account_id, None);
            office.provision(name, true);
        }
        office.world.advance_ms(1_000_000);
        office.turn();
        let standing = office.inbox.ledger_standing().unwrap();
        assert_eq!(standing.backlog.count, 0, "{standing:?}");
        assert_eq!(records(&office).len(), 1, "what waited is there");
        // What is there stays as it is.
        let account = office.agent("ada").account_id;
        office.provision("ada", true);
        assert_eq!(office.agent("ada").account_id, account);
    });
}
