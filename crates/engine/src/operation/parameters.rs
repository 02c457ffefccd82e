//! The expression parameters of a request, old and new.

use std::collections::BTreeMap;

use api::{ConditionalOperator, Error, ExpectedAttributeValue, ReturnValuesOnConditionCheckFailure};
use expression::{
    Condition, ExpressionError, Fault, KeyCondition, Kind, Placeholders, Projection, SearchCondition, Update,
};
use item::ValueBuf;

use crate::base::expressions::Expressions;
use crate::commit::Commits;
use crate::operation::legacy;

/// The expression parameters of one request, or of one member of a batch or transaction, while they are read
/// in DynamoDB's order. This is how every item operation begins:
///
/// 1. the placeholder maps, when this is made;
/// 2. each expression, or the older parameter in its place;
/// 3. [`Parameters::finish`]: placeholders that no expression uses.
pub struct Parameters<'r> {
    cache: &'r Expressions,
    placeholders: Placeholders<'r>,
    error: fn(ExpressionError) -> Error,
}

/// ExpressionAttributeNames.
type Names = Option<BTreeMap<String, String>>;
/// ExpressionAttributeValues.
type Values = Option<BTreeMap<String, ValueBuf>>;

impl<'r> Parameters<'r> {
    /// Of an operation that reads, or of a transaction.
    pub fn of_read(
        commits: &'r Commits,
        names: &'r Names,
        values: &'r Values,
    ) -> Result<Parameters<'r>, Error> {
        Parameters::new(commits, names, values, read_error)
    }

    /// Of PutItem, UpdateItem or DeleteItem.
    pub fn of_write(
        commits: &'r Commits,
        names: &'r Names,
        values: &'r Values,
    ) -> Result<Parameters<'r>, Error> {
        Parameters::new(commits, names, values, write_error)
    }

    fn new(
        commits: &'r Commits,
        names: &'r Names,
        values: &'r Values,
        error: fn(ExpressionError) -> Error,
    ) -> Result<Parameters<'r>, Error> {
        let placeholders = Placeholders::new(names.as_ref(), values.as_ref());
        placeholders.check_keys().map_err(error)?;
        Ok(Parameters { cache: &commits.expressions, placeholders, error })
    }

    /// ConditionExpression.
    pub fn condition(&mut self, text: Option<&str>) -> Result<Option<Condition>, Error> {
        self.cache.condition(Kind::Condition, text, &mut self.placeholders).map_err(self.error)
    }

    /// ConditionExpression, or Expected in its place.
    pub fn condition_or_expected(
        &mut self,
        text: Option<&str>,
        expected: Option<&BTreeMap<String, ExpectedAttributeValue>>,
        operator: Option<ConditionalOperator>,
    ) -> Result<Option<Condition>, Error> {
        match expected {
            Some(expected) => legacy::expected(expected, operator),
            None => self.condition(text),
        }
    }

    /// FilterExpression, or QueryFilter or ScanFilter in its place.
    pub fn filter(
        &mut self,
        text: Option<&str>,
        conditions: Option<&BTreeMap<String, api::Condition>>,
        operator: Option<ConditionalOperator>,
    ) -> Result<Option<Condition>, Error> {
        match conditions {
            Some(conditions) => legacy::filter(conditions, operator),
            None => self.cache.condition(Kind::Filter, text, &mut self.placeholders).map_err(self.error),
        }
    }

    /// Refuses a FilterExpression without any text, as a Query does before it reads its key condition.
    pub fn check_filter_is_not_empty(&self, text: Option<&str>) -> Result<(), Error> {
        let empty = || ExpressionError::Invalid { kind: Kind::Filter, fault: Box::new(Fault::Empty) };
        if text == Some("") { Err((self.error)(empty())) } else { Ok(()) }
    }

    /// KeyConditionExpression.
    pub fn key_condition(&mut self, text: &str) -> Result<KeyCondition, Error> {
        self.cache.key_condition(text, &mut self.placeholders).map_err(self.error)
    }

    /// SearchConditionExpression.
    pub fn search_condition(&mut self, text: Option<&str>) -> Result<SearchCondition, Error> {
        self.cache.search_condition(text, &mut self.placeholders).map_err(self.error)
    }

    /// UpdateExpression.
    pub fn update(&mut self, text: &str) -> Result<Update, Error> {
        self.cache.update(text, &mut self.placeholders).map_err(self.error)
    }

    /// ProjectionExpression, or AttributesToGet in its place.
    pub fn projection(
        &mut self,
        text: Option<&str>,
        attributes: Option<&[String]>,
    ) -> Result<Option<Projection>, Error> {
        match attributes {
            Some(names) => Ok(Some(legacy::attributes_to_get(names))),
            None => self.cache.projection(text, &mut self.placeholders).map_err(self.error),
        }
    }

    /// Refuses placeholders that no expression used.
    pub fn finish(self) -> Result<(), Error> {
        self.placeholders.finish().map_err(self.error)
    }
}

/// ReturnValuesOnConditionCheckFailure: whether the client wants to see the item that failed its condition.
pub fn shows_failed_item(asked: Option<ReturnValuesOnConditionCheckFailure>) -> bool {
    asked == Some(ReturnValuesOnConditionCheckFailure::AllOld)
}

/// How a read reports a bad expression.
pub fn read_error(error: ExpressionError) -> Error {
    Error::validation(error.to_string())
}

/// How PutItem, UpdateItem and DeleteItem report a bad expression: what is wrong with the request itself gets
/// a prefix, what is wrong with the data does not.
fn write_error(error: ExpressionError) -> Error {
    match error.is_request_shape() {
        true => Error::request_shape(error.to_string()),
        false => Error::validation(error.to_string()),
    }
}
