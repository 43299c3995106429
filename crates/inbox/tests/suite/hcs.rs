//! `inbox hcs …` on a devnet of its own: what a person and a script see.

mod provision;
mod rewound;

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use inbox_testkit::sandbox::{Outcome, Sandbox, words};
use serde_json::{Value, json};

use crate::INBOX;

/// A network of its own, and a folder whose commands go there.
pub(crate) struct Place {
    pub(crate) inbox: Sandbox,
    devnet: Child,
}

impl Place {
    pub(crate) fn new() -> Self {
        let mut inbox = Sandbox::empty(INBOX);
        let anywhere = "devnet --node 127.0.0.1:0 --mirror 127.0.0.1:0 --rest 127.0.0.1:0";
        let mut devnet = inbox
            .command(words(anywhere))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(devnet.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(ready["ok"], true, "{ready}");
        // As the official SDKs read it.
        let network = json!({
            "network": { ready["node"].as_str().unwrap(): "0.0.3" },
            "mirrorNetwork": [ready["mirror"]],
            "mirrorRest": ready["rest"],
        });
        let path = inbox.folder().join("network.json");
        std::fs::write(&path, network.to_string()).unwrap();
        inbox.set("INBOX_HEDERA_NETWORK", path.to_str().unwrap());
        Place { inbox, devnet }
    }

    pub(crate) fn run(&self, line: &str) -> Outcome {
        let line = line.split_whitespace().map(|word| word.replace('~', " "));
        self.inbox.run(["hcs".to_owned()].into_iter().chain(line))
    }

    #[track_caller]
    pub(crate) fn ok(&self, line: &str) -> Value {
        self.run(&format!("{line} --json")).ok()
    }

    #[track_caller]
    fn refused(&self, line: &str, exit: i32, code: &str) -> String {
        let error = self.run(&format!("{line} --json")).refused(exit, code);
        error["error"]["message"].as_str().unwrap().to_owned()
    }

    /// Two agents, and the topic of their connection.
    pub(crate) fn connected(&self) -> String {
        for name in ["ada", "ben"] {
            self.ok(&format!("account create {name}"));
            self.ok(&format!("profile publish --agent {name}"));
        }
        let asked = self.ok("connect ben --agent ada");
        let accepted = self.ok(&format!("accept {} --agent ben", asked["request_id"]));
        accepted["topic_id"].as_str().unwrap().to_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.devnet.kill();
        let _ = self.devnet.wait();
    }
}

#[test]
fn a_key_is_printed_to_nobody_who_did_not_ask() {
    let place = Place::new();
    let made = place.run("account create ada");
    assert_eq!(made.code, 0, "{made}");
    let revealed = place.ok("account reveal ada");
    let key = revealed["private_key"].as_str().unwrap();
    let mut said = made.stdout + &made.stderr;
    for line in [
        "account list",
        "account show ada",
        "account create ada",
        "profile publish --agent ada",
        "profile show ada",
        "topic write 0.0.999999 hello --agent ada",
    ] {
        for json in ["", " --json"] {
            let outcome = place.run(&format!("{line}{json}"));
            said.push_str(&outcome.stdout);
            said.push_str(&outcome.stderr);
        }
    }
    assert!(!said.contains(&key[32..]), "{said}");
    let path = place.inbox.folder().join(".agents/hedera.keys");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn two_agents_meet_talk_and_part_by_commands() {
    let place = Place::new();
    place.ok("account create ada");
    place.ok("account create ben --ecdsa --hbar 50");
    let published = place.ok("profile publish --agent ada --bio counts~things");
    assert_eq!(published["profile"]["bio"], "counts things");
    // A second time nothing is made anew but the profile.
    let again = place.ok("profile publish --agent ada");
    assert_eq!(again["inbound_topic_id"], published["inbound_topic_id"]);
    place.ok("profile publish --agent ben --inbound fee --fee 2");
    place.ok("registry create --agent ada");
    place.ok("register --agent ada");
    place.ok("register --agent ben --memo works~too");
    let listed = place.ok("registry");
    assert_eq!(listed["entries"].as_array().unwrap().len(), 2);

    let why = place.refused("connect ben --agent ada", 30, "not_allowed");
    assert!(why.contains("2 ℏ"), "{why}");
    let asked = place.ok("connect ben --agent ada --max-fee 2");
    assert_eq!(asked["request_id"], 1);
    place.refused("connect ben --agent ada --max-fee 2", 20, "already_exists");
    let topic = place.ok("accept 1 --agent ben")["topic_id"].clone();
    let topic = topic.as_str().unwrap();
    place.ok(&format!("say {topic} hello~ben --agent ada"));
    let large: String = (0..1_500_u64)
        .map(|n| format!("{:x}", n * n * 7_919))
        .collect();
    std::fs::write(place.inbox.folder().join("large.txt"), &large).unwrap();
    let said = place.ok(&format!("say {topic} --file large.txt --agent ben"));
    assert!(said["file_topic_id"].is_string(), "{said}");
    let heard = place.ok(&format!("read {topic} --agent ada"));
    let texts = heard["messages"].as_array().unwrap().iter();
    let texts: Vec<_> = texts
        .map(|message| message["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["hello ben", large.as_str()]);

    let proposed = place.ok(&format!("propose {topic} --transfer ben:ada:3 --agent ada"));
    let number = &proposed["sequence_number"];
    let asked = place.run(&format!("approve {topic} {number} --agent ben --json"));
    let refusal = asked.refused(30, "invalid_input");
    assert_eq!(
        refusal["error"]["details"]["proposal"]["does"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let signed = place.ok(&format!("approve {topic} {number} --agent ben --yes"));
    assert_eq!(signed["executed"], true);

    place.ok(&format!("close {topic} --agent ada --reason all~said"));
    place.refused(
        &format!("say {topic} late --agent ben"),
        30,
        "invalid_transition",
    );
    let connections = place.ok("connections --agent ben");
    assert_eq!(connections["connections"][0]["state"], "closed");
    let inspected = place.ok(&format!("inspect {topic}"));
    let kinds = inspected["messages"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds
        .map(|message| message["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["message", "message", "transaction", "close_connection"]
    );
    let verified = place.ok(&format!("verify {topic}"));
    assert_eq!(verified["messages"], 4);
    place.ok("deregister --agent ben");
    assert_eq!(place.ok("registry")["entries"].as_array().unwrap().len(), 1);
}

#[test]
fn a_request_that_was_refused_is_out_of_sight_and_the_other_knows_why() {
    let place = Place::new();
    for name in ["ada", "ben"] {
        place.ok(&format!("account create {name}"));
        place.ok(&format!("profile publish --agent {name}"));
    }
    place.ok("connect ben --agent ada");
    place.ok("refuse 1 --agent ben --reason not~today");
    let seen = place.ok("connections --agent ada");
    assert_eq!(seen["connections"][0]["state"], "refused");
    assert_eq!(seen["connections"][0]["reason"], "not today");
    assert_eq!(
        place.ok("connections --agent ben")["connections"],
        json!([])
    );
    let all = place.ok("connections --agent ben --all");
    assert_eq!(all["connections"][0]["state"], "refused");
}

#[test]
fn an_account_from_the_environment_needs_no_file() {
    let mut place = Place::new();
    let made = place.ok("account create ada");
    let account = made["account"]["account_id"].as_str().unwrap().to_owned();
    place.ok("profile publish --agent ada");
    let key = place.ok("account reveal ada")["private_key"]
        .as_str()
        .unwrap()
        .to_owned();
    std::fs::remove_dir_all(place.inbox.folder().join(".agents")).unwrap();
    place.inbox.set("INBOX_HEDERA_ACCOUNT", &account);
    let why = place.refused("connections", 30, "invalid_input");
    assert!(why.contains("INBOX_HEDERA_KEY"), "{why}");
    place.inbox.set("INBOX_HEDERA_KEY", &key);
    // Its topics are found by its own profile.
    assert_eq!(place.ok("connections")["connections"], json!([]));
    std::fs::write(place.inbox.folder().join("a.key"), &key).unwrap();
    place.inbox.set("INBOX_HEDERA_KEY", "");
    place.inbox.set("INBOX_HEDERA_ACCOUNT", "");
    place.refused(
        "account import eve --account 0.0.2 --key-file a.key",
        30,
        "not_allowed",
    );
    place.ok(&format!(
        "account import eve --account {account} --key-file a.key"
    ));
    assert_eq!(
        place.ok("connections --agent eve")["connections"],
        json!([])
    );
}

#[test]
fn files_and_plain_topics_by_commands() {
    let place = Place::new();
    place.ok("account create ada");
    let folder = place.inbox.folder();
    std::fs::write(folder.join("a.json"), "{\"a\": 1}").unwrap();
    let put = place.ok("file put a.json --agent ada");
    let topic = put["topic_id"].as_str().unwrap();
    assert_eq!(put["media_type"], "application/json");
    let got = place.run(&format!("file get {topic}"));
    assert_eq!((got.code, got.stdout.as_str()), (0, "{\"a\": 1}"));
    place.ok(&format!("file get {topic} --to b.json"));
    assert_eq!(std::fs::read(folder.join("b.json")).unwrap(), b"{\"a\": 1}");
    place.refused(
        &format!("file get {topic} --to b.json"),
        20,
        "already_exists",
    );

    let made = place.ok("topic create --memo notes --private --agent ada");
    let topic = made["topic_id"].as_str().unwrap().to_owned();
    place.ok("account create ben");
    place.refused(
        &format!("topic write {topic} hello --agent ben"),
        30,
        "not_allowed",
    );
    std::fs::write(folder.join("long.txt"), "x".repeat(2_500)).unwrap();
    let written = place.ok(&format!("topic write {topic} --file long.txt --agent ada"));
    assert_eq!(written["sequence_number"], 3);
    let inspected = place.ok(&format!("inspect {topic}"));
    assert_eq!(inspected["messages"].as_array().unwrap().len(), 1);
    assert_eq!(inspected["messages"][0]["bytes"], 2_500);
    assert_eq!(place.ok(&format!("verify {topic}"))["messages"], 3);
    place.ok(&format!("topic update {topic} --memo other --agent ada"));
    assert_eq!(
        place.ok(&format!("topic show {topic}"))["topic"]["memo"],
        "other"
    );
    place.ok(&format!("topic delete {topic} --agent ada"));
    place.refused(
        &format!("topic write {topic} hello --agent ada"),
        40,
        "topic_not_found",
    );
    place.refused("inspect 0.0.999999", 40, "topic_not_found");
    place.refused("inspect 0.0.x", 30, "invalid_input");
    place.refused("account show nobody", 30, "invalid_input");
    place.refused("account show 0.0.999999", 40, "account_not_found");
    place.refused("inspect 0.0.5 --network nowhere", 30, "invalid_input");
}

#[test]
fn proposals_are_rejected_aloud_and_dismissed_in_silence() {
    let place = Place::new();
    let topic = place.connected();
    place.ok(&format!("propose {topic} --transfer ben:ada:3 --agent ada"));
    place.ok(&format!("dismiss {topic} 1 --agent ben"));
    assert_eq!(place.ok(&format!("verify {topic}"))["messages"], 1);
    place.ok(&format!("reject {topic} 1 --agent ben --reason too~much"));
    let heard = place.ok(&format!("read {topic} --agent ada"));
    let last = heard["messages"].as_array().unwrap().last().unwrap();
    assert!(
        last["text"].as_str().unwrap().contains("too much"),
        "{last}"
    );
}

#[test]
fn without_a_network_a_command_says_so() {
    let mut place = Place::new();
    place.ok("account create ada");
    let network = place.inbox.folder().join("network.json");
    let mut value: Value =
        serde_json::from_str(&std::fs::read_to_string(&network).unwrap()).unwrap();
    value["mirrorRest"] = json!("http://127.0.0.1:9");
    std::fs::write(&network, value.to_string()).unwrap();
    let error = place.run("inspect 0.0.5 --json").refused(50, "ledger");
    assert!(
        error["error"]["hint"]
            .as_str()
            .unwrap()
            .starts_with("inbox devnet"),
        "{error}"
    );
    place.inbox.set("INBOX_HEDERA_NETWORK", "");
}

#[test]
fn mail_between_two_agents_of_a_store_goes_through_their_topics() {
    let mut place = Place::new();
    let network = place.inbox.folder().join("network.json");
    place.inbox.ok("init");
    for name in ["ada", "ben"] {
        place.ok(&format!("account create {name}"));
        let published = place.ok(&format!("profile publish --agent {name}"));
        let text = |key: &str| published[key].as_str().unwrap().to_owned();
        place.inbox.ok(&format!(
            "agent add {name} --account-id {} --inbound-topic-id {} --outbound-topic-id {}",
            text("account_id"),
            text("inbound_topic_id"),
            text("outbound_topic_id")
        ));
    }
    let unset = place.inbox.run(words("bridge --once"));
    unset.refused(30, "invalid_input");
    place
        .inbox
        .set("INBOX_LEDGER_NETWORK", network.to_str().unwrap());
    let sent = place
        .inbox
        .ok("send --from ada --to ben --subject Later --kind event");
    let urgent = place
        .inbox
        .ok("send --from ada --to ben --subject Now --kind event --priority urgent");
    assert!(sent["message"]["message_id"].is_string() && urgent["ok"] == true);
    let subjects = |place: &Place| -> Vec<String> {
        let outcome = place.inbox.run(words("read --agent ben --peek"));
        let found = outcome.json()["messages"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        found
            .iter()
            .map(|message| message["summary"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(subjects(&place), ["Now"]);
    assert_eq!(place.inbox.ok("bridge status")["backlog"]["messages"], 2);
    let done = place.inbox.ok("bridge --once");
    assert_eq!((&done["sent"], &done["taken"]), (&json!(2), &json!(2)));
    assert_eq!(subjects(&place), ["Later", "Now"]);
    let status = place.inbox.ok("bridge status");
    assert_eq!(status["backlog"]["messages"], 0);
    assert_eq!(status["records"]["confirmed"], 2);

    // One that runs on hears of it by itself, and stops when it is told to.
    let mut bridge = place.inbox.command(words("bridge")).spawn().unwrap();
    place
        .inbox
        .ok("send --from ben --to ada --subject Back --kind event");
    let begun = std::time::Instant::now();
    while place.inbox.ok("bridge status")["records"]["confirmed"] != 3 {
        assert!(
            begun.elapsed() < std::time::Duration::from_mins(1),
            "it does not come"
        );
    }
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(i32::try_from(bridge.id()).unwrap()).unwrap(),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    assert!(bridge.wait().unwrap().success());
}
