//! Two numbers, one a line: printing and parsing agree, encoded bytes order as values do, and arithmetic
//! that succeeds is exact.

#![no_main]

use item::Number;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (left, right) = text.split_once('\n').unwrap_or((text, "1"));
    let (Ok(left), Ok(right)) = (Number::parse(left), Number::parse(right)) else { return };
    for number in [left, right] {
        let printed = number.to_string();
        assert_eq!(Number::parse(&printed), Ok(number));
        assert!(!printed.contains(['e', 'E', '+']));
        let bytes = encoded(number);
        assert_eq!(Number::decode(&bytes), Some((number, bytes.len())));
        assert!((1..=22).contains(&number.size_bytes()));
    }
    assert_eq!(left.cmp(&right), encoded(left).cmp(&encoded(right)));
    assert_eq!(left.checked_add(right), right.checked_add(left));
    if let Ok(sum) = left.checked_add(right) {
        assert_eq!(sum.checked_sub(right), Ok(left));
        assert_eq!(sum.checked_sub(left), Ok(right));
    }
    if let Ok(difference) = left.checked_sub(right) {
        assert_eq!(difference.cmp(&Number::ZERO), left.cmp(&right));
        assert_eq!(difference.checked_add(right), Ok(left));
    }
});

fn encoded(number: Number) -> Vec<u8> {
    let mut bytes = Vec::new();
    number.encode(&mut bytes);
    bytes
}
