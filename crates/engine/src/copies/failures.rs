//! Why a backup or a restored table is gone. Both are dropped if they can't be completed, as DynamoDB knows no
//! state for that; a client that still asks for one gets the reason with the error.

use api::Error;
use serde::{Deserialize, Serialize};
use store::StoreError;

use crate::Namespace;
use crate::base::fault;
use crate::copies::Copies;
use crate::copies::records::{self, Record};

/// How long a reason is kept.
const LIFETIME_MS: u64 = 24 * 60 * 60 * 1000;

/// A backup or a table that could not be completed.
#[derive(Debug, Serialize, Deserialize)]
struct Failure {
    #[serde(flatten)]
    namespace: Namespace,
    arn: String,
    reason: String,
    at_ms: u64,
}

impl Record for Failure {
    const KIND: &'static str = "failure";

    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn arn(&self) -> &str {
        &self.arn
    }
}

/// Keeps the reason for a day, and forgets those that are older.
pub async fn keep(copies: &Copies, namespace: &Namespace, arn: &str, reason: &str) -> Result<(), StoreError> {
    let now_ms = copies.environment.now_ms();
    for failure in records::list::<Failure>(&*copies.store, namespace).await? {
        if now_ms.saturating_sub(failure.at_ms) > LIFETIME_MS {
            records::remove::<Failure>(&*copies.store, namespace, &failure.arn).await?;
        }
    }
    let (namespace, arn, reason) = (namespace.clone(), arn.to_owned(), reason.to_owned());
    records::put(&*copies.store, &Failure { namespace, arn, reason, at_ms: now_ms }).await
}

/// Forgets the reason: there is something with this ARN again.
pub async fn forget(copies: &Copies, namespace: &Namespace, arn: &str) -> Result<(), StoreError> {
    match records::get::<Failure>(&*copies.store, namespace, arn).await? {
        Some(_) => records::remove::<Failure>(&*copies.store, namespace, arn).await,
        None => Ok(()),
    }
}

/// The error for something that is not there, with the reason if one is known.
pub async fn explain(copies: &Copies, namespace: &Namespace, arn: &str, error: Error) -> Error {
    match records::get::<Failure>(&*copies.store, namespace, arn).await {
        Ok(Some(failure)) => Error { message: format!("{}. {}", error.message, failure.reason), ..error },
        Ok(None) => error,
        Err(error) => fault::of_store(error),
    }
}
