//! R53: what is unique in lower case is looked up as it is written, or the other way round.

use super::{Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::Place;
use crate::template::{Field, Form};
use crate::uniqueness::{Guard, guards};

pub const RULE: Rule = Rule {
    id: RuleId(53),
    level: Level::Error,
    title: "A value is unique in one case and looked up in another",
    page: include_str!("../../../../docs/rules/R53.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    guards(subject.model).iter().flat_map(|guard| differing(subject, guard)).collect()
}

fn differing(subject: &Subject<'_>, guard: &Guard<'_>) -> Vec<Diagnostic> {
    let by = subject.model.entity(guard.by);
    let fields = by.key_templates().flat_map(|template| template.fields());
    let keys: Vec<&Field> = fields.filter(|field| folds(field).is_some()).collect();
    let places = subject.model.places_of(guard.guarded).into_iter().filter(|place| place.index.is_some());
    let looked_up =
        places.flat_map(|place| fields_of(subject, place).into_iter().map(move |field| (place, field)));
    let looked_up: Vec<_> = looked_up.collect();
    keys.iter()
        .flat_map(|key| looked_up.iter().filter_map(|(place, field)| finding(*place, field, key)))
        .collect()
}

/// What items are looked up by: the partition key, and what a reader knows of the sort key.
fn fields_of<'m>(subject: &Subject<'m>, place: Place<'m>) -> Vec<&'m Field> {
    let known: Vec<&str> = subject
        .reads()
        .filter(|one| one.plan.table == place.table_id && one.plan.index == place.index_id())
        .filter(|one| one.plan.entities.contains(&place.entity_id))
        .flat_map(|one| one.known())
        .collect();
    let partition = place.partition().into_iter().flat_map(|(_, template)| template.fields());
    let sort = place.sort().into_iter().flat_map(|(_, template)| template.fields());
    let sort = sort.filter(|field| field.attribute().is_some_and(|name| known.contains(&name)));
    partition.chain(sort).collect()
}

/// The attribute that a field holds, and whether in lower case.
fn folds(field: &Field) -> Option<(&str, bool)> {
    match &field.form {
        Form::Attribute(name) => Some((name, false)),
        Form::Lower(name) => Some((name, true)),
        _ => None,
    }
}

fn finding(place: Place<'_>, field: &Field, key: &Field) -> Option<Diagnostic> {
    let ((name, lower), (guarded, guard_lower)) = (folds(field)?, folds(key)?);
    if name != guarded || lower == guard_lower {
        return None;
    }
    let why = match guard_lower {
        true => {
            "who writes the value in other letters than at the beginning is not found, and can't have it again"
        }
        false => "two values that differ only in their letters are both accepted, and one lookup finds both",
    };
    let (message, label) = match guard_lower {
        true => {
            (format!("`{name}` is unique in any case, and {} tells cases apart", place.name()), "as written")
        }
        false => {
            (format!("`{name}` is unique as it is written, and {} is not", place.name()), "in lower case")
        }
    };
    Some(
        Diagnostic::error(field.span, message)
            .label(label)
            .related(key.span, "keeps it unique")
            .why(why)
            .help(format!("write the same in both: `{{lower({name})}}`")),
    )
}
