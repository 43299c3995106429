//! A server that says what a test wants it to say, and certificates for it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::super::{Mode, REQUEST, Root, Stream, Tls, negotiate, unreachable};

#[expect(unreachable_pub, reason = "in the testkit it is reachable")]
#[path = "../../../../../testkit/src/certs.rs"]
mod certs;

pub(super) use self::certs::{Authority, Certificate, Validity};

pub(super) struct Papers {
    pub(super) folder: PathBuf,
    pub(super) ours: Authority,
    pub(super) theirs: Authority,
    pub(super) right: Certificate,
    pub(super) elsewhere: Certificate,
    pub(super) nameless: Certificate,
    pub(super) expired: Certificate,
    pub(super) early: Certificate,
    pub(super) stranger: Certificate,
    pub(super) lonely: Certificate,
    pub(super) lonely_expired: Certificate,
}

impl Drop for Papers {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The certificates that the tests which run at the same time share; they go with the last of them.
pub(super) fn papers() -> Arc<Papers> {
    static PAPERS: Mutex<Weak<Papers>> = Mutex::new(Weak::new());
    let mut shared = PAPERS
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    shared.upgrade().unwrap_or_else(|| {
        let papers = Arc::new(Papers::new());
        *shared = Arc::downgrade(&papers);
        papers
    })
}

impl Papers {
    fn new() -> Papers {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("inbox-tls-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let ours = Authority::new(&folder.join("ours"), "Our authority");
        let theirs = Authority::new(&folder.join("theirs"), "Their authority");
        let names = "DNS:localhost,IP:127.0.0.1";
        Papers {
            right: ours.issue("right", names, Validity::Now),
            elsewhere: ours.issue("elsewhere", "DNS:db.example,IP:192.0.2.1", Validity::Now),
            nameless: ours.issue("localhost", "", Validity::Now),
            expired: ours.issue("expired", names, Validity::Past),
            early: ours.issue("early", names, Validity::Future),
            stranger: theirs.issue("stranger", names, Validity::Now),
            lonely: theirs.self_signed("lonely", names, Validity::Now),
            lonely_expired: theirs.self_signed("lonely_expired", names, Validity::Past),
            folder,
            ours,
            theirs,
        }
    }
}

pub(super) fn tls(mode: Mode, root: Option<&Path>) -> Tls {
    Tls {
        mode,
        root: root.map_or(Root::Usual(None), |file| Root::File(file.to_owned())),
        is_cert_named: false,
        cert: None,
        key: None,
        only_13: false,
        sni: true,
    }
}

pub(super) static OLD: [&rustls::SupportedProtocolVersion; 1] = [&rustls::version::TLS12];

pub(super) struct Server {
    pub(super) answer: &'static [u8],
    pub(super) own: Option<Certificate>,
    /// Whose certificates the server asks its clients for.
    pub(super) asks: Option<PathBuf>,
    pub(super) versions: &'static [&'static rustls::SupportedProtocolVersion],
}

impl Server {
    pub(super) fn with(own: &Certificate) -> Server {
        Server {
            answer: b"S",
            own: Some(own.clone()),
            asks: None,
            versions: rustls::ALL_VERSIONS,
        }
    }

    pub(super) fn saying(answer: &'static [u8]) -> Server {
        Server {
            answer,
            own: None,
            asks: None,
            versions: rustls::ALL_VERSIONS,
        }
    }

    fn config(&self) -> Option<Arc<ServerConfig>> {
        let own = self.own.as_ref()?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(&own.cert).unwrap().collect();
        let key = PrivateKeyDer::from_pem_file(&own.key).unwrap();
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(self.versions)
            .unwrap();
        let builder = match &self.asks {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let mut roots = RootCertStore::empty();
                roots
                    .add(CertificateDer::from_pem_file(file).unwrap())
                    .unwrap();
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let config = builder.with_single_cert(chain.unwrap(), key).unwrap();
        Some(Arc::new(config))
    }

    /// Answers one client and echoes four bytes. Gives the port, and at the end what was echoed.
    pub(super) fn start(self) -> (u16, JoinHandle<Option<[u8; 4]>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().ok()?;
            // Only so that a failing test ends.
            let limit = Some(Duration::from_secs(30));
            socket.set_read_timeout(limit).ok()?;
            let mut request = [0; 8];
            if !self.answer.is_empty() {
                socket.read_exact(&mut request).ok()?;
                assert_eq!(request, REQUEST);
                socket.write_all(self.answer).ok()?;
            }
            let mut bytes = [0; 4];
            if let Some(config) = self.config() {
                let connection = ServerConnection::new(config).ok()?;
                let mut stream = StreamOwned::new(connection, socket);
                stream.read_exact(&mut bytes).ok()?;
                stream.write_all(&bytes).ok()?;
                stream.flush().ok()?;
            } else {
                socket.read_exact(&mut bytes).ok()?;
                socket.write_all(&bytes).ok()?;
            }
            Some(bytes)
        });
        (port, thread)
    }
}

/// What becomes of a connection: whether it has TLS, or why there is none.
pub(super) fn attempt(server: Server, host: &str, tls: &Tls) -> Result<Stream, String> {
    let (port, thread) = server.start();
    let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let limit = Some(Duration::from_secs(30));
    socket.set_read_timeout(limit).unwrap();
    let answer = negotiate(socket, host, tls).and_then(|mut stream| {
        let talked = stream.write_all(b"ping").and_then(|()| stream.flush());
        let mut bytes = [0; 4];
        let talked = talked.and_then(|()| stream.read_exact(&mut bytes));
        talked.map_err(|error| unreachable(&error.to_string()))?;
        assert_eq!(&bytes, b"ping");
        Ok(stream)
    });
    let echoed = thread.join().unwrap();
    if answer.is_ok() {
        assert_eq!(echoed.as_ref(), Some(b"ping"));
    }
    answer.map_err(|failure| failure.words())
}

#[track_caller]
pub(super) fn refused(server: Server, host: &str, tls: &Tls, due: &str) {
    let reason = attempt(server, host, tls).expect_err("a refusal");
    assert!(reason.contains(due), "{reason}");
}
