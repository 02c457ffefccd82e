//! What answers a request: DynamoDB, a service beside it, the studio's pages, administration or the guard.
//!
//! All take the same way through `exchange.rs`. The points in which they differ are the functions of this file, and
//! the step that answers.

use crate::administration::{Administration, Task};
use crate::dispatch::Asked;
use crate::guarded::RequestGuard;
use crate::pages::{NeighbourService, Pages};
use crate::request::Format;
use crate::{audit, sts};
use hyper::Method;
use hyper::http::request::Parts;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Recipient<'a> {
    /// DynamoDB or DynamoDB Streams.
    Operation(Asked, Format),
    Neighbour(&'a dyn NeighbourService),
    /// GetCallerIdentity, if the body asks for it.
    Sts,
    Pages(&'a dyn Pages),
    Administration(&'a dyn Administration, Task),
    Guard(&'a dyn RequestGuard),
}

impl Recipient<'_> {
    /// The form of an answer that is not the recipient's own.
    pub(crate) fn format(self) -> Format {
        match self {
            Recipient::Operation(_, format) => format,
            _ => Format::DYNAMODB,
        }
    }

    /// Whether the body asks for something that the recipient has.
    pub(crate) fn serves(self, body: &[u8]) -> bool {
        !matches!(self, Recipient::Sts) || sts::is_get_caller_identity(body)
    }

    /// The service and the operation in the audit log; `None` for what is not recorded.
    pub(crate) fn recorded_as(self, head: &Parts) -> Option<(&'static str, String)> {
        let path = || format!("{} {}", head.method, head.uri.path());
        match self {
            Recipient::Operation(asked, _) => Some((audit::service_name(asked.service()), asked.name())),
            Recipient::Neighbour(service) => Some((audit::service_name(Some(service.service())), path())),
            Recipient::Sts => Some((sts::SIGNING_NAME, "GetCallerIdentity".to_owned())),
            // The files of the pages hold no data of a user; their calls may.
            Recipient::Pages(_) => (head.method == Method::POST).then(|| ("studio", path())),
            Recipient::Administration(_, task) => Some(("lodestone", task.name().to_owned())),
            Recipient::Guard(_) => None,
        }
    }

    /// Whether large answers are packed, and count against the memory for answers. The operator gets an answer even
    /// when clients hold all of that memory.
    pub(crate) fn is_bounded(self) -> bool {
        !matches!(self, Recipient::Administration(..))
    }
}
