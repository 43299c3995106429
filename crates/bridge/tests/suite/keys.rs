//! The file of keys.

use std::os::unix::fs::PermissionsExt;

use inbox_bridge::keys::Keys;
use inbox_core::Code;
use inbox_hedera::key::{Algorithm, PrivateKey};

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
        format!(
            "{{\"version\":2,\"networks\":{{\"local\":{{\"agents\":{{\"ada\":{{\"account_id\":\"{key}\",\"private_key\":\"0.0.5\"}}}}}}}}}}"
        ),
    ] {
        std::fs::write(&path, &text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let outcome = Keys::open(&path, "local").and_then(|keys| keys.get("ada"));
        let refusal = outcome.map(|_| ()).unwrap_err();
        let said = format!("{refusal:?}");
        assert!(!said.contains(&key) && !said.contains(&key[32..]), "{said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
