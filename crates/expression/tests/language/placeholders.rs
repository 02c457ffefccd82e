//! The bookkeeping of `#names` and `:values` over the expressions of a request.

use std::collections::BTreeMap;

use expression::{Condition, Kind, Placeholders, Projection, Update};
use item::ValueBuf;

fn names(keys: &[&str]) -> BTreeMap<String, String> {
    keys.iter().map(|key| (key.to_string(), "a".to_owned())).collect()
}

fn values(keys: &[&str]) -> BTreeMap<String, ValueBuf> {
    keys.iter().map(|key| (key.to_string(), ValueBuf::from("v"))).collect()
}

#[test]
fn keys_have_a_sign_and_a_word() {
    #[track_caller]
    fn check(names: &[&str], values: &[&str], expected: Option<&str>) {
        let (names, values) = (self::names(names), self::values(values));
        let found = Placeholders::new(Some(&names), Some(&values)).check_keys();
        assert_eq!(found.err().map(|error| error.to_string()).as_deref(), expected);
    }
    let long = format!("#{}", "a".repeat(255));
    check(&["#a", "#1", "#_"], &[":a"], None);
    check(&[], &[":a"], Some("ExpressionAttributeNames must not be empty"));
    check(&["#a"], &[], Some("ExpressionAttributeValues must not be empty"));
    check(&["x"], &[":a"], Some("ExpressionAttributeNames contains invalid key: Syntax error; key: \"x\""));
    check(&["#"], &[":a"], Some("ExpressionAttributeNames contains invalid key: Syntax error; key: \"#\""));
    check(
        &["#a-b"],
        &[":a"],
        Some("ExpressionAttributeNames contains invalid key: Syntax error; key: \"#a-b\""),
    );
    check(
        &["#a"],
        &["#a"],
        Some("ExpressionAttributeValues contains invalid key: Syntax error; key: \"#a\""),
    );
    check(&[&long[..255]], &[":a"], None);
    check(
        &[&long],
        &[":a"],
        Some(&format!("ExpressionAttributeNames contains invalid key: Syntax error; key: \"{long}\"")),
    );
}

#[test]
fn names_stand_for_names_of_a_proper_length() {
    let check = |name: String| {
        let names = [("#a".to_owned(), name)].into();
        Placeholders::new(Some(&names), None).check_keys().map_err(|error| error.to_string())
    };
    assert!(check(String::new()).unwrap_err().contains("Empty attribute name"));
    assert_eq!(check("x".repeat(65_535)), Ok(()));
    assert!(check("x".repeat(65_536)).unwrap_err().contains("must be less than 65536 bytes"));
}

#[test]
fn every_placeholder_is_used_by_some_expression() {
    let names = names(&["#c", "#b", "#a", "#d"]);
    let values = values(&[":a", ":b", ":c"]);
    let mut placeholders = Placeholders::new(Some(&names), Some(&values));
    Condition::parse(Kind::Condition, "#a = :a OR attribute_exists(b)", &mut placeholders).unwrap();
    let unused = |placeholders: Placeholders<'_>| placeholders.finish().unwrap_err().to_string();
    assert_eq!(
        unused(placeholders),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b, #c, #d}"
    );

    let mut placeholders = Placeholders::new(Some(&names), Some(&values));
    Condition::parse(Kind::Condition, "#a = :a", &mut placeholders).unwrap();
    Update::parse("SET x = if_not_exists(#b, y)", &mut placeholders).unwrap();
    Projection::parse("#c, x.#d", &mut placeholders).unwrap();
    assert_eq!(
        unused(placeholders),
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:b, :c}"
    );

    let mut placeholders = Placeholders::new(None, Some(&values));
    Update::parse("SET x = :a + :a, y = :b, z = :c", &mut placeholders).unwrap_err(); // strings cannot be added
    placeholders.finish().unwrap();
}
