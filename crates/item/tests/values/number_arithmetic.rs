//! Numbers against an arbitrary-precision reference: text, order, sums, and the bytes that keep order.

use std::str::FromStr;

use bigdecimal::BigDecimal;
use item::{Number, NumberError};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Texts all over the range and somewhat beyond it, in many spellings.
fn texts() -> impl Strategy<Value = String> {
    let digits = prop_oneof!["[0-9]{1,5}", "[0-9]{1,38}", "0{0,3}[1-9]0{0,40}", "[0-9]{30,45}"];
    let fraction = prop_oneof![Just(String::new()), "\\.[0-9]{0,8}", "\\.[0-9]{0,40}"];
    let exponent = prop_oneof![Just(String::new()), "[eE][+-]?[0-9]{1,2}", "e-?1[0-9]{2}"];
    (prop_oneof![Just(""), Just("-"), Just("+")], digits, fraction, exponent)
        .prop_map(|(sign, digits, fraction, exponent)| format!("{sign}{digits}{fraction}{exponent}"))
}

fn numbers() -> impl Strategy<Value = Number> {
    prop_oneof![
        texts().prop_filter_map("out of range", |text| Number::parse(&text).ok()),
        any::<i64>().prop_map(Number::from),
        (-200i64..200).prop_map(Number::from),
    ]
}

fn reference(number: Number) -> BigDecimal {
    BigDecimal::from_str(&number.to_string()).expect("a plain decimal")
}

/// What the number of digits and the power of the leading digit allow. Zero is tested elsewhere.
fn expected(value: &BigDecimal) -> Result<(), NumberError> {
    let (mantissa, scale) = value.normalized().into_bigint_and_exponent();
    let digits = mantissa.magnitude().to_string().len() as i64;
    match digits - 1 - scale {
        _ if digits > 38 => Err(NumberError::Precision),
        leading if leading > 125 => Err(NumberError::Overflow),
        leading if leading < -130 => Err(NumberError::Underflow),
        _ => Ok(()),
    }
}

fn encoded(number: Number) -> Vec<u8> {
    let mut bytes = Vec::new();
    number.encode(&mut bytes);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(38), ..ProptestConfig::default() })]

    #[test]
    fn parsing_agrees_with_the_reference(text in texts()) {
        let value = BigDecimal::from_str(&text.replace(".e", ".0e").replace(".E", ".0e")).expect("a decimal");
        let parsed = Number::parse(&text);
        if value == 0 {
            prop_assert!(parsed.is_err() || parsed == Ok(Number::ZERO));
        } else {
            prop_assert_eq!(parsed.clone().map(drop), expected(&value));
            if let Ok(number) = parsed {
                prop_assert_eq!(reference(number), value);
            }
        }
    }

    #[test]
    fn any_text_is_parsed_without_panic(text in "[-+.eE0-9 x]{0,12}|.{0,8}") {
        if let Ok(number) = Number::parse(&text) {
            prop_assert_eq!(Number::parse(&number.to_string()), Ok(number));
        }
    }

    #[test]
    fn printing_is_canonical(number in numbers()) {
        let text = number.to_string();
        prop_assert_eq!(Number::parse(&text), Ok(number));
        let digits = text.trim_start_matches('-');
        prop_assert!(digits == "0" || !digits.starts_with('0') || digits.starts_with("0."));
        prop_assert!(!text.contains(['e', 'E', '+']));
        prop_assert!(!text.contains('.') || !text.ends_with(['0', '.']));
    }

    #[test]
    fn sums_and_differences_are_exact_or_overflow(a in numbers(), b in numbers()) {
        for (result, exact) in [
            (a.checked_add(b), reference(a) + reference(b)),
            (a.checked_sub(b), reference(a) - reference(b)),
        ] {
            if exact == 0 {
                prop_assert_eq!(result, Ok(Number::ZERO));
            } else if expected(&exact).is_ok() {
                prop_assert_eq!(reference(result.expect("the exact result fits")), exact);
            } else {
                prop_assert_eq!(result, Err(NumberError::Overflow));
            }
        }
    }

    #[test]
    fn order_is_that_of_the_values_and_of_the_bytes(a in numbers(), b in numbers()) {
        let order = reference(a).cmp(&reference(b));
        prop_assert_eq!(a.cmp(&b), order);
        prop_assert_eq!(encoded(a).cmp(&encoded(b)), order);
        prop_assert!(a == b || !encoded(a).starts_with(&encoded(b)));
    }

    #[test]
    fn bytes_are_read_back_and_end_by_themselves(number in numbers(), tail in any::<Vec<u8>>()) {
        let mut bytes = encoded(number);
        let length = bytes.len();
        bytes.extend(tail);
        prop_assert_eq!(Number::decode(&bytes), Some((number, length)));
    }

    #[test]
    fn only_canonical_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
        if let Some((number, length)) = Number::decode(&bytes) {
            prop_assert_eq!(encoded(number), &bytes[..length]);
            prop_assert_eq!(Number::parse(&number.to_string()), Ok(number));
        }
    }

    #[test]
    fn size_follows_from_the_digits(number in numbers()) {
        let text = number.to_string();
        let digits = text.trim_start_matches('-');
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let whole = whole.trim_start_matches('0');
        let (whole, fraction) = match (whole, fraction) {
            (whole, "") => (whole.trim_end_matches('0'), ""),
            ("", fraction) => ("", fraction.trim_start_matches('0')),
            both => both,
        };
        let pairs = whole.len().div_ceil(2) + fraction.len().div_ceil(2);
        prop_assert_eq!(number.size_bytes(), 1 + pairs + usize::from(text.starts_with('-')));
    }
}
