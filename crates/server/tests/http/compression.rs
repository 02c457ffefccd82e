use crate::support::{Answer, Post, Running, long_answer};
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder, ZlibDecoder, ZlibEncoder};
use std::io::Read;

fn read(mut reader: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    bytes
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    read(GzEncoder::new(plain, Compression::default()))
}

fn zlib(plain: &[u8]) -> Vec<u8> {
    read(ZlibEncoder::new(plain, Compression::default()))
}

fn unpacked(answer: &Answer) -> Vec<u8> {
    match answer.header("Content-Encoding") {
        None => answer.body.clone(),
        Some("gzip") => read(GzDecoder::new(&answer.body[..])),
        Some("deflate") => read(ZlibDecoder::new(&answer.body[..])),
        Some(other) => panic!("the client did not ask for {other}"),
    }
}

#[tokio::test]
async fn answers_above_4_kib_are_compressed_as_the_client_prefers() {
    let server = Running::start().await;
    for (length, accepts, expected) in [
        (4096, "gzip", None),
        (4097, "gzip", Some("gzip")),
        (4097, "deflate", Some("deflate")),
        (4097, "identity", None),
        (4097, "gzip;q=0, *;q=0.1", Some("deflate")),
        (60_000, "gzip, deflate", Some("gzip")),
        (1_000_000, "deflate, gzip", Some("deflate")),
    ] {
        let answer = server.ask(Post::new(format!("long:{length}")).with("Accept-Encoding", accepts)).await;
        assert_eq!(answer.header("Content-Encoding"), expected, "{length} {accepts}");
        assert_eq!(unpacked(&answer), long_answer(length));
        assert_eq!(answer.header("x-amz-crc32"), Some(crc32fast::hash(&answer.body).to_string().as_str()));
        if expected.is_some() {
            assert!(answer.body.len() < length * 3 / 4, "{} of {length} bytes", answer.body.len());
        }
    }
    let unasked = server.ask(Post::new("long:10000")).await;
    assert_eq!(unasked.header("Content-Encoding"), None);
}

#[tokio::test]
async fn only_the_first_accept_encoding_header_counts() {
    let server = Running::start().await;
    for (first, second, coding) in [("identity", "gzip", None), ("gzip", "identity", Some("gzip"))] {
        let post = Post::new("long:10000").and("Accept-Encoding", first).and("Accept-Encoding", second);
        assert_eq!(server.ask(post).await.header("Content-Encoding"), coding, "{first}");
    }
}

#[tokio::test]
async fn packed_requests_are_unpacked() {
    let server = Running::start().await;
    let plain = long_answer(50_000);
    let two_members = [gzip(&plain[..10]), gzip(&plain[10..])].concat();
    for (coding, packed) in [
        ("gzip", gzip(&plain)),
        ("GZIP", gzip(&plain)),
        ("gzip", two_members),
        ("deflate", zlib(&plain)),
        ("identity", plain.clone()),
    ] {
        let post = Post::new(packed).with("Content-Encoding", coding);
        for post in [post.clone(), post.chunked(999)] {
            let answer = server.ask(post).await;
            assert_eq!(
                (answer.status, answer.text()),
                (200, "000000000000 us-east-1 GetItem 50000"),
                "{coding}"
            );
        }
    }
}

#[tokio::test]
async fn what_cannot_be_unpacked_is_an_internal_server_error() {
    let server = Running::start().await;
    let plain = b"{\"TableName\": \"t\"}";
    let cut = |packed: Vec<u8>| packed[..packed.len() - 1].to_vec();
    for (coding, body) in [
        ("garbage", plain.to_vec()),
        ("gzip, gzip", gzip(&gzip(plain))),
        ("gzip", plain.to_vec()),
        ("gzip", vec![]),
        ("gzip", cut(gzip(plain))),
        ("gzip", [&gzip(plain)[..], b"junk"].concat()),
        ("deflate", plain.to_vec()),
        ("deflate", vec![]),
        ("deflate", cut(zlib(plain))),
    ] {
        let answer = server.ask(Post::new(body).with("Content-Encoding", coding)).await;
        assert_eq!(answer.status, 500, "{coding}");
        assert!(answer.text().contains("#InternalServerError"), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_small_request_cannot_unpack_past_the_limit() {
    let server = Running::start().await;
    let spaces = vec![b' '; 16 * 1024 * 1024 + 1];
    for (coding, packed) in [("gzip", gzip(&spaces)), ("deflate", zlib(&spaces))] {
        assert!(packed.len() < 100_000);
        assert_eq!(
            server.ask(Post::new(packed).with("Content-Encoding", coding)).await.status,
            413,
            "{coding}"
        );
    }
    let just_fits = Post::new(gzip(&spaces[1..])).with("Content-Encoding", "gzip");
    assert_eq!(server.ask(just_fits).await.status, 200);
}
