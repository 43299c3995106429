//! The part of the story that is on the ledger: every `inbox hcs` command.

use super::player::Player;

/// Calls every command of `hcs`.
pub(super) fn tell(player: &Player<'_>) {
    let folder = player.desk.folder();
    // Accounts are paid for by the treasury of the devnet.
    let nobody = [("INBOX_HEDERA_ACCOUNT", ""), ("INBOX_HEDERA_KEY", "")];
    let text = |value: &serde_json::Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    player.ok_with("hcs provision --agent quinn", &nobody);
    for name in ["ann", "bob"] {
        player.ok_with(&format!("hcs account create {name}"), &nobody);
        player.ok(&format!("hcs profile publish --agent {name}"));
    }
    player.ok_with("hcs account fund ann 1", &nobody);
    let shown = player.ok("hcs account show ann");
    let revealed = player.ok("hcs account reveal ann");
    let key = revealed["private_key"].as_str().unwrap_or_default();
    player.ears.listen("ann's key", super::story::bare(key));
    super::story::private(&folder.join("a.key"), key);
    let account = text(&shown["account"]["account_id"]);
    player.ok(&format!(
        "hcs account import eve --account {account} --key-file a.key"
    ));
    player.ok("hcs account list");
    player.ok("hcs profile show ann");
    std::fs::write(folder.join("a.json"), "{\"a\": 1}").unwrap();
    let put = text(&player.ok("hcs file put a.json --agent ann")["topic_id"]);
    player.ok(&format!("hcs file get {put} --to b.json"));
    player.ok(&format!("hcs inspect {put}"));
    player.ok(&format!("hcs verify {put}"));
    // By the key in the environment.
    let topic = text(&player.ok("hcs topic create --memo notes")["topic_id"]);
    player.ok(&format!("hcs topic show {topic}"));
    player.ok(&format!("hcs topic write {topic} hello"));
    player.ok(&format!("hcs topic update {topic} --memo other"));
    player.ok(&format!("hcs topic delete {topic}"));
    let profile = text(&player.ok("hcs profile publish --agent ann --bio counts")["reference"]);
    player.ok(&format!("hcs profile resolve {profile}"));

    player.ok("hcs registry create --agent ann");
    player.ok("hcs register --agent ann");
    player.ok("hcs registry");
    player.ok("hcs directory");
    player.ok("hcs deregister --agent ann");
    let made = || text(&player.ok("hcs registry create --agent ann")["registry_topic_id"]);
    let (other, first) = (made(), made());
    player.ok(&format!(
        "hcs registry migrate {other} --registry {first} --agent ann"
    ));

    let request = text(&player.ok("hcs connect bob --agent ann")["request_id"]);
    let topic = text(&player.ok(&format!("hcs accept {request} --agent bob"))["topic_id"]);
    player.ok("hcs connections --agent bob");
    player.ok(&format!("hcs say {topic} hello --agent ann"));
    player.ok(&format!("hcs read {topic} --agent bob"));
    for (hbar, verb) in ["approve", "reject", "dismiss"].into_iter().enumerate() {
        let hbar = hbar + 1;
        let proposed = format!("hcs propose {topic} --transfer bob:ann:{hbar} --agent ann");
        let number = text(&player.ok(&proposed)["sequence_number"]);
        let yes = if verb == "approve" { "--yes" } else { "" };
        player.ok(&format!("hcs {verb} {topic} {number} --agent bob {yes}"));
    }
    player.ok(&format!("hcs close {topic} --agent ann"));
    let request = text(&player.ok("hcs connect ann --agent bob")["request_id"]);
    player.ok(&format!("hcs refuse {request} --agent ann"));
}
