//! Where the scratch stores of a run are: a folder beside the store, and on PostgreSQL schemas of its database. A lock that the
//! living hold tells what a run that was killed has left, which the next one takes away.

use std::fs::File;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use inbox_core::{Code, Refusal};
use inbox_store::{Location, Store};
use rustix::fs::{FlockOperation, flock};

use crate::keeper::Keeper;
use crate::reach::{absolute, with_schema};

/// What a scratch folder's name begins with.
const FOLDER: &str = ".inbox-torture-";

/// What a scratch schema's name begins with.
const SCHEMA: &str = "inbox_torture_";

/// The file that a living run holds locked. What is to be kept has none, and neither this run's keeper nor a later run takes it away.
const LOCK: &str = "lock";

/// The file that says beside which store the run was.
const BESIDE: &str = "beside";

/// Where all scratch stores of one run are.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    beside: Location,
    name: String,
    pub(crate) made: Mutex<Vec<Location>>,
    is_kept: bool,
    keeper: Keeper,
    /// Held as long as the run lives.
    _lock: File,
    removed: Vec<String>,
}

impl Scratch {
    /// A folder beside the named store, and for PostgreSQL schemas of its database. `name` tells this run from others. What runs
    /// that were killed have left there goes first.
    pub fn beside(named: &Location, name: &str, program: &Path) -> Result<Self, Refusal> {
        let parent = match named {
            Location::File(path) => match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
                _ => PathBuf::from("."),
            },
            Location::Postgres(_) => std::env::temp_dir(),
        };
        let parent = std::path::absolute(parent)
            .map_err(|error| cannot("the folder for the torture", &error))?;
        let beside = absolute(named);
        let removed = sweep_all(&parent, &beside);
        let folder = parent.join(format!("{FOLDER}{name}"));
        let failed = |error: std::io::Error| cannot(&folder.display().to_string(), &error);
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(failed)?;
        let prepared = lock(&folder, &beside).map_err(failed).and_then(|lock| {
            let keeper = Keeper::start(program, &folder, &beside, &lock)?;
            Ok((lock, keeper))
        });
        let (lock, keeper) = prepared.inspect_err(|_| {
            let _ = std::fs::remove_dir_all(&folder);
        })?;
        Ok(Scratch {
            folder,
            beside,
            name: name.to_owned(),
            made: Mutex::default(),
            is_kept: false,
            keeper,
            _lock: lock,
            removed,
        })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The group of processes that everything which is started belongs to.
    pub(crate) fn group(&self) -> i32 {
        self.keeper.group()
    }

    /// What runs that were killed had left, and is gone now.
    pub fn removed(&self) -> &[String] {
        &self.removed
    }

    /// Leaves everything as it is from now on, however the run ends.
    pub fn keep(&mut self) {
        self.is_kept = true;
        let _ = std::fs::remove_file(self.folder.join(LOCK));
    }

    /// What is left to be looked at, and where it is.
    pub fn kept(&mut self) -> Vec<String> {
        if !self.is_kept {
            return Vec::new();
        }
        let stores = self.made.get_mut().map(std::mem::take).unwrap_or_default();
        let served = stores
            .iter()
            .filter(|store| matches!(store, Location::Postgres(_)));
        // Somebody may have taken it away.
        let folder = self
            .folder
            .exists()
            .then(|| self.folder.display().to_string());
        folder
            .into_iter()
            .chain(served.map(Location::named))
            .collect()
    }

    /// Where a store of this name would be.
    pub(crate) fn location(&self, folder: &Path, name: &str) -> Location {
        match &self.beside {
            Location::File(_) => Location::File(folder.join("store.db")),
            Location::Postgres(url) => {
                let schema = format!("{SCHEMA}{}_{name}", self.name).replace('-', "_");
                Location::Postgres(with_schema(url, &schema))
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is killed writes no more.
        self.keeper.dismiss();
        if self.is_kept {
            return;
        }
        let made = self.made.get_mut().map(std::mem::take).unwrap_or_default();
        for location in made {
            if matches!(location, Location::Postgres(_)) {
                let _ = Store::remove_for_tests(&location);
            }
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Says in a new folder that somebody lives there. The lock has its name when it is held, and not before.
fn lock(folder: &Path, beside: &Location) -> std::io::Result<File> {
    std::fs::write(folder.join(BESIDE), beside.named())?;
    let making = folder.join("lock.new");
    let lock = File::create(&making)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    std::fs::rename(making, folder.join(LOCK))?;
    Ok(lock)
}

/// Takes away what dead runs of this user have left in a folder, as far as it is beside the same store. What that was.
fn sweep_all(parent: &Path, beside: &Location) -> Vec<String> {
    let mut removed = Vec::new();
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let folder = entry.path();
        let is_scratch = entry.file_name().to_string_lossy().starts_with(FOLDER);
        if is_scratch && is_left(&folder, beside) {
            sweep(&folder, beside);
            removed.push(folder.display().to_string());
        }
    }
    removed
}

/// Whether a folder is this user's, was left by a run beside this store, and nobody lives there any more.
fn is_left(folder: &Path, beside: &Location) -> bool {
    let is_own = folder
        .symlink_metadata()
        .is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw());
    if !is_own {
        return false;
    }
    let Ok(lock) = File::open(folder.join(LOCK)) else {
        return false;
    };
    // Files need nothing but the folder; schemas are where they were made.
    let is_reached = std::fs::read_to_string(folder.join(BESIDE)).is_ok_and(|named| {
        !matches!(Location::parse(&named), Location::Postgres(_)) || named == beside.named()
    });
    is_reached && flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Whether a run's scratch folder is to be left as it is.
pub(crate) fn is_kept(folder: &Path) -> bool {
    folder.exists() && !folder.join(LOCK).exists()
}

/// Takes away a run's scratch folder and its schemas.
pub(crate) fn sweep(folder: &Path, beside: &Location) {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_prefix(FOLDER).unwrap_or_default();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Location::Postgres(url) = beside
        && is_name
    {
        let query = format!(
            "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, '{SCHEMA}{name}_') \
             AND pg_get_userbyid(nspowner) = current_user"
        );
        let Ok(found) = Store::look_around(beside, &query) else {
            // The folder stays, and with it the next run's knowledge of them.
            return;
        };
        for schema in found.into_iter().flatten().flatten() {
            let _ = Store::remove_for_tests(&Location::Postgres(with_schema(url, &schema)));
        }
    }
    if is_name {
        let _ = std::fs::remove_dir_all(folder);
    }
}

pub(crate) fn cannot(what: &str, error: &std::io::Error) -> Refusal {
    Refusal::new(Code::Storage, format!("{what} cannot be made: {error}"))
        .hint("inbox torture --db PATH names a store in a folder that can be written to")
}
