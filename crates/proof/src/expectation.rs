//! The file's own examples: its literal rows, and the rows a pattern is expected to find among them.

use model::Model;
use model::model::{Expectation, Pattern, TableId};
use model::plan::Plan;
use model::predict::item::Values;
use model::request::{Given, PlannedRead};
use model::sample::{FILLER, Sample, SampleItem, key_of, rows};

use crate::certificate::Finding;
use crate::database::Database;
use crate::fault::Fault;
use crate::prove::collision;
use crate::read;
use crate::trial::name_of;

/// Rows of the file that overwrite each other.
pub fn collisions(model: &Model) -> Vec<Finding> {
    // Collisions with generated data have already been checked.
    let literal = rows(model).items.into_iter().filter(|item| item.entity.is_none()).collect();
    let rows = Sample { items: literal };
    let pairs = rows.collisions(model).into_iter();
    pairs
        .map(|(one, other)| collision(model, &[rows.items[one].clone(), rows.items[other].clone()]))
        .collect()
}

/// Each expectation of the pattern that is not met.
pub async fn findings(model: &Model, database: &Database, pattern: &Pattern, plan: &Plan) -> Vec<Finding> {
    let rows = rows(model);
    let mut findings = Vec::new();
    for expectation in &pattern.expect {
        let given = Given::of_expectation(pattern, model, expectation);
        if let Err(fault) = meet(model, database, pattern, plan, &rows, expectation, &given).await {
            let data = shown(model, &rows, expectation);
            findings.push(Finding { given, data, ..Finding::of(fault) });
        }
    }
    findings
}

async fn meet(
    model: &Model,
    database: &Database,
    pattern: &Pattern,
    plan: &Plan,
    rows: &Sample,
    expectation: &Expectation,
    given: &Given,
) -> Result<(), Fault> {
    let (Some((_, read)), Some(plan)) = (pattern.reads().next(), plan.reads().next()) else {
        return Err(Fault::Gap("only what a read finds can be expected".to_owned()));
    };
    database.hold(model, &rows.items).await?;
    let read = PlannedRead::new(model, read, plan);
    let expected: Vec<&SampleItem> = expectation.rows.iter().filter_map(|name| rows.named(name)).collect();
    let look = async || {
        let found = read::fetch(read, database, given).await?;
        compare(model, &expected, &found, |values| name_of(model, plan.table, values))
    };
    database.until_consistent(look, Result::is_ok).await
}

/// Compares these rows with the expected ones, in order.
pub fn compare_rows(
    model: &Model,
    table: TableId,
    expectation: &Expectation,
    found: &[Values],
) -> Result<(), Fault> {
    let rows = rows(model);
    let expected: Vec<&SampleItem> = expectation.rows.iter().filter_map(|name| rows.named(name)).collect();
    compare(model, &expected, found, |values| name_of(model, table, values))
}

fn compare(
    model: &Model,
    expected: &[&SampleItem],
    found: &[Values],
    name: impl Fn(&Values) -> String,
) -> Result<(), Fault> {
    let is = |row: &SampleItem, values: &Values| {
        let key = key_of(model, row.table, &row.values);
        key == key_of(model, row.table, values)
    };
    let unwanted: Vec<String> =
        found.iter().filter(|values| !expected.iter().any(|row| is(row, values))).map(&name).collect();
    if !unwanted.is_empty() {
        return Err(Fault::Unwanted { items: unwanted });
    }
    let called = |row: &&&SampleItem| row.name.clone().unwrap_or_else(|| name(&row.values));
    let missing: Vec<String> = expected
        .iter()
        .filter(|row| !found.iter().any(|values| is(row, values)))
        .map(|row| called(&row))
        .collect();
    if !missing.is_empty() {
        return Err(Fault::Missing { items: missing });
    }
    let out_of_place = expected.iter().zip(found).find(|(row, values)| !is(row, values));
    if let Some((row, values)) = out_of_place {
        return Err(Fault::Order { earlier: name(values), later: name(&row.values) });
    }
    let altered = expected.iter().zip(found).find_map(|(row, values)| {
        let differing = values
            .iter()
            .filter(|(name, value)| name.as_str() != FILLER && row.values.get(*name) != Some(value));
        let differing: Vec<String> = differing.map(|(name, _)| name.clone()).collect();
        (!differing.is_empty()).then(|| Fault::Attributes { item: name(values), attributes: differing })
    });
    altered.map_or(Ok(()), Err)
}

/// The rows in question.
fn shown(model: &Model, rows: &Sample, expectation: &Expectation) -> Vec<(String, Values)> {
    let expected = expectation.rows.iter().filter_map(|name| rows.named(name));
    expected.map(|row| (model.table(row.table).name.value.clone(), row.values.clone())).collect()
}
