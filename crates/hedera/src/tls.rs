//! TLS: whose word counts about who a server is.
//!
//! Mirrors are known by their names, as the system's authorities confirm them. Nodes are known by their certificates alone, which the
//! address book has the hashes of.

use std::sync::{Arc, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha384};
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

/// What HTTP/2 is called in a handshake.
const HTTP2: &[u8] = b"h2";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The system's authorities: read once, because there are hundreds.
fn authorities() -> &'static [CertificateDer<'static>] {
    static FOUND: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();
    FOUND.get_or_init(|| rustls_native_certs::load_native_certs().certs)
}

/// How a mirror's REST is asked.
pub(crate) fn of_requests() -> TlsConfig {
    let roots: Vec<Certificate<'static>> = authorities()
        .iter()
        .map(|der| Certificate::from_der(der).to_owned())
        .collect();
    TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(provider())
        .root_certs(RootCerts::new_with_certs(&roots))
        .build()
}

/// Calls to a server whose name one of the system's authorities confirms.
pub fn by_authorities() -> Result<Arc<ClientConfig>, Error> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, Error>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(authorities().iter().cloned());
        by(roots)
    });
    config.clone()
}

/// Calls to a server whose name one of these confirms.
pub fn by(roots: RootCertStore) -> Result<Arc<ClientConfig>, Error> {
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(over_http2(config))
}

/// Calls to a server that has the certificate of this hash, whatever its name.
pub fn by_hash(hash: [u8; 48]) -> Result<Arc<ClientConfig>, Error> {
    let provider = provider();
    let pinned = Arc::new(Pinned {
        hash,
        provider: Arc::clone(&provider),
    });
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(pinned)
        .with_no_client_auth();
    Ok(over_http2(config))
}

fn over_http2(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.alpn_protocols = vec![HTTP2.to_vec()];
    Arc::new(config)
}

/// The hash of a certificate as address books have it: SHA-384 of its PEM, in lines of 64.
pub fn hash(certificate: &CertificateDer<'_>) -> [u8; 48] {
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    let text = STANDARD.encode(certificate);
    for (place, letter) in text.chars().enumerate() {
        if place > 0 && place % 64 == 0 {
            pem.push('\n');
        }
        pem.push(letter);
    }
    pem.push_str("\n-----END CERTIFICATE-----\n");
    Sha384::digest(pem).into()
}

/// Believes one certificate.
#[derive(Debug)]
struct Pinned {
    hash: [u8; 48],
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if hash(end_entity) == self.hash {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::General(
            "its certificate is not the one in the address book".into(),
        ))
    }

    // That the server has the certificate's key is checked as for any other.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
