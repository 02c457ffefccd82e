//! What answers the paths that no route has: pages such as the studio, and services that name their operations by
//! method and path, such as Lambda's.

use bytes::Bytes;
use engine::Caller;
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

    /// Where a browser goes that opens the server's bare address.
    fn home(&self) -> &'static str;
}

/// A service of AWS that is spoken to by method and path. Requests are signed, as for every service.
pub trait RestService: Debug + Send + Sync + 'static {
    /// Which service it is.
    fn service(&self) -> api::Service;

    /// Whether a path belongs to the service.
    fn owns(&self, path: &str) -> bool;

    /// The request has its whole body, and the answer is whole.
    fn answer(&self, caller: Caller, request: Request<Bytes>) -> PageAnswer<'_>;
}
