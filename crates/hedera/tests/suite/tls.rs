//! Servers that are known by their certificates: by an authority and a name, or by a hash.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use inbox_hedera::grpc::{CallError, Channel, framed};
use inbox_hedera::proto::{TopicQuery, TopicResponse};
use inbox_hedera::tls;
use prost::Message;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest, Sha384};

use crate::certs::{Authority, Certificate, Validity};
use crate::liar::{End, Liar};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("inbox-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn der(file: &Path) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(file).unwrap()
}

/// A mirror with this certificate, which streams one message.
async fn served(certificate: &Certificate) -> Liar {
    let key = PrivateKeyDer::from_pem_file(&certificate.key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![der(&certificate.cert)], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let message = TopicResponse {
        sequence_number: 7,
        ..TopicResponse::default()
    };
    Liar::start_with(vec![(vec![message], End::Wait)], Some(config)).await
}

/// The number of the first message that a channel gives.
async fn first(channel: Channel) -> Result<u64, CallError> {
    let mut stream = channel
        .stream("/any", framed(&TopicQuery::default()))
        .await?;
    let bytes = stream.next().await?.expect("there is one");
    Ok(TopicResponse::decode(bytes).unwrap().sequence_number)
}

fn channel(address: &str) -> Channel {
    Channel::new(address, Duration::from_secs(10))
}

fn by(authority: &Authority) -> Arc<rustls::ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(der(&authority.cert())).unwrap();
    tls::by(roots).unwrap()
}

#[tokio::test]
async fn a_mirror_is_known_by_an_authority_and_its_name() {
    let folder = Folder::new("mirror-tls");
    let authority = Authority::new(&folder.0.join("ours"), "ours");
    let other = Authority::new(&folder.0.join("other"), "other");
    let names = "DNS:localhost,IP:127.0.0.1";
    let good = served(&authority.issue("good", names, Validity::Now)).await;
    let secured = channel(&good.address).secured(by(&authority));
    assert_eq!(first(secured).await, Ok(7));
    let plain = first(channel(&good.address)).await;
    assert!(plain.is_err(), "what speaks TLS is not spoken to plainly");
    let stranger = first(channel(&good.address).secured(by(&other))).await;
    assert!(matches!(stranger, Err(CallError::Away(..))), "{stranger:?}");
    for bad in [
        authority.issue("elsewhere", "DNS:elsewhere.example", Validity::Now),
        authority.issue("past", names, Validity::Past),
        authority.self_signed("self", names, Validity::Now),
    ] {
        let bad = served(&bad).await;
        let refused = first(channel(&bad.address).secured(by(&authority))).await;
        assert!(matches!(refused, Err(CallError::Away(..))), "{refused:?}");
    }
}

#[tokio::test]
async fn a_node_is_known_by_the_hash_of_its_certificate_alone() {
    let folder = Folder::new("node-tls");
    let authority = Authority::new(&folder.0, "any");
    let own = authority.self_signed("node", "DNS:any.example", Validity::Past);
    let hash = tls::hash(&der(&own.cert));
    // As those who write address books take it: of the file.
    let file = std::fs::read(&own.cert).unwrap();
    assert_eq!(hash[..], Sha384::digest(&file)[..]);
    let node = served(&own).await;
    let secured = channel(&node.address).secured(tls::by_hash(hash).unwrap());
    assert_eq!(first(secured).await, Ok(7));
    let wrong = channel(&node.address).secured(tls::by_hash([0; 48]).unwrap());
    let refused = first(wrong).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("not the one in the address book"),
        "{refused}"
    );
}
