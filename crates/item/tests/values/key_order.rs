//! Key bytes: they sort like the values, none is a prefix of another, and values with a common prefix are a range of
//! bytes.

use item::{Number, Value, ValueBuf, key};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn encoded(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    key::encode(ValueBuf::from(value).as_ref(), &mut bytes);
    bytes
}

fn prefix(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    key::encode_prefix(ValueBuf::from(value).as_ref(), &mut bytes);
    bytes
}

/// Many bytes with a special meaning and their neighbours, and many common prefixes.
fn binaries() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0u8), Just(1), Just(2), Just(0xFE), Just(0xFF), any::<u8>()];
    proptest::collection::vec(byte, 0..6)
}

fn strings() -> impl Strategy<Value = String> {
    prop_oneof!["[\u{0}\u{1}\u{2}ab\u{7f}]{0,6}", "\\PC{0,6}", ".{0,3}"]
}

fn numbers() -> impl Strategy<Value = Number> {
    prop_oneof![
        (any::<i64>(), -120i32..100)
            .prop_map(|(digits, power)| Number::parse(&format!("{digits}e{power}")).expect("in range")),
        (-300i64..300, -3i32..3)
            .prop_map(|(digits, power)| Number::parse(&format!("{digits}e{power}")).expect("in range")),
    ]
}

fn check_order<T: Ord + Clone + Into<Value>>(a: &T, b: &T) -> Result<(), TestCaseError> {
    let (a_bytes, b_bytes) = (encoded(&a.clone().into()), encoded(&b.clone().into()));
    prop_assert_eq!(a_bytes.cmp(&b_bytes), a.cmp(b));
    prop_assert!(a == b || !a_bytes.starts_with(&b_bytes));
    Ok(())
}

fn check_prefix(value: Value, start: Value, begins: bool) -> Result<(), TestCaseError> {
    let (bytes, start) = (encoded(&value), prefix(&start));
    prop_assert_eq!(bytes.starts_with(&start), begins);
    let inside = bytes >= start && key::after_prefix(&start).is_none_or(|after| bytes < after);
    prop_assert_eq!(inside, begins);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(38), ..ProptestConfig::default() })]

    #[test]
    fn binaries_keep_their_order(a in binaries(), b in binaries()) {
        check_order(&a, &b)?;
    }

    #[test]
    fn strings_keep_their_order(a in strings(), b in strings()) {
        check_order(&a, &b)?;
    }

    #[test]
    fn numbers_keep_their_order(a in numbers(), b in numbers()) {
        check_order(&a, &b)?;
    }

    #[test]
    fn pairs_of_keys_keep_their_order(a in (binaries(), numbers()), b in (binaries(), numbers())) {
        let bytes = |(first, second): &(Vec<u8>, Number)| {
            [encoded(&first.clone().into()), encoded(&(*second).into())].concat()
        };
        prop_assert_eq!(bytes(&a).cmp(&bytes(&b)), a.cmp(&b));
    }

    #[test]
    fn what_begins_with_a_prefix_is_a_range(value in binaries(), start in binaries(), cut in 0usize..6) {
        let begins = value.starts_with(&start);
        check_prefix(value.clone().into(), start.into(), begins)?;
        let start = value[..cut.min(value.len())].to_vec();
        check_prefix(value.into(), start.into(), true)?;
    }
}

#[test]
fn nothing_follows_a_prefix_of_the_highest_bytes() {
    assert_eq!(key::after_prefix(&[0xFF, 0xFF]), None);
    assert_eq!(key::after_prefix(&[]), None);
    assert_eq!(key::after_prefix(&[1, 0xFF]), Some(vec![2]));
    assert_eq!(key::after_prefix(b"ab"), Some(b"ac".to_vec()));
}
