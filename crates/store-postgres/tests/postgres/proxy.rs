//! A wire between store and server that can be cut at the worst moment.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What the proxy does with the server's answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answers {
    Arrive,
    /// Nothing arrives, and the connection ends once the server has said that it committed. From then on, the
    /// answers to others arrive.
    EndAtCommit,
    /// Nothing arrives and nothing ends.
    Vanish,
    /// The first answer that says that the server committed is held back, and [`Proxy::held`] returns. The
    /// answers to others arrive.
    HoldAtCommit,
}

/// Passes on connections to a server until it is dropped.
pub struct Proxy {
    port: u16,
    answers: Arc<AtomicU8>,
    held: Arc<Notify>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    /// `url` names a server on 127.0.0.1.
    pub async fn start(url: &str) -> Proxy {
        let config: tokio_postgres::Config = url.parse().expect("a URL");
        let server = config.get_ports()[0];
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("a bound socket").port();
        let answers = Arc::new(AtomicU8::new(Answers::Arrive as u8));
        let held = Arc::new(Notify::new());
        let task = tokio::spawn(accept(listener, server, answers.clone(), held.clone()));
        Proxy { port, answers, held, task }
    }

    pub fn url(&self, url: &str) -> String {
        let (_, database) = url.rsplit_once('/').expect("a URL with a database");
        format!("postgresql://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Waits until an answer is held back.
    pub async fn held(&self) {
        self.held.notified().await;
    }

    pub fn set(&self, answers: Answers) {
        self.answers.store(answers as u8, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, server: u16, answers: Arc<AtomicU8>, held: Arc<Notify>) {
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else { continue };
        let (client_read, client_write) = client.into_split();
        let (server_read, server_write) = server.into_split();
        tokio::spawn(pass_requests(client_read, server_write));
        tokio::spawn(pass_answers(server_read, client_write, answers.clone(), held.clone()));
    }
}

async fn pass_requests(mut client: OwnedReadHalf, mut server: OwnedWriteHalf) -> io::Result<u64> {
    tokio::io::copy(&mut client, &mut server).await
}

async fn pass_answers(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    answers: Arc<AtomicU8>,
    held: Arc<Notify>,
) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    let mut withheld = Vec::new();
    loop {
        let length = server.read(&mut buffer).await?;
        let answer = &buffer[..length];
        if length == 0 {
            return Ok(());
        }
        let now = answers.load(Ordering::SeqCst);
        let says_committed = answer.windows(7).any(|window| window == b"COMMIT\0");
        if now == Answers::HoldAtCommit as u8 && says_committed {
            answers.store(Answers::Arrive as u8, Ordering::SeqCst);
            held.notify_one();
            // Until the server hangs up.
            tokio::io::copy(&mut server, &mut tokio::io::sink()).await?;
            return Ok(());
        }
        if now == Answers::Arrive as u8 || now == Answers::HoldAtCommit as u8 {
            client.write_all(answer).await?;
            continue;
        }
        withheld.extend_from_slice(answer);
        let committed = withheld.windows(7).any(|window| window == b"COMMIT\0");
        if now == Answers::EndAtCommit as u8 && committed {
            answers.store(Answers::Arrive as u8, Ordering::SeqCst);
            return Ok(());
        }
    }
}
