//! How much memory a request may take for its answer.
//!
//! What counts is what DynamoDB lets an answer hold: items of 400 KB, pages of 1 MB, batches of 16 MB. The
//! request says how many of them it may get.

use api::limits::{ITEM_BYTES_MAX, PAGE_BYTES_MAX};
use api::{ItemResponse, Response, ReturnValue, ReturnValuesOnConditionCheckFailure, Select};
use item::Item;

/// An answer is made of its items, and printed to a buffer that doubles when it is full: the items, the
/// JSON, and as much again of slack. The few answers that outgrow this (a text of control characters is
/// six times as long in JSON) take more when they are printed, if there is more.
const WORK_FACTOR: usize = 3;
/// A page ends behind the item that fills it.
const PAGE_AND_ITEM_BYTES_MAX: usize = PAGE_BYTES_MAX + ITEM_BYTES_MAX;

/// The memory that is needed for an answer while it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerSize {
    /// Too little to count.
    Small,
    /// Seldom enough to count, of a request that may be run twice. If its answer turns out large and there
    /// is no room for it, the request waits for room and is run again.
    SeldomLarge,
    /// Up to this number of bytes, which are set aside before the request is run.
    UpTo(usize),
}

impl AnswerSize {
    /// The description of a table with all its indexes, a resource policy, all tags.
    pub(super) const DESCRIPTION: AnswerSize = AnswerSize::UpTo(64 * 1024);

    /// What is set aside before the request is run.
    pub fn reserved_bytes(self) -> usize {
        match self {
            AnswerSize::Small | AnswerSize::SeldomLarge => 0,
            AnswerSize::UpTo(bytes) => bytes,
        }
    }

    /// An answer with at most `bytes` bytes of items.
    pub(super) fn of_bytes(bytes: usize) -> AnswerSize {
        AnswerSize::UpTo(bytes.saturating_mul(WORK_FACTOR))
    }

    /// An answer with `count` items, which have at most `bytes_max` bytes together.
    pub(super) fn of_items(count: usize, bytes_max: usize) -> AnswerSize {
        match count {
            0 => AnswerSize::Small,
            _ => AnswerSize::of_bytes(count.saturating_mul(ITEM_BYTES_MAX).min(bytes_max)),
        }
    }

    /// The page of a query or scan.
    pub(super) fn of_page(limit: Option<i32>, select: Option<Select>) -> AnswerSize {
        if select == Some(Select::Count) {
            return AnswerSize::Small;
        }
        let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(0));
        AnswerSize::of_items(limit, PAGE_AND_ITEM_BYTES_MAX)
    }

    /// The write of one item, which may be returned.
    pub(super) fn of_write(
        returned: Option<ReturnValue>,
        on_failure: Option<ReturnValuesOnConditionCheckFailure>,
    ) -> AnswerSize {
        let nothing = matches!(returned, None | Some(ReturnValue::None));
        match nothing && !returns_on_failure(on_failure) {
            true => AnswerSize::Small,
            false => AnswerSize::of_items(1, ITEM_BYTES_MAX),
        }
    }
}

pub(super) fn returns_on_failure(on_failure: Option<ReturnValuesOnConditionCheckFailure>) -> bool {
    on_failure == Some(ReturnValuesOnConditionCheckFailure::AllOld)
}

/// How many bytes of items an answer has, as they are stored.
pub fn item_bytes(response: &Response) -> usize {
    match response {
        Response::GetItem(output) => sum(output.item.iter()),
        Response::BatchGetItem(output) => {
            sum(output.responses.iter().flat_map(|tables| tables.values().flatten()))
        }
        Response::TransactGetItems(output) => sum_of_some(&output.responses),
        Response::ExecuteTransaction(output) => sum_of_some(&output.responses),
        Response::BatchExecuteStatement(output) => {
            sum(output.responses.iter().flatten().filter_map(|response| response.item.as_ref()))
        }
        Response::ExecuteStatement(output) => sum(output.items.iter().flatten()),
        Response::Query(output) => sum(output.items.iter().flatten()),
        Response::Scan(output) => sum(output.items.iter().flatten()),
        _ => 0,
    }
}

fn sum_of_some(responses: &Option<Vec<ItemResponse>>) -> usize {
    sum(responses.iter().flatten().filter_map(|response| response.item.as_ref()))
}

fn sum<'a>(items: impl Iterator<Item = &'a Item>) -> usize {
    items.map(Item::stored_size_bytes).sum()
}

#[cfg(test)]
mod tests {
    use api::{Operation, Request};

    use super::super::list;
    use super::*;

    fn size(operation: &str, body: &str) -> AnswerSize {
        let operation = Operation::from_target_name(operation).expect("a served operation");
        list::dynamodb::answer_size(&Request::decode(operation, body.as_bytes()).expect("a request"))
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
