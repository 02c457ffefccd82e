//! Statements at DynamoDB's limits, beyond them, and far beyond them.

use expression::partiql::{Statement, parse};
use item::{Value, ValueBuf};

use crate::support;

fn refused(text: &str) -> String {
    Statement::parse(text, &[]).map(|_| panic!("accepted: {text}")).unwrap_err().to_string()
}

const NESTING: &str = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit";

#[test]
fn a_statement_has_8192_characters() {
    let padded = |length: usize| {
        let text = "SELECT * FROM T WHERE a = ''";
        text.replace("''", &format!("'{}'", "é".repeat(length - text.chars().count())))
    };
    assert!(parse(&padded(8192)).is_ok());
    assert!(refused(&padded(8193)).starts_with("Statement wasn't well formed, can't be processed: "));
}

#[test]
fn a_statement_has_300_operators() {
    let too_many = "The expression contains too many operators; operator count: 301";
    // Comparisons and the ORs between them.
    let chain = |count| vec!["a<b"; count].join(" OR ");
    assert!(parse(&format!("SELECT * FROM T WHERE {}", chain(150))).is_ok());
    assert_eq!(refused(&format!("SELECT * FROM T WHERE {}", chain(151))), too_many);
    // Here, unlike in conditions, functions count.
    let functions = |count| vec!["contains(a,b)"; count].join(" OR ");
    assert!(parse(&format!("SELECT * FROM T WHERE {}", functions(150))).is_ok());
    assert_eq!(refused(&format!("SELECT * FROM T WHERE {}", functions(151))), too_many);
    let nots = |count| format!("SELECT * FROM T WHERE {}a<b", "NOT ".repeat(count));
    assert!(Statement::parse(&nots(299), &[]).is_ok());
    assert_eq!(refused(&nots(300)), too_many);
    let sum = |count| format!("UPDATE T SET a = b{} WHERE p = 1", "+1".repeat(count));
    assert!(Statement::parse(&sum(299), &[]).is_ok());
    assert_eq!(refused(&sum(300)), too_many);
    // Both clauses count together.
    let both = |count| format!("UPDATE T SET a = b{} WHERE {}", "+1".repeat(count), chain(100));
    assert!(Statement::parse(&both(101), &[]).is_ok());
    assert_eq!(refused(&both(102)), too_many);
}

#[test]
fn values_are_32_levels_deep() {
    let list = |levels: usize| format!("{}1{}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    for (levels, text) in [32, 33].map(|levels| (levels, list(levels))) {
        for text in [
            format!("INSERT INTO T VALUE {{'p': {text}}}"),
            format!("SELECT * FROM T WHERE a = {text}"),
            format!("UPDATE T SET a = {text} WHERE p = 1"),
        ] {
            let result = Statement::parse(&text, &[]).map(|_| ()).map_err(|error| error.to_string());
            assert_eq!(result, if levels == 32 { Ok(()) } else { Err(NESTING.to_owned()) }, "{text}");
        }
    }
    // The levels of a parameter are added to those around it.
    let parameter = |levels| {
        let value = (1..levels).fold(Value::from(1), |inner, _| support::list([inner]));
        [ValueBuf::from(value)]
    };
    assert!(Statement::parse("INSERT INTO T VALUE {'p': [?]}", &parameter(31)).is_ok());
    let error = Statement::parse("INSERT INTO T VALUE {'p': [?]}", &parameter(32)).unwrap_err();
    assert_eq!(error.to_string(), NESTING);
}

#[test]
fn paths_are_32_elements_long_and_indexes_have_31_bits() {
    let path = |length: usize| format!("SELECT a{} FROM T", ".b".repeat(length - 1));
    assert!(parse(&path(32)).is_ok());
    assert_eq!(refused(&path(33)), "The document path has too many nesting levels; nesting levels: 33");
    assert!(parse("SELECT a[2147483647] FROM T").is_ok());
    assert_eq!(
        refused("SELECT a[2147483648] FROM T"),
        "List index is not within the allowable range; index: [2147483648]"
    );
}

#[test]
fn brackets_by_the_thousand_do_no_harm() {
    for open in
        ["(", "[", "{'a':", "<<", "size(", "NOT ", "-", "a.", "a[", "a IN (", "NOT (", "list_append(", "a="]
    {
        for frame in ["SELECT * FROM T WHERE ", "UPDATE T SET a = ", "INSERT INTO T VALUE ", "EXISTS(", ""] {
            let many = open.repeat((8192 - frame.len()) / open.len());
            assert!(Statement::parse(&format!("{frame}{many}"), &[]).is_err(), "{frame} {open}");
        }
    }
    // Parentheses are free, so these are good statements.
    let nested = |open: &str, inner: &str, close: &str| {
        let depth = (8192 - 60) / (open.len() + close.len());
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    assert!(Statement::parse(&format!("SELECT * FROM T WHERE {}", nested("(", "a=1", ")")), &[]).is_ok());
    assert!(
        Statement::parse(&format!("UPDATE T SET a = {} WHERE p = 1", nested("(", "a+1", ")")), &[]).is_ok()
    );
    assert!(
        Statement::parse(&format!("SELECT * FROM T WHERE {}", nested("(", "a", ") IS NULL")), &[]).is_err()
    );
}
