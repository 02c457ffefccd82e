//! May this identity do this? In IAM's order:
//!
//! 1. a Deny that matches, in any policy, decides;
//! 2. in its own account, an Allow of the resource's policy is enough, if it names the identity and not merely its
//!    account. A boundary or session policy limits it unless the identity's own ARN is named;
//! 3. else the identity's policies must allow it, and so must its boundary and its session policy;
//! 4. of another account, the resource's policy must allow it too.
//!
//! The root of an account may do everything with the account's own resources that no policy denies.

use crate::context::{Circumstances, Context, Keys};
use crate::policy::Statement;
use crate::principal::Named;
use crate::{Effect, Identity, IdentityKind, Policy};

/// What is asked for.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// Such as `dynamodb:GetItem`.
    pub action: &'a str,
    /// An ARN, or `*` if the action is about no particular resource.
    pub resource: &'a str,
    /// The account that has the resource.
    pub owner: &'a str,
    /// The resource's own policy.
    pub policy: Option<ResourcePolicy<'a>>,
    /// The condition keys of the request.
    pub context: &'a dyn Context,
}

/// The policy of the resource that a request is about.
#[derive(Clone, Copy, Debug)]
pub struct ResourcePolicy<'a> {
    /// What it says.
    pub policy: &'a Policy,
    /// The ARN of the resource that has it.
    pub attached_to: &'a str,
}

/// The kinds of policies, as errors name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum PolicyKind {
    Identity,
    Resource,
    Boundary,
    Session,
}

/// The answer, and what decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The request may go on.
    Allowed(Explanation),
    /// It may not.
    Denied(Denial),
}

/// Why a request is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Explanation {
    /// The account's root needs no policy.
    Root,
    /// The statement that allows it.
    Statement(StatementName),
}

/// Why a request is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// A statement denies it.
    Explicit(StatementName),
    /// No policy of this kind allows it.
    Implicit(PolicyKind),
}

/// Where a statement is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementName {
    /// In which kind of policy.
    pub kind: PolicyKind,
    /// The policy's name in the access file; the resource's ARN for its own.
    pub policy: String,
    /// Counted from 1.
    pub number: usize,
    /// The statement's Sid, if it has one.
    pub sid: Option<String>,
}

impl Decision {
    /// Whether the request may go on.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Decision::Allowed(_))
    }
}

impl Denial {
    /// The end of AWS's message.
    pub fn reason(&self, action: &str) -> String {
        match self {
            Denial::Explicit(statement) => {
                let policy = match statement.kind {
                    PolicyKind::Identity => "an identity-based policy",
                    PolicyKind::Resource => "a resource-based policy",
                    PolicyKind::Boundary => "a permissions boundary",
                    PolicyKind::Session => "a sessions policy",
                };
                format!("with an explicit deny in {policy}")
            }
            Denial::Implicit(kind) => {
                let policy = match kind {
                    PolicyKind::Identity => "identity-based policy",
                    PolicyKind::Resource => "resource-based policy",
                    PolicyKind::Boundary => "permissions boundary",
                    PolicyKind::Session => "session policy",
                };
                format!("because no {policy} allows the {action} action")
            }
        }
    }

    /// AWS's message.
    pub fn message(&self, caller_arn: &str, action: &str, resource: &str) -> String {
        let reason = self.reason(action);
        format!("User: {caller_arn} is not authorized to perform: {action} on resource: {resource} {reason}")
    }
}

/// Decides.
pub fn evaluate(identity: &Identity, circumstances: &Circumstances, question: &Question<'_>) -> Decision {
    let keys = Keys { identity, circumstances, request: question.context };
    let action = question.action.to_lowercase();
    let evaluation = Evaluation { identity, question, action: &action, keys };
    evaluation.decide()
}

struct Evaluation<'a> {
    identity: &'a Identity,
    question: &'a Question<'a>,
    /// In lower case.
    action: &'a str,
    keys: Keys<'a>,
}

/// A policy with its name.
type NamedPolicy = (String, Policy);

impl Evaluation<'_> {
    fn decide(&self) -> Decision {
        if let Some(statement) = self.denying() {
            return Decision::Denied(Denial::Explicit(statement));
        }
        let is_own = self.question.owner == self.identity.account;
        let is_root = self.identity.kind == IdentityKind::Root;
        if is_own && is_root {
            return Decision::Allowed(Explanation::Root);
        }
        let granted = self.granted_by_resource();
        let explanation = match &granted {
            Some((Named::Exactly, statement)) if is_own => {
                return Decision::Allowed(Explanation::Statement(statement.clone()));
            }
            Some((Named::Broadly, statement)) if is_own => Explanation::Statement(statement.clone()),
            _ if is_root => Explanation::Root,
            _ => match self.allowed_by(PolicyKind::Identity, &self.identity.policies) {
                Some(statement) => Explanation::Statement(statement),
                None => return Decision::Denied(Denial::Implicit(PolicyKind::Identity)),
            },
        };
        for (kind, limit) in self.limits() {
            if self.allowed_by(kind, std::slice::from_ref(limit)).is_none() {
                return Decision::Denied(Denial::Implicit(kind));
            }
        }
        if !is_own && granted.is_none() {
            return Decision::Denied(Denial::Implicit(PolicyKind::Resource));
        }
        Decision::Allowed(explanation)
    }

    /// The policies that bound what others allow.
    fn limits(&self) -> impl Iterator<Item = (PolicyKind, &NamedPolicy)> {
        let boundary = self.identity.boundary.iter().map(|policy| (PolicyKind::Boundary, policy));
        let session = self.identity.session_policy.iter().map(|policy| (PolicyKind::Session, policy));
        boundary.chain(session)
    }

    /// The first statement of any policy that denies the request.
    fn denying(&self) -> Option<StatementName> {
        let own = self.identity.policies.iter().map(|policy| (PolicyKind::Identity, policy));
        let of_identity = own.chain(self.limits()).find_map(|(kind, (name, policy))| {
            self.find(kind, name, policy, None, Effect::Deny).map(|(_, statement)| statement)
        });
        of_identity.or_else(|| self.find_in_resource(Effect::Deny).map(|(_, statement)| statement))
    }

    fn allowed_by(&self, kind: PolicyKind, policies: &[NamedPolicy]) -> Option<StatementName> {
        policies.iter().find_map(|(name, policy)| {
            self.find(kind, name, policy, None, Effect::Allow).map(|(_, statement)| statement)
        })
    }

    fn granted_by_resource(&self) -> Option<(Named, StatementName)> {
        self.find_in_resource(Effect::Allow)
    }

    fn find_in_resource(&self, effect: Effect) -> Option<(Named, StatementName)> {
        let ResourcePolicy { policy, attached_to } = self.question.policy?;
        self.find(PolicyKind::Resource, attached_to, policy, Some(attached_to), effect)
    }

    /// The statement with this effect that matches; of several, one that names the identity most closely.
    fn find(
        &self,
        kind: PolicyKind,
        name: &str,
        policy: &Policy,
        attached_to: Option<&str>,
        effect: Effect,
    ) -> Option<(Named, StatementName)> {
        let mut closest: Option<(Named, usize, &Statement)> = None;
        for (index, statement) in policy.statements.iter().enumerate() {
            let Some(named) = statement.names(self.identity).filter(|_| statement.effect == effect) else {
                continue;
            };
            let is_closer = closest.is_none_or(|(before, ..)| named > before);
            if is_closer && statement.matches(self.action, self.question.resource, attached_to, &self.keys) {
                closest = Some((named, index, statement));
                if named == Named::Exactly {
                    break;
                }
            }
        }
        closest.map(|(named, index, statement)| {
            let sid = statement.sid.clone();
            (named, StatementName { kind, policy: name.to_owned(), number: index + 1, sid })
        })
    }
}
