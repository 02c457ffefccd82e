//! Who sends a request, and whose tables it is about.

use std::sync::Arc;

use api::{Error, ErrorKind, TableHome};
use iam::{Decision, NoContext, Question};

use crate::Namespace;

/// The sender of a request. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The account and Region that the request's signature names.
    pub namespace: Namespace,
    /// The identity that signed the request.
    pub principal: Principal,
}

/// An identity.
#[derive(Clone, Debug, Default)]
pub enum Principal {
    /// The request is not signed, or comes from this process.
    #[default]
    Anonymous,
    /// The id of the access key that the request names. Nothing proves it, and no policy is asked.
    AccessKey(Arc<str>),
    /// The signature was verified: policies say what the caller may do.
    Verified(Arc<Verified>),
}

/// A caller whose signature was verified.
#[derive(Debug)]
pub struct Verified {
    /// Who it is, with the policies that count.
    pub identity: Arc<iam::Identity>,
    /// When and from where the request came.
    pub circumstances: iam::Circumstances,
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

    /// An identity whose signature was verified.
    pub fn verified(identity: Arc<iam::Identity>, circumstances: iam::Circumstances) -> Caller {
        let namespace = Namespace::new(identity.account.as_str(), circumstances.region.as_str());
        Caller { namespace, principal: Principal::Verified(Arc::new(Verified { identity, circumstances })) }
    }

    /// Refuses an action of another service than DynamoDB if policies do not allow it.
    pub fn authorize(&self, action: &str, resource: &str) -> Result<(), Error> {
        let Principal::Verified(verified) = &self.principal else { return Ok(()) };
        let owner = &*self.namespace.account;
        let question = Question { action, resource, owner, policy: None, context: &NoContext };
        match iam::evaluate(&verified.identity, &verified.circumstances, &question) {
            Decision::Allowed(_) => Ok(()),
            Decision::Denied(denial) => {
                let message = denial.message(&verified.identity.arn, action, resource);
                Err(Error::new(ErrorKind::AccessDenied, message))
            }
        }
    }

    /// Refuses an ARN of another Region, in AWS's words (seen there in October 2026).
    pub fn check_region(&self, arn: &str, home: TableHome<'_>) -> Result<(), Error> {
        match home.region == &*self.namespace.region {
            true => Ok(()),
            false => Err(Error::request_shape(format_args!("Invalid AWS region in '{arn}'"))),
        }
    }

    /// Refuses an ARN of another account. The answer does not depend on whether the table exists.
    pub fn check_account(&self, home: TableHome<'_>) -> Result<(), Error> {
        match home.account == &*self.namespace.account {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::AccessDenied, "Access is denied")),
        }
    }

    /// Whether policies decide what the caller may do.
    pub fn is_verified(&self) -> bool {
        matches!(self.principal, Principal::Verified(_))
    }
}
