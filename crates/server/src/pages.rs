//! Pages beside the API: whoever serves them is handed the requests whose paths are theirs, with the whole body.

use bytes::Bytes;
use hyper::{Request, Response};
use std::fmt::Debug;
use std::pin::Pin;

/// The answer of a page, when it is ready.
pub type PageAnswer<'a> = Pin<Box<dyn Future<Output = Response<Bytes>> + Send + 'a>>;

/// What answers requests outside of the API, with checks and headers of its own.
pub trait Pages: Debug + Send + Sync + 'static {
    /// Whether a path is its own.
    fn owns(&self, path: &str) -> bool;

    fn answer(&self, request: Request<Bytes>) -> PageAnswer<'_>;

    /// Where a browser goes that opens the server's bare address.
    fn home(&self) -> &'static str;
}
