//! Secrets where they do not belong, are broken, or do not open anything: what is said then.

use std::os::unix::fs::PermissionsExt;

use super::ears::encoded;
use super::player::Player;
use super::story::{HOOK, PASSPHRASE, PASSWORD, SIGNS, Stage, private};

/// Every command with what it does not know, and with a database that is not there, by a URL with a password.
pub(super) fn fail_all(player: &Player<'_>) {
    let url = format!("postgres://ada:{}@127.0.0.1:9/work", encoded(PASSWORD));
    let away = [("INBOX_DB", url.as_str()), ("RUST_BACKTRACE", "1")];
    for leaf in &player.leaves {
        // What asks nobody for anything does what it does.
        let _ = player.with(&format!("{leaf} --json"), &away, "");
        let _ = player.with(&format!("{leaf} --no-such-flag"), &[], "");
    }
}

/// Secrets in the places of others.
pub(super) fn make(player: &Player<'_>, stage: &Stage) {
    let folder = player.desk.folder();
    let token = stage.bearer.trim_start_matches("Bearer ");
    let lease = &stage.lease;
    let login = format!("ada:{}", encoded(PASSWORD));
    for line in [
        format!("list --db postgres://{login}@127.0.0.1:9/work"),
        format!(
            "list --db postgres://127.0.0.1:9/work?password={}",
            encoded(PASSWORD)
        ),
        format!("list --db http://{login}@127.0.0.1:9"),
        format!("init --db http://{login}@127.0.0.1:9"),
        format!("backup --to x.db --db https://127.0.0.1:9/?token={token}"),
        format!("doctor --db https://{login}@127.0.0.1:9"),
        format!("migrate --from postgres://{login}@127.0.0.1:9/a --to y.db"),
        format!("migrate --from copy.db --to https://{login}@127.0.0.1:9"),
        format!("token revoke {token}"),
        format!("list {token}"),
        format!("show --thread {lease}"),
        format!("done --thread thr_1 --lease {lease}x"),
        format!("done --thread thr_1 --lase {lease}"),
        format!("list --token {token}"),
        format!("list --token={token}"),
        format!("lock {}", PASSPHRASE.replace(' ', "~")),
        format!("lock --passphrase {}", PASSPHRASE.replace(' ', "~")),
        format!("lock --passphrase={}", PASSPHRASE.replace(' ', "~")),
        "serve --tls-cert .agents/webhook.secret --tls-key .agents/webhook.secret --listen 127.0.0.1:0".to_owned(),
        "hcs account import x --account 0.0.2 --key-file .agents/webhook.secret".to_owned(),
        format!("agent list --agent {token}"),
    ] {
        player.fails(&line, &[]);
    }
    let http = format!("http://{login}@127.0.0.1:9");
    let broken_token = format!("{token}\n{SIGNS}");
    let key = player.variable("INBOX_HEDERA_KEY");
    let half = &key[..key.len() - 1];
    for (line, more) in [
        ("list", [("INBOX_DB", http.as_str())].as_slice()),
        ("init", &[("INBOX_DB", http.as_str())]),
        (
            "list",
            &[
                ("INBOX_DB", stage.url.as_str()),
                ("INBOX_TOKEN", &broken_token),
            ],
        ),
        (
            "list",
            &[
                ("INBOX_DB", stage.url.as_str()),
                ("INBOX_TOKEN", &format!("{token}x")),
            ],
        ),
        (
            "renew --thread thr_1",
            &[("INBOX_LEASE", &format!("{lease}x"))],
        ),
        (
            "config",
            &[("INBOX_NOTIFY_WEBHOOK", &format!("htps://x/{HOOK}"))],
        ),
        ("config", &[("INBOX_NOTIFY_COMMAND", SIGNS)]),
        ("config", &[("INBOX_NOTIFY_DESKTOP", SIGNS)]),
        ("hcs topic create", &[("INBOX_HEDERA_KEY", half)]),
        ("hcs topic create", &[("INBOX_HEDERA_ACCOUNT", &key)]),
        ("hcs topic create", &[("INBOX_HEDERA_ACCOUNT", "0.0.2")]),
        ("hcs topic create", &[("INBOX_HEDERA_NETWORK", &key)]),
        (
            "hcs account list",
            &[("INBOX_HEDERA_KEYS", ".agents/webhook.secret")],
        ),
        ("hcs register", &[("INBOX_HEDERA_REGISTRY", &key)]),
    ] {
        player.fails(line, more);
    }
    let other = folder.join("other");
    private(&other.join(".agents/inbox.toml"), "");
    let db = other.join(".agents/coord.db");
    let line = format!("init --db {}", db.display());
    player.ok(&line);
    for settings in [
        format!("[notify]\nwebhook = https://127.0.0.1/{HOOK}\n"),
        format!("[notify]\nwebhook = \"https://127.0.0.1/{HOOK}\n"),
        format!("[notify]\nwebhook = [\"https://127.0.0.1/{HOOK}\"]\n"),
        format!("[notify]\nwebhook = \"https://a:{HOOK}@127.0.0.1/\"\n"),
        format!("notify = \"https://127.0.0.1/{HOOK}\"\n"),
        format!("[notify]\ndesktop = \"https://127.0.0.1/{HOOK}\"\n"),
        format!("[notify]\nwebhook_secret = \"{SIGNS}\"\n"),
        format!("[notify]\nwebhook = \"https://127.0.0.1/{HOOK}\" oops\n"),
        format!("webhook_{HOOK}"),
    ] {
        private(&other.join(".agents/inbox.toml"), &settings);
        for line in ["config", "list", "notify --once"] {
            player.fails(&format!("{line} --db {}", db.display()), &[]);
        }
    }
    let keys = other.join("keys");
    for text in [
        format!("{{\"version\":2,\"networks\":{{\"n\":{{\"agents\":{{\"quinn\":\"{key}\"}}}}}}}}"),
        format!("{{\"version\":2,\"networks\":{{\"n\":{{\"agents\":\"{key}\"}}}}}}"),
        format!("{{\"version\":\"{key}\"}}"),
        format!("{{\"{key}\":2}}"),
        format!("{{\"version\":2,\"networks\":{{\"n\":{{\"{key}\":1}}}}}}"),
        key.clone(),
    ] {
        private(&keys, &text);
        player.fails(&format!("hcs account list --keys {}", keys.display()), &[]);
    }
    // The account and its key are swapped.
    let kept = std::fs::read_to_string(folder.join(".agents/hedera.keys")).unwrap();
    let account = player.variable("INBOX_HEDERA_ACCOUNT");
    let swapped = kept
        .replace(&key, "KEY")
        .replace(&format!("\"{account}\""), &format!("\"{key}\""))
        .replace("KEY", &account);
    private(&keys, &swapped);
    player.fails(
        &format!("hcs account show quinn --keys {}", keys.display()),
        &[],
    );
    let network = other.join("network.json");
    for text in [
        format!("{{\"network\":\"{key}\",\"operator\":{{\"privateKey\":\"{key}\"}}}}"),
        format!("{{\"network\":{{\"{key}\":\"0.0.3\"}}}}"),
        format!("{{\"network\":{{\"127.0.0.1:1\":\"{key}\"}}}}"),
        format!("{{\"operator\":{{\"privateKey\":\"{key}\"}} oops"),
    ] {
        private(&network, &text);
        player.fails(
            &format!("hcs account list --network {}", network.display()),
            &[],
        );
    }
    let open = other.join("open");
    private(&open, token);
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o644)).unwrap();
    let at = open.to_str().unwrap();
    player.fails(
        &format!("list --db {}", stage.url),
        &[("INBOX_TOKEN", ""), ("INBOX_TOKEN_FILE", at)],
    );
    std::fs::remove_dir_all(other).unwrap();
}
