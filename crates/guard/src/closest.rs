//! The pattern that comes closest to a request that is none.

use model::Span;
use model::model::{Grouping, TableId};
use model::plan::ReadOperation;

use crate::compare::Difference;
use crate::judge::Guarded;
use crate::request::{Asked, AskedAction, AskedKind, AskedRead};

/// Patterns that differ more are no help.
const WEIGHT_MAX: u32 = 40;
/// What an attribute takes off that a Scan filters by and the pattern knows.
const FILTERED_AND_KNOWN: u32 = 6;
/// More differences than these are not read.
const DIFFERENCES_MAX: usize = 3;
/// What an action that only one of the two has adds.
const WEIGHT_OF_ACTION: u32 = 10;

/// The closest pattern.
pub struct Closest {
    pub pattern: String,
    pub span: Span,
    /// In what the request differs, in words.
    pub differences: String,
    weight: u32,
}

/// `None` if no pattern is near.
pub fn find(guarded: &Guarded, asked: &Asked<'_>, tables: &[TableId]) -> Option<Closest> {
    let patterns = 0..guarded.model.patterns.len();
    let all = patterns.filter_map(|pattern| match asked.grouping {
        Grouping::Single => single(guarded, pattern, &asked.actions[0], tables[0]),
        Grouping::Transaction | Grouping::Batch => group(guarded, pattern, asked, tables),
    });
    all.min_by_key(|closest| closest.weight).filter(|closest| closest.weight <= WEIGHT_MAX)
}

fn single(guarded: &Guarded, pattern: usize, asked: &AskedAction<'_>, table: TableId) -> Option<Closest> {
    let one = &guarded.model.patterns[pattern];
    let planned = guarded.planned(pattern, 0)?;
    if planned.table_id() != table {
        return None;
    }
    let mut differences = planned.all_differences(asked);
    let mut weight: u32 = differences.iter().map(Difference::weight).sum();
    if one.grouping != Grouping::Single {
        weight += WEIGHT_OF_ACTION;
    }
    if let AskedKind::Read(read) = &asked.kind {
        let known = one.reads().next().map_or(0, |(_, planned)| filtered_and_known(read, planned));
        weight = weight.saturating_sub(FILTERED_AND_KNOWN * known);
    }
    differences.sort_by_key(|difference| std::cmp::Reverse(difference.weight()));
    let words: Vec<String> = differences.iter().take(DIFFERENCES_MAX).map(Difference::describe).collect();
    let whole = (one.grouping != Grouping::Single).then(|| "there it is one action of several".to_owned());
    let words: Vec<String> = whole.into_iter().chain(words).collect();
    Some(Closest { pattern: one.id.value.clone(), span: one.id.span, differences: words.join("; "), weight })
}

/// How many attributes a Scan filters by that the pattern has in its key.
fn filtered_and_known(asked: &AskedRead<'_>, planned: &model::model::Read) -> u32 {
    let filter = asked.filter.iter().filter(|_| asked.operation == ReadOperation::Scan);
    filter.flat_map(|filter| filter.top_level_names()).filter(|name| planned.knows(name)).count() as u32
}

fn group(guarded: &Guarded, pattern: usize, asked: &Asked<'_>, tables: &[TableId]) -> Option<Closest> {
    let one = &guarded.model.patterns[pattern];
    if one.grouping != asked.grouping {
        return None;
    }
    let fits = |at: usize, (action, table): (&AskedAction<'_>, &TableId)| {
        guarded.planned(pattern, at).is_some_and(|planned| planned.table_id() == *table && planned.is(action))
    };
    let asked_actions = || asked.actions.iter().zip(tables);
    let further = asked_actions().filter(|one_asked| !(0..one.actions.len()).any(|at| fits(at, *one_asked)));
    let further: Vec<String> =
        further.map(|(action, _)| format!("it also has a {}", short(action))).collect();
    let missing = (0..one.actions.len()).filter(|at| !asked_actions().any(|action| fits(*at, action)));
    let missing = missing.filter(|_| asked.grouping == Grouping::Transaction);
    let missing: Vec<String> =
        missing.map(|at| format!("it lacks action {} of the pattern", at + 1)).collect();
    let weight = WEIGHT_OF_ACTION * (further.len() + missing.len()) as u32;
    let words: Vec<String> = further.into_iter().chain(missing).take(DIFFERENCES_MAX).collect();
    Some(Closest { pattern: one.id.value.clone(), span: one.id.span, differences: words.join("; "), weight })
}

fn short(action: &AskedAction<'_>) -> String {
    let operation = match &action.kind {
        AskedKind::Read(read) => read.operation.name(),
        AskedKind::Write(write) => write.operation.name(),
    };
    format!("{operation} of `{}` that the pattern does not have", action.table)
}

/// `` Query of index `GSI1` of table `shop` ``.
pub fn described(asked: &Asked<'_>, operation: &str) -> String {
    let first = &asked.actions[0];
    let index = match &first.kind {
        AskedKind::Read(AskedRead { index: Some(index), .. }) => format!("index `{index}` of "),
        _ => String::new(),
    };
    format!("{operation} of {index}table `{}`", first.table)
}
