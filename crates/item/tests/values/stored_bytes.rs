//! Stored bytes are checked once: bytes from a disk are refused or canonical, and no bytes and no JSON cause a panic.

use bytes::Bytes;
use item::json::{self, Jiter};
use item::{Corrupt, Item, Value, ValueBuf};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::support::values;

/// Accepted bytes are those that the value they hold would be written as.
fn check_canonical(bytes: Vec<u8>) -> Result<(), TestCaseError> {
    let bytes = Bytes::from(bytes);
    if let Ok(value) = ValueBuf::from_stored(bytes.clone()) {
        prop_assert_eq!(ValueBuf::from(value.to_value()).into_stored(), bytes.clone());
    }
    if let Ok(item) = Item::from_stored(bytes.clone()) {
        let rebuilt: Item = item.as_ref().iter().map(|(name, value)| (name, value.to_value())).collect();
        prop_assert_eq!(rebuilt.into_stored(), bytes);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(38), ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_refused_or_canonical(bytes in vec(prop_oneof![0u8..13, any::<u8>()], 0..24)) {
        check_canonical(bytes)?;
    }

    #[test]
    fn damaged_bytes_are_refused_or_canonical(
        value in values(),
        changes in vec((any::<prop::sample::Index>(), prop_oneof![0u8..13, any::<u8>()]), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = ValueBuf::from(&value).into_stored().to_vec();
        check_canonical(bytes[..cut.index(bytes.len())].to_vec())?;
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        check_canonical(bytes)?;
    }

    #[test]
    fn any_json_is_read_without_panic(bytes in vec(any::<u8>(), 0..40), text in "[\\[\\]{}\":,SNBMLOUsn01e.truefalsn ]{0,60}") {
        for json in [bytes.as_slice(), text.as_bytes()] {
            let _ = json::read_value(&mut Jiter::new(json));
            let _ = json::read_item(&mut Jiter::new(json));
        }
    }

    #[test]
    fn damaged_json_is_read_without_panic(
        value in values(),
        changes in vec((any::<prop::sample::Index>(), prop::sample::select(b"{}[]\":,SNBLM01-.e \\ntf\x00\xff".to_vec())), 1..5),
    ) {
        let mut text = Vec::new();
        json::write_value(ValueBuf::from(&value).as_ref(), &mut text);
        for (place, byte) in changes {
            let place = place.index(text.len());
            text[place] = byte;
        }
        if let Ok(Ok(read)) = json::read_value(&mut Jiter::new(&text)) {
            prop_assert_eq!(ValueBuf::from_stored(read.clone().into_stored()), Ok(read));
        }
    }
}

const S: u8 = 1;
const N: u8 = 2;
const B: u8 = 3;
const NULL: u8 = 4;
const SS: u8 = 7;
const NS: u8 = 8;
const L: u8 = 10;
const M: u8 = 11;

#[test]
fn each_fault_is_named() {
    let check = |bytes: &[u8], fault| {
        assert_eq!(ValueBuf::from_stored(Bytes::copy_from_slice(bytes)), Err(Corrupt(fault)), "of {bytes:?}");
    };
    check(&[], "a value is missing");
    check(&[0], "a length is cut off");
    check(&[12, 0], "a value has an unknown tag");
    check(&[NULL, NULL], "bytes follow the value");
    check(&[S, 2, b'a'], "a length is out of bounds");
    check(&[S, 0x80], "a length is cut off");
    check(&[S, 0x81, 0x00, b'a'], "a length is not the shortest possible");
    check(&[B, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01], "a length has too many bytes");
    check(&[S, 1, 0xFF], "a text is not UTF-8");
    check(&[N, 0x80], "a number is not canonical");
    check(&[N, 0xC1, 0x00], "a number is not canonical");
    check(&[SS, 0], "a set is empty");
    check(&[SS, 2, N, 0x80], "a set has a member of another type");
    check(&[SS, 6, S, 1, b'b', S, 1, b'a'], "members of a set are not in ascending order");
    check(&[NS, 6, N, 0x80, 0, N, 0x80, 0], "members of a set are not in ascending order");
    check(&[M, 6, 1, b'b', NULL, 1, b'a', NULL], "attribute names are not in ascending order");
    check(&[M, 6, 1, b'a', NULL, 1, b'a', NULL], "attribute names are not in ascending order");
    check(&[M, 2, 0, NULL], "attribute names are not in ascending order");
    check(&[M, 2, 1, b'a'], "a value is missing");
    let deep: Vec<u8> = (0..32).rev().flat_map(|inner| [L, 2 * inner + 1]).chain([NULL]).collect();
    check(&deep, "values are nested too deeply");
    assert!(
        ValueBuf::from_stored(Bytes::copy_from_slice(
            &deep[..1].iter().chain(&[0]).copied().collect::<Vec<_>>()
        ))
        .is_ok()
    );
}

/// The example in `docs/item-bytes.md`.
#[test]
fn the_layout_does_not_change() {
    let item: Item = [
        ("id", Value::from("u1")),
        ("age", Value::from(42)),
        ("due", Value::N("-0.5".parse().expect("a number"))),
        ("tags", Value::string_set(["b", "a"])),
        ("ok", Value::from(true)),
        ("more", Value::map([("x", Value::list([Value::Null, Value::B(vec![0xAB])]))])),
    ]
    .into_iter()
    .collect();
    let expected: &[&[u8]] = &[
        &[3, b'a', b'g', b'e', N, 0xC1, 0x54],
        &[3, b'd', b'u', b'e', N, 0x3F, 0x9B],
        &[2, b'i', b'd', S, 2, b'u', b'1'],
        &[4, b'm', b'o', b'r', b'e', M, 8, 1, b'x', L, 4, NULL, B, 1, 0xAB],
        &[2, b'o', b'k', 6],
        &[4, b't', b'a', b'g', b's', SS, 6, S, 1, b'a', S, 1, b'b'],
    ];
    assert_eq!(item.into_stored(), expected.concat());
}
