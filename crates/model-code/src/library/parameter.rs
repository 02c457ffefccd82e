//! The parameters of a function: what its requests need, in the order in which they need it.

use item::{Number, Value as Stored, ValueBuf};
use model::Model;
use model::model::{Entity, EntityId, Grouping, Pattern, Table};
use model::plan::{Plan, plan};
use model::predicate::{Operand, Term};
use model::request::expression::Placeholders;
use model::request::{Given, Unsendable};

use super::case::{free, identifier, pascal, plural};
use super::{
    Each, Field, Function, Kind, Library, Parameter, ParameterKind, Record, Request, Value, WrittenFunction,
    read, record, write,
};

/// What functions call things of their own.
const TAKEN: [&str; 14] = [
    "answer", "batch", "client", "count", "found", "item", "items", "keys", "left", "limit", "parts",
    "request", "start", "table",
];

/// Where the example data has the argument of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// A value of the action of this position.
    Value(usize, Origin),
    /// The item that the action writes, or all that it writes.
    Item(usize),
    Items(usize),
    /// These values for each item of the action.
    Group(usize, Vec<(String, Origin)>),
    Limit,
    Start,
}

/// What a value is to the action.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// An attribute's value before the write, or by which items are found.
    Attribute(String),
    /// An attribute's new value.
    New(String),
    /// `:name`.
    Given(String),
    /// What is added to an attribute.
    Added(String),
}

/// The parameters so far.
#[derive(Default)]
pub struct Parameters {
    pub list: Vec<Parameter>,
    /// The action that asks, and its entity.
    step: usize,
    entity: Option<EntityId>,
    /// Who asked for which value.
    asked: Vec<(Origin, usize, Option<EntityId>, Value)>,
    /// What the elements of lists are called.
    elements: Vec<String>,
    /// Items that are written whole, with their entity: what has the same name in another entity is theirs.
    items: Vec<(String, EntityId, Vec<Field>)>,
    /// Values go into the fields of a list's elements.
    element: Option<(String, Vec<(Field, Origin)>)>,
}

impl Parameters {
    pub fn begin(&mut self, step: usize, entity: EntityId) {
        (self.step, self.entity) = (step, Some(entity));
    }

    pub fn limit(&mut self, limit: u64) {
        self.list.push(Parameter {
            name: "limit".to_owned(),
            kind: ParameterKind::Limit(limit),
            role: Role::Limit,
        });
    }

    pub fn start(&mut self) {
        self.list.push(Parameter { name: "start".to_owned(), kind: ParameterKind::Start, role: Role::Start });
    }

    /// The item of an entity: its variable.
    pub fn item(&mut self, wanted: &str, record: &Record) -> String {
        let name = self.free(wanted);
        let kind = ParameterKind::Record(record.name.clone());
        self.items.extend(self.entity.map(|entity| (name.clone(), entity, record.fields.clone())));
        self.list.push(Parameter { name: name.clone(), kind, role: Role::Item(self.step) });
        name
    }

    /// A list of items of an entity.
    pub fn items(&mut self, wanted: &str, record: &str) -> Each {
        let list = self.free(&plural(wanted));
        let kind = ParameterKind::Records(record.to_owned());
        self.list.push(Parameter { name: list.clone(), kind, role: Role::Items(self.step) });
        Each { list, element: self.new_element(wanted), record: record.to_owned() }
    }

    /// From here to [`Parameters::end_list`], values are fields of an element of a list.
    pub fn begin_list(&mut self, wanted: &str) -> String {
        let element = self.new_element(wanted);
        self.element = Some((element.clone(), Vec::new()));
        element
    }

    fn new_element(&mut self, wanted: &str) -> String {
        let element = self.free(wanted);
        self.elements.push(element.clone());
        element
    }

    pub fn end_list(&mut self, wanted: &str, function: &str, library: &mut Library) -> Option<Each> {
        let (element, fields) = self.element.take()?;
        let record = record::record_name(library, &format!("{}{}", pascal(function), pascal(wanted)));
        let (fields, origins): (Vec<Field>, Vec<Origin>) = fields.into_iter().unzip();
        let group = fields.iter().map(|field| field.name.clone()).zip(origins).collect();
        let comment = "One of several in a request.".to_owned();
        library.records.push(Record { name: record.clone(), comment, fields });
        let list = self.free(&plural(wanted));
        let kind = ParameterKind::Records(record.clone());
        self.list.push(Parameter { name: list.clone(), kind, role: Role::Group(self.step, group) });
        Some(Each { list, element, record })
    }

    /// A value of an attribute's type. Actions on different entities share what has the same name: an order's id is
    /// also that of its lines.
    pub fn value(&mut self, origin: Origin, entity: &Entity, attribute: &str) -> Value {
        let wanted = match &origin {
            Origin::Attribute(name) | Origin::New(name) | Origin::Given(name) => identifier(name, "value"),
            Origin::Added(name) => format!("add_{}", identifier(name, "value")),
        };
        self.named(&wanted, origin, entity, attribute)
    }

    /// The attribute of an item of another entity that the same request writes whole: a like has the id of its photo.
    pub fn of_item(&self, entity: &Entity, attribute: &str) -> Option<Value> {
        if self.element.is_some() {
            return None;
        }
        let kind = Kind::of(entity.attribute(attribute)?.kind);
        let mut others = self.items.iter().filter(|(_, other, _)| Some(*other) != self.entity);
        others.find_map(|(variable, _, fields)| {
            let field = fields.iter().find(|field| field.attribute == attribute)?;
            (field.kind == kind && !field.optional).then(|| Value::Field {
                of: variable.clone(),
                name: field.name.clone(),
                kind,
                optional: false,
            })
        })
    }

    pub fn named(&mut self, wanted: &str, origin: Origin, entity: &Entity, attribute: &str) -> Value {
        let (mut kind, mut values) = (Kind::Text, Vec::new());
        let field = entity.attribute(attribute).map(|one| record::field(one, wanted.to_owned()));
        if let Some(field) = &field {
            (kind, values) = (field.kind, field.values.clone());
        }
        if let Some((element, fields)) = &mut self.element {
            let known =
                fields.iter().find(|(_, other)| *other == origin).map(|(field, _)| field.name.clone());
            let name = known.unwrap_or_else(|| {
                let name = free(wanted, |name| fields.iter().any(|(field, _)| field.name == name));
                let field = Field {
                    name: name.clone(),
                    attribute: name.clone(),
                    kind,
                    optional: false,
                    values,
                    note: field.and_then(|field| field.note),
                    source: super::Source::Attribute,
                };
                fields.push((field, origin));
                name
            });
            return Value::Field { of: element.clone(), name, kind, optional: false };
        }
        let shared = |(other, step, id, _): &&(Origin, usize, Option<EntityId>, Value)| {
            *other == origin
                && (*step == self.step || *id != self.entity || matches!(origin, Origin::Given(_)))
        };
        if let Some((.., value)) = self.asked.iter().find(shared) {
            return value.clone();
        }
        let name = self.free(wanted);
        let value = Value::Variable { name: name.clone(), kind };
        self.asked.push((origin.clone(), self.step, self.entity, value.clone()));
        // A counter counts by one.
        let counts = matches!(origin, Origin::Added(_)) && matches!(kind, Kind::Number | Kind::Integer);
        let default = counts.then(|| Stored::N(Number::from(1u64)));
        let kind = ParameterKind::Value { kind, values, default };
        self.list.push(Parameter { name, kind, role: Role::Value(self.step, origin) });
        value
    }

    /// The value of an operand that is compared with an attribute.
    pub fn operand(&mut self, entity: &Entity, attribute: &str, operand: &Operand) -> Value {
        match operand {
            Operand::Literal(text) => Value::Literal(entity.typed(attribute, text)),
            Operand::Parameter(name) => self.value(Origin::Given(name.clone()), entity, attribute),
        }
    }

    pub fn free(&self, wanted: &str) -> String {
        let taken = |name: &str| {
            TAKEN.contains(&name)
                || self.elements.iter().any(|element| element == name)
                || self.list.iter().any(|parameter| parameter.name == name)
        };
        free(wanted, taken)
    }
}

/// Expressions and the values that they name.
#[derive(Default)]
pub struct Expressions {
    pub placeholders: Placeholders,
    values: Vec<(String, Value)>,
}

impl Expressions {
    pub fn name(&mut self, attribute: &str) -> String {
        self.placeholders.name(attribute)
    }

    pub fn value(&mut self, attribute: &str, value: Value) -> String {
        let placeholder = self.placeholders.value(attribute, &Stored::Null);
        self.values.push((placeholder.clone(), value));
        placeholder
    }

    /// A term with parameters for its operands.
    pub fn term(
        &mut self,
        entity: &Entity,
        table: &Table,
        term: &Term,
        parameters: &mut Parameters,
    ) -> Result<String, Unsendable> {
        let mut numbered = term.clone();
        let mut given = Given::default();
        let mut values = Vec::new();
        for (position, operand) in numbered.operands.iter_mut().enumerate() {
            let name = position.to_string();
            values.push(parameters.operand(entity, &term.attribute, operand));
            given.set_parameter(&name, Stored::from(format!("\u{1}{name}").as_str()));
            *operand = Operand::Parameter(name);
        }
        let text = self.placeholders.term(entity, table, &numbered, &given);
        let text = text.ok_or_else(|| Unsendable::Unknown(format!("`{term}`")))?;
        let named = self.placeholders.values().unwrap_or_default();
        for (position, value) in values.into_iter().enumerate() {
            let marker = ValueBuf::from(&Stored::from(format!("\u{1}{position}").as_str()));
            let is_new = |name: &str| !self.values.iter().any(|(other, _)| other == name);
            let placeholder = named.iter().find(|(name, one)| **one == marker && is_new(name));
            let (placeholder, _) = placeholder.ok_or_else(|| Unsendable::Unknown(format!("`{term}`")))?;
            self.values.push((placeholder.clone(), value));
        }
        Ok(text)
    }

    /// Names and values, in the order in which requests print them.
    pub fn finish(mut self, request: &mut Request) {
        request.names = self.placeholders.names().unwrap_or_default().into_iter().collect();
        self.values.sort_by(|one, other| one.0.cmp(&other.0));
        request.values = self.values;
    }
}

/// The code of one pattern.
pub fn function(model: &Model, pattern: &Pattern, name: String, library: &mut Library) -> Function {
    let plan = plan(model, pattern);
    let mut comments: Vec<String> = Vec::new();
    comments.extend(pattern.description.as_deref().map(|text| format!("{}.", text.trim_end_matches('.'))));
    comments.push(format!("{}: {} on {}.", pattern.id.value, plan.operation(), plan.source(model)));
    let written = match &pattern.external {
        Some(other) => Err(format!("{} serves it, not the table", other.value)),
        None => body(model, pattern, &plan, &name, library).map_err(|why| why.to_string()),
    };
    if written.is_ok() {
        comments.extend(plan.gaps().map(|gap| format!("Not one good request: {}.", gap.describe(model))));
    }
    let comments = comments.iter().map(|line| super::super::one_line(line)).collect();
    Function { pattern: pattern.id.value.clone(), name, comments, written }
}

fn body(
    model: &Model,
    pattern: &Pattern,
    plan: &Plan,
    name: &str,
    library: &mut Library,
) -> Result<WrittenFunction, Unsendable> {
    let mut parameters = Parameters::default();
    let (read, write) = (pattern.reads().next(), pattern.writes().next());
    let body = match (pattern.grouping, read, write) {
        (_, Some(_), Some(_)) => return Err(Unsendable::mixed()),
        (Grouping::Single, Some((_, read)), None) => {
            let planned = plan.reads().next().ok_or_else(Unsendable::mixed)?;
            read::single(model, read, planned, name, &mut parameters, library)?
        }
        (_, Some(_), None) => read::group(model, pattern, plan, name, &mut parameters, library)?,
        _ => write::body(model, pattern, plan, name, &mut parameters, library)?,
    };
    Ok(WrittenFunction { parameters: parameters.list, body })
}
