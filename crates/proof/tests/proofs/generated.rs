//! Pattern lists that chance makes: what `design` writes for them passes `check` and is proven.

use std::fmt::Write;

use model::check::check;
use model::design::{Options, design};
use model::diagnostic::{self, Level};
use model::facts::Facts;
use model::{Source, file};

/// A list of patterns about some entities, without keys.
fn patterns(seed: u64) -> String {
    let mut chance = fastrand::Rng::with_seed(seed);
    let expires = chance.bool();
    // `design` adds it where the list has none.
    let ttl = if expires && chance.bool() { ", ttl: expiresAt" } else { "" };
    let mut text = format!(
        "model: list\ntable: {{ name: list, pitr: true, deletion-protection: true{ttl} }}\nentities:\n"
    );
    let mut asked = String::new();
    for n in 0..chance.usize(1..=3) {
        let natural = chance.bool();
        let id = if natural { format!("[owner{n}, title{n}]") } else { format!("thing{n}Id") };
        let by = id.clone();
        let (lifetime, time) = match expires && chance.bool() {
            true => ("\n    expires: 7 days", ", expiresAt: epoch"),
            false => ("", ""),
        };
        writeln!(
            text,
            "  Thing{n}:
    id: {id}
    attributes: {{ thing{n}Id: uuid, owner{n}: {{ distinct: {}K }}, title{n}: string, at: timestamp, status: {{ values: {{ OPEN: 5%, DONE: 95% }} }}, note: {{ optional: true, present: 10% }}{time} }}
    count: {}K
    size: {} B{lifetime}",
            chance.u32(1..50),
            chance.u32(50..5_000),
            chance.u32(150..900)
        )
        .expect("a text");
        let rate = |chance: &mut fastrand::Rng| format!("rate: {}/s", chance.u32(1..60));
        let read = |chance: &mut fastrand::Rng| format!("{}, consistency: eventual", rate(chance));
        let lines = [
            format!("get: Thing{n}, by: {by}, {}", read(&mut chance)),
            format!(
                "query: Thing{n}, by: owner{n}, order: at desc, limit: {}, {}",
                chance.u32(5..30),
                read(&mut chance)
            ),
            format!("query: Thing{n}, by: [owner{n}, status], limit: 20, {}", read(&mut chance)),
            format!(
                "query: Thing{n}, by: owner{n}, where: status = OPEN, order: at, limit: 10, {}",
                read(&mut chance)
            ),
            format!(
                "query: Thing{n}, by: owner{n}, where: at between :from and :to, limit: 50, {}",
                read(&mut chance)
            ),
            format!("query: Thing{n}, by: owner{n}, where: exists note, limit: 25, {}", read(&mut chance)),
            format!("create: Thing{n}, {}", rate(&mut chance)),
            format!(
                "update: Thing{n}, by: {by}, set: {{ status: OPEN -> DONE }}, if: status = OPEN, knows: [owner{n}, at], {}",
                rate(&mut chance)
            ),
            format!("delete: Thing{n}, by: {by}, {}", rate(&mut chance)),
        ];
        for (position, line) in lines.iter().enumerate() {
            if position == 0 || chance.bool() {
                writeln!(asked, "  P{n}{position}: {{ {line} }}").expect("a text");
            }
        }
    }
    text + "patterns:\n" + &asked
}

/// What is wrong with the design of a list, if anything.
fn complaint(seed: u64) -> Option<String> {
    let text = patterns(seed);
    let source = Source::new("list.yaml", text.clone());
    let reading = file::read(&source);
    let Some(model) = reading.model else {
        return Some(format!("{seed}: {}", diagnostic::text(&source, &reading.diagnostics, false)));
    };
    let designed = match design(&model, &Facts::embedded(), &Options::default()) {
        Ok(designed) => designed,
        Err(problems) => return Some(format!("{seed}: {}", diagnostic::text(&source, &problems, false))),
    };
    let found = check(&designed.model).into_iter();
    let found: Vec<String> = found
        .filter(|one| one.level == Level::Error && one.allowed.is_none())
        .map(|one| format!("{:?} {}", one.rule, one.message))
        .collect();
    let certificate = proof::prove(&designed.model);
    (!found.is_empty() || !certificate.is_proven())
        .then(|| format!("{seed}: {found:?} {}\n{}", certificate.failures(), designed.text))
}

fn check_lists(seeds: std::ops::Range<u64>) {
    let complaints: Vec<String> = seeds.filter_map(complaint).collect();
    assert!(complaints.is_empty(), "{} lists\n{}", complaints.len(), complaints[0]);
}

#[test]
fn designs_of_generated_lists_pass_and_are_proven() {
    check_lists(0..20);
}

#[test]
#[ignore = "a thousand lists take minutes"]
fn a_thousand_generated_lists_are_designed_and_proven() {
    check_lists(0..1_000);
}
