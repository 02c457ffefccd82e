//! Lambda's operations by HTTP: a request in, a response out, no sockets.

use api::lambda::{LambdaError, LambdaErrorKind, Request, TagList, owns_path};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::Response;
use http::header::CONTENT_TYPE;
use serde::Serialize;

use crate::outside::Namespace;
use crate::service::Triggers;

impl Triggers {
    /// Whether a path belongs to these operations.
    pub fn owns(path: &str) -> bool {
        owns_path(path)
    }

    /// Answers a request. `path` is as it was sent, with its percent-encoding; `query` is what follows the `?`.
    pub fn answer<'a>(
        &'a self,
        namespace: &'a Namespace,
        method: &'a str,
        path: &'a str,
        query: Option<&'a str>,
        body: &'a [u8],
    ) -> BoxFuture<'a, Response<Bytes>> {
        Box::pin(async move {
            let outcome = match Request::decode(method, path, query.unwrap_or_default(), body) {
                Ok(request) => {
                    let status = request.status();
                    self.carry_out(namespace, request).await.map(|body| (status, body))
                }
                Err(error) => Err(error),
            };
            match outcome {
                Ok((status, body)) => response(status, body, None),
                Err(error) => response(error.kind.status(), error.to_json(), Some(error.kind)),
            }
        })
    }

    /// A request that is refused before it is looked at, such as one that is not signed.
    pub fn refusal(error: &api::Error) -> Response<Bytes> {
        let mut body = Vec::new();
        error.write_json(api::Service::Lambda, &mut body);
        let response = Response::builder().status(403).header(CONTENT_TYPE, "application/json");
        let response = response.header("x-amzn-ErrorType", error.kind.name());
        response.body(Bytes::from(body)).expect("status and headers are made of fixed parts")
    }

    async fn carry_out(&self, namespace: &Namespace, request: Request) -> Result<Vec<u8>, LambdaError> {
        match request {
            Request::CreateEventSourceMapping(input) => json(&self.create(namespace, *input).await?),
            Request::GetEventSourceMapping { uuid } => json(&self.current().await?.get(namespace, &uuid)?),
            Request::ListEventSourceMappings(input) => json(&self.current().await?.list(namespace, &input)),
            Request::UpdateEventSourceMapping(input) => json(&self.update(namespace, *input).await?),
            Request::DeleteEventSourceMapping { uuid } => json(&self.delete(namespace, &uuid).await?),
            Request::ListTags { resource } => {
                let tags = self.current().await?.tags(namespace, &resource)?;
                json(&TagList { tags: Some(tags) })
            }
            Request::TagResource { resource, tags } => {
                self.tag(namespace, &resource, tags).await.map(|()| Vec::new())
            }
            Request::UntagResource { resource, tag_keys } => {
                self.untag(namespace, &resource, &tag_keys).await.map(|()| Vec::new())
            }
        }
    }
}

fn json(output: &impl Serialize) -> Result<Vec<u8>, LambdaError> {
    serde_json::to_vec(output).map_err(|_| LambdaError::internal())
}

fn response(status: u16, body: Vec<u8>, error: Option<LambdaErrorKind>) -> Response<Bytes> {
    let mut response = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    if let Some(kind) = error {
        response = response.header("x-amzn-ErrorType", kind.name());
    }
    response.body(Bytes::from(body)).expect("status and headers are made of fixed parts")
}
