//! Connections: taken in, limited, secured, and ended in peace.

use std::fs::File;
use std::io::{BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Either;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use inbox_core::{Code, Refusal};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

use super::fault;
use super::peer::Peer;
use super::room::{Place, Room};
use super::route::{self, House};

/// The largest head of a request.
const HEAD: usize = 16 * 1024;

/// The most headers of a request.
const HEADERS: usize = 64;

/// When a connection could not be taken in, the next is tried after so long.
const AGAIN: Duration = Duration::from_millis(20);

/// How long what runs may go on once the server was told to stop.
const GRACE: Duration = Duration::from_secs(10);

pub(super) async fn bind(address: SocketAddr) -> Result<TcpListener, Refusal> {
    TcpListener::bind(address).await.map_err(|error| {
        Refusal::new(
            Code::Storage,
            format!("cannot listen on {address}: {error}"),
        )
        .hint("inbox serve --listen 127.0.0.1:0 takes a free port")
    })
}

/// The most that is read of a file of certificates or of a key, in bytes.
const MOST: u64 = 16 << 20;

/// What secures a connection.
pub(super) fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, Refusal> {
    let cannot = |path: &Path, error: &dyn std::fmt::Display| {
        Refusal::input(format!("{} cannot be used: {error}", path.display()))
            .hint("inbox serve --tls-cert FILE --tls-key FILE, both in PEM")
    };
    let file = |path: &Path| {
        let file = File::open(path).map_err(|error| cannot(path, &error))?;
        Ok::<_, Refusal>(file.take(MOST))
    };
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_reader_iter(BufReader::new(file(cert)?))
            .collect::<Result<_, _>>()
            .map_err(|error| cannot(cert, &error))?;
    let secret = PrivateKeyDer::from_pem_reader(BufReader::new(file(key)?))
        .map_err(|error| cannot(key, &error))?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| cannot(cert, &error))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| cannot(cert, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Ends when the process is told to stop.
pub(crate) async fn signalled() -> Result<(), Refusal> {
    let on = |kind| {
        signal(kind).map_err(|error| Refusal::new(Code::Internal, format!("no signals: {error}")))
    };
    let (mut interrupt, mut terminate) =
        (on(SignalKind::interrupt())?, on(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

/// Serves until `stopped`, then ends what runs.
pub(super) async fn until(
    stopped: impl Future<Output = Result<(), Refusal>>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    house: Arc<House>,
) -> Result<(), Refusal> {
    let mut stopped = std::pin::pin!(stopped);
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Room::new());
    loop {
        let accepted = async {
            let accepted = listener.accept().await?;
            std::io::Result::Ok((accepted, room.place().await))
        };
        // First whether it is to stop: signals are listened for from the first look on, before anybody is let in.
        let accepted = tokio::select! {
            biased;
            told = &mut stopped => break told?,
            accepted = accepted => accepted,
        };
        let Ok(((stream, peer), place)) = accepted else {
            // Too many files are open, or a client was gone already: others will end, and more will come.
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (house, tls) = (Arc::clone(&house), tls.clone());
        let watcher = graceful.watcher();
        tokio::spawn(async move {
            let place = Arc::new(place);
            let metrics = Arc::clone(&house.metrics);
            let _counted = metrics.connects();
            let talked = async {
                match tls {
                    None => talk(stream, peer, house, &place, watcher).await,
                    Some(tls) => {
                        let hello = tls.accept(stream);
                        let hello = tokio::time::timeout(super::READ_WITHIN, hello).await;
                        if let Ok(Ok(stream)) = hello {
                            talk(stream, peer, house, &place, watcher).await;
                        }
                    }
                }
            };
            tokio::select! {
                () = talked => {}
                () = place.has_to_leave() => {}
            }
        });
    }
    drop(listener);
    // Waits end as if their time had passed; whoever waits comes again with its cursor.
    house.engine.stop();
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
    Ok(())
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    house: Arc<House>,
    place: &Arc<Place>,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let answer = service_fn(move |mut request: Request<Incoming>| {
        let (house, place) = (Arc::clone(&house), Arc::clone(place));
        request.extensions_mut().insert(Peer(peer));
        async move {
            place.is_busy();
            let metrics = Arc::clone(&house.metrics);
            let answered = fault::awaited(&metrics, house.answer(request)).await;
            let answered = answered.unwrap_or_else(|| route::refused(&fault::refusal()));
            // What goes on after its head is sent is not over.
            if matches!(answered.body(), Either::Left(_)) {
                place.is_idle();
            }
            Ok::<_, std::convert::Infallible>(answered)
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(super::READ_WITHIN)
        .max_buf_size(HEAD)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), answer);
    // A client that goes away in the midst is no fault of ours.
    let _ = watcher.watch(connection).await;
}
