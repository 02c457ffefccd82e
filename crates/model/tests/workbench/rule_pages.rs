//! The examples in `docs/rules/`: what a page says trips its rule does, and what it says to write instead
//! does not.
//!
//! A block is sections of a model file. One that is to trip is complete, on a plain table. Those under
//! `Does not` and `Do instead` replace parts of the page's first: entities one by one, other sections
//! whole; or of the one before it, if the page has as many of one as of the other.

use model::check::{RULES, Rule, check};
use model::{Diagnostic, Source, diagnostic, file};
use serde_json::{Map, Value};

type Sections = Map<String, Value>;

struct Page {
    trips: Vec<String>,
    passes: Vec<String>,
}

fn page(rule: &Rule) -> Page {
    let mut page = Page { trips: Vec::new(), passes: Vec::new() };
    for part in rule.page.split("\n## ").skip(1) {
        let blocks = part.split("```yaml\n").skip(1);
        let blocks = blocks.map(|rest| rest.split("```").next().unwrap_or_default().to_owned());
        match part.lines().next() {
            Some("Trips") => page.trips.extend(blocks),
            Some("Does not" | "Do instead") => page.passes.extend(blocks),
            _ => {}
        }
    }
    page
}

fn sections(rule: &Rule, text: &str) -> Sections {
    let source = Source::new(format!("docs/rules/{}.md", rule.id), text);
    match file::to_json(&source) {
        Some(Value::Object(sections)) => sections,
        other => panic!("{}: {other:?} in\n{text}", rule.id),
    }
}

fn alone(sections: Sections) -> Sections {
    let plain = r#"{ "model": "page", "table": { "name": "app", "partition": "PK", "sort": "SK" } }"#;
    let mut whole: Sections = serde_json::from_str(plain).unwrap();
    whole.extend(sections);
    whole
}

fn instead(mut whole: Sections, sections: Sections) -> Sections {
    for (name, section) in sections {
        match (name.as_str(), whole.get_mut(&name), section) {
            ("entities", Some(Value::Object(there)), Value::Object(entities)) => there.extend(entities),
            (_, _, section) => {
                whole.insert(name, section);
            }
        }
    }
    whole
}

fn found(rule: &Rule, sections: &Sections) -> Vec<Diagnostic> {
    let text = serde_json::to_string_pretty(sections).unwrap();
    let source = Source::new(format!("docs/rules/{}.md", rule.id), text);
    let reading = file::read(&source);
    let shown = diagnostic::text(&source, &reading.diagnostics, false);
    let model = reading.model.unwrap_or_else(|| panic!("{shown}"));
    check(&model).into_iter().filter(|one| one.rule == Some(rule.id)).collect()
}

/// What is wrong with a page, if anything.
fn complaints(rule: &Rule) -> Vec<String> {
    let Page { trips, passes } = page(rule);
    let mut complaints = Vec::new();
    if trips.is_empty() || passes.is_empty() {
        complaints.push(format!("{} needs an example that trips it and one that does not", rule.id));
    }
    let bad: Vec<Sections> = trips.iter().map(|text| alone(sections(rule, text))).collect();
    for (text, bad) in trips.iter().zip(&bad).filter(|(_, bad)| found(rule, bad).is_empty()) {
        complaints.push(format!("{} does not find anything in\n{text}{bad:?}", rule.id));
    }
    for (at, text) in passes.iter().enumerate() {
        let before = if bad.len() == passes.len() { at } else { 0 };
        let Some(bad) = bad.get(before) else { continue };
        for one in found(rule, &instead(bad.clone(), sections(rule, text))) {
            complaints.push(format!("{} finds «{}» in\n{text}", rule.id, one.message));
        }
    }
    complaints
}

#[test]
fn what_a_page_shows_is_what_its_rule_finds() {
    let complaints: Vec<String> = RULES.iter().flat_map(|rule| complaints(rule)).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
