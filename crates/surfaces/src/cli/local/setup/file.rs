//! Files that are read and replaced as a whole: a reader sees the old text or the new one, never half of it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use inbox_core::{Code, Refusal};
use sha2::{Digest, Sha256};

/// The most that a configuration may have, in bytes: it is written by hand.
const MOST: u64 = 4 << 20;

/// Where a path leads to: links are followed, so that the file behind one is replaced and the link stays. A file that
/// is not there yet has the name that it will have then.
pub(super) fn real(path: &Path) -> PathBuf {
    if let Ok(found) = fs::canonicalize(path) {
        return found;
    }
    if let Ok(to) = fs::read_link(path) {
        let folder = path.parent().unwrap_or(Path::new("."));
        return folder.join(to);
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if !folder.as_os_str().is_empty() => real(folder).join(name),
        _ => path.to_owned(),
    }
}

/// A file's text; nothing when there is no file.
pub(super) fn text_of(path: &Path) -> Result<Option<String>, Refusal> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot(path, &error)),
    };
    let mut text = String::new();
    let read = file.take(MOST + 1).read_to_string(&mut text);
    match read {
        Ok(read) if read as u64 > MOST => {
            Err(cannot(path, &format!("it has more than {MOST} bytes")))
        }
        Ok(_) => Ok(Some(text)),
        Err(error) => Err(cannot(path, &error)),
    }
}

/// Whether its owner has made it read-only. The folder would let us replace it all the same.
pub(super) fn is_read_only(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o200 == 0)
}

/// Puts a text in the place of a file: written beside it, synced, renamed. An old file's mode is kept; a new one
/// has `mode`, less what the user's mask takes away.
pub(super) fn replace(path: &Path, text: &str, mode: u32) -> Result<(), Refusal> {
    let at = |error: &std::io::Error| cannot(path, error);
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.inbox-{}", std::process::id()));
    let _ = fs::remove_file(&beside);
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&beside)?;
        file.write_all(text.as_bytes())?;
        if let Ok(old) = fs::metadata(path) {
            file.set_permissions(Permissions::from_mode(old.permissions().mode()))?;
        }
        file.sync_all()?;
        fs::rename(&beside, path)?;
        File::open(folder)?.sync_all()
    })();
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        at(&error)
    })
}

/// Makes a folder and those above it; gives those that were not there, the outermost first.
pub(super) fn make_folder(folder: &Path, mode: u32) -> Result<Vec<PathBuf>, Refusal> {
    use std::os::unix::fs::DirBuilderExt;
    let mut missing: Vec<PathBuf> = folder
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(folder)
        .map_err(|error| cannot(folder, &error))?;
    Ok(missing)
}

/// Takes a file away; one that is gone already is fine.
pub(super) fn remove(path: &Path) -> Result<(), Refusal> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(cannot(path, &error)),
        _ => Ok(()),
    }
}

/// What a text is recognised by.
pub(super) fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn cannot(path: &Path, error: &dyn std::fmt::Display) -> Refusal {
    let message = format!("{} cannot be used: {error}", path.display());
    Refusal::new(Code::Storage, message)
        .hint(format!(
            "ls -l {} shows who may write there",
            path.display()
        ))
        .detail("path", path.display().to_string())
}
