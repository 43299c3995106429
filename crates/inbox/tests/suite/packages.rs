//! Programs that others made, as peers of the tests: from npm and PyPI by name, into a folder under the target folder. Without
//! them a test fails and says so.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::INBOX;

/// A folder for them under the target folder.
pub(crate) fn folder(name: &str) -> PathBuf {
    let target = Path::new(INBOX).ancestors().nth(2);
    target.expect("the binary is two folders deep").join(name)
}

/// What a program prints, which succeeds.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> String {
    let what = format!("{command:?}");
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{what} cannot be run: {error}"));
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(output.status.success(), "{what}\n{out}\n{err}");
    out
}

/// Packages from npm, each as name and version, in a folder beside which scripts find them.
pub(crate) fn npm(folder: PathBuf, packages: &[(&str, &str)]) -> PathBuf {
    let named: Vec<String> = packages
        .iter()
        .map(|(name, version)| format!("{name}@{version}"))
        .collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    npm_by(folder, "{}", &named)
}

/// What npm installs by a manifest and arguments.
pub(crate) fn npm_by(folder: PathBuf, manifest: &str, args: &[&str]) -> PathBuf {
    let _alone = lock(&folder);
    let list = "packages.txt";
    let wanted = format!("{}\n{manifest}", args.join(" "));
    if std::fs::read_to_string(folder.join(list)).is_ok_and(|had| had == wanted) {
        return folder;
    }
    // Beside its place first: what was interrupted is not taken for a whole.
    let beside = folder.with_extension("part");
    let _ = std::fs::remove_dir_all(&beside);
    std::fs::create_dir_all(&beside).expect("the folder can be made");
    std::fs::write(beside.join("package.json"), manifest).expect("the manifest can be written");
    let mut install = Command::new("npm");
    install.args([
        "install",
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        "--loglevel=error",
        "--prefix",
    ]);
    run(install.arg(&beside).args(args));
    std::fs::write(beside.join(list), wanted).expect("the list can be written");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::rename(&beside, &folder).expect("the folder can be moved to its place");
    folder
}

/// One installs at a time, in this process and in others: two npm in one folder spoil each other's work.
pub(crate) fn lock(place: &Path) -> File {
    let parent = place.parent().expect("it is in a folder");
    std::fs::create_dir_all(parent).expect("the folder can be made");
    let file = File::create(place.with_extension("lock")).expect("the lock can be made");
    file.lock().expect("the lock can be taken");
    file
}

/// The Python that has a package from PyPI; `proof` is what can be run once it is there.
pub(crate) fn pypi(venv: &Path, package: &str, proof: &str) -> PathBuf {
    let _alone = lock(venv);
    let python = venv.join("bin/python");
    let has_it = Command::new(&python).args(["-c", proof]).output();
    if !has_it.is_ok_and(|output| output.status.success()) {
        run(Command::new("python3").args(["-m", "venv"]).arg(venv));
        let mut install = Command::new(&python);
        install.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        run(install.arg(package));
    }
    python
}
