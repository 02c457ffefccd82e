//! Turning the expression parameters of a request into bound expressions.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::Error;
use expression::{
    Condition, ExpressionError, KeyCondition, Kind, Placeholders, Projection, Update, parser, syntax,
};
use item::ValueBuf;
use quick_cache::sync::Cache;

/// The placeholder parameters of a request.
pub fn placeholders<'a>(
    names: &'a Option<BTreeMap<String, String>>,
    values: &'a Option<BTreeMap<String, ValueBuf>>,
) -> Result<Placeholders<'a>, ExpressionError> {
    let placeholders = Placeholders::new(names.as_ref(), values.as_ref());
    placeholders.check_keys()?;
    Ok(placeholders)
}

/// Bound expressions from their texts. Clients send few texts, each many times with other values: their
/// syntax trees are kept, and those that nobody sends any more make room for others.
pub struct Expressions {
    conditions: Trees<syntax::Condition>,
    updates: Trees<syntax::Update>,
    projections: Trees<syntax::Projection>,
}

/// Trees kept of each kind. A text has at most 4 KB and its tree some ten times that, so the worst that
/// clients can fill it with is 40 MB; what they send in earnest takes a hundredth.
const TREES_MAX: usize = 1000;

impl Default for Expressions {
    fn default() -> Expressions {
        Expressions { conditions: Trees::new(), updates: Trees::new(), projections: Trees::new() }
    }
}

impl Expressions {
    pub fn condition(
        &self,
        text: Option<&str>,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<Option<Condition>, ExpressionError> {
        self.condition_of(Kind::Condition, text, placeholders)
    }

    pub fn filter(
        &self,
        text: Option<&str>,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<Option<Condition>, ExpressionError> {
        self.condition_of(Kind::Filter, text, placeholders)
    }

    fn condition_of(
        &self,
        kind: Kind,
        text: Option<&str>,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<Option<Condition>, ExpressionError> {
        let Some(text) = text else { return Ok(None) };
        let tree = self.conditions.tree(text, |text| parser::condition(kind, text))?;
        Condition::bind(kind, &tree, placeholders).map(Some)
    }

    pub fn key_condition(
        &self,
        text: &str,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<KeyCondition, ExpressionError> {
        let tree = self.conditions.tree(text, |text| parser::condition(Kind::KeyCondition, text))?;
        KeyCondition::bind(&tree, placeholders)
    }

    pub fn update(&self, text: &str, placeholders: &mut Placeholders<'_>) -> Result<Update, ExpressionError> {
        Update::bind(&*self.updates.tree(text, parser::update)?, placeholders)
    }

    pub fn projection(
        &self,
        text: Option<&str>,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<Option<Projection>, ExpressionError> {
        let Some(text) = text else { return Ok(None) };
        Projection::bind(&*self.projections.tree(text, parser::projection)?, placeholders).map(Some)
    }
}

struct Trees<T>(Cache<String, Arc<T>>);

impl<T> Trees<T> {
    fn new() -> Trees<T> {
        Trees(Cache::new(TREES_MAX))
    }

    /// The tree of a text. One that can't be parsed is not kept: it is an error each time.
    fn tree(
        &self,
        text: &str,
        parse: impl FnOnce(&str) -> Result<T, ExpressionError>,
    ) -> Result<Arc<T>, ExpressionError> {
        if let Some(tree) = self.0.get(text) {
            return Ok(tree);
        }
        let tree = Arc::new(parse(text)?);
        self.0.insert(text.to_owned(), tree.clone());
        Ok(tree)
    }
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
