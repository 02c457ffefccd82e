use serde::{Deserialize, Serialize};

/// An account and a Region.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Namespace {
    /// Twelve digits on AWS; any text here.
    pub account: String,
    /// Such as `us-east-1`.
    pub region: String,
}
