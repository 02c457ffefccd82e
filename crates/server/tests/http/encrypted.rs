//! TLS, and HTTP/2 over it: the same answers, within the same bounds.

use crate::support::{Post, Running, StandIn, WAIT_MAX, long_answer};
use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Reason, RecvStream};
use hyper::{Request, StatusCode};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use server::{Limits, Options, Tls, TlsError};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A certificate for localhost that was signed with its own key, and that key.
struct Identity {
    certificate: String,
    key: String,
    der: CertificateDer<'static>,
}

impl Identity {
    fn new() -> Identity {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let der = made.cert.der().clone();
        Identity { certificate: made.cert.pem(), key: made.signing_key.serialize_pem(), der }
    }

    fn tls(&self) -> Tls {
        Tls::new(self.certificate.as_bytes(), self.key.as_bytes()).unwrap()
    }
}

struct Encrypted {
    server: Running,
    identity: Identity,
    tls: Arc<Tls>,
}

impl Encrypted {
    async fn with(limits: Limits) -> Encrypted {
        let identity = Identity::new();
        let tls = Arc::new(identity.tls());
        let options = Options { limits, tls: Some(tls.clone()), ..Options::default() };
        let server = Running::set_up(Arc::new(StandIn::new()), options).await;
        Encrypted { server, identity, tls }
    }

    /// A connection for a client that trusts this identity and offers these protocols.
    async fn connect(
        &self,
        trusted: &Identity,
        protocols: &[&[u8]],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.der.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let stream = TcpStream::connect(self.server.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    async fn http2(&self) -> Http2 {
        self.http2_with(h2::client::Builder::new()).await
    }

    async fn http2_with(&self, client: h2::client::Builder) -> Http2 {
        let stream = self.connect(&self.identity, &[b"h2"]).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (send, connection) = client.handshake(stream).await.unwrap();
        let ended = tokio::spawn(connection);
        Http2 { send, ended }
    }
}

struct Http2 {
    send: SendRequest<Bytes>,
    ended: tokio::task::JoinHandle<Result<(), h2::Error>>,
}

struct Answered {
    status: StatusCode,
    headers: hyper::HeaderMap,
    body: Vec<u8>,
}

impl Http2 {
    /// Sends a request; the answer is still to come.
    async fn send(&mut self, request: &Post) -> h2::client::ResponseFuture {
        let (head, body) = http2_request(request);
        let mut send = timeout(WAIT_MAX, self.send.clone().ready()).await.unwrap().unwrap();
        let (answer, mut stream) = send.send_request(head, body.is_empty()).unwrap();
        // The rest of a body may be refused before it is sent.
        let mut rest = body;
        while !rest.is_empty() {
            stream.reserve_capacity(rest.len());
            match timeout(WAIT_MAX, std::future::poll_fn(|context| stream.poll_capacity(context)))
                .await
                .unwrap()
            {
                Some(Ok(capacity)) => {
                    let piece = rest.split_to(capacity.min(rest.len()));
                    if stream.send_data(piece, rest.is_empty()).is_err() {
                        break;
                    }
                }
                _ => break,
            }
        }
        answer
    }

    async fn ask(&mut self, request: &Post) -> Answered {
        let answer = self.send(request).await;
        let (head, body) = timeout(WAIT_MAX, answer).await.unwrap().unwrap().into_parts();
        Answered { status: head.status, headers: head.headers, body: read(body).await }
    }

    async fn ends(self) -> bool {
        drop(self.send);
        timeout(WAIT_MAX, self.ended).await.is_ok()
    }
}

async fn read(mut body: RecvStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(piece) = timeout(WAIT_MAX, body.data()).await.unwrap() {
        let piece = piece.unwrap();
        body.flow_control().release_capacity(piece.len()).unwrap();
        bytes.extend_from_slice(&piece);
    }
    bytes
}

/// The same request, as HTTP/2 has it.
fn http2_request(post: &Post) -> (Request<()>, Bytes) {
    let mut request = Request::builder().method(post.method()).version(hyper::Version::HTTP_2);
    let mut authority = "localhost";
    for (name, value) in post.headers() {
        if name.eq_ignore_ascii_case("host") {
            authority = value;
        } else {
            request = request.header(name, value);
        }
    }
    let uri = format!("https://{authority}{}", post.path());
    (request.uri(uri).body(()).unwrap(), Bytes::copy_from_slice(post.body()))
}

#[tokio::test]
async fn both_protocols_are_answered_alike() {
    let encrypted = Encrypted::with(Limits::default()).await;
    let answered = encrypted.http2().await.ask(&Post::new("{}")).await;
    assert_eq!(answered.status, 200);
    assert_eq!(answered.body, b"000000000000 us-east-1 GetItem 2");
    assert_eq!(answered.headers["content-type"], "application/x-amz-json-1.0");

    for protocols in [&[b"http/1.1".as_slice()][..], &[]] {
        let mut stream = encrypted.connect(&encrypted.identity, protocols).await.unwrap();
        stream.write_all(&Post::new("{}").with("Connection", "close").bytes()).await.unwrap();
        let mut answer = Vec::new();
        timeout(WAIT_MAX, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.ends_with("000000000000 us-east-1 GetItem 2"), "{answer}");
    }
}

#[tokio::test]
async fn host_and_origin_are_checked_over_http2_too() {
    let encrypted = Encrypted::with(Limits::default()).await;
    let mut client = encrypted.http2().await;
    for (path, line) in [
        ("/", "POST / HTTP/1.1"),
        ("/metrics", "GET /metrics HTTP/1.1"),
        ("/studio/", "GET /studio/ HTTP/1.1"),
    ] {
        let foreign = Post::new("{}").line(line).with("Host", "evil.example");
        assert_eq!(client.ask(&foreign).await.status, 403, "{path}");
        let page = Post::new("{}").line(line).with("Origin", "https://evil.example");
        assert_eq!(client.ask(&page).await.status, 403, "{path}");
    }
    let (mut head, _) = http2_request(&Post::bare("GET / HTTP/1.1"));
    head.headers_mut().insert("host", "evil.example".parse().unwrap());
    let mut send = client.send.clone().ready().await.unwrap();
    let (answer, _) = send.send_request(head, true).unwrap();
    assert_eq!(timeout(WAIT_MAX, answer).await.unwrap().unwrap().status(), 400);
    assert_eq!(encrypted.server.runs(), 0);
}

#[tokio::test]
async fn a_new_certificate_is_shown_to_new_connections_and_a_wrong_one_is_not() {
    let encrypted = Encrypted::with(Limits::default()).await;
    let mut before = encrypted.http2().await;
    let next = Identity::new();
    encrypted.tls.replace(next.certificate.as_bytes(), next.key.as_bytes()).unwrap();
    assert!(encrypted.connect(&next, &[]).await.is_ok());
    assert!(encrypted.connect(&encrypted.identity, &[]).await.is_err(), "the old one is still shown");
    assert_eq!(before.ask(&Post::new("{}")).await.status, 200, "a connection keeps its certificate");

    let other = Identity::new();
    let pair = |certificate: &str, key: &str| encrypted.tls.replace(certificate.as_bytes(), key.as_bytes());
    assert!(matches!(pair(&other.certificate, &next.key), Err(TlsError::Pair(_))));
    assert!(matches!(pair("", &other.key), Err(TlsError::Certificate(None))));
    assert!(matches!(pair(&other.certificate, "no key"), Err(TlsError::Key(None))));
    assert!(encrypted.connect(&next, &[]).await.is_ok(), "the last good one stays");
}

#[tokio::test]
async fn what_is_not_tls_is_let_go() {
    // Long enough for a slow machine to agree on TLS.
    let limits = Limits { head_timeout: Duration::from_secs(1), ..Limits::default() };
    let encrypted = Encrypted::with(limits).await;
    let mut silent = encrypted.server.connect().await;
    let mut plain = encrypted.server.connect().await;
    plain.send(Post::new("{}").bytes()).await;
    // An alert may come first.
    plain.rest().await;
    silent.closed().await;
    let metrics = encrypted.http2().await.ask(&Post::bare("GET /metrics HTTP/1.1")).await;
    let metrics = String::from_utf8(metrics.body).unwrap();
    assert!(metrics.contains("lodestone_tls_handshakes_failed_total 2\n"), "{metrics}");
}

#[tokio::test]
async fn bodies_and_answers_of_any_size_pass_through_the_window() {
    let encrypted = Encrypted::with(Limits::default()).await;
    let mut client = encrypted.http2().await;
    let most = 16 * 1024 * 1024;
    let answered = client.ask(&Post::new(vec![b' '; most])).await;
    assert_eq!(answered.body, format!("000000000000 us-east-1 GetItem {most}").as_bytes());
    assert_eq!(client.ask(&Post::new(vec![b' '; most + 1])).await.status, 413);
    let answered = client.ask(&Post::new("long:3000000")).await;
    assert!(answered.body == long_answer(3_000_000));
}

#[tokio::test]
async fn heads_that_are_too_large_are_refused() {
    let encrypted = Encrypted::with(Limits::default()).await;
    let mut client = encrypted.http2().await;
    let long = Post::new("{}").with("x-long", &"y".repeat(20_000));
    assert!(client.ask(&long).await.status.is_client_error());
    let mut many = Post::new("{}");
    for number in 0..100 {
        many = many.with(&format!("x-{number}"), "y");
    }
    assert_eq!(client.ask(&many).await.status, 400);
    assert_eq!(encrypted.server.runs(), 0);
    assert_eq!(client.ask(&Post::new("{}")).await.status, 200);
}

#[tokio::test]
async fn requests_beyond_the_bound_are_asked_to_try_again() {
    let limits = Limits { requests_max: 3, address_share_percent: 100, ..Limits::default() };
    let encrypted = Encrypted::with(limits).await;
    let mut client = encrypted.http2().await;
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(client.send(&Post::new("wait")).await);
        encrypted.server.held().await;
    }
    let refused = client.ask(&Post::new("{}")).await;
    assert_eq!(refused.status, 503);
    let body = String::from_utf8(refused.body).unwrap();
    assert!(body.contains("#ServiceUnavailable"), "{body}");

    encrypted.server.release(3);
    for answer in waiting {
        let answer = timeout(WAIT_MAX, answer).await.unwrap().unwrap();
        assert_eq!(answer.status(), 200);
        read(answer.into_body()).await;
    }
    assert_eq!(client.ask(&Post::new("{}")).await.status, 200);
}

#[tokio::test]
async fn a_client_that_takes_back_its_requests_is_disconnected() {
    let encrypted = Encrypted::with(Limits::default()).await;
    let client = encrypted.http2().await;
    for _ in 0..400 {
        let (head, _) = http2_request(&Post::new("wait"));
        let Ok(ready) = timeout(WAIT_MAX, client.send.clone().ready()).await.unwrap() else { break };
        let mut send = ready;
        let Ok((_, mut stream)) = send.send_request(head, false) else { break };
        stream.send_reset(Reason::CANCEL);
    }
    assert!(client.ends().await, "the connection lives on");
    assert_eq!(encrypted.http2().await.ask(&Post::new("{}")).await.status, 200);
}

#[tokio::test]
async fn answers_that_the_client_does_not_take_are_given_up() {
    let limits = Limits { body_timeout: Duration::from_millis(200), ..Limits::default() };
    let encrypted = Encrypted::with(limits).await;
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(0);
    let mut client = encrypted.http2_with(builder).await;
    let answer = client.send(&Post::new("{}")).await;
    assert_eq!(timeout(WAIT_MAX, answer).await.unwrap().unwrap().status(), 200);
    assert!(client.ends().await, "the connection lives on");
}

#[tokio::test]
async fn a_resting_http2_connection_makes_way_but_one_that_works_does_not() {
    let limits = Limits { connections_max: 2, address_share_percent: 100, ..Limits::default() };
    let encrypted = Encrypted::with(limits).await;
    let mut working = encrypted.http2().await;
    let waiting = working.send(&Post::new("wait")).await;
    encrypted.server.held().await;
    let mut resting = encrypted.http2().await;
    assert_eq!(resting.ask(&Post::new("{}")).await.status, 200);

    let mut next = encrypted.http2().await;
    assert_eq!(next.ask(&Post::new("{}")).await.status, 200);
    assert!(resting.ends().await, "the resting one makes way");
    encrypted.server.release(1);
    assert_eq!(timeout(WAIT_MAX, waiting).await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn requests_in_flight_finish_before_the_server_ends() {
    let encrypted = Encrypted::with(Limits::default()).await;
    let mut client = encrypted.http2().await;
    let waiting = client.send(&Post::new("wait")).await;
    encrypted.server.held().await;
    let backend = encrypted.server.backend.clone();
    let ended = encrypted.server.stop();
    backend.released.add_permits(1);
    assert_eq!(timeout(WAIT_MAX, waiting).await.unwrap().unwrap().status(), 200);
    drop(client);
    assert_eq!(timeout(WAIT_MAX, ended).await.unwrap().unwrap().connections_cut, 0);
}
