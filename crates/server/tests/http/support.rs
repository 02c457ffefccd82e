//! A server with a stand-in behind it, and a client that speaks HTTP byte by byte, so that it can also
//! speak it badly.

use api::{Error, Target};
use engine::{Caller, Health};
use server::{Access, AnswerSize, Backend, Ended, Limits, Options, Server};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longer than anything takes on a machine that does ten other things: a test that waits so long has failed.
pub const WAIT_MAX: Duration = Duration::from_secs(120);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks until it is so.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !is_so().await {
            pass(PAUSE).await;
        }
    };
    timeout(WAIT_MAX, looking).await.unwrap_or_else(|_| panic!("it never happens that {what}"));
}

/// Lets time pass: for what must not happen, and for clients that take their time.
pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Does what the body tells it to, and by default says who asked for what.
pub struct StandIn {
    /// Requests with the command `wait` that have reached it.
    pub arrived: Semaphore,
    /// One of them goes on for each permit added.
    pub released: Semaphore,
    /// How often it was run.
    pub runs: AtomicUsize,
    pub health: Mutex<Health>,
    pub clock_notice: Mutex<Option<String>>,
}

impl StandIn {
    pub fn new() -> StandIn {
        StandIn {
            arrived: Semaphore::new(0),
            released: Semaphore::new(0),
            runs: AtomicUsize::new(0),
            health: Mutex::new(Health::Healthy),
            clock_notice: Mutex::default(),
        }
    }
}

impl Backend for StandIn {
    type Request = (Target, Vec<u8>);
    type Response = Vec<u8>;

    fn decode(&self, target: Target, body: &[u8]) -> Result<Self::Request, Error> {
        Ok((target, body.to_vec()))
    }

    /// `long` sets its length aside, as a page does; `item` turns out long, as an item may.
    fn answer_size(&self, (_, body): &Self::Request) -> AnswerSize {
        let text = String::from_utf8_lossy(body);
        match text.trim().split(':').collect::<Vec<_>>()[..] {
            ["long", length] => AnswerSize::UpTo(length.parse().unwrap()),
            ["item", _] => AnswerSize::SeldomLarge,
            _ => AnswerSize::Small,
        }
    }

    async fn run(&self, caller: &Caller, request: Self::Request) -> Result<Vec<u8>, Error> {
        let mut answer = Vec::new();
        self.runs.fetch_add(1, Ordering::Relaxed);
        let (target, body) = request;
        let text = String::from_utf8_lossy(&body);
        let command = text.trim().split(':').collect::<Vec<_>>();
        match command[..] {
            ["panic"] => panic!("the request asks for a panic"),
            ["fail"] => return Err(Error::validation("it \"failed\"")),
            ["break"] => return Err(Error::internal()),
            ["nothing"] => {}
            ["wait"] => {
                self.arrived.add_permits(1);
                self.released.acquire().await.unwrap().forget();
                answer.extend_from_slice(b"{}");
            }
            ["long" | "item", length] => answer.extend(long_answer(length.parse().unwrap())),
            _ => {
                let engine::Namespace { account, region } = &caller.namespace;
                let bytes = body.len();
                let text = format!("{account} {region} {} {bytes}", target.name());
                answer.extend_from_slice(text.as_bytes());
            }
        }
        Ok(answer)
    }

    fn item_bytes(&self, answer: &Vec<u8>) -> usize {
        answer.len()
    }

    fn print(&self, printed: Vec<u8>, answer: &mut Vec<u8>) {
        answer.extend(printed);
    }

    fn health(&self) -> Health {
        self.health.lock().unwrap().clone()
    }

    fn clock_notice(&self) -> Option<String> {
        self.clock_notice.lock().unwrap().clone()
    }
}

/// What the stand-in answers to `long:<length>`: text that packs, but not to nothing.
pub fn long_answer(length: usize) -> Vec<u8> {
    const PERIOD: usize = 64 * 1024;
    let mut state = 1_u32;
    let letter = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'A' + (state >> 28) as u8
    };
    let period: Vec<u8> = (0..PERIOD.min(length)).map(letter).collect();
    let mut answer = period.repeat(length.div_ceil(PERIOD));
    answer.truncate(length);
    answer
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
        Running::serving(Arc::new(StandIn::new()), limits).await
    }

    /// A server that answers further hosts and origins.
    pub async fn open_to(hosts: &[&str], origins: &[&str]) -> Running {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let access = Access { hosts: owned(hosts), origins: owned(origins) };
        Running::set_up(Arc::new(StandIn::new()), Options { access, ..Options::default() }).await
    }

    /// How often the stand-in was run.
    pub fn runs(&self) -> usize {
        self.backend.runs.load(Ordering::Relaxed)
    }

    /// Waits until a request is held by the stand-in.
    pub async fn held(&self) {
        timeout(WAIT_MAX, self.backend.arrived.acquire()).await.expect("a request arrives").unwrap().forget();
    }

    /// Lets as many of the held requests go.
    pub fn release(&self, count: usize) {
        self.backend.released.add_permits(count);
    }
}

impl<B: Backend> Running<B> {
    pub async fn serving(backend: Arc<B>, limits: Limits) -> Running<B> {
        Running::set_up(backend, Options { limits, ..Options::default() }).await
    }

    pub async fn set_up(backend: Arc<B>, options: Options) -> Running<B> {
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

    /// Whether the answer that has begun to arrive begins so; nothing of it is taken.
    pub async fn begins_with(&self, expected: &str) -> bool {
        let mut bytes = vec![0; expected.len()];
        let peeked = timeout(WAIT_MAX, self.stream.peek(&mut bytes)).await.expect("the server acts").unwrap();
        assert_eq!(peeked, expected.len());
        bytes == expected.as_bytes()
    }

    /// How many bytes come before the server closes or sends no more for now.
    pub async fn rest(&mut self) -> usize {
        while let Ok(Ok(1..)) =
            timeout(Duration::from_millis(500), self.stream.read_buf(&mut self.received)).await
        {}
        self.received.len()
    }

    /// Waits until the server closes, with nothing more said.
    pub async fn closed(&mut self) {
        assert_eq!(self.read().await, 0, "unexpected: {:?}", String::from_utf8_lossy(&self.received));
    }

    async fn read(&mut self) -> usize {
        let read =
            timeout(WAIT_MAX, self.stream.read_buf(&mut self.received)).await.expect("the server acts");
        // A connection cut while bytes were on their way ends with a reset.
        read.unwrap_or(0)
    }
}

/// A request, well formed and signed unless a test changes it.
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

    pub fn method(&self) -> &str {
        self.line.split(' ').next().unwrap()
    }

    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap()
    }

    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn body(&self) -> &[u8] {
        &self.body
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
    pub fn parse(bytes: &[u8]) -> Option<(Answer, usize)> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let mut lines = std::str::from_utf8(&bytes[..end]).unwrap().split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
        let headers: Vec<_> = lines
            .map(|line| line.split_once(": ").map(|(name, value)| (name.into(), value.into())).unwrap())
            .collect();
        let mut answer = Answer { status, headers, body: Vec::new() };
        let rest = &bytes[end + 4..];
        let length = if answer.header("transfer-encoding") == Some("chunked") {
            let (body, length) = without_chunks(rest)?;
            answer.body = body;
            length
        } else {
            let length: usize = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
            answer.body = rest.get(..length)?.to_vec();
            length
        };
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

/// The body that these chunks make up, and how long they are; `None` if the last is not there yet.
fn without_chunks(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let line = bytes[at..].windows(2).position(|window| window == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[at..at + line]).unwrap(), 16).unwrap();
        let data = at + line + 2;
        body.extend_from_slice(bytes.get(data..data + size)?);
        at = data + size + 2;
        if size == 0 {
            return (at <= bytes.len()).then_some((body, at));
        }
    }
}
