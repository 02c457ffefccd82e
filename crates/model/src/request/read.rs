//! A planned read and the known values -> the requests to send: one, or one for each shard.

use api::{GetItemInput, QueryInput, ScanInput, Select};
use item::{Item, Type, Value};

use super::expression::Placeholders;
use super::{Given, Unsendable};
use crate::Model;
use crate::model::{AttributesRead, Entity, KeyAttribute, KeySchema, Read, Table};
use crate::plan::{Filter, ReadPlan, SortCondition};
use crate::predicate::{Operand, Operator, Term};
use crate::template::{self, Field, Form, Part, Template};

/// No key has a larger character.
pub const HIGHEST: char = '\u{10FFFF}';
const LOWEST: char = '\0';

/// A read of a pattern with its plan.
#[derive(Clone, Copy)]
pub struct PlannedRead<'m> {
    pub model: &'m Model,
    pub read: &'m Read,
    pub plan: &'m ReadPlan,
    /// The most items that each request asks for.
    pub limit: Option<u64>,
    /// Whether the file means the filter: items that it drops are expected.
    pub filters: bool,
}

impl<'m> PlannedRead<'m> {
    pub fn new(model: &'m Model, read: &'m Read, plan: &'m ReadPlan) -> PlannedRead<'m> {
        PlannedRead { model, read, plan, limit: read.limit.as_ref().map(|limit| limit.value), filters: false }
    }

    pub fn table(&self) -> &'m Table {
        self.model.table(self.plan.table)
    }

    /// The entity whose templates the plan follows.
    pub fn entity(&self) -> &'m Entity {
        self.model.entity(self.plan.entities[0])
    }

    /// The key schema of the table or index that is read.
    pub fn schema(&self) -> Option<&'m KeySchema> {
        match self.plan.index {
            Some(index) => Some(&self.table().index(index).key),
            None => self.table().key.as_ref(),
        }
    }

    /// Whether only the number of items is asked for.
    pub fn counts(&self) -> bool {
        self.attributes() == Some(&AttributesRead::Count)
    }

    fn attributes(&self) -> Option<&'m AttributesRead> {
        self.read.attributes.as_ref().map(|attributes| &attributes.value)
    }

    /// The key of the one item.
    pub fn keys(&self, given: &Given) -> Result<Vec<Item>, Unsendable> {
        let schema = self.schema().ok_or_else(|| Unsendable::unknown("the key"))?;
        let mut keys = Vec::new();
        for given in self.choices(given) {
            for partition in self.partitions(&given)? {
                let sort = schema.sort.iter().zip(&self.plan.sort).map(|(key, condition)| match condition {
                    SortCondition::Equal(template) => {
                        Ok((key.name.clone(), self.render(template, key.kind, &given)?))
                    }
                    _ => Err(Unsendable::unknown(&key.name)),
                });
                let sort = sort.collect::<Result<Vec<_>, _>>()?;
                let partition = schema.partition.iter().map(|key| key.name.clone()).zip(partition);
                keys.push(partition.chain(sort).collect());
            }
        }
        Ok(keys)
    }

    pub fn get_items(&self, given: &Given) -> Result<Vec<GetItemInput>, Unsendable> {
        let keys = self.keys(given)?;
        let input = |key: Item| {
            let mut placeholders = Placeholders::default();
            let projection = placeholders.projection(self.table(), self.plan.index, self.attributes());
            GetItemInput {
                table_name: self.table().name.value.clone(),
                key,
                consistent_read: self.plan.consistent.then_some(true),
                projection_expression: projection,
                expression_attribute_names: placeholders.names(),
                ..GetItemInput::default()
            }
        };
        Ok(keys.into_iter().map(input).collect())
    }

    pub fn queries(&self, given: &Given) -> Result<Vec<QueryInput>, Unsendable> {
        let mut queries = Vec::new();
        for given in self.choices(given) {
            for partition in self.partitions(&given)? {
                queries.push(self.query(&given, &partition)?);
            }
        }
        Ok(queries)
    }

    fn query(&self, given: &Given, partition: &[Value]) -> Result<QueryInput, Unsendable> {
        let schema = self.schema().ok_or_else(|| Unsendable::unknown("the key"))?;
        let mut placeholders = Placeholders::default();
        let mut conditions = Vec::new();
        for (key, value) in schema.partition.iter().zip(partition) {
            conditions.push(format!(
                "{} = {}",
                placeholders.name(&key.name),
                placeholders.value(&key.name, value)
            ));
        }
        for (position, (key, condition)) in schema.sort.iter().zip(&self.plan.sort).enumerate() {
            conditions.push(self.sort_condition(&mut placeholders, position, key, condition, given)?);
        }
        Ok(QueryInput {
            table_name: self.table().name.value.clone(),
            index_name: self.plan.index.map(|index| self.table().index(index).name.value.clone()),
            key_condition_expression: Some(conditions.join(" AND ")),
            filter_expression: self.filter(&mut placeholders, given)?,
            projection_expression: placeholders.projection(self.table(), self.plan.index, self.attributes()),
            select: self.counts().then_some(Select::Count),
            scan_index_forward: (!self.plan.forward).then_some(false),
            consistent_read: self.plan.consistent.then_some(true),
            limit: self.limit.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX)),
            expression_attribute_names: placeholders.names(),
            expression_attribute_values: placeholders.values(),
            ..QueryInput::default()
        })
    }

    pub fn scan(&self, given: &Given) -> Result<ScanInput, Unsendable> {
        let mut placeholders = Placeholders::default();
        Ok(ScanInput {
            table_name: self.table().name.value.clone(),
            filter_expression: self.filter(&mut placeholders, given)?,
            expression_attribute_names: placeholders.names(),
            expression_attribute_values: placeholders.values(),
            ..ScanInput::default()
        })
    }

    fn filter(&self, placeholders: &mut Placeholders, given: &Given) -> Result<Option<String>, Unsendable> {
        let mut terms = Vec::new();
        for filter in &self.plan.filter {
            terms.push(match filter {
                Filter::Term(term) => placeholders
                    .term(self.entity(), self.table(), term, given)
                    .ok_or_else(|| Unsendable::unknown(term))?,
                Filter::Known(attribute) => {
                    let value = given.attribute(attribute).ok_or_else(|| Unsendable::unknown(attribute))?;
                    format!("{} = {}", placeholders.name(attribute), placeholders.value(attribute, &value))
                }
            });
        }
        Ok((!terms.is_empty()).then(|| terms.join(" AND ")))
    }

    /// `status in (OPEN, HELD)` becomes one request for each value, if a key contains it.
    fn choices(&self, given: &Given) -> Vec<Given> {
        let mut choices = vec![given.clone()];
        let filtered = |name: &str| self.plan.filter.iter().any(|filter| filter.attribute() == name);
        let terms = self.read.conditions.iter().flat_map(|conditions| &conditions.terms);
        for term in terms.filter(|term| term.operator == Operator::In && !filtered(&term.attribute)) {
            let values =
                term.operands.iter().filter_map(|one| given.operand(self.entity(), &term.attribute, one));
            let values: Vec<Value> = values.collect();
            choices = choices
                .iter()
                .flat_map(|given| {
                    values.iter().map(|value| {
                        let mut given = given.clone();
                        given.set(&term.attribute, value.clone());
                        given
                    })
                })
                .collect();
        }
        choices
    }

    /// The values of the partition attributes, once for each combination of shards.
    fn partitions(&self, given: &Given) -> Result<Vec<Vec<Value>>, Unsendable> {
        let schema = self.schema().ok_or_else(|| Unsendable::unknown("the key"))?;
        let mut partitions: Vec<Vec<Value>> = vec![Vec::new()];
        for (key, template) in schema.partition.iter().zip(&self.plan.partition) {
            let mut extended = Vec::new();
            for template in self.unsharded(template, given) {
                let value = self.render(&template, key.kind, given)?;
                extended.extend(
                    partitions.iter().map(|known| [known.as_slice(), std::slice::from_ref(&value)].concat()),
                );
            }
            partitions = extended;
        }
        Ok(partitions)
    }

    /// The template once for each shard, if the reader can't compute the shard.
    fn unsharded(&self, template: &Template, given: &Given) -> Vec<Template> {
        let mut templates = vec![Template { parts: Vec::new(), span: template.span }];
        for part in &template.parts {
            let alternatives = match part {
                Part::Field(field) => self.shards(field, given).unwrap_or_else(|| vec![part.clone()]),
                Part::Literal(_) => vec![part.clone()],
            };
            let extend = |template: &Template| {
                let with = |part: &Part| {
                    let parts = [template.parts.as_slice(), std::slice::from_ref(part)].concat();
                    Template { parts, span: template.span }
                };
                alternatives.iter().map(with).collect::<Vec<_>>()
            };
            templates = templates.iter().flat_map(extend).collect();
        }
        templates
    }

    fn shards(&self, field: &Field, given: &Given) -> Option<Vec<Part>> {
        let count = field.shards()?;
        let known = field.attribute().and_then(|name| given.known(self.read, self.entity(), name));
        if known.is_some() {
            return None;
        }
        let number = |shard: u64| {
            let form = Form::Random { count };
            let one =
                Template { parts: vec![Part::Field(Field { form, ..field.clone() })], span: field.span };
            match one.render(Type::S, |_| None, shard) {
                Ok(Value::S(text)) => Part::Literal(text),
                _ => Part::Literal(shard.to_string()),
            }
        };
        Some((0..count).map(number).collect())
    }

    fn render(&self, template: &Template, kind: Type, given: &Given) -> Result<Value, Unsendable> {
        let known =
            |name: &str| given.attribute(name).or_else(|| given.known(self.read, self.entity(), name));
        template.render(kind, known, 0).map_err(|_| Unsendable::unknown(template))
    }

    fn sort_condition(
        &self,
        placeholders: &mut Placeholders,
        position: usize,
        key: &KeyAttribute,
        condition: &SortCondition,
        given: &Given,
    ) -> Result<String, Unsendable> {
        let name = placeholders.name(&key.name);
        match condition {
            SortCondition::Equal(template) => {
                let value = self.render(template, key.kind, given)?;
                Ok(format!("{name} = {}", placeholders.value(&key.name, &value)))
            }
            SortCondition::BeginsWith(prefix) => {
                let value = self.text(prefix, given)?;
                Ok(format!("begins_with({name}, {})", placeholders.value(&key.name, &Value::S(value))))
            }
            SortCondition::Range { prefix, term, .. } => {
                let template = self.sort_template(position).ok_or_else(|| Unsendable::unknown(term))?;
                let range = Range { of: self, kind: key.kind, template, prefix, term, given };
                let bounds = range.bounds()?;
                let values: Vec<String> =
                    bounds.values.iter().map(|value| placeholders.value(&key.name, value)).collect();
                Ok(match bounds.operator {
                    Operator::BeginsWith => format!("begins_with({name}, {})", values[0]),
                    Operator::Between => format!("{name} BETWEEN {} AND {}", values[0], values[1]),
                    operator => format!("{name} {} {}", operator.name(), values[0]),
                })
            }
        }
    }

    fn text(&self, prefix: &[Part], given: &Given) -> Result<String, Unsendable> {
        let template = Template { parts: prefix.to_vec(), span: Default::default() };
        match self.render(&template, Type::S, given)? {
            Value::S(text) => Ok(text),
            _ => Err(Unsendable::unknown(template)),
        }
    }

    /// The entity's template of a sort attribute.
    fn sort_template(&self, position: usize) -> Option<&'m Template> {
        match self.plan.index {
            Some(index) => self.entity().entry(index)?.sort.get(position),
            None => self.entity().key.as_ref()?.sort.as_ref(),
        }
    }
}

/// A range of one attribute inside a sort key: the text before it is known, the text after it is not.
struct Range<'a, 'm> {
    of: &'a PlannedRead<'m>,
    kind: Type,
    template: &'m Template,
    prefix: &'a [Part],
    term: &'a Term,
    given: &'a Given,
}

struct Bounds {
    operator: Operator,
    values: Vec<Value>,
}

impl Range<'_, '_> {
    fn bounds(&self) -> Result<Bounds, Unsendable> {
        let operands = self.operands()?;
        if self.kind != Type::S {
            return Ok(Bounds { operator: self.term.operator, values: operands });
        }
        let before = self.of.text(self.prefix, self.given)?;
        if self.term.operator == Operator::BeginsWith {
            let text = format!("{before}{}", template::plain_text(&operands[0]));
            return Ok(Bounds { operator: Operator::BeginsWith, values: vec![Value::S(text)] });
        }
        let texts =
            operands.iter().map(|value| self.rendered(&before, value)).collect::<Result<Vec<_>, _>>()?;
        let (low, high) = self.between(&before, &texts);
        Ok(Bounds { operator: Operator::Between, values: vec![Value::S(low), Value::S(high)] })
    }

    fn operands(&self) -> Result<Vec<Value>, Unsendable> {
        let operand = |operand: &Operand| {
            let value = self.given.operand(self.of.entity(), &self.term.attribute, operand);
            value.ok_or_else(|| Unsendable::unknown(operand))
        };
        self.term.operands.iter().map(operand).collect()
    }

    /// The text before, and the attribute as the key has it: padded, inverted.
    fn rendered(&self, before: &str, value: &Value) -> Result<String, Unsendable> {
        let field = self.template.parts.get(self.prefix.len()).cloned();
        let one = Template { parts: field.into_iter().collect(), span: self.template.span };
        match one.render(Type::S, |_| Some(value.clone()), 0) {
            Ok(Value::S(text)) => Ok(format!("{before}{text}")),
            _ => Err(Unsendable::unknown(self.term)),
        }
    }

    /// The first and the last key text of the range. All between them begin with `before`.
    fn between(&self, before: &str, texts: &[String]) -> (String, String) {
        let first = texts.first().map(String::as_str).unwrap_or_default();
        let last = texts.last().map(String::as_str).unwrap_or_default();
        let lowest = if before.is_empty() { LOWEST.to_string() } else { before.to_owned() };
        let highest = format!("{before}{HIGHEST}");
        match self.operator() {
            Operator::Greater => (self.behind(first), highest),
            Operator::GreaterOrEqual => (first.to_owned(), highest),
            Operator::Less => (lowest, self.ahead_of(first)),
            Operator::LessOrEqual => (lowest, self.through(first)),
            _ if self.descends() => (last.to_owned(), self.through(first)),
            _ => (first.to_owned(), self.through(last)),
        }
    }

    fn descends(&self) -> bool {
        matches!(
            self.template.parts.get(self.prefix.len()),
            Some(Part::Field(Field { form: Form::Descending { .. }, .. }))
        )
    }

    /// In a key that inverts the attribute, more of the attribute is less of the key.
    fn operator(&self) -> Operator {
        match (self.term.operator, self.descends()) {
            (Operator::Greater, true) => Operator::Less,
            (Operator::GreaterOrEqual, true) => Operator::LessOrEqual,
            (Operator::Less, true) => Operator::Greater,
            (Operator::LessOrEqual, true) => Operator::GreaterOrEqual,
            (operator, _) => operator,
        }
    }

    /// The text between the attribute and the rest of the key; `None` if the key ends with it.
    fn separator(&self) -> Option<&str> {
        match self.template.parts.get(self.prefix.len() + 1) {
            Some(Part::Literal(text)) => Some(text),
            Some(Part::Field(_)) => Some(""),
            None => None,
        }
    }

    /// The last key whose attribute is that of `text`.
    fn through(&self, text: &str) -> String {
        match self.separator() {
            Some(separator) => format!("{text}{separator}{HIGHEST}"),
            None => text.to_owned(),
        }
    }

    /// The first key after all of those.
    fn behind(&self, text: &str) -> String {
        match self.separator() {
            Some(_) => self.through(text),
            None => format!("{text}{LOWEST}"),
        }
    }

    /// The last key before all of those.
    fn ahead_of(&self, text: &str) -> String {
        if self.separator().is_some() {
            return text.to_owned();
        }
        let mut characters: Vec<char> = text.chars().collect();
        let before = characters.pop().and_then(|last| char::from_u32((last as u32).saturating_sub(1)));
        characters.extend(before);
        characters.push(HIGHEST);
        characters.into_iter().collect()
    }
}
