//! Trees, canonical bytes and JSON agree: converted along any way and back, a value is equal, with the same bytes,
//! size and depth.

use item::json::{self, Jiter};
use item::{Item, Value, ValueBuf};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::support::{names, values};

fn written(value: &ValueBuf) -> Vec<u8> {
    let mut out = Vec::new();
    json::write_value(value.as_ref(), &mut out);
    out
}

fn read(text: &[u8]) -> ValueBuf {
    let mut json = Jiter::new(text);
    let value = json::read_value(&mut json).expect("the shape is right").expect("no rule is broken");
    json.finish().expect("the whole value was read");
    value
}

/// The same JSON with members, entries and blanks in another order and number.
fn shuffled(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Array(elements) => {
            format!("[ {} ]", elements.iter().map(shuffled).collect::<Vec<_>>().join(" ,\n"))
        }
        serde_json::Value::Object(members) => {
            let member = |(name, value): (&String, &serde_json::Value)| {
                format!("{} : {}", serde_json::Value::from(name.as_str()), shuffled(value))
            };
            format!("{{\t{} }}", members.iter().rev().map(member).collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::S(text) => text.len(),
        Value::N(number) => number.size_bytes(),
        Value::B(bytes) => bytes.len(),
        Value::Bool(_) | Value::Null => 1,
        Value::Ss(members) => members.iter().map(String::len).sum(),
        Value::Ns(members) => members.iter().map(|number| number.size_bytes()).sum(),
        Value::Bs(members) => members.iter().map(Vec::len).sum(),
        Value::L(elements) => 3 + elements.iter().map(|element| 1 + size(element)).sum::<usize>(),
        Value::M(entries) => {
            3 + entries.iter().map(|(name, value)| 1 + name.len() + size(value)).sum::<usize>()
        }
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::L(elements) => 1 + elements.iter().map(depth).max().unwrap_or(0),
        Value::M(entries) => 1 + entries.values().map(depth).max().unwrap_or(0),
        _ => 1,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(38), ..ProptestConfig::default() })]

    #[test]
    fn values_survive_every_way(value in values()) {
        let bytes = ValueBuf::from(&value);
        prop_assert_eq!(bytes.to_value(), value.clone());
        prop_assert_eq!(ValueBuf::from_stored(bytes.clone().into_stored()), Ok(bytes.clone()));
        prop_assert_eq!(read(&written(&bytes)), bytes.clone());
        prop_assert_eq!(bytes.as_ref().size_bytes(), size(&value));
        prop_assert_eq!(bytes.as_ref().depth(), depth(&value));
        prop_assert_eq!(bytes.as_ref().kind(), value.kind());
    }

    #[test]
    fn written_json_is_json_and_its_order_does_not_matter(value in values()) {
        let bytes = ValueBuf::from(&value);
        let parsed: serde_json::Value = serde_json::from_slice(&written(&bytes)).expect("JSON");
        prop_assert_eq!(read(shuffled(&parsed).as_bytes()), bytes);
    }

    #[test]
    fn equal_bytes_are_equal_values(a in values(), b in values()) {
        prop_assert_eq!(ValueBuf::from(&a) == ValueBuf::from(&b), a == b);
    }

    #[test]
    fn items_are_maps_by_name(entries in proptest::collection::vec((names(), values()), 0..8)) {
        let item: Item = entries.iter().cloned().collect();
        let last = entries.iter().cloned().collect::<std::collections::BTreeMap<_, _>>();
        prop_assert_eq!(Item::from_stored(item.clone().into_stored()), Ok(item.clone()));
        prop_assert_eq!(item.as_ref().len(), last.len());
        for (name, value) in &last {
            prop_assert_eq!(item.get(name).map(|found| found.to_value()), Some(value.clone()));
        }
        prop_assert_eq!(item.get("no attribute has this name"), None);
        prop_assert!(item.as_ref().iter().map(|(name, _)| name).eq(last.keys()));
        prop_assert_eq!(item.size_bytes(), last.iter().map(|(name, value)| name.len() + size(value)).sum::<usize>());

        let mut out = Vec::new();
        json::write_item(item.as_ref(), &mut out);
        let read = json::read_item(&mut Jiter::new(&out)).expect("the shape is right").expect("no rule is broken");
        prop_assert_eq!(read, item);
    }
}
