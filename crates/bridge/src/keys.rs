//! The file of keys: which accounts this user has on which network, and what guards them. Nobody else may read it.

mod journal;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use inbox_core::{Code, Refusal, text};
use inbox_hcs::{AccountId, TopicId};
use inbox_hedera::key::PrivateKey;
use inbox_store::private;
use serde::{Deserialize, Serialize};

pub use journal::{Draft, Pending, PublishedFile, Registered, Work};

/// The mode of a file that its owner alone may read.
const PRIVATE: u32 = 0o600;

/// The most that the file may have, in bytes.
const MOST: u64 = 64 << 20;

/// How many hexadecimal digits in a row may be a piece of a key.
const MOST_DIGITS: usize = 8;

/// The longest that is said of what is wrong with it: what stands there may be of any length.
const MOST_SAID: usize = 300;

/// The file's form, and the oldest that is read: the first knew nothing of provisioning.
const VERSION: u32 = 2;
const OLDEST: u32 = 1;

// What the file has is not for `Debug`: there are keys in it.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    #[serde(default)]
    networks: BTreeMap<String, OnNetwork>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OnNetwork {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    registry: Option<String>,
    /// The transaction that is to make the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    registry_transaction: Option<String>,
    #[serde(default)]
    agents: BTreeMap<String, Row>,
    /// How far each agent is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    provisioning: BTreeMap<String, Work>,
    /// Keys of accounts that were being made: whoever was interrupted finds them here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unfinished: Vec<String>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    account_id: String,
    private_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inbound_topic_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outbound_topic_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<String>,
}

/// An agent's account and what guards it.
#[derive(Debug, Clone)]
pub struct Holder {
    /// The account.
    pub account: AccountId,
    /// Its key.
    pub key: PrivateKey,
    /// Where it hears requests, once it has such a topic.
    pub inbound: Option<TopicId>,
    /// Where it records what it does, once it has such a topic.
    pub outbound: Option<TopicId>,
    /// What it does not want to see any more.
    pub hidden: Vec<String>,
}

/// The file, held so that nobody else changes it meanwhile.
pub struct Keys {
    path: PathBuf,
    network: String,
    contents: Contents,
    _lock: File,
}

impl Keys {
    /// Opens the file for a network; there need be none yet.
    pub fn open(path: &Path, network: &str) -> Result<Self, Refusal> {
        let cannot = |error: &dyn std::fmt::Display| cannot(path, error);
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            private::make_folder(folder).map_err(|error| cannot(&error))?;
        }
        let mut how = private::file();
        how.create(true).truncate(false).write(true);
        let lock =
            private::open(&mut how, &beside(path, "lock")).map_err(|error| cannot(&error))?;
        lock.lock().map_err(|error| cannot(&error))?;
        let contents = match private::open_any(path) {
            Ok(file) => {
                let found = file.metadata().map_err(|error| cannot(&error))?;
                if ![private::user(), 0].contains(&found.uid()) {
                    let (shown, uid) = (path.display(), found.uid());
                    return Err(Refusal::new(
                        Code::NotAllowed,
                        format!("the keys in {shown} belong to another user ({uid})"),
                    )
                    .hint(format!("chown {shown} if the keys are yours")));
                }
                let mode = found.mode();
                if mode & 0o077 != 0 {
                    let shown = path.display();
                    return Err(Refusal::new(
                        Code::NotAllowed,
                        format!(
                            "others may read the keys in {shown} (mode {:o})",
                            mode & 0o777
                        ),
                    )
                    .hint(format!("chmod 600 {shown}")));
                }
                let mut bytes = Vec::new();
                file.take(MOST)
                    .read_to_end(&mut bytes)
                    .map_err(|error| cannot(&error))?;
                contents_of(path, &bytes)?
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Contents {
                version: VERSION,
                ..Contents::default()
            },
            Err(error) => return Err(cannot(&error)),
        };
        Ok(Keys {
            path: path.to_owned(),
            network: network.to_owned(),
            contents,
            _lock: lock,
        })
    }

    fn here(&self) -> Option<&OnNetwork> {
        self.contents.networks.get(&self.network)
    }

    fn here_mut(&mut self) -> &mut OnNetwork {
        self.contents
            .networks
            .entry(self.network.clone())
            .or_default()
    }

    /// The names of the agents.
    pub fn names(&self) -> Vec<&str> {
        let agents = self.here().map(|here| &here.agents);
        agents
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// An agent, if there is one of this name.
    pub fn find(&self, name: &str) -> Result<Option<Holder>, Refusal> {
        let Some(row) = self.here().and_then(|here| here.agents.get(name)) else {
            return Ok(None);
        };
        let wrong = |what: &dyn std::fmt::Display| {
            Refusal::new(
                Code::StoreCorrupt,
                format!(
                    "{} in {} is broken: {what}",
                    text::quoted(name),
                    self.path.display()
                ),
            )
            .hint(aside(&self.path))
        };
        // What stands there may be a key in a wrong place, and is not repeated.
        let topic = |id: &Option<String>| -> Result<Option<TopicId>, Refusal> {
            let no_topic = |_| wrong(&"one of its topics is no topic id such as 0.0.1234");
            let read = |id: &String| id.parse().map_err(no_topic);
            id.as_ref().map(read).transpose()
        };
        let no_account = |_| wrong(&"its account_id is no account id such as 0.0.1234");
        Ok(Some(Holder {
            account: row.account_id.parse().map_err(no_account)?,
            key: row.private_key.parse().map_err(|error| wrong(&error))?,
            inbound: topic(&row.inbound_topic_id)?,
            outbound: topic(&row.outbound_topic_id)?,
            hidden: row.hidden.clone(),
        }))
    }

    /// The same of one that must be there.
    pub fn get(&self, name: &str) -> Result<Holder, Refusal> {
        self.find(name)?.ok_or_else(|| {
            let (path, network) = (self.path.display(), &self.network);
            Refusal::new(
                Code::AgentNotFound,
                format!("{path} has no account of {name} on {network}"),
            )
            .hint(format!("inbox hcs account create {name} makes one; inbox hcs account import takes one that there is"))
        })
    }

    /// Keeps a key before there is an account for it.
    pub fn keep(&mut self, key: &PrivateKey) -> Result<(), Refusal> {
        let key = key.reveal().to_string();
        self.here_mut().unfinished.push(key);
        self.save()
    }

    /// Keeps an agent, in the place of one of the same name.
    pub fn put(&mut self, name: &str, holder: &Holder) -> Result<(), Refusal> {
        let row = Row {
            account_id: holder.account.to_string(),
            private_key: holder.key.reveal().to_string(),
            inbound_topic_id: holder.inbound.map(|id| id.to_string()),
            outbound_topic_id: holder.outbound.map(|id| id.to_string()),
            hidden: holder.hidden.clone(),
        };
        let here = self.here_mut();
        here.unfinished.retain(|key| *key != row.private_key);
        here.agents.insert(name.to_owned(), row);
        self.save()
    }

    /// The name and the keys of an account.
    pub fn by_account(&self, account: AccountId) -> Result<Option<Holder>, Refusal> {
        for name in self.names() {
            let holder = self.get(name)?;
            if holder.account == account {
                return Ok(Some(holder));
            }
        }
        Ok(None)
    }

    /// Where agents of this network are listed, if that was said.
    pub fn registry(&self) -> Option<TopicId> {
        self.here()?.registry.as_ref()?.parse().ok()
    }

    /// Remembers where agents are listed.
    pub fn set_registry(&mut self, registry: TopicId) -> Result<(), Refusal> {
        let here = self.here_mut();
        here.registry = Some(registry.to_string());
        here.registry_transaction = None;
        self.save()
    }

    /// Written beside it, synced, renamed: a key that was just paid for is not lost by half a write.
    fn save(&self) -> Result<(), Refusal> {
        let cannot = |error: std::io::Error| {
            Refusal::new(
                Code::Storage,
                format!(
                    "the keys cannot be kept in {}: {error}",
                    self.path.display()
                ),
            )
        };
        let text = serde_json::to_string_pretty(&self.contents)
            .map_err(|error| Refusal::new(Code::Internal, error.to_string()))?;
        let beside = beside(&self.path, "new");
        let written = (|| {
            let _ = std::fs::remove_file(&beside);
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(PRIVATE)
                .open(&beside)?;
            writeln!(file, "{text}")?;
            file.sync_all()?;
            std::fs::rename(&beside, &self.path)?;
            let folder = self
                .path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        })();
        written.map_err(cannot)
    }
}

fn cannot(path: &Path, error: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(
        Code::Storage,
        format!("the keys in {} cannot be used: {error}", path.display()),
    )
}

/// What to do about a file that is broken: what it has may be all that there is of a key.
fn aside(path: &Path) -> String {
    let shown = path.display();
    format!(
        "mv {shown} {shown}.broken and put a copy there; inbox hcs account import takes its keys one by one"
    )
}

/// What a file has. Of what is wrong with it no key is repeated, nor a piece of one.
fn contents_of(path: &Path, bytes: &[u8]) -> Result<Contents, Refusal> {
    let mut contents: Contents = serde_json::from_slice(bytes).map_err(|error| {
        // What serde says of a value repeats it, and that may be a key in a wrong place: only the place is said then.
        let (line, column) = (error.line(), error.column());
        let said = error.to_string();
        let is_said = !said.contains('"') && said.len() <= MOST_SAID && !is_piece(&said);
        let place = format!("line {line}, column {column} is not as a file of keys is");
        cannot(path, if is_said { &said } else { &place }).hint(aside(path))
    })?;
    if !(OLDEST..=VERSION).contains(&contents.version) {
        let version = contents.version;
        return Err(cannot(path, &format!("their version is {version}")).hint(
            "inbox --version says which program this is; the one that wrote them reads them",
        ));
    }
    contents.version = VERSION;
    Ok(contents)
}

/// Whether a text has so many digits in a row that they may be a piece of a key.
fn is_piece(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_hexdigit());
    words.any(|digits| digits.len() >= MOST_DIGITS)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}
