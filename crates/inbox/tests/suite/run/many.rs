//! Many runners on one store, killed at random: each thread is finished exactly once.

use std::process::Child;
use std::time::Duration;

use super::{Ground, eventually};

/// How many of something, unless the environment says otherwise.
fn size(name: &str, usual: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(usual)
}

#[test]
fn each_thread_is_finished_exactly_once_while_runners_are_killed() {
    let ground = Ground::with(&[("lease_seconds", "6"), ("progress_seconds", "0")]);
    let (runners, threads) = (
        size("INBOX_TEST_RUNNERS", 6),
        size("INBOX_TEST_THREADS", 80),
    );
    let ids: Vec<String> = (0..threads)
        .map(|n| ground.send(&format!("Work {n}")))
        .collect();
    let script = "cat > /dev/null; echo \"$INBOX_THREAD\"\n";
    let args = ground.args("", script);
    let begin = || -> Child { ground.inbox.spawn(&args) };
    let mut crew: Vec<Child> = (0..runners).map(|_| begin()).collect();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut dice = move |end: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % end as u64).expect("a small number")
    };
    let done = || {
        let found = ground.inbox.ok("list --status done --limit 10000");
        found["threads"].as_array().map_or(0, Vec::len)
    };
    // A kill for so many threads, wherever the victim just is.
    let mut kills = 0;
    let mut last = 0;
    let mut patience = 0;
    loop {
        let now = done();
        if now == threads {
            break;
        }
        patience = if now == last { patience + 1 } else { 0 };
        last = now;
        assert!(patience < 400, "{now} of {threads} were done, and no more");
        if kills < runners * 2 && now * runners * 2 >= kills * threads {
            let victim = dice(crew.len());
            let _ = crew[victim].kill();
            let _ = crew[victim].wait();
            crew[victim] = begin();
            kills += 1;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    for child in &mut crew {
        let _ = child.kill();
        let _ = child.wait();
    }
    assert!(kills > 0);
    for id in &ids {
        let shown = ground.show(id);
        let results = shown["messages"].as_array().expect("messages").iter();
        let results: Vec<_> = results
            .filter(|message| message["kind"] == "result")
            .collect();
        assert_eq!(results.len(), 1, "{id}");
        assert_eq!(results[0]["summary"], id.as_str());
    }
    eventually("nothing is left of the killed", || {
        let here = ground.folder().display().to_string();
        let mut all = std::fs::read_dir("/proc").ok()?.flatten();
        let is_left = all.any(|entry| {
            std::fs::read_link(entry.path().join("cwd"))
                .is_ok_and(|folder| folder.display().to_string() == here)
        });
        (!is_left).then_some(())
    });
}
