//! The record of an export, an import or a bulk put: the request, and the description that clients see.
//!
//! Both are stored as the JSON of the API, so a record has exactly what the client sent and what later answers show.

use std::fmt::Debug;

use api::{Error, Input, Operation, Request, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::{Store, StoreError};

use crate::Namespace;
use crate::base::fault;
use crate::copies::Copies;
use crate::copies::records::{self, Record};

/// How long a client token is known.
const TOKEN_LIFETIME_MS: u64 = 8 * 60 * 60 * 1000;

/// A way to move items between a table and files. The type itself is what its records have beside the rest.
pub trait Transfer: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The beginning of its keys.
    const KIND: &'static str;
    /// The operation that begins it.
    const OPERATION: Operation;
    type Request: Input<Request = Request> + Clone + Send + Sync;
    type Description: Send;

    /// Its own request.
    fn request(request: Request) -> Option<Self::Request>;

    fn client_token(request: &Self::Request) -> Option<&str>;

    /// The answer of the operation that describes it.
    fn answer(description: Self::Description) -> Response;

    /// The inverse of [`Transfer::answer`], as JSON.
    fn read_answer(json: &[u8]) -> Result<Self::Description, Error>;

    fn is_under_way(description: &Self::Description) -> bool;

    /// Ends it as failed.
    fn fail(description: &mut Self::Description, failure: &TransferFailure);
}

/// Why a transfer ended before it was complete.
pub struct TransferFailure {
    pub code: String,
    pub message: String,
    /// In seconds.
    pub end_time: f64,
}

/// A transfer as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: DeserializeOwned"))]
pub struct TransferRecord<T> {
    #[serde(flatten)]
    pub namespace: Namespace,
    pub arn: String,
    pub table: String,
    /// The id of the table, also of one that is still to be made.
    #[serde(default)]
    pub table_id: String,
    request: String,
    description: String,
    pub started_ms: u64,
    #[serde(flatten)]
    pub details: T,
}

/// What a record begins with.
pub struct NewTransfer<'a, T: Transfer> {
    pub namespace: &'a Namespace,
    pub arn: String,
    pub table: &'a str,
    pub table_id: String,
    pub request: &'a T::Request,
    pub description: T::Description,
    pub started_ms: u64,
    pub details: T,
}

impl<T: Transfer> Record for TransferRecord<T> {
    const KIND: &'static str = T::KIND;

    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn arn(&self) -> &str {
        &self.arn
    }
}

impl<T: Transfer> TransferRecord<T> {
    pub fn new(new: NewTransfer<'_, T>) -> TransferRecord<T> {
        TransferRecord {
            namespace: new.namespace.clone(),
            arn: new.arn,
            table: new.table.to_owned(),
            table_id: new.table_id,
            request: request_json::<T>(new.request),
            description: description_json::<T>(new.description),
            started_ms: new.started_ms,
            details: new.details,
        }
    }

    /// What was asked for.
    pub fn request(&self) -> Result<T::Request, Error> {
        let request = Request::decode(T::OPERATION, self.request.as_bytes())?;
        T::request(request).ok_or_else(Error::internal)
    }

    /// Whether it is what this request asks for.
    pub fn is_same_request(&self, request: &T::Request) -> bool {
        self.request == request_json::<T>(request)
    }

    /// What clients see.
    pub fn description(&self) -> Result<T::Description, Error> {
        T::read_answer(self.description.as_bytes())
    }

    /// Whether it has not ended yet.
    pub fn is_under_way(&self) -> Result<bool, StoreError> {
        let description = self.description().map_err(|error| self.unreadable(error))?;
        Ok(T::is_under_way(&description))
    }

    /// What is stored of it, unless it has ended: another server may have carried it out.
    pub async fn stored(&self, store: &dyn Store) -> Result<Option<TransferRecord<T>>, StoreError> {
        let stored = records::get::<TransferRecord<T>>(store, &self.namespace, &self.arn).await?;
        let Some(stored) = stored else { return Ok(None) };
        Ok(stored.is_under_way()?.then_some(stored))
    }

    /// Changes what clients see, in the store.
    pub async fn describe(
        &self,
        store: &dyn Store,
        change: impl Fn(&mut T::Description) + Send + Sync,
    ) -> Result<(), StoreError> {
        self.change(store, |record| record.redescribe(&change)).await
    }

    /// Changes the stored record.
    pub async fn change(
        &self,
        store: &dyn Store,
        change: impl Fn(&mut TransferRecord<T>) + Send + Sync,
    ) -> Result<(), StoreError> {
        records::change(store, &self.namespace, &self.arn, change).await
    }

    /// Changes what clients see, in this copy alone.
    pub fn redescribe(&mut self, change: impl Fn(&mut T::Description)) {
        if let Ok(mut description) = self.description() {
            change(&mut description);
            self.description = description_json::<T>(description);
        }
    }

    /// Ends the transfer as failed, unless it has ended.
    pub async fn fail(&self, copies: &Copies, code: &str, message: &str) -> Result<(), StoreError> {
        let end_time = copies.environment.now_ms() as f64 / 1000.0;
        let failure = TransferFailure { code: code.to_owned(), message: message.to_owned(), end_time };
        self.describe(&*copies.store, |description| {
            if T::is_under_way(description) {
                T::fail(description, &failure);
            }
        })
        .await
    }

    /// The latest transfer that was begun with this client token, if the token is still known.
    pub async fn of_token(
        copies: &Copies,
        namespace: &Namespace,
        token: Option<&str>,
    ) -> Result<Option<TransferRecord<T>>, Error> {
        let Some(token) = token else { return Ok(None) };
        let since_ms = copies.environment.now_ms().saturating_sub(TOKEN_LIFETIME_MS);
        let mut found: Option<TransferRecord<T>> = None;
        let records = records::list::<TransferRecord<T>>(&*copies.store, namespace).await;
        for record in records.map_err(fault::of_store)? {
            let is_newer = found.as_ref().is_none_or(|found| found.started_ms < record.started_ms);
            if record.started_ms >= since_ms && is_newer && T::client_token(&record.request()?) == Some(token)
            {
                found = Some(record);
            }
        }
        Ok(found)
    }

    /// The transfers that were under way when the database was last open.
    pub async fn under_way(store: &dyn Store) -> Result<Vec<TransferRecord<T>>, StoreError> {
        let mut under_way = Vec::new();
        for record in records::all::<TransferRecord<T>>(store).await? {
            if record.is_under_way()? {
                under_way.push(record);
            }
        }
        Ok(under_way)
    }

    /// The error for a record whose request or description can't be read.
    pub fn unreadable(&self, error: Error) -> StoreError {
        StoreError::Corrupt(format!("{}: {error}", self.arn))
    }
}

fn request_json<T: Transfer>(request: &T::Request) -> String {
    let mut json = Vec::new();
    request.clone().into_request().write_json(&mut json);
    String::from_utf8_lossy(&json).into_owned()
}

fn description_json<T: Transfer>(description: T::Description) -> String {
    let mut json = Vec::new();
    T::answer(description).write_json(&mut json);
    String::from_utf8_lossy(&json).into_owned()
}

/// A page of records, newest first, and the token of the next page. `token` names a record to clients.
pub fn newest_first<T: Transfer>(
    mut records: Vec<TransferRecord<T>>,
    after: Option<&str>,
    limit: usize,
    token: impl Fn(&TransferRecord<T>) -> String,
) -> (Vec<TransferRecord<T>>, Option<String>) {
    records.sort_by(|left, right| (right.started_ms, &right.arn).cmp(&(left.started_ms, &left.arn)));
    if let Some(after) = after {
        let place = records.iter().position(|record| token(record) == after);
        records.drain(..place.map_or(0, |place| place + 1));
    }
    let is_last = records.len() <= limit;
    records.truncate(limit);
    let next = records.last().map(token).filter(|_| !is_last);
    (records, next)
}

/// A token of hexadecimal digits for a record, as DynamoDB's tokens are.
pub fn hexadecimal_token<T>(record: &TransferRecord<T>) -> String {
    blake3::hash(record.arn.as_bytes()).to_hex().repeat(2)[..112].to_owned()
}
