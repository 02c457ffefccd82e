//! Calls of functions: real HTTP, real commands.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use triggers::{Function, FunctionError, Functions, Outcome};

use crate::support::{host, until};

const EVENT: &str = r#"{"Records":[]}"#;

fn function(text: &str) -> Function {
    Function::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

async fn invoke(text: &str) -> Outcome {
    function(text).invoke(Bytes::from_static(EVENT.as_bytes())).await
}

fn answer(text: &str) -> Outcome {
    Outcome::Answer(Bytes::copy_from_slice(text.as_bytes()))
}

/// The outcome of a call that is answered like this.
async fn outcome_of(answer: impl Fn() -> Response<Full<Bytes>> + Send + Sync + 'static) -> Outcome {
    let (address, _calls) = host::serve(move |_| answer()).await;
    invoke(&format!("f=http://{address}")).await
}

fn respond(status: u16, body: &'static str) -> Response<Full<Bytes>> {
    let mut response = host::ok(body);
    *response.status_mut() = http::StatusCode::from_u16(status).expect("a status");
    response
}

#[tokio::test]
async fn a_function_behind_http_is_called_as_lambda_is() {
    let (address, mut calls) = host::serve(|_| host::ok(r#"{"answer":1}"#)).await;
    assert_eq!(invoke(&format!("orders=http://{address}")).await, answer(r#"{"answer":1}"#));
    let call = calls.recv().await.expect("a call");
    assert_eq!(call.path, "/2015-03-31/functions/orders/invocations");
    assert_eq!(call.invocation_type.as_deref(), Some("RequestResponse"));
    assert_eq!(call.event, EVENT);
    // The runtime emulator knows its function by one name.
    let path = "/2015-03-31/functions/function/invocations";
    invoke(&format!("orders=http://{address}{path}")).await;
    assert_eq!(calls.recv().await.expect("a call").path, path);
}

#[tokio::test]
async fn errors_of_the_function_are_known_by_header_or_body() {
    let marked = outcome_of(|| {
        let mut response = host::ok("{}");
        response.headers_mut().insert("X-Amz-Function-Error", http::HeaderValue::from_static("Unhandled"));
        response
    });
    assert!(matches!(marked.await, Outcome::FunctionError(_)));
    for body in [
        r#"{"errorMessage":"no","errorType":"ValueError","stackTrace":[]}"#,
        "Task timed out after 3.00 seconds",
    ] {
        let outcome = outcome_of(move || host::ok(body)).await;
        assert_eq!(outcome, Outcome::FunctionError(body.to_owned()));
    }
    for body in [r#"{"errorMessage":"only a message"}"#, "text", "", r#"["errorMessage","errorType"]"#] {
        assert_eq!(outcome_of(move || host::ok(body)).await, answer(body));
    }
    assert!(matches!(outcome_of(|| respond(413, "too large")).await, Outcome::FunctionError(_)));
}

#[tokio::test]
async fn all_else_means_that_the_function_was_not_reached() {
    for (status, is_throttled) in [(429, true), (400, false), (404, false), (500, false), (502, false)] {
        let outcome = outcome_of(move || respond(status, "busy")).await;
        assert!(
            matches!(&outcome, Outcome::Unreachable { throttled, .. } if *throttled == is_throttled),
            "{status}: {outcome:?}"
        );
    }
    // A port that was free a moment ago.
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("an address")
    };
    let outcome = invoke(&format!("f=http://{address}")).await;
    assert!(matches!(outcome, Outcome::Unreachable { throttled: false, .. }), "{outcome:?}");
}

#[tokio::test]
async fn an_answer_has_at_most_six_megabytes() {
    let sized = |bytes: usize| move || Response::new(Full::new(Bytes::from(vec![b' '; bytes])));
    let limit = 6 * 1024 * 1024;
    assert!(matches!(outcome_of(sized(limit)).await, Outcome::Answer(_)));
    assert!(matches!(outcome_of(sized(limit + 1)).await, Outcome::FunctionError(_)));
    let long = "f=head -c 6291457 /dev/zero";
    assert!(matches!(invoke(long).await, Outcome::FunctionError(_)));
}

#[tokio::test]
async fn a_command_gets_the_event_and_its_output_is_the_answer() {
    assert_eq!(invoke("f=cat").await, answer(EVENT));
    assert_eq!(invoke("f=echo \"a  b\" | tr a c").await, answer("c  b\n"));
    assert_eq!(invoke("f=true").await, answer(""), "it need not read its input");
    assert_eq!(invoke("f=printf \"$AWS_LAMBDA_FUNCTION_NAME\"").await, answer("f"));
    assert_eq!(invoke("f=echo to the log >&2").await, answer(""));
}

#[tokio::test]
async fn a_large_event_and_a_large_answer_pass_at_the_same_time() {
    let event = Bytes::from(vec![b'x'; 2 * 1024 * 1024]);
    assert_eq!(function("f=cat").invoke(event.clone()).await, Outcome::Answer(event));
}

#[tokio::test]
async fn a_command_that_fails_is_an_error_of_the_function() {
    let failed = |outcome| matches!(outcome, Outcome::FunctionError(_));
    assert!(failed(invoke("f=exit 3").await));
    assert!(failed(invoke("f=no-such-command-anywhere").await));
    assert!(failed(invoke(r#"f=echo '{"errorMessage":"no","errorType":"E"}'"#).await));
}

#[tokio::test]
async fn a_command_that_hangs_is_killed_with_all_that_it_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    // The inner shell holds the pipe open for writing. Reading it ends when that shell is dead.
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let command = format!("f=(sleep 600) > {0} & cat {0}; wait", pipe.display());
    let outcome = function(&command).with_timeout(Duration::from_millis(300)).invoke(Bytes::new()).await;
    assert_eq!(outcome, Outcome::FunctionError("Task timed out after 0.30 seconds".to_owned()));
    use std::os::unix::fs::OpenOptionsExt;
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).expect("a flag");
    let mut file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(pipe).expect("a pipe");
    // Without a writer there is nothing to wait for: the end of the file comes at once.
    until("what the command started is gone", async || match std::io::Read::read(&mut file, &mut [0; 1]) {
        Ok(length) => length == 0,
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => false,
        Err(error) => panic!("{error}"),
    })
    .await;
}

#[test]
fn functions_are_given_as_name_and_target() {
    for text in ["f", "=http://localhost:9000", "f=", "f= "] {
        assert!(Function::parse(text).is_err(), "{text}");
    }
    assert_eq!(Function::parse("a b=cat").expect_err("a blank"), FunctionError::BadName("a b".into()));
    assert_eq!(Function::parse("f=https://host").is_ok(), http_client::HAS_HTTPS);
    assert!(matches!(Function::parse("f=http://"), Err(FunctionError::BadAddress { .. })));
    let functions = Functions::new([function("f=a=b cat"), function("g=http://localhost:9000/path")]);
    assert_eq!(functions.get("f").map(|function| function.name()), Some("f"));
    assert!(functions.get("h").is_none());
}
