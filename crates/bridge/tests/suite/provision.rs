//! Agents of a roster that get their place on the ledger, however often the program dies.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use inbox_bridge::directory::{Wanted, search};
use inbox_bridge::keys::{Keys, Pending};
use inbox_bridge::provision::{Change, Moment, Provisioned, Provisioner, Watch, refresh};
use inbox_bridge::{Inbound, file, history, peer, registry};
use inbox_core::record::Millis;
use inbox_core::{Agent, AgentKind, Code};
use inbox_devnet::ledger::TREASURY_KEY;
use inbox_hcs::{AccountId, Capability, ProfileKind, TopicId};
use inbox_hedera::key::{Algorithm, PrivateKey};
use inbox_hedera::proto::CreateTopicBody;
use serde_json::{Value, json};

use crate::stage::{Stage, hbar, refused};

/// A file of keys of its own.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("inbox-provision-{}-{name}", std::process::id());
        let place = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).unwrap();
        Place(place)
    }

    fn keys(&self) -> Keys {
        Keys::open(&self.0.join("hedera.keys"), "local").unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn agent(name: &str, card: Option<Value>) -> Agent {
    Agent {
        agent_id: name.parse().unwrap(),
        kind: AgentKind::Agent,
        name: name.to_owned(),
        state: None,
        roles: Vec::new(),
        tags: Vec::new(),
        account_id: None,
        inbound_topic_id: None,
        outbound_topic_id: None,
        has_card: card.is_some(),
        persona: Some("counts things\n\nand more".to_owned()),
        card,
        created_at: Millis(0),
        seen_at: None,
        removed_at: None,
    }
}

fn card(name: &str, capabilities: &[String]) -> Value {
    json!({
        "card_version": "1.0",
        "identity": { "slug": "ada", "name": name, "reports_to": "human", "model": "m-1" },
        "scope": "Owns the counting and nothing else.",
        "capabilities": capabilities,
    })
}

pub(crate) fn provisioner(stage: &Stage) -> Provisioner<'_> {
    Provisioner {
        network: &stage.network,
        funder: Ok((
            AccountId::new(0, 0, 2).unwrap(),
            TREASURY_KEY.parse().unwrap(),
        )),
        balance: hbar("100"),
        inbound: Inbound::Public,
        registry: None,
        most: hbar("0"),
        watch: None,
        is_anew: false,
    }
}

fn said(stage: &Stage, topic: TopicId) -> usize {
    let mut count = 0;
    history::pieces(&stage.network.reader(), topic, None, |_| {
        count += 1;
        Ok(std::ops::ControlFlow::Continue(()))
    })
    .unwrap();
    count
}

/// The number that the next account or topic has, at the cost of one.
fn next_number(stage: &Stage) -> u64 {
    let topic = stage
        .treasury()
        .create_topic(CreateTopicBody::default())
        .unwrap();
    topic.number()
}

#[test]
fn an_agent_gets_all_that_it_needs_and_a_second_time_nothing() {
    let stage = Stage::new();
    let place = Place::new("twice");
    let provisioner = provisioner(&stage);
    let ada = agent("ada", None);
    let first = provisioner.provision(&mut place.keys(), &ada).unwrap();
    let all = [
        Change::Account,
        Change::Outbound,
        Change::Inbound,
        Change::Profile,
        Change::Registry,
        Change::Entry,
    ];
    assert_eq!(first.changes, all);
    let mirror = stage.network.reader();
    let memo = |topic| mirror.topic(topic).unwrap().unwrap().memo;
    let account = first.me.account;
    assert_eq!(
        memo(first.me.inbound_topic),
        format!("hcs-10:0:3600:0:{account}")
    );
    assert_eq!(memo(first.me.outbound_topic), "hcs-10:0:3600:1");
    let seen = peer::peer(&mirror, account).unwrap();
    assert_eq!(seen.reference, format!("hcs://1/{}", first.profile));
    assert_eq!(seen.profile.bio.as_deref(), Some("counts things"));
    seen.operator(&mirror).unwrap();

    let before = next_number(&stage);
    let again = provisioner.provision(&mut place.keys(), &ada).unwrap();
    assert_eq!(again.changes, []);
    assert_eq!((again.me, again.uid), (first.me, first.uid));
    assert_eq!(next_number(&stage), before + 1);
    // The next one joins the same registry, as a person.
    let mut ben = agent("ben", None);
    ben.kind = AgentKind::Human;
    let ben = provisioner.provision(&mut place.keys(), &ben).unwrap();
    assert_eq!(ben.registry, first.registry);
    assert!(!ben.changes.contains(&Change::Registry));
    let seen = peer::peer(&mirror, ben.me.account).unwrap();
    assert_eq!(seen.profile.kind, ProfileKind::Personal);

    let mut system = agent("inbox", None);
    system.kind = AgentKind::System;
    refused(
        provisioner.provision(&mut place.keys(), &system),
        Code::InvalidInput,
    );
    let mut other = agent("ada", None);
    other.account_id = Some("0.0.77".to_owned());
    refused(
        provisioner.provision(&mut place.keys(), &other),
        Code::AlreadyExists,
    );
    let mut foreign = agent("eve", None);
    foreign.account_id = Some("0.0.77".to_owned());
    refused(
        provisioner.provision(&mut place.keys(), &foreign),
        Code::AccountNotFound,
    );
}

/// What a run left on the ledger.
#[derive(Debug, PartialEq)]
struct Left {
    numbers: u64,
    messages: usize,
    entries: usize,
    unfinished: bool,
}

fn left(stage: &Stage, place: &Place, before: u64, done: &Provisioned) -> Left {
    file::get(&stage.network.reader(), done.profile).unwrap();
    let text = std::fs::read_to_string(place.0.join("hedera.keys")).unwrap();
    Left {
        numbers: next_number(stage) - before,
        messages: said(stage, done.profile),
        entries: said(stage, done.registry),
        unfinished: text.contains("pending") || text.contains("unfinished"),
    }
}

#[test]
fn killed_at_any_moment_it_goes_on_and_nothing_is_made_twice() {
    let stage = Stage::new();
    // So much that does not compress that the file has several messages.
    let phrases: Vec<String> = (1..90_u64)
        .map(|n| format!("counts {:x}", n * n * n * 7_919_777))
        .collect();
    let ada = agent("ada", Some(card("Ada", &phrases)));
    let moments = Arc::new(AtomicUsize::new(0));
    let counted: Watch = {
        let moments = Arc::clone(&moments);
        Arc::new(move |_| {
            moments.fetch_add(1, Ordering::SeqCst);
        })
    };
    let place = Place::new("clean");
    let before = next_number(&stage);
    let clean = Provisioner {
        watch: Some(counted),
        ..provisioner(&stage)
    };
    let done = clean.provision(&mut place.keys(), &ada).unwrap();
    let expected = left(&stage, &place, before, &done);
    assert!(expected.messages > 1 && expected.entries == 1 && !expected.unfinished);
    let total = moments.load(Ordering::SeqCst);
    for last in 1..=total {
        let place = Place::new(&format!("killed-{last}"));
        let before = next_number(&stage);
        let reached = Arc::new(AtomicUsize::new(0));
        let watch: Watch = Arc::new(move |moment| {
            let now = reached.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(now < last, "killed at {moment:?}");
        });
        let dying = Provisioner {
            watch: Some(watch),
            ..provisioner(&stage)
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            dying.provision(&mut place.keys(), &ada)
        }));
        assert!(outcome.is_err(), "it did not die at moment {last}");
        let done = provisioner(&stage)
            .provision(&mut place.keys(), &ada)
            .unwrap();
        assert_eq!(left(&stage, &place, before, &done), expected, "{last}");
        let again = provisioner(&stage)
            .provision(&mut place.keys(), &ada)
            .unwrap();
        assert_eq!(again.changes, [], "{last}");
    }
}

#[test]
fn a_registry_that_one_began_is_not_begun_by_the_next() {
    let stage = Stage::new();
    let (ada, ben) = (agent("ada", None), agent("ben", None));
    let place = Place::new("registry");
    let before = next_number(&stage);
    // Dies where the registry is made and kept nowhere: by then the account, two topics and the file are there.
    let made = Arc::new(AtomicUsize::new(0));
    let watch: Watch = Arc::new(move |moment| {
        let is_sent = moment == Moment::AfterReceipt;
        let count = made.fetch_add(usize::from(is_sent), Ordering::SeqCst);
        assert!(!is_sent || count < 6, "killed");
    });
    let dying = Provisioner {
        watch: Some(watch),
        ..provisioner(&stage)
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        dying.provision(&mut place.keys(), &ada)
    }));
    assert!(outcome.is_err());
    assert!(place.keys().registry_transaction().is_some());
    let second = provisioner(&stage)
        .provision(&mut place.keys(), &ben)
        .unwrap();
    let first = provisioner(&stage)
        .provision(&mut place.keys(), &ada)
        .unwrap();
    assert_eq!(first.registry, second.registry);
    // Two accounts, four topics, two files, one registry.
    assert_eq!(next_number(&stage) - before, 1 + 9);
}

#[test]
fn an_id_that_can_never_happen_is_replaced_and_a_broken_one_is_named() {
    let stage = Stage::new();
    let treasury = stage.treasury();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap().as_secs();
    let place = Place::new("ids");
    let key = PrivateKey::generate(Algorithm::Ed25519).unwrap();
    place
        .keys()
        .begin_account("ada", &key, inbox_bridge::keys::Work::default())
        .unwrap();
    let mut keys = place.keys();
    let mut work = keys.work("ada");
    work.pending = Some(Pending {
        step: "account".to_owned(),
        transaction_id: format!("{}@{}.000000007", treasury.account(), now - 400),
    });
    keys.set_work("ada", work).unwrap();
    drop(keys);
    let done = provisioner(&stage)
        .provision(&mut place.keys(), &agent("ada", None))
        .unwrap();
    let public = key.public().unwrap();
    let facts = stage.network.reader().account(done.me.account).unwrap();
    assert_eq!(facts.unwrap().key.unwrap().leaf(), Some(public));
    // A broken id is a broken file, and nothing is sent for it.
    let mut keys = place.keys();
    let mut work = keys.work("ben");
    work.pending = Some(Pending {
        step: "account".to_owned(),
        transaction_id: "0.0.2".to_owned(),
    });
    keys.begin_account("ben", &key, work).unwrap();
    drop(keys);
    let outcome = provisioner(&stage).provision(&mut place.keys(), &agent("ben", None));
    refused(outcome, Code::StoreCorrupt);
}

#[test]
fn what_no_node_remembers_is_found_on_the_mirror() {
    let stage = Stage::new();
    let place = Place::new("mirror");
    // Dies when the account is made and kept nowhere.
    let watch: Watch = Arc::new(|moment| {
        assert_ne!(moment, Moment::AfterReceipt, "killed");
    });
    let dying = Provisioner {
        watch: Some(watch),
        ..provisioner(&stage)
    };
    let ada = agent("ada", None);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        dying.provision(&mut place.keys(), &ada)
    }));
    assert!(outcome.is_err());
    let before = next_number(&stage);
    // The one who resumes has another purse: what another paid for is looked up, and no node has a receipt.
    let payer = stage.account(Algorithm::Ed25519);
    stage.devnet.faults().delay_receipts(1);
    let other = Provisioner {
        funder: Ok((payer.account(), payer.key().clone())),
        balance: hbar("50"),
        ..provisioner(&stage)
    };
    let done = other.provision(&mut place.keys(), &ada).unwrap();
    // It is the account that was made before.
    assert!(done.me.account.number() < before);
}

#[test]
fn a_new_card_is_a_new_profile_and_the_same_card_is_none() {
    let stage = Stage::new();
    let place = Place::new("card");
    let provisioner = provisioner(&stage);
    let plain = agent("ada", None);
    let first = provisioner.provision(&mut place.keys(), &plain).unwrap();
    let unchanged = refresh(&stage.network, &mut place.keys(), &plain).unwrap();
    assert_eq!(unchanged, None);
    let phrases = ["reviews Rust code".to_owned(), "summarises".to_owned()];
    let mut ada = agent("ada", Some(card("Ada Counts", &phrases)));
    ada.state = Some(inbox_core::SessionState::Alive);
    ada.tags = vec!["#numbers".to_owned()];
    let file = refresh(&stage.network, &mut place.keys(), &ada).unwrap();
    assert!(file.is_some_and(|file| file != first.profile));
    let mirror = stage.network.reader();
    let seen = peer::peer(&mirror, first.me.account).unwrap().profile;
    assert_eq!(seen.display_name, "Ada Counts");
    let ProfileKind::AiAgent(part) = &seen.kind else {
        panic!("{seen:?}");
    };
    let wanted = [Capability::CodeGeneration, Capability::Summarization];
    assert_eq!(part.capabilities, wanted);
    assert_eq!(part.model, "m-1");
    // Who goes home is still who it was.
    ada.state = None;
    ada.tags.clear();
    assert_eq!(
        refresh(&stage.network, &mut place.keys(), &ada).unwrap(),
        None
    );

    let find = |wanted: Wanted| {
        let found = search(&mirror, first.registry, &wanted, 10).unwrap();
        found.found.len()
    };
    let by_name = |name: &str| Wanted {
        name: Some(name.to_owned()),
        ..Wanted::default()
    };
    assert_eq!((find(by_name("COUNT")), find(by_name("eve"))), (1, 0));
    let can = |capability| Wanted {
        capabilities: vec![capability],
        ..Wanted::default()
    };
    assert_eq!(find(can(Capability::CodeGeneration)), 1);
    assert_eq!(find(can(Capability::FraudDetection)), 0);
    let tagged = |tag: &str| Wanted {
        tag: Some(tag.to_owned()),
        ..Wanted::default()
    };
    assert_eq!((find(tagged("#numbers")), find(tagged("#other"))), (1, 0));
}

#[test]
fn a_search_names_whom_it_passes_over_and_reads_no_more_than_it_may() {
    let stage = Stage::new();
    let ada = stage.player("Ada");
    let topic = registry::create(&ada.net, None).unwrap();
    let nobody = stage.account(Algorithm::Ed25519);
    registry::register(&nobody, topic, None, hbar("0")).unwrap();
    registry::register(&ada.net, topic, None, hbar("0")).unwrap();
    // One that calls another's topic its own.
    let thief = stage.account(Algorithm::Ed25519);
    let me = inbox_hcs::Participant {
        account: thief.account(),
        ..ada.me
    };
    inbox_bridge::publish::publish(&thief, me, crate::stage::profile("Ada")).unwrap();
    registry::register(&thief, topic, None, hbar("0")).unwrap();
    let mirror = stage.network.reader();
    let found = search(&mirror, topic, &Wanted::default(), 10).unwrap();
    let accounts: Vec<_> = found.found.iter().map(|one| one.operator.account).collect();
    assert_eq!(accounts, [ada.me.account]);
    let passed: Vec<_> = found.passed_over.iter().map(|one| one.account).collect();
    assert_eq!(passed, [nobody.account(), thief.account()]);
    let few = search(&mirror, topic, &Wanted::default(), 1).unwrap();
    assert_eq!((few.found.len(), few.left), (0, 2));
}

#[test]
fn a_registry_moves_by_its_owner_alone_and_three_times_at_most() {
    let stage = Stage::new();
    let (ada, ben) = (stage.player("Ada"), stage.player("Ben"));
    let create = || registry::create(&ada.net, None).unwrap();
    let first = create();
    let mirror = stage.network.reader();
    refused(
        registry::migrate(&ben.net, first, create(), None),
        Code::NotAllowed,
    );
    let forged = inbox_hcs::Operation::Migrate(inbox_hcs::Migrate {
        place: inbox_hcs::Place::Registry,
        topic: create(),
        memo: None,
    });
    ben.net
        .operate(first, &forged, inbox_bridge::Fees::None)
        .unwrap();
    assert_eq!(registry::list(&mirror, first).unwrap().topic, first);
    refused(
        registry::migrate(&ada.net, first, first, None),
        Code::InvalidInput,
    );
    refused(
        registry::migrate(&ada.net, first, ada.me.inbound_topic, None),
        Code::InvalidInput,
    );
    for _ in 0..3 {
        let next = create();
        registry::migrate(&ada.net, first, next, None).unwrap();
        assert_eq!(registry::list(&mirror, first).unwrap().topic, next);
    }
    refused(
        registry::migrate(&ada.net, first, create(), None),
        Code::InvalidTransition,
    );
    // Who is put on the first is on the last.
    registry::register(&ben.net, first, None, hbar("0")).unwrap();
    let listed = registry::list(&mirror, first).unwrap();
    assert!(listed.directory.find(ben.me.account).is_some());
}
