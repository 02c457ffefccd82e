//! Values of all types, for property tests.

use item::{Number, Value};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

fn numbers() -> impl Strategy<Value = Number> {
    (any::<i64>(), -120i32..100).prop_map(|(digits, power)| {
        Number::parse(&format!("{digits}e{power}")).expect("19 digits and a small power are in range")
    })
}

fn strings() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,3}", ".{0,12}", "[\u{0}-\u{1f}\"\\\\/\u{7f}é😀]{0,8}", "x{120,140}"]
}

pub fn names() -> impl Strategy<Value = String> {
    prop_oneof!["[a-e]{1,2}", ".{1,8}", "n{126,130}"]
}

pub fn values() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        strings().prop_map(Value::S),
        numbers().prop_map(Value::N),
        vec(any::<u8>(), 0..9).prop_map(Value::B),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        btree_set(strings(), 1..5).prop_map(Value::Ss),
        btree_set(numbers(), 1..5).prop_map(Value::Ns),
        btree_set(vec(any::<u8>(), 0..4), 1..5).prop_map(Value::Bs),
    ];
    scalar.prop_recursive(5, 48, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::L),
            btree_map(names(), inner, 0..5).prop_map(Value::M)
        ]
    })
}
