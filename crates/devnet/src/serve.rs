//! The devnet on its ports.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::fault::{Faults, Trouble};
use crate::house::House;
use crate::ledger::{Ledger, LedgerError};
use crate::{grpc, node, rest};

/// Where the devnet is to be, and where it keeps its ledger.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the node takes transactions.
    pub node: SocketAddr,
    /// Where the mirror streams, and answers REST too.
    pub mirror: SocketAddr,
    /// Where the mirror answers REST.
    pub rest: SocketAddr,
    /// The ledger's file; without one it ends with the process.
    pub data: Option<PathBuf>,
    /// What is to go wrong from the beginning.
    pub faults: Vec<Trouble>,
}

impl Default for Options {
    /// The ports that SDKs know a local network by.
    fn default() -> Self {
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Options {
            node: at(50211),
            mirror: at(5600),
            rest: at(5551),
            data: None,
            faults: Vec::new(),
        }
    }
}

impl Options {
    /// The same on ports that nobody has.
    pub fn anywhere() -> Self {
        let at = SocketAddr::from(([127, 0, 0, 1], 0));
        Options {
            node: at,
            mirror: at,
            rest: at,
            data: None,
            faults: Vec::new(),
        }
    }
}

/// The devnet cannot be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Somebody else has the port.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// The system has no thread for its writer.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// A devnet that runs until it is dropped.
#[derive(Debug)]
pub struct Devnet {
    /// Where the node takes transactions.
    pub node: SocketAddr,
    /// Where the mirror streams, and answers REST too.
    pub mirror: SocketAddr,
    /// Where the mirror answers REST.
    pub rest: SocketAddr,
    faults: Arc<Faults>,
    house: Arc<House>,
    tasks: JoinSet<()>,
}

impl Devnet {
    /// Starts a devnet; it answers when this returns.
    pub async fn start(options: &Options) -> Result<Self, StartError> {
        let ledger = match &options.data {
            Some(path) => Ledger::open(path)?,
            None => Ledger::in_memory()?,
        };
        let (node, node_at) = bind(options.node).await?;
        let (mirror, mirror_at) = bind(options.mirror).await?;
        let (rest, rest_at) = bind(options.rest).await?;
        let house = House::new(ledger, node_at).map_err(StartError::Thread)?;
        let house = Arc::new(house);
        let faults = Arc::clone(&house.faults);
        for trouble in &options.faults {
            faults.set(*trouble);
        }
        let mut tasks = JoinSet::new();
        for listener in [node, mirror, rest] {
            tasks.spawn(accept(listener, Arc::clone(&house)));
        }
        let settling = Arc::clone(&house);
        tasks.spawn(async move { settling.settle().await });
        Ok(Devnet {
            node: node_at,
            mirror: mirror_at,
            rest: rest_at,
            faults,
            house,
            tasks,
        })
    }

    /// Puts messages on a topic as if these accounts had paid for them, without a transaction: for tests that need very many. Whether
    /// there is such a topic.
    pub fn pour(
        &self,
        topic: i64,
        messages: impl Iterator<Item = (i64, Vec<u8>)>,
    ) -> Result<bool, LedgerError> {
        self.house.pour(topic, messages)
    }

    /// What is to go wrong.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Runs until something ends it.
    pub async fn run(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let cannot = |error| StartError::Listen(address, error);
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    Ok((listener, bound))
}

/// Takes in connections. Each speaks HTTP/1.1 or HTTP/2, and every port answers everything.
async fn accept(listener: TcpListener, house: Arc<House>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, peer)) = accepted else { continue };
                let _ = stream.set_nodelay(true);
                let house = Arc::clone(&house);
                connections.spawn(async move {
                    let answer = service_fn(move |request| answer(Arc::clone(&house), peer, request));
                    // A client that goes away in the midst is no fault of ours.
                    let _ = Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), answer)
                        .await;
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn answer(
    house: Arc<House>,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Result<hyper::Response<grpc::Reply>, std::convert::Infallible> {
    Ok(if grpc::is_call(&request) {
        node::call(house, request).await
    } else if request.uri().path() == rest::faults::PATH {
        rest::faults::answer(&house.faults, peer, request).await
    } else {
        rest::answer(&house, &request)
    })
}
