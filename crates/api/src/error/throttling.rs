//! Why a request was throttled.

use crate::encode::{Encode, Object};

/// A table or index that had too little throughput for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThrottlingReason {
    /// Whether an index had too little, or the table itself.
    pub of_index: bool,
    /// What the request was about to do.
    pub access: Access,
    /// Which throughput was used up.
    pub cause: ThrottlingCause,
    /// The ARN of the table or index.
    pub resource: String,
}

/// What a request does with a table or index.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    Read,
    Write,
}

/// Which throughput was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThrottlingCause {
    /// The provisioned throughput.
    ProvisionedThroughputExceeded,
    /// The throughput that one partition sustains, by requests for one key.
    KeyRangeThroughputExceeded,
}

impl Access {
    fn as_str(self) -> &'static str {
        match self {
            Access::Read => "Read",
            Access::Write => "Write",
        }
    }
}

impl ThrottlingCause {
    fn as_str(self) -> &'static str {
        match self {
            ThrottlingCause::ProvisionedThroughputExceeded => "ProvisionedThroughputExceeded",
            ThrottlingCause::KeyRangeThroughputExceeded => "KeyRangeThroughputExceeded",
        }
    }
}

/// `{"reason": "TableReadProvisionedThroughputExceeded", "resource": "arn:aws:dynamodb:…"}`
impl Encode for ThrottlingReason {
    fn encode(&self, out: &mut Vec<u8>) {
        let of = if self.of_index { "Index" } else { "Table" };
        let mut object = Object::new(out);
        object.member("reason", &format!("{of}{}{}", self.access.as_str(), self.cause.as_str()));
        object.member("resource", &self.resource);
        object.end();
    }
}
