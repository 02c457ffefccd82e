//! The bytes of a connection, as any client may send them. The first byte says in which pieces they arrive. The server
//! must end the connection when the client does, answer nothing but HTTP, and answer the same in whatever pieces the
//! bytes come: two parties that cut the same bytes into different requests is how requests are smuggled.

#![no_main]

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use api::{Error, Request, Target, streams};
use engine::Caller;
use libfuzzer_sys::fuzz_target;
use server::{AnswerSize, Backend, Options};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::runtime::{Builder, Runtime};

/// Decodes requests and does nothing.
struct Decoder;

impl Backend for Decoder {
    type Request = ();
    type Response = ();

    fn decode(&self, target: Target, body: &[u8]) -> Result<(), Error> {
        match target {
            Target::DynamoDb(operation) => Request::decode(operation, body).map(drop),
            Target::Streams(operation) => streams::Request::decode(operation, body).map(drop),
        }
    }

    fn answer_size(&self, (): &()) -> AnswerSize {
        AnswerSize::Small
    }

    async fn run(&self, _: &Caller, (): ()) -> Result<(), Error> {
        Ok(())
    }

    fn item_bytes(&self, (): &()) -> usize {
        0
    }

    fn print(&self, (): (), answer: &mut Vec<u8>) {
        answer.extend_from_slice(b"{}");
    }
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Builder::new_current_thread().enable_all().build().expect("a runtime"))
}

/// What the server answers to bytes that come in pieces of this size.
async fn answers(bytes: &[u8], piece: usize) -> Vec<u8> {
    let (client, stream) = duplex(64 * 1024);
    let (mut reader, mut writer) = tokio::io::split(client);
    let served = server::serve_stream(stream, Arc::new(Decoder), Options::default());
    let answered = RefCell::new(Vec::new());
    let sent = async {
        for piece in bytes.chunks(piece.max(1)) {
            if writer.write_all(piece).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        // A request whose client goes away at once is not answered, so the client stays until all is quiet: for as many
        // turns of the server as there are bytes, because it may take one for each chunk.
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
    answered.take()
}

/// The statuses of whole, well-formed answers.
fn statuses(mut bytes: &[u8]) -> Vec<u16> {
    let mut statuses = Vec::new();
    while !bytes.is_empty() {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut answer = httparse::Response::new(&mut headers);
        let parsed = answer.parse(bytes).expect("an answer is HTTP");
        let httparse::Status::Complete(length) = parsed else { panic!("a head breaks off") };
        let status = answer.code.expect("a status");
        statuses.push(status);
        let value = |name: &str| answer.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        let has_no_body = matches!(status, 100..=199 | 204 | 304);
        let body = match value("content-length") {
            Some(header) => std::str::from_utf8(header.value).expect("a number").parse().expect("a number"),
            None if has_no_body => 0,
            // Figures are streamed, in chunks or, to an old client, until the connection ends. What follows them is not
            // looked at.
            None => return statuses,
        };
        let rest = &bytes[length..];
        bytes = rest.get(body..).expect("a body is whole");
    }
    statuses
}

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    let (whole, cut) = runtime()
        .block_on(async { (answers(bytes, bytes.len()).await, answers(bytes, usize::from(*piece)).await) });
    // The answer to HEAD has no body, whatever it says of its length. Packed bodies are unpacked on another thread,
    // whose answer may come too late for the client.
    if has_word(bytes, b"head") || has_word(bytes, b"content-encoding") {
        return;
    }
    let (whole, cut) = (statuses(&whole), statuses(&cut));
    assert!(is_same(&whole, &cut), "answers depend on how the bytes come: {whole:?}, {cut:?}");
});

/// A head that breaks off may be refused as soon as it can't become one, or not at all.
fn is_same(one: &[u16], other: &[u16]) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    match long.strip_prefix(short) {
        Some([]) => true,
        Some([refusal]) => matches!(refusal, 400 | 414 | 431),
        _ => false,
    }
}

fn has_word(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|found| found.eq_ignore_ascii_case(word))
}
