//! The network between Regions: messages are cut off, delayed, lost on either way, and arrive twice or late.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use engine::{Answer, Message, Peer, Peers};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::executor::{Executor, WORLD};
use crate::plan::REGIONS;
use crate::servers::Servers;

/// How long a server waits for the answer to a message.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

/// What goes wrong on the way from one Region to another, each until a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Way {
    pub cut_until_us: u64,
    pub slow_until_us: u64,
    pub delay_ms: u64,
    /// Of a hundred messages and answers, how many are lost.
    pub losing_until_us: u64,
    pub losing_percent: u64,
    /// Of a hundred messages, how many arrive again later.
    pub repeating_until_us: u64,
    pub repeating_percent: u64,
}

/// All ways between the Regions.
pub struct Network {
    executor: Executor,
    servers: OnceLock<Weak<Servers>>,
    ways: Mutex<BTreeMap<(usize, usize), Way>>,
    chance: Mutex<fastrand::Rng>,
}

impl Network {
    /// Nothing goes wrong yet.
    pub fn new(executor: &Executor) -> Arc<Network> {
        Arc::new(Network {
            executor: executor.clone(),
            servers: OnceLock::new(),
            ways: Mutex::default(),
            chance: Mutex::new(executor.chance("network")),
        })
    }

    /// The servers that it connects. Only the first ones count.
    pub fn connect(&self, servers: &Arc<Servers>) {
        let _ = self.servers.set(Arc::downgrade(servers));
    }

    /// What the server of a Region knows of the others.
    pub fn peers(self: &Arc<Network>, own: usize) -> Peers {
        let peer = |to: usize| -> (String, Arc<dyn Peer>) {
            (REGIONS[to].to_owned(), Arc::new(OverNetwork { network: self.clone(), from: own, to }))
        };
        (0..REGIONS.len()).filter(|to| *to != own).map(peer).collect()
    }

    /// Changes what goes wrong on one way.
    pub fn change_way(&self, from: usize, to: usize, change: impl FnOnce(&mut Way)) {
        change(self.ways.lock().entry((from, to)).or_default());
    }

    /// Nothing goes wrong any more.
    pub fn heal(&self) {
        self.ways.lock().clear();
    }

    fn way(&self, from: usize, to: usize) -> Way {
        self.ways.lock().get(&(from, to)).copied().unwrap_or_default()
    }

    fn is_lucky(&self, percent: u64) -> bool {
        self.chance.lock().u64(0..100) < percent
    }

    /// One way. What is lost never arrives: the other side waits for it.
    async fn travel(&self, from: usize, to: usize) {
        let mut time_us = self.chance.lock().u64(500..40_000);
        let (way, now_us) = (self.way(from, to), self.executor.now_us());
        if now_us < way.slow_until_us {
            time_us += self.chance.lock().u64(0..=way.delay_ms) * 1000;
        }
        self.executor.sleep(Duration::from_micros(time_us)).await;
        let (way, now_us) = (self.way(from, to), self.executor.now_us());
        let is_lost = now_us < way.losing_until_us && self.is_lucky(way.losing_percent);
        if now_us < way.cut_until_us || is_lost {
            std::future::pending::<()>().await;
        }
    }

    /// Hands a message to the server that it is for. The error says that there is none, or why it refuses.
    async fn hand_over(&self, to: usize, message: Vec<u8>) -> Result<Vec<u8>, String> {
        let servers = self.servers.get().and_then(Weak::upgrade).ok_or("there are no servers")?;
        let (process, engine) = servers.running(to).ok_or("connection refused")?;
        let message: Message = serde_json::from_slice(&message).map_err(|error| error.to_string())?;
        let (sender, receiver) = oneshot::channel();
        let work = async move {
            let answer = engine.receive(message).await;
            let _ = sender.send(answer.map(|answer| serde_json::to_vec(&answer).expect("an answer is JSON")));
        };
        self.executor.spawn(process, "message of a peer", Box::pin(work));
        receiver.await.map_err(|_| "connection reset".to_owned())?
    }

    async fn exchange(
        self: &Arc<Network>,
        from: usize,
        to: usize,
        message: Vec<u8>,
    ) -> Result<Vec<u8>, String> {
        self.travel(from, to).await;
        let way = self.way(from, to);
        if self.executor.now_us() < way.repeating_until_us && self.is_lucky(way.repeating_percent) {
            let (network, message) = (self.clone(), message.clone());
            let late_ms = self.chance.lock().u64(0..5000);
            let again = async move {
                network.executor.sleep(Duration::from_millis(late_ms)).await;
                drop(network.hand_over(to, message).await);
            };
            self.executor.spawn(WORLD, "repeated message", Box::pin(again));
        }
        let answer = self.hand_over(to, message).await;
        self.travel(to, from).await;
        answer
    }
}

/// A Region as the server of another one sees it.
struct OverNetwork {
    network: Arc<Network>,
    from: usize,
    to: usize,
}

impl Peer for OverNetwork {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<Answer, String>> {
        Box::pin(async move {
            let sent = serde_json::to_vec(message).map_err(|error| error.to_string())?;
            let answer = tokio::select! {
                biased;
                answer = self.network.exchange(self.from, self.to, sent) => answer?,
                () = self.network.executor.sleep(ANSWER_WAIT) => return Err("no answer in time".to_owned()),
            };
            serde_json::from_slice(&answer).map_err(|error| error.to_string())
        })
    }
}
