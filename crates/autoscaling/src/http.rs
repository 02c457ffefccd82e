//! Application Auto Scaling by HTTP: a request in, a response out, no sockets.

use api::autoscaling::{Operation, Request, Response};
use api::{Error, ErrorKind, Service};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use host::Namespace;

use crate::service::AutoScaling;

const CONTENT_TYPE: &str = "application/x-amz-json-1.1";

impl AutoScaling {
    /// Whether the header `X-Amz-Target` names an operation of the service, served or not.
    pub fn owns(target: &str) -> bool {
        let prefix = target.split_once('.').map(|(prefix, _)| prefix);
        prefix.is_some() && prefix == Service::ApplicationAutoScaling.target_prefix()
    }

    /// Answers a request.
    pub fn answer<'a>(
        &'a self,
        namespace: &'a Namespace,
        target: &'a str,
        body: &'a [u8],
    ) -> BoxFuture<'a, http::Response<Bytes>> {
        Box::pin(async move {
            match self.run(namespace, target, body).await {
                Ok(response) => {
                    let mut body = Vec::new();
                    response.write_json(&mut body);
                    http_response(200, body)
                }
                Err(error) => AutoScaling::refusal(&error),
            }
        })
    }

    /// An error as the service writes it.
    pub fn refusal(error: &Error) -> http::Response<Bytes> {
        let mut body = Vec::new();
        // The engine's name for its own failures is not this service's.
        match error.kind {
            ErrorKind::InternalServerError => Error::internal_service_exception(),
            _ => error.clone(),
        }
        .write_json(Service::ApplicationAutoScaling, &mut body);
        let status = match error.kind {
            ErrorKind::ResourceNotFound | ErrorKind::AccessDenied => 400,
            kind => kind.status(),
        };
        http_response(status, body)
    }

    async fn run(&self, namespace: &Namespace, target: &str, body: &[u8]) -> Result<Response, Error> {
        let name = target.split_once('.').map(|(_, name)| name).unwrap_or_default();
        let operation = Operation::from_target_name(name).ok_or_else(Error::operation_not_served)?;
        let request = Request::decode(operation, body)?;
        request.check()?;
        Ok(match request {
            Request::RegisterScalableTarget(input) => self.register(namespace, *input).await?.into(),
            Request::DescribeScalableTargets(input) => {
                self.current().await?.describe_targets(namespace, &input)?.into()
            }
            Request::DeregisterScalableTarget(input) => self.deregister(namespace, *input).await?.into(),
            Request::PutScalingPolicy(input) => self.put_policy(namespace, *input).await?.into(),
            Request::DescribeScalingPolicies(input) => {
                self.current().await?.describe_policies(namespace, &input)?.into()
            }
            Request::DeleteScalingPolicy(input) => self.delete_policy(namespace, *input).await?.into(),
            Request::PutScheduledAction(input) => self.put_action(namespace, *input).await?.into(),
            Request::DescribeScheduledActions(input) => {
                self.current().await?.describe_actions(namespace, &input)?.into()
            }
            Request::DeleteScheduledAction(input) => self.delete_action(namespace, *input).await?.into(),
            Request::DescribeScalingActivities(input) => {
                self.current().await?.describe_activities(namespace, &input)?.into()
            }
            Request::TagResource(input) => self.tag(namespace, *input).await?.into(),
            Request::UntagResource(input) => self.untag(namespace, *input).await?.into(),
            Request::ListTagsForResource(input) => self.current().await?.tags(namespace, &input)?.into(),
        })
    }
}

fn http_response(status: u16, body: Vec<u8>) -> http::Response<Bytes> {
    let response = http::Response::builder().status(status).header("content-type", CONTENT_TYPE);
    response.body(Bytes::from(body)).expect("status and headers are made of fixed parts")
}
