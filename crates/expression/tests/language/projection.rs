//! What projections return of an item.

use expression::Projection;
use item::Value;

use crate::support::{item, list, map, with_placeholders};

fn sample() -> item::Item {
    item([
        ("p", Value::from("key")),
        (
            "a",
            map([
                (
                    "b",
                    list([
                        Value::from(2),
                        Value::from(4),
                        map([("x", Value::from("hi")), ("y", Value::from("yo"))]),
                    ]),
                ),
                ("c", Value::from(5)),
            ]),
        ),
        ("a.b", Value::from("dotted")),
        ("d", Value::from("hello")),
    ])
}

#[track_caller]
fn check<const N: usize>(text: &str, expected: [(&str, Value); N]) {
    let projection = with_placeholders(|placeholders| Projection::parse(text, placeholders)).unwrap();
    assert_eq!(projection.apply(sample().as_ref()), item(expected), "{text}");
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = with_placeholders(|placeholders| Projection::parse(text, placeholders)).unwrap_err();
    assert_eq!(error.to_string(), format!("Invalid ProjectionExpression: {expected}"), "{text}");
}

#[test]
fn attributes_are_kept_whole() {
    check("d", [("d", Value::from("hello"))]);
    check(" d , p ", [("d", Value::from("hello")), ("p", Value::from("key"))]);
    check("#dot", [("a.b", Value::from("dotted"))]);
    check("nothing", []);
    let a = sample().get("a").unwrap().to_value();
    check("a", [("a", a)]);
}

#[test]
fn parts_keep_their_place_and_lists_close_up() {
    let b = |elements: Value| map([("b", elements)]);
    check("a.c", [("a", map([("c", Value::from(5))]))]);
    check("a.b[0]", [("a", b(list([Value::from(2)])))]);
    check("a.b[2].y", [("a", b(list([map([("y", Value::from("yo"))])])))]);
    check("a.b[1], a.b[0]", [("a", b(list([Value::from(2), Value::from(4)])))]);
    check(
        "a.b[2].y, a.b[0], a.b[2].x",
        [("a", b(list([Value::from(2), map([("x", Value::from("hi")), ("y", Value::from("yo"))])])))],
    );
    check("a.x, a.b[0], x, a.b[3].x", [("a", b(list([Value::from(2)])))]);
    check("#a.c, d", [("a", map([("c", Value::from(5))])), ("d", Value::from("hello"))]);
}

#[test]
fn paths_that_lead_nowhere_give_nothing() {
    for text in ["a.b[3]", "a.x", "a.x.y", "a.b[3].x", "a.b.x", "a[0]", "a.b[0].x", "a.b[0][0]", "d.x"] {
        check(text, []);
    }
}

#[test]
fn overlapping_paths_are_refused() {
    let overlap = |text, one: &str, two: &str| {
        let rest = "must remove or rewrite one of these paths";
        refused(
            text,
            &format!("Two document paths overlap with each other; {rest}; path one: {one}, path two: {two}"),
        );
    };
    overlap("a, a", "[a]", "[a]");
    overlap("a, #a", "[a]", "[a]");
    overlap("a.b[0], a.b[0]", "[a, b, [0]]", "[a, b, [0]]");
    overlap("a, a.b[2].c", "[a]", "[a, b, [2], c]");
    overlap("c, a.b.d.e, a.b", "[a, b, d, e]", "[a, b]");
    // An overlap is reported before a conflict, wherever it is.
    overlap("a.b, a[1], c, c", "[c]", "[c]");
}

#[test]
fn conflicting_paths_are_refused() {
    let conflict = |text, one: &str, two: &str| {
        let rest = "must remove or rewrite one of these paths";
        refused(
            text,
            &format!("Two document paths conflict with each other; {rest}; path one: {one}, path two: {two}"),
        );
    };
    conflict("a.b, a[1]", "[a, b]", "[a, [1]]");
    conflict("a[1], a.b", "[a, [1]]", "[a, b]");
    conflict("a.b.c, a.b[1]", "[a, b, c]", "[a, b, [1]]");
}

#[test]
fn paths_that_only_begin_alike_agree() {
    for text in ["a.b, a.c", "a.b.d, a.b.e", "a[1], a[2]", "a.b, a.c[2]"] {
        assert!(with_placeholders(|placeholders| Projection::parse(text, placeholders)).is_ok(), "{text}");
    }
}

#[test]
fn reserved_words_and_keywords_of_other_expressions_are_no_names() {
    refused("status", "Attribute name is a reserved keyword; reserved keyword: status");
    refused("b, and", "Attribute name is a reserved keyword; reserved keyword: and");
    check("remove", []);
}

#[test]
fn names_alone_make_a_projection() {
    let projection = Projection::of_attributes(["d", "a.b", "d", "nothing"]);
    let expected = item([("a.b", Value::from("dotted")), ("d", Value::from("hello"))]);
    assert_eq!(projection.apply(sample().as_ref()), expected);
    assert_eq!(projection.top_level_names().collect::<Vec<_>>(), ["a.b", "d", "nothing"]);
}
