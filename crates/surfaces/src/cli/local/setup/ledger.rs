//! What `setup` wrote and what was there before, so that `--remove` can put it back byte for byte.
//!
//! It is kept in the user's own state folder, readable by nobody else: configurations may hold secrets. Without
//! it nothing is lost but exactness; `--remove` then takes out what it recognises as ours.

use std::path::{Path, PathBuf};

use inbox_core::Refusal;
use serde::{Deserialize, Serialize};

use super::client::Client;
use super::file;

/// The whole of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ledger {
    #[serde(default)]
    entries: Vec<Entry>,
    #[serde(skip)]
    folder: PathBuf,
}

/// One file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Where it is, links followed.
    pub(super) path: PathBuf,
    /// The clients that it was written for.
    pub(super) clients: Vec<String>,
    /// The name of the copy of what was there before; nothing when there was no file.
    pub(super) backup: Option<String>,
    /// The hash of what was written.
    pub(super) wrote: String,
    /// The folders that were made for it, the outermost first.
    pub(super) folders: Vec<PathBuf>,
}

impl Ledger {
    pub(super) fn open(folder: &Path) -> Result<Self, Refusal> {
        let text = file::text_of(&folder.join("ledger.json"))?;
        let mut ledger: Ledger = match text {
            None => Ledger::default(),
            Some(text) => serde_json::from_str(&text).map_err(|error| {
                let path = folder.join("ledger.json");
                file::cannot(&path, &error).hint(format!(
                    "mv {} away; inbox setup --remove then takes out what it recognises",
                    path.display()
                ))
            })?,
        };
        folder.clone_into(&mut ledger.folder);
        Ok(ledger)
    }

    pub(super) fn find(&self, path: &Path) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.path == path)
    }

    /// What was there before, as it was.
    pub(super) fn before(&self, entry: &Entry) -> Result<Option<String>, Refusal> {
        match &entry.backup {
            None => Ok(None),
            Some(name) => {
                let path = self.folder.join(name);
                let found = file::text_of(&path)?;
                found.map(Some).ok_or_else(|| {
                    file::cannot(&path, &"the copy of the file as it was is gone")
                        .hint("inbox setup again makes a new one")
                })
            }
        }
    }

    /// The copy of a file as it was, for people.
    pub(super) fn backup_path(&self, entry: &Entry) -> Option<PathBuf> {
        entry.backup.as_ref().map(|name| self.folder.join(name))
    }

    /// Writes down what is about to be written, before it is.
    pub(super) fn note(
        &mut self,
        path: &Path,
        client: Client,
        before: Option<&str>,
        after: &str,
        folders: Vec<PathBuf>,
    ) -> Result<(), Refusal> {
        file::make_folder(&self.folder, 0o700)?;
        let old = self.find(path).cloned();
        let backup = match before {
            None => None,
            Some(text) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let place = file::hash(&path.display().to_string());
                let name = format!("{}-{name}", &place[..12]);
                file::replace(&self.folder.join(&name), text, 0o600)?;
                Some(name)
            }
        };
        let mut clients = old.as_ref().map_or(Vec::new(), |old| old.clients.clone());
        if !clients.iter().any(|name| name == client.name()) {
            clients.push(client.name().to_owned());
        }
        let folders = match old {
            Some(old) if folders.is_empty() => old.folders,
            _ => folders,
        };
        self.entries.retain(|entry| entry.path != path);
        self.entries.push(Entry {
            path: path.to_owned(),
            clients,
            backup,
            wrote: file::hash(after),
            folders,
        });
        self.save()
    }

    /// Adds a client that uses a file as it is.
    pub(super) fn share(&mut self, path: &Path, client: Client) -> Result<(), Refusal> {
        let entry = self.entries.iter_mut().find(|entry| entry.path == path);
        match entry {
            Some(entry) if !entry.clients.iter().any(|name| name == client.name()) => {
                entry.clients.push(client.name().to_owned());
                self.save()
            }
            _ => Ok(()),
        }
    }

    /// Forgets a client of a file, and the file with the last of them.
    pub(super) fn forget(&mut self, path: &Path, client: Client) -> Result<(), Refusal> {
        let Some(at) = self.entries.iter().position(|entry| entry.path == path) else {
            return Ok(());
        };
        self.entries[at]
            .clients
            .retain(|name| name != client.name());
        if self.entries[at].clients.is_empty() {
            let entry = self.entries.remove(at);
            if let Some(backup) = self.backup_path(&entry) {
                file::remove(&backup)?;
            }
        }
        self.save()
    }

    fn save(&self) -> Result<(), Refusal> {
        let path = self.folder.join("ledger.json");
        if self.entries.is_empty() {
            file::remove(&path)?;
            // Ours, and the one above it that other parts of inbox may use.
            let _ = std::fs::remove_dir(&self.folder);
            let _ = self.folder.parent().map(std::fs::remove_dir);
            return Ok(());
        }
        let text =
            serde_json::to_string_pretty(self).map_err(|error| file::cannot(&path, &error))?;
        file::replace(&path, &format!("{text}\n"), 0o600)
    }
}
