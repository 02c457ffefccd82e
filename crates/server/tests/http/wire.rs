//! A server with a stand-in behind it, and a client that speaks HTTP byte by byte, so that it can also
//! speak it badly.

use api::{Error, Operation};
use engine::Caller;
use server::{Backend, Ended, Limits, Options, Server};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longer than anything here takes; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Does what the body tells it to, and by default says who asked for what.
pub struct StandIn {
    /// Requests told to wait that have reached it.
    pub arrived: Semaphore,
    /// One of them goes on for each permit added.
    pub released: Semaphore,
}

impl Backend for StandIn {
    async fn call(
        &self,
        caller: &Caller,
        operation: Operation,
        body: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let text = String::from_utf8_lossy(body);
        let command = text.trim().split(':').collect::<Vec<_>>();
        match command[..] {
            ["panic"] => panic!("told to"),
            ["fail"] => return Err(Error::validation("it \"failed\"")),
            ["break"] => return Err(Error::internal()),
            ["nothing"] => {}
            ["wait"] => {
                self.arrived.add_permits(1);
                self.released.acquire().await.unwrap().forget();
                answer.extend_from_slice(b"{}");
            }
            ["long", length] => answer.extend(long_answer(length.parse().unwrap())),
            _ => {
                let engine::Namespace { account, region } = &caller.namespace;
                let bytes = body.len();
                let text = format!("{account} {region} {operation:?} {bytes}");
                answer.extend_from_slice(text.as_bytes());
            }
        }
        Ok(())
    }
}

/// What the stand-in answers to `long:<length>`: text that packs, but not to nothing.
pub fn long_answer(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let letter = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'A' + (state >> 28) as u8
    };
    (0..length).map(letter).collect()
}

/// A server with something behind it.
pub struct Running<B = StandIn> {
    pub address: SocketAddr,
    pub backend: Arc<B>,
    shutdown: oneshot::Sender<()>,
    ended: JoinHandle<Ended>,
}

impl Running {
    pub async fn start() -> Running {
        Running::with(Limits::default()).await
    }

    pub async fn with(limits: Limits) -> Running {
        let stand_in = StandIn { arrived: Semaphore::new(0), released: Semaphore::new(0) };
        Running::serving(Arc::new(stand_in), limits).await
    }

    /// Waits until a request is held by the stand-in.
    pub async fn held(&self) {
        timeout(PATIENCE, self.backend.arrived.acquire()).await.expect("a request arrives").unwrap().forget();
    }

    /// Lets as many of the held requests go.
    pub fn release(&self, count: usize) {
        self.backend.released.add_permits(count);
    }
}

impl<B: Backend> Running<B> {
    pub async fn serving(backend: Arc<B>, limits: Limits) -> Running<B> {
        let options = Options { limits, request_id_seed: 1 };
        let server = Server::bind("127.0.0.1:0", backend.clone(), options).await.unwrap();
        let address = server.local_addr().unwrap();
        let (shutdown, asked) = oneshot::channel();
        let ended = tokio::spawn(server.run(async {
            let _ = asked.await;
        }));
        Running { address, backend, shutdown, ended }
    }

    pub async fn connect(&self) -> Wire {
        Wire { stream: TcpStream::connect(self.address).await.unwrap(), received: Vec::new() }
    }

    /// One request on a connection of its own.
    pub async fn ask(&self, request: Post) -> Answer {
        self.connect().await.ask(request).await
    }

    pub fn stop(self) -> JoinHandle<Ended> {
        self.shutdown.send(()).unwrap();
        self.ended
    }
}

/// One connection.
pub struct Wire {
    pub stream: TcpStream,
    received: Vec<u8>,
}

impl Wire {
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    pub async fn ask(&mut self, request: Post) -> Answer {
        self.send(request.bytes()).await;
        self.answer().await
    }

    pub async fn answer(&mut self) -> Answer {
        loop {
            if let Some((answer, length)) = Answer::parse(&self.received) {
                self.received.drain(..length);
                return answer;
            }
            assert!(
                self.read().await > 0,
                "closed before an answer: {:?}",
                String::from_utf8_lossy(&self.received)
            );
        }
    }

    /// Waits until the server closes, with nothing more said.
    pub async fn closed(&mut self) {
        assert_eq!(self.read().await, 0, "unexpected: {:?}", String::from_utf8_lossy(&self.received));
    }

    async fn read(&mut self) -> usize {
        let read =
            timeout(PATIENCE, self.stream.read_buf(&mut self.received)).await.expect("the server acts");
        // A connection cut while bytes were on their way ends with a reset.
        read.unwrap_or(0)
    }
}

/// A request, well formed and signed until told otherwise.
#[derive(Clone)]
pub struct Post {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Post {
    pub fn new(body: impl AsRef<[u8]>) -> Post {
        let scope = "AKIDEXAMPLE/20261115/us-east-1/dynamodb/aws4_request";
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=0f"
        );
        Post { line: "POST / HTTP/1.1".into(), headers: Vec::new(), body: body.as_ref().to_vec() }
            .with("Host", "localhost:8000")
            .with("X-Amz-Target", "DynamoDB_20120810.GetItem")
            .with("Content-Type", "application/x-amz-json-1.0")
            .with("X-Amz-Date", "20261115T190203Z")
            .with("Authorization", &authorization)
            .with("Content-Length", &body.as_ref().len().to_string())
    }

    /// Sets a header, in place of one of the same name.
    pub fn with(self, name: &str, value: &str) -> Post {
        let mut post = self.without(name);
        post.headers.push((name.into(), value.into()));
        post
    }

    /// Adds a header beside any of the same name.
    pub fn and(mut self, name: &str, value: &str) -> Post {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn without(mut self, name: &str) -> Post {
        self.headers.retain(|(found, _)| !found.eq_ignore_ascii_case(name));
        self
    }

    /// Another request line.
    pub fn line(mut self, line: &str) -> Post {
        self.line = line.into();
        self
    }

    /// Another request line without anything but a host behind it.
    pub fn bare(line: &str) -> Post {
        Post { line: line.into(), headers: vec![("Host".into(), "localhost:8000".into())], body: Vec::new() }
    }

    /// The body in chunks of this size.
    pub fn chunked(self, size: usize) -> Post {
        let mut post = self.without("Content-Length").with("Transfer-Encoding", "chunked");
        let chunks = post
            .body
            .chunks(size)
            .map(|chunk| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
        post.body = chunks.chain([b"0\r\n\r\n".to_vec()]).collect::<Vec<_>>().concat();
        post
    }

    pub fn head(&self) -> Vec<u8> {
        let headers: String =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!("{}\r\n{headers}\r\n", self.line).into_bytes()
    }

    pub fn bytes(&self) -> Vec<u8> {
        [self.head(), self.body.clone()].concat()
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Option<(Answer, usize)> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let mut lines = std::str::from_utf8(&bytes[..end]).unwrap().split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
        let headers: Vec<_> = lines
            .map(|line| line.split_once(": ").map(|(name, value)| (name.into(), value.into())).unwrap())
            .collect();
        let mut answer = Answer { status, headers, body: Vec::new() };
        let length: usize = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        answer.body = bytes.get(end + 4..end + 4 + length)?.to_vec();
        Some((answer, end + 4 + length))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}
