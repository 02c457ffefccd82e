//! Who asks: each account and Region is a namespace of its own.

/// The account and Region that a request's signature names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Caller {
    pub account: String,
    pub region: String,
}

impl Caller {
    pub fn new(account: impl Into<String>, region: impl Into<String>) -> Caller {
        Caller { account: account.into(), region: region.into() }
    }
}
