//! Which key conditions are valid, and what they select with a key schema.

use expression::KeyCondition;
use expression::key_condition::{KeyAttribute, KeyRange, Range};
use item::{Type, Value, ValueBuf};

use crate::support::with_placeholders;

fn s(name: &str) -> KeyAttribute<'_> {
    KeyAttribute { name, kind: Type::S }
}

fn n(name: &str) -> KeyAttribute<'_> {
    KeyAttribute { name, kind: Type::N }
}

fn value(value: impl Into<Value>) -> ValueBuf {
    ValueBuf::from(value.into())
}

/// Against a schema with the string `p` and the number `c`.
fn resolve(text: &str) -> Result<KeyRange, String> {
    with_placeholders(|placeholders| KeyCondition::parse(text, placeholders))
        .and_then(|condition| condition.resolve(&[s("p")], &[n("c")]))
        .map_err(|error| error.to_string())
}

#[test]
fn a_partition_and_a_stretch_of_it() {
    #[track_caller]
    fn check(text: &str, sort: Option<Range>) {
        let expected = KeyRange { partition: vec![value("abc")], sort_prefix: vec![], sort };
        assert_eq!(resolve(text), Ok(expected), "{text}");
    }
    check("p = :s", None);
    check("(p = :s)", None);
    check(":s = p", None);
    check("p = :s AND c = :n", Some(Range::Equal(value(5))));
    check("c = :n and p = :s", Some(Range::Equal(value(5))));
    check("((c = :n) AND (p = :s))", Some(Range::Equal(value(5))));
    check("p = :s AND c < :n", Some(Range::Less(value(5))));
    check("p = :s AND c <= :n", Some(Range::LessOrEqual(value(5))));
    check("p = :s AND :n < c", Some(Range::Greater(value(5))));
    check("p = :s AND :n <= c", Some(Range::GreaterOrEqual(value(5))));
    check("p = :s AND c BETWEEN :one AND :n", Some(Range::Between(value(1), value(5))));
}

#[test]
fn a_prefix_of_a_string_key() {
    let condition =
        with_placeholders(|placeholders| KeyCondition::parse("p = :s AND begins_with(c, :t)", placeholders));
    let condition = condition.unwrap();
    assert_eq!(condition.resolve(&[s("p")], &[s("c")]).unwrap().sort, Some(Range::BeginsWith(value("abd"))));
    let error = condition.resolve(&[s("p")], &[n("c")]).unwrap_err();
    assert!(error.to_string().ends_with("Condition parameter type does not match schema type"));
    assert!(!error.is_request_shape());
}

#[test]
fn other_conditions_are_refused() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(resolve(text), Err(expected.to_owned()), "{text}");
    }
    check(
        "p = :s OR c = :n",
        "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: OR",
    );
    check(
        "NOT c = :n AND p = :s",
        "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: NOT",
    );
    check(
        "p = :s AND c <> :n",
        "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: <>",
    );
    check(
        "p = :s AND c IN (:n)",
        "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: IN",
    );
    check(
        "p = :s AND attribute_exists(c)",
        "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: attribute_exists",
    );
    check(
        "p = :s AND contains(c, :n)",
        "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: contains",
    );
    check(
        "p = :s AND a.b < :n",
        "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes",
    );
    check(
        "p = :s AND size(c) = :n",
        "Invalid KeyConditionExpression: KeyConditionExpressions cannot contain nested operations",
    );
    check(
        "p = :s AND p = :s",
        "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key",
    );
    check(
        "p = c",
        "Invalid KeyConditionExpression: Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
    );
    check(
        ":s = :t",
        "Invalid KeyConditionExpression: Invalid condition in KeyConditionExpression: No key attribute specified",
    );
    check(
        "p = :s AND begins_with(:s, c)",
        "Invalid KeyConditionExpression: Invalid condition in KeyConditionExpression: begins_with operator must have the key attribute as its first operand",
    );
    check("p = :s AND c", "Invalid KeyConditionExpression: Syntax error; token: \"<EOF>\", near: \"c\"");
    check("", "Invalid KeyConditionExpression: The expression can not be empty;");
    check("p = :s AND dog(c, :n)", "Invalid KeyConditionExpression: Invalid function name; function: dog");
    check(
        "p = :s AND begins_with(c, :n)",
        "Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
    );
    check(
        "p = :s AND ((c = :n))",
        "Invalid KeyConditionExpression: The expression has redundant parentheses;",
    );
}

#[test]
fn conditions_that_miss_the_schema_are_refused() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(resolve(text), Err(expected.to_owned()), "{text}");
    }
    check("c = :n", "Query condition missed key schema element: p");
    check("x = :n", "Query condition missed key schema element: p");
    check("p = :s AND x < :n", "Query condition missed key schema element: c");
    check("p < :s", "Query key condition not supported");
    check(
        "p = :s AND c < :n AND x < :n",
        "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)",
    );
    let types =
        "One or more parameter values were invalid: Condition parameter type does not match schema type";
    check("p = :n", types);
    check("p = :s AND c = :s", types);

    let condition =
        with_placeholders(|placeholders| KeyCondition::parse("p = :s AND c = :n", placeholders)).unwrap();
    assert_eq!(
        condition.resolve(&[s("p")], &[]).unwrap_err().to_string(),
        "Query key condition not supported"
    );
}

#[test]
fn keys_of_many_attributes_are_named_from_the_left() {
    let resolve = |text: &str| {
        with_placeholders(|placeholders| KeyCondition::parse(text, placeholders))
            .and_then(|condition| condition.resolve(&[s("h1"), n("h2")], &[s("r1"), s("r2"), n("r3")]))
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        resolve("r2 > :t AND h2 = :n AND r1 = :s AND h1 = :t"),
        Ok(KeyRange {
            partition: vec![value("abd"), value(5)],
            sort_prefix: vec![value("abc")],
            sort: Some(Range::Greater(value("abd"))),
        })
    );
    assert_eq!(
        resolve("h1 = :s AND h2 = :n").map(|range| (range.sort_prefix, range.sort)),
        Ok((vec![], None))
    );
    let refused = |text: &str, expected: &str| assert_eq!(resolve(text), Err(expected.to_owned()), "{text}");
    refused("h1 = :s", "HASH key attributes h2 must have equality conditions specified in the query");
    refused(
        "h1 > :s AND r1 = :s",
        "HASH key attributes h1, h2 must have equality conditions specified in the query",
    );
    refused(
        "h1 = :s AND h2 = :n AND r3 = :n",
        "RANGE key attributes r1, r2 must have equality conditions specified in the query because a condition is present on key attribute r3",
    );
    refused(
        "h1 = :s AND h2 = :n AND r1 > :s AND r2 = :s",
        "RANGE key attributes r1 must have equality conditions specified in the query because a condition is present on key attribute r2",
    );
    refused("h1 = :s AND h2 = :n AND r1 = :s AND x = :s", "Query condition missed key schema element: r2");
}
