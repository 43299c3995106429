//! What the file of keys knows of provisioning: how far each agent is, and which transaction was about to be sent.
//!
//! Everything is written before the network is asked, so that whoever is interrupted finds what may have happened by its id.

use inbox_core::{Code, Refusal};
use inbox_hedera::key::PrivateKey;
use serde::{Deserialize, Serialize};

use super::{Holder, Keys};

/// How far an agent is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The public key of the account that is being made; the private one is among the unfinished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_key: Option<String>,
    /// What was about to be sent last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// The profile that is being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Draft>,
    /// The profile to which the account's memo leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedFile>,
    /// Where it is listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered: Option<Registered>,
}

/// A transaction that was about to be sent, and may have happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// What it does.
    pub step: String,
    /// Its id.
    pub transaction_id: String,
}

/// A profile that is being written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The hash of the document.
    pub sha256: String,
    /// The file's topic, once it is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    /// How many of its messages are there.
    pub messages: usize,
}

/// A profile that is published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedFile {
    /// The hash of the document.
    pub sha256: String,
    /// The file's topic.
    pub topic_id: String,
    /// The roles that it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The tags that it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// An entry on a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registered {
    /// Which registry, as it was named here.
    pub registry_topic_id: String,
    /// The entry's number, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u64>,
}

impl Keys {
    /// How far an agent is.
    pub fn work(&self, name: &str) -> Work {
        let found = self.here().and_then(|here| here.provisioning.get(name));
        found.cloned().unwrap_or_default()
    }

    /// Keeps how far an agent is.
    pub fn set_work(&mut self, name: &str, work: Work) -> Result<(), Refusal> {
        let here = self.here_mut();
        if work == Work::default() {
            here.provisioning.remove(name);
        } else {
            here.provisioning.insert(name.to_owned(), work);
        }
        self.save()
    }

    /// Keeps a key before there is an account for it, and whose it will be.
    pub fn begin_account(
        &mut self,
        name: &str,
        key: &PrivateKey,
        mut work: Work,
    ) -> Result<(), Refusal> {
        let public = key
            .public()
            .map_err(|error| Refusal::new(Code::Internal, error.to_string()))?;
        work.account_key = Some(public.to_der());
        let here = self.here_mut();
        here.unfinished.push(key.reveal().to_string());
        here.provisioning.insert(name.to_owned(), work);
        self.save()
    }

    /// Forgets an agent whose account is of a network that is no more, and its registry if that is gone too. The key is kept among those
    /// of unfinished accounts: a key is never thrown away.
    pub fn forget(&mut self, name: &str, and_registry: bool) -> Result<(), Refusal> {
        let here = self.here_mut();
        if let Some(row) = here.agents.remove(name) {
            here.unfinished.push(row.private_key);
        }
        here.provisioning.remove(name);
        if and_registry {
            here.registry = None;
            here.registry_transaction = None;
        }
        self.save()
    }

    /// The key of an account that was being made.
    pub fn unfinished(&self, public: &str) -> Option<PrivateKey> {
        let keys = self.here()?.unfinished.iter();
        let mut keys = keys.filter_map(|key| key.parse::<PrivateKey>().ok());
        keys.find(|key| key.public().is_ok_and(|found| found.to_der() == public))
    }

    /// Keeps an agent and how far it is, at once.
    pub fn put_with(&mut self, name: &str, holder: &Holder, work: Work) -> Result<(), Refusal> {
        self.here_mut().provisioning.insert(name.to_owned(), work);
        self.put(name, holder)
    }

    /// The transaction that was to make the registry.
    pub fn registry_transaction(&self) -> Option<&str> {
        self.here()?.registry_transaction.as_deref()
    }

    /// Keeps the transaction that is to make the registry.
    pub fn set_registry_transaction(&mut self, id: Option<String>) -> Result<(), Refusal> {
        self.here_mut().registry_transaction = id;
        self.save()
    }

    /// Forgets that an agent is listed, because it left.
    pub fn deregistered(&mut self, name: &str) -> Result<(), Refusal> {
        let mut work = self.work(name);
        if work.registered.take().is_none() {
            return Ok(());
        }
        self.set_work(name, work)
    }
}
