//! The tie between an operation's input and its output, for callers in this process and for clients.

use crate::{Error, Request, Response};

/// The input of one operation.
pub trait Input: Sized + Send {
    type Output;

    fn into_request(self) -> Request;

    /// The operation's own output; nothing if the response is another operation's.
    fn output(response: Response) -> Option<Self::Output>;

    /// Reads the body of an answer to this input, as a client gets it.
    fn read_output(body: &[u8]) -> Result<Self::Output, Error>;
}
