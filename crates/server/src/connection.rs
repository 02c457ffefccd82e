//! Accepts connections and ends them.
//!
//! A connection takes a slot and gives it back when it ends, so the slots bound the connections. Once all
//! slots are free again, the server is done. When none is free, a new connection has the one disconnected
//! that has rested longest. Shutting down has two steps: first idle connections close and busy ones finish
//! their request; after the timeout the rest is cut.
//!
//! A connection is any stream of bytes: TCP today, and TLS on it without a change here.

use crate::dispatch::Backend;
use crate::exchange::Exchange;
use crate::limits::{Options, READ_BUFFER_BYTES};
use crate::peer::{Entry, LOOK_INTERVAL, Wanted};
use crate::stream::TimedStream;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

/// How long to wait when the system has no socket to give: another connection must end first.
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
    /// Requests in flight end where they are.
    Cutting,
}

impl<B: Backend> Server<B> {
    /// Takes the address. Port 0 takes any free port; [`Server::local_addr`] tells which.
    pub async fn bind(
        address: impl ToSocketAddrs,
        backend: Arc<B>,
        options: Options,
    ) -> io::Result<Server<B>> {
        Server::on(TcpListener::bind(address).await?, backend, options)
    }

    /// Takes a port that is listened on already.
    pub fn on(listener: TcpListener, backend: Arc<B>, options: Options) -> io::Result<Server<B>> {
        let exchange = Exchange::new(backend, options, listener.local_addr()?);
        Ok(Server { listener, exchange: Arc::new(exchange) })
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

/// Never ends by itself: when no connection can be accepted now, one may be in a moment.
async fn accept<B: Backend>(
    listener: &TcpListener,
    exchange: &Arc<Exchange<B>>,
    slots: &Arc<Semaphore>,
    phase: &watch::Sender<Phase>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                let slot = free_slot(exchange, slots).await;
                start(stream, from, exchange, phase, slot);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

/// Waits for a slot while clients that only hold one are disconnected.
async fn free_slot<B: Backend>(exchange: &Exchange<B>, slots: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    loop {
        // The slots are never closed, so the only error is that there is none.
        if let Ok(slot) = slots.clone().try_acquire_owned() {
            return slot;
        }
        exchange.peers.disconnect_slowest(Wanted::Connection);
        if let Ok(Ok(slot)) = timeout(LOOK_INTERVAL, slots.clone().acquire_owned()).await {
            return slot;
        }
    }
}

fn start<B: Backend>(
    stream: TcpStream,
    from: SocketAddr,
    exchange: &Arc<Exchange<B>>,
    phase: &watch::Sender<Phase>,
    slot: OwnedSemaphorePermit,
) {
    // Answers are written whole; waiting to fill a packet would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its delay");
    }
    let entry = exchange.peers.enter(from.ip());
    let peer = entry.peer.clone();
    let task = tokio::spawn(serve(stream, exchange.clone(), entry, phase.subscribe(), slot));
    peer.served_by(task.abort_handle());
}

/// Answers the requests of one connection until it ends.
async fn serve<B: Backend>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    exchange: Arc<Exchange<B>>,
    entry: Entry,
    mut phase: watch::Receiver<Phase>,
    _slot: OwnedSemaphorePermit,
) {
    let limits = &exchange.limits;
    let stream = TimedStream::new(stream, entry.peer.clone(), limits);
    let mut http = http1::Builder::new();
    // Not `pipeline_flush`: it holds answers back while unread bytes wait, and so never sends the refusal
    // of a head that can't be parsed. No SDK pipelines.
    http.max_buf_size(READ_BUFFER_BYTES).max_headers(limits.head_fields_max);

    let service = service_fn(|request| {
        let (exchange, peer) = (exchange.clone(), entry.peer.clone());
        async move { Ok::<_, Infallible>(exchange.answer(&peer, request).await) }
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
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
