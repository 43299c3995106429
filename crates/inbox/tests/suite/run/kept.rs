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
fn nothing_outlives_a_runner_that_is_killed_and_its_thread_comes_back() {
    let ground = Ground::with(&[("lease_seconds", "12")]);
    let thread = ground.send("Long");
    let runner = ground.start("--once", STUBBORN);
    let pids = all(&ground);
    assert!(pids.iter().all(|pid| is_alive(pid)));
    runner.signal(Signal::KILL);
    eventually("nothing is left", || {
        pids.iter().all(|pid| !is_alive(pid)).then_some(())
    });
    // It did not need the lease's end for that.
    let held = ground
        .inbox
        .run(words(&format!("claim --agent quinn --thread {thread}")));
    held.refused(20, "lease_conflict");
    eventually("the thread comes back", || {
        let claimed = ground.inbox.run(words("claim --agent quinn"));
        (claimed.code == 0).then_some(())
    });
    eventually("no prompt is left behind", || {
        let here = std::fs::read_dir(std::env::temp_dir()).ok()?;
        let is_ours = |name: &str| name.starts_with("inbox-run-");
        let left = here.flatten().any(|entry| {
            is_ours(&entry.file_name().to_string_lossy())
                && std::fs::read_to_string(entry.path().join("prompt.md"))
                    .is_ok_and(|prompt| prompt.contains(&ground.folder().display().to_string()))
        });
        (!left).then_some(())
    });
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
fn a_bomb_of_processes_stays_inside() {
    let ground = Ground::with(&[("processes", "30")]);
    let thread = ground.send("Bomb");
    // Each leaves the group, and there are more than the guardian sees at once.
    let script = "n=0; while [ $n -lt 400 ]; do setsid sleep 987 & n=$((n+1)); done; wait\n";
    assert_eq!(ground.run("--once", script).code, 0);
    assert_eq!(ground.status(&thread), "failed");
    let summary = text(&ground.last(&thread)["summary"]);
    assert!(summary.contains("run.processes"), "{summary}");
    let here = ground.folder().display().to_string();
    let left = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            let folder = std::fs::read_link(entry.path().join("cwd"));
            folder.is_ok_and(|folder| folder.display().to_string() == here)
        });
    assert_eq!(left.count(), 0);
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
