//! The house rules that a compiler does not hold: who may use whom, what may be depended on, and how
//! long a file may be.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::root;

/// Each crate and the crates of the workspace that it may use. A new crate is written down here.
const DIRECTION: &[(&str, &[&str])] = &[
    ("inbox-core", &[]),
    ("inbox-wire", &["inbox-core"]),
    ("inbox-hedera", &["inbox-hcs"]),
    ("inbox-devnet", &["inbox-hcs", "inbox-hedera"]),
    ("inbox-hcs", &["inbox-core", "inbox-wire"]),
    (
        "inbox-bridge",
        &[
            "inbox-core",
            "inbox-hcs",
            "inbox-hedera",
            "inbox-ops",
            "inbox-store",
        ],
    ),
    ("inbox-store", &["inbox-core"]),
    ("inbox-ops", &["inbox-core", "inbox-wire", "inbox-store"]),
    (
        "inbox-runner",
        &["inbox-core", "inbox-wire", "inbox-store", "inbox-ops"],
    ),
    (
        "inbox-torture",
        &[
            "inbox-core",
            "inbox-wire",
            "inbox-store",
            "inbox-ops",
            "inbox-hcs",
            "inbox-hedera",
            "inbox-devnet",
            "inbox-bridge",
        ],
    ),
    (
        "inbox-surfaces",
        &[
            "inbox-core",
            "inbox-wire",
            "inbox-store",
            "inbox-ops",
            "inbox-runner",
            "inbox-torture",
            "inbox-hcs",
            "inbox-hedera",
            "inbox-devnet",
            "inbox-bridge",
        ],
    ),
    ("inbox", &["inbox-surfaces"]),
    ("inbox-testkit", &["inbox-core", "inbox-store", "inbox-ops"]),
    (
        "inbox-bench",
        &[
            "inbox-core",
            "inbox-devnet",
            "inbox-hedera",
            "inbox-store",
            "inbox-ops",
            "inbox-testkit",
        ],
    ),
];

/// Licences that ask for no more than their notice.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

/// The most packages that the binary may be built from.
const PACKAGES: usize = 250;

/// The longest source file, in lines.
const LINES: usize = 600;

fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo can be run");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    serde_json::from_slice(&output.stdout).expect("cargo answers in JSON")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The packages of the workspace, by name.
fn members(metadata: &Value) -> BTreeMap<&str, &Value> {
    let ids: BTreeSet<_> = list(&metadata["workspace_members"]).map(text).collect();
    list(&metadata["packages"])
        .filter(|package| ids.contains(text(&package["id"])))
        .map(|package| (text(&package["name"]), package))
        .collect()
}

#[test]
fn the_crates_use_each_other_in_one_direction() {
    let metadata = metadata();
    let members = members(&metadata);
    let mut wrong = Vec::new();
    for (name, package) in &members {
        let allowed = DIRECTION.iter().find(|(member, _)| member == name);
        let Some((_, allowed)) = allowed else {
            wrong.push(format!("{name} has no place in the order"));
            continue;
        };
        for dependency in list(&package["dependencies"]) {
            let used = text(&dependency["name"]);
            // Tests may use what is above them, as long as the core stays alone.
            let counts = dependency["kind"].is_null() || *name == "inbox-core";
            if counts && members.contains_key(used) && !allowed.contains(&used) {
                wrong.push(format!("{name} uses {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is linked into the binary: everything reached by normal dependencies.
fn linked(metadata: &Value) -> BTreeSet<&str> {
    let nodes: BTreeMap<_, _> = list(&metadata["resolve"]["nodes"])
        .map(|node| (text(&node["id"]), node))
        .collect();
    let members = members(metadata);
    let mut open = vec![text(&members["inbox"]["id"])];
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !found.insert(id) {
            continue;
        }
        for dependency in list(&nodes[id]["deps"]) {
            if list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null()) {
                open.push(text(&dependency["pkg"]));
            }
        }
    }
    found
}

#[test]
fn the_binary_is_built_from_few_packages() {
    let metadata = metadata();
    let count = linked(&metadata).len();
    assert!((10..PACKAGES).contains(&count), "{count} packages");
}

#[test]
fn every_dependency_may_be_used() {
    let metadata = metadata();
    let refused: Vec<_> = list(&metadata["packages"])
        .filter(|package| !may_use(text(&package["license"])))
        .map(|package| format!("{}: {}", package["name"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// Whether one choice of an SPDX expression is allowed throughout. `/` is an old way to write `OR`.
fn may_use(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let tokens: Vec<_> = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let mut rest = &tokens[..];
    either(&mut rest) && rest.is_empty()
}

fn either(rest: &mut &[String]) -> bool {
    let mut is_fine = both(rest);
    while rest.first().is_some_and(|token| token == "OR") {
        *rest = &rest[1..];
        is_fine |= both(rest);
    }
    is_fine
}

fn both(rest: &mut &[String]) -> bool {
    let mut is_fine = one(rest);
    while rest.first().is_some_and(|token| token == "AND") {
        *rest = &rest[1..];
        is_fine &= one(rest);
    }
    is_fine
}

fn one(rest: &mut &[String]) -> bool {
    let Some((first, after)) = rest.split_first() else {
        return false;
    };
    *rest = after;
    if first == "(" {
        let is_fine = either(rest);
        *rest = rest.get(1..).unwrap_or_default();
        return is_fine;
    }
    let mut licence = first.clone();
    if let [with, exception, after @ ..] = *rest
        && with == "WITH"
    {
        licence = format!("{licence} WITH {exception}");
        *rest = after;
    }
    LICENCES.contains(&licence.as_str())
}

#[test]
fn a_licence_is_read_as_spdx_means_it() {
    assert!(may_use("MIT OR GPL-3.0-only"));
    assert!(may_use("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(may_use("Apache-2.0 WITH LLVM-exception"));
    assert!(may_use("MIT/Apache-2.0"));
    assert!(!may_use("MIT AND GPL-3.0-only"));
    assert!(!may_use("MPL-2.0"));
    assert!(!may_use(""));
}

/// The files that are tracked, or every file where the repository is not at hand.
fn tracked() -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output();
    let mut files = Vec::new();
    match listed {
        Ok(output) if output.status.success() => {
            let names = String::from_utf8_lossy(&output.stdout).into_owned();
            let names = names.split('\0').filter(|name| !name.is_empty());
            files.extend(
                names
                    .map(|name| root().join(name))
                    .filter(|path| path.is_file()),
            );
        }
        _ => walk(&root(), &mut files),
    }
    files
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("an entry can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("target") || name.starts_with(".git") || name == ".agents" {
            continue;
        }
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push(path);
        }
    }
}

#[test]
fn no_source_file_is_too_long_to_read() {
    let mut long = Vec::new();
    for path in tracked() {
        let name = path
            .strip_prefix(root())
            .unwrap_or(&path)
            .display()
            .to_string();
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        if is_rust && name.starts_with("crates/") && name.contains("/src/") {
            let lines = std::fs::read_to_string(&path).unwrap().lines().count();
            if lines > LINES {
                long.push(format!("{name}: {lines} lines"));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn no_test_file_is_forgotten() {
    let suite = root().join("crates/inbox/tests/suite");
    let mut files = Vec::new();
    walk(&suite, &mut files);
    let mut forgotten = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|e| e == "rs"))
    {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        if stem == "main" {
            continue;
        }
        let folder = file.parent().unwrap();
        let parent = if folder == suite {
            suite.join("main.rs")
        } else {
            folder.with_extension("rs")
        };
        let declared = std::fs::read_to_string(&parent).unwrap_or_default();
        let is_declared =
            |line: &str| line.trim_start_matches("pub(crate) ") == format!("mod {stem};");
        if !declared.lines().any(is_declared) {
            forgotten.push(file.display().to_string());
        }
    }
    assert!(forgotten.is_empty(), "{}", forgotten.join("\n"));
}

#[test]
fn no_file_names_a_machine() {
    // In two pieces, so that this file is not one of them.
    let places = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
    ];
    let mut found = Vec::new();
    for path in tracked() {
        let Ok(content) = std::fs::read_to_string(&path) else {
            continue;
        };
        for (index, line) in content.lines().enumerate() {
            if places.iter().any(|place| line.contains(place)) {
                found.push(format!("{}:{}: {line}", path.display(), index + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The lines of a section of a manifest.
fn section(manifest: &str, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(manifest)).expect("a manifest");
    let lines = text.lines().skip_while(|line| *line != name).skip(1);
    lines
        .take_while(|line| !line.is_empty() && !line.starts_with('['))
        .map(str::to_owned)
        .collect()
}

#[test]
fn unsafe_code_is_forbidden_everywhere_but_in_one_module() {
    let forbidden = section("Cargo.toml", "[workspace.lints.rust]");
    assert!(
        forbidden.contains(&"unsafe_code = \"forbid\"".to_owned()),
        "{forbidden:?}"
    );
    // `forbid` cannot be taken back, so the crate of that module has the list of all the others with one line weaker.
    let denied: Vec<_> = forbidden
        .iter()
        .map(|line| line.replace("forbid", "deny"))
        .collect();
    let store = "crates/store/Cargo.toml";
    assert_eq!(section(store, "[lints.rust]"), denied);
    assert_eq!(
        section(store, "[lints.clippy]"),
        section("Cargo.toml", "[workspace.lints.clippy]")
    );
    let metadata = metadata();
    for (name, package) in members(&metadata) {
        let manifest = std::fs::read_to_string(text(&package["manifest_path"])).unwrap();
        let takes_all = manifest.contains("[lints]\nworkspace = true");
        assert_eq!(takes_all, name != "inbox-store", "{name}");
    }
    let mut found = Vec::new();
    for path in tracked() {
        let name = path.strip_prefix(root()).unwrap_or(&path);
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        if is_rust
            && std::fs::read_to_string(&path)
                .unwrap()
                .lines()
                .any(is_unsafe)
        {
            found.push(name.display().to_string());
        }
    }
    assert_eq!(found, ["crates/store/src/sys.rs"]);
}

/// Whether a line of code, and no comment or text, begins something unsafe.
fn is_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    ["{", "fn", "impl", "extern", "trait"]
        .iter()
        .any(|next| code.contains(&format!("{} {next}", "unsafe")))
}

#[test]
fn cargo_deny_allows_the_licences_of_the_house() {
    let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let list = text.split("allow = [").nth(1).unwrap();
    let list = list.split(']').next().unwrap();
    let allowed: Vec<_> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!(allowed, LICENCES);
}

#[test]
fn every_package_is_of_the_registry_with_its_sum_and_none_is_banned() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let deny = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let bans = deny.split("\n[bans]").nth(1).unwrap();
    let banned = bans.split("{ name = \"").skip(1);
    let banned: Vec<&str> = banned.filter_map(|rest| rest.split('"').next()).collect();
    assert!(banned.contains(&"openssl-sys"), "{banned:?}");
    let line = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(name));
        line.map(str::to_owned)
    };
    let mut sources = BTreeSet::new();
    for package in lock.split("[[package]]\n").skip(1) {
        let name = line(package, "name = ").unwrap();
        let name = name.trim_matches('"');
        assert!(!banned.contains(&name), "{name} is banned by deny.toml");
        if name != "inbox" && !name.starts_with("inbox-") {
            sources.insert(line(package, "source = ").unwrap_or_default());
            assert!(line(package, "checksum = ").is_some(), "{name} has no sum");
        }
    }
    let sources: Vec<String> = sources.into_iter().collect();
    assert_eq!(
        sources.len(),
        1,
        "one registry, and nothing else: {sources:?}"
    );
    assert!(sources[0].starts_with("\"registry+"), "{sources:?}");
}
