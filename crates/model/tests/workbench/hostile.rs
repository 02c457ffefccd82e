//! Files that no person would write: they are answered, in bounded time and memory, and never with a panic.

use std::fmt::Write as _;

use model::{Diagnostic, Source, Span, diagnostic, file};

/// The first problem of a text.
fn problem(text: String) -> String {
    let source = Source::new("hostile.yaml", text);
    let reading = file::read(&source);
    assert!(reading.model.is_none());
    // Shown, it must stay readable.
    assert!(diagnostic::text(&source, &reading.diagnostics[..1], false).len() < 4_000);
    reading.diagnostics[0].message.clone()
}

#[test]
fn nesting_ends() {
    let brackets = format!("model: x\na: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert!(problem(brackets).contains("recursion limit"));
    let indents =
        (0..200).fold(String::from("model: x\n"), |text, depth| text + &"  ".repeat(depth) + "a:\n");
    assert!(problem(indents).contains("nested too deeply"));
}

#[test]
fn a_few_aliases_do_not_become_a_billion_values() {
    let mut text = String::from("model: x\na0: &a0 [ha, ha]\n");
    for level in 1..40 {
        let before = format!("*a{}", level - 1);
        writeln!(text, "a{level}: &a{level} [{before}, {before}, {before}]").unwrap();
    }
    assert!(problem(text).contains("aliases are not read"));
}

#[test]
fn no_list_is_longer_than_can_be_compared_in_pairs() {
    let entities = (0..50_000).fold(String::from("model: x\nentities:\n"), |mut text, at| {
        writeln!(text, "  E{at}: {{}}").unwrap();
        text
    });
    assert!(problem(entities).contains("`entities` has more than 2000 elements"));
    let names = (0..50_000).map(|at| format!("a{at}")).collect::<Vec<_>>().join(", ");
    let attributes = format!("model: x\nentities: {{ E: {{ id: [{names}] }} }}\n");
    assert!(problem(attributes).contains("a list has at most 2000 elements"));
}

#[test]
fn a_text_without_end_is_not_read() {
    assert!(problem(format!("model: {}\n", "x".repeat(5 << 20))).contains("at most 4 MB"));
}

#[test]
fn a_name_that_is_not_there_is_answered_with_some_of_those_that_are() {
    let mut text = String::from("model: x\nentities:\n");
    for at in 0..1_000 {
        writeln!(text, "  Entity{at}: {{ id: id }}").unwrap();
    }
    text += "patterns: { A: { get: Zzz, by: id } }\n";
    assert_eq!(problem(text), "there is no entity `Zzz`");
}

#[test]
fn an_entity_or_table_that_is_none_leaves_the_others_in_their_places() {
    let text = "model: x
tables: { one: 5, two: { partition: PK } }
entities: { A: key, B: { table: two, key: { PK: \"B#{b}\" } } }
patterns: { P: { get: B }, Q: { create: A } }
";
    let source = Source::new("hostile.yaml", text);
    let messages: Vec<String> =
        file::read(&source).diagnostics.into_iter().map(|problem| problem.message).collect();
    let first = [
        "a table is a mapping of fields, not a single value",
        "an entity is a mapping of fields, not a single value",
    ];
    assert!(first.iter().all(|message| messages.iter().any(|one| one == message)), "{messages:?}");
    assert!(!messages.iter().any(|message| message.contains("`B`")), "{messages:?}");
}

#[test]
fn a_finding_in_a_line_of_megabytes_is_shown_by_its_place_alone() {
    let keys = (0..40_000).map(|at| format!("unknown-key-{at}: a value, ")).collect::<String>();
    let source = Source::new("hostile.yaml", format!("model: x\nentities: {{ A: {{ {keys} }} }}\n"));
    let problems = file::read(&source).diagnostics;
    let shown = diagnostic::text(&source, &problems[..10], false);
    assert!(shown.contains("--> hostile.yaml:2:18\n"), "{shown}");
    assert!(shown.len() < 4_000, "{} bytes", shown.len());
}

#[test]
fn places_that_are_far_apart_are_shown_apart_and_each_with_its_line() {
    let comments = "# a comment\n".repeat(10_000);
    let text = format!("first: 1\n{comments}last: 2\n");
    let spans = ["first", "last"].map(|name| {
        let start = text.find(name).unwrap();
        Span::new(start, start + name.len())
    });
    let source = Source::new("hostile.yaml", text);
    let finding = Diagnostic::error(spans[1], "twice").related(spans[0], "before");
    let shown = diagnostic::text(&source, &[finding], false);
    for line in ["hostile.yaml:10002:1", "10002 | last: 2", "hostile.yaml:1:1", "1 | first: 1", "before"] {
        assert!(shown.contains(line), "{line} is missing in\n{shown}");
    }
}

#[test]
fn positions_are_the_same_by_the_lines_as_by_counting() {
    let text = "a\n\nbé\n";
    let source = Source::new("hostile.yaml", text);
    let positions: Vec<_> = (0..=text.len() + 1).map(|byte| source.lines().position(byte)).collect();
    let expected = [(1, 1), (1, 2), (2, 1), (3, 1), (3, 2), (3, 2), (3, 3), (4, 1), (4, 1)];
    assert_eq!(positions, expected);
}
