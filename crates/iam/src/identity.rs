//! Who signs requests: an account's root, a user, or a session of a role.

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};

use crate::Policy;

/// An identity and the policies that say what it may do.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// The account that it belongs to: twelve digits.
    pub account: String,
    /// What it is.
    pub kind: IdentityKind,
    /// As errors and GetCallerIdentity name it.
    pub arn: String,
    /// `aws:userid`.
    pub user_id: String,
    /// `aws:PrincipalTag/…`.
    pub tags: BTreeMap<String, String>,
    /// What allows and denies, with the names that the access file gives them.
    pub policies: Vec<(String, Policy)>,
    /// What bounds the policies.
    pub boundary: Option<(String, Policy)>,
    /// The policy that was passed when temporary credentials were made. It bounds what they allow.
    pub session_policy: Option<(String, Policy)>,
}

/// The kinds of identities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityKind {
    /// The account itself.
    Root,
    /// A user with this name.
    User(String),
    /// A session of a role.
    #[allow(missing_docs, reason = "the names say it")]
    Session { role: String, session: String },
}

impl Identity {
    /// An identity without policies.
    pub fn new(account: &str, kind: IdentityKind) -> Identity {
        let arn = match &kind {
            IdentityKind::Root => format!("arn:aws:iam::{account}:root"),
            IdentityKind::User(name) => format!("arn:aws:iam::{account}:user/{name}"),
            IdentityKind::Session { role, session } => {
                format!("arn:aws:sts::{account}:assumed-role/{role}/{session}")
            }
        };
        let mut identity = Identity {
            account: account.to_owned(),
            kind,
            arn,
            user_id: String::new(),
            tags: BTreeMap::new(),
            policies: Vec::new(),
            boundary: None,
            session_policy: None,
        };
        identity.user_id = match &identity.kind {
            IdentityKind::Root => account.to_owned(),
            IdentityKind::User(_) => unique_id("AIDA", &identity.arn),
            IdentityKind::Session { session, .. } => {
                format!("{}:{session}", unique_id("AROA", &identity.principal_arn()))
            }
        };
        identity
    }

    /// `aws:PrincipalArn`: of a session, the role's ARN.
    pub fn principal_arn(&self) -> String {
        match &self.kind {
            IdentityKind::Session { role, .. } => format!("arn:aws:iam::{}:role/{role}", self.account),
            _ => self.arn.clone(),
        }
    }

    pub(crate) fn values(&self, key: &str) -> Option<Vec<String>> {
        let one = |value: &str| Some(vec![value.to_owned()]);
        match key {
            "aws:principalarn" => one(&self.principal_arn()),
            "aws:principalaccount" => one(&self.account),
            "aws:userid" => one(&self.user_id),
            "aws:principaltype" => one(match self.kind {
                IdentityKind::Root => "Account",
                IdentityKind::User(_) => "User",
                IdentityKind::Session { .. } => "AssumedRole",
            }),
            "aws:username" => match &self.kind {
                IdentityKind::User(name) => one(name),
                _ => Some(Vec::new()),
            },
            _ => {
                let tag = key.strip_prefix("aws:principaltag/")?;
                let found = self.tags.iter().find(|(name, _)| name.to_lowercase() == tag);
                Some(found.map(|(_, value)| value.clone()).into_iter().collect())
            }
        }
    }
}

/// An id such as AWS gives to users and roles. It depends on the ARN alone, so it stays the same.
fn unique_id(prefix: &str, arn: &str) -> String {
    const DIGITS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let digest = digest(&SHA256, arn.as_bytes());
    let digits = digest.as_ref().iter().take(17).map(|byte| DIGITS[usize::from(byte % 32)] as char);
    prefix.chars().chain(digits).collect()
}
