//! The principals that a resource policy names.

use crate::{Identity, IdentityKind};

/// One principal of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// `*`
    Anyone,
    /// An account id, or the ARN of its root.
    Account(String),
    /// The ARN of a user, a role or a session.
    Arn(String),
    /// A service of AWS or a federated user. No such caller exists here.
    Elsewhere,
}

/// How closely a statement names an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// By its account: its own policies must allow the request too.
    Account,
    /// By its role, or as one of all.
    Broadly,
    /// By its own ARN: no boundary limits what the statement allows.
    Exactly,
}

impl Principal {
    /// Reads a member of `"Principal": {"AWS": …}`. `None` if it names no principal that AWS knows.
    pub fn read(kind: &str, text: &str) -> Option<Principal> {
        match kind {
            "AWS" => Principal::read_aws(text),
            "Service" | "Federated" | "CanonicalUser" if !text.is_empty() => Some(Principal::Elsewhere),
            _ => None,
        }
    }

    fn read_aws(text: &str) -> Option<Principal> {
        if text == "*" {
            return Some(Principal::Anyone);
        }
        if is_account(text) {
            return Some(Principal::Account(text.to_owned()));
        }
        let mut fields = text.splitn(6, ':');
        let (arn, partition, service) = (fields.next()?, fields.next()?, fields.next()?);
        let (region, account, resource) = (fields.next()?, fields.next()?, fields.next()?);
        if arn != "arn" || !partition.starts_with("aws") || !region.is_empty() || !is_account(account) {
            return None;
        }
        let named = |prefix: &str| {
            resource.strip_prefix(prefix).is_some_and(|name| !name.is_empty() && !name.contains(['*', '?']))
        };
        match service {
            "iam" if resource == "root" => Some(Principal::Account(account.to_owned())),
            "iam" if named("user/") || named("role/") => Some(Principal::Arn(text.to_owned())),
            "sts" if named("assumed-role/") || named("federated-user/") => {
                Some(Principal::Arn(text.to_owned()))
            }
            _ => None,
        }
    }

    /// Whether, and how closely, it names the identity.
    pub fn names(&self, identity: &Identity) -> Option<Named> {
        match self {
            Principal::Anyone => Some(Named::Broadly),
            Principal::Account(account) if *account == identity.account => {
                // The root user is its account.
                Some(if identity.kind == IdentityKind::Root { Named::Exactly } else { Named::Account })
            }
            Principal::Arn(arn) if *arn == identity.arn => Some(Named::Exactly),
            Principal::Arn(arn) if *arn == identity.principal_arn() => Some(Named::Broadly),
            _ => None,
        }
    }
}

/// Twelve digits.
pub fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}
