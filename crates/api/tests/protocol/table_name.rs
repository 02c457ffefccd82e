//! A table is named by its name or its ARN.

use api::{Constraint, TableHome, TableName};

#[test]
fn names() {
    for name in ["abc", "a.b-c_9", &"n".repeat(255)] {
        assert_eq!(TableName::parse(name), Ok(TableName { name, home: None }));
    }
}

#[test]
fn arns() {
    let arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/Music";
    let home = TableHome { region: "eu-west-1", account: "123456789012" };
    assert_eq!(TableName::parse(arn), Ok(TableName { name: "Music", home: Some(home) }));
    let china = TableName::parse("arn:aws-cn:dynamodb:cn-north-1:123456789012:table/Music");
    assert_eq!(china.map(|table| table.name), Ok("Music"));
}

#[test]
fn text_that_only_resembles_an_arn_is_a_bad_name() {
    let pattern = Constraint::Pattern("[a-zA-Z0-9_.-]+");
    for text in [
        "arn:aws:dynamodb:eu-west-1:123456789012:table/a!b",
        "arn:aws:dynamodb:eu-west-1:123456789012:table/Music/index/byYear",
        "arn:aws:dynamodb:eu-west-1:123456789012:stream/Music",
        "arn:aws:s3:eu-west-1:123456789012:table/Music",
        "arn:aws:dynamodb::123456789012:table/Music",
        "arn:aws:dynamodb",
    ] {
        assert_eq!(TableName::parse(text), Err(vec![pattern.clone()]), "{text}");
    }
}

#[test]
fn all_broken_constraints_are_reported() {
    let pattern = Constraint::Pattern("[a-zA-Z0-9_.-]+");
    assert_eq!(TableName::parse(""), Err(vec![Constraint::LengthMin(1)]));
    assert_eq!(TableName::parse("é"), Err(vec![pattern.clone(), Constraint::LengthMin(3)]));
    assert_eq!(TableName::parse(&"!".repeat(256)), Err(vec![pattern, Constraint::LengthMax(255)]));
}
