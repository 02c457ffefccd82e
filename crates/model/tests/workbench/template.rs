//! Key templates: how they render and when two of them meet.

use item::{Number, Type, Value};
use model::template::{Template, may_begin_with, may_equal, shard};
use model::{Source, file};

/// Templates as they are read from a file, with `n` a number and `t` a timestamp.
fn template(text: &str) -> Template {
    let file = format!(
        "model: m\ntable: {{ name: abc, partition: PK }}\nentities: {{ E: {{ key: {{ PK: '{text}' }}, \
         attributes: {{ n: number, t: timestamp }} }} }}"
    );
    let source = Source::new("model.yaml", file);
    let reading = file::read(&source);
    let shown = model::diagnostic::text(&source, &reading.diagnostics, false);
    let model = reading.model.unwrap_or_else(|| panic!("{shown}"));
    model.entities[0].key.clone().unwrap().partition
}

fn render(text: &str) -> String {
    let value = |name: &str| match name {
        "n" => Some(Value::N(Number::parse("42").unwrap())),
        "t" => Some(Value::from("2026-06-23T14:05:09Z")),
        "id" => Some(Value::from("Ab1")),
        _ => None,
    };
    match template(text).render(Type::S, value, 13) {
        Ok(Value::S(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_form_renders() {
    assert_eq!(render("ORDER#{t}#{id}"), "ORDER#2026-06-23T14:05:09Z#Ab1");
    assert_eq!(render("{n:08}"), "00000042");
    assert_eq!(render("{desc(n, 4)}"), "9957");
    assert_eq!(render("{day(t)}|{hour(t)}"), "2026-06-23|2026-06-23T14");
    assert_eq!(render("{lower(id)}"), "ab1");
    assert_eq!(render("{random(10)}#{random(10):02}"), "3#03");
    assert_eq!(render("X#{shard(id, 7)}"), format!("X#{}", shard("Ab1", 7)));
    assert_eq!(render("a{{b}}"), "a{b}");
}

#[test]
fn a_template_is_written_as_it_was_read() {
    for text in [
        "ORDER#{t}#{id}",
        "{n:08}",
        "{desc(n, 4)}",
        "{day(t)}",
        "{random(10):02}",
        "{shard(id, 7)}",
        "a{{b}}",
    ] {
        assert_eq!(template(text).to_string(), text);
    }
}

#[test]
fn what_is_missing_is_named() {
    let missing = template("A#{id}").render(Type::S, |_| None, 0);
    assert_eq!(missing, Err(model::template::Unrendered::Missing("id".to_owned())));
}

#[test]
fn templates_meet_unless_a_separator_or_literal_keeps_them_apart() {
    let meet = |one: &str, other: &str| may_equal(&template(one), &template(other));
    assert!(meet("A#{a}", "A#{b}"));
    assert!(meet("A#{a}", "A#x"));
    assert!(meet("{a}", "{b}"));
    assert!(meet("{a}", "ORDER"));
    assert!(!meet("A#{a}", "B#{a}"));
    assert!(!meet("A#{a}", "A#{a}#{b}"));
    assert!(!meet("A#{a}", "A#"));
    assert!(meet("{a}{b}", "xyz"));
}

#[test]
fn a_prefix_finds_what_begins_with_it() {
    let begins = |one: &str, prefix: &str| may_begin_with(&template(one), &template(prefix).parts);
    assert!(begins("ORDER#{a}#{b}", "ORDER#"));
    assert!(begins("ORDER#{a}#{b}", "ORDER#{a}"));
    assert!(!begins("ORDERLOG#{a}", "ORDER#"));
    assert!(!begins("PROFILE", "ORDER#"));
    assert!(begins("{a}", "ORD"));
}
