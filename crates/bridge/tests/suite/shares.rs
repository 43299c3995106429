//! Several bridges divide the topics; one that runs is woken by the store and by the topics' streams, and lives without them.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use inbox_bridge::Fees;
use inbox_bridge::bridge::Bridge;
use inbox_core::Priority;
use inbox_hcs::{Data, InboundMessage, Operation};
use inbox_hedera::network::Network;
use inbox_ops::Inbox;
use inbox_store::bell::{Key, PATIENCE};
use serde_json::json;

use crate::field::Field;

/// How long something may take that is waited for. Less than the minute after which a topic with a stream is looked at by itself.
const LONGEST: Duration = Duration::from_secs(40);

const MANY: [&str; 7] = ["ada", "ben", "cyd", "dan", "eli", "fay", "gus"];

fn held(inbox: &Inbox, bridge: &str) -> BTreeSet<i64> {
    let topics = inbox.ledger_topics(bridge, 30_000).unwrap();
    topics.into_iter().map(|topic| topic.topic_no).collect()
}

fn shares(is_postgres: bool) {
    let mut field = Field::new(&MANY, is_postgres);
    let inbox = field.another();
    // Each agent has two.
    assert_eq!(held(&inbox, "one").len(), 14);
    // The second has nothing until the first has seen it and given up its surplus.
    assert_eq!(held(&inbox, "two").len(), 0);
    assert_eq!(held(&inbox, "one").len(), 7);
    assert_eq!(held(&inbox, "two").len(), 7);
    assert_eq!(held(&inbox, "three").len(), 0);
    let all = |names: &[&str]| {
        let shares: Vec<_> = names.iter().map(|name| held(&inbox, name)).collect();
        let together: BTreeSet<_> = shares.iter().flatten().copied().collect();
        let sum: usize = shares.iter().map(BTreeSet::len).sum();
        assert_eq!(sum, together.len(), "no topic has two: {shares:?}");
        shares.iter().map(BTreeSet::len).collect::<Vec<_>>()
    };
    all(&["one", "two", "three"]);
    assert_eq!(all(&["one", "two", "three"]), [5, 5, 4]);
    // The first is gone: nobody has its topics while its lease lasts, and then the others have them.
    field.advance_ms(20_000);
    assert_eq!(all(&["two", "three"]), [5, 4]);
    field.advance_ms(11_000);
    all(&["two", "three"]);
    assert_eq!(all(&["two", "three"]), [7, 7]);
    // One that leaves need not be waited for.
    inbox.leave_topics("three").unwrap();
    assert_eq!(all(&["two"]), [14]);
    // One that renews while it works keeps what it has.
    for _ in 0..5 {
        field.advance_ms(20_000);
        inbox.renew_topics("two", 30_000).unwrap();
    }
    assert_eq!(held(&inbox, "four").len(), 0);
}

#[test]
fn bridges_divide_the_topics_and_one_that_dies_is_replaced() {
    shares(false);
    shares(true);
}

#[test]
fn what_another_bridge_took_over_is_said_by_nobody_else() {
    let mut field = Field::new(&["ada", "ben"], false);
    field.send("ada", "ben", "once", "", Priority::Normal);
    let inbox = field.another();
    let topics = inbox.ledger_topics("first", 30_000).unwrap();
    let ben = topics.iter().find(|topic| topic.name == "ben").unwrap();
    let mut outgoing = inbox.leaving(ben.topic_no, 1).unwrap().remove(0).outgoing;
    // It looks away for long, and another goes on.
    field.advance_ms(31_000);
    assert_eq!(held(&inbox, "second").len(), 4);
    outgoing.step_id = Some("0.0.2@1.1".into());
    assert!(!inbox.begin_outgoing(&outgoing, None, "first").unwrap());
    assert!(inbox.begin_outgoing(&outgoing, None, "second").unwrap());
    outgoing.step_id = Some("0.0.2@2.2".into());
    assert!(!inbox.begin_outgoing(&outgoing, None, "second").unwrap());
}

#[test]
fn what_becomes_of_one_message_is_not_written_down_for_the_next() {
    for is_postgres in [false, true] {
        let field = Field::new(&["ada", "ben"], is_postgres);
        field.send("ada", "ben", "first", "", Priority::Normal);
        let topic_no = field.topic("ben").topic_no;
        let mut late = field.inbox.leaving(topic_no, 1).unwrap().remove(0).outgoing;
        field.settle();
        // The topic had it before who sent it has written down that it did, and the next has its number.
        field.send("ada", "ben", "second", "", Priority::Normal);
        late.step_id = Some("0.0.2@1.1".into());
        late.sequence = Some(1);
        field.inbox.set_outgoing(&late, None).unwrap();
        field.settle();
        let mail = field.unread("ben").into_iter().map(|one| one.summary);
        let mail: Vec<_> = mail.filter(|one| one != "hello").collect();
        assert_eq!(mail, ["first", "second"]);
    }
}

#[test]
fn what_one_sender_cannot_say_holds_up_nobody_else() {
    for is_postgres in [false, true] {
        let field = Field::new(&["ada", "ben", "cyd"], is_postgres);
        // Nobody here has Cyd's key, and Cyd was first.
        field.forget_key("cyd");
        for number in 0..30 {
            field.send(
                "cyd",
                "ben",
                &format!("stuck {number}"),
                "",
                Priority::Normal,
            );
        }
        field.send("ada", "ben", "first", "", Priority::Normal);
        field.send("ada", "ben", "second", "", Priority::Normal);
        let turn = field.bridge(&field.inbox).turn().unwrap();
        assert_eq!((turn.sent, turn.taken, turn.problems), (2, 2, 1));
        let mail = field.unread("ben").into_iter().map(|one| one.summary);
        let mail: Vec<_> = mail.filter(|one| one != "hello").collect();
        assert_eq!(mail, ["first", "second"]);
    }
}

#[test]
fn the_bell_rings_for_what_is_to_be_said_and_for_nothing_else() {
    for is_postgres in [false, true] {
        let field = Field::new(&["ada", "ben"], is_postgres);
        let listening = field.another();
        let bell = listening.store().bell();
        let rings = || bell.rings(&Key::Ledger);
        // A topic that was not there before rings once: whoever is here may follow it.
        let none = rings();
        field.settle();
        assert_ne!(rings(), none);
        let before = rings();
        field.send("ada", "nobody", "not there", "", Priority::Normal);
        assert_eq!(rings(), before);
        field.send("ada", "ben", "there", "", Priority::Normal);
        assert_eq!(rings(), before + 1);
        // A bridge that works does not wake itself.
        field.settle();
        assert_eq!(rings(), before + 1);
    }
}

/// Waits until an agent has a message; the store's bell says when to look.
fn wait_for(field: &Field, name: &str, subject: &str) {
    let inbox = field.another();
    let mut bell = inbox.store().listen(&Key::Any);
    let until = Instant::now() + LONGEST;
    loop {
        bell.rearm();
        if field.unread(name).iter().any(|one| one.summary == subject) {
            return;
        }
        assert!(Instant::now() < until, "{subject} does not come");
        bell.wait(PATIENCE);
    }
}

/// A UUID of its own for each subject.
fn uid_of(subject: &str) -> String {
    // Their ends tell them apart.
    let last = subject.bytes().rev().take(6);
    let letters: String = last.map(|byte| format!("{byte:02x}")).collect();
    format!("0190c0de-0000-7000-8000-{letters:0>12}")
}

/// Has Ada write on Ben's topic from elsewhere.
fn write_from_elsewhere(field: &Field, subject: &str) {
    let wire = json!({
        "wire": "1.0", "type": "inbox", "sender": "ada", "ts": "2027-01-15T08:00:00.000Z",
        "payload": { "to_agent": "ben", "priority": 3, "message_type": "info",
            "ref_task_id": null, "subject": subject, "body": "b", "action_required": false },
        "x_uid": uid_of(subject),
    });
    let ada = &field.players["ada"];
    let operation = Operation::InboundMessage(InboundMessage {
        operator: ada.agent().operator(),
        data: Data::new(wire.to_string()),
        written_at: None,
        memo: None,
    });
    let topic = field.players["ben"].me.inbound_topic;
    ada.net.operate(topic, &operation, Fees::None).unwrap();
}

/// Runs a bridge on this network while something is done.
fn running(field: &Field, network: Network, during: impl FnOnce()) {
    let inbox = field.another();
    let mut bridge = Bridge::new(&inbox, network, field.keys()).unwrap();
    let stopper = bridge.stopper();
    std::thread::scope(|scope| {
        let ran = scope.spawn(move || {
            bridge.run(&|_| {}).unwrap();
            bridge.leave().unwrap();
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(during));
        stopper.stop();
        ran.join().unwrap();
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn a_bridge_that_runs_is_woken_by_the_store_and_by_the_topics() {
    for is_postgres in [false, true] {
        let field = Field::new(&["ada", "ben"], is_postgres);
        field.send("ada", "ben", "before", "", Priority::Normal);
        running(&field, field.stage.network.clone(), || {
            wait_for(&field, "ben", "before");
            field.send("ada", "ben", "meanwhile", "", Priority::Normal);
            wait_for(&field, "ben", "meanwhile");
            write_from_elsewhere(&field, "from elsewhere");
            wait_for(&field, "ben", "from elsewhere");
        });
        assert_eq!(held(&field.inbox, "another").len(), 4, "it left them");
    }
}

#[test]
fn a_mirror_without_streams_is_looked_at() {
    let field = Field::new(&["ada", "ben"], false);
    // Somebody is there who says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = silent.local_addr().unwrap().to_string();
    let mut network = field.stage.network.clone();
    network.stream = nobody;
    running(&field, network, || {
        field.send("ada", "ben", "first", "", Priority::Normal);
        wait_for(&field, "ben", "first");
        write_from_elsewhere(&field, "second");
        wait_for(&field, "ben", "second");
    });
}

/// A way to the mirror's streams that can be cut.
struct Way {
    at: SocketAddr,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Way {
    fn to(mirror: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let kept = Arc::clone(&open);
        std::thread::spawn(move || {
            for here in listener.incoming() {
                let (Ok(here), Ok(there)) = (here, TcpStream::connect(mirror)) else {
                    return;
                };
                for (mut from, mut to) in [
                    (here.try_clone().unwrap(), there.try_clone().unwrap()),
                    (there.try_clone().unwrap(), here.try_clone().unwrap()),
                ] {
                    std::thread::spawn(move || {
                        let mut bytes = [0; 4096];
                        while let Ok(count @ 1..) = from.read(&mut bytes) {
                            if to.write_all(&bytes[..count]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                kept.lock().unwrap().push(here);
            }
        });
        Way { at, open }
    }

    /// Cuts what there is; whoever comes again comes through.
    fn cut(&self) -> usize {
        let open = std::mem::take(&mut *self.open.lock().unwrap());
        for one in &open {
            let _ = one.shutdown(Shutdown::Both);
        }
        open.len()
    }
}

#[test]
fn the_loss_of_a_stream_is_survived() {
    let field = Field::new(&["ada", "ben"], false);
    let way = Way::to(field.stage.devnet.mirror);
    let mut network = field.stage.network.clone();
    network.stream = way.at.to_string();
    running(&field, network, || {
        write_from_elsewhere(&field, "first");
        wait_for(&field, "ben", "first");
        let mut cut = 0;
        for number in 0..3 {
            cut += way.cut();
            let subject = format!("after {number}");
            write_from_elsewhere(&field, &subject);
            wait_for(&field, "ben", &subject);
        }
        assert!(cut > 0);
    });
    assert_eq!(field.topic("ben").sequence, 4);
}
