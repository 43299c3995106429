//! The networks that have names.

use std::collections::BTreeMap;

use super::{HTTPS, Network, PLAIN};
use crate::client::NodeAt;

/// Nodes to begin with, one for each of some accounts: enough of them to find one that is there.
const MAINNET: &[(i64, &str)] = &[
    (3, "35.237.200.180"),
    (4, "35.186.191.247"),
    (5, "35.192.2.25"),
    (6, "35.199.161.108"),
    (7, "35.203.82.240"),
    (9, "35.197.192.225"),
    (10, "35.242.233.154"),
];
const TESTNET: &[(i64, &str)] = &[
    (3, "34.94.106.61"),
    (4, "35.237.119.55"),
    (5, "35.245.27.193"),
    (6, "34.83.112.116"),
    (7, "34.94.160.4"),
    (8, "34.106.102.218"),
    (9, "34.133.197.230"),
];
const PREVIEWNET: &[(i64, &str)] = &[
    (3, "35.231.208.148"),
    (4, "35.199.15.177"),
    (5, "35.225.201.195"),
    (6, "35.247.109.135"),
    (7, "35.235.65.51"),
    (8, "34.106.247.65"),
    (9, "34.125.23.49"),
];

/// The network of this name.
pub(super) fn named(name: &str) -> Option<Network> {
    let (nodes, mirror) = match name {
        "mainnet" => (MAINNET, "mainnet-public.mirrornode.hedera.com"),
        "testnet" => (TESTNET, "testnet.mirrornode.hedera.com"),
        "previewnet" => (PREVIEWNET, "previewnet.mirrornode.hedera.com"),
        // Where SDKs, hiero-local-node and `inbox devnet` have it.
        "local" => {
            let (node, rest, stream) =
                ("127.0.0.1:50211", "http://127.0.0.1:5551", "127.0.0.1:5600");
            return Some(Network::at(node, rest, stream));
        }
        _ => return None,
    };
    let at = |&(account, host): &(i64, &str)| NodeAt {
        account,
        address: format!("{host}:{PLAIN}"),
    };
    Some(Network {
        name: name.to_owned(),
        nodes: nodes.iter().map(at).collect(),
        mirror: format!("https://{mirror}"),
        stream: format!("{mirror}:{HTTPS}"),
        hashes: BTreeMap::new(),
        follows_book: true,
    })
}
