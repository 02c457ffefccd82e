//! What all services beside DynamoDB have in common: how they are mounted on the server, and how their requests are
//! authorized.

use std::sync::Arc;

use api::Error;
use bytes::Bytes;
use engine::Caller;
use host::Namespace;
use http::request::Parts;
use http::{HeaderMap, Request, Response};
use server::{NeighbourService, PageAnswer};

#[cfg(test)]
mod tests;

/// A service beside DynamoDB: the points in which one differs from the other.
pub trait Mounted: Send + Sync + 'static {
    /// Which service it is.
    const SERVICE: api::Service;

    /// Whether a request is for the service, by its path and headers.
    fn owns(head: &Parts) -> bool;

    /// What policies must allow for a request. `None` for malformed requests: the decoder refuses them later.
    fn permission(
        &self,
        request: Received<'_>,
    ) -> impl Future<Output = Result<Option<Permission>, Error>> + Send;

    /// Carries out a request that is authorized.
    fn answer(&self, request: Received<'_>) -> impl Future<Output = Response<Bytes>> + Send;

    /// An error in the service's own form.
    fn refusal(&self, head: &Parts, error: &Error) -> Response<Bytes>;
}

/// A request, and whose it is.
#[derive(Clone, Copy)]
pub struct Received<'a> {
    pub namespace: &'a Namespace,
    pub head: &'a Parts,
    pub body: &'a [u8],
}

/// An operation, and the resources that it needs all of.
pub struct Permission {
    pub operation: &'static str,
    pub resources: Vec<String>,
}

impl Permission {
    pub fn one(operation: &'static str, resource: impl Into<String>) -> Permission {
        Permission { operation, resources: vec![resource.into()] }
    }
}

/// A service, mounted on the server.
pub struct Neighbour<S>(pub Arc<S>);

impl<S: Mounted> Neighbour<S> {
    /// Refuses a request that policies do not allow.
    async fn authorize(&self, caller: &Caller, request: Received<'_>) -> Result<(), Error> {
        if !caller.is_verified() {
            return Ok(());
        }
        let Some(permission) = self.0.permission(request).await? else { return Ok(()) };
        let action = format!("{}:{}", S::SERVICE.action_prefix(), permission.operation);
        permission.resources.iter().try_for_each(|resource| caller.authorize(&action, resource))
    }
}

impl<S: Mounted> std::fmt::Debug for Neighbour<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Neighbour({:?})", S::SERVICE)
    }
}

impl<S: Mounted> NeighbourService for Neighbour<S> {
    fn service(&self) -> api::Service {
        S::SERVICE
    }

    fn owns(&self, head: &Parts) -> bool {
        S::owns(head)
    }

    fn answer(&self, caller: Caller, request: Request<Bytes>) -> PageAnswer<'_> {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let request = Received { namespace: &caller.namespace, head: &head, body: &body };
            match self.authorize(&caller, request).await {
                Ok(()) => self.0.answer(request).await,
                Err(error) => self.0.refusal(&head, &error),
            }
        })
    }

    fn refuse(&self, head: &Parts, error: &Error) -> Response<Bytes> {
        self.0.refusal(head, error)
    }
}

/// A header, if it is text.
pub fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// An answer in JSON.
pub fn json_response(status: u16, content_type: &'static str, body: Vec<u8>) -> Response<Bytes> {
    let response = Response::builder().status(status).header(http::header::CONTENT_TYPE, content_type);
    response.body(Bytes::from(body)).expect("status and headers are made of fixed parts")
}
