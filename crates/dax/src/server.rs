//! The port: accepts connections and ends them.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;

use crate::connection::{self, Addresses, Ended, Shared};
use crate::limits::Limits;
use crate::metrics::Gauge;
use crate::outside::Gate;
use crate::service::Service;

/// How long to wait when the system has no socket to give.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// What encrypts a connection, as of now: certificates are renewed while the server runs.
pub type Tls = Arc<dyn Fn() -> TlsAcceptor + Send + Sync>;

/// A server that listens and does not serve yet.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    tls: Option<Tls>,
    connections: Connections,
}

/// The connections that are open.
#[derive(Clone, Default)]
struct Connections(Arc<Mutex<HashMap<u64, Open>>>);

struct Open {
    /// Where it comes from, as far as bounds are concerned.
    network: IpAddr,
    since: Instant,
    rests: Arc<AtomicBool>,
    task: Option<AbortHandle>,
}

/// Removes a connection from the list when it ends, in whichever way.
struct Leave {
    connections: Connections,
    id: u64,
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.connections.0.lock().remove(&self.id);
    }
}

impl Server {
    pub fn new(
        listener: TcpListener,
        service: Arc<Service>,
        gate: Arc<dyn Gate>,
        limits: Limits,
        tls: Option<Tls>,
    ) -> Server {
        let memory = Arc::new(Semaphore::new(limits.memory_bytes_max / 1024));
        let shared = Arc::new(Shared { service, gate, limits, memory, open: Gauge::default() });
        Server { listener, shared, tls, connections: Connections::default() }
    }

    /// Serves until `shutdown` is ready and the requests then under way are finished or out of time.
    pub fn run(self, shutdown: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        Box::pin(self.serve(shutdown))
    }

    async fn serve(self, mut shutdown: BoxFuture<'static, ()>) {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let mut next_id = 0;
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                Some(_) = tasks.join_next() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, from)) => {
                        next_id += 1;
                        self.make_room(from.ip());
                        self.start(&mut tasks, next_id, stream, from, stopped.clone());
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a connection to DAX could not be accepted");
                        tokio::time::sleep(ACCEPT_RETRY).await;
                    }
                },
            }
        }
        drop(self.listener);
        stop.send_replace(true);
        let all = async { while tasks.join_next().await.is_some() {} };
        if timeout(self.shared.limits.shutdown_timeout, all).await.is_err() {
            tasks.shutdown().await;
        }
    }

    /// Ends the connection that has rested longest, or is the oldest, if there are too many: of those from the same
    /// address, or of all.
    fn make_room(&self, from: IpAddr) {
        let limits = &self.shared.limits;
        let network = (limits.network)(from);
        let mut open = self.connections.0.lock();
        make_room(&mut open, limits.address_connections_max, |open| open.network == network);
        make_room(&mut open, limits.connections_max, |_| true);
    }

    fn start(
        &self,
        tasks: &mut JoinSet<()>,
        id: u64,
        stream: TcpStream,
        from: SocketAddr,
        mut stopped: watch::Receiver<bool>,
    ) {
        let rests = Arc::new(AtomicBool::new(true));
        let network = (self.shared.limits.network)(from.ip());
        let open = Open { network, since: Instant::now(), rests: rests.clone(), task: None };
        self.connections.0.lock().insert(id, open);
        let leave = Leave { connections: self.connections.clone(), id };
        let (shared, tls) = (self.shared.clone(), self.tls.clone());
        let task = tasks.spawn(async move {
            let _leave = leave;
            let serving = serve(stream, from, &shared, tls, &rests);
            let mut serving = std::pin::pin!(serving);
            // What is under way is finished; a connection that rests is closed.
            let stop = async {
                let _ = stopped.wait_for(|stopped| *stopped).await;
                until(&rests).await;
            };
            let ended = tokio::select! {
                ended = &mut serving => ended,
                () = stop => Ended::ByClient,
            };
            tracing::debug!(%ended, "a connection to DAX ended");
        });
        if let Some(open) = self.connections.0.lock().get_mut(&id) {
            open.task = Some(task);
        }
    }

    /// What tells how many connections are open.
    pub fn connections(&self) -> impl Fn() -> u64 + Send + Sync + 'static {
        let connections = self.connections.clone();
        move || connections.0.lock().len() as u64
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Ends connections until there are fewer of a kind than may be.
fn make_room(open: &mut HashMap<u64, Open>, max: usize, is_counted: impl Fn(&Open) -> bool) {
    while open.values().filter(|open| is_counted(open)).count() >= max.max(1) {
        let counted = open.iter().filter(|(_, open)| is_counted(open));
        let longest = counted.min_by_key(|(_, open)| (!open.rests.load(Ordering::Relaxed), open.since));
        let Some(id) = longest.map(|(id, _)| *id) else { return };
        if let Some(task) = open.remove(&id).and_then(|open| open.task) {
            task.abort();
        }
    }
}

/// Ends when a connection rests.
async fn until(rests: &AtomicBool) {
    while !rests.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn serve(
    stream: TcpStream,
    from: SocketAddr,
    shared: &Shared,
    tls: Option<Tls>,
    rests: &AtomicBool,
) -> Ended {
    // Answers are written whole; waiting to fill a packet would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its delay");
    }
    let reached = match stream.local_addr() {
        Ok(reached) => reached,
        Err(error) => return error.into(),
    };
    let addresses = Addresses { from, reached, is_encrypted: tls.is_some() };
    let Some(tls) = tls else { return connection::serve(stream, shared, addresses, rests).await };
    match timeout(shared.limits.greeting_timeout, tls().accept(stream)).await {
        Ok(Ok(stream)) => connection::serve(stream, shared, addresses, rests).await,
        Ok(Err(error)) => error.into(),
        Err(_) => Ended::Timeout("the TLS handshake"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(networks: &[&str]) -> HashMap<u64, Open> {
        let now = Instant::now();
        let open = |(number, network): (usize, &&str)| {
            let open = Open {
                network: network.parse().expect("an address"),
                since: now + Duration::from_secs(number as u64),
                rests: Arc::new(AtomicBool::new(true)),
                task: None,
            };
            (number as u64, open)
        };
        networks.iter().enumerate().map(open).collect()
    }

    fn ids(open: &HashMap<u64, Open>) -> Vec<u64> {
        let mut ids: Vec<u64> = open.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn one_address_makes_room_among_its_own_connections() {
        let mut open = connections(&["10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.2"]);
        let network: IpAddr = "10.0.0.2".parse().expect("an address");
        make_room(&mut open, 3, |open| open.network == network);
        assert_eq!(ids(&open), [0, 2, 3], "the oldest of the same address");
        open[&2].rests.store(false, Ordering::Relaxed);
        make_room(&mut open, 2, |open| open.network == network);
        assert_eq!(ids(&open), [0, 2], "one that rests, before one that works");
        make_room(&mut open, 2, |_| true);
        assert_eq!(ids(&open), [2]);
    }
}
