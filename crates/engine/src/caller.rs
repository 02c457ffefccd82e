//! Who sends a request, and whose tables it is about.

use std::sync::Arc;

use crate::Namespace;

/// The sender of a request. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The account and Region that the request's signature names.
    pub namespace: Namespace,
    /// The identity that signed the request.
    pub principal: Principal,
}

/// An identity. Access does not depend on it yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Principal {
    /// The request is not signed, or comes from this process.
    #[default]
    Anonymous,
    /// The id of the access key that signed the request.
    AccessKey(Arc<str>),
}

impl Caller {
    /// An anonymous caller of this account and Region.
    pub fn new(account: impl Into<Arc<str>>, region: impl Into<Arc<str>>) -> Caller {
        Caller { namespace: Namespace::new(account, region), principal: Principal::Anonymous }
    }

    /// The same namespace, with the access key that signed the request.
    pub fn with_access_key(self, id: impl Into<Arc<str>>) -> Caller {
        Caller { principal: Principal::AccessKey(id.into()), ..self }
    }
}
