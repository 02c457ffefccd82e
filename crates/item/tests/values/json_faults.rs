//! DynamoDB's messages for AttributeValues that it refuses. Shapes are checked before everything else.

use item::json::{self, Jiter};

/// How reading a value or an item ends: a shape fault, a broken rule, or canonical JSON.
#[derive(Debug, PartialEq)]
enum Outcome {
    Shape(String),
    Rule(String),
    Fine(String),
}

fn outcome<T: std::fmt::Debug>(
    read: Result<Result<T, item::ValueError>, json::ShapeError>,
    json: &mut Jiter<'_>,
) -> Outcome {
    match read {
        Err(error) => Outcome::Shape(error.to_string()),
        Ok(read) => {
            json.finish().expect("the whole value was read");
            match read {
                Err(error) => Outcome::Rule(error.to_string()),
                Ok(value) => Outcome::Fine(format!("{value:?}")),
            }
        }
    }
}

fn value(text: &str) -> Outcome {
    let mut json = Jiter::new(text.as_bytes());
    let read = json::read_value(&mut json);
    outcome(read, &mut json)
}

fn item(text: &str) -> Outcome {
    let mut json = Jiter::new(text.as_bytes());
    let read = json::read_item(&mut json);
    outcome(read, &mut json)
}

#[track_caller]
fn check_shape(text: &str, expected: &str) {
    assert_eq!(value(text), Outcome::Shape(expected.to_owned()), "of {text}");
}

#[track_caller]
fn check_rule(text: &str, expected: &str) {
    assert_eq!(value(text), Outcome::Rule(expected.to_owned()), "of {text}");
}

#[track_caller]
fn check_fine(text: &str, expected: &str) {
    assert_eq!(value(text), Outcome::Fine(expected.to_owned()), "of {text}");
}

const EMPTY: &str = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
const MANY: &str = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes";
const NESTING: &str = "Nesting Levels have exceeded supported limits: \
                       Attributes in the item have nested levels beyond supported limit";

#[test]
fn wrong_json_types_are_named_as_java_names_them() {
    check_shape(r#"{"S":1}"#, "NUMBER_VALUE cannot be converted to String");
    check_shape(r#"{"S":-1}"#, "NUMBER_VALUE cannot be converted to String");
    check_shape(r#"{"S":1.5}"#, "DECIMAL_VALUE cannot be converted to String");
    check_shape(r#"{"S":1e5}"#, "DECIMAL_VALUE cannot be converted to String");
    check_shape(r#"{"S":true}"#, "TRUE_VALUE cannot be converted to String");
    check_shape(r#"{"S":false}"#, "FALSE_VALUE cannot be converted to String");
    check_shape(r#"{"S":[]}"#, "Unrecognized collection type class java.lang.String");
    check_shape(r#"{"S":{}}"#, "Start of structure or map found where not expected");
    check_shape(r#"{"N":123}"#, "NUMBER_VALUE cannot be converted to String");
    check_shape(r#"{"B":1}"#, "only base-64-encoded strings are convertible to bytes");
    check_shape(r#"{"B":[]}"#, "Unrecognized collection type class java.nio.ByteBuffer");
    check_shape(r#"{"BOOL":"maybe"}"#, "STRING_VALUE cannot be converted to Boolean");
    check_shape(r#"{"BOOL":0}"#, "NUMBER_VALUE cannot be converted to Boolean");
    check_shape(r#"{"NULL":[]}"#, "Unrecognized collection type class java.lang.Boolean");
    check_shape(r#"{"SS":"a"}"#, "Unexpected field type");
    check_shape(r#"{"SS":{}}"#, "Start of structure or map found where not expected");
    check_shape(r#"{"SS":["a",1]}"#, "NUMBER_VALUE cannot be converted to String");
    check_shape(r#"{"L":true}"#, "Unexpected field type");
    check_shape(r#"{"L":["a"]}"#, "Unexpected value type in payload");
    check_shape(
        r#"{"L":[[]]}"#,
        "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue",
    );
    check_shape(r#"{"M":"a"}"#, "Unexpected field type");
    check_shape(
        r#"{"M":[]}"#,
        "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
    );
    check_shape(r#"{"M":{"a":"b"}}"#, "Unexpected value type in payload");
    check_shape(r#""text""#, "Unexpected value type in payload");
}

#[test]
fn base64_is_checked_as_a_shape() {
    check_shape(r#"{"B":"abc"}"#, "Base64 encoded length is expected a multiple of 4 bytes but found: 3");
    check_shape(r#"{"B":"YR=="}"#, "Invalid last non-pad Base64 character dectected");
    check_shape(r#"{"B":"a!=="}"#, "Invalid base 64 character: '!'");
    check_fine(r#"{"B":"YQ=="}"#, r#"{"B":"YQ=="}"#);
    check_fine(r#"{"B":""}"#, r#"{"B":""}"#);
}

#[test]
fn what_is_no_json_has_no_text() {
    for text in
        ["", "{", r#"{"S"}"#, r#"{"S":"a""#, r#"{"S":"\ud800"}"#, r#"{"S":nul}"#, r#"{"S":-}"#, "{]", "@"]
    {
        check_shape(text, "");
    }
}

#[test]
fn an_attribute_value_has_exactly_one_type() {
    check_rule("{}", EMPTY);
    check_rule("null", EMPTY);
    check_rule(r#"{"S":null}"#, EMPTY);
    check_rule(r#"{"dog":"cat"}"#, EMPTY);
    check_rule(r#"{"L":[{}]}"#, EMPTY);
    check_rule(r#"{"M":{"a":null}}"#, EMPTY);
    check_rule(r#"{"S":"a","N":"1"}"#, MANY);
    check_rule(r#"{"S":"a","N":"x"}"#, "The parameter cannot be converted to a numeric value: x");
    check_fine(r#"{"S":"a","N":null,"dog":{"a":[1,{}]}}"#, r#"{"S":"a"}"#);
    check_fine(r#"{"S":"a","S":"b"}"#, r#"{"S":"b"}"#);
}

#[test]
fn some_strings_are_booleans() {
    for text in ["true", "T", "Yes", "y", "1"] {
        check_fine(&format!(r#"{{"BOOL":"{text}"}}"#), r#"{"BOOL":true}"#);
    }
    for text in ["FALSE", "f", "no", "N", "0"] {
        check_fine(&format!(r#"{{"BOOL":"{text}"}}"#), r#"{"BOOL":false}"#);
    }
    check_fine(r#"{"NULL":"yes"}"#, r#"{"NULL":true}"#);
}

#[test]
fn null_must_be_true() {
    let text =
        "One or more parameter values were invalid: Null attribute value types must have the value of true";
    check_rule(r#"{"NULL":false}"#, text);
    check_rule(r#"{"NULL":"no"}"#, text);
}

#[test]
fn sets_have_members_and_no_member_twice() {
    let check = |text, rule| check_rule(text, &format!("One or more parameter values were invalid: {rule}"));
    check(r#"{"SS":[]}"#, "An string set  may not be empty");
    check(r#"{"NS":[]}"#, "An number set  may not be empty");
    check(r#"{"BS":[]}"#, "Binary sets should not be empty");
    check(r#"{"SS":["b","a","b"]}"#, "Input collection [b, a, b] contains duplicates.");
    check(
        r#"{"BS":["Yg==","YQ==","Yg=="]}"#,
        "Input collection [Yg==, YQ==, Yg==]of type BS contains duplicates.",
    );
    check_rule(r#"{"NS":["1","2","1.0"]}"#, "Input collection contains duplicates");
    check_rule(r#"{"NS":["1","x"]}"#, "The parameter cannot be converted to a numeric value: x");
    check_fine(r#"{"SS":["b","","a"]}"#, r#"{"SS":["","a","b"]}"#);
    check_fine(r#"{"NS":["10","9","-1e1"]}"#, r#"{"NS":["-10","9","10"]}"#);
    check_fine(r#"{"SS":["b","abc"]}"#, r#"{"SS":["abc","b"]}"#);
}

#[test]
fn later_shape_faults_come_before_earlier_broken_rules() {
    check_shape(r#"{"L":[{"N":"x"},{"S":1}]}"#, "NUMBER_VALUE cannot be converted to String");
    check_shape(
        r#"{"M":{"b":{"SS":[]},"a":{"NULL":false}},"N":7}"#,
        "NUMBER_VALUE cannot be converted to String",
    );
}

#[test]
fn the_first_broken_rule_is_reported() {
    check_rule(r#"{"L":[{"N":"x"},{}]}"#, "The parameter cannot be converted to a numeric value: x");
    check_rule(r#"{"L":[{},{"N":"x"}]}"#, EMPTY);
}

fn nested(levels: usize) -> String {
    format!(r#"{}{{"S":"x"}}{}"#, r#"{"L":["#.repeat(levels - 1), "]}".repeat(levels - 1))
}

#[test]
fn there_are_32_levels() {
    check_fine(&nested(32), &nested(32));
    check_rule(&nested(33), NESTING);
    assert_eq!(
        item(&format!(r#"{{"a":{}}}"#, nested(32))),
        Outcome::Fine(format!(r#"{{"a":{}}}"#, nested(32)))
    );
    assert_eq!(item(&format!(r#"{{"a":{}}}"#, nested(33))), Outcome::Rule(NESTING.to_owned()));
}

#[test]
fn a_hundred_thousand_levels_are_refused_without_harm() {
    check_rule(&nested(100_000), NESTING);
    let brackets = format!(r#"{{"dog":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    check_rule(&brackets, EMPTY);
    check_shape(&"[".repeat(100_000).replacen('[', r#"{"dog":"#, 1), "");
}

#[test]
fn attribute_names_have_1_to_65535_bytes() {
    let named = |name: &str| format!(r#"{{"{name}":{{"S":"x"}}}}"#);
    assert_eq!(item(&named("")), Outcome::Rule("Empty attribute name".to_owned()));
    check_rule(&format!(r#"{{"M":{}}}"#, named("")), "Empty attribute name");
    let longest = "é".repeat(32_767) + "a";
    assert_eq!(item(&named(&longest)), Outcome::Fine(named(&longest)));
    let text = "Attribute name is too large, must be less than 65536 bytes";
    assert_eq!(item(&named(&"é".repeat(32_768))), Outcome::Rule(text.to_owned()));
}

#[test]
fn of_two_attributes_with_one_name_the_last_stays() {
    let sent = r#"{"b":{"S":"1"},"a":{"S":"2"},"b":{"S":"3"}}"#;
    assert_eq!(item(sent), Outcome::Fine(r#"{"a":{"S":"2"},"b":{"S":"3"}}"#.to_owned()));
}

#[test]
fn only_faults_of_the_request_shape_say_so() {
    let is_request_shape = |text: &str| {
        let read = json::read_value(&mut Jiter::new(text.as_bytes()));
        read.expect("the shape is right").expect_err("a rule is broken").is_request_shape()
    };
    for text in [r#"{"SS":[]}"#, r#"{"NS":["1","1"]}"#, r#"{"NULL":false}"#, &nested(33)] {
        assert!(is_request_shape(text), "{text}");
    }
    for text in ["{}", r#"{"S":"a","N":"1"}"#, r#"{"N":"x"}"#, r#"{"M":{"":{"S":""}}}"#] {
        assert!(!is_request_shape(text), "{text}");
    }
}
