//! What WHERE asks of an item.

use expression::partiql::Statement;
use item::{Item, Value, ValueBuf};

use crate::support::{item, list, map};

fn sample() -> Item {
    item([
        ("n", 5.into()),
        ("s", "abc".into()),
        ("b", vec![1_u8, 2].into()),
        ("t", true.into()),
        ("z", Value::Null),
        ("ss", Value::string_set(["x", "y"])),
        ("ns", Value::number_set([1, 2])),
        ("l", list([1.into(), "x".into()])),
        ("m", map([("in ner", map([("k", 7.into())]))])),
        ("select", 1.into()),
        ("it's \"so\"", 1.into()),
    ])
}

fn holds(condition: &str) -> Result<bool, String> {
    let parameters = [Value::from(vec![1_u8, 2]), Value::from(5)].map(ValueBuf::from);
    let text = format!("SELECT * FROM T WHERE {condition}");
    match Statement::parse(&text, &parameters) {
        Ok(Statement::Select(select)) => Ok(select.condition.unwrap().evaluate(Some(sample().as_ref()))),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[track_caller]
fn check(expected: bool, conditions: &[&str]) {
    for condition in conditions {
        assert_eq!(holds(condition), Ok(expected), "{condition}");
    }
}

#[test]
fn comparisons() {
    check(
        true,
        &["n = 5", "n=5.0", "5 = n", "n <> 4", "n != 4", "n > -1", "n >= 5", "n < 6", "n <= 5", "n = +5"],
    );
    check(true, &["s = 'abc'", "s < 'abd'", "t = TRUE", "z = null", "l = [1, 'x']", "ss = <<'y', 'x'>>"]);
    check(true, &["m = {'in ner': {'k': 7}}", "b = ?", "n BETWEEN 1 AND 5", "n NOT BETWEEN 6 AND 7"]);
    check(
        true,
        &["l[0] = 1", "m.\"in ner\".k = 7", "m['in ner'].k = 7", "\"select\" = 1", "\"it's \"\"so\"\"\" = 1"],
    );
    check(
        false,
        &["n = '5'", "n = 6", "n <> 5", "s > 'abd'", "l = ['x', 1]", "n BETWEEN 6 AND 7", "l[2] = 1"],
    );
    check(false, &["S = 'abc'", "n < 'a'", "gone = 1", "gone < 1", "n NOT BETWEEN 1 AND 5"]);
}

#[test]
fn membership() {
    check(
        true,
        &["n IN [1, 5]", "n IN (1, 5)", "n in <<1, 5>>", "n IN [5]", "n NOT IN [1]", "s IN [n, 'abc']"],
    );
    check(true, &["gone NOT IN [1]", "NOT n IN [1]"]);
    check(false, &["n IN [1, '5']", "n NOT IN [5]", "gone IN [1]"]);
}

#[test]
fn functions_in_any_case() {
    check(
        true,
        &["begins_with(s, 'ab')", "BEGINS_WITH(\"s\", 'ab')", "Contains(s, 'bc')", "contains(ss, 'x')"],
    );
    check(
        true,
        &["contains(l, 'x')", "size(s) = 3", "SIZE(l) < 3", "attribute_type(n, 'N')", "attribute_exists(z)"],
    );
    check(true, &["attribute_not_exists(gone)", "ATTRIBUTE_TYPE(z, 'NULL')", "size('ab') = 2"]);
    check(
        false,
        &["begins_with(s, 'b')", "begins_with(n, '5')", "contains(s, 'x')", "attribute_exists(gone)"],
    );
}

#[test]
fn types() {
    check(
        true,
        &["gone IS MISSING", "gone is missing", "n IS NOT MISSING", "gone = MISSING", "n <> MISSING"],
    );
    check(true, &["n != missing", "z IS NULL", "n IS NOT NULL", "gone IS NOT NULL", "z IS NOT MISSING"]);
    check(true, &["n IS NUMBER", "n IS DECIMAL", "s IS STRING", "b IS BINARY", "t IS BOOLEAN", "l IS LIST"]);
    check(true, &["m IS TUPLE", "m IS STRUCT", "ss IS BAG", "ns IS BAG", "n IS NOT BAG", "l[0] IS NUMBER"]);
    check(
        true,
        &["(gone) IS MISSING", "NOT n IS MISSING", "n = 5 AND gone IS MISSING", "gone IS MISSING AND n = 5"],
    );
    check(
        false,
        &["n IS MISSING", "gone IS NULL", "z IS NOT NULL", "n IS STRING", "l IS BAG", "gone IS NUMBER"],
    );
    check(false, &["n = MISSING", "gone <> MISSING", "ss IS NOT BAG"]);
}

#[test]
fn logic() {
    check(true, &["n = 5 OR n = 6 AND n = 7", "(n = 5)", "((n = 5))", "NOT n = 6", "NOT NOT n = 5"]);
    check(true, &["NOT n = 6 AND n = 5", "not (n = 6 or n = 7)", "n = 6 OR NOT (s = 'x' AND n = 5)"]);
    check(true, &["n BETWEEN 1 AND 5 AND s = 'abc'", "NOT gone = 1", "NOT gone > 1", "gone <> 1"]);
    check(false, &["(n = 5 OR n = 6) AND n = 7", "NOT (n = 5)", "NOT gone <> 1"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    #[track_caller]
    fn refused(condition: &str, message: &str) {
        assert_eq!(holds(condition), Err(message.to_owned()), "{condition}");
    }
    let operand = |operator: &str, operand: &str| {
        format!(
            "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {operand}"
        )
    };
    refused("n < TRUE", &operand("<", "BOOL"));
    refused("n >= [1]", &operand(">=", "L"));
    refused("n BETWEEN NULL AND NULL", &operand("BETWEEN", "NULL"));
    refused("begins_with(s, 1)", &operand("begins_with", "N"));
    refused("size(1) = 1", &operand("size", "N"));
    refused(
        "attribute_type(n, 'NUMBER')",
        "Invalid attribute type name found; type: NUMBER, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
    );
    refused("size(s)", "The function is not allowed to be used this way in an expression; function: size");
    refused(
        "contains(s, 'x') = TRUE",
        "The function is not allowed to be used this way in an expression; function: contains",
    );
    refused(
        "begins_with(s)",
        "Incorrect number of operands for operator or function; operator or function: begins_with, number of operands: 1",
    );
    refused(
        "n = n",
        "The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [n]",
    );
    refused(
        "n BETWEEN 2 AND ? OR n BETWEEN ? AND 4",
        "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {B:AQI=}",
    );
    refused(
        &format!("n IN [{}]", vec!["1"; 100].join(",")),
        "Incorrect number of operands for operator or function; operator or function: IN, number of operands: 101",
    );
}

#[test]
fn a_select_list_makes_a_row_of_columns() {
    #[track_caller]
    fn check(list: &str, expected: Item) {
        let Ok(Statement::Select(select)) = Statement::parse(&format!("SELECT {list} FROM T"), &[]) else {
            panic!("{list} cannot be read")
        };
        assert_eq!(select.list.apply(sample().as_ref()), expected, "{list}");
    }
    check("*", sample());
    check("n, s, gone", item([("n", 5.into()), ("s", "abc".into())]));
    check("gone", item([]));
    check("l[1], m.\"in ner\".k, l[7]", item([("l[1]", "x".into()), ("k", 7.into())]));
    check("m.\"in ner\"", item([("in ner", map([("k", 7.into())]))]));
}
