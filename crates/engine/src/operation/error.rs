//! What the core refuses, in DynamoDB's words. The core has its own errors, so that it knows no messages;
//! they become answers here and nowhere else.

use api::{Error, ThrottlingReason};
use capacity::{Cause, Place, Reason};
use item::Type;

use crate::base::fault;
use crate::base::index::{IndexKeyError, IndexKeyFault, VectorFault};
use crate::base::key::{EmptyKind, KeyError};
use crate::commit::{Failure, Refusal, WriteError};
use crate::read::items::ReadError;
use crate::read::source::SourceError;
use crate::throughput::admission::Throttled;

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Error {
        match error {
            WriteError::Refused(refusal) => refusal.into(),
            WriteError::Failed(failure) => failure.into(),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        match failure {
            Failure::TableGone => Error::resource_not_found_item(),
            Failure::Store(error) => fault::of_store(error),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        match refusal {
            Refusal::ConditionFailed { shown, .. } => Error::conditional_check_failed(shown),
            Refusal::Exists { .. } => Error::duplicate_item(),
            Refusal::ItemTooLarge => Error::item_too_large(),
            Refusal::UpdatedItemTooLarge => Error::item_to_update_too_large(),
            Refusal::Update(error) => Error::validation(error.to_string()),
            Refusal::IndexKey(error) => error.into(),
            Refusal::CollectionTooLarge => Error::collection_too_large(),
            Refusal::Throttled(throttled) => throttled.into(),
            Refusal::TransactionConflict => Error::transaction_conflict(),
            Refusal::ReplicatedWriteConflict => Error::replicated_write_conflict(),
            // Only changes of other Regions are refused for this, and no client waits for those.
            Refusal::Outdated => Error::internal(),
        }
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Error {
        match error {
            ReadError::Throttled(throttled) => throttled.into(),
            ReadError::Store(error) => fault::of_store(error),
        }
    }
}

impl From<Throttled> for Error {
    fn from(Throttled { reasons, is_on_demand }: Throttled) -> Error {
        let reason =
            |(reason, resource): (Reason, String)| ThrottlingReason { reason: reason.name(), resource };
        let is_of_account = reasons.iter().any(|(reason, _)| reason.cause == Cause::AccountLimitExceeded);
        let is_of_maximum =
            reasons.iter().any(|(reason, _)| reason.cause == Cause::MaxOnDemandThroughputExceeded);
        let is_of_table = reasons.iter().any(|(reason, _)| reason.place == Place::Table);
        let error = match is_on_demand {
            true if is_of_account => Error::account_throughput_exceeded(),
            true if is_of_maximum => Error::on_demand_maximum_exceeded(),
            true => Error::on_demand_throughput_exceeded(),
            false if is_of_table => Error::table_throughput_exceeded(),
            false => Error::index_throughput_exceeded(),
        };
        Error { throttling_reasons: reasons.into_iter().map(reason).collect(), ..error }
    }
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Error {
        match error {
            KeyError::Missing(attribute) => Error::key_missing(&attribute),
            KeyError::Type { attribute, expected, actual } => {
                Error::key_type_mismatch(&attribute, expected.name(), actual.name())
            }
            KeyError::Schema => Error::key_schema_mismatch(),
            KeyError::Empty { attribute, kind } => Error::key_empty(&attribute, name(kind)),
            KeyError::PartitionTooLong => Error::partition_key_too_long(),
            KeyError::SortTooLong => Error::sort_key_too_long(),
        }
    }
}

impl From<IndexKeyError> for Error {
    fn from(IndexKeyError { index, attribute, fault, by_update }: IndexKeyError) -> Error {
        match fault {
            IndexKeyFault::Type { expected, actual } => {
                Error::index_key_type_mismatch(&attribute, expected.name(), actual.name(), &index)
            }
            IndexKeyFault::Empty(kind) if by_update => Error::index_key_updated_to_empty(name(kind)),
            IndexKeyFault::Empty(kind) => Error::index_key_empty(name(kind), &index, &attribute),
            IndexKeyFault::PartitionTooLong => Error::partition_key_too_long(),
            IndexKeyFault::SortTooLong => Error::sort_key_too_long(),
            IndexKeyFault::Vector { fault, dimensions } => {
                let element = |element: usize| format!("{attribute}[{element}]");
                match fault {
                    VectorFault::Size { actual } => {
                        Error::vector_size(&attribute, dimensions, actual, &index)
                    }
                    VectorFault::Type { element: None, actual } => {
                        Error::vector_type(&attribute, Type::L.name(), actual.name(), &index)
                    }
                    VectorFault::Type { element: Some(position), actual } => {
                        Error::vector_type(&element(position), Type::N.name(), actual.name(), &index)
                    }
                    VectorFault::TooLarge { element: position } => {
                        Error::vector_element_too_large(&element(position), &index)
                    }
                }
            }
        }
    }
}

fn name(kind: EmptyKind) -> &'static str {
    match kind {
        EmptyKind::String => "string",
        EmptyKind::Binary => "binary",
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Error {
        match error {
            SourceError::IndexUnknown(index) => Error::index_unknown(&index),
            SourceError::IndexType(operation) => Error::index_type_not_supported(operation),
            SourceError::ConsistentRead => Error::consistent_read_on_global_index(),
            SourceError::Backfilling(index) => Error::index_backfilling(&index),
            SourceError::NotAllProjected(index) => Error::all_attributes_not_projected(&index),
            SourceError::NotProjected { index, attributes } => {
                let attributes: Vec<&str> = attributes.iter().map(String::as_str).collect();
                Error::attributes_not_projected(&index, &attributes)
            }
            SourceError::StartKey => Error::start_key_invalid(),
            SourceError::StartKeyValue(error) => error.into(),
        }
    }
}
