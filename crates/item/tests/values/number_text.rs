//! Which texts are numbers, how numbers are printed, and how large they are, case by case.

use item::{Number, NumberError};

fn parse(text: &str) -> Number {
    Number::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn numbers_print_as_plain_decimals() {
    let check = |text: &str, expected: &str| assert_eq!(parse(text).to_string(), expected, "of {text}");
    for (text, expected) in [
        ("0", "0"),
        ("-0", "0"),
        ("+0.00", "0"),
        ("0e125", "0"),
        ("00", "0"),
        ("42", "42"),
        ("+42", "42"),
        ("-42", "-42"),
        ("007", "7"),
        ("5.", "5"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("1.10", "1.1"),
        ("100.000", "100"),
        ("1e3", "1000"),
        ("1E+3", "1000"),
        ("1.23e4", "12300"),
        ("123e-2", "1.23"),
        ("5.e1", "50"),
        ("1e-000000000000000000000000000001", "0.1"),
        ("123456789012345678901234567890.12345678", "123456789012345678901234567890.12345678"),
        ("10000000000000000000", "10000000000000000000"),
        ("10000000000000000001", "10000000000000000001"),
    ] {
        check(text, expected);
    }
    check("1e125", &("1".to_owned() + &"0".repeat(125)));
    check("-1e-130", &("-0.".to_owned() + &"0".repeat(129) + "1"));
    let longest = "9".repeat(38);
    check(&format!("{longest}e88"), &(longest.clone() + &"0".repeat(88)));
    check(&format!("1{}", "0".repeat(100)), &format!("1{}", "0".repeat(100)));
}

#[test]
fn other_texts_are_not_numbers() {
    for text in [
        "",
        "+",
        "-",
        ".",
        "e1",
        ".e1",
        "1e",
        "1e+",
        "1.2.3",
        "--1",
        "+-1",
        "1e1.5",
        "1e1e1",
        " 1",
        "1 ",
        "1_0",
        "0x1",
        "NaN",
        "Infinity",
        "-Infinity",
        "dog",
        "1é",
        "１",
        "1e9223372036854775808",
        "1e-9223372036854775809",
    ] {
        assert_eq!(Number::parse(text), Err(NumberError::NotNumeric(text.to_owned())));
    }
}

#[test]
fn digits_and_magnitude_are_bounded() {
    let check = |text: &str, expected| assert_eq!(Number::parse(text), Err(expected), "of {text}");
    check(&"1".repeat(39), NumberError::Precision);
    check("3.14159265358979323846264338327950288419", NumberError::Precision);
    check(&format!("1{}1", "0".repeat(37)), NumberError::Precision);
    for text in
        ["1e126", "-1e126", "11e125", "1e2147483648", "1e9223372036854775807", "0e126", "0e99999999999"]
    {
        check(text, NumberError::Overflow);
    }
    for text in ["1e-131", "0.9e-130", "-1e-131", "1e-9223372036854775808", "0e-131", "0.0e-130"] {
        check(text, NumberError::Underflow);
    }
    for text in
        ["0.1e126", "9.9999999e125", "10e-131", "0e125", "0.0e126", "0e-130", "0.00000000000000000000e130"]
    {
        parse(text);
    }
}

#[test]
fn a_number_is_its_value_not_its_text() {
    for text in ["1000", "1e3", "1E+3", "1000.0", "001000", "+1000", "0.1e4"] {
        assert_eq!(parse(text), Number::from(1000));
    }
    assert_eq!(Number::from(i64::MIN).to_string(), i64::MIN.to_string());
    assert_eq!(Number::from(u64::MAX).to_string(), u64::MAX.to_string());
}

#[test]
fn results_that_do_not_fit_are_overflows() {
    let add = |a: &str, b: &str| parse(a).checked_add(parse(b)).map(|sum| sum.to_string());
    let nines = "9".repeat(38);
    assert_eq!(add("1", "10000000000000000000000"), Ok("10000000000000000000001".to_owned()));
    assert_eq!(add("9e125", "9e124"), Ok(parse("9.9e125").to_string()));
    assert_eq!(add("0.1", "0.2"), Ok("0.3".to_owned()));
    assert_eq!(add("5", "-5"), Ok("0".to_owned()));
    assert_eq!(add("1e-130", "0"), Ok(parse("1e-130").to_string()));
    assert_eq!(add(&nines, "1"), Ok(parse("1e38").to_string()));
    assert_eq!(add("1e38", "-1"), Ok(nines.clone()));
    for (a, b) in [
        ("9e125", "9e125"),
        ("1e50", "1"),
        ("1e50", "-1"),
        ("1e125", "1e-130"),
        (&nines, "0.1"),
        ("1.1e-130", "-1e-130"),
    ] {
        assert_eq!(add(a, b), Err(NumberError::Overflow), "{a} + {b}");
        assert_eq!(add(b, a), Err(NumberError::Overflow), "{b} + {a}");
    }
}

#[test]
fn sizes_count_pairs_of_digits_on_either_side_of_the_point() {
    for (text, expected) in [
        ("0", 1),
        ("7", 2),
        ("42", 2),
        ("-42", 3),
        ("0.0000001", 2),
        ("123", 3),
        ("1000", 2),
        ("1e125", 2),
        ("1.5", 3),
        ("-1.5", 4),
        ("100.5", 4),
        ("12.345", 4),
        ("0.00123", 3),
    ] {
        assert_eq!(parse(text).size_bytes(), expected, "of {text}");
    }
    assert_eq!(parse(&"1".repeat(38)).size_bytes(), 20);
}

#[test]
fn the_nearest_number_of_32_bits_is_what_the_standard_library_reads() {
    let texts = [
        "0",
        "1",
        "-1.5",
        "0.1",
        "0.3333333333333333333333333333",
        "16777217",
        "16777216.5",
        "1e10",
        "1e-10",
    ];
    let extremes =
        ["3.4028235e38", "3.5e38", "-1e125", "1.4e-45", "1e-46", "123456789e-20", "99999999999999999999"];
    for text in texts.into_iter().chain(extremes) {
        assert_eq!(parse(text).to_f32(), text.parse::<f32>().expect("a number"), "{text}");
    }
}
