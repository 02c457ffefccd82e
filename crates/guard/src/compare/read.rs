//! Reads: the operation, where it reads, which keys it knows, what it filters.

use expression::key_condition::{KeyAttribute, KeyRange, Range};
use item::{Item, ValueRef};
use model::model::{Entity, EntityId, Grouping, KeyAttribute as ModelKey, KeySchema, Read};
use model::plan::{Filter, ReadOperation, ReadPlan, SortCondition};
use model::predicate::{Operand, Operator};
use model::template::Template;

use super::{Difference, Differences, Planned, schema, templates};
use crate::key::{self, SortForm};
use crate::request::{AskedRead, ReadBy};

/// What libraries name the attributes of their own in which they keep the kind of an item.
const LIBRARY_PREFIX: &str = "__edb_";

/// Ends early if the first difference is enough.
pub fn compare(
    planned: &Planned<'_>,
    (read, plan): (&Read, &ReadPlan),
    asked: &AskedRead<'_>,
    differences: &mut Differences,
) -> Option<()> {
    if asked.operation == ReadOperation::Scan && plan.operation != ReadOperation::Scan {
        // It knows no key, so nothing else can be compared.
        let (asked, planned) = (asked.operation.name(), plan.operation.name());
        return differences.add(|| Difference::Operation { asked, planned });
    }
    compare_source(planned, plan, asked, differences)?;
    compare_key(planned, (read, plan), asked, differences)?;
    let filters = further_filters(planned, (read, plan), asked);
    if !filters.is_empty() {
        differences.add(|| Difference::Filter { attributes: filters })?;
    }
    if !read.order.is_empty() && asked.is_forward != plan.forward && asked.operation == ReadOperation::Query {
        differences.add(|| Difference::Order)?;
    }
    if asked.is_strong != plan.consistent && planned.pattern.grouping == Grouping::Single {
        differences.add(|| Difference::Consistency { is_strong: asked.is_strong })?;
    }
    match &read.limit {
        Some(limit)
            if asked.operation != ReadOperation::GetItem
                && asked.limit.is_none_or(|one| one > limit.value) =>
        {
            differences.add(|| Difference::Limit { planned: limit.value })
        }
        _ => Some(()),
    }
}

/// The operation, and the table or index.
fn compare_source(
    planned: &Planned<'_>,
    plan: &ReadPlan,
    asked: &AskedRead<'_>,
    differences: &mut Differences,
) -> Option<()> {
    // A Query of a whole key is the same question as a GetItem; the comparison of keys sees to it that it is whole.
    let is_same = asked.operation == plan.operation
        || (asked.operation != ReadOperation::Scan
            && plan.operation != ReadOperation::Scan
            && plan.index.is_none());
    if !is_same {
        let (asked, planned) = (asked.operation.name(), plan.operation.name());
        differences.add(|| Difference::Operation { asked, planned })?;
    }
    let index = plan.index.map(|index| planned.table().index(index).name.value.as_str());
    if asked.index != index {
        let (asked, planned) = (asked.index.map(str::to_owned), index.map(str::to_owned));
        differences.add(|| Difference::Index { asked, planned })?;
    }
    Some(())
}

fn compare_key(
    planned: &Planned<'_>,
    (read, plan): (&Read, &ReadPlan),
    asked: &AskedRead<'_>,
    differences: &mut Differences,
) -> Option<()> {
    let entities = || plan.entities.iter().map(|id| planned.model.entity(*id));
    let names = || entities().map(|entity| entity.name.value.clone()).collect();
    if plan.operation == ReadOperation::Scan {
        return Some(());
    }
    let Some(schema) = schema(planned.table(), asked.index) else {
        return differences.add(|| Difference::Key { entities: names() });
    };
    match &asked.by {
        ReadBy::Nothing => differences.add(|| Difference::Key { entities: names() }),
        ReadBy::Key(item) => {
            let fits = |entity: &&Entity| entity.key.is_some() && fits_key(entity, schema, item);
            let Some(entity) = entities().find(fits) else {
                return differences.add(|| Difference::Key { entities: names() });
            };
            let parts = entity.key_templates().zip(schema.attributes());
            let parts = parts.filter_map(|(template, key)| Some((template, item.get(&key.name)?)));
            for (template, value) in parts {
                compare_values(read, template, value, differences)?;
            }
            let is_whole = plan.sort.len() == schema.sort.len() && plan.sort.iter().all(is_whole);
            match plan.operation == ReadOperation::Query && !is_whole {
                true => differences.add(|| Difference::Operation { asked: "GetItem", planned: "Query" }),
                false => Some(()),
            }
        }
        ReadBy::Range(condition) => {
            let (hash, range) = (attributes(&schema.partition), attributes(&schema.sort));
            let Ok(range) = condition.resolve(&hash, &range) else {
                return differences.add(|| Difference::Key { entities: names() });
            };
            compare_range(planned, (read, plan), &range, differences)
        }
    }
}

fn is_whole(condition: &SortCondition) -> bool {
    key::planned(Some(condition)) == SortForm::Whole
}

/// Whether these are keys of the entity.
pub fn fits_key(entity: &Entity, schema: &KeySchema, item: &Item) -> bool {
    let mut parts = entity.key_templates().zip(schema.attributes());
    parts.all(|(template, key)| item.get(&key.name).is_some_and(|value| key::fits(template, value)))
}

fn attributes(side: &[ModelKey]) -> Vec<KeyAttribute<'_>> {
    side.iter().map(|key| KeyAttribute { name: &key.name, kind: key.kind }).collect()
}

fn compare_range(
    planned: &Planned<'_>,
    (read, plan): (&Read, &ReadPlan),
    range: &KeyRange,
    differences: &mut Differences,
) -> Option<()> {
    let has_partition = |id: &EntityId| {
        let (partition, _) = templates(planned.model.entity(*id), plan.index)?;
        let mut parts = partition.iter().zip(&range.partition);
        parts.all(|(template, value)| key::fits(template, value.as_ref())).then_some(())
    };
    if !plan.entities.iter().all(|id| has_partition(id).is_some()) {
        let names = plan.entities.iter().map(|id| planned.model.entity(*id).name.value.clone());
        return differences.add(|| Difference::Key { entities: names.collect() });
    }
    if let Some((partition, sort)) = templates(planned.model.entity(plan.entities[0]), plan.index) {
        for (template, value) in
            partition.iter().zip(&range.partition).chain(sort.iter().zip(&range.sort_prefix))
        {
            compare_values(read, template, value.as_ref(), differences)?;
        }
        if let (Some(template), Some(Range::Equal(value) | Range::BeginsWith(value))) =
            (sort.get(range.sort_prefix.len()), &range.sort)
        {
            compare_values(read, template, value.as_ref(), differences)?;
        }
    }
    let serves = |id: &EntityId| {
        let (_, sort) = templates(planned.model.entity(*id), plan.index)?;
        serves_sort(sort, plan, range).then_some(())
    };
    match plan.entities.iter().all(|id| serves(id).is_some()) || reads_the_same_without(planned, plan, range)
    {
        true => Some(()),
        false => differences.add(|| Difference::Sort { planned: sort_in_words(plan) }),
    }
}

/// Whether the request has no condition on the sort key, and the plan's has no value: it keeps other entities out, and
/// there are none under the partition key.
fn reads_the_same_without(planned: &Planned<'_>, plan: &ReadPlan, range: &KeyRange) -> bool {
    let is_prefix = matches!(key::planned(plan.sort.first()), SortForm::Begins { fields: 0, .. });
    if !is_prefix || range.sort.is_some() || !range.sort_prefix.is_empty() {
        return false;
    }
    let others = planned.model.entities_of(plan.table).filter(|(id, _)| !plan.entities.contains(id));
    !others.filter_map(|(_, entity)| templates(entity, plan.index)).any(|(partition, _)| {
        let mut parts = partition.iter().zip(&range.partition);
        parts.all(|(template, value)| key::fits(template, value.as_ref()))
    })
}

/// Whether the condition on each sort attribute is the plan's.
fn serves_sort(sort: &[Template], plan: &ReadPlan, range: &KeyRange) -> bool {
    sort.iter().enumerate().all(|(position, template)| {
        let asked = match range.sort_prefix.get(position) {
            Some(value) => key::fits(template, value.as_ref()).then_some(SortForm::Whole),
            None if position == range.sort_prefix.len() => key::asked(template, range.sort.as_ref()),
            None => Some(SortForm::All),
        };
        let planned = key::planned(plan.sort.get(position));
        asked.is_some_and(|asked| asked.serves(planned, template.fields().count()))
    })
}

fn sort_in_words(plan: &ReadPlan) -> String {
    let conditions: Vec<String> = plan.sort.iter().map(|one| format!("`{one}`")).collect();
    match conditions.is_empty() {
        true => "all items under the partition key".to_owned(),
        false => conditions.join(" and "),
    }
}

/// The pattern may be for one value alone: `where: status = OPEN`.
fn compare_values(
    read: &Read,
    template: &Template,
    value: ValueRef<'_>,
    differences: &mut Differences,
) -> Option<()> {
    let Some(conditions) = &read.conditions else { return Some(()) };
    let text = key::text(value);
    for (attribute, value) in key::known(template, &text) {
        let terms = conditions.terms.iter().filter(|term| term.attribute.value == attribute);
        for term in terms.filter(|term| matches!(term.operator, Operator::Equal | Operator::In)) {
            let literals: Vec<&str> = term.operands.iter().filter_map(Operand::literal).collect();
            if !literals.is_empty() && !literals.contains(&value) {
                let attribute = attribute.to_owned();
                differences.add(|| Difference::KnownValue { attribute, planned: literals.join(" or ") })?;
            }
        }
    }
    Some(())
}

/// Attributes by which the request filters and the pattern does not. What expires, and the kind of an item, may always
/// be filtered.
fn further_filters(
    planned: &Planned<'_>,
    (read, plan): (&Read, &ReadPlan),
    asked: &AskedRead<'_>,
) -> Vec<String> {
    let Some(filter) = &asked.filter else { return Vec::new() };
    let is_ttl = |name: &str| planned.table().ttl.as_ref().is_some_and(|ttl| ttl.value == name);
    let is_kind = |name: &str| {
        let constant = |id: &EntityId| {
            let attribute = planned.model.entity(*id).attribute(name);
            attribute.is_some_and(|attribute| attribute.constant.is_some())
        };
        name.starts_with(LIBRARY_PREFIX) || plan.entities.iter().all(constant)
    };
    let is_planned = |name: &str| {
        let explicit = read.filter.iter().flat_map(|filter| &filter.terms);
        plan.filter.iter().map(Filter::attribute).any(|one| one == name)
            || explicit.into_iter().any(|term| term.attribute.value == name)
    };
    let mut names: Vec<String> = filter
        .top_level_names()
        .filter(|name| !is_ttl(name) && !is_kind(name) && !is_planned(name))
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}
