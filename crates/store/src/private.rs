//! Files and folders with mail in them: nobody else gets at them, whatever the umask, and what lies in their place and is
//! somebody else's is not touched.
//!
//! A folder may come from anybody: a repository that was cloned, an archive that was unpacked. A name in it may be a link to any
//! file of the user, a second name of one, or a pipe that nobody writes to. So what is opened beside a store is a regular file
//! with one name, and belongs to who runs this, to root, or to whose the store is.

use std::borrow::Cow;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, flock, openat, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

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

/// Keeps a folder to oneself among those who ask for the same, until the file is closed; nothing when another does. Where a file
/// system has no such locks, everybody gets it.
pub fn lock_folder(path: &Path) -> io::Result<Option<File>> {
    let folder = File::open(path)?;
    let locked = flock(&folder, FlockOperation::NonBlockingLockExclusive);
    Ok((locked != Err(Errno::WOULDBLOCK)).then_some(folder))
}

/// Writes a whole file anew. What had its name before keeps its content, whatever it is.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    use io::Write;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    file()
        .write(true)
        .create_new(true)
        .open(path)?
        .write_all(content)
}

/// Opens a file that is ours, or makes it where `how` says so. Never waits, as for the other end of a pipe.
pub fn open(how: &mut OpenOptions, path: &Path) -> io::Result<File> {
    open_of(how, path, user())
}

/// The same, where the files of `owner` are ours too.
pub(crate) fn open_of(how: &mut OpenOptions, path: &Path, owner: u32) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = how.custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP | Errno::MLINK) => not_ours(path, "is a symbolic link"),
        // What a pipe without a reader, a socket and a folder say.
        Some(Errno::NXIO | Errno::ISDIR | Errno::OPNOTSUPP) => {
            not_ours(path, "is not a regular file")
        }
        _ => error,
    })?;
    must_be_ours(path, &file.metadata()?, owner)?;
    Ok(file)
}

/// Reads a file that is ours and has no more than `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bounded(open(OpenOptions::new().read(true), path)?, most)
}

/// Reads a regular file, whoever it belongs to and whatever leads to it, that has no more than `most` bytes.
pub fn read_any(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bounded(open_any(path)?, most)
}

/// Opens a regular file to read it, whoever it belongs to and whatever leads to it.
pub fn open_any(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(not_ours(path, "is not a regular file"));
    }
    Ok(file)
}

/// How many bytes a regular file has, and their SHA-256 in hexadecimal digits, unless there are more than `most`. Both are of the
/// very bytes that were read: a name may lead elsewhere from one moment to the next, and a file may grow.
pub fn measure(path: &Path, most: u64) -> io::Result<(u64, String)> {
    // Asked by the name first: a device may do anything when it is opened.
    if !std::fs::metadata(path)?.is_file() {
        return Err(not_ours(path, "is not a regular file"));
    }
    measured(open_any(path)?, most)
}

/// The same of a file in a folder, by the names that lead to it from there. None of them is followed if it is a link, whatever it was a
/// moment ago.
pub fn measure_beneath(folder: &Path, way: &Path, most: u64) -> io::Result<(u64, String)> {
    let mut at = File::open(folder)?;
    let mut names = way.components().peekable();
    while let Some(name) = names.next() {
        let Component::Normal(name) = name else {
            return Err(not_ours(way, "is no way into the folder"));
        };
        let is_last = names.peek().is_none();
        // Asked by the name first: a device may do anything when it is opened.
        let kind = FileType::from_raw_mode(statat(&at, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
        let wanted = if is_last {
            FileType::RegularFile
        } else {
            FileType::Directory
        };
        if kind != wanted {
            return Err(not_ours(way, "is not a regular file"));
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        at = openat(&at, name, flags, Mode::empty())?.into();
    }
    if !at.metadata()?.is_file() {
        return Err(not_ours(way, "is not a regular file"));
    }
    measured(at, most)
}

fn measured(file: File, most: u64) -> io::Result<(u64, String)> {
    use std::fmt::Write;
    let too_large = || {
        let problem = format!("it has more than {most} bytes");
        io::Error::new(ErrorKind::FileTooLarge, problem)
    };
    // What says that it is empty may have something all the same, as under /proc.
    if file.metadata()?.len() > most {
        return Err(too_large());
    }
    let mut file = file.take(most.saturating_add(1));
    let (mut size, mut hash) = (0, Sha256::new());
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                hash.update(&buffer[..read]);
                size += read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    if size > most {
        return Err(too_large());
    }
    let hex = hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    Ok((size, hex))
}

/// All that there is to read, unless it is more than `most` bytes: then [`ErrorKind::FileTooLarge`].
pub fn bounded(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let problem = format!("it has more than {most} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

/// Who runs this.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether a name leads to nothing, or to a file that is ours. It is not followed.
pub(crate) fn must_be_ours_or_nothing(path: &Path, owner: u32) -> io::Result<Option<Metadata>> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(found) => must_be_ours(path, &found, owner).map(|()| Some(found)),
    }
}

fn must_be_ours(path: &Path, found: &Metadata, owner: u32) -> io::Result<()> {
    if found.is_symlink() {
        return Err(not_ours(path, "is a symbolic link"));
    }
    if !found.is_file() {
        return Err(not_ours(path, "is not a regular file"));
    }
    if found.nlink() > 1 {
        return Err(not_ours(path, "has a second name elsewhere"));
    }
    if !is_trusted(found.uid(), owner) {
        let problem = format!("belongs to another user ({})", found.uid());
        return Err(not_ours(path, &problem));
    }
    Ok(())
}

fn is_trusted(uid: u32, owner: u32) -> bool {
    uid == owner || uid == 0 || uid == user()
}

/// Whether what SQLite opens beside a database of `owner` is the database's own. SQLite follows no links to it, but takes pipes
/// for logs, and files that have another name elsewhere. No journal may be there: databases here have logs instead, and SQLite would play
/// it into the database, and look at the file that it names.
pub fn may_sqlite_open(path: &Path, owner: u32) -> io::Result<()> {
    for suffix in ["-wal", "-shm", "-journal"] {
        let name = beside(path, suffix);
        let found = must_be_ours_or_nothing(&name, owner)?;
        if suffix == "-journal" && found.is_some_and(|found| found.len() > 0) {
            return Err(not_ours(
                &name,
                "is a journal, as no version of inbox writes one",
            ));
        }
    }
    Ok(())
}

/// A file beside another one.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A path as SQLite takes it for one: what begins like a URI or a keyword of its own is neither.
pub fn plain(path: &Path) -> Cow<'_, Path> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() || bytes.starts_with(b"file:") || bytes.starts_with(b":") {
        Path::new(".").join(path).into()
    } else {
        path.into()
    }
}

/// Why something that was found, and not named, is not to be trusted: somebody else can put into it what they like.
pub fn distrust(path: &Path) -> io::Result<Option<String>> {
    let found = std::fs::metadata(path)?;
    let user = user();
    let place = path.display();
    if !is_trusted(found.uid(), user) {
        return Ok(Some(format!(
            "{place} belongs to another user ({})",
            found.uid()
        )));
    }
    // Where each user has a group of the same number, that group is nobody else.
    let is_own_group = found.gid() == user && rustix::process::getegid().as_raw() == user;
    let others = if is_own_group { 0o002 } else { 0o022 };
    if found.mode() & others != 0 {
        return Ok(Some(format!(
            "{place} can be written by others (mode {:o})",
            found.mode() & 0o7777
        )));
    }
    Ok(None)
}

/// What is wrong with a file that is not taken for ours.
#[derive(Debug)]
pub struct NotOurs(String);

impl std::fmt::Display for NotOurs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotOurs {}

/// The error of a file that is not taken for ours.
pub(crate) fn not_ours(path: &Path, problem: &str) -> io::Error {
    io::Error::other(NotOurs(format!("{} {problem}", path.display())))
}

/// Whether a file was not opened because it is not ours.
pub fn is_not_ours(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NotOurs>())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(std::path::PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn folder(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("inbox-{name}-{}", std::process::id()));
        make_folder(&path).unwrap();
        Folder(path)
    }

    #[test]
    fn what_is_another_file_by_any_way_is_not_opened_and_stays_as_it_is() {
        let folder = folder("private");
        let victim = folder.0.join("victim");
        let names = ["link", "second", "pipe", "folder", "nowhere"].map(|name| folder.0.join(name));
        let [link, second, pipe, inner, nowhere] = &names;
        std::fs::write(folder.0.join("other"), "kept").unwrap();
        std::fs::write(&victim, "kept").unwrap();
        std::os::unix::fs::symlink(folder.0.join("other"), link).unwrap();
        std::os::unix::fs::symlink(folder.0.join("none"), nowhere).unwrap();
        std::fs::hard_link(&victim, second).unwrap();
        let made = std::process::Command::new("mkfifo").arg(pipe).status();
        assert!(made.unwrap().success());
        std::fs::create_dir(inner).unwrap();
        for name in &names {
            for how in [
                file().write(true).create(true),
                file().read(true).write(true).create(true),
                file().append(true).create(true),
            ] {
                let error = open(how, name).unwrap_err();
                assert!(is_not_ours(&error), "{}: {error}", name.display());
            }
            assert!(read(name, 100).is_err());
            assert!(must_be_ours_or_nothing(name, user()).is_err());
        }
        assert!(!folder.0.join("none").exists());
        for kept in [&victim, &folder.0.join("other")] {
            assert_eq!(std::fs::read(kept).unwrap(), b"kept");
        }
        write(link, b"new").unwrap();
        assert_eq!(std::fs::read(folder.0.join("other")).unwrap(), b"kept");
        assert_eq!(read(link, 3).unwrap(), b"new");
    }

    #[test]
    fn no_more_is_read_than_may_be() {
        assert_eq!(bounded(&b"1234"[..], 4).unwrap(), b"1234");
        let error = bounded(io::repeat(0), 1000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(read_any(Path::new("/dev/zero"), 10).is_err());
        let folder = folder("measured");
        let file = folder.0.join("file");
        std::fs::write(&file, "abc").unwrap();
        let (size, hash) = measure(&file, 3).unwrap();
        assert_eq!(size, 3);
        assert!(hash.starts_with("ba7816bf"), "{hash}");
        let error = measure(&file, 2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(measure(Path::new("/dev/zero"), 10).is_err());
        assert!(measure(&folder.0, 10).is_err());
        // It says that it is empty, and is not.
        assert!(measure(Path::new("/proc/self/stat"), 10_000).unwrap().0 > 0);
        assert!(measure(Path::new("/proc/self/stat"), 10).is_err());
    }
}
