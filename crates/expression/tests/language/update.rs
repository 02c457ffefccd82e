//! How updates change an item, and which of them are refused.

use expression::update::Change;
use expression::{ExpressionError, Update, Updated};
use item::{Item, Value, ValueBuf};

use crate::support::{item, list, map, with_placeholders};

fn parse(text: &str) -> Update {
    with_placeholders(|placeholders| Update::parse(text, placeholders))
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn numbers<const N: usize>(numbers: [i64; N]) -> Value {
    Value::list(numbers)
}

fn sample() -> Item {
    item([
        ("p", Value::from("key")),
        ("n", Value::from(2)),
        ("s", Value::from("hi")),
        ("l", numbers([10, 11, 12, 13])),
        ("m", map([("x", Value::from(1)), ("y", list([Value::from("one"), Value::string_set(["a", "c"])]))])),
        ("strings", Value::string_set(["a", "c"])),
    ])
}

/// The sample with some attributes changed; `None` is one that is gone.
fn changed<const N: usize>(changes: [(&str, Option<Value>); N]) -> Item {
    let mut attributes: std::collections::BTreeMap<String, Value> =
        sample().as_ref().iter().map(|(name, value)| (name.to_owned(), value.to_value())).collect();
    for (name, value) in changes {
        match value {
            Some(value) => attributes.insert(name.to_owned(), value),
            None => attributes.remove(name),
        };
    }
    attributes.into_iter().collect()
}

#[track_caller]
fn check<const N: usize>(text: &str, changes: [(&str, Option<Value>); N]) {
    let updated = parse(text).apply(sample().as_ref(), true);
    assert_eq!(updated, Ok(Updated::Item(changed(changes))), "{text}");
}

#[track_caller]
fn fails(text: &str, expected: ExpressionError) {
    assert_eq!(parse(text).apply(sample().as_ref(), true), Err(expected), "{text}");
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = with_placeholders(|placeholders| Update::parse(text, placeholders)).unwrap_err();
    assert_eq!(error.to_string(), format!("Invalid UpdateExpression: {expected}"), "{text}");
    assert!(error.is_request_shape());
}

#[test]
fn set_gives_places_values() {
    check("SET a = :s", [("a", Some(Value::from("abc")))]);
    check("set n=:s, #status = :n", [("n", Some(Value::from("abc"))), ("status", Some(Value::from(5)))]);
    check("SET #dot = :n", [("a.b", Some(Value::from(5)))]);
    check("SET z = p", [("z", Some(Value::from("key")))]);
    check("SET n = n + :n", [("n", Some(Value::from(7)))]);
    check("SET n = :n - n", [("n", Some(Value::from(3)))]);
    check("SET a = (n) + (:n - :one)", [("a", Some(Value::from(6)))]);
    check("SET a = if_not_exists(a, :zero) + :n", [("a", Some(Value::from(5)))]);
    check("SET n = if_not_exists(n, :zero) + :n", [("n", Some(Value::from(7)))]);
    check("SET a = if_not_exists(b, if_not_exists(n, :s))", [("a", Some(Value::from(2)))]);
    check(
        "SET a = list_append(m.y, :l)",
        [("a", Some(list([Value::from("one"), Value::string_set(["a", "c"]), Value::from("x")])))],
    );
    check(
        "SET a = list_append(if_not_exists(a, :l), :l)",
        [("a", Some(list([Value::from("x"), Value::from("x")])))],
    );
}

#[test]
fn every_read_sees_the_item_as_it_was() {
    check("SET n = :n, a = n", [("n", Some(Value::from(5))), ("a", Some(Value::from(2)))]);
    check("SET n = s, s = n", [("n", Some(Value::from("hi"))), ("s", Some(Value::from(2)))]);
    check("REMOVE s SET a = s", [("s", None), ("a", Some(Value::from("hi")))]);
    check("REMOVE l[0], l[1]", [("l", Some(numbers([12, 13])))]);
    check("REMOVE l[1] SET l[3] = :n", [("l", Some(numbers([10, 12, 5])))]);
    fails("SET a = :n, b = a", ExpressionError::MissingAttribute);
}

#[test]
fn nested_places_are_set_and_removed() {
    let y = || list([Value::from("one"), Value::string_set(["a", "c"])]);
    check("SET m.x = :s", [("m", Some(map([("x", Value::from("abc")), ("y", y())])))]);
    check(
        "SET m.a = :n, m.z = m.x REMOVE m.y",
        [("m", Some(map([("a", Value::from(5)), ("x", Value::from(1)), ("z", Value::from(1))])))],
    );
    check(
        "SET m.y[0] = :n",
        [(
            "m",
            Some(map([("x", Value::from(1)), ("y", list([Value::from(5), Value::string_set(["a", "c"])]))])),
        )],
    );
    check("REMOVE m.x, m.y", [("m", Some(map([])))]);
    check("REMOVE l[0], l[1], l[2], l[3]", [("l", Some(numbers([])))]);
    check("REMOVE m.absent, l[17], absent", []);
    check("SET l[9] = :n, l[7] = :one, l[0] = :zero", [("l", Some(numbers([0, 11, 12, 13, 1, 5])))]);
    check("SET l[4] = :n REMOVE l[0]", [("l", Some(numbers([11, 12, 13, 5])))]);
}

#[test]
fn places_without_a_parent_cannot_be_changed() {
    for text in [
        "SET s.x = :n",
        "SET l.x = :n",
        "SET absent.x = :n",
        "SET m[0] = :n",
        "SET absent[0] = :n",
        "SET l[9].x = :n",
        "REMOVE s.x",
        "REMOVE l.x",
        "REMOVE absent.x",
        "REMOVE absent[0]",
        "ADD absent.x :n",
    ] {
        fails(text, ExpressionError::PathNotUpdatable);
    }
}

#[test]
fn add_counts_up_and_unites() {
    check("ADD n :n", [("n", Some(Value::from(7)))]);
    check("ADD a :n, b :ss", [("a", Some(Value::from(5))), ("b", Some(Value::string_set(["a", "b"])))]);
    check("ADD strings :ss", [("strings", Some(Value::string_set(["a", "b", "c"])))]);
    check(
        "ADD m.x :n, m.y[1] :ss",
        [(
            "m",
            Some(map([
                ("x", Value::from(6)),
                ("y", list([Value::from("one"), Value::string_set(["a", "b", "c"])])),
            ])),
        )],
    );
    for text in ["ADD s :n", "ADD strings :ns", "ADD n :ss", "ADD l :ns"] {
        fails(text, ExpressionError::OperandData);
    }
}

#[test]
fn delete_subtracts_and_leaves_no_empty_set() {
    check("DELETE strings :ss", [("strings", Some(Value::string_set(["c"])))]);
    check("DELETE absent :ss, m.absent :ss", []);
    check(
        "DELETE m.y[1] :ss",
        [(
            "m",
            Some(map([("x", Value::from(1)), ("y", list([Value::from("one"), Value::string_set(["c"])]))])),
        )],
    );
    let old =
        item([("a", Value::string_set(["a", "b"])), ("l", list([Value::string_set(["b"]), Value::from(1)]))]);
    let updated = parse("DELETE a :ss, l[0] :ss").apply(old.as_ref(), true);
    assert_eq!(updated, Ok(Updated::Item(item([("l", list([Value::from(1)]))]))));
    fails("DELETE strings :ns", ExpressionError::OperandData);
    fails("DELETE s :ss", ExpressionError::OperandData);
}

#[test]
fn operands_that_do_not_fit_fail_the_update() {
    for text in ["SET a = absent", "SET a = absent + :n", "SET a = list_append(absent, :l)", "SET a = m.x.y"]
    {
        fails(text, ExpressionError::MissingAttribute);
    }
    for text in
        ["SET a = s + :n", "SET a = :n - l", "SET a = list_append(n, :l)", "SET a = list_append(:l, s)"]
    {
        fails(text, ExpressionError::OperandData);
    }
    assert!(!ExpressionError::OperandData.is_request_shape());
}

#[test]
fn sums_out_of_range_overflow() {
    let big = item([
        ("a", Value::from("9e125".parse::<item::Number>().unwrap())),
        ("b", Value::from("1e-130".parse::<item::Number>().unwrap())),
    ]);
    for text in ["SET c = a + a", "SET c = a + b"] {
        let error = parse(text).apply(big.as_ref(), true).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Number overflow. Attempting to store a number with magnitude larger than supported range"
        );
    }
}

#[test]
fn documents_do_not_grow_deeper_than_they_may() {
    let deep = |levels: usize| (1..levels).fold(Value::from(1), |inner, _| Value::list([inner]));
    let old = item([
        ("a", deep(31)),
        ("b", deep(32)),
        ("l", list([Value::Null])),
        ("ll", list([list([Value::Null])])),
    ]);
    assert!(parse("SET l[0] = a").apply(old.as_ref(), true).is_ok());
    for text in ["SET l[0] = b", "SET ll[0][0] = a", "SET l[5] = b"] {
        assert_eq!(parse(text).apply(old.as_ref(), true), Err(ExpressionError::Nesting), "{text}");
    }
}

#[test]
fn a_missing_item_is_made_only_by_what_gives() {
    let key = item([("p", Value::from("key"))]);
    let apply = |text| parse(text).apply(key.as_ref(), false);
    for text in ["REMOVE a", "REMOVE x.y, x.z[0]", "DELETE a :ss", "REMOVE a DELETE b.c :ss"] {
        assert_eq!(apply(text), Ok(Updated::Nothing), "{text}");
    }
    let made = Ok(Updated::Item(item([("p", Value::from("key")), ("a", Value::from(5))])));
    for text in ["SET a = :n", "ADD a :n", "SET a = :n REMOVE x.y", "REMOVE x[0] ADD a :n DELETE y.z :ss"] {
        assert_eq!(apply(text), made, "{text}");
    }
    assert_eq!(apply("SET c.c = :n"), Err(ExpressionError::PathNotUpdatable));
    assert_eq!(apply("SET c = z"), Err(ExpressionError::MissingAttribute));
}

#[test]
fn an_update_without_actions_makes_an_item_of_the_key() {
    let key = item([("p", Value::from("key"))]);
    assert_eq!(Update::of_attributes([]).apply(key.as_ref(), false), Ok(Updated::Item(key.clone())));
    assert_eq!(Update::of_attributes([]).apply(sample().as_ref(), true), Ok(Updated::Item(sample())));
}

#[test]
fn updates_of_whole_attributes_append_to_lists_and_word_type_errors_their_own_way() {
    let update = |name: &str, change| Update::of_attributes([(name.to_owned(), change)]);
    let tail = || ValueBuf::from(numbers([14]));
    assert_eq!(
        update("l", Change::Add(tail())).apply(sample().as_ref(), true),
        Ok(Updated::Item(changed([("l", Some(numbers([10, 11, 12, 13, 14])))])))
    );
    for change in [Change::Add(tail()), Change::Delete(ValueBuf::from(Value::string_set(["a"])))] {
        let refused = update("n", change).apply(sample().as_ref(), true);
        assert_eq!(refused, Err(ExpressionError::AttributeType));
    }
}

#[test]
fn returned_values_are_the_touched_places_before_and_after() {
    #[track_caller]
    fn check(text: &str, old: Option<Item>, new: Option<Item>) {
        let update = parse(text);
        let Ok(Updated::Item(updated)) = update.apply(sample().as_ref(), true) else { panic!("{text}") };
        assert_eq!(update.updated_old(sample().as_ref()), old, "{text}");
        assert_eq!(update.updated_new(updated.as_ref()), new, "{text}");
    }
    check(
        "SET n = :n, a = :s",
        Some(item([("n", Value::from(2))])),
        Some(item([("n", Value::from(5)), ("a", Value::from("abc"))])),
    );
    check("SET s = s", Some(item([("s", Value::from("hi"))])), Some(item([("s", Value::from("hi"))])));
    check("REMOVE n", Some(item([("n", Value::from(2))])), None);
    check("SET a = :n", None, Some(item([("a", Value::from(5))])));
    check(
        "SET m.x = :n",
        Some(item([("m", map([("x", Value::from(1))]))])),
        Some(item([("m", map([("x", Value::from(5))]))])),
    );
    check("SET l[1] = :n", Some(item([("l", numbers([11]))])), Some(item([("l", numbers([5]))])));
    // The two oddities: an appended element is not reported, one that moves up is.
    check("SET l[100] = :n", None, None);
    check("REMOVE l[1], l[9]", Some(item([("l", numbers([11]))])), Some(item([("l", numbers([12]))])));
}

#[test]
fn faults_of_the_request_are_named() {
    refused(
        "SET a = #x",
        "An expression attribute name used in the document path is not defined; attribute name: #x",
    );
    refused(
        "SET a = :x, #y = :n",
        "An expression attribute name used in the document path is not defined; attribute name: #y",
    );
    refused(
        "SET a = :x, a = :n",
        "An expression attribute value used in expression is not defined; attribute value: :x",
    );
    refused(
        "SET b = if_not_exists(:x, :n)",
        "An expression attribute value used in expression is not defined; attribute value: :x",
    );
    refused(
        "SET b = if_not_exists(:s, :n)",
        "Operator or function requires a document path; operator or function: if_not_exists",
    );
    refused(
        "SET b = if_not_exists(if_not_exists(a, :n), :n)",
        "Operator or function requires a document path; operator or function: if_not_exists",
    );
    refused(
        "SET a = :s + :n",
        "Incorrect operand type for operator or function; operator or function: +, operand type: S",
    );
    refused(
        "SET a = b - :l",
        "Incorrect operand type for operator or function; operator or function: -, operand type: L",
    );
    refused(
        "SET a = list_append(:l, :s)",
        "Incorrect operand type for operator or function; operator or function: list_append, operand type: S",
    );
    refused(
        "SET a = list_append(:l)",
        "Incorrect number of operands for operator or function; operator or function: list_append, number of operands: 1",
    );
    refused(
        "SET a = list_append(:l, :l, :l)",
        "Incorrect number of operands for operator or function; operator or function: list_append, number of operands: 3",
    );
    refused(
        "SET a = list_append(list_append(b, :l), :l)",
        "The function is not allowed to be used this way in an expression; function: list_append",
    );
    refused(
        "SET a = size(b)",
        "The function is not allowed to be used this way in an expression; function: size",
    );
    refused(
        "ADD a :s",
        "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND",
    );
    refused(
        "ADD a :l",
        "Incorrect operand type for operator or function; operator: ADD, operand type: LIST, typeSet: ALLOWED_FOR_ADD_OPERAND",
    );
    refused(
        "DELETE a :n",
        "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND",
    );
    refused(
        "SET a = :s + :n REMOVE a",
        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]",
    );
    refused(
        "REMOVE a[1][1] SET a[1] = :n",
        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a, [1], [1]], path two: [a, [1]]",
    );
    refused(
        "SET a.b.c = :n, a.b[2] = :n",
        "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [a, b, c], path two: [a, b, [2]]",
    );
}

#[test]
fn what_is_written_and_read_can_be_listed() {
    let update = parse("SET a.b = if_not_exists(c, d[0]), e = f + :n REMOVE g ADD h :n DELETE i :ss");
    assert_eq!(update.targets().collect::<Vec<_>>(), ["a", "e", "g", "h", "i"]);
    assert_eq!(
        update.paths().map(|path| path.attribute.as_str()).collect::<Vec<_>>(),
        ["a", "c", "d", "e", "f", "g", "h", "i"]
    );
}

#[test]
fn the_request_is_charged_by_its_parts() {
    for (text, expected) in [
        ("REMOVE abc", 3 + 1 + 3),
        ("DELETE abc :ss", 3 + 1 + 3),
        ("SET a = :s", 3 + 19 + 1 + 3),
        ("ADD a :n", 3 + 19 + 1 + 2),
        ("SET a.bc = :s REMOVE d", 3 + 19 + (1 + 4 + 2) + 3 + 1 + 1),
        ("SET a = bc.d", 3 + 19 + 1 + (1 + 14 + 2 + 14 + 1)),
        ("SET a = :n + :n", 3 + 19 + 1 + 34 + 2 + 2),
        ("SET a = :n - :n", 3 + 19 + 1 + 37 + 2 + 2),
        ("SET a = if_not_exists(a, :n)", 3 + 19 + 1 + 39 + 16 + 2),
        ("SET a = list_append(a, a)", 3 + 19 + 1 + 37 + 16 + 16),
    ] {
        assert_eq!(parse(text).charge_bytes(), expected, "{text}");
    }
}
