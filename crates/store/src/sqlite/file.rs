//! Making and copying store files so that a half-made one never has a store's name.

use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use inbox_core::sabotage::planted;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::failure::database;
use super::{APPLICATION_ID, Sqlite, beside};
use crate::driver::Driver;
use crate::error::StoreError;
use crate::fail::{Armed, Point};
use crate::private;
use crate::sql::MIGRATIONS;

/// Makes a new store at `path` unless something is there already. Whether it was made.
///
/// It is built under another name and gets its own when it is complete, so a process that dies on the
/// way leaves no half a store, and of two that run at once one makes it.
pub(crate) fn init(path: &Path, armed: Armed, for_tests: bool) -> Result<bool, StoreError> {
    let cannot = |error: std::io::Error| {
        StoreError::of_file(format!("cannot make {}", path.display()), &error)
    };
    if path.exists() {
        return Ok(false);
    }
    let folder = folder_of(path);
    make_folder(folder).map_err(cannot)?;
    let draft = beside(path, &format!(".new-{}", std::process::id()));
    let _ = std::fs::remove_file(&draft);
    private::file()
        .write(true)
        .create_new(true)
        .open(&draft)
        .map_err(cannot)?;
    armed.reach(Point::InitFile);
    let made = build(&draft, armed, for_tests).and_then(|()| {
        armed.reach(Point::InitBeforeName);
        let named = match name(&draft, path) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(error) => return Err(cannot(error)),
        };
        sync_folder(folder).map_err(cannot)?;
        Ok(named)
    });
    for suffix in ["", "-wal", "-shm", "-lock"] {
        let _ = std::fs::remove_file(beside(&draft, suffix));
    }
    armed.reach(Point::InitAfterName);
    made
}

/// Gives a file that is complete its name, unless something has it. The file has one name at every moment where the file system can do
/// that: with a second one, which whoever dies in between would leave behind, a store is refused.
fn name(draft: &Path, path: &Path) -> std::io::Result<()> {
    match renameat_with(CWD, draft, CWD, path, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            std::fs::hard_link(draft, path)?;
            std::fs::remove_file(draft)
        }
        named => named.map_err(Into::into),
    }
}

/// The folder that a file is in.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Has the names in a folder on disk. A file that is synced may still lose its name with the power.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all())
}

/// Makes a folder with those above it, such that none of them is lost with the power.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    let above = folder
        .ancestors()
        .filter(|above| !above.as_os_str().is_empty());
    let missing: Vec<&Path> = above.take_while(|above| !above.exists()).collect();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    missing
        .into_iter()
        .try_for_each(|made| sync_folder(folder_of(made)))?;
    // Somebody who died here may have made it just before.
    let _ = sync_folder(folder_of(folder));
    Ok(())
}

fn build(draft: &Path, armed: Armed, for_tests: bool) -> Result<(), StoreError> {
    let mut store = Sqlite::connect(draft, private::user())?;
    store.armed = armed;
    store.execute(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA application_id = {APPLICATION_ID};"
    ))?;
    for migration in MIGRATIONS {
        store.migrate(migration)?;
    }
    if for_tests {
        store.execute("INSERT INTO meta (name, value) VALUES ('purpose', 'test')")?;
    }
    // Its log goes with its draft's name, and what could not be moved out of it would be gone. That is no error to SQLite, which would
    // move it the next time.
    let moved = store
        .connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    let left: i64 = moved.map_err(|error| store.failed(&error))?;
    if left != 0 {
        return Err(StoreError::Database(format!(
            "cannot make {}: its log could not be moved into it",
            draft.display()
        )));
    }
    drop(store);
    let synced = File::open(draft).and_then(|file| file.sync_all());
    synced.map_err(|error| StoreError::of_file(format!("cannot make {}", draft.display()), &error))
}

/// Copies a live database by SQLite's backup API into a new file.
pub(super) fn backup(
    from: &Connection,
    place: &Path,
    to: &Path,
    armed: Armed,
) -> Result<(), StoreError> {
    let cannot = |error: std::io::Error| {
        StoreError::of_file(format!("cannot write {}", to.display()), &error)
    };
    if std::fs::symlink_metadata(to).is_ok() {
        return Err(cannot(ErrorKind::AlreadyExists.into()));
    }
    let draft = beside(to, &format!(".new-{}", std::process::id()));
    let _ = std::fs::remove_file(&draft);
    private::file()
        .write(true)
        .create_new(true)
        .open(&draft)
        .map_err(cannot)?;
    let copy = || -> rusqlite::Result<()> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut target = Connection::open_with_flags(private::plain(&draft), flags)?;
        let backup = Backup::new(from, &mut target)?;
        if planted("copy_in_steps") {
            return backup.run_to_completion(64, Duration::from_millis(1), None);
        }
        // All of it from one snapshot, which holds no writer up. In steps, each write of another process between two of them makes
        // SQLite begin anew, and a store that is always written to is never copied.
        match backup.step(-1)? {
            StepResult::Done => Ok(()),
            _ => Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
                None,
            )),
        }
    };
    let copied = copy()
        .map_err(|error| database(place, &error))
        .and_then(|()| {
            File::open(&draft)
                .and_then(|file| file.sync_all())
                .map_err(cannot)?;
            armed.reach(Point::BackupBeforeName);
            name(&draft, to).map_err(cannot)?;
            armed.reach(Point::BackupAfterName);
            sync_folder(folder_of(to)).map_err(cannot)
        });
    let _ = std::fs::remove_file(&draft);
    copied
}

/// File systems whose locks and shared memory do not hold between machines, by statfs number.
const NETWORK: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x5346_414f, "AFS"),
    (0x00c3_6400, "Ceph"),
    (0x7461_636f, "OCFS2"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
];

/// The name of the network file system that holds `path`, if one does. `pretended` stands in for the
/// system's answer on stores made for tests.
#[cfg(target_os = "linux")]
pub(crate) fn is_network_fs(path: &Path, pretended: Option<u64>) -> Option<&'static str> {
    let magic = match pretended {
        Some(magic) => magic,
        None => magic_of(path)?,
    };
    NETWORK
        .iter()
        .find(|(number, _)| *number == magic)
        .map(|(_, name)| *name)
}

/// The name of the network file system that holds `path`, if one does.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_network_fs(_path: &Path, _pretended: Option<u64>) -> Option<&'static str> {
    None
}

#[cfg(target_os = "linux")]
#[expect(clippy::cast_sign_loss, reason = "the number is a bit pattern")]
fn magic_of(path: &Path) -> Option<u64> {
    rustix::fs::statfs(path)
        .ok()
        .map(|found| found.f_type as u64 & 0xffff_ffff)
}

/// What holds `path`, in words.
pub(crate) fn fs_kind(path: &Path) -> String {
    match is_network_fs(path, None) {
        Some(name) => format!("network ({name})"),
        None => "local".to_owned(),
    }
}
