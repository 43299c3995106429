//! What went wrong with TLS, and what to do about it.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};

use super::Root;

pub(super) fn of_io(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "no answer within the time limit".into()
        }
        io::ErrorKind::UnexpectedEof => "the server closed the connection".into(),
        _ => error.to_string(),
    }
}

pub(super) fn of_tls(error: &Error, host: &str, root: &Root) -> String {
    match error {
        Error::InvalidCertificate(error) => of_certificate(error, host, root),
        Error::AlertReceived(alert) => of_alert(*alert),
        Error::PeerIncompatible(_) => {
            format!("the server has no TLS in common with inbox, which does 1.2 and 1.3 ({error})")
        }
        Error::InvalidMessage(_) => {
            "what follows the server's yes to TLS is no TLS: somebody may be in between".into()
        }
        _ => format!("the TLS handshake failed: {error}"),
    }
}

fn of_certificate(error: &CertificateError, host: &str, root: &Root) -> String {
    let trusted = match root {
        Root::System => "the system's store".to_owned(),
        Root::File(file) | Root::Usual(Some(file)) => file.display().to_string(),
        Root::Usual(None) => "sslrootcert".to_owned(),
    };
    match error {
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            format!(
                "its certificate names no host in subjectAltName (a CN is not looked at): give it one for {host}, or use sslmode=verify-ca"
            )
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names: Vec<String> = presented.iter().map(|name| plain_name(name)).collect();
            format!(
                "its certificate is not for {host} but for {}: connect by that name",
                names.join(", ")
            )
        }
        CertificateError::NotValidForName => {
            format!("its certificate is not for {host}: connect by the name that it is for")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired: renew it on the server".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet: compare the clocks here and there".into()
        }
        CertificateError::UnknownIssuer => format!(
            "its certificate is signed by nobody in {trusted}: name the certificate of the server's authority, or a self-signed one itself, with sslrootcert=FILE"
        ),
        CertificateError::BadSignature => {
            "its certificate has a wrong signature: this is not the server that it says to be"
                .into()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its certificate is not meant for a server: its extendedKeyUsage needs serverAuth"
                .into()
        }
        // webpki's own name for it is all that there is to tell by.
        CertificateError::Other(inner) if format!("{inner:?}").contains("CaUsedAsEndEntity") => {
            format!(
                "its certificate is self-signed, and not in {trusted}: name that very certificate with sslrootcert=FILE"
            )
        }
        CertificateError::Other(inner)
            if format!("{inner:?}").contains("UnsupportedCertVersion") =>
        {
            "its certificate is of X.509 version 1: make one of version 3, with subjectAltName"
                .into()
        }
        _ => format!("its certificate cannot be used: {error}"),
    }
}

/// `DnsName("x")` as webpki shows a name, without its dress.
fn plain_name(name: &str) -> String {
    let inner = name.split_once('(').map_or(name, |(_, inner)| inner);
    inner.trim_matches(['"', ')', '(']).to_owned()
}

fn of_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired
        | AlertDescription::HandshakeFailure
        | AlertDescription::BadCertificate
        | AlertDescription::UnknownCA => format!(
            "the server refused the TLS handshake ({alert:?}): it may want a certificate of yours, named with sslcert and sslkey"
        ),
        _ => format!("the server refused the TLS handshake ({alert:?})"),
    }
}
