//! How SET and REMOVE change an item.

use std::collections::BTreeMap;

use expression::partiql::Statement;
use expression::{Update, Updated};
use item::{Item, Value, ValueBuf};

use crate::support::{item, list, map};

fn update(clauses: &str) -> Result<Update, String> {
    let parameters = [Value::binary_set([vec![2_u8]]), Value::from("x")].map(ValueBuf::from);
    match Statement::parse(&format!("UPDATE T {clauses} WHERE p = 1"), &parameters) {
        Ok(Statement::Update(update)) => Ok(update.changes),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

fn old() -> Item {
    item([
        ("n", 5.into()),
        ("s", "abc".into()),
        ("ss", Value::string_set(["x", "y"])),
        ("bs", Value::binary_set([vec![1_u8]])),
        ("l", list([1.into(), 2.into(), 3.into()])),
        ("m", map([("k", 7.into())])),
    ])
}

/// The attributes that are different afterwards; `None` for those that are gone.
#[track_caller]
fn check<const N: usize>(clauses: &str, expected: [(&str, Option<Value>); N]) {
    let Updated::Item(new) = update(clauses).unwrap().apply(old().as_ref(), true).unwrap() else {
        panic!("{clauses} makes nothing")
    };
    let mut changed = BTreeMap::new();
    for (name, value) in new.as_ref().iter().filter(|(name, value)| old().get(name) != Some(*value)) {
        changed.insert(name.to_owned(), Some(Value::from(value)));
    }
    for (name, _) in old().as_ref().iter().filter(|(name, _)| new.get(name).is_none()) {
        changed.insert(name.to_owned(), None);
    }
    let expected = expected.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    assert_eq!(changed, expected, "{clauses}");
}

#[test]
fn values_are_set() {
    check("SET a = 1", [("a", Some(1.into()))]);
    check("SET a = ?, n = ?", [("a", Some(Value::binary_set([vec![2_u8]]))), ("n", Some("x".into()))]);
    check("SET a = 1 SET b = NULL", [("a", Some(1.into())), ("b", Some(Value::Null))]);
    check("set \"a b\" = s", [("a b", Some("abc".into()))]);
    check("SET m.k = {'x': [1]}", [("m", Some(map([("k", map([("x", list([1.into()]))]))])))]);
    check("SET m['new one'] = -1", [("m", Some(map([("k", 7.into()), ("new one", (-1).into())])))]);
    check("SET l[1] = 9", [("l", Some(list([1.into(), 9.into(), 3.into()])))]);
    check("SET l[9] = 9", [("l", Some(list([1.into(), 2.into(), 3.into(), 9.into()])))]);
}

#[test]
fn numbers_are_computed_from_the_item_as_it_was() {
    check("SET n = n + 1", [("n", Some(6.into()))]);
    check("SET n = n - 1", [("n", Some(4.into()))]);
    check("SET n = n -1", [("n", Some(4.into()))]);
    check("SET n = n - -1", [("n", Some(6.into()))]);
    check("SET n = 10 - n - 1 + m.k", [("n", Some(11.into()))]);
    check("SET n = 10 - (n - 1)", [("n", Some(6.into()))]);
    check("SET n = 1 SET a = n + l[2]", [("a", Some(8.into())), ("n", Some(1.into()))]);
}

#[test]
fn lists_and_sets_grow_and_shrink() {
    check(
        "SET l = list_append(l, [4, <<'a'>>])",
        [("l", Some(list([1.into(), 2.into(), 3.into(), 4.into(), Value::string_set(["a"])])))],
    );
    check("SET l = LIST_APPEND([0], l)", [("l", Some(list([0.into(), 1.into(), 2.into(), 3.into()])))]);
    check("SET ss = set_add(ss, <<'y', 'z'>>)", [("ss", Some(Value::string_set(["x", "y", "z"])))]);
    check("SET \"ss\" = SET_DELETE(ss, <<'y', 'z'>>)", [("ss", Some(Value::string_set(["x"])))]);
    check("SET ss = SET_DELETE(ss, <<'y', 'x'>>)", [("ss", None)]);
    check("SET bs = SET_ADD(bs, ?)", [("bs", Some(Value::binary_set([vec![1_u8], vec![2]])))]);
    check("SET a = SET_ADD(a, <<1>>)", [("a", Some(Value::number_set([1])))]);
}

#[test]
fn places_are_removed() {
    check("REMOVE n", [("n", None)]);
    check("REMOVE n, s", [("n", None), ("s", None)]);
    check("REMOVE n REMOVE m.k", [("m", Some(map([]))), ("n", None)]);
    check("REMOVE l[0] REMOVE l[1]", [("l", Some(list([3.into()])))]);
    check("REMOVE gone", []);
    check("SET a = n REMOVE n SET b = 1", [("a", Some(5.into())), ("b", Some(1.into())), ("n", None)]);
}

#[test]
fn what_cannot_be_done_is_refused() {
    #[track_caller]
    fn refused(clauses: &str, message: &str) {
        assert_eq!(update(clauses).map(|_| ()), Err(message.to_owned()), "{clauses}");
    }
    let operand = |operator: &str, operand: &str| {
        format!(
            "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {operand}"
        )
    };
    refused("SET n = n + 'x'", &operand("+", "S"));
    refused("SET l = list_append(l, 1)", &operand("list_append", "N"));
    refused("SET ss = set_add(ss, 1)", &operand("SET_ADD", "N"));
    refused(
        "SET ss = set_delete(ss, 1)",
        "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND",
    );
    refused(
        "SET a = set_add(ss, <<'a'>>)",
        "The first argument to SET_ADD must equal the assignment value at 1:18:7",
    );
    refused(
        "SET a = 1 SET a = 2",
        "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]",
    );
    refused(
        "SET a = size(s)",
        "The function is not allowed to be used this way in an expression; function: size",
    );
    let missing = update("SET a = gone + 1").unwrap().apply(old().as_ref(), true).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "The provided expression refers to an attribute that does not exist in the item"
    );
}
