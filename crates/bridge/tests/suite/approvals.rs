//! What others want signed: asked about, decided, and followed to its end.

use inbox_bridge::agent::Transfer;
use inbox_bridge::peer;
use inbox_core::record::Millis;
use inbox_core::{AgentKind, Code, Kind, Message, ThreadId};
use inbox_hcs::{Envelope, Operation, Place, ScheduleId, TopicId};
use inbox_ops::config::{Connections, Policy, Signer};
use inbox_ops::ledger::Seen;
use inbox_ops::{AgentAdd, Caller, Operation as _, Reply};
use inbox_store::ProposalState;
use inbox_testkit::world::World;

use crate::house::{House, both, meeting, refused};
use crate::stage::{Player, hbar};

/// An agent outside that is connected with Ben.
fn connected(house: &House) -> (Player, TopicId) {
    let ada = house.stage.player("Ada");
    ada.agent().connect(house.ben.me.account, None).unwrap();
    house.settle();
    let row = house.connection();
    house.read("ben");
    (ada, row.topic.unwrap().parse().unwrap())
}

fn balance(player: &Player) -> i64 {
    let found = peer::account(player.net.mirror(), player.me.account);
    found.unwrap().balance
}

/// Requires that a player has got so much once, of which it paid the network's fee.
#[track_caller]
fn must_have_got(player: &Player, before: i64, amount: &str) {
    let (got, amount) = (balance(player) - before, hbar(amount).tinybars());
    let fee = hbar("0.01").tinybars();
    assert!(got <= amount && got > amount - fee, "{got}");
}

/// Ada wants so much of Ben, and says something else.
fn propose(house: &House, ada: &Player, topic: TopicId, amount: &str) -> ScheduleId {
    let wanted = Transfer {
        from: house.ben.me.account,
        to: ada.me.account,
        amount: hbar(amount),
    };
    let said = Some("you get 1,000 ℏ".to_owned());
    let (schedule, _) = ada.agent().propose(topic, wanted, said).unwrap();
    house.settle();
    schedule
}

/// What somebody is asked to approve.
fn asked(house: &House, name: &str) -> Message {
    let mut mail = house.read(name);
    mail.retain(|message| message.kind == Kind::Question);
    assert_eq!(mail.len(), 1, "{mail:?}");
    mail.remove(0)
}

fn state(house: &House) -> ProposalState {
    house.proposals().pop().unwrap().state
}

fn last_word(house: &House, thread: ThreadId) -> String {
    house.said(thread).pop().unwrap().2
}

#[test]
fn a_person_sees_what_the_network_would_do_and_approves_it() {
    both(&meeting(Policy::Accept), |house| {
        let (ada, topic) = connected(&house);
        let schedule = propose(&house, &ada, topic, "3");
        let question = asked(&house, "pat");
        let (a, b) = (ada.me.account, house.ben.me.account);
        for part in [
            "Ada",
            &topic.to_string(),
            &schedule.to_string(),
            &format!("{b} gives 3 ℏ"),
            &format!("{a} gets 3 ℏ"),
            "nobody has checked: \"you get 1,000 ℏ\"",
            "at most 3 ℏ",
        ] {
            assert!(question.body.contains(part), "{part}: {}", question.body);
        }
        let told = &question.payload_json;
        let sides = [(b, -3), (a, 3)].map(|(id, hbar)| {
            serde_json::json!({ "account_id": id.to_string(), "tinybars": hbar * 100_000_000 })
        });
        let parties = told["parties"].as_array().unwrap();
        assert!(sides.iter().all(|side| parties.contains(side)), "{told}");
        let ends: Millis = told["expires_at"].as_str().unwrap().parse().unwrap();
        // The network's clock is the real one.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        assert!(
            u128::try_from(ends.0).unwrap() > now.unwrap().as_millis(),
            "{ends}"
        );
        let thread = question.thread_id;
        // Neither the agent itself nor anybody else decides.
        for name in ["ben", "cleo"] {
            refused(house.answer(name, thread, "approve"), Code::NotAllowed);
        }
        refused(house.answer("pat", thread, "hm"), Code::InvalidInput);
        let before = balance(&ada);
        house.answer("pat", thread, "approve").unwrap();
        house.settle();
        assert_eq!(state(&house), ProposalState::Executed);
        must_have_got(&ada, before, "3");
        assert!(last_word(&house, thread).contains("was carried out"));
        let again = house.answer("pat", thread, "reject");
        assert!(refused(again, Code::InvalidTransition).contains("executed"));
        house.wait();
        must_have_got(&ada, before, "3");
    });
}

#[test]
fn once_a_person_is_locked_nobody_signs_without_a_passphrase() {
    both(&meeting(Policy::Accept), |house| {
        let (ada, topic) = connected(&house);
        propose(&house, &ada, topic, "3");
        let thread = asked(&house, "pat").thread_id;
        let inbox = &house.inbox;
        let (pat, nobody) = ("pat".parse().unwrap(), Caller::local(None));
        // Another person was there before, and has no lock.
        let quinn = AgentAdd {
            slug: Some("quinn".parse().unwrap()),
            kind: Some(AgentKind::Human),
            ..AgentAdd::default()
        };
        quinn.run(inbox, &nobody).unwrap();
        let passphrase = "nine brown bells";
        inbox.lock(&nobody, &pat, Some(passphrase)).unwrap();
        for name in ["pat", "quinn"] {
            refused(house.answer(name, thread, "approve"), Code::Locked);
        }
        assert_eq!(state(&house), ProposalState::Open);
        let pat = inbox.unlock(nobody, &pat, passphrase).unwrap();
        let approve = Reply {
            summary: Some("approve".into()),
            ..Reply::to(thread)
        };
        approve.run(inbox, &pat).unwrap();
        house.settle();
        assert_eq!(state(&house), ProposalState::Executed);
    });
}

#[test]
fn who_rejects_tells_the_other_and_who_dismisses_does_not() {
    both(&meeting(Policy::Accept), |house| {
        let (ada, topic) = connected(&house);
        let schedule = propose(&house, &ada, topic, "3");
        let thread = asked(&house, "pat").thread_id;
        house.answer("pat", thread, "reject: too much").unwrap();
        house.settle();
        assert_eq!(state(&house), ProposalState::Rejected);
        let said = house.operations(topic, Place::Connection);
        let Some(Operation::Message(message)) = said.last() else {
            panic!("{said:?}");
        };
        let (envelope, _) = Envelope::read(&message.data).unwrap();
        assert_eq!(envelope.message_type, "transaction.rejected");
        assert_eq!(envelope.subject, "too much");
        assert_eq!(envelope.payload["schedule_id"], schedule.to_string());

        propose(&house, &ada, topic, "4");
        let thread = asked(&house, "pat").thread_id;
        house.answer("pat", thread, "dismiss").unwrap();
        house.settle();
        house.wait();
        assert_eq!(state(&house), ProposalState::Dismissed);
        let after = house.operations(topic, Place::Connection);
        // The second proposal, and nothing else.
        assert_eq!(after.len(), said.len() + 1);
        assert_eq!(house.read("ben").len(), 0);
    });
}

#[test]
fn a_signer_decides_up_to_its_amount_and_a_person_above_it() {
    for world in [World::sqlite(), World::postgres()] {
        let signer = Signer {
            agent: "cleo".parse().unwrap(),
            kind: "transfer".to_owned(),
            max: "5".parse().unwrap(),
        };
        let house = House::with(world, meeting(Policy::Accept), vec![signer]);
        house.world.send("cleo", "nobody", "hello");
        let (ada, topic) = connected(&house);
        propose(&house, &ada, topic, "5");
        assert_eq!(house.read("pat").len(), 0);
        let thread = asked(&house, "cleo").thread_id;
        refused(house.answer("ben", thread, "approve"), Code::NotAllowed);
        let before = balance(&ada);
        house.answer("cleo", thread, "approve").unwrap();
        house.settle();
        assert_eq!(state(&house), ProposalState::Executed);
        must_have_got(&ada, before, "5");

        propose(&house, &ada, topic, "5.00000001");
        let thread = asked(&house, "pat").thread_id;
        let mail = house.read("cleo");
        assert!(mail.iter().all(|message| message.kind != Kind::Question));
        refused(house.answer("cleo", thread, "approve"), Code::NotAllowed);
        assert_eq!(state(&house), ProposalState::Open);
    }
}

#[test]
fn several_signatures_are_waited_for_and_what_ends_meanwhile_is_told() {
    both(&meeting(Policy::Accept), |house| {
        let (ada, topic) = connected(&house);
        // Gil has to sign, too.
        let gil = house.stage.player("Gil");
        let wanted = Transfer {
            from: gil.me.account,
            to: house.ben.me.account,
            amount: hbar("2"),
        };
        let (schedule, _) = ada.agent().propose(topic, wanted, None).unwrap();
        house.settle();
        let thread = asked(&house, "pat").thread_id;
        house.answer("pat", thread, "approve").unwrap();
        house.settle();
        assert_eq!(state(&house), ProposalState::Signed);
        assert!(last_word(&house, thread).contains("waits for the signatures of others"));
        sign(&gil, schedule);
        house.wait();
        assert_eq!(state(&house), ProposalState::Executed);
        assert!(last_word(&house, thread).contains("was carried out"));

        // One that is taken back cannot be approved any more.
        let schedule = propose(&house, &ada, topic, "1");
        let thread = asked(&house, "pat").thread_id;
        delete(&ada, schedule);
        let before = balance(&ada);
        house.wait();
        assert_eq!(state(&house), ProposalState::Gone);
        assert!(last_word(&house, thread).contains("was taken back"));
        refused(
            house.answer("pat", thread, "approve"),
            Code::InvalidTransition,
        );
        assert_eq!(balance(&ada), before);
    });
}

#[test]
fn what_is_no_proposal_of_a_party_is_asked_of_nobody() {
    both(&meeting(Policy::Accept), |house| {
        let (ada, topic) = connected(&house);
        // A schedule that there is not.
        let gone = "0.0.424242".parse().unwrap();
        ada.agent()
            .propose_schedule(topic, gone, "sign here".into())
            .unwrap();
        // What the agent here proposes itself.
        let own = Transfer {
            from: house.ben.me.account,
            to: ada.me.account,
            amount: hbar("1"),
        };
        house.ben.agent().propose(topic, own, None).unwrap();
        house.settle();
        assert_eq!(house.read("pat").len(), 0);
        assert_eq!(state(&house), ProposalState::Gone);
        assert_eq!(house.proposals().len(), 1);
        let told = house.read("ben");
        assert!(told[0].summary.contains("is not there"), "{told:?}");
    });
}

#[test]
fn what_cannot_be_read_cannot_be_approved() {
    both(&meeting(Policy::Accept), |house| {
        let (ada, topic) = connected(&house);
        let connection = house.connection();
        // As if the network's bytes held more than is known here.
        let store = house.inbox.store();
        let account = ada.me.account.to_string();
        store
            .write(|tx| {
                let no = connection.connection_no;
                Ok(tx.keep_proposal(no, 7, "0.0.99", &account, "harmless")?)
            })
            .unwrap();
        let mut row = house.proposals().remove(0);
        assert!(
            house
                .inbox
                .ask_about_proposal(&mut row, &connection, &Seen::default())
                .unwrap()
        );
        let question = asked(&house, "pat");
        assert!(question.body.contains("cannot be read"));
        let thread = question.thread_id;
        refused(house.answer("pat", thread, "approve"), Code::NotAllowed);
        house.answer("pat", thread, "reject").unwrap();
        house.settle();
        assert_eq!(state(&house), ProposalState::Rejected);
        assert_eq!(house.operations(topic, Place::Connection).len(), 1);
    });
}

#[test]
fn whoever_dies_while_it_signs_or_rejects_does_it_once() {
    for world in [World::sqlite(), World::postgres()] {
        let house = House::new(
            world,
            Connections {
                policy: Policy::Accept,
                ..Connections::default()
            },
        );
        let (ada, topic) = connected(&house);
        let mut die = 0;
        let before = balance(&ada);
        propose(&house, &ada, topic, "3");
        let thread = asked(&house, "pat").thread_id;
        let after_proposal = balance(&ada);
        assert!(after_proposal < before);
        house.answer("pat", thread, "approve").unwrap();
        for points in [0, 1, 0, 1, 1] {
            die += u32::from(
                house
                    .settle_with(house.bridge().dying_after(points))
                    .is_err(),
            );
            house.world.advance_ms(31_000);
        }
        house.settle();
        assert_eq!(state(&house), ProposalState::Executed);
        must_have_got(&ada, after_proposal, "3");

        propose(&house, &ada, topic, "2");
        let thread = asked(&house, "pat").thread_id;
        house.answer("pat", thread, "reject").unwrap();
        for points in [0, 1, 0, 1, 1] {
            die += u32::from(
                house
                    .settle_with(house.bridge().dying_after(points))
                    .is_err(),
            );
            house.world.advance_ms(31_000);
        }
        house.settle();
        assert_eq!(state(&house), ProposalState::Rejected);
        assert!(die > 3, "{die}");
        let said = house.operations(topic, Place::Connection);
        let rejections = said
            .iter()
            .filter(|operation| matches!(operation, Operation::Message(_)));
        assert_eq!(rejections.count(), 1);
    }
}

fn sign(player: &Player, schedule: ScheduleId) {
    use inbox_hedera::proto::{Data, ScheduleSignBody};
    let body = Data::ScheduleSign(ScheduleSignBody {
        schedule_id: Some(schedule.into()),
    });
    let asking = inbox_hedera::client::Asking::of(body);
    player.net.execute(&asking).unwrap();
}

fn delete(player: &Player, schedule: ScheduleId) {
    use inbox_hedera::proto::{Data, ScheduleDeleteBody};
    let body = Data::ScheduleDelete(ScheduleDeleteBody {
        schedule_id: Some(schedule.into()),
    });
    let asking = inbox_hedera::client::Asking::of(body);
    player.net.execute(&asking).unwrap();
}
