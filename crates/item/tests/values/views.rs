//! What views show of a value, and which values builders make from views.

use std::cmp::Ordering;

use item::{Item, ItemBuilder, ListBuilder, Number, SetBuilder, Type, Value, ValueBuf};

fn bytes(value: impl Into<Value>) -> ValueBuf {
    ValueBuf::from(value.into())
}

#[test]
fn a_view_answers_for_its_own_type_only() {
    let (text, number, list) = (bytes("a"), bytes(7), bytes(Value::list([1, 2])));
    assert_eq!(text.as_ref().as_str(), Some("a"));
    assert_eq!(text.as_ref().as_number(), None);
    assert_eq!(text.as_ref().as_binary(), None);
    assert_eq!(number.as_ref().as_number(), Some(Number::from(7)));
    assert_eq!(bytes(false).as_ref().as_bool(), Some(false));
    assert_eq!(bytes(vec![1u8]).as_ref().as_binary(), Some(&[1u8][..]));
    assert!(bytes(Value::Null).as_ref().is_null());
    assert!(list.as_ref().as_set().is_none());
    let elements = list.as_ref().as_list().expect("a list");
    assert_eq!(elements.len(), 2);
    assert_eq!(elements.get(1), Some(bytes(2).as_ref()));
    assert_eq!(elements.get(2), None);
    assert!(elements.contains(bytes(1).as_ref()) && !elements.contains(number.as_ref()));
}

#[test]
fn only_scalars_of_one_type_have_an_order() {
    let check = |a: Value, b: Value, expected| {
        assert_eq!(bytes(a).as_ref().partial_cmp_same_type(bytes(b).as_ref()), expected);
    };
    check("b".into(), "abc".into(), Some(Ordering::Greater));
    check(9.into(), 10.into(), Some(Ordering::Less));
    check((-9).into(), (-10).into(), Some(Ordering::Greater));
    check(vec![1u8].into(), vec![1u8].into(), Some(Ordering::Equal));
    check("1".into(), 1.into(), None);
    check(true.into(), false.into(), None);
    check(Value::Null, Value::Null, None);
    check(Value::list([1]), Value::list([2]), None);
}

#[test]
fn types_are_named_as_in_json() {
    for name in ["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"] {
        assert_eq!(Type::from_name(name).map(Type::name), Some(name));
    }
    assert_eq!(Type::from_name("s"), None);
}

#[test]
fn builders_sort_and_drop_what_is_twice() {
    let (one, two) = (bytes(1), bytes(2));
    let mut set = SetBuilder::new(Type::Ns);
    for member in [&two, &one, &two] {
        set.insert(member.as_ref());
    }
    assert_eq!(set.build(), Some(bytes(Value::number_set([1, 2]))));
    assert_eq!(SetBuilder::new(Type::Ss).build(), None);

    let mut list = ListBuilder::default();
    for _ in 0..100 {
        list.push(one.as_ref());
    }
    assert_eq!(list.build(), bytes(Value::list([1; 100])));

    let mut map = ItemBuilder::default();
    for (name, value) in [("b", &one), ("a", &one), ("b", &two)] {
        map.put(name, value.as_ref());
    }
    assert_eq!(map.clone().build_map(), bytes(Value::map([("a", 1), ("b", 2)])));
    assert_eq!(map.build(), Item::from_iter([("a", 1), ("b", 2)]));
}

#[test]
fn an_item_prints_as_json() {
    let item = Item::from_iter([("b", Value::from("x\n")), ("a", Value::number_set([1]))]);
    assert_eq!(format!("{item:?}"), r#"{"a":{"NS":["1"]},"b":{"S":"x\n"}}"#);
    assert_eq!(format!("{:?}", Item::default()), "{}");
}

#[test]
fn sizes_are_those_dynamodb_charges() {
    let check = |value: Value, expected| {
        assert_eq!(bytes(value.clone()).as_ref().size_bytes(), expected, "{value:?}")
    };
    check("é".into(), 2);
    check(Value::Null, 1);
    check(true.into(), 1);
    check(vec![0u8; 5].into(), 5);
    check(Value::string_set(["a", "bc"]), 3);
    check(Value::number_set([1, 100]), 4);
    check(Value::L(vec![]), 3);
    check(Value::list(["ab"]), 6);
    check(Value::M(Default::default()), 3);
    check(Value::map([("ab", "c")]), 7);
    assert_eq!(Item::from_iter([("pk", "abc"), ("a", "")]).size_bytes(), 6);
}
