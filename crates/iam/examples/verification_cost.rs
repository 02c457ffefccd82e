//! What it costs to verify a signature and to evaluate a policy, in CPU time:
//!
//! ```text
//! cargo run --release -p iam --example verification_cost
//! ```

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a measurement")]

use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime};

use iam::file::AccessFile;
use iam::{Authority, Circumstances, Directory, NoContext, Question};

const ROUNDS: u32 = 100;
const RUNS: u32 = 5000;

const FILE: &str = r#"{"accounts": {"111122223333": {"users": {"alice": {
    "keys": [{"id": "AKIDEXAMPLE", "secret": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}],
    "policies": [{"Version": "2012-10-17", "Statement": [
        {"Effect": "Deny", "Action": "dynamodb:Delete*", "Resource": "*"},
        {"Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:Query"],
         "Resource": "arn:aws:dynamodb:*:111122223333:table/Songs*"}
    ]}]
}}}}}"#;

fn main() {
    let file = AccessFile::parse(FILE).expect("the file is in order");
    let directory = Directory::new(&file, &|_| Err(String::new()), None).expect("the keys are in order");
    let authority = Authority::new(directory);
    // The request and signature of the tests' vector: botocore's four signed headers, a body of 2 bytes.
    let head = http::Request::builder()
        .method("POST")
        .uri("/")
        .header("content-type", "application/x-amz-json-1.0")
        .header("host", "127.0.0.1:8000")
        .header("x-amz-date", "20261116T120000Z")
        .header("x-amz-target", "DynamoDB_20120810.ListTables")
        .header(
            "user-agent",
            "Boto3/1.44.0 md/Botocore#1.44.0 ua/2.1 os/linux md/arch#x86_64 lang/python#3.11",
        )
        .header(
            "authorization",
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261116/us-east-1/dynamodb/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
             Signature=90c5aecb74b8461aabb29bdfdb0415a0b6b2ef92b480c9d62d173a8331870e0a",
        )
        .body(())
        .expect("the request is in order")
        .into_parts()
        .0;
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_830_400);
    let verify = |body: &[u8]| {
        let claim = authority.claim(&head, "dynamodb", now).expect("the key is known");
        claim.verify(body, false)
    };
    let identity = verify(b"{}").expect("the signature is right");
    measured("verify, body of 2 bytes", || drop(black_box(verify(black_box(b"{}")))));
    // A wrong signature is looked for twice and answered with a long text; its hashing is what counts here.
    let body = vec![b'x'; 1024];
    measured("refuse, body of 1 KiB", || drop(black_box(verify(black_box(&body)))));

    let circumstances = Circumstances {
        now,
        source_ip: None,
        secure_transport: false,
        region: "us-east-1".to_owned(),
        user_agent: None,
    };
    let question = Question {
        action: "dynamodb:GetItem",
        resource: "arn:aws:dynamodb:us-east-1:111122223333:table/Songs",
        owner: "111122223333",
        policy: None,
        context: &NoContext,
    };
    measured("evaluate a policy of two statements", || {
        drop(black_box(iam::evaluate(&identity, &circumstances, black_box(&question))));
    });
}

/// The best of many short runs, so that other work on the machine counts little.
fn measured(name: &str, mut work: impl FnMut()) {
    let best = (0..RUNS).map(|_| {
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| work());
        start.elapsed() / ROUNDS
    });
    println!("{name}: {:?}", best.min().unwrap_or_default());
}
