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

/// Parts of a whole: both in one query, in transactions and batches, and a name of the whole that is copied to its parts.
fn family(seed: u64) -> String {
    let mut chance = fastrand::Rng::with_seed(seed);
    let parts = chance.u32(2..40);
    let mut text = format!(
        "model: family
table: {{ name: family, pitr: true, deletion-protection: true, stream: new-and-old }}
entities:
  Whole:
    id: wholeId
    attributes: {{ wholeId: uuid, name: string, tally: {{ type: number, min: 0 }} }}
    count: {}K
    size: {} B
  Part:
    id: [wholeId, partId]
    attributes: {{ partId: ulid, at: timestamp, owner: {{ distinct: {}K }}, state: {{ values: {{ OPEN: 5%, DONE: 95% }} }}, wholeName: {{ copy-of: Whole.name, sync: stream }} }}
    count: {parts} per Whole
    size: {} B
patterns:
",
        chance.u32(10..900),
        chance.u32(200..900),
        chance.u32(5..50),
        chance.u32(150..900)
    );
    let rate = |chance: &mut fastrand::Rng| format!("rate: {}/s", chance.u32(1..30));
    let lines = [
        format!("query: [Whole, Part], by: wholeId, returns: {}, {}", parts + 1, rate(&mut chance)),
        format!("get: Whole, by: wholeId, {}", rate(&mut chance)),
        format!("query: Part, by: wholeId, order: at desc, limit: 10, {}", rate(&mut chance)),
        format!("query: Part, by: owner, where: state = OPEN, order: at, limit: 20, {}", rate(&mut chance)),
        format!("transact: [create Whole, create Part × {}], {}", chance.u32(1..5), rate(&mut chance)),
        format!(
            "transact: [create Part, {{ update: Whole, by: wholeId, add: [tally], if: exists }}], {}",
            rate(&mut chance)
        ),
        format!(
            "update: Part, by: [wholeId, partId], set: {{ state: OPEN -> DONE }}, if: state = OPEN, knows: [owner, at], {}",
            rate(&mut chance)
        ),
        format!(
            "transact: [{{ check: Whole, by: wholeId, if: exists }}, create Part × 2], {}",
            rate(&mut chance)
        ),
        format!(
            "transact: [{{ get: Whole, by: wholeId }}, {{ get: Part, by: [wholeId, partId], times: 2 }}], {}",
            rate(&mut chance)
        ),
        format!(
            "batch: [{{ get: Whole, by: wholeId, times: {} }}], {}",
            chance.u32(2..20),
            rate(&mut chance)
        ),
        "update: Whole, by: wholeId, set: [name], if: exists, rate: 1/min".to_owned(),
    ];
    for (position, line) in lines.iter().enumerate() {
        if position < 2 || chance.bool() {
            writeln!(text, "  P{position}: {{ {line} }}").expect("a text");
        }
    }
    text
}

/// One list in four is a family.
fn list(seed: u64) -> String {
    if seed % 4 == 3 { family(seed) } else { patterns(seed) }
}

/// What is wrong with the design of a list, if anything.
fn complaint(seed: u64) -> Option<String> {
    let text = list(seed);
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
