//! The server: every operation over HTTP, events as they happen, and what it counts.
//!
//! The store is used by a few threads (`engine`); everything else is tasks of one runtime, so that a thousand who wait cost
//! no thousand threads.

mod console;
mod doors;
mod engine;
mod events;
mod fault;
mod gate;
mod listen;
mod mcp;
mod metrics;
mod openapi;
mod peer;
mod room;
mod route;
mod table;
mod wait;
mod waker;

pub(crate) use listen::signalled;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{self, HeaderName};
use inbox_core::{Code, Refusal};
use inbox_ops::Inbox;
use tokio::sync::oneshot;

use self::doors::Doors;
use self::engine::Engine;
pub(crate) use self::fault::log_without_values;
use self::gate::Gate;
use self::metrics::Metrics;
pub(crate) use self::peer::is_own_listener;
use self::route::House;
use self::table::Table;

/// How long a request's head and its body may take to come.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// What every answer says to a browser that should not be reading it.
const SAFE: [(HeaderName, &str); 4] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'",
    ),
];

/// How a server runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Its certificate chain and key, both in PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether another than the loopback address may do without TLS.
    pub is_insecure: bool,
    /// Other names that clients call it by.
    pub names: Vec<String>,
    /// The program's version.
    pub version: String,
}

/// Runs a server until the process is told to stop; `ready` is told where it listens.
pub(crate) fn serve(
    options: &Options,
    open: impl Fn() -> Result<Inbox, Refusal>,
    ready: impl FnOnce(SocketAddr) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    log_without_values();
    run(options, open, ready, listen::signalled())
}

/// A server inside another program, which ends with the value.
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<Result<(), Refusal>>>,
}

impl Running {
    /// Starts a server on stores that `open` opens.
    pub fn start(
        options: Options,
        open: impl Fn() -> Result<Inbox, Refusal> + Send + 'static,
    ) -> Result<Running, Refusal> {
        let (stop, told) = oneshot::channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let told = async move {
                // Whoever holds the other end may be gone, and then it is over as well.
                let _ = told.await;
                Ok(())
            };
            let listens = |address| ready.send(address).map_err(|_| nobody());
            run(&options, open, listens, told)
        });
        match is_ready.recv() {
            Ok(address) => Ok(Running {
                address,
                stop: Some(stop),
                thread: Some(thread),
            }),
            Err(_) => Err(match thread.join() {
                Ok(Err(refusal)) => refusal,
                _ => nobody(),
            }),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn nobody() -> Refusal {
    Refusal::new(Code::Internal, "the server ended before it began")
}

fn run(
    options: &Options,
    open: impl Fn() -> Result<Inbox, Refusal>,
    ready: impl FnOnce(SocketAddr) -> Result<(), Refusal>,
    stopped: impl Future<Output = Result<(), Refusal>>,
) -> Result<(), Refusal> {
    if !options.listen.ip().is_loopback() && options.tls.is_none() && !options.is_insecure {
        return Err(Refusal::new(
            Code::NotAllowed,
            format!(
                "{} can be reached from elsewhere, where tokens and mail would be readable on the way",
                options.listen
            ),
        )
        .hint("inbox serve --tls-cert FILE --tls-key FILE, or --insecure behind a proxy that has TLS"));
    }
    let tls = options
        .tls
        .as_ref()
        .map(|(cert, key)| listen::acceptor(cert, key));
    let tls = tls.transpose()?;
    let table = Table::new();
    let metrics = Arc::new(Metrics::new(&table));
    let engine = Arc::new(Engine::start(open, Arc::clone(&metrics))?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Refusal::new(Code::Internal, format!("no runtime: {error}")))?;
    runtime.block_on(async move {
        let listener = listen::bind(options.listen).await?;
        let address = listener.local_addr().unwrap_or(options.listen);
        let house = Arc::new(House {
            gate: Gate::new(address.port(), &options.names, tls.is_some()),
            table,
            doors: Doors::default(),
            engine,
            metrics,
            sessions: mcp::Sessions::default(),
            live: console::Live::default(),
            asking: console::Asking::default(),
            port: address.port(),
            is_tls: options.tls.is_some(),
            version: options.version.clone(),
        });
        ready(address)?;
        listen::until(stopped, listener, tls, house).await
    })
}
