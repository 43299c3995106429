//! What a call means: numbers and addresses become paths and bytes.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::unistd::Pid;

use super::cpu::Registers;
use super::{Call, Inode, PATH_LONGEST};

/// The standard output of a process.
const OUT: i32 = 1;

/// What can be seen of a process that stands still.
pub(super) struct Sight<'a> {
    pub(super) pid: Pid,
    /// Only what is below this folder is of interest.
    pub(super) root: &'a Path,
    /// Whether reads and locks are of interest.
    pub(super) sees_all: bool,
}

/// A call of interest, and which argument has to be spoilt for it to fail without an effect.
pub(super) struct Found {
    pub(super) call: Call,
    pub(super) spoilt: usize,
}

impl Sight<'_> {
    /// The call that is about to happen, if it is of interest.
    pub(super) fn call(&self, registers: &Registers) -> Option<Found> {
        let argument = |place| registers.argument(place);
        let found = |call| Some(Found { call, spoilt: 0 });
        let by_path = |spoilt, call| Some(Found { call, spoilt });
        match registers.number() {
            libc::SYS_write => {
                self.write(argument(0), None, || self.bytes(argument(1), argument(2)))
            }
            libc::SYS_pwrite64 => self.write(argument(0), Some(argument(3)), || {
                self.bytes(argument(1), argument(2))
            }),
            libc::SYS_writev => self.write(argument(0), None, || {
                self.gathered(argument(1), argument(2))
            }),
            libc::SYS_pwritev | libc::SYS_pwritev2 => {
                self.write(argument(0), Some(argument(3)), || {
                    self.gathered(argument(1), argument(2))
                })
            }
            libc::SYS_read | libc::SYS_pread64 | libc::SYS_flock | libc::SYS_fcntl => {
                self.sees_all.then_some(())?;
                self.unchanging(registers)
            }
            libc::SYS_ftruncate => {
                let (inode, _) = self.file(argument(0))?;
                let length = argument(1);
                found(Call::Resize { inode, length })
            }
            libc::SYS_fallocate => self.allocate(registers),
            libc::SYS_fsync | libc::SYS_fdatasync => {
                let (inode, path) = self.file(argument(0))?;
                found(Call::Sync { inode, path })
            }
            libc::SYS_openat => by_path(
                1,
                self.open(self.path_at(argument(0), argument(1))?, argument(2)),
            ),
            libc::SYS_mkdirat => {
                by_path(1, Call::MakeFolder(self.path_at(argument(0), argument(1))?))
            }
            libc::SYS_unlinkat => by_path(1, Call::Unlink(self.path_at(argument(0), argument(1))?)),
            libc::SYS_linkat => by_path(
                1,
                Call::Link(
                    self.path_at(argument(0), argument(1))?,
                    self.path_at(argument(2), argument(3))?,
                ),
            ),
            libc::SYS_renameat2 => by_path(1, self.rename_at(registers)?),
            libc::SYS_mmap => self.map(registers),
            number @ (libc::SYS_copy_file_range | libc::SYS_sendfile | libc::SYS_splice) => {
                let to = if number == libc::SYS_sendfile { 0 } else { 2 };
                let (_, path) = self.file(argument(to))?;
                found(Call::Strange(format!(
                    "call {number} into {}",
                    path.display()
                )))
            }
            number => self.older(number, registers),
        }
    }

    /// Calls that newer processors never had.
    #[cfg(target_arch = "x86_64")]
    fn older(&self, number: i64, registers: &Registers) -> Option<Found> {
        let path = |place| self.path(registers.argument(place));
        let call = match number {
            libc::SYS_open => self.open(path(0)?, registers.argument(1)),
            libc::SYS_mkdir => Call::MakeFolder(path(0)?),
            libc::SYS_unlink | libc::SYS_rmdir => Call::Unlink(path(0)?),
            libc::SYS_link => Call::Link(path(0)?, path(1)?),
            libc::SYS_rename => Call::Rename(path(0)?, path(1)?),
            libc::SYS_renameat => self.rename_at(registers)?,
            libc::SYS_truncate | libc::SYS_creat | libc::SYS_symlink => {
                Call::Strange(format!("call {number} on {}", path(0)?.display()))
            }
            _ => return None,
        };
        let spoilt = usize::from(number == libc::SYS_renameat);
        Some(Found { call, spoilt })
    }

    /// Calls that newer processors never had.
    #[cfg(target_arch = "aarch64")]
    fn older(&self, number: i64, registers: &Registers) -> Option<Found> {
        (number == libc::SYS_renameat).then_some(())?;
        let call = self.rename_at(registers)?;
        Some(Found { call, spoilt: 1 })
    }

    fn rename_at(&self, registers: &Registers) -> Option<Call> {
        Some(Call::Rename(
            self.path_at(registers.argument(0), registers.argument(1))?,
            self.path_at(registers.argument(2), registers.argument(3))?,
        ))
    }

    fn write(
        &self,
        fd: u64,
        at: Option<u64>,
        bytes: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Found> {
        let Some((inode, path)) = self.file(fd) else {
            (number_of(fd) == OUT).then_some(())?;
            let call = Call::Say(bytes()?);
            return Some(Found { call, spoilt: 0 });
        };
        let offset = match at {
            Some(at) => at,
            None => self.position(fd, inode)?,
        };
        let call = Call::Write {
            inode,
            path,
            offset,
            bytes: bytes()?,
        };
        Some(Found { call, spoilt: 0 })
    }

    /// What changes nothing in a file: a read, or a lock that is taken.
    fn unchanging(&self, registers: &Registers) -> Option<Found> {
        let argument = |place| registers.argument(place);
        let asks = match registers.number() {
            libc::SYS_flock => number_of(argument(1)) & libc::LOCK_UN == 0,
            libc::SYS_fcntl => {
                let sets = [
                    libc::F_SETLK,
                    libc::F_SETLKW,
                    libc::F_OFD_SETLK,
                    libc::F_OFD_SETLKW,
                ];
                // Which sort of lock is what its description begins with.
                let sort = sets.contains(&number_of(argument(1)));
                let sort = sort.then(|| self.bytes(argument(2), 2)).flatten()?;
                sort != u16::try_from(libc::F_UNLCK).ok()?.to_ne_bytes()
            }
            _ => true,
        };
        asks.then_some(())?;
        let (_, path) = self.file(argument(0))?;
        let call = match registers.number() {
            libc::SYS_read | libc::SYS_pread64 => Call::Read {
                path,
                length: argument(2),
            },
            _ => Call::Lock(path),
        };
        Some(Found { call, spoilt: 0 })
    }

    /// Room that is set aside. Only what makes a file longer changes what is in it.
    fn allocate(&self, registers: &Registers) -> Option<Found> {
        let (inode, path) = self.file(registers.argument(0))?;
        let end = registers.argument(2) + registers.argument(3);
        let call = if registers.argument(1) == 0 {
            let length = end.max(std::fs::metadata(&path).map_or(0, |found| found.len()));
            Call::Resize { inode, length }
        } else {
            Call::Strange(format!("a hole in {}", path.display()))
        };
        Some(Found { call, spoilt: 0 })
    }

    fn map(&self, registers: &Registers) -> Option<Found> {
        let flag = |value: i32| u64::try_from(value).unwrap_or_default();
        let is_shared = registers.argument(3) & flag(libc::MAP_SHARED) != 0;
        let is_written = registers.argument(2) & flag(libc::PROT_WRITE) != 0;
        (is_shared && is_written).then_some(())?;
        let (inode, _) = self.file(registers.argument(4))?;
        // A mapping that fails is a matter of memory and not of disks: it is only noted.
        let call = Call::Map(inode);
        Some(Found { call, spoilt: 4 })
    }

    fn open(&self, path: PathBuf, flags: u64) -> Call {
        let has = |flag: i32| flags & u64::try_from(flag).unwrap_or_default() != 0;
        Call::Open {
            makes: has(libc::O_CREAT),
            empties: has(libc::O_TRUNC),
            was_there: path.symlink_metadata().is_ok(),
            path,
        }
    }

    /// The file behind a descriptor, if it is below the root.
    pub(super) fn file(&self, fd: u64) -> Option<(Inode, PathBuf)> {
        let link = self.link(fd);
        let path = std::fs::read_link(&link).ok()?;
        if !path.starts_with(self.root) {
            return None;
        }
        // It may have no name any more.
        let found = std::fs::metadata(&link).ok()?;
        Some((Inode(found.dev(), found.ino()), path))
    }

    fn link(&self, fd: u64) -> String {
        format!("/proc/{}/fd/{}", self.pid, number_of(fd))
    }

    /// Where a plain write goes.
    fn position(&self, fd: u64, inode: Inode) -> Option<u64> {
        let info = format!("/proc/{}/fdinfo/{}", self.pid, number_of(fd));
        let info = std::fs::read_to_string(info).ok()?;
        let field = |name: &str| {
            let line = info.lines().find(|line| line.starts_with(name))?;
            Some(line[name.len()..].trim().to_owned())
        };
        let flags = i32::from_str_radix(&field("flags:")?, 8).ok()?;
        if flags & libc::O_APPEND != 0 {
            let found = std::fs::metadata(self.link(fd)).ok()?;
            debug_assert_eq!(found.ino(), inode.1);
            return Some(found.len());
        }
        field("pos:")?.parse().ok()
    }

    /// A path that is given from the working folder on.
    #[cfg(target_arch = "x86_64")]
    fn path(&self, address: u64) -> Option<PathBuf> {
        self.path_from(None, address)
    }

    /// A path that is given from a folder on.
    fn path_at(&self, folder: u64, address: u64) -> Option<PathBuf> {
        let is_working = number_of(folder) == libc::AT_FDCWD;
        self.path_from((!is_working).then_some(folder), address)
    }

    fn path_from(&self, folder: Option<u64>, address: u64) -> Option<PathBuf> {
        let written = PathBuf::from(std::ffi::OsString::from_vec(self.text(address)?));
        let from = match folder {
            Some(folder) => self.link(folder),
            None => format!("/proc/{}/cwd", self.pid),
        };
        let whole = if written.is_absolute() {
            written
        } else {
            std::fs::read_link(from).ok()?.join(written)
        };
        // Names without `.` at their ends, as links of descriptors have them.
        let whole: PathBuf = whole.components().collect();
        whole.starts_with(self.root).then_some(whole)
    }

    fn memory(&self) -> Option<File> {
        File::open(format!("/proc/{}/mem", self.pid)).ok()
    }

    fn bytes(&self, address: u64, length: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.memory()?.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }

    /// The bytes of several places.
    fn gathered(&self, address: u64, count: u64) -> Option<Vec<u8>> {
        let list = self.bytes(address, count.checked_mul(16)?)?;
        let (words, _) = list.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let mut all = Vec::new();
        for place in words.chunks_exact(2) {
            all.extend(self.bytes(place[0], place[1])?);
        }
        Some(all)
    }

    /// Text that ends with a zero.
    fn text(&self, address: u64) -> Option<Vec<u8>> {
        let memory = self.memory()?;
        let mut text = Vec::new();
        while text.len() < PATH_LONGEST {
            // Not across a page's end: the next one may not be there.
            let at = address + u64::try_from(text.len()).ok()?;
            let left = usize::try_from(256 - at % 256).ok()?;
            let mut piece = vec![0; left];
            let read = memory.read_at(&mut piece, at).ok()?;
            if let Some(end) = piece[..read].iter().position(|byte| *byte == 0) {
                text.extend_from_slice(&piece[..end]);
                return Some(text);
            }
            text.extend_from_slice(&piece[..read]);
        }
        None
    }
}

/// A descriptor, which is the lower half of its register.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the upper half has no meaning"
)]
pub(super) fn number_of(register: u64) -> i32 {
    register as i32
}

/// What a pipe has.
pub(super) fn all_of(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
