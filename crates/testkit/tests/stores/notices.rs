//! What people are told elsewhere, on both stores: each thing once, unless they know it already, and nothing that a death loses.

use std::collections::BTreeMap;

use inbox_core::{AgentName, Kind, Priority};
use inbox_ops::{
    About, Claim, Config, Inbox, Notice, NoticeSort, Operation, Read, Reply, Send, Update,
    UpdateStatus,
};
use inbox_testkit::world::{World, by, task, update};

const REACH: &str = "command tee 1";
const LEASE: i64 = 30_000;

fn on_each(rule: impl Fn(&World)) {
    for world in [World::sqlite(), World::postgres()] {
        rule(&world);
    }
}

fn with(world: &World, change: impl Fn(&mut Config)) -> Inbox {
    let mut config = Config::default();
    config.notify.command = vec!["tee".to_owned()];
    change(&mut config);
    world.another().with_config(config)
}

fn anna() -> AgentName {
    "anna".parse().unwrap()
}

fn say(world: &World, kind: Kind, priority: Priority, summary: &str) {
    let send = Send {
        to: vec!["anna".parse().unwrap()],
        subject: Some(summary.to_owned()),
        summary: Some(summary.to_owned()),
        kind: Some(kind),
        priority: Some(priority),
        ..Send::default()
    };
    world.call("backend", &send).unwrap();
}

fn urgent(world: &World, summary: &str) {
    say(world, Kind::Event, Priority::Urgent, summary);
}

fn take(inbox: &Inbox) -> Option<Notice> {
    inbox.gather_notices(&anna(), REACH).unwrap();
    inbox.take_notice(&anna(), REACH, LEASE).unwrap()
}

fn told(inbox: &Inbox) -> Vec<(NoticeSort, String)> {
    let mut all = Vec::new();
    while let Some(notice) = take(inbox) {
        inbox.notice_sent(&notice).unwrap();
        let what = match &notice.about {
            About::Message(message, _) => message.summary.clone(),
            About::Rest { count, .. } => count.to_string(),
            About::More(count) => count.to_string(),
            About::Nothing => String::new(),
        };
        all.push((notice.sort, what));
    }
    all
}

fn words(all: &[(NoticeSort, String)]) -> Vec<&str> {
    all.iter().map(|(_, what)| what.as_str()).collect()
}

#[test]
fn urgent_mail_and_questions_are_told_once_and_the_rest_is_not() {
    on_each(|world| {
        let inbox = with(world, |_| {});
        urgent(world, "now");
        say(world, Kind::Question, Priority::Low, "which one?");
        say(world, Kind::Event, Priority::High, "by the way");
        let all = told(&inbox);
        assert_eq!(words(&all), ["now", "which one?"]);
        assert_eq!(
            all.iter().map(|(sort, _)| *sort).collect::<Vec<_>>(),
            [NoticeSort::Urgent, NoticeSort::Question]
        );
        assert!(told(&inbox).is_empty());
        assert!(told(&with(world, |_| {})).is_empty());
    });
}

#[test]
fn a_worker_that_is_blocked_is_told_of_with_its_question() {
    on_each(|world| {
        let inbox = with(world, |_| {});
        task("backend", "the work")
            .run(world.inbox(), &by("anna"))
            .unwrap();
        let leased = world.call("backend", &Claim::default()).unwrap();
        let blocked = Update {
            status: Some(UpdateStatus::Blocked),
            summary: Some("which key?".to_owned()),
            ..update(leased.thread.unwrap().thread_id)
        };
        world.call("backend", &blocked).unwrap();
        assert_eq!(
            told(&inbox),
            [(NoticeSort::Blocked, "which key?".to_owned())]
        );
    });
}

#[test]
fn whoever_reads_or_answers_in_time_is_not_told() {
    on_each(|world| {
        let inbox = with(world, |config| config.notify.patience_seconds = 60);
        urgent(world, "is read");
        say(world, Kind::Question, Priority::Normal, "is answered");
        assert!(take(&inbox).is_none());
        let all = world.call("anna", &Read::default()).unwrap().messages;
        say(world, Kind::Question, Priority::Normal, "is answered later");
        urgent(world, "stays");
        assert!(take(&inbox).is_none());
        let peek = Read {
            peek: true,
            ..Read::default()
        };
        let later = world.call("anna", &peek).unwrap().messages;
        assert_eq!((all.len(), later.len()), (2, 2));
        // Without being read: the thread has gone on.
        let answer = Reply {
            summary: Some("this one".to_owned()),
            ..Reply::to(later[0].thread_id)
        };
        world.call("anna", &answer).unwrap();
        let next = inbox.next_notice_at(&anna(), REACH).unwrap().unwrap();
        let left = next.0 - inbox.now().unwrap().0;
        assert!((1..=60_000).contains(&left), "{left}");
        world.advance_ms(60_000);
        assert_eq!(words(&told(&inbox)), ["stays"]);
    });
}

#[test]
fn of_two_one_tells_and_what_the_dead_took_is_told_by_another_under_the_same_id() {
    on_each(|world| {
        let (one, two) = (with(world, |_| {}), with(world, |_| {}));
        urgent(world, "now");
        let first = take(&one).unwrap();
        assert!(take(&two).is_none());
        // Whoever took it has died, and nobody knows whether it was sent.
        world.advance_ms(LEASE - 1);
        assert!(take(&two).is_none());
        world.advance_ms(1);
        let again = take(&two).unwrap();
        assert_eq!(again.id, first.id);
        two.notice_sent(&again).unwrap();
        world.advance_ms(LEASE * 100);
        assert!(take(&one).is_none() && take(&two).is_none());
    });
}

#[test]
fn what_fails_waits_longer_each_time_and_is_given_up_after_a_day() {
    on_each(|world| {
        let inbox = with(world, |_| {});
        urgent(world, "now");
        let mut ids = BTreeMap::<String, usize>::new();
        let mut waited = 0;
        while let Some(next) = {
            inbox.gather_notices(&anna(), REACH).unwrap();
            inbox.next_notice_at(&anna(), REACH).unwrap()
        } {
            let left = (next.0 - inbox.now().unwrap().0).max(0);
            world.advance_ms(left);
            waited += left;
            let notice = take(&inbox).unwrap();
            *ids.entry(notice.id.clone()).or_default() += 1;
            inbox.notice_failed(&notice, "nobody is there").unwrap();
            // What comes meanwhile is not tried at once: the way is what fails.
            let (reach, _) = inbox.reaches().unwrap().remove(0);
            assert!(reach.next_at > inbox.now().unwrap());
            assert_eq!(reach.problem.as_deref(), Some("nobody is there"));
        }
        let tries: Vec<usize> = ids.into_values().collect();
        assert_eq!(tries.len(), 1);
        assert!((25..50).contains(&tries[0]), "{tries:?}");
        assert!(waited > 86_400_000, "{waited}");
        let (_, waiting) = inbox.reaches().unwrap().remove(0);
        assert_eq!((waiting.count, waiting.given_up), (0, 1));
        urgent(world, "later");
        world.advance_ms(300_000);
        assert_eq!(words(&told(&inbox)), ["later"]);
        let (reach, _) = inbox.reaches().unwrap().remove(0);
        assert_eq!((reach.problem, reach.sent), (None, 1));
    });
}

#[test]
fn too_much_in_an_hour_is_one_notice() {
    on_each(|world| {
        let inbox = with(world, |config| config.notify.at_most_per_hour = 3);
        for n in 0..10 {
            urgent(world, &format!("number {n}"));
        }
        assert_eq!(words(&told(&inbox)), ["number 0", "number 1", "number 2"]);
        world.advance_ms(3_600_000);
        assert_eq!(told(&inbox), [(NoticeSort::More, "7".to_owned())]);
        urgent(world, "after");
        assert_eq!(words(&told(&inbox)), ["after"]);
    });
}

#[test]
fn a_digest_sums_up_what_is_new_and_comes_only_then() {
    on_each(|world| {
        let inbox = with(world, |config| config.notify.digest = Some("1h".to_owned()));
        assert!(take(&inbox).is_none());
        say(world, Kind::Event, Priority::Normal, "one");
        say(world, Kind::Event, Priority::Fyi, "two");
        urgent(world, "now");
        assert_eq!(words(&told(&inbox)), ["now"]);
        world.advance_ms(3_600_000 - 1);
        assert!(take(&inbox).is_none());
        world.advance_ms(1);
        assert_eq!(told(&inbox), [(NoticeSort::Digest, "2".to_owned())]);
        // Nothing new: what is unread still was summed up.
        world.advance_ms(3_600_000);
        assert!(take(&inbox).is_none());
        say(world, Kind::Event, Priority::Normal, "three");
        world.advance_ms(3_600_000);
        assert_eq!(told(&inbox), [(NoticeSort::Digest, "1".to_owned())]);
        say(world, Kind::Event, Priority::Normal, "four");
        world.call("anna", &Read::default()).unwrap();
        world.advance_ms(3_600_000);
        assert!(take(&inbox).is_none());
    });
}

#[test]
fn a_long_inbox_is_looked_through_page_by_page() {
    on_each(|world| {
        let inbox = with(world, |_| {});
        for n in 0..250 {
            say(world, Kind::Event, Priority::Normal, &format!("number {n}"));
        }
        urgent(world, "now");
        assert_eq!(words(&told(&inbox)), ["now"]);
    });
}
