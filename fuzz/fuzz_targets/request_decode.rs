//! The first line names an operation of DynamoDB or DynamoDB Streams, the rest is its body. Decoding and checking
//! must return, whatever the body holds, and an error must have a name.

#![no_main]

use api::{Service, Target, dynamodb, streams};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else { return };
    let Ok(name) = std::str::from_utf8(&data[..end]) else { return };
    let services = [Service::DynamoDb, Service::DynamoDbStreams];
    let Some(target) = services.into_iter().find_map(|service| Target::find(service, name)) else { return };
    let body = &data[end + 1..];
    let checked = match target {
        Target::DynamoDb(operation) => {
            dynamodb::Request::decode(operation, body).and_then(|request| request.check())
        }
        Target::Streams(operation) => {
            streams::Request::decode(operation, body).and_then(|request| request.check())
        }
    };
    if let Err(error) = checked {
        assert!(!error.to_string().is_empty());
    }
});
