//! The first line names an operation, the rest is its body: decoding and checking must answer, whatever
//! the body holds, and an answer that is an error must be one of the client's.

#![no_main]

use api::{Operation, Request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else { return };
    let Ok(name) = std::str::from_utf8(&data[..end]) else { return };
    let Some(operation) = Operation::from_target_name(name) else { return };
    if let Err(error) = Request::decode(operation, &data[end + 1..]).and_then(|request| request.check()) {
        assert!(!error.to_string().is_empty());
    }
});
