//! What a model can't say is kept beside it, and put back where the model has not been changed since.

use model_format::Notes;
use model_format::kept::{difference, restore};
use proptest::prelude::*;
use serde_json::{Value, json};

fn put_back(written: &Value, kept: &Value) -> (Value, Vec<String>) {
    let mut notes = Notes::default();
    let restored = restore(written.clone(), kept, &mut notes);
    (restored, notes.0)
}

#[test]
fn a_member_the_model_has_no_place_for_comes_back() {
    let written = json!({ "Tables": [{ "TableName": "a" }, { "TableName": "b" }] });
    let document =
        json!({ "Author": "Ann", "Tables": [{ "TableName": "a", "Colour": "red" }, { "TableName": "b" }] });
    let kept = difference(&written, &document).unwrap();
    assert_eq!(kept, json!({ "Author": "Ann", "Tables": { "$by": "TableName", "a": { "Colour": "red" } } }));
    assert_eq!(put_back(&written, &kept), (document, vec![]));
}

#[test]
fn what_the_model_says_now_wins_over_what_was_kept() {
    let kept = difference(&json!({ "rate": 1 }), &json!({ "rate": "one" })).unwrap();
    let changed = json!({ "rate": 5 });
    let (restored, notes) = put_back(&changed, &kept);
    assert_eq!(restored, changed);
    assert_eq!(notes, ["what was kept of /rate has no place any more"]);
}

#[test]
fn what_was_kept_of_a_removed_element_is_noted_and_not_made_again() {
    let element = |rest: Value| json!([{ "name": "a", "n": rest }, { "name": "b" }]);
    let mut document = element(json!(1));
    document[0]["colour"] = "red".into();
    let kept = difference(&element(json!(1)), &document).unwrap();
    let (restored, notes) = put_back(&json!([{ "name": "b" }]), &kept);
    assert_eq!(restored, json!([{ "name": "b" }]));
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn elements_come_back_in_their_order_and_new_ones_after_them() {
    let named = |names: &[&str]| names.iter().map(|name| json!({ "name": name })).collect::<Value>();
    let kept = difference(&named(&["a", "b"]), &named(&["b", "x", "a"])).unwrap();
    assert_eq!(put_back(&named(&["a", "b"]), &kept).0, named(&["b", "x", "a"]));
    assert_eq!(put_back(&named(&["a", "b", "c"]), &kept).0, named(&["b", "x", "a", "c"]));
}

fn documents() -> impl Strategy<Value = Value> {
    let names = || prop_oneof![Just("name"), Just("IndexName"), Just("$is"), Just("a"), Just("b")];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3i64).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((names(), inner), 0..4).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_document_comes_back_as_it_was(written in documents(), document in documents()) {
        match difference(&written, &document) {
            None => prop_assert_eq!(written, document),
            Some(kept) => {
                let (restored, notes) = put_back(&written, &kept);
                prop_assert_eq!(restored, document, "kept as {}", kept);
                prop_assert_eq!(notes, Vec::<String>::new());
            }
        }
    }

    /// As a reader meets it who knows part of a document: names are the same, members are missing.
    #[test]
    fn lists_of_named_elements_come_back_too(
        ours in proptest::collection::vec(("[a-e]", documents()), 0..5),
        theirs in proptest::collection::vec(("[a-e]", documents()), 0..5),
    ) {
        let list = |elements: &[(String, Value)]| -> Value {
            elements.iter().map(|(name, rest)| json!({ "IndexName": name, "rest": rest })).collect()
        };
        let (written, document) = (list(&ours), list(&theirs));
        if let Some(kept) = difference(&written, &document) {
            prop_assert_eq!(put_back(&written, &kept).0, document, "kept as {}", kept);
        }
    }
}
