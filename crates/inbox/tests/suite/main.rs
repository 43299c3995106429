//! The tests of the real binary: one program, so that it links once.

// Helpers of theirs are tests too, which clippy knows only by the attribute.
#[cfg(test)]
mod cli;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod console;
mod damage;
#[cfg(test)]
mod devnet;
#[cfg(test)]
mod fire;
mod guide;
#[cfg(test)]
mod hcs;
#[cfg(test)]
mod hook;
mod house;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod notify;
#[cfg(test)]
mod packages;
mod reference;
#[cfg(test)]
mod run;
#[cfg(test)]
mod server;
#[cfg(test)]
mod setup;
#[cfg(test)]
mod torture;
#[cfg(test)]
mod tui;

/// The binary under test.
const INBOX: &str = env!("CARGO_BIN_EXE_inbox");

/// The root of the workspace.
fn root() -> std::path::PathBuf {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = crates.and_then(std::path::Path::parent);
    root.expect("the crate is two folders deep").to_path_buf()
}

/// Compares a checked-in document with what it should be, or writes it under `INBOX_WRITE_DOCS=1`.
#[track_caller]
fn check_document(path: &str, wanted: &str) {
    let file = root().join(path);
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    if found == wanted {
        return;
    }
    if std::env::var_os("INBOX_WRITE_DOCS").is_some() {
        let folder = file.parent().expect("a document is in a folder");
        std::fs::create_dir_all(folder).expect("the folder can be made");
        std::fs::write(&file, wanted).expect("the document can be written");
        return;
    }
    let diff = guide::diff(&found, wanted);
    panic!("{path} is out of date (-checked in, +now); make docs writes it\n{diff}");
}
