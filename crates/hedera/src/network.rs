//! Which network: its nodes, its mirror, and where the mirror streams. By a name that everybody knows, or by a file.
//!
//! The nodes of the public networks come and go. Those that are written here are enough to begin with, and the mirror's address book
//! has the others.

mod file;
mod known;

use std::collections::BTreeMap;
use std::net::IpAddr;

use inbox_hcs::TopicId;
use thiserror::Error;

use crate::client::{Client, NodeAt, Operator};
use crate::mirror::{Mirror, MirrorError, NodeFacts};
use crate::stream::{Since, Subscription};

/// The port where nodes speak plainly, and where they speak TLS.
const PLAIN: u16 = 50211;
const SECURE: u16 = 50212;

/// The port where mirrors speak TLS.
const HTTPS: u16 = 443;

/// The most nodes that are kept of an address book.
const MOST_NODES: usize = 200;

/// A network of Hedera's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// What it is called, as it was named.
    pub name: String,
    /// Who takes transactions.
    pub nodes: Vec<NodeAt>,
    /// Where the mirror answers REST, without `/api/v1`.
    pub mirror: String,
    /// Where the mirror streams: `host:port`.
    pub stream: String,
    /// The hashes of certificates, by the nodes' accounts.
    hashes: BTreeMap<i64, [u8; 48]>,
    /// Whether its nodes are those of the mirror's address book.
    follows_book: bool,
}

/// A name that names no network.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// It is neither a network that is known nor a file.
    #[error(
        "there is no network {0:?}: it is mainnet, testnet, previewnet, local, or a file of a client's configuration"
    )]
    Unknown(String),
    /// The file cannot be read.
    #[error("the network's file {0} cannot be read: {1}")]
    Unreadable(String, std::io::Error),
    /// The file says something else than where a network is.
    #[error("the network's file {0} has no good {1}")]
    Form(String, String),
}

impl Network {
    /// The network that is called so: `mainnet`, `testnet`, `previewnet`, `local`, or a file in the form that Hedera's SDKs read
    /// their configuration from.
    pub fn named(text: &str) -> Result<Self, NetworkError> {
        match known::named(text) {
            Some(network) => Ok(network),
            None => file::read(text),
        }
    }

    /// A network with one node, at these addresses.
    pub fn at(
        node: impl Into<String>,
        mirror: impl Into<String>,
        stream: impl Into<String>,
    ) -> Self {
        let node = NodeAt {
            account: 3,
            address: node.into(),
        };
        Network {
            name: "local".into(),
            nodes: vec![node],
            mirror: mirror.into(),
            stream: stream.into(),
            hashes: BTreeMap::new(),
            follows_book: false,
        }
    }

    /// Whether it may be reached beyond this machine and its own networks, so that what is written there is written for the world, and
    /// paid for.
    pub fn is_public(&self) -> bool {
        let mirror = self.mirror.split_once("://");
        let mirror = mirror.map_or(self.mirror.as_str(), |(_, rest)| rest);
        let mirror = mirror.split_once('/').map_or(mirror, |(host, _)| host);
        let mut addresses = self.nodes.iter().map(|node| node.address.as_str());
        let is_near = addresses.all(is_near) && is_near(&self.stream) && is_near(mirror);
        !is_near
    }

    /// A reader of its mirror.
    pub fn reader(&self) -> Mirror {
        Mirror::new(&self.mirror)
    }

    /// A client of its nodes, for one who pays.
    pub fn client(&self, operator: Operator) -> Client {
        Client::of(&self.nodes, &self.hashes, operator)
    }

    /// The messages of a topic as they come.
    pub fn subscribe(&self, topic: TopicId, since: Since) -> Subscription {
        Subscription::new(&self.stream, topic, since)
    }

    /// A connection to its mirror's streams, which several subscriptions may share.
    pub fn stream_channel(&self) -> std::sync::Arc<crate::grpc::Channel> {
        Subscription::channel(&self.stream)
    }

    /// The same with the nodes of the mirror's address book, if it is a public network by name. Any other keeps the nodes that it was
    /// given: what is behind a door of its own may call its nodes by names that mean nothing here.
    pub fn with_address_book(self) -> Result<Self, MirrorError> {
        if !self.follows_book {
            return Ok(self);
        }
        let book = self.reader().nodes()?;
        Ok(self.with_nodes(&book))
    }

    /// The same with these nodes, as far as they can be used: by TLS where the certificate is known, plainly otherwise.
    fn with_nodes(mut self, book: &[NodeFacts]) -> Self {
        let mut nodes = Vec::new();
        let mut hashes = BTreeMap::new();
        for node in book {
            let Ok(account) = i64::try_from(node.account.number()) else {
                continue;
            };
            let wanted = match node.cert_hash {
                Some(_) if node.endpoints.iter().any(|(_, port)| *port == SECURE) => SECURE,
                _ => PLAIN,
            };
            let hash = node.cert_hash.filter(|_| wanted == SECURE);
            hashes.extend(hash.map(|hash| (account, hash)));
            let here = node.endpoints.iter().filter(|(_, port)| *port == wanted);
            nodes.extend(here.map(|(host, port)| NodeAt {
                account,
                address: format!("{host}:{port}"),
            }));
        }
        nodes.truncate(MOST_NODES);
        if !nodes.is_empty() {
            self.nodes = nodes;
            self.hashes = hashes;
        }
        self
    }
}

/// The port of `host:port`.
pub(crate) fn port(address: &str) -> Option<u16> {
    address.rsplit_once(':')?.1.parse().ok()
}

/// Whether what listens there speaks TLS, as its port says.
pub(crate) fn is_secure(address: &str) -> bool {
    matches!(port(address), Some(SECURE | HTTPS))
}

/// Whether `host:port` is on this machine or in a network of its own.
fn is_near(address: &str) -> bool {
    let host = match port(address) {
        Some(_) => address.rsplit_once(':').map_or(address, |(host, _)| host),
        None => address,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => {
            ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified()
        }
        Ok(IpAddr::V6(ip)) => {
            ip.is_loopback()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
                || ip.is_unspecified()
        }
        // A name without a dot is one of a local network, as containers have them.
        Err(_) => {
            let last = host.rsplit('.').next().unwrap_or(host);
            !host.contains('.') || ["localhost", "local", "internal", "test"].contains(&last)
        }
    }
}

#[cfg(test)]
mod tests;
