//! Programs that others made, as peers of the tests: from npm and PyPI by name, into a folder under the target folder. Without
//! them a test fails and says so.

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
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let is_there = packages.iter().all(|(name, _)| {
        let path = folder.join("node_modules").join(name);
        path.join("package.json").exists()
    });
    if !is_there {
        let mut install = Command::new("npm");
        install.args([
            "install",
            "--no-audit",
            "--no-fund",
            "--no-package-lock",
            "--prefix",
        ]);
        let named = packages
            .iter()
            .map(|(name, version)| format!("{name}@{version}"));
        run(install.arg(&folder).args(named));
    }
    folder
}

/// The Python that has a package from PyPI; `proof` is what can be run once it is there.
pub(crate) fn pypi(venv: &Path, package: &str, proof: &str) -> PathBuf {
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
