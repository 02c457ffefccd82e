//! Search conditions: which items SearchVectors compares with its vector.
//!
//! The text is parsed as a condition and must then be terms joined by AND, each saying that an attribute equals a
//! value. Which attributes these may be is a matter of the index.

use item::ValueBuf;

use crate::condition::{Condition, Operand};
use crate::error::{ExpressionError, Fault, Kind};
use crate::placeholders::Placeholders;
use crate::syntax::{self, Comparator};
use crate::{bind, parser};

/// At most one value for each attribute. The default has no terms: every item satisfies it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchCondition {
    terms: Vec<(String, ValueBuf)>,
}

impl SearchCondition {
    pub fn parse(
        text: &str,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<SearchCondition, ExpressionError> {
        SearchCondition::bind(&parser::condition(Kind::SearchCondition, text)?, placeholders)
    }

    pub fn bind(
        tree: &syntax::ConditionTree,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<SearchCondition, ExpressionError> {
        let mut terms = Vec::new();
        collect_terms(bind::condition(Kind::SearchCondition, tree, placeholders)?, &mut terms)?;
        Ok(SearchCondition { terms })
    }

    /// The attributes and the values that they must have, in the order of the text.
    pub fn terms(&self) -> impl Iterator<Item = (&str, &ValueBuf)> {
        self.terms.iter().map(|(attribute, value)| (attribute.as_str(), value))
    }

    /// The value that this attribute must have.
    pub fn value(&self, attribute: &str) -> Option<&ValueBuf> {
        self.terms().find(|(name, _)| *name == attribute).map(|(_, value)| value)
    }
}

fn collect_terms(condition: Condition, terms: &mut Vec<(String, ValueBuf)>) -> Result<(), ExpressionError> {
    let (path, value) = match condition {
        Condition::And(inner) => return inner.into_iter().try_for_each(|term| collect_terms(term, terms)),
        Condition::Compare { comparator: Comparator::Equal, left, right } => match (left, right) {
            (Operand::Path(path), Operand::Value(value)) | (Operand::Value(value), Operand::Path(path)) => {
                (path, value)
            }
            _ => return Err(Fault::SearchComparator.of(Kind::SearchCondition)),
        },
        _ => return Err(Fault::SearchComparator.of(Kind::SearchCondition)),
    };
    if path.is_nested() {
        return Err(Fault::SearchComparator.of(Kind::SearchCondition));
    }
    if terms.iter().any(|(attribute, _)| *attribute == path.attribute) {
        return Err(Fault::SearchRepeated.of(Kind::SearchCondition));
    }
    terms.push((path.attribute, value));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use item::{Value, ValueBuf};

    use super::*;

    fn parse(text: &str) -> Result<Vec<(String, ValueBuf)>, String> {
        let values = [(":a", "1"), (":b", "2")];
        let values: BTreeMap<String, ValueBuf> =
            values.map(|(name, text)| (name.to_owned(), Value::S(text.to_owned()).into())).into();
        let mut placeholders = Placeholders::new(None, Some(&values));
        let condition = SearchCondition::parse(text, &mut placeholders).map_err(|error| error.to_string())?;
        Ok(condition.terms().map(|(attribute, value)| (attribute.to_owned(), value.clone())).collect())
    }

    #[test]
    fn equalities_joined_by_and_are_terms() {
        let value = |text: &str| ValueBuf::from(text);
        let both = vec![("x".to_owned(), value("1")), ("y".to_owned(), value("2"))];
        assert_eq!(parse("x = :a AND y = :b"), Ok(both.clone()));
        assert_eq!(parse(":a = x AND (y = :b)"), Ok(both));
    }

    #[test]
    fn every_other_operator_is_refused_in_dynamodbs_words() {
        let texts =
            ["x <> :a", "x < :a", "x IN (:a)", "x = :a OR y = :b", "NOT x = :a", "x BETWEEN :a AND :b"];
        let refusal =
            "Invalid SearchConditionExpression: Invalid comparator used in SearchConditionExpression";
        for text in
            texts.into_iter().chain(["begins_with(x, :a)", "attribute_exists(x)", "x = y", "x.y = :a"])
        {
            assert_eq!(parse(text), Err(refusal.to_owned()), "{text}");
        }
    }

    #[test]
    fn an_attribute_has_one_term() {
        let refusal = "Invalid SearchConditionExpression: SearchConditionExpression must only contain one condition per attribute";
        assert_eq!(parse("x = :a AND x = :b"), Err(refusal.to_owned()));
    }
}
