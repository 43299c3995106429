//! Files and folders with mail in them: nobody else gets at them, whatever the umask.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// How to open a file that is private if it is made now.
pub fn file() -> OpenOptions {
    let mut how = OpenOptions::new();
    how.mode(0o600);
    how
}

/// Makes a folder and those above it that are missing.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a whole file, of which nothing was there before.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    use io::Write;
    file()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?
        .write_all(content)
}
