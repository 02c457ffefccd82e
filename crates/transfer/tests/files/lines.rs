//! An item, written as a line and read back, is the same item, in both formats.

#[path = "../../../item/tests/values/support.rs"]
mod item_support;

use item::{Item, Number, Value};
use item_support::{names, values};
use proptest::collection::btree_map;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use transfer::Format;
use transfer::export::{Change, ChangeRecord};
use transfer::format::LineFault;

use crate::support::{every_type, item, number};

const FORMATS: [Format; 2] = [Format::DynamodbJson, Format::Ion];

fn written(format: Format, item: &Item) -> Vec<u8> {
    let mut line = Vec::new();
    format.write_item(item.as_ref(), &mut line);
    line
}

fn read(format: Format, line: &str) -> Result<Item, LineFault> {
    format.read_put(line.as_bytes()).map(|record| record.item)
}

fn items() -> impl Strategy<Value = Item> {
    btree_map(names(), values(), 0..6).prop_map(|attributes| {
        let mut item = item::ItemBuilder::default();
        attributes.iter().for_each(|(name, value)| item.put(name, item::ValueBuf::from(value).as_ref()));
        item.build()
    })
}

/// Numbers of up to 38 digits, anywhere in DynamoDB's range.
fn numbers() -> impl Strategy<Value = Number> {
    ("-?[1-9][0-9]{0,37}", -130i32..88).prop_filter_map("within the range", |(digits, power)| {
        Number::parse(&format!("{digits}e{power}")).ok()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(15), ..ProptestConfig::with_cases(400) })]

    #[test]
    fn an_item_survives_both_formats(item in items()) {
        for format in FORMATS {
            let line = written(format, &item);
            prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "one line");
            let record = format.read_put(&line).unwrap();
            prop_assert_eq!(&record.item, &item, "{}", String::from_utf8_lossy(&line));
        }
    }

    #[test]
    fn a_number_keeps_all_of_its_digits(number in numbers()) {
        let item = item(&[("n", number.into()), ("ns", Value::number_set([number]))]);
        for format in FORMATS {
            let line = written(format, &item);
            prop_assert_eq!(&format.read_put(&line).unwrap().item, &item, "{}", String::from_utf8_lossy(&line));
        }
    }

    #[test]
    fn a_change_survives_both_formats(
        keys in items(), old in proptest::option::of(items()), new in proptest::option::of(items()),
        micros in 0..u64::MAX,
    ) {
        let change = Change {
            write_timestamp_micros: micros,
            keys: keys.as_ref(),
            old_image: old.as_ref().map(Item::as_ref),
            new_image: new.as_ref().map(Item::as_ref),
        };
        for format in FORMATS {
            let mut line = Vec::new();
            format.write_change(&change, &mut line);
            let expected = ChangeRecord {
                write_timestamp_micros: micros,
                keys: keys.clone(),
                old_image: old.clone(),
                new_image: new.clone(),
            };
            prop_assert_eq!(format.read_change(&line).unwrap(), expected);
        }
    }

    #[test]
    fn no_text_makes_the_readers_panic(text in "\\PC{0,40}", piece in "[\\[\\]{}:,'\"$a0.d\\\\/*-]{0,30}") {
        for format in FORMATS {
            for line in [text.clone(), piece.clone(), format!("{{Item:{{a:{piece}}}}}")] {
                let _ = read(format, &line);
            }
        }
    }
}

#[test]
fn values_have_the_ion_that_dynamodb_writes() {
    let check = |value: Value, ion: &str| {
        let line = written(Format::Ion, &item(&[("a", value)]));
        assert_eq!(String::from_utf8(line).unwrap(), format!("$ion_1_0 {{Item:{{a:{ion}}}}}\n"));
    };
    check(number("103").into(), "103.");
    check(number("600").into(), "6d2");
    check(number("-600").into(), "-6d2");
    check(number("0").into(), "0.");
    check(number("-0.5").into(), "-0.5");
    check(number("12.25").into(), "12.25");
    check(number("0.000001").into(), "0.000001");
    check(number("-0.0000015").into(), "-0.0000015");
    check(number("0.00000015").into(), "15d-8");
    check(number("-1e-130").into(), "-1d-130");
    check(number("1e125").into(), "1d125");
    check("a\"\\\n\u{1}'é".into(), "\"a\\\"\\\\\\n\\x01'é\"");
    check("".into(), "\"\"");
    check(Value::B(b"hi".to_vec()), "{{aGk=}}");
    check(Value::B(vec![]), "{{}}");
    check(Value::Null, "null");
    check(true.into(), "true");
    check(Value::string_set(["b", "a"]), "$dynamodb_SS::[\"a\",\"b\"]");
    check(Value::number_set([number("10"), number("1")]), "$dynamodb_NS::[1.,1d1]");
    check(Value::binary_set([b"hi".to_vec()]), "$dynamodb_BS::[{{aGk=}}]");
    check(Value::L(vec!["a".into(), Value::Null]), "[\"a\",null]");
    check(
        Value::map([("a b", 1), ("null", 2), ("$10", 3), ("it's", 4), ("9a", 5), ("_$x1", 6)]),
        "{'$10':3.,'9a':5.,_$x1:6.,'a b':1.,'it\\'s':4.,'null':2.}",
    );
}

#[test]
fn ion_that_others_write_is_read() {
    let check = |ion: &str, value: Value| {
        let line = format!("{{Item:{{a:{ion}}}}}");
        assert_eq!(read(Format::Ion, &line).as_ref(), Ok(&item(&[("a", value)])), "{line}");
    };
    check("600", number("600").into());
    check("1_000.5", number("1000.5").into());
    check("1.5D3", number("1500").into());
    check("1e3", number("1000").into());
    check("null.string", Value::Null);
    check("units::5.", number("5").into());
    check("'a b'::$dynamodb_NS::[ 1. , 2 ,]", Value::number_set([number("1"), number("2")]));
    check("'''long ''' '''string'''", "long string".into());
    check(r#""\x41\u00e9\U0001F600\uD83D\uDE00\0\a\v\/\?\'""#, "Aé😀😀\0\u{7}\u{b}/?'".into());
    check("{{ aG k= }}", Value::B(b"hi".to_vec()));
    check("/* why */ [ \"x\" // end\n ]", Value::list(["x"]));
    check("{ \"quoted\" : true, 'x' : false }", Value::map([("quoted", true), ("x", false)]));
    assert_eq!(read(Format::Ion, "  $ion_1_0 {Item:{}, Other:[1, (2)]}"), Err(no_type("s-expression")));
    assert_eq!(read(Format::Ion, "  $ion_1_0 {Other:[1],Item:{}}\r"), Ok(Item::default()));
    assert!(
        Format::Ion.is_blank(b" $ion_1_0\r") && Format::Ion.is_blank(b"") && !Format::Ion.is_blank(b"{}")
    );
}

fn no_type(what: &str) -> LineFault {
    LineFault::Refused(format!("DynamoDB has no type for an Ion {what}"))
}

#[test]
fn a_record_that_breaks_a_rule_is_refused_and_one_that_is_not_in_the_format_is_unparseable() {
    let refused = |format: Format, line: &str, message: &str| {
        assert_eq!(read(format, line), Err(LineFault::Refused(message.to_owned())), "{line}");
    };
    let unparseable = |format: Format, line: &str| {
        assert!(
            matches!(read(format, line), Err(LineFault::Unparseable(_))),
            "{line}: {:?}",
            read(format, line)
        );
    };
    use Format::{DynamodbJson as Json, Ion};
    let precision = "Attempting to store more than 38 significant digits in a Number";
    let digits = "1".repeat(39);
    refused(Json, r#"{"Items":{}}"#, "The record has no Item");
    refused(Json, r#"{"Item":null}"#, "The record has no Item");
    refused(Json, "[]", "The record is not a JSON object");
    refused(Json, &format!(r#"{{"Item":{{"a":{{"N":"{digits}"}}}}}}"#), precision);
    refused(Ion, "{Items:{}}", "The record has no Item");
    refused(Ion, "{Item:[]}", "Item is not a struct");
    refused(Ion, &format!("{{Item:{{a:{digits}}}}}"), precision);
    refused(Ion, "{Item:{'':1}}", "Empty attribute name");
    refused(
        Ion,
        "{Item:{a:$dynamodb_SS::[]}}",
        "One or more parameter values were invalid: An string set  may not be empty",
    );
    refused(
        Ion,
        "{Item:{a:$dynamodb_SS::[\"x\",\"x\"]}}",
        "One or more parameter values were invalid: Input collection [x, x] contains duplicates.",
    );
    refused(Ion, "{Item:{a:$dynamodb_SS::[1]}}", "A member of a set of type SS has another type");
    refused(Ion, "{Item:{a:$dynamodb_SS::1}}", "$dynamodb_SS is not followed by a list");
    refused(Ion, "{Item:{a:word}}", "DynamoDB has no type for an Ion symbol");
    refused(Ion, "{Item:{a:{{\"clob\"}}}}", "DynamoDB has no type for an Ion clob");
    refused(
        Ion,
        "{Item:{a:2020-01-01T00:00Z}}",
        "DynamoDB has no type for an Ion value like 2020-01-01T00:00Z",
    );
    for line in ["", "{", r#"{"Item":{}"#, r#"{"Item":{}} x"#, "nonsense", r#"{"Item":{"a":{"N":"x"}}"#] {
        unparseable(Json, line);
    }
    for line in [
        "",
        "{",
        "{Item:{}",
        "{Item:{}} x",
        "{Item:{a:}}",
        "{Item:{a:\"x}}",
        "{Item:{a:{{x}}}}",
        "{$10:{}}",
        "{Item:{a:\"\\uD83D\\u0041\"}}",
        "{Item:{a:\"\\uDE00\"}}",
    ] {
        unparseable(Ion, line);
    }
    assert!(matches!(Ion.read_put(b"{Item:{a:\"\xFF\"}}"), Err(LineFault::Unparseable(_))));
}

#[test]
fn values_nested_32_levels_deep_are_read_and_deeper_ones_are_refused() {
    let nested = |levels: usize| format!("{{Item:{{a:{}{}}}}}", "[".repeat(levels), "]".repeat(levels));
    assert!(read(Format::Ion, &nested(32)).is_ok());
    for levels in [33, 100_000] {
        let fault = read(Format::Ion, &nested(levels)).unwrap_err();
        assert!(fault.to_string().starts_with("Nesting Levels have exceeded supported limits"), "{fault}");
    }
}

#[test]
fn a_bulk_put_has_a_condition_beside_its_item() {
    let json = r##"{"Item":{"a":{"N":"1"}},"ConditionExpression":"#a < :b","ExpressionAttributeNames":{"#a":"a"},"ExpressionAttributeValues":{":b":{"N":"5"}}}"##;
    let ion = r##"$ion_1_0 {Item:{a:1.},ConditionExpression:"#a < :b",ExpressionAttributeNames:{'#a':"a"},ExpressionAttributeValues:{':b':5.}}"##;
    for (format, line) in [(Format::DynamodbJson, json), (Format::Ion, ion)] {
        let record = format.read_put(line.as_bytes()).unwrap();
        assert_eq!(record.item, item(&[("a", 1.into())]));
        assert_eq!(record.condition_expression.as_deref(), Some("#a < :b"));
        assert_eq!(record.expression_attribute_names.unwrap()["#a"], "a");
        assert_eq!(record.expression_attribute_values, Some(item(&[(":b", 5.into())])));
    }
    let plain = Format::DynamodbJson.read_put(br#"{"Item":{}}"#).unwrap();
    assert_eq!(plain.condition_expression, None);
}

#[test]
fn an_item_with_every_type_survives() {
    for format in FORMATS {
        assert_eq!(format.read_put(&written(format, &every_type())).unwrap().item, every_type());
    }
}
