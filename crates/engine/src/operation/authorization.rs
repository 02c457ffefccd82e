//! May the caller do this? Asked once for each request, before anything of it is carried out.
//!
//! Each operation says which actions on which resources it needs, in the words of [`access`]; [`keys`] has the values of DynamoDB's condition
//! keys, which are worked out only if a policy asks for them. The `iam` crate decides.
//!
//! The order is AWS's: a caller without rights is denied before it is known whether the table exists. Only requests with
//! a verified signature are asked about: without an access file everyone may do everything in their own account.

pub(super) mod access;
pub(super) mod keys;

use std::sync::Arc;

use api::{Error, ErrorKind, Request, TableName, streams};
use expression::partiql::Statement;
use iam::{Decision, Denial, PolicyKind, Question, ResourcePolicy};

use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::caller::{Principal, Verified};
use crate::operation::Engine;
use crate::tables::catalog::LiveTable;

use super::list;
use access::{Access, Resource};
use keys::RequestKeys;

impl Engine {
    /// Refuses a request that policies do not allow.
    pub(crate) fn authorize(&self, caller: &Caller, request: &Request) -> Result<(), Error> {
        let Principal::Verified(verified) = &caller.principal else { return Ok(()) };
        let needed = list::dynamodb::access(request, &caller.namespace);
        needed.iter().try_for_each(|access| self.check_access(caller, verified, access))
    }

    /// Refuses a request to DynamoDB Streams that policies do not allow.
    pub(crate) fn authorize_streams(&self, caller: &Caller, request: &streams::Request) -> Result<(), Error> {
        let Principal::Verified(verified) = &caller.principal else { return Ok(()) };
        let needed = list::streams::access(request, &caller.namespace);
        needed.iter().try_for_each(|access| self.check_access(caller, verified, access))
    }

    /// Refuses one statement of a batch, whose others may go on.
    pub(crate) fn authorize_statement(&self, caller: &Caller, statement: &Statement) -> Result<(), Error> {
        let Principal::Verified(verified) = &caller.principal else { return Ok(()) };
        self.check_access(caller, verified, &access::of_statement(statement.clone(), None))
    }

    fn check_access(&self, caller: &Caller, verified: &Verified, access: &Access<'_>) -> Result<(), Error> {
        let resource = access.resource.full_arn(&caller.namespace);
        let namespace = namespace_of(&resource).unwrap_or_else(|| caller.namespace.clone());
        let table = access.resource.table_name().and_then(|name| self.table_named(&namespace, name));
        let decision = self.decide(verified, access, &resource, &namespace, table.as_deref());
        match decision {
            Decision::Allowed(_) => Ok(()),
            Decision::Denied(denial) => {
                let message = denial.message(&verified.identity.arn, access.action, &resource);
                Err(Error::new(ErrorKind::AccessDenied, message))
            }
        }
    }

    fn decide(
        &self,
        verified: &Verified,
        access: &Access<'_>,
        resource: &str,
        namespace: &Namespace,
        table: Option<&LiveTable>,
    ) -> Decision {
        let arn = table.map(|table| namespace.table_arn(&table.name));
        let policy = match table.and_then(|table| table.parsed_policy.as_ref()) {
            // A policy that can't be read may deny anything. It can still be replaced.
            Some(Err(_)) if !access.is_about_policies() => {
                return Decision::Denied(Denial::Explicit(iam::StatementName {
                    kind: PolicyKind::Resource,
                    policy: resource.to_owned(),
                    number: 0,
                    sid: None,
                }));
            }
            Some(Ok(policy)) if access.resource.has_table_policy() => {
                arn.as_deref().map(|attached_to| ResourcePolicy { policy, attached_to })
            }
            _ => None,
        };
        let keys = RequestKeys { engine: self, access, table };
        let question =
            Question { action: access.action, resource, owner: &namespace.account, policy, context: &keys };
        iam::evaluate(&verified.identity, &verified.circumstances, &question)
    }

    fn table_named(&self, namespace: &Namespace, name: &str) -> Option<Arc<LiveTable>> {
        let name = TableName::parse(name).ok()?.name;
        self.catalog.find(namespace, name)
    }
}

/// The account and Region of an ARN.
fn namespace_of(arn: &str) -> Option<Namespace> {
    let mut fields = arn.splitn(6, ':').skip(3);
    let (region, account) = (fields.next()?, fields.next()?);
    (!account.is_empty()).then(|| Namespace::new(account, region))
}

impl Resource<'_> {
    /// The ARN, as policies and errors name it.
    fn full_arn(&self, namespace: &Namespace) -> String {
        match self {
            Resource::Any => "*".to_owned(),
            Resource::Arn(arn) => arn.clone().into_owned(),
            Resource::Table(name) => table_arn(namespace, name),
            Resource::Index { table, index } => format!("{}/index/{index}", table_arn(namespace, table)),
        }
    }

    /// The table that it is or belongs to.
    pub(super) fn table_name(&self) -> Option<&str> {
        match self {
            Resource::Any => None,
            Resource::Table(name) | Resource::Index { table: name, .. } => Some(name),
            Resource::Arn(arn) => TableName::parse_arn(arn).map(|_| arn.as_ref()),
        }
    }

    /// A table's policy is about the table and its indexes, not about its streams and backups.
    fn has_table_policy(&self) -> bool {
        self.table_name().is_some()
    }
}

/// Requests name a table by its name or by its ARN.
fn table_arn(namespace: &Namespace, name: &str) -> String {
    if name.starts_with("arn:") { name.to_owned() } else { namespace.table_arn(name) }
}
