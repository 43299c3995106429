//! Whom to trust, and who we are: files, the system's store, and the verifier between libpq's rules
//! and rustls's.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    version,
};

use super::{Mode, Root, Tls, der, unreachable};
use crate::postgres::failure::Failure;
use crate::private;

/// The most that a file of certificates or a key may have, in bytes.
const MOST: u64 = 16 << 20;

/// What rustls is to make a connection with.
pub(super) fn config(tls: &Tls) -> Result<ClientConfig, Failure> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier {
        anchors: anchors(tls).map_err(|reason| unreachable(&reason))?,
        is_name_checked: tls.mode == Mode::VerifyFull,
        provider: provider.clone(),
    };
    let versions: &[_] = if tls.only_13 {
        &[&version::TLS13]
    } else {
        &[&version::TLS13, &version::TLS12]
    };
    let misfit = |error: Error| unreachable(&format!("TLS cannot be set up: {error}"));
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(misfit)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let own = identity(tls).map_err(|reason| unreachable(&reason))?;
    let mut config = match own {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => builder.with_client_auth_cert(chain, key).map_err(|error| {
            let reason = format!("sslcert and sslkey cannot be used together: {error}");
            unreachable(&reason)
        })?,
    };
    config.enable_sni = tls.sni;
    // A process makes a connection or two.
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// The authorities whose certificates count; none at all when the mode asks for no proof.
fn anchors(tls: &Tls) -> Result<Option<Anchors>, String> {
    let file = match (tls.mode, &tls.root) {
        (Mode::Disable | Mode::Allow | Mode::Prefer, _) => return Ok(None),
        (_, Root::System) => return Anchors::of_system().map(Some),
        (_, Root::File(file)) => file,
        (Mode::Require, Root::Usual(file)) => match file {
            Some(file) if file.exists() => file,
            _ => return Ok(None),
        },
        (Mode::VerifyCa | Mode::VerifyFull, Root::Usual(file)) => match file {
            Some(file) if file.exists() => file,
            file => {
                let file = file
                    .as_ref()
                    .map_or("~/.postgresql/root.crt".into(), |file| {
                        file.display().to_string()
                    });
                return Err(format!(
                    "there is no {file} to verify its certificate with: name the authority's certificate with sslrootcert=FILE, or use sslrootcert=system"
                ));
            }
        },
    };
    Anchors::of_file(file).map(Some)
}

#[derive(Debug)]
struct Anchors {
    store: RootCertStore,
    /// The certificates themselves. A server's own may be among them: a self-signed one is its own
    /// authority in OpenSSL, and for webpki a mistake.
    themselves: Vec<CertificateDer<'static>>,
}

impl Anchors {
    fn of_system() -> Result<Anchors, String> {
        let found = rustls_native_certs::load_native_certs();
        let anchors = Anchors::of(found.certs);
        if anchors.store.is_empty() {
            let why = found.errors.first().map(|e| format!(": {e}"));
            return Err(format!(
                "sslrootcert=system finds no certificates on this system{}",
                why.unwrap_or_default()
            ));
        }
        Ok(anchors)
    }

    fn of_file(file: &Path) -> Result<Anchors, String> {
        let anchors = Anchors::of(certificates("sslrootcert", file)?);
        if anchors.store.is_empty() {
            return Err(format!(
                "no certificate in sslrootcert {} can be read",
                file.display()
            ));
        }
        Ok(anchors)
    }

    fn of(certificates: Vec<CertificateDer<'static>>) -> Anchors {
        let mut store = RootCertStore::empty();
        // One that cannot be read helps nobody, and spoils no other.
        store.add_parsable_certificates(certificates.iter().cloned());
        Anchors {
            store,
            themselves: certificates,
        }
    }
}

/// Our own certificate with its key, when there is one.
fn identity(
    tls: &Tls,
) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>, String> {
    let Some(file) = &tls.cert else {
        return Ok(None);
    };
    if !tls.is_cert_named && !file.exists() {
        return Ok(None);
    }
    let chain = certificates("sslcert", file)?;
    let Some(key) = &tls.key else {
        return Err(format!(
            "sslcert {} has no key: name it with sslkey=FILE",
            file.display()
        ));
    };
    Ok(Some((chain, private_key(key)?)))
}

fn certificates(name: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let shown = file.display();
    let text = private::read_any(file, MOST)
        .map_err(|error| format!("{name} {shown} cannot be read: {error}"))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(format!("{name} {shown} has no certificates in PEM")),
    }
}

/// The key in `file`. As in libpq, it is for its owner alone, who is us then, or it is root's and at
/// most for a group to read.
fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let shown = file.display();
    let unreadable = |error: std::io::Error| format!("sslkey {shown} cannot be read: {error}");
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(format!("sslkey {shown} is not a plain file"));
    }
    let mut open = File::open(file).map_err(unreadable)?;
    let facts = open.metadata().map_err(unreadable)?;
    let (mode, owner) = (facts.mode() & 0o7777, facts.uid());
    let others = if owner == 0 { 0o037 } else { 0o077 };
    if mode & others != 0 {
        return Err(format!(
            "sslkey {shown} was not used, because others than its owner may use it (mode {mode:04o}): chmod 600 {shown}"
        ));
    }
    let text = private::bounded(&mut open, MOST).map_err(unreadable)?;
    // What is wrong with a key is said without any of its text.
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| {
        let is_locked = text
            .windows(b"ENCRYPTED".len())
            .any(|window| window == b"ENCRYPTED");
        if is_locked {
            format!("sslkey {shown} is encrypted, which inbox cannot undo: openssl pkey -in {shown} writes it plain")
        } else {
            format!("sslkey {shown} has no private key in PEM")
        }
    })
}

/// Judges a server's certificate by libpq's modes. Whether the server has the certificate's key is
/// always checked, in every mode.
#[derive(Debug)]
struct Verifier {
    anchors: Option<Anchors>,
    is_name_checked: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(anchors) = &self.anchors else {
            return Ok(ServerCertVerified::assertion());
        };
        let parsed = ParsedCertificate::try_from(end_entity)?;
        if anchors.themselves.contains(end_entity) {
            check_time(end_entity, now)?;
        } else {
            verify_server_cert_signed_by_trust_anchor(
                &parsed,
                &anchors.store,
                intermediates,
                now,
                self.provider.signature_verification_algorithms.all,
            )?;
        }
        if self.is_name_checked {
            verify_server_name(&parsed, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

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
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn check_time(certificate: &[u8], now: UnixTime) -> Result<(), Error> {
    let unreadable = || Error::InvalidCertificate(CertificateError::BadEncoding);
    let (from, until) = der::validity(certificate).ok_or_else(unreadable)?;
    let seconds = i64::try_from(now.as_secs()).map_err(|_| unreadable())?;
    let now = jiff::Timestamp::from_second(seconds).map_err(|_| unreadable())?;
    let now = now.strftime("%Y%m%d%H%M%S").to_string();
    if now < from {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > until {
        return Err(CertificateError::Expired.into());
    }
    Ok(())
}
