//! R47: a `get` by values that several items have.

use super::{PatternRead, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId, listed};
use crate::plan::Gap;

pub const RULE: Rule = Rule {
    id: RuleId(47),
    level: Level::Error,
    title: "A `get` can find several items",
    page: include_str!("../../../../docs/rules/R47.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.reads().filter_map(|one| several(subject, one)).collect()
}

fn several(subject: &Subject<'_>, one: PatternRead<'_>) -> Option<Diagnostic> {
    let items = one.plan.gaps.iter().find_map(|gap| match gap {
        Gap::Several { items } => Some(*items),
        _ => None,
    })?;
    let entity = subject.model.entity(one.plan.entities[0]);
    let name = &entity.name.value;
    let known = one.known();
    let several = items.map_or("several".to_owned(), |items| super::figures::count(items.ceil()));
    let message =
        format!("`{}` asks for one `{name}`, and {several} have the same {}", one.name(), listed(&known));
    let mut found = Diagnostic::error(one.action.span, message)
        .label("finds several")
        .why("an index does not make values unique: a Query returns every item that has them, and all of them are paid for")
        .help(format!(
            "ask for all of them (`query: {name}`), for the first (`limit: 1` with an `order`), or by what identifies one"
        ));
    let declared =
        known.iter().filter_map(|name| entity.attribute(name)).find(|one| one.cardinality().is_some());
    if let (None, Some(key)) = (items, &entity.key) {
        found = found.related(key.span, "the rest of the key tells them apart");
    } else if let Some(attribute) = declared {
        found = found.related(attribute.span, "fewer values than items");
    } else if let Some(count) = &entity.count {
        found = found.related(count.span, "the number of items");
    }
    Some(found)
}
