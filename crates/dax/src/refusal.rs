//! What a client gets when a request fails: codes, a message, and DynamoDB's own name of the error.

use std::sync::Arc;

use api::{Error, ErrorKind};

use crate::attribute_list::{AttributeLists, ItemError, ListError};
use crate::cbor::{Malformed, Writer};
use crate::key::KeySchema;
use crate::value::Unreadable;

/// Why a request is not answered.
#[derive(Debug)]
pub enum Refusal {
    /// The database or the cache refuses it.
    Error(Error),
    /// The same, for a transaction: the key schemas of its items, in order.
    Transaction(Box<(Error, Vec<Arc<KeySchema>>)>),
    /// The client has to say who it is, or what it said is not true.
    Authentication(Error),
    /// What was sent can't be understood, so neither can what follows. The connection ends with this answer.
    Malformed(Malformed),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Error(error)
    }
}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Refusal {
        Refusal::Malformed(malformed)
    }
}

impl From<Unreadable> for Refusal {
    fn from(error: Unreadable) -> Refusal {
        match error {
            Unreadable::Malformed(malformed) => malformed.into(),
            Unreadable::Refused(error) => Refusal::Error(Error::validation(error.to_string())),
        }
    }
}

impl From<ListError> for Refusal {
    fn from(error: ListError) -> Refusal {
        match error {
            ListError::Unknown(_) => Refusal::Error(Error::validation(error.to_string())),
            ListError::Full => Refusal::Error(Error::new(ErrorKind::LimitExceeded, error.to_string())),
            ListError::Malformed(_) | ListError::Rows(_) => {
                tracing::error!(%error, "an attribute list");
                Refusal::Error(Error::internal())
            }
        }
    }
}

impl From<ItemError> for Refusal {
    fn from(error: ItemError) -> Refusal {
        match error {
            ItemError::List(error) => error.into(),
            ItemError::Unreadable(error) => error.into(),
        }
    }
}

impl Refusal {
    /// The error that the client gets.
    pub fn error(&self) -> Error {
        match self {
            Refusal::Error(error) | Refusal::Authentication(error) => error.clone(),
            Refusal::Transaction(cancelled) => cancelled.0.clone(),
            Refusal::Malformed(malformed) => Error::validation(malformed.to_string()),
        }
    }

    /// Appends the answer.
    pub fn write(&self, request_id: &str, lists: &AttributeLists, writer: &mut Writer) {
        match self {
            Refusal::Error(error) => write(error, codes(error.kind), request_id, writer, |_| {}),
            Refusal::Authentication(error) => write(error, &AUTHENTICATION, request_id, writer, |_| {}),
            Refusal::Malformed(malformed) => {
                let error = Error::validation(malformed.to_string());
                write(&error, codes(error.kind), request_id, writer, |_| {});
            }
            Refusal::Transaction(cancelled) => {
                let (error, schemas) = &**cancelled;
                let reasons = &error.cancellation_reasons;
                write(error, codes(error.kind), request_id, writer, |writer| {
                    writer.array(3 * reasons.len());
                    for (reason, schema) in reasons.iter().zip(schemas) {
                        writer.text(reason.code.as_str());
                        match &reason.message {
                            Some(message) => writer.text(message),
                            None => writer.null(),
                        }
                        match &reason.item {
                            Some(item) => {
                                writer.nested(|writer| lists.write_item(item.as_ref(), schema, writer))
                            }
                            None => writer.null(),
                        }
                    }
                });
            }
        }
    }
}

fn write(
    error: &Error,
    codes: &[i64],
    request_id: &str,
    writer: &mut Writer,
    more: impl FnOnce(&mut Writer),
) {
    writer.array(codes.len());
    codes.iter().for_each(|code| writer.int(*code));
    writer.text(&error.message);
    let has_reasons = !error.cancellation_reasons.is_empty();
    writer.array(if has_reasons { 4 } else { 3 });
    writer.text(request_id);
    writer.text(error.kind.name());
    writer.int(status(error.kind));
    if has_reasons {
        more(writer);
    }
}

/// The client has to authorize its connection again.
const AUTHENTICATION: [i64; 4] = [4, 23, 31, 33];

fn codes(kind: ErrorKind) -> &'static [i64] {
    match kind {
        ErrorKind::ProvisionedThroughputExceeded => &[4, 37, 38, 39, 40],
        ErrorKind::ResourceNotFound => &[4, 37, 38, 39, 41],
        ErrorKind::ConditionalCheckFailed => &[4, 37, 38, 39, 43],
        ErrorKind::ResourceInUse => &[4, 37, 38, 39, 45],
        ErrorKind::Validation => &[4, 37, 38, 39, 46],
        ErrorKind::InternalServerError => &[4, 37, 38, 39, 47],
        ErrorKind::ItemCollectionSizeLimitExceeded => &[4, 37, 38, 39, 48],
        ErrorKind::LimitExceeded => &[4, 37, 38, 39, 49],
        ErrorKind::Throttling => &[4, 37, 38, 39, 50],
        ErrorKind::TransactionCanceled => &[4, 37, 38, 39, 58],
        ErrorKind::RequestLimitExceeded => &[4, 37, 38, 39, 61],
        ErrorKind::AccessDenied => &[4, 37, 38, 42],
        // An unknown code: clients then show the name of the error.
        _ => &[4, 37, 38, 39, 0],
    }
}

fn status(kind: ErrorKind) -> i64 {
    match kind {
        ErrorKind::InternalServerError => 500,
        ErrorKind::ServiceUnavailable => 503,
        _ => 400,
    }
}
