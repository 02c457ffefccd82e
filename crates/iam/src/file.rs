//! The access file: accounts, their users and roles, the keys that sign for them and the policies that they have.
//!
//! ```yaml
//! accounts:
//!   "111122223333":
//!     users:
//!       alice:
//!         keys: [{id: AKIAEXAMPLEALICE, secret: her-secret}]
//!         policies: [reader.json, arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess]
//!         boundary: dev.json
//!         tags: {team: a}
//!     roles:
//!       app:
//!         sessions: [{id: ASIAEXAMPLEAPP, secret: its-secret, token: its-token, name: s1, expires: 2026-12-01T00:00:00Z}]
//!         policies: [{Version: "2012-10-17", Statement: {Effect: Allow, Action: "dynamodb:*", Resource: "*"}}]
//! ```
//!
//! These types are the file as it is written; a [`Directory`](crate::Directory) is what it means.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AccessFile {
    /// Further values of `Host` that clients may have signed, for a server behind a proxy that changes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The account whose users may be allowed to administer the server; see [`Directory`](crate::Directory) for the
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// By their ids of twelve digits.
    #[serde(default)]
    pub accounts: BTreeMap<String, Account>,
}

/// One account.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The account itself, which may do everything in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Root>,
    /// By their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub users: BTreeMap<String, User>,
    /// By their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, Role>,
}

/// An account's root user.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Root {
    /// What it signs with.
    #[serde(default)]
    pub keys: Vec<Key>,
}

/// A user.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// What the user signs with.
    #[serde(default)]
    pub keys: Vec<Key>,
    /// What the user may do. Nothing, without any.
    #[serde(default)]
    pub policies: Vec<PolicySource>,
    /// The most that the user may do, whatever the policies allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<PolicySource>,
    /// `aws:PrincipalTag/…`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// A role.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Who has assumed it. There is no AssumeRole: sessions are written here.
    #[serde(default)]
    pub sessions: Vec<Session>,
    /// What the role may do. Nothing, without any.
    #[serde(default)]
    pub policies: Vec<PolicySource>,
    /// The most that the role may do, whatever the policies allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<PolicySource>,
    /// `aws:PrincipalTag/…`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// A long-term access key.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The access key id.
    pub id: String,
    /// The secret access key as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    /// The secret access key, encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<String>,
    /// An inactive key signs nothing.
    #[serde(default)]
    pub status: Status,
}

/// A session of a role, with its temporary key.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// The access key id.
    pub id: String,
    /// The secret access key as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    /// The secret access key, encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<String>,
    /// The session token, which every request must have.
    pub token: Secret,
    /// The session's name.
    pub name: String,
    /// When it ends, such as 2026-12-01T00:00:00Z.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The most that the session may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicySource>,
}

/// Whether a key may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Status {
    #[default]
    Active,
    Inactive,
}

/// Where a policy is.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum PolicySource {
    /// The name of a JSON file, relative to the access file; or the ARN of a policy that AWS manages.
    Name(String),
    /// The document itself.
    Document(serde_json::Map<String, serde_json::Value>),
}

/// A text that is never shown, and is wiped from memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Keeps a text secret.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(Zeroizing::new(text.into()))
    }

    /// The text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}

impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.expose())
    }
}

impl AccessFile {
    /// Reads YAML or JSON. The error says what is wrong and where, and never shows a line of the file: it may hold a
    /// secret.
    pub fn parse(text: &str) -> Result<AccessFile, String> {
        let is_json = text.trim_start().starts_with('{');
        if is_json {
            return serde_json::from_str(text).map_err(|error| error.to_string());
        }
        serde_saphyr::from_str(text).map_err(|error| match error.location() {
            Some(place) => format!("line {}, column {}: {}", place.line(), place.column(), plain(&error)),
            None => plain(&error),
        })
    }

    /// Prints YAML.
    pub fn to_yaml(&self) -> Result<String, String> {
        serde_saphyr::to_string(self).map_err(|error| error.to_string())
    }
}

/// The first line of an error, without the excerpt of the file behind it.
fn plain(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    text.lines().next().unwrap_or_default().to_owned()
}
