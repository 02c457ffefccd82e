//! Accepts connections and ends them.
//!
//! A connection takes a slot and gives it back when it ends, so the slots bound the connections. Once all
//! slots are free again, the server is done. When none is free, a new connection has the one disconnected
//! that has rested longest. Shutting down has two steps: first idle connections close and busy ones finish
//! their request; after the timeout the rest is cut.
//!
//! A connection is any stream of bytes: TCP, or TLS on it. Over TLS the client chooses HTTP/1.1 or HTTP/2.

use crate::dispatch::Backend;
use crate::exchange::Exchange;
use crate::limits::{HTTP2_STREAMS_MAX, HTTP2_WINDOW_BYTES, Options, READ_BUFFER_BYTES, UNCOUNTED_BYTES};
use crate::peer::{Entry, InFlight, LOOK_INTERVAL, Peers, Wanted};
use crate::stream::TimedStream;
use crate::tls::{self, Tls};
use engine::Engine;
use futures_util::future::BoxFuture;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

/// How long to wait when the system has no socket to give: another connection must end first.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// How often to look for answers over HTTP/2 that their clients do not read. They may wait for minutes.
const READERS_LOOK_INTERVAL: Duration = Duration::from_secs(5);

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
    pub fn run(self, shutdown: impl Future<Output = ()> + Send + 'static) -> BoxFuture<'static, Ended> {
        Box::pin(self.serve(Box::pin(shutdown)))
    }

    async fn serve(self, shutdown: BoxFuture<'static, ()>) -> Ended {
        let limits = self.exchange.limits.clone();
        let connections_max = limits.connections_max.min(Semaphore::MAX_PERMITS);
        let slots = Arc::new(Semaphore::new(connections_max));
        let (phase, _) = watch::channel(Phase::Serving);

        tokio::select! {
            () = accept(&self.listener, &self.exchange, &slots, &phase) => {}
            () = watch_readers(&self.exchange.peers, limits.body_timeout) => {}
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

impl Server<Engine> {
    /// [`Server::run`] for the real backend. It is named here so that the path of a request is compiled once, in this
    /// crate, with this crate's optimisation, and not in the binary.
    pub fn run_engine(self, shutdown: BoxFuture<'static, ()>) -> BoxFuture<'static, Ended> {
        Box::pin(self.serve(shutdown))
    }
}

/// Serves one connection over any stream, as a server on loopback would: for tests that need no socket.
pub async fn serve_stream<B: Backend>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    backend: Arc<B>,
    options: Options,
) {
    let exchange = Arc::new(Exchange::new(backend, options, SocketAddr::from((Ipv4Addr::LOCALHOST, 0))));
    let (_serving, phase) = watch::channel(Phase::Serving);
    let Ok(entry) = exchange.peers.enter(Ipv4Addr::LOCALHOST.into(), false) else { return };
    let slots = Arc::new(Semaphore::new(1));
    let Ok(slot) = slots.acquire_owned().await else { return };
    Connection { exchange, entry, phase, _slot: slot }.http1(stream).await;
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
                // A connection too many of its address is closed here.
                if let Ok(entry) = exchange.peers.enter(from.ip(), exchange.tls.is_some()) {
                    start(stream, exchange, entry, phase, slot);
                }
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
        exchange.peers.disconnect_slowest(Wanted::Connection, None);
        if let Ok(Ok(slot)) = timeout(LOOK_INTERVAL, slots.clone().acquire_owned()).await {
            return slot;
        }
    }
}

/// Looks for answers that their clients do not read. Never ends by itself.
async fn watch_readers(peers: &Peers, timeout: Duration) {
    loop {
        tokio::time::sleep(READERS_LOOK_INTERVAL.min(timeout)).await;
        peers.disconnect_unread(timeout);
    }
}

fn start<B: Backend>(
    stream: TcpStream,
    exchange: &Arc<Exchange<B>>,
    entry: Entry,
    phase: &watch::Sender<Phase>,
    slot: OwnedSemaphorePermit,
) {
    // Answers are written whole; waiting to fill a packet would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its delay");
    }
    let peer = entry.peer.clone();
    let connection = Connection { exchange: exchange.clone(), entry, phase: phase.subscribe(), _slot: slot };
    let task = match &exchange.tls {
        None => tokio::spawn(connection.http1(stream)),
        Some(tls) => tokio::spawn(connection.encrypted(stream, tls.clone())),
    };
    peer.served_by(task.abort_handle());
}

/// One connection and its place among all.
struct Connection<B> {
    exchange: Arc<Exchange<B>>,
    entry: Entry,
    phase: watch::Receiver<Phase>,
    _slot: OwnedSemaphorePermit,
}

impl<B: Backend> Connection<B> {
    /// Agrees on TLS and a protocol, in the time that a request's head may take.
    async fn encrypted(self, stream: TcpStream, tls: Arc<Tls>) {
        let handshake = tls.acceptor().accept(stream);
        let stream = match timeout(self.exchange.limits.head_timeout, handshake).await {
            Ok(Ok(stream)) => stream,
            failed => {
                self.exchange.peers.totals.handshakes_failed.fetch_add(1, Relaxed);
                let error = failed.map(|failed| failed.err().map(|error| error.to_string()));
                return tracing::debug!(?error, "a TLS handshake failed");
            }
        };
        // Boxed, so that the task of a connection is as large as its protocol needs, not as the largest one.
        if tls::is_http2(stream.get_ref().1.alpn_protocol()) {
            Box::pin(self.http2(stream)).await;
        } else {
            Box::pin(self.http1(stream)).await;
        }
    }

    /// Answers requests, one after the other.
    async fn http1(self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let Connection { exchange, entry, phase, .. } = &self;
        let limits = &exchange.limits;
        let stream = TimedStream::http1(stream, entry.peer.clone(), limits);
        let mut http = http1::Builder::new();
        // Not `pipeline_flush`: it holds answers back while unread bytes wait, and so never sends the refusal
        // of a head that can't be parsed. No SDK pipelines.
        http.max_buf_size(READ_BUFFER_BYTES).max_headers(limits.head_fields_max);
        let service = service_fn(|request| {
            let (exchange, in_flight) = (exchange.clone(), InFlight::alone(entry.peer.clone()));
            async move { Ok::<_, Infallible>(exchange.answer(in_flight, request).await) }
        });
        let connection = pin!(http.serve_connection(TokioIo::new(stream), service));
        until_ended(connection, |connection| connection.graceful_shutdown(), phase.clone()).await;
    }

    /// Answers several requests at once.
    async fn http2(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let Connection { exchange, entry, phase, .. } = &self;
        let limits = &exchange.limits;
        let stream = TimedStream::http2(stream, entry.peer.clone(), limits);
        let mut http = http2::Builder::new(TokioExecutor::new());
        http.timer(TokioTimer::new())
            .max_concurrent_streams(HTTP2_STREAMS_MAX)
            .initial_stream_window_size(HTTP2_WINDOW_BYTES)
            .initial_connection_window_size(HTTP2_WINDOW_BYTES)
            .max_header_list_size(limits.head_bytes_max as u32)
            // What is made of an answer before the client takes it. The rest waits where it is counted.
            .max_send_buf_size(UNCOUNTED_BYTES);
        let service = service_fn(|request| {
            let in_flight = InFlight::beside_others(&exchange.peers, &entry.peer);
            let exchange = exchange.clone();
            async move { Ok::<_, Infallible>(exchange.answer(in_flight, request).await) }
        });
        let connection = pin!(http.serve_connection(TokioIo::new(stream), service));
        until_ended(connection, |connection| connection.graceful_shutdown(), phase.clone()).await;
    }
}

/// Runs a connection to its end, or to the server's.
async fn until_ended<C: Future<Output = hyper::Result<()>>>(
    mut connection: Pin<&mut C>,
    finish: impl Fn(Pin<&mut C>),
    mut phase: watch::Receiver<Phase>,
) {
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
                Phase::Finishing => finish(connection.as_mut()),
                Phase::Cutting => return,
            },
        }
    }
}
