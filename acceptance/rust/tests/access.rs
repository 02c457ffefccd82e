//! A server with an access file: who is let in.

use std::time::{Duration, SystemTime};

use acceptance::{Key, Lodestone, add_user};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextMut;
use aws_sdk_dynamodb::config::{Builder, ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::{BoxError, ProvideErrorMetadata};
use aws_smithy_async::time::StaticTimeSource;
use tempfile::TempDir;

const ADMINISTRATOR: &str = "arn:aws:iam::aws:policy/AdministratorAccess";

struct Guarded {
    server: Lodestone,
    admin: Key,
    guest: Key,
    _folder: TempDir,
}

fn guarded() -> Guarded {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("access.yaml");
    let admin = add_user(&file, "admin", &["--policy", ADMINISTRATOR]);
    let guest = add_user(&file, "guest", &[]);
    let server = Lodestone::start(&["--access", file.to_str().expect("a path of text")]);
    Guarded { server, admin, guest, _folder: folder }
}

/// The code and the message that ListTables is refused with.
async fn refused(config: Builder) -> (String, String) {
    let error = Client::from_conf(config.build()).list_tables().send().await.expect_err("it is refused");
    let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
    (text(error.code()), text(error.message()))
}

async fn is_let_in(config: Builder) -> bool {
    Client::from_conf(config.build()).list_tables().send().await.is_ok()
}

#[tokio::test]
async fn the_right_secret_lets_in_and_a_wrong_one_does_not() {
    let Guarded { server, admin, .. } = &guarded();
    assert!(is_let_in(server.config(admin)).await);
    let wrong = Key { secret: "wrong".to_owned(), ..admin.clone() };
    assert_eq!(refused(server.config(&wrong)).await.0, "InvalidSignatureException");
    let unknown = Key { id: "AKIANOBODY".to_owned(), ..admin.clone() };
    assert_eq!(refused(server.config(&unknown)).await.0, "UnrecognizedClientException");
}

#[tokio::test]
async fn a_user_without_a_policy_may_do_nothing() {
    let Guarded { server, guest, .. } = &guarded();
    let (code, message) = refused(server.config(guest)).await;
    assert_eq!(code, "AccessDeniedException");
    assert!(message.contains("user/guest is not authorized to perform: dynamodb:ListTables"), "{message}");
}

#[tokio::test]
async fn clocks_may_differ_by_fifteen_minutes() {
    let Guarded { server, admin, .. } = &guarded();
    let at = |time: SystemTime| server.config(admin).time_source(StaticTimeSource::new(time));
    let (now, minute) = (SystemTime::now(), Duration::from_secs(60));
    assert!(is_let_in(at(now - 14 * minute)).await);
    assert!(is_let_in(at(now + 14 * minute)).await);
    let (code, message) = refused(at(now - 60 * minute)).await;
    assert_eq!(code, "InvalidSignatureException");
    assert!(message.starts_with("Signature expired"), "{message}");
    let (code, message) = refused(at(now + 60 * minute)).await;
    assert_eq!(code, "InvalidSignatureException");
    assert!(message.starts_with("Signature not yet current"), "{message}");
}

/// Changes a request after it is signed.
#[derive(Debug)]
struct Alter;

impl Intercept for Alter {
    fn name(&self) -> &'static str {
        "Alter"
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        context.request_mut().headers_mut().insert("x-amz-target", "DynamoDB_20120810.DescribeLimits");
        Ok(())
    }
}

#[tokio::test]
async fn an_altered_request_is_refused() {
    let Guarded { server, admin, .. } = &guarded();
    let (code, message) = refused(server.config(admin).interceptor(Alter)).await;
    assert_eq!(code, "InvalidSignatureException");
    assert!(message.contains("The Canonical String for this request should have been"), "{message}");
}
