//! `hiero-sdk`, the official SDK for Rust, as a client of the devnet. It is built in a workspace of its own, `interop/hiero`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::packages::{self, run};
use crate::story::{check_all, play};

/// What the client is made from.
const SOURCES: [&str; 3] = [
    include_str!("../../../../interop/hiero/Cargo.toml"),
    include_str!("../../../../interop/hiero/Cargo.lock"),
    include_str!("../../../../interop/hiero/src/main.rs"),
];

/// The client, which is built when its sources changed. Cargo would build it each time: the SDK asks for that by watching a file
/// that its package does not have.
fn client() -> PathBuf {
    let folder = packages::folder("interop").join("hiero");
    let _alone = packages::lock(&folder);
    let client = folder.join("debug/interop-hiero");
    let built = folder.join("built.txt");
    let sources = SOURCES.join("\n");
    if client.exists() && std::fs::read_to_string(&built).is_ok_and(|had| had == sources) {
        return client;
    }
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/hiero/Cargo.toml");
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--locked", "--quiet", "--manifest-path"]);
    run(build.arg(manifest).arg("--target-dir").arg(&folder));
    std::fs::write(built, sources).expect("the note can be written");
    client
}

#[test]
fn the_sdk_of_hiero_for_rust_runs_on_the_devnet() {
    check_all(&play(&[client().to_str().expect("a path")]));
}
