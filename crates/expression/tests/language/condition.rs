//! What conditions mean, and which of them are refused.

use expression::{Condition, Kind};
use item::Value;

use crate::support::{item, list, map, with_placeholders};

fn parse(text: &str) -> Condition {
    with_placeholders(|placeholders| Condition::parse(Kind::Condition, text, placeholders))
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Every attribute holds the value of the placeholder with its name; there are a few further ones.
fn sample() -> item::Item {
    item([
        ("p", Value::from("key")),
        ("num", Value::from(5)),
        ("str", Value::from("abc")),
        ("emoji", Value::from("a😀")),
        ("bin", Value::from(vec![1_u8, 2, 3])),
        ("yes", Value::from(true)),
        ("nil", Value::Null),
        ("strings", Value::string_set(["b", "a"])),
        ("numbers", Value::number_set([2, 1])),
        ("binaries", Value::binary_set([vec![1_u8]])),
        ("lst", list([Value::from("x"), Value::number_set([1, 2]), Value::from(5)])),
        ("doc", map([("x", Value::from(1)), ("y", list([Value::from(-1), Value::from(2)]))])),
        ("a.b", Value::from("dotted")),
        ("a", map([("b", Value::from("nested"))])),
    ])
}

#[track_caller]
fn check(text: &str, expected: bool) {
    assert_eq!(parse(text).evaluate(Some(sample().as_ref())), expected, "{text}");
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error =
        with_placeholders(|placeholders| Condition::parse(Kind::Condition, text, placeholders)).unwrap_err();
    assert_eq!(error.to_string(), format!("Invalid ConditionExpression: {expected}"), "{text}");
    assert!(error.is_request_shape());
}

#[test]
fn values_of_one_type_compare_by_value() {
    for (attribute, value) in [
        ("num", ":n"),
        ("str", ":s"),
        ("yes", ":bool"),
        ("nil", ":null"),
        ("strings", ":ss"),
        ("numbers", ":ns"),
        ("binaries", ":bs"),
    ] {
        check(&format!("{attribute} = {value}"), true);
        check(&format!("{value} = {attribute}"), true);
        check(&format!("{attribute} <> {value}"), false);
        check(&format!("{attribute} IN (:zero, {value})"), true);
    }
    check("str < :t", true);
    check("str <= :s", true);
    check("str >= :t", false);
    check(":t > str", true);
    check("num > :one", true);
    check("bin > :b", true);
    check("num BETWEEN :zero AND :n", true);
    check("num BETWEEN :zero AND :one", false);
    check("doc.x < doc.y[1]", true);
    check("doc.x < doc.y[0]", false);
}

#[test]
fn types_that_differ_are_unequal_and_unordered() {
    check("num = :s", false);
    check("num <> :s", true);
    for comparator in ["<", "<=", ">", ">="] {
        check(&format!("num {comparator} :s"), false);
        check(&format!("lst {comparator} :n"), false);
        check(&format!("yes {comparator} nil"), false);
    }
    check("num BETWEEN str AND :t", false);
    check("lst BETWEEN strings AND numbers", false);
}

#[test]
fn missing_operands_make_all_but_unequal_false() {
    for comparator in ["=", "<", "<=", ">", ">="] {
        check(&format!("absent {comparator} :n"), false);
        check(&format!(":n {comparator} absent"), false);
        check(&format!("absent {comparator} lacking"), false);
    }
    check("absent <> :n", true);
    check("absent <> lacking", true);
    check("NOT absent = :n", true);
    check("absent IN (:n)", false);
    check("absent BETWEEN lacking AND gone", false);
    check("doc.x.y = :n", false);
    check("doc.y[100] = :n", false);
    check("doc[0] = :n", false);
    check("lst.x = :n", false);
}

#[test]
fn a_missing_item_has_no_attributes() {
    for (text, expected) in [
        ("attribute_not_exists(p)", true),
        ("attribute_exists(p)", false),
        ("p <> :s", true),
        ("p = :s", false),
    ] {
        assert_eq!(parse(text).evaluate(None), expected, "{text}");
    }
}

#[test]
fn functions_look_into_values() {
    check("attribute_exists(nil)", true);
    check("attribute_exists(doc.y[1])", true);
    check("attribute_not_exists(doc.y[2])", true);
    check("begins_with(str, :s)", true);
    check("begins_with(:t, str)", false);
    check("begins_with(str, :e)", true);
    check("begins_with(bin, :b)", true);
    check("begins_with(num, :s)", false);
    check("begins_with(bin, :s)", false);
    check("contains(str, :s)", true);
    check("contains(str, :t)", false);
    check("contains(bin, :b)", true);
    check("contains(:b, bin)", false);
    check("contains(str, :n)", false);
    check("contains(strings, :s)", false);
    check("contains(numbers, :one)", true);
    check("contains(numbers, :s)", false);
    check("contains(lst, :ns)", true);
    check("contains(lst, num)", true);
    check("contains(doc, doc.x)", false);
    check("contains(yes, :bool)", false);
    check("contains(absent, :n)", false);
    check("contains(numbers, size(yes))", false);
    check("contains(numbers, size(strings))", true);
}

#[test]
fn attribute_type_knows_every_type() {
    let types = [
        ("str", "S"),
        ("num", "N"),
        ("bin", "B"),
        ("yes", "BOOL"),
        ("nil", "NULL"),
        ("strings", "SS"),
        ("numbers", "NS"),
        ("binaries", "BS"),
        ("lst", "L"),
        ("doc", "M"),
    ];
    for (attribute, _) in types {
        for (_, name) in types {
            let names = std::collections::BTreeMap::new();
            let values = [(":t".to_owned(), item::ValueBuf::from(name))].into();
            let mut placeholders = expression::Placeholders::new(Some(&names), Some(&values));
            let text = format!("attribute_type({attribute}, :t)");
            let condition = Condition::parse(Kind::Condition, &text, &mut placeholders).unwrap();
            let expected = types.contains(&(attribute, name));
            assert_eq!(condition.evaluate(Some(sample().as_ref())), expected, "{attribute} {name}");
        }
    }
}

#[test]
fn size_counts_what_a_value_holds() {
    check("size(str) = size(bin)", true);
    check("size(strings) > :one", true);
    check("size(doc) >= size(numbers)", true);
    check("size(lst) BETWEEN :one AND :n", true);
    check("size(bin) IN (:one, size(str))", true);
    check("size(:s) = size(str)", true);
    check("size(num) = :one", false);
    check("size(num) <> :one", true);
    check("size(absent) < :n", false);
    check("size(str) = :s", false);
    // UTF-16: the emoji counts twice.
    check("size(emoji) = size(lst)", true);
}

#[test]
fn names_with_dots_are_one_name() {
    check("begins_with(#dot, a.b)", false);
    check("#dot <> #a.b", true);
    check("attribute_exists(#a.b)", true);
}

#[test]
fn operators_combine() {
    check("num = :n AND str = :s AND NOT yes = :null", true);
    check("num = :zero OR str = :s AND yes = :null", false);
    check("(num = :n OR str = :t) AND yes = :bool", true);
    check("NOT NOT NOT num = :n", false);
}

#[test]
fn faults_of_the_request_are_named() {
    refused(
        "attribute_exists(:n)",
        "Operator or function requires a document path; operator or function: attribute_exists",
    );
    refused(
        "attribute_exists(size(a))",
        "Operator or function requires a document path; operator or function: attribute_exists",
    );
    refused(
        "attribute_exists(#b)",
        "An expression attribute name used in the document path is not defined; attribute name: #b",
    );
    refused("a = :x", "An expression attribute value used in expression is not defined; attribute value: :x");
    refused(
        "a = :x AND #y = :n",
        "An expression attribute name used in the document path is not defined; attribute name: #y",
    );
    refused(
        "attribute_exists(:x)",
        "An expression attribute value used in expression is not defined; attribute value: :x",
    );
    refused("size(a)", "The function is not allowed to be used this way in an expression; function: size");
    refused(
        "NOT (size(a))",
        "The function is not allowed to be used this way in an expression; function: size",
    );
    refused(
        "attribute_exists(a) < :n",
        "The function is not allowed to be used this way in an expression; function: attribute_exists",
    );
    refused(
        "if_not_exists(a, :n) = :n",
        "The function is not allowed to be used this way in an expression; function: if_not_exists",
    );
    refused(
        "list_append(a, :l) = :l",
        "The function is not allowed to be used this way in an expression; function: list_append",
    );
    refused("dog(a) = :n", "Invalid function name; function: dog");
    refused("Size(a) = :n", "Invalid function name; function: Size");
    refused(
        "size(a, b) = :n",
        "Incorrect number of operands for operator or function; operator or function: size, number of operands: 2",
    );
    refused(
        "begins_with(a)",
        "Incorrect number of operands for operator or function; operator or function: begins_with, number of operands: 1",
    );
    refused(
        "begins_with(a, :n)",
        "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
    );
    refused(
        "begins_with(:l, a)",
        "Incorrect operand type for operator or function; operator or function: begins_with, operand type: L",
    );
    refused(
        "size(:n) = :n",
        "Incorrect operand type for operator or function; operator or function: size, operand type: N",
    );
    refused(
        "size(size(a)) = :n",
        "Incorrect operand type for operator or function; operator or function: size, operand type: N",
    );
    refused(
        "a < :bool",
        "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
    );
    refused(
        ":ss >= a",
        "Incorrect operand type for operator or function; operator or function: >=, operand type: SS",
    );
    refused(
        "a BETWEEN :l AND :m",
        "Incorrect operand type for operator or function; operator or function: BETWEEN, operand type: L",
    );
    refused(
        "a BETWEEN :n AND :one",
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:5}, upper bound operand: AttributeValue: {N:1}",
    );
    refused(
        "a BETWEEN :s AND :b",
        "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {S:abc}, upper bound operand: AttributeValue: {B:AQI=}",
    );
    refused(
        "attribute_type(a, :s)",
        "Invalid attribute type name found; type: abc, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
    );
    refused(
        "attribute_type(a, :n)",
        "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: N",
    );
    refused(
        "attribute_type(a, b)",
        "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}",
    );
    let distinct =
        "The first operand must be distinct from the remaining operands for this operator or function";
    refused("a = #a", &format!("{distinct}; operator: =, first operand: [a]"));
    refused(
        "contains(a.b[1], a.b[1])",
        &format!("{distinct}; operator: contains, first operand: [a, b, [1]]"),
    );
    refused("a IN (b, a)", &format!("{distinct}; operator: IN, first operand: [a]"));
    refused("status = :n", "Attribute name is a reserved keyword; reserved keyword: status");
    refused("a.Status = :x", "Attribute name is a reserved keyword; reserved keyword: Status");
}

#[test]
fn filters_say_that_they_are_filters() {
    let error =
        with_placeholders(|placeholders| Condition::parse(Kind::Filter, "begins_with(a)", placeholders));
    assert!(error.unwrap_err().to_string().starts_with("Invalid FilterExpression: "));
}

#[test]
fn in_takes_ninety_nine_members() {
    let text = |members: usize| format!("a IN ({})", vec![":n"; members].join(","));
    assert!(
        with_placeholders(|placeholders| Condition::parse(Kind::Condition, &text(99), placeholders)).is_ok()
    );
    refused(
        &text(100),
        "Incorrect number of operands for operator or function; operator or function: IN, number of operands: 101",
    );
}

#[test]
fn the_attributes_that_are_read_can_be_listed() {
    let condition =
        parse("a.b = :n AND (begins_with(c, :s) OR NOT size(d[0]) IN (e, :n)) AND attribute_exists(a)");
    assert_eq!(condition.top_level_names().collect::<Vec<_>>(), ["a", "c", "d", "e", "a"]);
    assert_eq!(
        condition.paths().map(|path| path.is_nested()).collect::<Vec<_>>(),
        [true, false, true, false, false]
    );
}

#[test]
fn the_deepest_conditions_are_evaluated() {
    check(&format!("{}num = :n", "not ".repeat(298)), true);
    check(&format!("num = :n {}{}", "and (num = :n ".repeat(149), ")".repeat(149)), true);
}
