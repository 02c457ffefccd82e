//! One service that takes the names of alarms, asked by callers with and without a policy.

use std::time::SystemTime;

use iam::{Circumstances, Identity, IdentityKind, Policy, PolicyUse};

use super::*;

const ALARM: &str = "arn:aws:cloudwatch:us-east-1:111122223333:alarm:";

/// Takes names, separated by commas. An empty body is malformed.
struct Alarms;

impl Mounted for Alarms {
    const SERVICE: api::Service = api::Service::CloudWatch;

    fn owns(_head: &Parts) -> bool {
        true
    }

    async fn permission(&self, request: Received<'_>) -> Result<Option<Permission>, Error> {
        let names = String::from_utf8_lossy(request.body).into_owned();
        let resources = || names.split(',').map(|name| format!("{ALARM}{name}")).collect();
        Ok((!names.is_empty()).then(|| Permission { operation: "DeleteAlarms", resources: resources() }))
    }

    async fn answer(&self, _request: Received<'_>) -> Response<Bytes> {
        Response::new(Bytes::from("done"))
    }

    fn refusal(&self, _head: &Parts, error: &Error) -> Response<Bytes> {
        Response::new(Bytes::from(error.message.clone()))
    }
}

fn verified() -> Caller {
    let policy = serde_json::json!({"Statement": {
        "Effect": "Allow", "Action": "cloudwatch:DeleteAlarms", "Resource": format!("{ALARM}mine*"),
    }});
    let mut identity = Identity::new("111122223333", IdentityKind::User("alice".to_owned()));
    let policy = Policy::parse(&policy.to_string(), PolicyUse::Identity).expect("a policy");
    identity.policies.push(("own".to_owned(), policy));
    let circumstances = Circumstances {
        now: SystemTime::UNIX_EPOCH,
        source_ip: None,
        secure_transport: false,
        region: "us-east-1".to_owned(),
        user_agent: None,
    };
    Caller::verified(Arc::new(identity), circumstances)
}

async fn ask(caller: Caller, names: &'static str) -> String {
    let request = Request::new(Bytes::from(names));
    let response = Neighbour(Arc::new(Alarms)).answer(caller, request).await;
    String::from_utf8_lossy(response.body()).into_owned()
}

#[tokio::test]
async fn a_verified_caller_needs_permission_for_every_resource() {
    assert_eq!(ask(verified(), "mine,mine2").await, "done");
    let refusal = ask(verified(), "mine,other").await;
    let reason = format!("perform: cloudwatch:DeleteAlarms on resource: {ALARM}other");
    assert!(refusal.contains(&reason), "{refusal}");
}

#[tokio::test]
async fn the_service_itself_answers_malformed_requests_and_callers_without_policies() {
    assert_eq!(ask(verified(), "").await, "done");
    assert_eq!(ask(Caller::new("111122223333", "us-east-1"), "other").await, "done");
}
