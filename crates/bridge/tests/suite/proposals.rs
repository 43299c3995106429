//! Transactions that one proposes and another signs.

use inbox_bridge::agent::{Transfer, What, describe};
use inbox_bridge::{Hbar, peer};
use inbox_core::Code;
use inbox_hcs::{Content, Envelope};
use inbox_hedera::key::{Algorithm, PrivateKey};
use inbox_hedera::proto::{Key, Schedulable, SchedulableBody, TopicId, UpdateTopicBody};

use crate::stage::{Player, Stage, hbar, refused};

fn balance(player: &Player) -> i64 {
    let found = peer::account(player.net.mirror(), player.me.account);
    found.unwrap().balance
}

fn transfer(from: &Player, to: &Player, amount: Hbar) -> Transfer {
    Transfer {
        from: from.me.account,
        to: to.me.account,
        amount,
    }
}

#[test]
fn a_proposal_is_shown_by_its_bytes_and_carried_out_when_it_is_signed() {
    let stage = Stage::new();
    let (ada, ben, topic) = stage.connected();
    let wanted = transfer(&ben, &ada, hbar("3"));
    let said = Some("a small favour".to_owned());
    let (schedule, sequence) = ada.agent().propose(topic, wanted, said).unwrap();
    let proposal = ben.agent().proposal(topic, sequence).unwrap();
    assert_eq!(proposal.schedule, schedule);
    assert_eq!(proposal.said, "a small favour");
    let (a, b) = (ada.me.account, ben.me.account);
    let does = [format!("{b} gives 3 ℏ"), format!("{a} gets 3 ℏ")];
    assert_eq!(proposal.does, does);
    let before = balance(&ada);
    let approved = ben.agent().approve(proposal).unwrap();
    assert!(approved.is_executed);
    assert!(balance(&ada) > before + hbar("2.5").tinybars());
    let again = ben.agent().proposal(topic, sequence).unwrap();
    refused(ben.agent().approve(again), Code::AlreadyExists);
}

#[test]
fn who_rejects_a_proposal_says_so_and_signs_nothing() {
    let stage = Stage::new();
    let (ada, ben, topic) = stage.connected();
    let wanted = transfer(&ben, &ada, hbar("3"));
    let (schedule, sequence) = ada.agent().propose(topic, wanted, None).unwrap();
    let proposal = ben.agent().proposal(topic, sequence).unwrap();
    ben.agent().reject(&proposal, "too much").unwrap();
    let lines = ada.agent().read(topic, None).unwrap();
    let What::Message(Ok(Content::Inline(text)), _) = &lines.last().unwrap().what else {
        panic!("{lines:?}");
    };
    let (envelope, _) = Envelope::read(&inbox_hcs::Data::new(text.clone())).unwrap();
    assert_eq!(envelope.message_type, "transaction.rejected");
    assert_eq!(envelope.subject, "too much");
    assert_eq!(envelope.payload["schedule_id"], schedule.to_string());
    let still = ben.agent().proposal(topic, sequence).unwrap();
    assert_eq!(still.executed_at, None);
}

#[test]
fn a_message_that_is_no_proposal_is_not_signed() {
    let stage = Stage::new();
    let (ada, ben, topic) = stage.connected();
    let mime = "text/plain".parse().unwrap();
    let (sequence, _) = ada.agent().say(topic, b"hello", &mime, None).unwrap();
    refused(ben.agent().proposal(topic, sequence), Code::MessageNotFound);
    let later = inbox_hcs::Sequence::new(99).unwrap();
    refused(ben.agent().proposal(topic, later), Code::MessageNotFound);
    let nothing = ada
        .agent()
        .propose(topic, transfer(&ben, &ada, hbar("0")), None);
    refused(nothing, Code::InvalidInput);
    // A schedule that there is not.
    let gone = "0.0.424242".parse().unwrap();
    let sequence = ada
        .agent()
        .propose_schedule(topic, gone, "sign here".into())
        .unwrap();
    refused(ben.agent().proposal(topic, sequence), Code::TopicNotFound);
}

#[test]
fn who_signs_a_change_of_keys_sees_all_of_it() {
    let key = Key::from(
        &PrivateKey::generate(Algorithm::Ed25519)
            .unwrap()
            .public()
            .unwrap(),
    );
    let body = SchedulableBody {
        data: Some(Schedulable::UpdateTopic(UpdateTopicBody {
            topic_id: Some(TopicId::of(1_234)),
            submit_key: Some(key.clone()),
            ..UpdateTopicBody::default()
        })),
        ..SchedulableBody::default()
    };
    let lines = describe(&body);
    assert_eq!(lines[0], "change topic 0.0.1234");
    assert!(lines[1].contains(&format!("{key:?}")), "{lines:?}");
}
