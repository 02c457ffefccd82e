//! The same bytes get the same answers in whatever pieces they come. Two parties that cut the same bytes into
//! different requests is how requests are smuggled; a server whose answers depend on the network is two such parties.

use crate::support::{Answer, Post, StandIn};
use server::{Limits, Options};
use std::cell::RefCell;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

/// The statuses of all answers to bytes that come in pieces of this size.
async fn statuses(limits: &Limits, bytes: &[u8], piece: usize) -> Vec<u16> {
    let (client, stream) = duplex(64 * 1024);
    let (mut reader, mut writer) = tokio::io::split(client);
    let options = Options { limits: limits.clone(), ..Options::default() };
    let served = server::serve_stream(stream, Arc::new(StandIn::new()), options);
    let answered = RefCell::new(Vec::new());
    let sent = async {
        for piece in bytes.chunks(piece) {
            if writer.write_all(piece).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        // A request whose client goes away at once is not answered, so the client stays until all is quiet. All run on
        // one thread, so a look is a turn of the server and not a time. In a turn it reads one byte or more.
        let (mut length, mut quiet) = (0, 0);
        while quiet < bytes.len() + 32 {
            tokio::task::yield_now().await;
            let now = answered.borrow().len();
            quiet = if now == length { quiet + 1 } else { 0 };
            length = now;
        }
        let _ = writer.shutdown().await;
    };
    let read = async {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = reader.read(&mut bytes).await {
            answered.borrow_mut().extend_from_slice(&bytes[..length]);
        }
    };
    tokio::join!(served, sent, read);
    let answered = answered.take();
    let mut rest = &answered[..];
    let mut statuses = Vec::new();
    while let Some((answer, length)) = Answer::parse(rest) {
        statuses.push(answer.status);
        rest = &rest[length..];
    }
    assert!(rest.is_empty(), "an answer breaks off: {:?}", String::from_utf8_lossy(rest));
    statuses
}

async fn check(sent: &[&[u8]], expected: &[u16]) {
    check_with(&Limits::default(), sent, expected).await;
}

async fn check_with(limits: &Limits, sent: &[&[u8]], expected: &[u16]) {
    let bytes = sent.concat();
    for piece in [bytes.len(), 1, 2, 3, 7, 64] {
        let found = statuses(limits, &bytes, piece).await;
        assert_eq!(found, expected, "{:?} in pieces of {piece}", String::from_utf8_lossy(&bytes));
    }
}

/// A second request on the connection, which shows that it goes on.
fn next() -> Vec<u8> {
    Post::new("{}").with("Host", "evil.example").bytes()
}

fn chunks(post: Post, chunks: &str) -> Vec<u8> {
    let post = post.without("Content-Length").with("Transfer-Encoding", "chunked");
    [&post.head(), chunks.as_bytes()].concat()
}

#[tokio::test]
async fn a_body_that_is_not_read_ends_its_connection_whether_it_has_arrived_or_not() {
    let foreign_host = Post::new("{}").with("Host", "evil.example");
    let foreign_page = Post::new("{}").with("Origin", "https://evil.example");
    let unknown_type = Post::new("{}").with("Content-Type", "text/plain");
    let nowhere = Post::new("{}").line("POST /nowhere HTTP/1.1");
    let health = Post::new("{}").line("GET / HTTP/1.1");
    let two_hosts = Post::new("{}").and("Host", "localhost");
    let large_head = Post::new("{}").with("x-long", &"x".repeat(17_000));
    for (post, status) in [
        (foreign_host, 403),
        (foreign_page, 403),
        (unknown_type, 404),
        (nowhere, 404),
        (health, 200),
        (two_hosts, 400),
        (large_head, 400),
    ] {
        check(&[&post.bytes(), &next()], &[status]).await;
        check(&[&post.clone().chunked(1).bytes(), &next()], &[status]).await;
    }
}

#[tokio::test]
async fn a_request_without_a_body_leaves_its_connection_open() {
    for (line, host, status) in [
        ("GET / HTTP/1.1", "localhost", 200),
        ("GET /nowhere HTTP/1.1", "localhost", 404),
        ("GET / HTTP/1.1", "evil.example", 403),
    ] {
        check(&[&Post::bare(line).with("Host", host).bytes(), &next()], &[status, 403]).await;
    }
}

#[tokio::test]
async fn a_body_that_is_read_leaves_its_connection_open() {
    let refused = Post::new("{").without("X-Amz-Target");
    for (post, status) in [(Post::new("{}"), 200), (Post::new("fail"), 400), (refused, 400)] {
        check(&[&post.bytes(), &next()], &[status, 403]).await;
        check(&[&post.chunked(1).bytes(), &next()], &[status, 403]).await;
    }
}

#[tokio::test]
async fn extensions_and_trailers_of_chunks_are_passed_over() {
    for body in [
        "2;name=value\r\n{}\r\n0\r\n\r\n",
        "2 ; name=\"a;b\"\r\n{}\r\n0;last\r\n\r\n",
        "2;\u{1}\u{2}\u{7f}\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}\r\n0\r\nx-checksum: 1\r\nx-other: 2\r\n\r\n",
        "0002\r\n{}\r\n000\r\n\r\n",
    ] {
        check(&[&chunks(Post::new("{}"), body), &next()], &[200, 403]).await;
        let unread = chunks(Post::new("{}").with("Content-Type", "text/plain"), body);
        check(&[&unread, &next()], &[404]).await;
    }
}

#[tokio::test]
async fn chunks_that_can_be_cut_in_two_ways_end_their_connection() {
    for body in [
        "2;x\n{}\r\n0\r\n\r\n",
        "2\n{}\r\n0\r\n\r\n",
        "2\r{}\r\n0\r\n\r\n",
        "2;x\ry\r\n{}\r\n0\r\n\r\n",
        " 2\r\n{}\r\n0\r\n\r\n",
        "+2\r\n{}\r\n0\r\n\r\n",
        "0x2\r\n{}\r\n0\r\n\r\n",
        "-2\r\n{}\r\n0\r\n\r\n",
        "\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}X\r\n0\r\n\r\n",
        "2\r\n{}\n0\r\n\r\n",
        "10000000000000002\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}\r\n0\r\nno colon\r\n\r\n",
        "2\r\n{}\r\n0\r\nx: y\n\r\n",
        "2\r\n{}\r\n0\r\nx: y\r\n folded\r\n\r\n",
    ] {
        check(&[&chunks(Post::new("{}"), body), &next()], &[400]).await;
    }
}

#[tokio::test]
async fn heads_that_can_be_read_in_two_ways_end_their_connection() {
    let good = Post::new("{}");
    let with_line = |line: &str| {
        let head = String::from_utf8(good.head()).unwrap();
        head.replacen("\r\n", &format!("\r\n{line}\r\n"), 1) + "{}"
    };
    for line in [
        "x: y\r\n folded",
        "x: y\r\n\tfolded",
        "Content-Length : 2",
        "Content-Length: 3",
        "Content-Length: 2, 2",
        "Content-Length: +2",
        "Content-Length: 0x2",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding:\u{b}chunked",
        "x: a\rb",
        "x: a\nb: c",
        "x: a\u{0}b",
        "no colon",
        ": no name",
        "a b: c",
    ] {
        check(&[with_line(line).as_bytes(), &next()], &[400]).await;
    }
    let old = good.clone().line("POST / HTTP/1.0").chunked(2);
    check(&[&old.bytes(), &next()], &[400]).await;
}

#[tokio::test]
async fn a_request_with_chunks_and_a_length_is_the_last_of_its_connection() {
    // RFC 9112, 6.1: the chunks count, and nothing behind them is believed.
    for length in ["2", "4", "12"] {
        let both = Post::new("{}").chunked(1).and("Content-Length", length);
        check(&[&both.bytes(), &next()], &[200]).await;
    }
}

#[tokio::test]
async fn a_body_that_is_far_too_long_ends_its_connection() {
    let limits = Limits { body_bytes_max: 100, discard_bytes_max: 200, ..Limits::default() };
    for (length, expected) in [(100, &[200, 403][..]), (101, &[413, 403]), (200, &[413, 403]), (201, &[413])]
    {
        let post = Post::new(" ".repeat(length));
        check_with(&limits, &[&post.bytes(), &next()], expected).await;
        for chunk in [1, 90, 250] {
            check_with(&limits, &[&post.clone().chunked(chunk).bytes(), &next()], expected).await;
        }
    }
}

#[tokio::test]
async fn nothing_is_read_behind_an_error() {
    let good = Post::new("{}").bytes();
    check(&[&good, b"GARBAGE\r\n\r\n", &good], &[200, 400]).await;
    check(&[&good, b"GET / HTTP/1.1\nHost: localhost\r\n\r\n", &good], &[200, 400]).await;
    check(&[b"\r\n\r\n", &good, b"\r\n", &good], &[200, 200]).await;
    let closing = Post::new("{}").with("Connection", "close").bytes();
    check(&[&closing, &good], &[200]).await;
    check(&[b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", &good], &[404, 200]).await;
}

/// Parts of requests, good and bad, from which random ones are put together.
const LINES: [&str; 8] = [
    "POST / HTTP/1.1",
    "POST / HTTP/1.1",
    "POST / HTTP/1.1",
    "GET / HTTP/1.1",
    "POST / HTTP/1.0",
    "POST /nowhere HTTP/1.1",
    "OPTIONS / HTTP/1.1",
    "POST http://localhost/ HTTP/1.1",
];
const FIELDS: [&str; 20] = [
    "Content-Type: application/x-amz-json-1.0",
    "Content-Type: application/x-amz-json-1.0",
    "Content-Type: application/x-www-form-urlencoded",
    "Content-Type: text/plain",
    "X-Amz-Target: DynamoDB_20120810.GetItem",
    "Authorization: AWS4-HMAC-SHA256 Credential=A/20261115/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0f",
    "X-Amz-Date: 20261115T190203Z",
    "Host: evil.example",
    "Origin: https://evil.example",
    "Origin: http://localhost",
    "Access-Control-Request-Method: POST",
    "Connection: close",
    "Connection: keep-alive",
    "Expect: 100-continue",
    "Content-Length: 5",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
    "Upgrade: h2c",
    "x: \u{7f}",
    " folded",
];
const BODIES: [&str; 10] = [
    "",
    "{}",
    "fail",
    "Action=GetCallerIdentity",
    "2\r\n{}\r\n0\r\n\r\n",
    "1;a=b\r\n{\r\n1;\u{1}\r\n}\r\n0\r\nx: y\r\n\r\n",
    "2;x\n{}\r\n0\r\n\r\n",
    "2\r\n{}\r\n0\r\nx y\r\n\r\n",
    "fffffffff\r\n{}",
    "\r\n\r\n",
];

fn random_request(random: &mut fastrand::Rng) -> Vec<u8> {
    let pick = |random: &mut fastrand::Rng, texts: &[&'static str]| texts[random.usize(..texts.len())];
    let (line, body) = (pick(random, &LINES), pick(random, &BODIES));
    let mut head = format!("{line}\r\nHost: localhost\r\n");
    for _ in 0..random.usize(..5) {
        head += pick(random, &FIELDS);
        head += "\r\n";
    }
    if random.bool() {
        head += &format!("Content-Length: {}\r\n", body.len());
    } else if random.bool() {
        head += "Transfer-Encoding: chunked\r\n";
    }
    (head + "\r\n" + body).into_bytes()
}

/// Some bytes are lost, doubled or become others.
fn damage(random: &mut fastrand::Rng, bytes: &mut Vec<u8>) {
    for _ in 0..random.usize(..4) {
        let at = random.usize(..bytes.len());
        match random.u8(..4) {
            0 => {
                bytes.remove(at);
            }
            1 => bytes.insert(at, *random.choice(b"\r\n\0 ;:\t0x").unwrap()),
            2 => bytes[at] = random.u8(..),
            _ => {
                let end = (at + random.usize(..20)).min(bytes.len());
                let doubled = bytes[at..end].to_vec();
                bytes.splice(at..at, doubled);
            }
        }
    }
}

/// A head that breaks off may be refused as soon as it can't become one, or not at all.
fn is_same(one: &[u16], other: &[u16]) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    match long.strip_prefix(short) {
        Some([]) => true,
        Some([refusal]) => matches!(refusal, 400 | 414 | 431),
        _ => false,
    }
}

/// The fuzz target `http` does the same, guided and for longer.
#[tokio::test]
async fn random_requests_get_the_same_answers_in_any_pieces() {
    let rounds = std::env::var("PIECES_ROUNDS").map_or(300, |rounds| rounds.parse().unwrap());
    let limits = Limits::default();
    for seed in 0..rounds {
        let random = &mut fastrand::Rng::with_seed(seed);
        let mut bytes: Vec<u8> = (0..random.usize(1..4)).flat_map(|_| random_request(random)).collect();
        if random.bool() {
            damage(random, &mut bytes);
        }
        let whole = statuses(&limits, &bytes, bytes.len()).await;
        let cut = statuses(&limits, &bytes, random.usize(1..16)).await;
        assert!(
            is_same(&whole, &cut),
            "seed {seed}: {whole:?} in whole, {cut:?} in pieces: {:?}",
            String::from_utf8_lossy(&bytes)
        );
    }
}
