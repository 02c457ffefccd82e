//! The tie between an operation's input and its output, for callers in this process.

use crate::{Request, Response};

/// The input of one operation.
pub trait Input: Sized + Send {
    type Output;

    fn into_request(self) -> Request;

    /// The operation's own output; nothing if the response is another operation's.
    fn output(response: Response) -> Option<Self::Output>;
}
