//! The same promises on an S3-compatible endpoint, one that checks signatures.
//!
//! Credentials come from the environment, so the first test starts the endpoint and runs the others in a process
//! that has them. They also run against any other endpoint with a bucket `my-bucket`:
//! `S3_ENDPOINT=http://127.0.0.1:9000 cargo test -p transfer --test files s3 -- --ignored`

#![cfg(feature = "s3")]

use futures_util::TryStreamExt;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::net::TcpListener;
use tokio::process::Command;
use transfer::import::InputFormat;
use transfer::{Bucket, Buckets, Compression, Export, ExportWriter, Format, Import, PlaceError};

use crate::support::{BUCKET, FULL, counted_names, every_type, items, summary};

#[tokio::test]
async fn an_endpoint_that_checks_signatures_keeps_all_promises() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
    let endpoint = serve(FileSystem::new(folder.path()).unwrap()).await;
    let run = async |secret: &str| {
        let tests = Command::new(std::env::current_exe().unwrap())
            .args(["s3::", "--ignored", "--test-threads", "1"])
            .env("S3_ENDPOINT", &endpoint)
            .envs([
                ("AWS_ACCESS_KEY_ID", KEY),
                ("AWS_SECRET_ACCESS_KEY", secret),
                ("AWS_REGION", "us-east-1"),
            ])
            .output();
        let output = tests.await.unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (is_passed, shown) = run(SECRET).await;
    assert!(is_passed && shown.contains("4 passed"), "{shown}");
    let (is_passed, shown) = run("another secret").await;
    assert!(!is_passed, "the endpoint does not check signatures: {shown}");
}

const KEY: &str = "AKIDEXAMPLE";
const SECRET: &str = "the secret of the tests";

/// Serves the buckets in a folder, and returns the address.
async fn serve(buckets: FileSystem) -> String {
    let mut service = S3ServiceBuilder::new(buckets);
    service.set_auth(SimpleAuth::from_single(KEY, SECRET));
    let service = service.build();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service.clone();
            tokio::spawn(async move {
                http1::Builder::new().serve_connection(TokioIo::new(stream), service).await
            });
        }
    });
    format!("http://{address}")
}

fn endpoint() -> String {
    std::env::var("S3_ENDPOINT").expect("S3_ENDPOINT is the address of an S3-compatible endpoint")
}

#[tokio::test]
#[ignore = "run by the first test, with an endpoint"]
async fn a_missing_bucket_of_an_endpoint_is_an_error_of_its_own() {
    let buckets = Buckets::open(&endpoint()).unwrap();
    for name in ["no-such-bucket", "..", "a/b"] {
        let error = buckets.bucket(name).await.unwrap_err();
        assert!(matches!(error, PlaceError::NoSuchBucket { .. }), "{error}");
    }
}

#[tokio::test]
#[ignore = "run by the first test, with an endpoint"]
async fn objects_of_an_endpoint_are_put_listed_read_and_deleted() {
    let bucket = Buckets::open(&endpoint()).unwrap().bucket(BUCKET).await.unwrap();
    for key in ["objects/b/2", "objects/b/1 ü+%", "objects/bb"] {
        bucket.put(key, key.to_owned().into()).await.unwrap();
        let pieces: Vec<_> = bucket.get(key).await.unwrap().try_collect().await.unwrap();
        assert_eq!(pieces.concat(), key.as_bytes());
    }
    let keys: Vec<String> =
        bucket.list("objects/b").await.unwrap().into_iter().map(|object| object.key).collect();
    assert_eq!(keys, ["objects/b/1 ü+%", "objects/b/2", "objects/bb"]);
    for key in &keys {
        bucket.delete(key).await.unwrap();
        bucket.delete(key).await.unwrap();
    }
    assert!(bucket.list("objects/").await.unwrap().is_empty());
    let error = bucket.get("objects/gone").await.err().unwrap();
    assert!(matches!(error, PlaceError::NoSuchObject { .. }), "{error}");
    let error = bucket.put("../escape", "x".into()).await.unwrap_err();
    assert!(matches!(error, PlaceError::InvalidKey { .. }), "{error}");
}

#[tokio::test]
#[ignore = "run by the first test, with an endpoint"]
async fn an_export_to_an_endpoint_is_read_back_and_imported() {
    let bucket = Buckets::open(&endpoint()).unwrap().bucket(BUCKET).await.unwrap();
    let mut written = items(20_000);
    written.push(every_type());
    let description = summary(FULL, Some("exports"));
    let writer =
        ExportWriter::begin(bucket.clone(), Format::Ion, description, counted_names()).await.unwrap();
    let mut writer = writer.with_file_bytes(10_000);
    for item in &written {
        writer.item(item.as_ref()).await.unwrap();
    }
    let done = writer.finish(1, 2).await.unwrap();
    let export = Export::open(bucket.clone(), &done.manifest_key).await.unwrap();
    export.verify().await.unwrap();
    let mut read = export.items();
    for item in &written {
        assert_eq!(read.next().await.unwrap().as_ref(), Some(item));
    }
    let data = done.manifest_key.replace("manifest-summary.json", "data/");
    let format = InputFormat::Lines(Format::Ion);
    let mut import = Import::open(bucket, &data, format, Compression::Gzip).await.unwrap();
    let mut count = 0;
    while let Some(record) = import.next().await.unwrap() {
        record.outcome.unwrap();
        count += 1;
    }
    assert_eq!(count, written.len());
}

#[tokio::test]
#[ignore = "run by the first test, with an endpoint"]
async fn a_place_for_backups_is_a_bucket_and_a_prefix() {
    let place = Bucket::open(&format!("{}/{BUCKET}/backups/here/", endpoint())).await.unwrap();
    place.put("a/b", "x".into()).await.unwrap();
    assert_eq!(place.list("a/").await.unwrap()[0].key, "a/b");
    let whole = Buckets::open(&endpoint()).unwrap().bucket(BUCKET).await.unwrap();
    assert_eq!(whole.get_small("backups/here/a/b", 10).await.unwrap(), b"x");
    let error = Bucket::open(&endpoint()).await.unwrap_err();
    assert!(matches!(error, PlaceError::Unusable { .. }), "{error}");
}
