//! A network in a file, in the form that Hedera's SDKs read a client's configuration from.

use std::collections::BTreeMap;
use std::io::Read;

use inbox_hcs::AccountId;
use serde_json::Value;

use super::{HTTPS, Network, NetworkError, is_secure, known, port};
use crate::client::NodeAt;

/// The largest file, in bytes.
const MOST: u64 = 256 * 1024;

/// The network that a file says.
pub(super) fn read(path: &str) -> Result<Network, NetworkError> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => NetworkError::Unknown(path.to_owned()),
        _ => NetworkError::Unreadable(path.to_owned(), error),
    };
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MOST).read_to_string(&mut text))
        .map_err(unreadable)?;
    parse(path, &text).map_err(|what| NetworkError::Form(path.to_owned(), what.to_owned()))
}

/// The network that such a text says; or what of it is missing or wrong.
pub(super) fn parse(name: &str, text: &str) -> Result<Network, &'static str> {
    let value: Value = serde_json::from_str(text).map_err(|_| "JSON")?;
    let mut network = match &value["network"] {
        Value::String(known) => known::named(known).ok_or("network")?,
        Value::Object(nodes) => {
            let nodes = nodes
                .iter()
                .map(|(left, right)| node(left, right.as_str()?))
                .collect::<Option<Vec<_>>>()
                .filter(|nodes| !nodes.is_empty())
                .ok_or("network")?;
            Network {
                name: String::new(),
                nodes,
                mirror: String::new(),
                stream: String::new(),
                hashes: BTreeMap::new(),
                follows_book: false,
            }
        }
        _ => return Err("network"),
    };
    name.clone_into(&mut network.name);
    let stream = match &value["mirrorNetwork"] {
        Value::Null => None,
        Value::String(text) => Some(text.as_str()),
        Value::Array(list) => Some(
            list.first()
                .and_then(Value::as_str)
                .ok_or("mirrorNetwork")?,
        ),
        _ => return Err("mirrorNetwork"),
    };
    match stream {
        None => {}
        Some(text) => match known::named(text) {
            Some(known) => (network.stream, network.mirror) = (known.stream, known.mirror),
            None => {
                port(text).ok_or("mirrorNetwork")?;
                text.clone_into(&mut network.stream);
                network.mirror = rest(text);
            }
        },
    }
    match &value["mirrorRest"] {
        Value::Null => {}
        Value::String(url) if url.starts_with("http://") || url.starts_with("https://") => {
            let url = url.trim_end_matches('/');
            let url = url.strip_suffix("/api/v1").unwrap_or(url);
            url.clone_into(&mut network.mirror);
        }
        _ => return Err("mirrorRest"),
    }
    if network.stream.is_empty() {
        return Err("mirrorNetwork");
    }
    Ok(network)
}

/// A node by its address and its account, whichever comes first: SDKs have either.
fn node(left: &str, right: &str) -> Option<NodeAt> {
    let (account, address) = match left.parse::<AccountId>() {
        Ok(account) => (account, right),
        Err(_) => (right.parse().ok()?, left),
    };
    port(address)?;
    Some(NodeAt {
        account: i64::try_from(account.number()).ok()?,
        address: address.to_owned(),
    })
}

/// Where a mirror that streams there answers REST, as SDKs guess it.
fn rest(stream: &str) -> String {
    let (host, port) = stream.rsplit_once(':').unwrap_or((stream, ""));
    match port {
        "443" => format!("https://{host}"),
        _ if is_secure(stream) => format!("https://{host}:{HTTPS}"),
        "5600" => format!("http://{host}:5551"),
        port => format!("http://{host}:{port}"),
    }
}
