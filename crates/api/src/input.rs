//! What ties an operation's input to its output, for callers in this process and for clients.

use crate::Error;

/// The input of one operation.
pub trait Input: Sized + Send {
    /// What the operation answers with.
    type Output;
    /// The requests of the operation's service.
    type Request;
    /// The answers of the operation's service.
    type Response;

    /// The input as a request to its service.
    fn into_request(self) -> Self::Request;

    /// The operation's own output; none if the response is another operation's.
    fn output(response: Self::Response) -> Option<Self::Output>;

    /// Reads the body of an answer to this input, as a client gets it.
    fn read_output(body: &[u8]) -> Result<Self::Output, Error>;
}
