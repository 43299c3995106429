//! Bytes on disk for a short message.

use std::path::{Path, PathBuf};

use inbox_store::{Location, Store};

use crate::Outcome;
use crate::lab::{Lab, caller, open, send_task};
use crate::report::Report;

const SENDS: u64 = 20_000;

/// How much the file grows with each send.
pub(crate) fn measure(lab: &Lab, report: &mut Report) -> Outcome<()> {
    // The size is the same everywhere, and twenty thousand commits take long on a slow disk.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() {
        memory.join(format!("inbox-bench-{}", std::process::id()))
    } else {
        lab.folder("size")?
    };
    let outcome = bytes_per_send(&folder.join("coord.db"));
    let _ = std::fs::remove_dir_all(&folder);
    let bytes = outcome?;
    let goal = "at most 450 bytes";
    let measured = format!("{bytes} bytes");
    report.goal(
        "on disk, a short message",
        measured,
        String::new(),
        goal,
        bytes <= 450,
    );
    Ok(())
}

fn bytes_per_send(db: &PathBuf) -> Outcome<u64> {
    Store::init(&Location::File(db.clone()))?;
    let empty = std::fs::metadata(db)?.len();
    let inbox = open(db)?;
    let alice = caller("alice")?;
    for _ in 0..SENDS {
        send_task(&inbox, &alice, "bob")?;
    }
    drop(inbox);
    rusqlite::Connection::open(db)?.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok((std::fs::metadata(db)?.len() - empty) / SENDS)
}
