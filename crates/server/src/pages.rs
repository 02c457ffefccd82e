//! What answers beside the backend: pages such as the studio, and other services of AWS such as CloudWatch.

use bytes::Bytes;
use engine::Caller;
use hyper::http::request::Parts;
use hyper::{Request, Response};
use std::fmt::Debug;
use std::pin::Pin;

/// The answer of a page, when it is ready.
pub type PageAnswer<'a> = Pin<Box<dyn Future<Output = Response<Bytes>> + Send + 'a>>;

/// Answers requests outside of the API. Host and Origin are checked before; all else is up to the pages.
pub trait Pages: Debug + Send + Sync + 'static {
    /// Whether a path belongs to these pages.
    fn owns(&self, path: &str) -> bool;

    /// The request has its whole body, and the answer is whole.
    fn answer(&self, request: Request<Bytes>) -> PageAnswer<'_>;

    /// Where a browser goes that opens the server's bare address, if it goes anywhere.
    fn home(&self) -> Option<&'static str>;
}

/// Figures for `GET /metrics` of what runs beside the server.
pub trait Figures: Debug + Send + Sync + 'static {
    /// In Prometheus' text format.
    fn prometheus(&self) -> String;
}

/// A service of AWS beside DynamoDB. Requests are signed, as for every service.
pub trait NeighbourService: Debug + Send + Sync + 'static {
    /// Which service it is.
    fn service(&self) -> api::Service;

    /// Whether a request is for the service, by its path and headers.
    fn owns(&self, head: &Parts) -> bool;

    /// The request has its whole body, and the answer is whole.
    fn answer(&self, caller: Caller, request: Request<Bytes>) -> PageAnswer<'_>;

    /// A request that is refused before the service sees it, in the service's own form.
    fn refuse(&self, head: &Parts, error: &api::Error) -> Response<Bytes>;
}
