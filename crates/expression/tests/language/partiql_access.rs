//! How WHERE is split into keys and the rest.

use expression::Condition;
use expression::key_condition::{KeyAttribute, KeyRange, Range};
use expression::partiql::{Access, Keyed, Statement};
use item::{Type, Value, ValueBuf};

use crate::support::item;

const P: KeyAttribute<'static> = KeyAttribute { name: "p", kind: Type::S };
const S: KeyAttribute<'static> = KeyAttribute { name: "s", kind: Type::N };

fn value(value: impl Into<Value>) -> ValueBuf {
    ValueBuf::from(value.into())
}

fn statement(text: &str) -> Statement {
    Statement::parse(text, &[value("a"), value(1)]).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Against a schema with the string `p` and the number `s`.
fn access(rest: &str) -> Result<Access, String> {
    let Statement::Select(select) = statement(&format!("SELECT * FROM T {rest}")) else { panic!("{rest}") };
    select.access(&[P], &[S]).map_err(|error| error.to_string())
}

/// A condition on its own, without keys.
fn condition(text: &str) -> Option<Condition> {
    let Statement::Select(select) = statement(&format!("SELECT * FROM T WHERE {text}")) else {
        panic!("{text}")
    };
    select.condition
}

#[track_caller]
fn queries(rest: &str, partitions: &[&str], sort: Option<Range>, filter: Option<&str>) {
    let range = |partition: &&str| KeyRange {
        partition: vec![value(*partition)],
        sort_prefix: vec![],
        sort: sort.clone(),
    };
    let expected = Access::Query {
        ranges: partitions.iter().map(range).collect(),
        filter: filter.and_then(condition),
        descending: rest.ends_with("DESC"),
    };
    assert_eq!(access(rest), Ok(expected), "{rest}");
}

#[track_caller]
fn scans(rest: &str) {
    let filter = rest.strip_prefix("WHERE ").and_then(condition);
    assert_eq!(access(rest), Ok(Access::Scan { filter }), "{rest}");
}

#[test]
fn a_partition_is_queried() {
    queries("WHERE p = 'a'", &["a"], None, None);
    queries("WHERE 'a' = p", &["a"], None, None);
    queries("WHERE p = ?", &["a"], None, None);
    queries("WHERE p = 'a' AND x = 1", &["a"], None, Some("x = 1"));
    queries("WHERE x = 1 AND p = 'a' AND y = 2", &["a"], None, Some("x = 1 AND y = 2"));
    queries("WHERE (x = 1 AND (p = 'a')) AND y = 2", &["a"], None, Some("x = 1 AND y = 2"));
    queries("WHERE p = 'a' AND (x = 1 OR p = 'b')", &["a"], None, Some("x = 1 OR p = 'b'"));
    queries("WHERE p = 'a' AND p = 'b'", &["a"], None, Some("p = 'b'"));
    queries("WHERE p = 'a' AND p.q = 'b'", &["a"], None, Some("p.q = 'b'"));
}

#[test]
fn a_stretch_of_a_partition_is_queried() {
    queries("WHERE p = 'a' AND s = 1", &["a"], Some(Range::Equal(value(1))), None);
    queries("WHERE s < 1 AND p = 'a'", &["a"], Some(Range::Less(value(1))), None);
    queries("WHERE p = 'a' AND s <= 1", &["a"], Some(Range::LessOrEqual(value(1))), None);
    queries("WHERE p = 'a' AND 1 < s", &["a"], Some(Range::Greater(value(1))), None);
    queries("WHERE p = 'a' AND s >= 1", &["a"], Some(Range::GreaterOrEqual(value(1))), None);
    queries("WHERE p = 'a' AND s BETWEEN 1 AND 2", &["a"], Some(Range::Between(value(1), value(2))), None);
    queries("WHERE p = 'a' AND s > 1 AND s < 5", &["a"], Some(Range::Greater(value(1))), Some("s < 5"));
    queries("WHERE p = 'a' AND s > 1 AND s = 5", &["a"], Some(Range::Equal(value(5))), Some("s > 1"));
    queries("WHERE p = 'a' AND s <> 1", &["a"], None, Some("s <> 1"));
    queries("WHERE p = 'a' AND s NOT BETWEEN 1 AND 2", &["a"], None, Some("s NOT BETWEEN 1 AND 2"));
    queries("WHERE p = 'a' AND s IN [1, 2]", &["a"], None, Some("s IN [1, 2]"));
    queries("WHERE p = 'a' AND s = x", &["a"], None, Some("s = x"));
    queries("WHERE p = 'a' AND size(s) = 1", &["a"], None, Some("size(s) = 1"));
}

#[test]
fn several_partitions_are_queried_each_once() {
    queries("WHERE p IN ['b', 'a', 'b']", &["b", "a"], None, None);
    queries(
        "WHERE p IN ['b', ?] AND s = 1 AND x = 2",
        &["b", "a"],
        Some(Range::Equal(value(1))),
        Some("x = 2"),
    );
    queries("WHERE p = 'b' OR p = 'a'", &["b", "a"], None, None);
    queries(
        "WHERE (p = 'b' OR p IN ['a', 'c']) AND s > 1",
        &["b", "a", "c"],
        Some(Range::Greater(value(1))),
        None,
    );
    queries("WHERE p IN ['b', 'c', 'a'] ORDER BY p", &["a", "b", "c"], None, None);
    queries("WHERE p IN ['b', 'c', 'a'] ORDER BY p ASC, s DESC", &["a", "b", "c"], None, None);
    queries("WHERE p IN ['b', 'c', 'a'] ORDER BY p DESC", &["c", "b", "a"], None, None);
    queries("WHERE p = 'a' ORDER BY s DESC", &["a"], None, None);

    let many = |count: usize| {
        let values: Vec<String> = (0..count).map(|number| format!("'{number}'")).collect();
        access(&format!("WHERE p IN [{}]", values.join(",")))
    };
    assert!(many(50).is_ok());
    assert_eq!(
        many(51).unwrap_err(),
        "Incorrect number of operands for operator or function; operator or function: IN, number of operands: 51"
    );
}

#[test]
fn everything_else_is_a_scan() {
    scans("");
    for condition in [
        "x = 1",
        "p > 'a'",
        "p <= 'a'",
        "s = 1",
        "p <> 'a'",
        "NOT p = 'a'",
        "p = 'a' OR x = 1",
        "p = x",
        "p IN ['a', x]",
        "p NOT IN ['a']",
        "p[0] = 'a'",
        "begins_with(p, 'a')",
        "(p = 'a' AND s = 1) OR (p = 'b' AND s = 2)",
    ] {
        scans(&format!("WHERE {condition}"));
    }
}

#[test]
fn what_keys_cannot_be_is_refused() {
    #[track_caller]
    fn refused(rest: &str, message: &str) {
        assert_eq!(access(rest), Err(message.to_owned()), "{rest}");
    }
    let kind =
        "One or more parameter values were invalid: Condition parameter type does not match schema type";
    refused("WHERE p = 1", kind);
    refused("WHERE p IN ['a', 1]", kind);
    refused("WHERE p = 'a' AND s = 'x'", kind);
    refused("WHERE p = 'a' AND begins_with(s, 'x')", kind);
    refused("ORDER BY s", "Must have WHERE clause in the statement when using ORDER BY clause.");
    refused(
        "WHERE s = 1 ORDER BY s",
        "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
    );
    refused(
        "WHERE p = 'a' ORDER BY x",
        "Variable reference x in ORDER BY clause must be part of the primary key",
    );
    let Statement::Select(select) = statement("SELECT * FROM T WHERE p = 'a'") else {
        panic!("not a select")
    };
    assert!(select.access(&[P, S], &[]).is_err());
    assert!(select.access(&[P], &[S, S]).is_err());
}

#[test]
fn writes_name_one_item() {
    let exists = "attribute_exists(p)";
    #[track_caller]
    fn check(text: &str, rest: Option<&str>) {
        let keyed = match statement(text) {
            Statement::Update(update) => update.keyed(&[P], &[S]),
            Statement::Delete(delete) => delete.keyed(&[P], &[S]),
            Statement::Select(select) => select.keyed(&[P], &[S]),
            Statement::Exists(select) => select.existence(&[P], &[S]),
            Statement::Insert(_) => panic!("{text} has no WHERE"),
        };
        let key = item([("p", "a".into()), ("s", 1.into())]);
        assert_eq!(keyed, Ok(Keyed { key, condition: rest.and_then(condition) }), "{text}");
    }
    check("DELETE FROM T WHERE p = 'a' AND s = 1", None);
    check("DELETE FROM T WHERE s = 1 AND x > 2 AND p = 'a'", Some("x > 2"));
    check("DELETE FROM T WHERE p = ? AND s = ?", None);
    check("UPDATE T SET x = 1 WHERE p = 'a' AND s = 1", Some(exists));
    check(
        "UPDATE T SET x = 1 WHERE p = 'a' AND s = 1 AND x IS MISSING",
        Some("attribute_exists(p) AND x IS MISSING"),
    );
    check("EXISTS(SELECT * FROM T WHERE p = 'a' AND s = 1)", Some(exists));
    check(
        "EXISTS(SELECT * FROM T WHERE p = 'a' AND (s = 1 AND x = 1))",
        Some("attribute_exists(p) AND x = 1"),
    );
    check("SELECT * FROM T WHERE p = 'a' AND s = 1 AND x = 1", Some("x = 1"));
}

#[test]
fn writes_that_name_no_single_item_are_refused() {
    for clause in [
        "",
        "WHERE p = 'a'",
        "WHERE s = 1",
        "WHERE p = 'a' AND s > 1",
        "WHERE p = 'a' OR s = 1",
        "WHERE p IN ['a'] AND s = 1",
        "WHERE NOT (p = 'a' AND s = 1)",
        "WHERE p = 'a' AND s = x",
    ] {
        let message = "Where clause does not contain a mandatory equality on all key attributes";
        let Statement::Delete(delete) = statement(&format!("DELETE FROM T {clause}")) else {
            panic!("{clause}")
        };
        assert_eq!(delete.keyed(&[P], &[S]).unwrap_err().to_string(), message, "{clause}");
        let text = format!("UPDATE T REMOVE x {clause}");
        let Statement::Update(update) = statement(&text) else { panic!("{clause}") };
        assert_eq!(update.keyed(&[P], &[S]).unwrap_err().to_string(), message, "{clause}");
    }
}
