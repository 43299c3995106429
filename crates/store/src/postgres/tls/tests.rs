//! Handshakes, in each mode, with servers good and bad.

mod harness;

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

use self::harness::{Certificate, OLD, Server, Validity, attempt, papers, refused, tls};
use super::*;

const ALL: [Mode; 6] = [
    Mode::Disable,
    Mode::Allow,
    Mode::Prefer,
    Mode::Require,
    Mode::VerifyCa,
    Mode::VerifyFull,
];

#[test]
fn a_server_without_tls_will_do_unless_tls_is_asked_for() {
    let papers = papers();
    let root = papers.ours.cert();
    for mode in ALL {
        let tls = tls(mode, Some(&root));
        match mode {
            // They ask nothing: the server would wait for a request.
            Mode::Disable | Mode::Allow => {
                let stream = attempt(Server::saying(b""), "localhost", &tls).unwrap();
                assert!(!stream.is_tls() && stream.binding().is_none());
            }
            Mode::Prefer => assert!(
                !attempt(Server::saying(b"N"), "localhost", &tls)
                    .unwrap()
                    .is_tls()
            ),
            _ => refused(Server::saying(b"N"), "localhost", &tls, "does not do TLS"),
        }
    }
}

#[test]
fn the_right_certificate_will_do_in_every_mode() {
    let papers = papers();
    let root = papers.ours.cert();
    for mode in &ALL[2..] {
        for host in ["localhost", "127.0.0.1"] {
            let stream = attempt(Server::with(&papers.right), host, &tls(*mode, Some(&root)));
            let stream = stream.unwrap();
            assert!(stream.is_tls());
            assert_eq!(stream.binding().unwrap().len(), 32);
        }
    }
}

#[test]
fn each_mode_verifies_what_it_says() {
    let papers = papers();
    let root = papers.ours.cert();
    // Whether verify-ca takes it, and what verify-full says.
    let cases = [
        (
            &papers.elsewhere,
            true,
            "not for localhost but for db.example, 192.0.2.1",
        ),
        (&papers.nameless, true, "names no host in subjectAltName"),
        (&papers.expired, false, "has expired"),
        (&papers.early, false, "not valid yet"),
        (&papers.stranger, false, "signed by nobody in"),
        (&papers.lonely, false, "self-signed, and not in"),
    ];
    for (own, is_ca_enough, words) in cases {
        let full = tls(Mode::VerifyFull, Some(&root));
        refused(Server::with(own), "localhost", &full, words);
        for mode in [Mode::VerifyCa, Mode::Require] {
            let strict = tls(mode, Some(&root));
            if is_ca_enough {
                assert!(
                    attempt(Server::with(own), "localhost", &strict).is_ok(),
                    "{own:?}"
                );
            } else {
                refused(Server::with(own), "localhost", &strict, words);
            }
        }
        // Without a file there is nothing to verify with.
        for mode in [Mode::Prefer, Mode::Require] {
            assert!(
                attempt(Server::with(own), "localhost", &tls(mode, None)).is_ok(),
                "{own:?}"
            );
        }
        assert!(
            attempt(
                Server::with(own),
                "localhost",
                &tls(Mode::Prefer, Some(&root))
            )
            .is_ok()
        );
    }
}

#[test]
fn a_self_signed_certificate_is_trusted_when_it_is_named_itself() {
    let papers = papers();
    for mode in [Mode::Require, Mode::VerifyCa, Mode::VerifyFull] {
        let named = tls(mode, Some(&papers.lonely.cert));
        assert!(attempt(Server::with(&papers.lonely), "localhost", &named).is_ok());
        let named = tls(mode, Some(&papers.lonely_expired.cert));
        refused(
            Server::with(&papers.lonely_expired),
            "localhost",
            &named,
            "has expired",
        );
    }
    let full = tls(Mode::VerifyFull, Some(&papers.lonely.cert));
    refused(
        Server::with(&papers.lonely),
        "db.example",
        &full,
        "not for db.example",
    );
}

#[test]
fn a_server_that_lacks_the_key_of_its_certificate_is_refused_in_every_mode() {
    let papers = papers();
    let swapped = papers.folder.join("swapped.crt");
    std::fs::copy(&papers.right.cert, &swapped).unwrap();
    let thief = Certificate {
        cert: swapped,
        key: papers.elsewhere.key.clone(),
    };
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        for mode in [Mode::Prefer, Mode::Require, Mode::VerifyFull] {
            let config = thief_config(&thief, version);
            let (port, thread) = thief_server(config);
            let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let root = papers.ours.cert();
            let stolen = negotiate(socket, "localhost", &tls(mode, Some(&root)));
            let words = stolen.expect_err("a refusal").words();
            assert!(words.contains("signature"), "{words}");
            thread.join().unwrap();
        }
    }
}

/// rustls compares a certificate with its key, so this one is put together by hand.
fn thief_config(
    thief: &Certificate,
    version: &'static rustls::SupportedProtocolVersion,
) -> Arc<ServerConfig> {
    #[derive(Debug)]
    struct Always(Arc<rustls::sign::CertifiedKey>);
    impl rustls::server::ResolvesServerCert for Always {
        fn resolve(
            &self,
            _: rustls::server::ClientHello<'_>,
        ) -> Option<Arc<rustls::sign::CertifiedKey>> {
            Some(self.0.clone())
        }
    }
    let key = PrivateKeyDer::from_pem_file(&thief.key).unwrap();
    let key = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
    let cert = CertificateDer::from_pem_file(&thief.cert).unwrap();
    let pair = rustls::sign::CertifiedKey::new(vec![cert], key);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[version]).unwrap();
    let config = builder
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Always(Arc::new(pair))));
    Arc::new(config)
}

fn thief_server(config: Arc<ServerConfig>) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.read_exact(&mut [0; 8]).unwrap();
        socket.write_all(b"S").unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), socket);
        assert!(stream.read(&mut [0; 4]).is_err());
    });
    (port, thread)
}

#[test]
fn plain_text_before_the_handshake_is_refused_and_never_read_as_the_servers() {
    let papers = papers();
    let root = papers.ours.cert();
    // An answer to a query that nobody has asked yet, put in by somebody in between.
    let forged = b"SZ\0\0\0\x05IR\0\0\0\x08\0\0\0\0";
    for mode in [Mode::Prefer, Mode::VerifyFull] {
        let server = Server {
            answer: forged,
            ..Server::with(&papers.right)
        };
        let tls = tls(mode, Some(&root));
        refused(server, "localhost", &tls, "somebody may be in between");
    }
}

#[test]
fn other_answers_to_the_request_are_refused() {
    let papers = papers();
    let root = papers.ours.cert();
    for mode in [Mode::Prefer, Mode::Require, Mode::VerifyFull] {
        let tls = tls(mode, Some(&root));
        let error = Server::saying(b"ESFATAL\0Mhunter2\0\0");
        refused(error, "localhost", &tls, "answered with an error");
        refused(Server::saying(b"HTTP"), "localhost", &tls, "not PostgreSQL");
    }
}

#[test]
fn missing_files_are_named_before_the_server_is_asked() {
    let papers = papers();
    let folder = &papers.folder;
    let nothing = folder.join("nothing.crt");
    let socket = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        TcpStream::connect(listener.local_addr().unwrap()).unwrap()
    };
    let check = |tls: &Tls, due: &str| {
        let reason = negotiate(socket(), "db", tls).unwrap_err().words();
        assert!(reason.contains(due), "{reason}");
    };
    for mode in [Mode::VerifyCa, Mode::VerifyFull] {
        check(&tls(mode, None), "there is no ~/.postgresql/root.crt");
        let usual = Tls {
            root: Root::Usual(Some(nothing.clone())),
            ..tls(mode, None)
        };
        check(&usual, "nothing.crt to verify its certificate with");
        check(&tls(mode, Some(&nothing)), "nothing.crt cannot be read");
    }
    let empty = folder.join("empty.crt");
    std::fs::write(&empty, "no certificate\n").unwrap();
    check(
        &tls(Mode::VerifyFull, Some(&empty)),
        "has no certificates in PEM",
    );
    let named = Tls {
        is_cert_named: true,
        cert: Some(nothing.clone()),
        ..tls(Mode::Require, None)
    };
    check(&named, "sslcert");
    let keyless = Tls {
        cert: Some(papers.right.cert.clone()),
        key: Some(nothing),
        ..tls(Mode::Require, None)
    };
    check(&keyless, "sslkey");
}

#[test]
fn a_client_shows_its_certificate_and_guards_its_key() {
    use std::os::unix::fs::PermissionsExt;
    let papers = papers();
    let root = papers.ours.cert();
    let own = papers.theirs.issue("client", "", Validity::Now);
    let asking = || Server {
        asks: Some(papers.theirs.cert()),
        versions: &OLD,
        ..Server::with(&papers.right)
    };
    let with_own = Tls {
        is_cert_named: true,
        cert: Some(own.cert.clone()),
        key: Some(own.key.clone()),
        ..tls(Mode::VerifyFull, Some(&root))
    };
    assert!(attempt(asking(), "localhost", &with_own).is_ok());
    let without = tls(Mode::VerifyFull, Some(&root));
    refused(asking(), "localhost", &without, "sslcert and sslkey");
    let wrong = Tls {
        key: Some(papers.right.key.clone()),
        ..with_own.clone()
    };
    refused(
        Server::saying(b""),
        "localhost",
        &wrong,
        "cannot be used together",
    );
    for mode in [0o644, 0o604, 0o660] {
        std::fs::set_permissions(&own.key, std::fs::Permissions::from_mode(mode)).unwrap();
        refused(Server::saying(b""), "localhost", &with_own, "chmod 600");
    }
}

#[test]
fn old_and_new_versions_of_tls_will_do_unless_the_newest_is_asked_for() {
    let papers = papers();
    let root = papers.ours.cert();
    let old = || Server {
        versions: &OLD,
        ..Server::with(&papers.right)
    };
    let full = tls(Mode::VerifyFull, Some(&root));
    assert!(attempt(old(), "localhost", &full).is_ok());
    let strict = Tls {
        only_13: true,
        ..full
    };
    refused(old(), "localhost", &strict, "TLS");
    assert!(attempt(Server::with(&papers.right), "localhost", &strict).is_ok());
}

#[test]
fn the_second_try_is_libpqs() {
    let next = |mode: Mode, had_tls: bool| tls(mode, None).otherwise(had_tls).map(|tls| tls.mode);
    assert_eq!(next(Mode::Allow, false), Some(Mode::Require));
    assert_eq!(next(Mode::Prefer, true), Some(Mode::Disable));
    assert_eq!(next(Mode::Prefer, false), None);
    for mode in [
        Mode::Disable,
        Mode::Require,
        Mode::VerifyCa,
        Mode::VerifyFull,
    ] {
        assert_eq!((next(mode, false), next(mode, true)), (None, None));
    }
}

#[test]
fn a_timeout_loses_nothing_and_the_end_is_the_end() {
    let papers = papers();
    let root = papers.ours.cert();
    let (port, thread) = Server::with(&papers.right).start();
    let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let keepalive = super::super::url::Keepalive {
        on: true,
        idle: Some(Duration::from_mins(1)),
        interval: Some(Duration::from_secs(5)),
        count: Some(3),
    };
    keepalive.set(&socket).unwrap();
    assert!(rustix::net::sockopt::socket_keepalive(&socket).unwrap());
    let idle = rustix::net::sockopt::tcp_keepidle(&socket).unwrap();
    assert_eq!(idle, Duration::from_mins(1));
    let full = tls(Mode::VerifyFull, Some(&root));
    let mut stream = negotiate(socket, "localhost", &full).unwrap();
    stream
        .set_write_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    let mut bytes = [0; 4];
    // The server answers only after all four.
    let early = stream.read(&mut bytes).unwrap_err();
    assert_eq!(early.kind(), std::io::ErrorKind::WouldBlock);
    stream.write_all(b"ping").unwrap();
    stream.flush().unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    assert_eq!(stream.read(&mut bytes[..1]).unwrap(), 1);
    stream.read_exact(&mut bytes[1..]).unwrap();
    assert_eq!(&bytes, b"ping");
    thread.join().unwrap();
    stream.shutdown();
    assert!(
        stream
            .write_all(b"more")
            .and_then(|()| stream.flush())
            .is_err()
    );
}

#[test]
fn a_socket_of_this_machine_is_a_stream_like_the_others() {
    let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut stream = Stream::Unix(ours);
    stream.write_all(b"ping").unwrap();
    let mut bytes = [0; 4];
    theirs.read_exact(&mut bytes).unwrap();
    assert!(!stream.is_tls() && stream.binding().is_none());
    stream.shutdown();
    assert_eq!(theirs.read(&mut bytes).unwrap(), 0);
}
