//! Turning the expression parameters of a request into bound expressions.

use std::collections::BTreeMap;

use api::Error;
use expression::{Condition, ExpressionError, Kind, Placeholders, Projection};
use item::ValueBuf;

/// The placeholder parameters of a request.
pub fn placeholders<'a>(
    names: &'a Option<BTreeMap<String, String>>,
    values: &'a Option<BTreeMap<String, ValueBuf>>,
) -> Result<Placeholders<'a>, ExpressionError> {
    let placeholders = Placeholders::new(names.as_ref(), values.as_ref());
    placeholders.check_keys()?;
    Ok(placeholders)
}

pub fn condition(
    text: &Option<String>,
    placeholders: &mut Placeholders<'_>,
) -> Result<Option<Condition>, ExpressionError> {
    text.as_deref().map(|text| Condition::parse(Kind::Condition, text, placeholders)).transpose()
}

pub fn filter(
    text: &Option<String>,
    placeholders: &mut Placeholders<'_>,
) -> Result<Option<Condition>, ExpressionError> {
    text.as_deref().map(|text| Condition::parse(Kind::Filter, text, placeholders)).transpose()
}

pub fn projection(
    text: &Option<String>,
    placeholders: &mut Placeholders<'_>,
) -> Result<Option<Projection>, ExpressionError> {
    text.as_deref().map(|text| Projection::parse(text, placeholders)).transpose()
}

/// How a read reports a bad expression.
pub fn read_error(error: ExpressionError) -> Error {
    Error::validation(error.to_string())
}

/// How a write reports a bad expression: what is wrong with the request itself stands behind a
/// prefix, what is wrong with the data does not.
pub fn write_error(error: ExpressionError) -> Error {
    match error.is_request_shape() {
        true => Error::request_shape(error.to_string()),
        false => Error::validation(error.to_string()),
    }
}
