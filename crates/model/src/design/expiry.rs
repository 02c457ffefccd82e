//! Tables whose items expire get a time to live, and queries of them a filter on it: TTL removes items late, and until then a Query returns them.

use crate::check::r27_time_to_live::{RULE, drops_expired};
use crate::model::{ActionKind, Attribute, AttributeKind, Grouping, Pattern, Read, ReadVerb};
use crate::predicate::{Operand, Operator, Predicate, Term};
use crate::{Model, Span, Spanned};

/// Adds the filter where the file has none, and says so.
pub fn drop_expired(model: &mut Model) -> Vec<String> {
    let mut notes = Vec::new();
    for at in 0..model.patterns.len() {
        let pattern = &model.patterns[at];
        if pattern.grouping != Grouping::Single || pattern.external.is_some() || is_allowed(model, pattern) {
            continue;
        }
        for action in 0..model.patterns[at].actions.len() {
            let ActionKind::Read(read) = &model.patterns[at].actions[action].kind else { continue };
            let Some(ttl) = unfiltered(model, read) else { continue };
            notes.push(format!(
                "`{}` gets `filter: {ttl} > :now`: items that have expired are there for up to two days more",
                model.patterns[at].id.value
            ));
            if let ActionKind::Read(read) = &mut model.patterns[at].actions[action].kind {
                let filter =
                    read.filter.get_or_insert_with(|| Predicate { terms: Vec::new(), span: Span::default() });
                filter.terms.push(later_than_now(&ttl));
            }
        }
    }
    notes
}

/// What items that expire are removed by, if the file has no name for it.
const TTL: &str = "expiresAt";

/// Gives a table a time to live where its entities expire, and these the attribute; and says so.
pub fn add_time_to_live(model: &mut Model) -> Vec<String> {
    let mut notes = Vec::new();
    for at in 0..model.tables.len() {
        let expiring: Vec<usize> = (0..model.entities.len())
            .filter(|id| model.entities[*id].table.0 == at && model.entities[*id].expires.is_some())
            .collect();
        if expiring.is_empty() || model.tables[at].ttl.is_some() {
            continue;
        }
        let epochs = model.entities[expiring[0]].attributes.values();
        let known = epochs.filter(|one| one.kind == AttributeKind::Epoch).map(|one| one.name.clone()).next();
        let name = known.unwrap_or_else(|| TTL.to_owned());
        for id in expiring {
            let attributes = &mut model.entities[id].attributes;
            let implied = Attribute {
                kind: AttributeKind::Epoch,
                declared: true,
                ..Attribute::implied(&name, Span::default())
            };
            attributes.entry(name.clone()).or_insert(implied);
        }
        notes.push(format!("table `{}` gets `ttl: {name}`: items expire", model.tables[at].name.value));
        model.tables[at].ttl = Some(Spanned::new(name, Span::default()));
    }
    notes
}

/// Whether the file says that expired items do no harm there.
fn is_allowed(model: &Model, pattern: &Pattern) -> bool {
    let mut allowances = model.allowances.iter().filter(|one| one.rule == RULE.id);
    allowances.any(|one| one.scope.contains(pattern.span))
}

/// The attribute with the time, if a Query finds items that expire and does not look at it.
fn unfiltered(model: &Model, read: &Read) -> Option<String> {
    let first = read.entities.first()?.value;
    let ttl = model.table_of(model.entity(first)).ttl.as_ref()?;
    let expires = read.entities.iter().any(|id| model.entity(id.value).expires.is_some());
    let has_time = read.entities.iter().all(|id| model.entity(id.value).attribute(ttl).is_some());
    // The reader of a single item compares.
    let is_query = read.verb == ReadVerb::Query;
    (expires && has_time && is_query && !drops_expired(read, ttl)).then(|| ttl.value.clone())
}

fn later_than_now(ttl: &str) -> Term {
    Term {
        attribute: Spanned::new(ttl.to_owned(), Span::default()),
        operator: Operator::Greater,
        operands: vec![Operand::Parameter("now".to_owned())],
        span: Span::default(),
    }
}
