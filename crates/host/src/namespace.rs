//! Namespaces: every account has its own tables, alarms and triggers in every Region.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// An account and a Region. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Namespace {
    /// Twelve digits on AWS; any text here.
    pub account: Arc<str>,
    /// Such as `us-east-1`.
    pub region: Arc<str>,
}

/// The form in rows of the database.
#[derive(Serialize, Deserialize)]
struct Stored {
    account: String,
    region: String,
}

impl Namespace {
    /// The namespace of this account in this Region.
    pub fn new(account: impl Into<Arc<str>>, region: impl Into<Arc<str>>) -> Namespace {
        Namespace { account: account.into(), region: region.into() }
    }

    /// The ARN of a table with this name.
    pub fn table_arn(&self, name: &str) -> String {
        format!("arn:aws:dynamodb:{}:{}:table/{name}", self.region, self.account)
    }
}

impl From<Stored> for Namespace {
    fn from(stored: Stored) -> Namespace {
        Namespace::new(stored.account, stored.region)
    }
}

impl From<Namespace> for Stored {
    fn from(namespace: Namespace) -> Stored {
        Stored { account: namespace.account.to_string(), region: namespace.region.to_string() }
    }
}
