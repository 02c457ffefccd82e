//! Why a request was throttled.

use crate::encode::{Encode, Object};

/// A table or index that had too little throughput for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThrottlingReason {
    /// What was exceeded, such as `TableReadProvisionedThroughputExceeded`.
    pub reason: String,
    /// The ARN of the table or index.
    pub resource: String,
}

/// `{"reason": "TableReadProvisionedThroughputExceeded", "resource": "arn:aws:dynamodb:…"}`
impl Encode for ThrottlingReason {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut object = Object::new(out);
        object.member("reason", &self.reason);
        object.member("resource", &self.resource);
        object.end();
    }
}
