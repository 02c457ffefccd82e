//! Parses the expression parameters of requests and binds their placeholders.

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

/// Parses expressions and caches their syntax trees. Clients send few texts, each many times with other
/// values. Trees that are no longer used are evicted.
pub struct Expressions {
    conditions: Trees<syntax::Condition>,
    updates: Trees<syntax::Update>,
    projections: Trees<syntax::Projection>,
}

/// Cached trees of each kind. A text has at most 4 KB and its tree some ten times that, so clients can fill
/// at most 40 MB for each kind; usual expressions take a hundredth of it.
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

    /// The tree of a text. A text that cannot be parsed is not cached.
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

/// How a write reports a bad expression: errors in the shape of the request have a prefix, errors in the
/// data have none.
pub fn write_error(error: ExpressionError) -> Error {
    match error.is_request_shape() {
        true => Error::request_shape(error.to_string()),
        false => Error::validation(error.to_string()),
    }
}
