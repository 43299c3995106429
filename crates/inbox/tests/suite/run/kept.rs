//! A command lives no longer than its runner and its lease, and uses no more than it may.

use rustix::process::Signal;
use serde_json::json;

use super::{Ground, eventually, is_alive, text};
use inbox_testkit::sandbox::words;

/// An agent that starts what is hard to get rid of: a child, one in a session of its own, and one whose parent is gone.
/// None of them minds being asked to end.
const STUBBORN: &str = "trap '' TERM
sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 0.1; done' &
setsid sh -c 'trap \"\" TERM; echo $$ > session; while :; do sleep 0.1; done' &
sh -c 'setsid sh -c \"trap : TERM; echo \\$\\$ > orphan; while :; do sleep 0.1; done\" > /dev/null 2>&1 &' &
echo $$ > agent
while :; do sleep 0.1; done
";

fn all(ground: &Ground) -> Vec<String> {
    ["child", "session", "orphan", "agent"]
        .map(|name| ground.written(name))
        .to_vec()
}

#[test]
fn nothing_outlives_a_runner_that_is_killed() {
    // So long that the end of the lease can be no help.
    let ground = Ground::with(&[("lease_seconds", "3600")]);
    let thread = ground.send("Long");
    let runner = ground.start("--once", STUBBORN);
    let pids = all(&ground);
    assert!(pids.iter().all(|pid| is_alive(pid)));
    runner.signal(Signal::KILL);
    eventually("nothing is left", || {
        pids.iter().all(|pid| !is_alive(pid)).then_some(())
    });
    let held = ground
        .inbox
        .run(words(&format!("claim --agent quinn --thread {thread}")));
    held.refused(20, "lease_conflict");
}

#[test]
fn the_thread_of_a_killed_runner_comes_back_and_another_finishes_it() {
    let ground = Ground::with(&[("lease_seconds", "3")]);
    let thread = ground.send("Long");
    let script = "echo $$ > pid; [ -e again ] && echo second && exit 0; sleep 1000\n";
    let runner = ground.start("--once", script);
    ground.written("pid");
    // Who waits for work is not told when a lease ends, and finds it all the same.
    let other = ground.start("--once", script);
    ground.touch("again");
    runner.signal(Signal::KILL);
    assert_eq!(other.ends(), 0);
    assert_eq!(ground.status(&thread), "done");
    assert_eq!(ground.show(&thread)["thread"]["attempts"], 2);
}

#[test]
fn a_runner_that_stands_still_loses_its_command_before_its_lease() {
    let ground = Ground::with(&[("lease_seconds", "3")]);
    let thread = ground.send("Long");
    let runner = ground.start("--once", STUBBORN);
    let pids = all(&ground);
    runner.signal(Signal::STOP);
    // Whoever can take the thread finds nobody working on it.
    let taken = eventually("the lease runs out", || {
        let alive = pids.iter().any(|pid| is_alive(pid));
        let line = format!("claim --agent quinn --thread {thread} --lease-seconds 600");
        let claimed = ground.inbox.run(words(&line));
        (claimed.code == 0).then(|| (claimed.json(), alive))
    });
    assert!(!pids.iter().any(|pid| is_alive(pid)));
    assert!(!taken.1, "the command lived as long as the lease");
    runner.signal(Signal::CONT);
    assert_eq!(runner.ends(), 0);
    // The one that came back wrote nothing.
    assert_eq!(ground.status(&thread), "claimed");
    assert_eq!(
        ground.show(&thread)["messages"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn a_lease_is_renewed_for_as_long_as_the_command_runs() {
    let ground = Ground::with(&[("lease_seconds", "3")]);
    let thread = ground.send("Long");
    let script = "while [ ! -e go ]; do sleep 0.02; done; echo end\n";
    let runner = ground.start("--once", script);
    let mut ends = std::collections::BTreeSet::new();
    eventually("it is renewed four times", || {
        ends.insert(ground.show(&thread)["lease"]["expires_at"].to_string());
        (ends.len() > 4).then_some(())
    });
    ground.touch("go");
    assert_eq!(runner.ends(), 0);
    assert_eq!(ground.status(&thread), "done");
}

#[test]
fn a_command_that_never_ends_is_stopped_and_its_thread_has_failed() {
    // There is no shorter time to set. Nothing is asserted about how long it takes.
    let ground = Ground::with(&[("timeout_minutes", "1")]);
    let thread = ground.send("For ever");
    let mut runner = ground.start("--once", STUBBORN);
    let pids = all(&ground);
    let deadline = std::time::Instant::now() + super::NEVER * 2;
    let mut ended = None;
    while ended.is_none() && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(100));
        ended = runner.0.try_wait().ok().flatten();
    }
    assert!(ended.is_some_and(|ended| ended.success()), "{ended:?}");
    assert_eq!(ground.status(&thread), "failed");
    let summary = text(&ground.last(&thread)["summary"]);
    assert!(summary.contains("run.timeout_minutes"), "{summary}");
    assert!(!pids.iter().any(|pid| is_alive(pid)));
}

/// How many processes work in a folder.
fn at_work(ground: &Ground) -> usize {
    let here = ground.folder().display().to_string();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let is_here = |entry: &std::fs::DirEntry| {
        let folder = std::fs::read_link(entry.path().join("cwd"));
        folder.is_ok_and(|folder| folder.display().to_string() == here)
    };
    all.filter(is_here).count()
}

/// A bomb that doubles, and each of whose parts leaves its group and its parent behind. Its tenth generation is its last, so
/// that it has an end where nothing holds it.
const BOMB: &str = "echo >> born
[ \"$1\" -ge 10 ] && exec sleep 987
setsid sh bomb.sh $(($1 + 1)) &
setsid sh bomb.sh $(($1 + 1)) &
";

#[test]
fn a_bomb_of_processes_stays_inside() {
    for script in [
        // Each leaves the group, and there are more than the guardian sees at once.
        "n=0; while [ $n -lt 400 ]; do setsid sleep 987 & n=$((n+1)); done; wait\n",
        "sh bomb.sh 0; while :; do sleep 1; done\n",
    ] {
        let ground = Ground::with(&[("processes", "30")]);
        let thread = ground.send("Bomb");
        std::fs::write(ground.folder().join("bomb.sh"), BOMB).unwrap();
        assert_eq!(ground.run("--once", script).code, 0);
        assert_eq!(ground.status(&thread), "failed");
        let summary = text(&ground.last(&thread)["summary"]);
        assert!(summary.contains("run.processes"), "{summary}");
        assert_eq!(at_work(&ground), 0);
    }
}

#[test]
fn a_bomb_goes_with_its_runner() {
    let ground = Ground::with(&[("processes", "0"), ("lease_seconds", "3600")]);
    ground.send("Bomb");
    std::fs::write(ground.folder().join("bomb.sh"), BOMB).unwrap();
    let runner = ground.start("--once", "sh bomb.sh 2; while :; do sleep 1; done\n");
    // In the midst of it.
    eventually("it grows", || {
        let born = std::fs::read_to_string(ground.folder().join("born"));
        (born.unwrap_or_default().len() > 40).then_some(())
    });
    runner.signal(Signal::KILL);
    drop(runner);
    eventually("nothing is left", || (at_work(&ground) == 0).then_some(()));
}

#[test]
fn a_command_has_a_wall_of_processes_far_behind_its_limit() {
    for (processes, has_wall) in [("30", true), ("0", false)] {
        let ground = Ground::with(&[("processes", processes)]);
        let thread = ground.send("Look");
        let script = "cat > /dev/null; grep 'Max processes' /proc/self/limits\n";
        assert_eq!(ground.run("--once", script).code, 0);
        let body = text(&ground.last(&thread)["body"]);
        let number = |line: &str| {
            let word = line.split_whitespace().nth(2).unwrap();
            word.parse::<u64>().unwrap_or(u64::MAX)
        };
        let own = std::fs::read_to_string("/proc/self/limits").unwrap();
        let own = own.lines().find(|line| line.starts_with("Max processes"));
        let (most, own) = (number(&body), number(own.unwrap()));
        if has_wall {
            assert!((16 * 30..own).contains(&most), "{body}");
        } else {
            assert_eq!(most, own);
        }
    }
}

#[test]
fn memory_and_output_have_their_limits() {
    for (setting, script, named) in [
        (
            "memory_mb",
            "(head -c 100000000 /dev/zero; sleep 100) | tail -c 100000000 > /dev/null\n",
            "run.memory_mb",
        ),
        (
            "output_kb",
            "while :; do echo 0123456789012345678901234567890123456789; done\n",
            "KiB",
        ),
    ] {
        let ground = Ground::with(&[(setting, "64")]);
        let thread = ground.send("Much");
        assert_eq!(ground.run("--once", script).code, 0);
        let last = ground.last(&thread);
        assert_eq!(ground.status(&thread), "failed", "{last}");
        assert!(text(&last["summary"]).contains(named), "{last}");
    }
}

#[test]
fn a_command_that_never_stops_talking_takes_no_memory_of_the_runner() {
    let ground = Ground::with(&[("output_kb", "64")]);
    let thread = ground.send("Much");
    // It does not mind being told to end, and says gigabytes until it is killed.
    let script = "trap '' TERM\nyes \"$(head -c 60000 /dev/zero | tr '\\0' x)\"\n";
    let runner = ground.start("", script);
    eventually("the thread has failed", || {
        (ground.status(&thread) == "failed").then_some(())
    });
    let status = std::fs::read_to_string(format!("/proc/{}/status", runner.0.id())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .expect("the kernel says how much it took");
    assert!(peak < 150_000, "{peak} KB");
}

#[test]
fn each_thread_may_have_a_worktree_of_its_own() {
    let ground = Ground::with(&[("worktrees", "trees")]);
    let git = |args: &[&str]| {
        let ran = std::process::Command::new("git")
            .args(["-c", "user.name=x", "-c", "user.email=x@example.org"])
            .args(args)
            .current_dir(ground.folder())
            .output()
            .expect("git is there");
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let threads = [ground.send("One"), ground.send("Two")];
    let script = "cat > /dev/null; pwd; git rev-parse --abbrev-ref HEAD\n";
    assert_eq!(ground.run("--drain", script).code, 0);
    for thread in &threads {
        let body = text(&ground.last(thread)["body"]);
        assert!(
            body.contains(&format!("trees/{thread}\ninbox/{thread}")),
            "{body}"
        );
    }
    // A branch whose folder is gone is taken up again.
    let third = ground.send("Three");
    git(&["branch", &format!("inbox/{third}")]);
    assert_eq!(ground.run("--drain", script).code, 0);
    assert_eq!(ground.status(&third), "done");
}

#[test]
fn a_brief_works_only_inside_the_configured_roots() {
    let mut ground = Ground::new();
    let root = ground.folder().join("trees");
    std::fs::create_dir_all(root.join("api")).unwrap();
    let roots = json!([root]).to_string();
    ground.inbox.set("INBOX_RUN_ROOTS", &roots);
    let contract = json!({ "type": "message" });
    let inside = json!({ "worktree_path": root.join("api") });
    let thread = ground.brief(contract.clone(), inside);
    assert_eq!(ground.run("--once", "pwd\n").code, 0);
    let body = text(&ground.last(&thread)["body"]);
    assert!(body.ends_with("trees/api"), "{body}");

    let outside = json!({ "worktree_path": root.join("..") .join("..") });
    let thread = ground.brief(contract, outside);
    assert_eq!(ground.run("--drain", "touch ran\n").code, 0);
    assert_eq!(ground.status(&thread), "blocked");
    let blocked = ground.last(&thread);
    assert_eq!(
        blocked["payload_json"]["payload"]["blocker_type"],
        "resource"
    );
    assert!(text(&blocked["summary"]).contains("run.roots"), "{blocked}");
    assert!(!ground.folder().join("ran").exists());
}
