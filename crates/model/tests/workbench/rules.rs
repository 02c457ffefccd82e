//! Every rule, on small models that trip it and models that nearly do.
//!
//! `tests/workbench/rules/R14/trips-….yaml` marks each line at which R14 must find something with `#~ R14`; how, and
//! what else a mark can say, is in `support.rs`. In `passes-….yaml` it must find nothing. What other rules
//! find in the file does not matter here.

use std::fs;
use std::path::{Path, PathBuf};

use model::check::{RULES, check};
use model::{Diagnostic, RuleId, Source, diagnostic, file};

use crate::support::{Mark, marks};

fn folder(rule: RuleId) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workbench/rules").join(rule.to_string())
}

fn models(rule: RuleId) -> Vec<(String, Source)> {
    let entries = fs::read_dir(folder(rule))
        .unwrap_or_else(|_| panic!("{rule} has no models in tests/workbench/rules"));
    let mut models: Vec<(String, Source)> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            (name.clone(), Source::new(format!("{rule}/{name}"), text))
        })
        .collect();
    models.sort_by(|one, other| one.0.cmp(&other.0));
    models
}

fn found(source: &Source) -> Vec<Diagnostic> {
    let reading = file::read(source);
    let shown = diagnostic::text(source, &reading.diagnostics, false);
    check(&reading.model.unwrap_or_else(|| panic!("{shown}")))
}

/// How many marks there are, and what went wrong unless the rule finds something at the marked lines and
/// nowhere else.
fn check_marks(source: &Source, rule: RuleId) -> (usize, Option<String>) {
    let found: Vec<Diagnostic> =
        found(source).into_iter().filter(|one| one.rule == Some(rule) && one.allowed.is_none()).collect();
    let marks: Vec<Mark> = marks(source).into_iter().filter(|mark| mark.rule == rule).collect();
    let agree =
        found.len() == marks.len() && found.iter().zip(&marks).all(|(one, mark)| mark.fits(source, one));
    let shown = diagnostic::text(source, &found, false);
    (marks.len(), (!agree).then(|| format!("marked in {}: {marks:#?}\nfound:\n{shown}", source.path)))
}

#[test]
fn every_rule_finds_what_is_marked_and_nothing_else() {
    let mut complaints = Vec::new();
    for rule in RULES {
        let (mut trips, mut passes) = (0, 0);
        for (name, source) in models(rule.id) {
            let (marks, complaint) = check_marks(&source, rule.id);
            complaints.extend(complaint);
            match name.split('-').next() {
                Some("trips") => {
                    assert!(marks > 0, "{name} of {} marks nothing", rule.id);
                    trips += 1;
                }
                Some("passes") => {
                    assert_eq!(marks, 0, "{name} of {} must not be marked", rule.id);
                    passes += 1;
                }
                _ => panic!("{name}: begin the name with `trips-` or `passes-`"),
            }
        }
        assert!(trips > 0 && passes > 0, "{} needs a model that trips it and one that nearly does", rule.id);
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn findings_fit_into_any_terminal_and_keep_their_words() {
    let words = |text: &str| -> String { text.chars().filter(|one| !one.is_whitespace()).collect() };
    for (_, source) in RULES.iter().flat_map(|rule| models(rule.id)) {
        let found = found(&source);
        for width in [40, 72, 100] {
            let shown = diagnostic::text_within(&source, &found, false, width);
            let wide = shown.lines().find(|line| line.chars().count() > width);
            assert!(wide.is_none(), "{width} columns, {}:\n{}", source.path, wide.unwrap_or_default());
            let kept = found.iter().all(|one| words(&shown).contains(&words(&one.message)));
            assert!(kept || found.iter().any(|one| one.allowed.is_some()), "{shown}");
        }
    }
}

#[test]
fn every_rule_is_explained_under_its_title() {
    for rule in RULES {
        let heading = format!("# {}: {}\n", rule.id, rule.title);
        assert!(rule.page.starts_with(&heading), "docs/rules/{}.md must begin with {heading}", rule.id);
    }
}

#[test]
fn every_page_names_the_settings_of_its_rule_and_its_level() {
    for rule in RULES {
        assert!(rule.page.contains("\n## Level\n"), "docs/rules/{}.md must say its level", rule.id);
        for (setting, _) in rule.parameters {
            assert!(rule.page.contains(setting), "docs/rules/{}.md does not name `{setting}`", rule.id);
        }
    }
}

#[test]
fn rules_are_in_order_and_there_once() {
    let ids: Vec<RuleId> = RULES.iter().map(|rule| rule.id).collect();
    assert!(ids.is_sorted_by(|one, other| one < other), "{ids:?}");
}

const UNPADDED: &str = "
model: leaderboard
table: { name: game, partition: PK, sort: SK }
entities:
  Player:
    key: { PK: 'SEASON#{season}', SK: 'RATING#{rating}' }
    attributes: { rating: number }
";

/// `rule level at line` of each finding that is not allowed, and how many are.
fn summary(text: &str) -> (Vec<String>, usize) {
    let source = Source::new("model.yaml", text);
    let found = found(&source);
    let shown = found.iter().filter(|one| one.allowed.is_none()).map(|one| {
        let rule = one.rule.map_or("file".to_owned(), |rule| rule.to_string());
        format!("{rule} {} at {}", one.level.name(), source.position(one.span.start).0)
    });
    (shown.collect(), found.iter().filter(|one| one.allowed.is_some()).count())
}

fn only(rule: &str, (found, allowed): (Vec<String>, usize)) -> (Vec<String>, usize) {
    (found.into_iter().filter(|one| one.starts_with(rule) || one.starts_with("file")).collect(), allowed)
}

#[test]
fn the_file_sets_the_level_of_a_rule() {
    let set = |level: &str| only("R14", summary(&format!("{UNPADDED}rules: {{ R14: {level} }}\n")));
    assert_eq!(set("{ level: warning }").0, ["R14 warning at 6"]);
    assert_eq!(set("error").0, ["R14 error at 6"]);
    assert_eq!(set("off").0, Vec::<String>::new());
    assert_eq!(set("{ wdith: 8 }").0, ["R14 warning at 6", "file warning at 8"]);
}

#[test]
fn what_is_allowed_with_a_reason_is_not_an_error() {
    let of_entity = UNPADDED.replace("    attributes", "    allow: { R14: only equality }\n    attributes");
    assert_eq!(only("R14", summary(&of_entity)), (vec![], 1));
    let of_model = format!("{UNPADDED}allow: {{ R14: only equality }}\n");
    assert_eq!(only("R14", summary(&of_model)), (vec![], 1));
}

#[test]
fn an_allowance_that_nothing_needs_is_reported() {
    let text = UNPADDED.replace("{rating}", "{rating:08}") + "allow: { R14: only equality }\n";
    assert_eq!(only("R14", summary(&text)), (vec!["file warning at 8".to_owned()], 0));
}

#[test]
fn sarif_names_the_rule_the_place_and_the_reason() {
    let source = Source::new("model.yaml", format!("{UNPADDED}allow: {{ R14: only equality }}\n"));
    let found: Vec<Diagnostic> =
        found(&source).into_iter().filter(|one| one.rule == Some(RuleId(14))).collect();
    let sarif = diagnostic::sarif(&source, &found, |_| "title".to_owned());
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "R14");
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 6);
    assert_eq!(result["suppressions"][0]["justification"], "only equality");
}

/// Numbers at the edge of what the file's reader accepts.
const ABSURD: &str = r#"
model: absurd
table: { name: absurd, partition: PK, sort: SK, billing: provisioned, write: 0, ttl: ttl, replicas: [x] }
entities:
  A:
    key: { PK: "A#{a}{b}", SK: "{random(10000)}{n:038}" }
    attributes:
      a: { distinct: 0, size: 800000 GB, skew: top 0% }
      b: { type: list, growth: 0 B per day, size: { typical: 0 B, max: 900000 GB } }
      c: { copy-of: A.a, sync: transaction }
      ttl: { type: epoch, min: -1, max: 0 }
      n: { type: number, min: 99999999999999999999, max: 0 }
    count: { typical: 99999999999999999999G, max: 0 }
    size: { typical: 900000 GB, max: 0 B }
    expires: 99999999999999999 years
    indexes: { GSI: { GPK: "{shard(a, 10000)}#{lower(b)}", GSK: "{c}" } }
  B: { key: { PK: "B#{x}", SK: x }, count: 0 per A }
indexes: { GSI: { project: all, write: 0 }, LSI: { type: local, sort: c, project: all } }
relations: [A M:N A, A 1:N A, A M:N B via A]
patterns:
  P1: { transact: [create A × 1000000, delete A × 1000000], rate: 99999999999999999999G/s, skew: zipf 0 }
  P2: { batch: [get A × 1000000, query A, scan B], rate: 0/s }
  P3: { query: A, by: b, limit: 1000000000000000, returns: 99999999999999999999G, fan-out: 0 }
  backfill: { update: A, set: [a, b], rate: { average: 0/s, peak: 99999999999999999999G/s }, skew: top 0% }
  P4: { scan: A, filter: "a contains x", read: count, external: "" }
  P5: { get: A, request: { UpdateExpression: "", KeyConditionExpression: 5, ExpressionAttributeValues: { a: { M: {} } } } }
"#;

#[test]
fn no_number_ends_a_rule() {
    found(&Source::new("absurd.yaml", ABSURD));
}
