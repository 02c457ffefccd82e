//! Bound expressions from their texts, with a cache of syntax trees.

use std::sync::Arc;

use expression::{
    Condition, ExpressionError, KeyCondition, Kind, Placeholders, Projection, SearchCondition, Update,
    parser, syntax,
};
use quick_cache::sync::Cache;

/// The syntax trees of expressions by their texts. Clients send few texts, each many times with other values;
/// a text that is no longer sent makes room for others.
pub struct Expressions {
    conditions: Trees<syntax::ConditionTree>,
    updates: Trees<syntax::UpdateTree>,
    projections: Trees<syntax::ProjectionTree>,
}

/// How many trees of each kind are kept. A text has at most 4 KB and its tree some ten times that, so clients
/// can fill 40 MB at worst; usual expressions take a hundredth of that.
const TREES_MAX: usize = 1000;

impl Default for Expressions {
    fn default() -> Expressions {
        Expressions { conditions: Trees::new(), updates: Trees::new(), projections: Trees::new() }
    }
}

impl Expressions {
    /// The bound condition or filter of a text.
    pub fn condition(
        &self,
        kind: Kind,
        text: Option<&str>,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<Option<Condition>, ExpressionError> {
        let Some(text) = text else { return Ok(None) };
        let tree = self.conditions.tree(text, |text| parser::condition(kind, text))?;
        Condition::bind(kind, &tree, placeholders).map(Some)
    }

    /// The bound key condition of a text.
    pub fn key_condition(
        &self,
        text: &str,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<KeyCondition, ExpressionError> {
        let tree = self.conditions.tree(text, |text| parser::condition(Kind::KeyCondition, text))?;
        KeyCondition::bind(&tree, placeholders)
    }

    /// The bound search condition of a text; without a text, the one without terms.
    pub fn search_condition(
        &self,
        text: Option<&str>,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<SearchCondition, ExpressionError> {
        let Some(text) = text else { return Ok(SearchCondition::default()) };
        let tree = self.conditions.tree(text, |text| parser::condition(Kind::SearchCondition, text))?;
        SearchCondition::bind(&tree, placeholders)
    }

    /// The bound update of a text.
    pub fn update(&self, text: &str, placeholders: &mut Placeholders<'_>) -> Result<Update, ExpressionError> {
        Update::bind(&*self.updates.tree(text, parser::update)?, placeholders)
    }

    /// The bound projection of a text.
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
