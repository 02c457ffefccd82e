//! How much memory a request may take for its answer.
//!
//! What counts is what DynamoDB lets an answer hold: items of 400 KB, pages of 1 MB, batches of 16 MB. The
//! request says how many of them it may get.

use api::limits::{
    BATCH_GET_BYTES_MAX, ITEM_BYTES_MAX, PAGE_BYTES_MAX, SEARCH_BYTES_MAX, TRANSACTION_BYTES_MAX,
};
use api::streams::{self, limits::GET_RECORDS_BYTES_MAX};
use api::{Request, ReturnValue, ReturnValuesOnConditionCheckFailure, Select, TransactWriteItem};

/// An answer is made of its items, and printed to a buffer that doubles when it is full: the items, the
/// JSON, and as much again of slack. The few answers that outgrow this (a text of control characters is
/// six times as long in JSON) take more when they are printed, if there is more.
const WORK_FACTOR: usize = 3;
/// A page ends behind the item that fills it.
const PAGE_AND_ITEM_BYTES_MAX: usize = PAGE_BYTES_MAX + ITEM_BYTES_MAX;
/// The description of a table with all its indexes, a resource policy, all tags.
const DESCRIPTION_BYTES_MAX: usize = 64 * 1024;

/// The memory that is needed for an answer while it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerSize {
    /// Too little to count.
    Small,
    /// Seldom enough to count, of a request that may be run twice. If its answer turns out large and there
    /// is no room for it, the request waits for room and is run again.
    SeldomLarge,
    /// Up to so many bytes, which are set aside before the request is run.
    UpTo(usize),
}

impl AnswerSize {
    /// What is set aside before the request is run.
    pub(crate) fn reserved_bytes(self) -> usize {
        match self {
            AnswerSize::Small | AnswerSize::SeldomLarge => 0,
            AnswerSize::UpTo(bytes) => bytes,
        }
    }

    pub(crate) fn of_streams(request: &streams::Request) -> AnswerSize {
        match request {
            // A page ends behind the record that fills it, which has two images of an item.
            streams::Request::GetRecords(_) => {
                AnswerSize::UpTo(WORK_FACTOR * (GET_RECORDS_BYTES_MAX + 2 * ITEM_BYTES_MAX))
            }
            _ => AnswerSize::UpTo(DESCRIPTION_BYTES_MAX),
        }
    }

    pub(crate) fn of(request: &Request) -> AnswerSize {
        match request {
            Request::GetItem(_) => AnswerSize::SeldomLarge,
            Request::PutItem(input) => {
                written(input.return_values, input.return_values_on_condition_check_failure)
            }
            Request::UpdateItem(input) => {
                written(input.return_values, input.return_values_on_condition_check_failure)
            }
            Request::DeleteItem(input) => {
                written(input.return_values, input.return_values_on_condition_check_failure)
            }
            Request::Query(input) => page(input.limit, input.select),
            Request::Scan(input) => page(input.limit, input.select),
            Request::SearchVectors(input) => {
                items(usize::try_from(input.top_k).unwrap_or(0), SEARCH_BYTES_MAX)
            }
            Request::ExecuteStatement(input) => page(input.limit, None),
            Request::BatchGetItem(input) => {
                items(input.request_items.values().map(|table| table.keys.len()).sum(), BATCH_GET_BYTES_MAX)
            }
            Request::BatchExecuteStatement(input) => items(input.statements.len(), BATCH_GET_BYTES_MAX),
            Request::TransactGetItems(input) => items(input.transact_items.len(), TRANSACTION_BYTES_MAX),
            Request::TransactWriteItems(input) => {
                items(input.transact_items.iter().filter(|action| returns_item(action)).count(), usize::MAX)
            }
            Request::ExecuteTransaction(input) => items(input.transact_statements.len(), usize::MAX),
            // At worst it gives back what it was given.
            Request::BatchWriteItem(_) => AnswerSize::Small,
            _ => AnswerSize::UpTo(DESCRIPTION_BYTES_MAX),
        }
    }
}

fn written(
    returned: Option<ReturnValue>,
    on_failure: Option<ReturnValuesOnConditionCheckFailure>,
) -> AnswerSize {
    let nothing = matches!(returned, None | Some(ReturnValue::None));
    if nothing && !returns_on_failure(on_failure) { AnswerSize::Small } else { items(1, ITEM_BYTES_MAX) }
}

fn returns_on_failure(on_failure: Option<ReturnValuesOnConditionCheckFailure>) -> bool {
    on_failure == Some(ReturnValuesOnConditionCheckFailure::AllOld)
}

fn returns_item(action: &TransactWriteItem) -> bool {
    [
        action.condition_check.as_ref().and_then(|check| check.return_values_on_condition_check_failure),
        action.delete.as_ref().and_then(|delete| delete.return_values_on_condition_check_failure),
        action.put.as_ref().and_then(|put| put.return_values_on_condition_check_failure),
        action.update.as_ref().and_then(|update| update.return_values_on_condition_check_failure),
    ]
    .into_iter()
    .any(returns_on_failure)
}

fn page(limit: Option<i32>, select: Option<Select>) -> AnswerSize {
    if select == Some(Select::Count) {
        return AnswerSize::Small;
    }
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(0));
    items(limit, PAGE_AND_ITEM_BYTES_MAX)
}

fn items(count: usize, bytes_max: usize) -> AnswerSize {
    match count {
        0 => AnswerSize::Small,
        _ => {
            AnswerSize::UpTo(count.saturating_mul(ITEM_BYTES_MAX).min(bytes_max).saturating_mul(WORK_FACTOR))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::Operation;

    fn size(operation: &str, body: &str) -> AnswerSize {
        let operation = Operation::from_target_name(operation).expect("a served operation");
        AnswerSize::of(&Request::decode(operation, body.as_bytes()).expect("a request"))
    }

    const ITEM: AnswerSize = AnswerSize::UpTo(3 * 400 * 1024);
    const PAGE: AnswerSize = AnswerSize::UpTo(3 * (1024 + 400) * 1024);

    #[test]
    fn most_requests_set_nothing_aside() {
        for (operation, body) in [
            ("PutItem", r#"{"TableName": "Songs", "Item": {}}"#),
            ("UpdateItem", r#"{"TableName": "Songs", "Key": {}, "ReturnValues": "NONE"}"#),
            ("Scan", r#"{"TableName": "Songs", "Select": "COUNT"}"#),
            ("TransactWriteItems", r#"{"TransactItems": [{"Put": {"TableName": "Songs", "Item": {}}}]}"#),
        ] {
            assert_eq!(size(operation, body), AnswerSize::Small, "{operation}");
        }
        assert_eq!(size("GetItem", r#"{"TableName": "Songs", "Key": {}}"#), AnswerSize::SeldomLarge);
    }

    #[test]
    fn a_write_that_returns_an_item_sets_one_aside() {
        for member in [r#""ReturnValues": "ALL_OLD""#, r#""ReturnValuesOnConditionCheckFailure": "ALL_OLD""#]
        {
            let body = format!(r#"{{"TableName": "Songs", "Item": {{}}, {member}}}"#);
            assert_eq!(size("PutItem", &body), ITEM);
        }
        let check = r#"{"ConditionCheck": {"TableName": "Songs", "Key": {}, "ConditionExpression": "x",
                        "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}"#;
        assert_eq!(size("TransactWriteItems", &format!(r#"{{"TransactItems": [{check}]}}"#)), ITEM);
    }

    #[test]
    fn reads_set_aside_what_they_may_find() {
        assert_eq!(size("Query", r#"{"TableName": "Songs"}"#), PAGE);
        assert_eq!(size("Scan", r#"{"TableName": "Songs", "Limit": 1}"#), ITEM);
        assert_eq!(size("Scan", r#"{"TableName": "Songs", "Limit": 1000}"#), PAGE);
        let keys = |count| {
            format!(r#"{{"RequestItems": {{"Songs": {{"Keys": [{}]}}}}}}"#, vec!["{}"; count].join(","))
        };
        assert_eq!(size("BatchGetItem", &keys(1)), ITEM);
        assert_eq!(size("BatchGetItem", &keys(100)), AnswerSize::UpTo(3 * 16 * 1024 * 1024));
    }
}
