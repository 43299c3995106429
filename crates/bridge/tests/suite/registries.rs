//! Lists of agents.

use inbox_bridge::{Fees, registry};
use inbox_core::Code;
use inbox_hcs::{Operation, Register};

use crate::stage::{Stage, hbar, refused};

#[test]
fn an_agent_is_listed_by_its_own_word_and_leaves_by_it() {
    let stage = Stage::new();
    let (ada, ben) = (stage.player("Ada"), stage.player("Ben"));
    let topic = registry::create(&ada.net, None).unwrap();
    let none = hbar("0");
    registry::register(&ben.net, topic, Some("a remark".into()), none).unwrap();
    let twice = registry::register(&ben.net, topic, None, none);
    refused(twice, Code::AlreadyExists);
    // What another says of an agent is kept and not believed, and does not keep it out.
    let slander = Operation::Register(Register {
        account: ada.me.account,
        memo: None,
    });
    ben.net.operate(topic, &slander, Fees::None).unwrap();
    registry::register(&ada.net, topic, None, none).unwrap();
    let listed = registry::list(ada.net.mirror(), topic).unwrap();
    let standing: Vec<_> = listed
        .directory
        .listings()
        .map(|listing| (listing.account, listing.is_verified))
        .collect();
    let (a, b) = (ada.me.account, ben.me.account);
    assert_eq!(standing, [(b, true), (a, false), (a, true)]);

    registry::deregister(&ben.net, topic, none).unwrap();
    refused(
        registry::deregister(&ben.net, topic, none),
        Code::AgentNotFound,
    );
    let listed = registry::list(ada.net.mirror(), topic).unwrap();
    assert!(listed.directory.find(b).is_none());
    assert!(listed.directory.find(a).is_some());
    let inbound = registry::list(ada.net.mirror(), ada.me.inbound_topic);
    refused(inbound, Code::InvalidInput);
}

#[test]
fn a_registry_may_take_a_fee_from_all_but_its_owner() {
    let stage = Stage::new();
    let (ada, ben) = (stage.player("Ada"), stage.player("Ben"));
    let topic = registry::create(&ada.net, Some(hbar("5"))).unwrap();
    registry::register(&ada.net, topic, None, hbar("0")).unwrap();
    let dear = registry::register(&ben.net, topic, None, hbar("4"));
    refused(dear, Code::NotAllowed);
    registry::register(&ben.net, topic, None, hbar("5")).unwrap();
}
