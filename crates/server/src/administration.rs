//! Administration: requests of the operator who runs the server. Only programs on the same machine may ask, and they
//! sign their requests for the service [`SIGNING_NAME`].
//!
//! With an access file, the signature is of one of its identities, whose policies must allow the task's action. A task
//! that concerns the whole server is for the operator's account alone, because a server has the tables of all accounts.
//! Without an access file, the signature is made with the operator's token, which never leaves its machine.

use crate::auth;
use crate::pages::PageAnswer;
use crate::peer::Peer;
use crate::reply::Reply;
use api::{Error, ErrorKind};
use bytes::Bytes;
use engine::Caller;
use hyper::HeaderMap;
use hyper::header::ORIGIN;
use iam::signature::{SignatureError, SignatureFault};
use std::fmt::Debug;
use std::sync::Arc;

/// The service that requests for administration are signed for, and the prefix of their actions.
pub const SIGNING_NAME: &str = "lodestone";
const NEEDS_KEY: &str = "This needs a signature with a key of the access file. Set AWS_ACCESS_KEY_ID and \
    AWS_SECRET_ACCESS_KEY to the key of a user whose policies allow it.";
const NEEDS_TOKEN: &str = "This is for the user who runs the server. Run the command as that user, or set \
    LODESTONE_OPERATOR_TOKEN to that user's token; docs/access.md says where it is. To let others do it, start the server \
    with --access.";
const NO_TOKEN: &str = "This server has no token for its operator: its log says why. Set LODESTONE_OPERATOR_TOKEN for the \
    server and for the command, or start the server with --access.";

/// What the operator asks for. The JSON body of the request says the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Copies the whole database; the body says where to.
    Checkpoint,
    /// Closes the database and ends the server, because the data is moved; the body says where to.
    HandOver,
    /// How a table's throughput is used; the body says which table.
    Capacity,
    /// Adds, removes or lists faults that requests are to meet; the body says which.
    Faults,
    /// Which key ranges of a table were used when; the body says which table.
    Heat,
    /// Cuts, heals or lists the links between Regions; the body says which.
    Regions,
    /// Begins to watch what clients ask, or hands out what was seen; the body says which.
    Requests,
}

impl Task {
    /// The operation in the audit log, and in policies.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Task::Checkpoint => "Checkpoint",
            Task::HandOver => "HandOver",
            Task::Capacity => "DescribeCapacity",
            Task::Faults => "InjectFault",
            Task::Heat => "DescribeHeat",
            Task::Regions => "LinkRegions",
            Task::Requests => "WatchRequests",
        }
    }

    /// Whether it is about a table of the caller, and not about the whole server.
    fn is_about_a_table(self) -> bool {
        match self {
            Task::Capacity | Task::Heat => true,
            Task::Checkpoint | Task::HandOver | Task::Faults | Task::Regions | Task::Requests => false,
        }
    }

    /// Refuses a caller whose policies do not allow the task, or who has no part in the server as a whole.
    pub(crate) fn authorize(self, caller: &Caller, operator_account: &str) -> Result<(), Error> {
        let action = format!("{SIGNING_NAME}:{}", self.name());
        if !self.is_about_a_table() && *caller.namespace.account != *operator_account {
            let message = format!(
                "{action} is about the tables of all accounts: only users of the operator's account may be allowed to \
                 do it. That is {operator_account}, unless the access file names another one: operator: \"ACCOUNT\""
            );
            return Err(Error::new(ErrorKind::AccessDenied, message));
        }
        caller.authorize(&action, "*")
    }
}

/// Carries out what the operator asks for.
pub trait Administration: Debug + Send + Sync + 'static {
    /// Carries out a task, with the JSON body of its request. If policies are enforced, `account` is the caller's: it
    /// counts in place of the account that the body names.
    fn answer(&self, task: Task, account: Option<Arc<str>>, body: Bytes) -> PageAnswer<'_>;

    /// Whether requests are watched.
    fn is_watching(&self) -> bool;

    /// A request that was served, while requests are watched. It is called by the thread of the request.
    fn watch(&self, watched: &Watched<'_>);
}

/// A request that was served, or a write whose condition did not hold.
#[derive(Clone, Copy, Debug)]
pub struct Watched<'a> {
    pub account: &'a str,
    pub region: &'a str,
    /// As `X-Amz-Target` names it.
    pub operation: &'a str,
    pub body: &'a [u8],
    /// None if a condition did not hold.
    pub answer: Option<&'a [u8]>,
    /// The read and write units that it used.
    pub units: f64,
}

/// Whether a request may come from the operator: from this machine, and not from a script of a page.
pub(crate) fn is_from_operator(headers: &HeaderMap, peer: &Peer) -> bool {
    peer.is_local() && !headers.contains_key(ORIGIN)
}

/// Says what to sign with, if a request is signed with nothing or with another key. Other faults keep their message.
pub(crate) fn signature_error(error: SignatureError, has_policies: bool) -> Error {
    let is_by_another_key = matches!(
        error.fault,
        SignatureFault::Missing | SignatureFault::UnknownKey | SignatureFault::Mismatch
    );
    let error = auth::json_error(error);
    match (is_by_another_key, has_policies) {
        (true, true) => Error::new(error.kind, NEEDS_KEY),
        (true, false) => Error::new(error.kind, NEEDS_TOKEN),
        (false, _) => error,
    }
}

/// For a server that has neither an access file nor a token.
pub(crate) fn without_token() -> Error {
    Error::new(ErrorKind::AccessDenied, NO_TOKEN)
}

/// For requests that are not the operator's.
pub(crate) fn refusal() -> Reply {
    let message = "Only a program on the machine that runs Lodestone may ask for this.";
    Reply::forbidden(&Error::new(ErrorKind::AccessDenied, message))
}
