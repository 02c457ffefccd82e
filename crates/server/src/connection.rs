//! Accepting connections and letting them go.
//!
//! A connection takes a slot before it is accepted and gives it back when it ends, so the slots bound the
//! connections and, all of them free again, tell that the server is done. Shutting down has two steps:
//! first idle connections close and busy ones finish the request they are at; after the timeout the rest
//! is cut.

use crate::dispatch::Backend;
use crate::exchange::Exchange;
use crate::limits::{Options, READ_BUFFER_BYTES};
use crate::stream::{PatientStream, Progress};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

/// How long to wait when the system has no socket to give: it needs another connection to end first.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// A server that listens and does not serve yet.
#[derive(Debug)]
pub struct Server<B> {
    listener: TcpListener,
    exchange: Arc<Exchange<B>>,
}

/// How a server's end went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Connections whose request did not finish in time.
    pub connections_cut: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Serving,
    /// No further requests.
    Finishing,
    /// No patience left.
    Cutting,
}

impl<B: Backend> Server<B> {
    /// Takes the address. Port 0 takes any free port; [`Server::local_addr`] tells which.
    pub async fn bind(
        address: impl ToSocketAddrs,
        backend: Arc<B>,
        options: Options,
    ) -> io::Result<Server<B>> {
        Ok(Server::on(TcpListener::bind(address).await?, backend, options))
    }

    /// Takes a port that is listened on already.
    pub fn on(listener: TcpListener, backend: Arc<B>, options: Options) -> Server<B> {
        Server { listener, exchange: Arc::new(Exchange::new(backend, options)) }
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` is ready and the requests then in flight are finished or out of time.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Ended {
        let limits = self.exchange.limits.clone();
        let connections_max = limits.connections_max.min(Semaphore::MAX_PERMITS);
        let slots = Arc::new(Semaphore::new(connections_max));
        let (phase, _) = watch::channel(Phase::Serving);

        tokio::select! {
            () = accept(&self.listener, &self.exchange, &slots, &phase) => {}
            () = shutdown => {}
        }
        drop(self.listener);

        phase.send_replace(Phase::Finishing);
        let all_slots = u32::try_from(connections_max).unwrap_or(u32::MAX);
        if timeout(limits.shutdown_timeout, slots.acquire_many(all_slots)).await.is_ok() {
            return Ended { connections_cut: 0 };
        }
        let connections_cut = connections_max - slots.available_permits();
        phase.send_replace(Phase::Cutting);
        Ended { connections_cut }
    }
}

/// Never ends by itself: an address that can't be accepted from now may be in a moment.
async fn accept<B: Backend>(
    listener: &TcpListener,
    exchange: &Arc<Exchange<B>>,
    slots: &Arc<Semaphore>,
    phase: &watch::Sender<Phase>,
) {
    // The slots are never closed, so there is always one to wait for.
    while let Ok(slot) = slots.clone().acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(serve(stream, exchange.clone(), phase.subscribe(), slot));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

async fn serve<B: Backend>(
    stream: TcpStream,
    exchange: Arc<Exchange<B>>,
    mut phase: watch::Receiver<Phase>,
    _slot: OwnedSemaphorePermit,
) {
    // Answers are written whole; waiting to fill a packet would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its delay");
    }
    let limits = &exchange.limits;
    let progress = Arc::new(Progress::default());
    let stream = PatientStream::new(stream, progress.clone(), limits);
    let mut http = http1::Builder::new();
    // Not `pipeline_flush`: it holds answers back while unread bytes wait, and so never sends the refusal
    // of a head that can't be parsed. No SDK pipelines.
    http.max_buf_size(READ_BUFFER_BYTES).max_headers(limits.head_fields_max);

    let service = service_fn(|request| {
        let (exchange, progress) = (exchange.clone(), progress.clone());
        async move {
            progress.step();
            let response = exchange.answer(request).await;
            progress.step();
            Ok::<_, Infallible>(response)
        }
    });
    let mut connection = pin!(http.serve_connection(stream, service));
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke");
                }
                return;
            }
            changed = phase.changed() => match *phase.borrow_and_update() {
                // The server itself is gone.
                _ if changed.is_err() => return,
                Phase::Serving => {}
                Phase::Finishing => connection.as_mut().graceful_shutdown(),
                Phase::Cutting => return,
            },
        }
    }
}
