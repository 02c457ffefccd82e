//! Which items a write pattern is tried on: what is stored before, and what must be stored after.

use item::{Number, Value};

use super::{Given, Unsendable};
use crate::Model;
use crate::model::{Entity, EntityId, Pattern, TableId, Write, WriteVerb};
use crate::plan::{ActionPlan, IndexEffect, Plan, changed};
use crate::predicate::{Operand, Operator, Predicate, Term};
use crate::predict::item::{Values, size_bytes};
use crate::sample::variant::{another, variant, with};
use crate::sample::{FILLER, SampleItem, key_of};

/// How often one pattern is tried, each time with other items.
const ROUNDS: usize = 5;
/// Enough writes to be varied.
const MANY: usize = 20;

/// One item that is written.
#[derive(Clone)]
pub struct Touch<'m> {
    pub write: &'m Write,
    pub effects: &'m [IndexEffect],
    pub table: TableId,
    pub entity: EntityId,
    pub old: Option<Values>,
    pub new: Option<Values>,
    /// Values of the parameters.
    pub given: Given,
}

/// One execution of a write pattern.
#[derive(Clone)]
pub struct Case<'m> {
    pub touches: Vec<Touch<'m>>,
    /// What the database holds before.
    pub data: Vec<SampleItem>,
}

/// The cases of a pattern: distinct in what they write.
pub fn cases<'m>(
    model: &'m Model,
    pattern: &'m Pattern,
    plan: &'m Plan,
    data: &[SampleItem],
) -> Result<Vec<Case<'m>>, Unsendable> {
    let mut cases: Vec<Case<'m>> = Vec::new();
    for round in 0..ROUNDS {
        let case = Chooser::new(model, data, round).case(pattern, plan)?;
        let written = |case: &Case<'_>| -> Vec<(Option<Values>, Option<Values>)> {
            case.touches.iter().map(|touch| (touch.old.clone(), touch.new.clone())).collect()
        };
        let many = case.touches.len() > MANY;
        if !cases.iter().any(|other| written(other) == written(&case)) {
            cases.push(case);
        }
        if many {
            break;
        }
    }
    Ok(cases)
}

/// Chooses the items of one execution.
pub struct Chooser<'m, 'd> {
    model: &'m Model,
    data: &'d [SampleItem],
    round: usize,
    /// Keys that are taken: a request must not name an item twice.
    used: Vec<(TableId, Values)>,
}

impl<'m, 'd> Chooser<'m, 'd> {
    /// Each round uses other items.
    pub fn new(model: &'m Model, data: &'d [SampleItem], round: usize) -> Chooser<'m, 'd> {
        Chooser { model, data, round, used: Vec::new() }
    }

    pub fn case(mut self, pattern: &'m Pattern, plan: &'m Plan) -> Result<Case<'m>, Unsendable> {
        let mut touches = Vec::new();
        let mut anchor = None;
        for ((action, write), step) in pattern.writes().zip(&plan.steps) {
            let ActionPlan::Write(plan) = &step.kind else { return Err(Unsendable::mixed()) };
            for _ in 0..action.times.min(200) {
                let item = self.item(plan.entity, anchor)?;
                anchor = anchor.or_else(|| self.data.iter().position(|one| one.values == item.values));
                touches.push(self.touch(write, &plan.effects, &item));
            }
        }
        let data = self.before(&touches);
        Ok(Case { touches, data })
    }

    /// An item that is not taken yet: one related to the first one chosen, else any, else a new one.
    fn item(&mut self, entity: EntityId, anchor: Option<usize>) -> Result<SampleItem, Unsendable> {
        let own = self.data.iter().enumerate().filter(|(_, item)| item.entity == Some(entity));
        let mut own: Vec<(usize, &SampleItem)> = own.collect();
        let turn = self.round % own.len().max(1);
        own.rotate_left(turn);
        own.sort_by_key(|(position, _)| !anchor.is_some_and(|anchor| self.related(*position, anchor)));
        let new = (1..=200).filter_map(|number| variant(self.model, own.first()?.1, number + 50));
        let all = own.iter().map(|(_, item)| (*item).clone()).chain(new);
        for item in all {
            let key = (item.table, key_of(self.model, item.table, &item.values));
            if !self.used.contains(&key) {
                self.used.push(key);
                return Ok(item);
            }
        }
        Err(Unsendable::NoData(format!("further {}", self.model.entity(entity).name.value)))
    }

    /// Whether one of the two items belongs to the other.
    fn related(&self, one: usize, other: usize) -> bool {
        let ancestors = |start: usize| {
            std::iter::successors(Some(start), |position| self.data.get(*position)?.parent)
                .take(self.data.len())
        };
        ancestors(one).any(|ancestor| ancestor == other) || ancestors(other).any(|ancestor| ancestor == one)
    }

    /// What the write does to this item, once it is changed so that the write's conditions hold.
    pub fn touch(&self, write: &'m Write, effects: &'m [IndexEffect], item: &SampleItem) -> Touch<'m> {
        let entity = write.entity.value;
        let mut touch = Touch {
            write,
            effects,
            table: item.table,
            entity,
            old: None,
            new: None,
            given: Given::default(),
        };
        let before = self.fulfilling(write, item, &mut touch.given);
        match write.verb {
            WriteVerb::Create => touch.new = Some(self.written(write, item).values),
            WriteVerb::Put => {
                touch.old = (self.round.is_multiple_of(2)).then(|| before.values.clone());
                touch.new = Some(self.replaced(write, &before).values);
            }
            WriteVerb::Update => {
                let (mut old, mut new) = (before.values.clone(), self.updated(write, &before));
                keep_size(&mut old, &mut new);
                (touch.old, touch.new) = (Some(old), Some(new));
            }
            WriteVerb::Delete => touch.old = Some(before.values),
            WriteVerb::Check => {
                touch.new = Some(before.values.clone());
                touch.old = Some(before.values);
            }
        }
        touch
    }

    /// The item, changed so that the write's condition and its `from` values hold. Bare `not exists` needs no item.
    fn fulfilling(&self, write: &Write, item: &SampleItem, given: &mut Given) -> SampleItem {
        let entity = self.model.entity(write.entity.value);
        let mut values = item.values.clone();
        for change in &write.set {
            if let Some(Operand::Literal(from)) = &change.from {
                values.insert(change.attribute.value.clone(), entity.typed(&change.attribute, from));
            }
        }
        for term in write.condition.iter().flat_map(|condition| &condition.terms) {
            fulfil(entity, term, &mut values, given);
            accompany(entity, &term.attribute, &mut values);
        }
        if let Some(version) = &write.version {
            values.entry(version.value.clone()).or_insert_with(|| Value::from(7));
        }
        let changed: Vec<(String, Value)> =
            values.iter().filter(|(name, value)| item.values.get(*name) != Some(value)).map(pair).collect();
        let removed = item.values.keys().any(|name| !values.contains_key(name));
        if changed.is_empty() && !removed {
            return item.clone();
        }
        with(self.model, &SampleItem { values, ..item.clone() }, [], self.round)
    }

    /// A new item, with the values that the write gives it.
    fn written(&self, write: &Write, item: &SampleItem) -> SampleItem {
        let entity = self.model.entity(write.entity.value);
        let given = write.set.iter().filter_map(|change| {
            let text = change.to.as_ref().and_then(Operand::literal)?;
            Some((change.attribute.value.clone(), entity.typed(&change.attribute, text)))
        });
        let given: Vec<(String, Value)> = given.collect();
        if given.is_empty() { item.clone() } else { with(self.model, item, given, self.round) }
    }

    /// An item that replaces another with the same key: all other attributes are new.
    fn replaced(&self, write: &Write, item: &SampleItem) -> SampleItem {
        let entity = self.model.entity(write.entity.value);
        let in_key = |name: &str| entity.key_templates().any(|template| template.uses(name));
        let others = entity.attributes.values().filter(|attribute| {
            !in_key(&attribute.name)
                && attribute.constant.is_none()
                && item.values.contains_key(&attribute.name)
        });
        let changes: Vec<(String, Value)> = others
            .map(|attribute| {
                let old = item.values.get(&attribute.name);
                (attribute.name.clone(), another(entity, &attribute.name, old))
            })
            .collect();
        self.written(write, &with(self.model, item, changes, self.round))
    }

    fn updated(&self, write: &Write, item: &SampleItem) -> Values {
        let entity = self.model.entity(write.entity.value);
        let mut values = item.values.clone();
        for change in &write.set {
            let name = &change.attribute.value;
            let value = match change.to.as_ref().and_then(Operand::literal) {
                Some(text) => entity.typed(name, text),
                None => another(entity, name, item.values.get(name)),
            };
            values.insert(name.clone(), value);
        }
        for change in &write.add {
            let name = &change.attribute.value;
            values.insert(name.clone(), added(&amount(change.to.as_ref()), item.values.get(name)));
        }
        if let Some(version) = &write.version {
            values.insert(version.value.clone(), added(&Number::from(1u64), item.values.get(&version.value)));
        }
        for name in &write.remove {
            values.remove(&name.value);
        }
        self.move_keys(write, entity, &mut values);
        values
    }

    /// The index keys that a writer maintains: those of which it changed a part, and those of indexes that
    /// the item enters or leaves.
    fn move_keys(&self, write: &Write, entity: &Entity, values: &mut Values) {
        let table = self.model.table_of(entity);
        for entry in &entity.entries {
            let member = entry.has(values);
            for (key, template) in table.index(entry.index).key.attributes().zip(entry.templates()) {
                let own = entity.attribute(&key.name).is_some()
                    || table.key.as_ref().is_some_and(|schema| schema.names(&key.name));
                let touched = changed(write).any(|name| template.uses(name));
                if own || (member && !touched && values.contains_key(&key.name)) {
                    continue;
                }
                values.remove(&key.name);
                if member {
                    let rendered =
                        template.render(key.kind, |name| values.get(name).cloned(), self.round as u64);
                    values.extend(rendered.ok().map(|value| (key.name.clone(), value)));
                }
            }
        }
    }

    /// The data, with the items in the state before the writes.
    fn before(&self, touches: &[Touch<'_>]) -> Vec<SampleItem> {
        let key = |table: TableId, values: &Values| (table, key_of(self.model, table, values));
        let touched = touches.iter().flat_map(|touch| {
            [&touch.old, &touch.new].into_iter().flatten().map(move |values| key(touch.table, values))
        });
        let touched: Vec<_> = touched.collect();
        let others = self.data.iter().filter(|item| !touched.contains(&key(item.table, &item.values)));
        let old = touches.iter().filter_map(|touch| {
            let values = touch.old.clone()?;
            Some(SampleItem {
                table: touch.table,
                entity: Some(touch.entity),
                name: None,
                values,
                parent: None,
            })
        });
        old.chain(others.cloned()).collect()
    }
}

/// An update may make an item larger; the larger one gets the declared size. The filler shrinks to make room.
fn keep_size(old: &mut Values, new: &mut Values) {
    let growth = size_bytes(new).saturating_sub(size_bytes(old));
    for values in [old, new] {
        if let Some(Value::S(filler)) = values.get_mut(FILLER)
            && filler.len() > growth
        {
            filler.truncate(filler.len() - growth);
        }
    }
}

fn pair((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// `+1`, `-1`, or a bare name, which counts as 1.
pub fn amount(written: Option<&Operand>) -> Number {
    let text = written.and_then(Operand::literal).map(|text| text.trim_start_matches('+'));
    text.and_then(|text| Number::parse(text).ok()).unwrap_or_else(|| Number::from(1u64))
}

/// ADD: increments a number, unites a set.
fn added(amount: &Number, old: Option<&Value>) -> Value {
    match old {
        Some(Value::Ss(members)) => Value::string_set(members.iter().cloned().chain([amount.to_string()])),
        Some(Value::Ns(members)) => Value::number_set(members.iter().cloned().chain([*amount])),
        Some(Value::N(old)) => Value::N(old.checked_add(*amount).unwrap_or(*old)),
        _ => Value::N(*amount),
    }
}

/// Sets the attribute, or the parameters, so that the term holds.
fn fulfil(entity: &Entity, term: &Term, values: &mut Values, given: &mut Given) {
    let name = &term.attribute.value;
    if name.is_empty() {
        return;
    }
    let old = values.get(name).cloned();
    let first = term.operands.first().and_then(Operand::literal).map(|text| entity.typed(name, text));
    let holds = |value: &Value| {
        let predicate = Predicate { terms: vec![term.clone()], span: term.span };
        predicate.holds(|_| Some(value.clone()))
    };
    let value = match (term.operator, first) {
        (Operator::NotExists, _) => {
            values.remove(name);
            return;
        }
        (Operator::Exists, _) => Some(old.unwrap_or_else(|| another(entity, name, None))),
        (Operator::NotEqual, Some(first)) if old.as_ref() == Some(&first) => {
            Some(another(entity, name, old.as_ref()))
        }
        (Operator::NotEqual, _) => old,
        (_, Some(_)) if old.as_ref().is_some_and(holds) => old,
        (operator, Some(first)) => Some(shifted(operator, &first)),
        (operator, None) => {
            let value = old.unwrap_or_else(|| another(entity, name, None));
            for operand in &term.operands {
                if let Operand::Parameter(parameter) = operand {
                    given.set_parameter(parameter, unshifted(operator, &value));
                }
            }
            Some(value)
        }
    };
    values.extend(value.map(|value| (name.clone(), value)));
}

/// The item with another value of an attribute, or without the attribute. What an item has only together with it
/// comes and goes with it, and keys are rendered again.
pub fn altered(model: &Model, item: &SampleItem, name: &str, value: Option<Value>) -> SampleItem {
    let mut values = item.values.clone();
    values.remove(name);
    values.extend(value.map(|value| (name.to_owned(), value)));
    if let Some(id) = item.entity {
        accompany(model.entity(id), name, &mut values);
    }
    with(model, &SampleItem { values, ..item.clone() }, [], 0)
}

/// Attributes that an item has only together with this one follow it.
fn accompany(entity: &Entity, name: &str, values: &mut Values) {
    let others = entity.attributes.keys().filter(|other| *other != name && entity.has_together(name, other));
    for other in others {
        match values.contains_key(name) {
            true => {
                values.entry(other.clone()).or_insert_with(|| another(entity, other, None));
            }
            false => {
                values.remove(other);
            }
        }
    }
}

/// A value for which `value operator bound` holds.
fn shifted(operator: Operator, bound: &Value) -> Value {
    match operator {
        Operator::Greater => moved(bound, 1),
        Operator::Less => moved(bound, -1),
        _ => bound.clone(),
    }
}

/// A bound for which `value operator bound` holds.
fn unshifted(operator: Operator, value: &Value) -> Value {
    match operator {
        Operator::Greater | Operator::NotEqual => moved(value, -1),
        Operator::Less => moved(value, 1),
        _ => value.clone(),
    }
}

/// A little more or less than the value.
pub fn moved(value: &Value, by: i64) -> Value {
    match value {
        Value::N(number) => {
            let step = Number::parse(&by.to_string()).ok();
            Value::N(step.and_then(|step| number.checked_add(step).ok()).unwrap_or(*number))
        }
        Value::S(text) if by > 0 => Value::S(format!("{text}~")),
        Value::S(_) => Value::from("!"),
        other => other.clone(),
    }
}
