//! Planned writes -> requests with parameters: items, updates with the index keys that they move, conditions.

use std::collections::BTreeMap;

use item::Value as Stored;
use model::Model;
use model::model::{AttributeChange, Entity, Grouping, IndexEntry, KeyAttribute, Pattern, Table, WriteVerb};
use model::plan::{ActionPlan, Membership, Plan, WritePlan, changed};
use model::predicate::Operand;
use model::request::Unsendable;
use model::request::write_case::amount;
use model::template::Template;

use super::case::identifier;
use super::key;
use super::parameter::{Expressions, Origin, Parameters};
use super::record::{self, of_field};
use super::{Body, Library, Request, Step, Test, Value, Verb, Write};

/// The most indexes whose membership the values of one update decide.
const DECIDED_MAX: usize = 3;

pub fn body(
    model: &Model,
    pattern: &Pattern,
    plan: &Plan,
    function: &str,
    parameters: &mut Parameters,
    library: &mut Library,
) -> Result<Body, Unsendable> {
    let items = items(model, pattern, plan, parameters, library);
    let mut steps = Vec::new();
    for (position, ((action, write), step)) in pattern.writes().zip(&plan.steps).enumerate() {
        let ActionPlan::Write(plan) = &step.kind else { return Err(Unsendable::mixed()) };
        if model.entity(plan.entity).key.is_none() {
            return Err(Unsendable::Impossible("there are no keys yet".to_owned()));
        }
        parameters.begin(position, plan.entity);
        let item = items.get(&position).cloned();
        let mut writer = Writer { model, write, plan, item, parameters, library };
        let several = action.times > 1;
        match pattern.grouping {
            Grouping::Single if several => {
                return Err(Unsendable::Impossible("one request writes one item".to_owned()));
            }
            Grouping::Single => return writer.single(),
            Grouping::Batch
                if !matches!(write.verb, WriteVerb::Create | WriteVerb::Put | WriteVerb::Delete) =>
            {
                return Err(Unsendable::Impossible(format!(
                    "a batch puts and deletes; it has no {}",
                    write.verb.name()
                )));
            }
            Grouping::Transaction | Grouping::Batch => steps.push(writer.step(several, function)?),
        }
    }
    Ok(match pattern.grouping {
        Grouping::Batch => Body::BatchWrite(steps),
        _ => Body::Transaction(steps),
    })
}

/// The parameters of items that are written whole, by the position of their action. They come first, because other actions
/// take values from them.
fn items(
    model: &Model,
    pattern: &Pattern,
    plan: &Plan,
    parameters: &mut Parameters,
    library: &Library,
) -> BTreeMap<usize, String> {
    let mut items = BTreeMap::new();
    for (position, ((action, write), step)) in pattern.writes().zip(&plan.steps).enumerate() {
        let is_put = matches!(write.verb, WriteVerb::Create | WriteVerb::Put);
        let ActionPlan::Write(plan) = &step.kind else { continue };
        if is_put && action.times == 1 {
            parameters.begin(position, plan.entity);
            let wanted = identifier(&model.entity(plan.entity).name.value, "item");
            items.insert(position, parameters.item(&wanted, &library.records[plan.entity.0]));
        }
    }
    items
}

/// A change of one attribute.
enum Clause {
    Set(Value),
    Add(Value),
    Remove,
}

struct Writer<'w, 'm> {
    model: &'m Model,
    write: &'m model::model::Write,
    plan: &'m WritePlan,
    /// The parameter with the item, if it is written whole.
    item: Option<String>,
    parameters: &'w mut Parameters,
    library: &'w mut Library,
}

impl<'m> Writer<'_, 'm> {
    fn entity(&self) -> &'m Entity {
        self.model.entity(self.plan.entity)
    }

    fn table(&self) -> &'m Table {
        self.model.table(self.plan.table)
    }

    /// What items of the entity are called.
    fn wanted(&self) -> String {
        identifier(&self.entity().name.value, "item")
    }

    fn single(&mut self) -> Result<Body, Unsendable> {
        match self.write.verb {
            WriteVerb::Check => Err(Unsendable::lone_check()),
            WriteVerb::Create | WriteVerb::Put => {
                let variable = self.item.clone().ok_or_else(Unsendable::mixed)?;
                Ok(Body::Write(self.put(variable)?))
            }
            WriteVerb::Delete => Ok(Body::Write(self.delete(Verb::Delete)?)),
            WriteVerb::Update => {
                self.know();
                let undecided = self.undecided()?;
                self.decided(&undecided, &mut Vec::new())
            }
        }
    }

    fn step(&mut self, several: bool, function: &str) -> Result<Step<Write>, Unsendable> {
        let wanted = self.wanted();
        if let Some(variable) = self.item.clone() {
            return Ok(Step { each: None, action: self.put(variable)? });
        }
        if matches!(self.write.verb, WriteVerb::Create | WriteVerb::Put) {
            let record = self.library.records[self.plan.entity.0].name.clone();
            let each = self.parameters.items(&wanted, &record);
            let action = self.put(each.element.clone())?;
            return Ok(Step { each: Some(each), action });
        }
        if several {
            self.parameters.begin_list(&wanted);
        }
        let action = match self.write.verb {
            WriteVerb::Delete => self.delete(Verb::Delete)?,
            WriteVerb::Check => self.delete(Verb::Check)?,
            _ => {
                self.know();
                if !self.undecided()?.is_empty() {
                    return Err(Unsendable::Impossible(
                        "whether the item is in an index depends on a value, which a step of a transaction can't ask"
                            .to_owned(),
                    ));
                }
                self.update(&[])?
            }
        };
        let each = if several { self.parameters.end_list(&wanted, function, self.library) } else { None };
        Ok(Step { each, action })
    }

    /// The parameters that identify the item come first.
    fn know(&mut self) {
        let entity = self.entity();
        for template in entity.key_templates() {
            for name in template.attributes() {
                let _ = self.known(name);
            }
        }
    }

    fn put(&mut self, variable: String) -> Result<Write, Unsendable> {
        let entity = self.entity();
        let fields = self.library.records[self.plan.entity.0].clone();
        let with = self.write.set.iter().filter_map(|change| {
            let text = change.to.as_ref().and_then(Operand::literal)?;
            let field = fields.field(&change.attribute)?;
            Some((field.name.clone(), Value::Literal(entity.typed(&change.attribute, text))))
        });
        let with = with.collect();
        let mut expressions = Expressions::default();
        let condition = self.condition(&mut expressions)?;
        let mut request = Request { table: self.table().name.value.clone(), condition, ..Request::default() };
        expressions.finish(&mut request);
        let verb = Verb::Put { entity: self.plan.entity.0, variable, record: fields.name, with };
        Ok(Write { verb, request })
    }

    /// A delete, or a check of a transaction: a key and a condition.
    fn delete(&mut self, verb: Verb) -> Result<Write, Unsendable> {
        self.know();
        let mut expressions = Expressions::default();
        let mut request =
            Request { table: self.table().name.value.clone(), key: self.key()?, ..Request::default() };
        request.condition = self.condition(&mut expressions)?;
        expressions.finish(&mut request);
        Ok(Write { verb, request })
    }

    fn key(&mut self) -> Result<Vec<(String, Value)>, Unsendable> {
        let (table, entity) = (self.table(), self.entity());
        let mut values = Vec::new();
        let schema = table.key.as_ref().ok_or_else(|| Unsendable::Unknown("the key".to_owned()))?;
        for (key, template) in schema.attributes().zip(entity.key_templates()) {
            values.push((key.name.clone(), self.rendered(key, template)?));
        }
        Ok(values)
    }

    fn rendered(&mut self, key: &KeyAttribute, template: &Template) -> Result<Value, Unsendable> {
        let entity = self.entity();
        let mut values = Vec::new();
        for name in template.attributes() {
            values.push((name.to_owned(), self.known(name)));
        }
        let mut known = |field: &model::template::Field| {
            let value = values.iter().find(|(name, _)| Some(name.as_str()) == field.attribute());
            of_field(field, value.and_then(|(_, value)| value.clone()))
        };
        key::value(self.library, entity, key, template, &mut known)
    }

    /// The value that an attribute has after the write, if the writer knows it.
    fn known(&mut self, attribute: &str) -> Option<Value> {
        let (write, entity) = (self.write, self.entity());
        if let Some(constant) = entity.attribute(attribute).and_then(|one| one.constant.clone()) {
            return Some(Value::Literal(constant));
        }
        if let Some(change) = write.set.iter().find(|change| change.attribute.value == attribute) {
            return Some(self.new_value(change));
        }
        if write.version.as_ref().is_some_and(|version| version.value == attribute) {
            return Some(self.next_version(attribute));
        }
        let named = write.by.iter().chain(&write.knows).any(|known| known.value == attribute);
        let of_key = entity.key_templates().any(|template| template.uses(attribute));
        let keyed = write.by.is_empty() && of_key;
        // What the file names in `by` is the caller's to say.
        let beside = (of_key && !write.says_by).then(|| self.parameters.of_item(entity, attribute));
        if let Some(value) = beside.flatten() {
            return Some(value);
        }
        (named || keyed)
            .then(|| self.parameters.value(Origin::Attribute(attribute.to_owned()), entity, attribute))
    }

    fn new_value(&mut self, change: &AttributeChange) -> Value {
        let (entity, name) = (self.entity(), &change.attribute.value);
        match &change.to {
            Some(Operand::Literal(text)) => Value::Literal(entity.typed(name, text)),
            Some(Operand::Parameter(parameter)) => self.parameters.named(
                &identifier(parameter, "value"),
                Origin::New(name.clone()),
                entity,
                name,
            ),
            None => self.parameters.value(Origin::New(name.clone()), entity, name),
        }
    }

    fn next_version(&mut self, attribute: &str) -> Value {
        let origin = Origin::Attribute(attribute.to_owned());
        Value::Next(Box::new(self.parameters.value(origin, self.entity(), attribute)))
    }

    /// As [`model::request::write`] has it: no item before a create, the file's `if`, the version that was read.
    fn condition(&mut self, expressions: &mut Expressions) -> Result<Option<String>, Unsendable> {
        let (write, entity, table) = (self.write, self.entity(), self.table());
        let mut terms = Vec::new();
        let partition = table.key.as_ref().and_then(|key| key.partition.first()).map(|key| key.name.as_str());
        if let (WriteVerb::Create, Some(partition)) = (write.verb, partition) {
            terms.push(format!("attribute_not_exists({})", expressions.name(partition)));
        }
        for term in write.condition.iter().flat_map(|condition| &condition.terms) {
            terms.push(expressions.term(entity, table, term, self.parameters)?);
        }
        let has_old = !matches!(write.verb, WriteVerb::Create | WriteVerb::Put);
        if let Some(version) = write.version.as_ref().filter(|_| has_old) {
            let origin = Origin::Attribute(version.value.clone());
            let value = self.parameters.value(origin, entity, version);
            terms.push(format!("{} = {}", expressions.name(version), expressions.value(version, value)));
        }
        if let (true, WriteVerb::Check, Some(partition)) = (terms.is_empty(), write.verb, partition) {
            terms.push(format!("attribute_exists({})", expressions.name(partition)));
        }
        Ok((!terms.is_empty()).then(|| terms.join(" AND ")))
    }

    /// Indexes in which the item is or is not after the update, depending on values that the caller gives.
    fn undecided(&mut self) -> Result<Vec<(&'m IndexEntry, Vec<Test>)>, Unsendable> {
        let entity = self.entity();
        let mut undecided = Vec::new();
        for (entry, effect) in entity.entries.iter().zip(&self.plan.effects) {
            let moves = effect.key_changes || effect.before != effect.after || self.decides(entry);
            if effect.after != Membership::Perhaps || !moves || self.written_keys(entry).is_empty() {
                continue;
            }
            let Some(when) = entity.membership(entry) else { continue };
            let values: Vec<(String, Option<Value>)> = when
                .terms
                .iter()
                .map(|term| (term.attribute.value.clone(), self.known(&term.attribute)))
                .collect();
            let value =
                |name: &str| values.iter().find(|(one, _)| one == name).and_then(|(_, value)| value.clone());
            undecided.push((entry, record::tests(entity, &when, value)?));
        }
        if undecided.len() > DECIDED_MAX {
            return Err(Unsendable::Impossible("too many indexes depend on the values".to_owned()));
        }
        Ok(undecided)
    }

    /// Whether the update changes what decides about membership.
    fn decides(&self, entry: &IndexEntry) -> bool {
        let when = self.entity().membership(entry);
        let depends =
            |name: &str| when.iter().flat_map(|when| &when.terms).any(|term| term.attribute.value == name);
        changed(self.write).any(depends)
    }

    /// One update for each outcome of the tests.
    fn decided(
        &mut self,
        undecided: &[(&'m IndexEntry, Vec<Test>)],
        outcomes: &mut Vec<bool>,
    ) -> Result<Body, Unsendable> {
        let Some((_, tests)) = undecided.get(outcomes.len()) else {
            let decided: Vec<(&IndexEntry, bool)> =
                undecided.iter().map(|(entry, _)| *entry).zip(outcomes.iter().copied()).collect();
            return Ok(Body::Write(self.update(&decided)?));
        };
        let mut branch = |outcome: bool| {
            outcomes.push(outcome);
            let body = self.decided(undecided, outcomes);
            outcomes.pop();
            body.map(Box::new)
        };
        Ok(Body::Either { tests: tests.clone(), then: branch(true)?, otherwise: branch(false)? })
    }

    fn update(&mut self, decided: &[(&IndexEntry, bool)]) -> Result<Write, Unsendable> {
        let (write, entity) = (self.write, self.entity());
        let mut request =
            Request { table: self.table().name.value.clone(), key: self.key()?, ..Request::default() };
        let mut expressions = Expressions::default();
        // The condition comes first, so that it has the plain names of values.
        request.condition = self.condition(&mut expressions)?;
        let mut clauses: BTreeMap<String, Clause> = BTreeMap::new();
        for change in &write.set {
            let value = self.new_value(change);
            clauses.insert(change.attribute.value.clone(), Clause::Set(value));
        }
        for change in &write.add {
            let name = &change.attribute.value;
            let value = match &change.to {
                Some(Operand::Literal(_)) => Value::Literal(Stored::N(amount(change.to.as_ref()))),
                _ => self.parameters.value(Origin::Added(name.clone()), entity, name),
            };
            clauses.insert(name.clone(), Clause::Add(value));
        }
        if let Some(version) = &write.version {
            let value = self.next_version(version);
            clauses.insert(version.value.clone(), Clause::Set(value));
        }
        for name in &write.remove {
            clauses.insert(name.value.clone(), Clause::Remove);
        }
        for (entry, effect) in entity.entries.iter().zip(&self.plan.effects) {
            let outcome = decided.iter().find(|(one, _)| one.index == entry.index).map(|(_, is_in)| *is_in);
            let (before, after) = match outcome {
                Some(true) => (Membership::Out, Membership::In),
                Some(false) => (Membership::In, Membership::Out),
                None => (effect.before, effect.after),
            };
            for (key, template) in self.written_keys(entry) {
                let touched = changed(write).any(|name| template.uses(name));
                match after {
                    Membership::Out if before != Membership::Out => {
                        clauses.insert(key.name.clone(), Clause::Remove);
                    }
                    Membership::In if touched || before != Membership::In => {
                        let value = self.rendered(key, template)?;
                        clauses.insert(key.name.clone(), Clause::Set(value));
                    }
                    _ => {}
                }
            }
        }
        request.update = update_expression(&mut expressions, clauses);
        expressions.finish(&mut request);
        Ok(Write { verb: Verb::Update, request })
    }

    /// The key attributes of an index that the writer maintains.
    fn written_keys(&self, entry: &'m IndexEntry) -> Vec<(&'m KeyAttribute, &'m Template)> {
        let (table, entity) = (self.table(), self.entity());
        let own = |key: &KeyAttribute| {
            entity.attribute(&key.name).is_some()
                || table.key.as_ref().is_some_and(|one| one.names(&key.name))
        };
        let keys = table.index(entry.index).key.attributes().zip(entry.templates());
        keys.filter(|(key, _)| !own(key)).collect()
    }
}

fn update_expression(expressions: &mut Expressions, clauses: BTreeMap<String, Clause>) -> Option<String> {
    let (mut set, mut add, mut remove) = (Vec::new(), Vec::new(), Vec::new());
    for (name, clause) in clauses {
        let written = expressions.name(&name);
        match clause {
            Clause::Set(value) => set.push(format!("{written} = {}", expressions.value(&name, value))),
            Clause::Add(value) => add.push(format!("{written} {}", expressions.value(&name, value))),
            Clause::Remove => remove.push(written),
        }
    }
    let clause =
        |word: &str, parts: &[String]| (!parts.is_empty()).then(|| format!("{word} {}", parts.join(", ")));
    let clauses = [clause("SET", &set), clause("ADD", &add), clause("REMOVE", &remove)];
    let text = clauses.into_iter().flatten().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}
