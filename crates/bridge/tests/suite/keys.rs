//! The file of keys.

use std::os::unix::fs::PermissionsExt;

use inbox_bridge::keys::Keys;
use inbox_core::Code;
use inbox_hedera::key::{Algorithm, PrivateKey};
use inbox_testkit::damage::{cases, damaged};
use inbox_testkit::proptest::{prop_assert, proptest};
use inbox_testkit::sandbox::TempDir;

use crate::stage::{Stage, holder, refused};

fn place(name: &str) -> std::path::PathBuf {
    let place = std::env::temp_dir().join(format!("inbox-keys-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).unwrap();
    place
}

#[test]
fn keys_are_kept_for_their_owner_alone() {
    let folder = place("alone");
    let path = folder.join("hedera.keys");
    let key = PrivateKey::generate(Algorithm::Ecdsa).unwrap();
    let mut keys = Keys::open(&path, "local").unwrap();
    keys.keep(&key).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // What was begun is there for whoever was interrupted.
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(key.reveal().as_str()), "it is not kept");
    drop(keys);

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let outcome = Keys::open(&path, "local").map(|_| ());
    assert!(refused(outcome, Code::NotAllowed).contains("640"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&path, "{\"version\":1,\"networks\":{},\"more\":1}").unwrap();
    let outcome = Keys::open(&path, "local").map(|_| ());
    assert!(refused(outcome, Code::Storage).contains("more"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_agent_is_found_on_its_own_network_alone() {
    let stage = Stage::new();
    let net = stage.account(Algorithm::Ed25519);
    let folder = place("networks");
    let path = folder.join("hedera.keys");
    let mut keys = Keys::open(&path, "local").unwrap();
    keys.keep(net.key()).unwrap();
    keys.put("ada", &holder(&net)).unwrap();
    keys.set_registry("0.0.77".parse().unwrap()).unwrap();
    drop(keys);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("unfinished"), "{text}");
    let keys = Keys::open(&path, "local").unwrap();
    assert_eq!(keys.names(), ["ada"]);
    assert_eq!(keys.get("ada").unwrap().account, net.account());
    assert_eq!(keys.registry(), "0.0.77".parse().ok());
    assert!(keys.find("ben").unwrap().is_none());
    drop(keys);
    let keys = Keys::open(&path, "testnet").unwrap();
    refused(keys.get("ada"), Code::AgentNotFound);
    assert_eq!(keys.registry(), None);
    drop(keys);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_key_in_the_wrong_place_of_the_file_is_not_repeated() {
    let folder = place("wrong");
    let path = folder.join("hedera.keys");
    let key = PrivateKey::generate(Algorithm::Ed25519).unwrap();
    let key = key.reveal().to_string();
    for text in [
        format!(
            "{{\"version\":2,\"networks\":{{\"local\":{{\"agents\":{{\"ada\":\"{key}\"}}}}}}}}"
        ),
        format!("{{\"version\":2,\"networks\":{{\"local\":\"{key}\"}}}}"),
        format!("{{\"version\":\"{key}\"}}"),
        format!("{{\"version\":2,\"{key}\":1}}"),
        // A piece of one is one too.
        format!("{{\"version\":2,\"{}\":1}}", &key[32..72]),
        format!(
            "{{\"version\":2,\"networks\":{{\"local\":{{\"agents\":{{\"ada\":{{\"account_id\":\"{key}\",\"private_key\":\"0.0.5\"}}}}}}}}}}"
        ),
    ] {
        std::fs::write(&path, &text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let outcome = Keys::open(&path, "local").and_then(|keys| keys.get("ada"));
        let refusal = outcome.map(|_| ()).unwrap_err();
        let said = format!("{refusal:?}");
        assert!(!said.contains(&key[40..60]), "{said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_name_without_end_makes_no_refusal_without_end() {
    let folder = place("long");
    let path = folder.join("hedera.keys");
    let name = "[".repeat(5_000);
    let text = format!(
        "{{\"version\":2,\"networks\":{{\"local\":{{\"agents\":{{\"{name}\":{{\"account_id\":\"x\",\"private_key\":\"y\"}}}}}}}}}}"
    );
    std::fs::write(&path, &text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let refusal = ask(&path).unwrap_err();
    assert_eq!(refusal.code, Code::StoreCorrupt, "{refusal:?}");
    assert!(refusal.message.len() < 600, "{refusal:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// What is secret of two keys: an Ed25519 key's digits, and an ECDSA key's.
const SECRETS: [&str; 2] = [
    "91132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137",
    "302a300506032b6570032100e0c8ec2758a5879ffac226a13c0c516b799e72e3",
];

/// Files of keys as they are, and with a key where none belongs.
const FILES: [&str; 4] = [
    r#"{"version":2,"networks":{"local":{"registry":"0.0.77","registry_transaction":"0.0.5@1700000000.000000001","agents":{"ada":{"account_id":"0.0.5","private_key":"302e020100300506032b65700422042091132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137","inbound_topic_id":"0.0.6","outbound_topic_id":"0.0.7","hidden":["0.0.8:1"]},"ben":{"account_id":"0.0.9","private_key":"0x302a300506032b6570032100e0c8ec2758a5879ffac226a13c0c516b799e72e3"}},"provisioning":{"ada":{"account_key":"302a300506032b657003210000","pending":{"step":"inbound","transaction_id":"0.0.5@1700000000.000000001"},"draft":{"sha256":"00","topic_id":"0.0.10","messages":3},"published":{"sha256":"00","topic_id":"0.0.10","roles":["reviewer"]},"registered":{"registry_topic_id":"0.0.77","uid":4}}},"unfinished":["302e020100300506032b65700422042091132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137"]}}}"#,
    r#"{"version":1,"networks":{"local":{"agents":{"ada":{"account_id":"0.0.5","private_key":"91132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137"}}},"testnet":{}}}"#,
    r#"{"version":2,"91132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137":1}"#,
    r#"{"version":2,"networks":{"local":{"agents":{"ada":{"account_id":"91132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137","private_key":"0.0.5","302a300506032b6570032100e0c8ec2758a5879ffac226a13c0c516b799e72e3":""}}}}}"#,
];

/// How many digits of a key in a row are a piece of it.
const PIECE: usize = 12;

/// Asks a file for everything that it may know.
fn ask(path: &std::path::Path) -> Result<(), inbox_core::Refusal> {
    let keys = Keys::open(path, "local")?;
    for name in keys.names() {
        keys.get(name)?;
        keys.work(name);
    }
    keys.by_account("0.0.9".parse().unwrap())?;
    keys.registry();
    keys.unfinished("302a300506032b657003210000");
    Ok(())
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn whatever_a_file_of_keys_has_it_is_read_or_refused_and_no_key_is_repeated(bytes in damaged(FILES.to_vec())) {
        let folder = TempDir::in_memory();
        let path = folder.path().join("hedera.keys");
        std::fs::write(&path, &bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        if let Err(refusal) = ask(&path) {
            let is_named = matches!(refusal.code, Code::Storage | Code::StoreCorrupt);
            prop_assert!(is_named, "{:?}", refusal);
            prop_assert!(refusal.message.contains("hedera.keys"), "{:?}", refusal);
            let is_helped = refusal.hint.starts_with("mv ") || refusal.hint.starts_with("inbox ");
            prop_assert!(is_helped, "{:?}", refusal);
            prop_assert!(refusal.message.len() < 600, "{:?}", refusal);
            let said = format!("{refusal:?}");
            for secret in SECRETS {
                let mut pieces = (0..=secret.len() - PIECE).map(|at| &secret[at..at + PIECE]);
                prop_assert!(!pieces.any(|piece| said.contains(piece)), "{}", said);
            }
        }
        // What was damaged is as it was: nobody mends it by losing what it has.
        prop_assert!(std::fs::read(&path).unwrap() == bytes);
    }
}
