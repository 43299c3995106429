//! `inbox devnet`, with the official SDKs as its clients. They come from npm and PyPI by name, and run where nothing but the
//! devnet can be reached: in a network namespace of their own.

mod story;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use self::story::{check, check_all, play};
use crate::packages;

/// The folder with the packages from npm, and the script beside them.
fn node() -> &'static Path {
    static NODE: OnceLock<PathBuf> = OnceLock::new();
    NODE.get_or_init(|| {
        let folder = packages::npm(
            packages::folder("hedera-clients").join("node"),
            &[
                ("@hashgraph/sdk", "2.81.0"),
                ("@hiero-ledger/sdk", "2.87.0"),
            ],
        );
        let script = folder.join("client.mjs");
        std::fs::write(&script, include_str!("devnet/client.mjs")).expect("it can be written");
        folder
    })
}

#[track_caller]
fn javascript(package: &str) {
    let script = node().join("client.mjs");
    check_all(&play(&["node", script.to_str().expect("a path"), package]));
}

#[test]
fn the_sdk_of_hashgraph_for_javascript_runs_on_the_devnet() {
    javascript("@hashgraph/sdk");
}

#[test]
fn the_sdk_of_hiero_for_javascript_runs_on_the_devnet() {
    javascript("@hiero-ledger/sdk");
}

#[test]
fn the_sdk_of_hiero_for_python_runs_on_the_devnet() {
    let folder = packages::folder("hedera-clients");
    let python = packages::pypi(
        &folder.join("venv"),
        "hiero-sdk-python==0.3.0",
        "import hiero_sdk_python",
    );
    let script = folder.join("client.py");
    std::fs::write(&script, include_str!("devnet/client.py")).expect("it can be written");
    let (python, script) = (python.to_str(), script.to_str());
    let seen = play(&[python.expect("a path"), script.expect("a path")]);
    check(&seen);
    assert_eq!(seen["balance"], "10100000000");
}
