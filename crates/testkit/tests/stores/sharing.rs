//! Writes that share a commit remember what those before them looked up, and nothing that is no longer so.

use inbox_core::{Auth, Code, Kind, Priority, Refusal};
use inbox_ops::{Caller, Claim, Inbox, Operation, Posted, SessionStart, Show};
use inbox_store::{Abort, NewMessage, NewThread, Tx};
use inbox_testkit::world::{World, by, task};

fn sent(inbox: &Inbox, to: &str) -> Posted {
    task(to, "please look").run(inbox, &by("lead")).unwrap()
}

fn refused() -> Abort {
    Refusal::new(Code::NotAllowed, "no").into()
}

fn open(tx: &mut Tx<'_>, agent: &str) -> Result<(), Abort> {
    let new = NewThread {
        subject: "nothing".into(),
        priority: Priority::Normal,
        run: None,
        task: None,
        entity: None,
        own: None,
    };
    let mut message = NewMessage::saying(Kind::Task, "nothing", Auth::Local);
    message.to = vec!["bob".parse()?];
    tx.open_thread(&agent.parse()?, None, new, message)?;
    Ok(())
}

#[test]
fn what_another_connection_changes_is_known_with_the_next_shared_commit() {
    let world = World::sqlite();
    let (mut shared, other) = (world.another(), world.another());
    let claim = |inbox: &Inbox| Claim::default().run(inbox, &by("bob")).unwrap();
    sent(&other, "bob");
    let taken = shared.share(|inbox| (claim(inbox), claim(inbox))).unwrap();
    assert!(taken.0.thread.is_some() && taken.1.thread.is_none());
    let session = Caller {
        session: Some("s-1".parse().unwrap()),
        ..by("bob")
    };
    let start = SessionStart {
        role: vec!["reviewer".into()],
        tag: Vec::new(),
        client: None,
    };
    start.run(&other, &session).unwrap();
    let wanted = sent(&other, "role:reviewer").thread.thread_id;
    let found = shared.share(|inbox| claim(inbox).thread).unwrap();
    assert_eq!(found.map(|thread| thread.thread_id), Some(wanted));
}

#[test]
fn nothing_is_known_of_a_write_that_was_refused() {
    let world = World::sqlite();
    let mut shared = world.another();
    let name = "newcomer".parse().unwrap();
    let made = shared
        .share(|inbox| {
            let store = inbox.store();
            let gone: Result<_, Refusal> = store.write(|tx| {
                tx.ensure_agent(&name)?;
                open(tx, "another")?;
                assert!(tx.find_agent(&name)?.is_some());
                Err::<(), _>(refused())
            });
            assert_eq!(gone.unwrap_err().code, Code::NotAllowed);
            store.write(|tx| Ok(tx.ensure_agent(&name)?)).unwrap().value
        })
        .unwrap();
    let found = world.inbox().store().read(|tx| Ok(tx.find_agent(&name)?));
    assert_eq!(found.unwrap(), Some(made));
}

#[test]
fn a_thread_that_is_opened_in_a_shared_commit_names_its_own_message() {
    let world = World::sqlite();
    let (mut shared, other) = (world.another(), world.another());
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(sent(&other, "bob"));
        let more = shared.share(|inbox| {
            let first = sent(inbox, "bob");
            let gone: Result<_, Refusal> = inbox.store().write(|tx| {
                open(tx, "lead")?;
                Err::<(), _>(refused())
            });
            assert!(gone.is_err());
            [first, sent(inbox, "bob"), sent(inbox, "bob")]
        });
        all.extend(more.unwrap());
    }
    for posted in all {
        let show = Show {
            thread: Some(posted.thread.thread_id),
            ..Show::default()
        };
        let shown = show.run(world.inbox(), &by("lead")).unwrap();
        let message = posted.message.message_id;
        assert_eq!(shown.thread.latest_message_id, Some(message));
        assert_eq!(posted.thread.latest_message_id, Some(message));
        assert_eq!(shown.messages[0].message_id, message);
    }
}
