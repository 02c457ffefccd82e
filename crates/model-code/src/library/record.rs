//! Types: of entities, of what a read returns, and how entities become items.

use model::Model;
use model::model::{
    Attribute, AttributeKind, AttributesRead, Entity, EntityId, IndexId, KeyAttribute, KeySchema, Projection,
    Table,
};
use model::predicate::{Operator, Predicate};
use model::request::{PlannedRead, Unsendable};
use model::template::{self, Template};

use super::case::{free, identifier, pascal, plural, snake};
use super::key;
use super::{
    EntityItem, Field, Found, ItemAttribute, Kind, Library, Part, Reader, Recognised, Record, Source, Test,
    Value, View,
};

/// The records of all entities, and the functions that make items of them.
pub fn entities(model: &Model, library: &mut Library) {
    for entity in &model.entities {
        let name = record_name(library, &pascal(&identifier(&entity.name.value, "entity")));
        let comment = entity.description.as_deref().map_or_else(String::new, super::super::one_line);
        let fields = fields(entity, |_| Some(Source::Attribute));
        library.records.push(Record { name, comment, fields });
    }
    for (position, entity) in model.entities.iter().enumerate() {
        let record = library.records[position].clone();
        let name = identifier(&entity.name.value, "entity");
        let attributes = attributes(model, entity, &record, &name, library).unwrap_or_default();
        library.entities.push(EntityItem { record: record.name, name, attributes });
    }
}

pub fn record_name(library: &Library, wanted: &str) -> String {
    free(wanted, |name| library.records.iter().any(|record| record.name == name))
}

/// The fields that have a source. Constants are written, but no field of a type.
fn fields(entity: &Entity, source: impl Fn(&Attribute) -> Option<Source>) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for attribute in entity.attributes.values().filter(|attribute| attribute.constant.is_none()) {
        if let Some(source) = source(attribute) {
            let taken = |name: &str| fields.iter().any(|field| field.name == name);
            let name = free(&identifier(&attribute.name, "attribute"), taken);
            fields.push(Field { source, ..field(attribute, name) });
        }
    }
    fields
}

/// A field with the attribute's type.
pub fn field(attribute: &Attribute, name: String) -> Field {
    let note = match attribute.kind {
        AttributeKind::Timestamp => Some("ISO-8601, in UTC"),
        AttributeKind::Date => Some("ISO-8601"),
        AttributeKind::Epoch => Some("seconds since 1970"),
        AttributeKind::EpochMillis => Some("milliseconds since 1970"),
        _ => None,
    };
    Field {
        name,
        attribute: attribute.name.clone(),
        kind: Kind::of(attribute.kind),
        optional: attribute.optional,
        values: if attribute.kind == AttributeKind::String { attribute.values.clone() } else { Vec::new() },
        note,
        source: Source::Attribute,
    }
}

/// A field of an entity's record, as a value.
fn member(record: &Record, entity: &Entity, variable: &str, attribute: &str) -> Option<Value> {
    if let Some(constant) = entity.attribute(attribute).and_then(|one| one.constant.clone()) {
        return Some(Value::Literal(constant));
    }
    let field = record.field(attribute)?;
    Some(Value::Field {
        of: variable.to_owned(),
        name: field.name.clone(),
        kind: field.kind,
        optional: field.optional,
    })
}

fn attributes(
    model: &Model,
    entity: &Entity,
    record: &Record,
    variable: &str,
    library: &mut Library,
) -> Result<Vec<ItemAttribute>, Unsendable> {
    let table = model.table_of(entity);
    let mut keys: Vec<(&KeyAttribute, &Template, Vec<Test>)> = Vec::new();
    if let Some(schema) = &table.key {
        keys.extend(
            schema
                .attributes()
                .zip(entity.key_templates())
                .map(|(key, template)| (key, template, Vec::new())),
        );
    }
    for entry in &entity.entries {
        let tests = match entity.membership(entry) {
            Some(when) => tests(entity, &when, |name| member(record, entity, variable, name))?,
            None => Vec::new(),
        };
        let schema = &table.index(entry.index).key;
        keys.extend(
            schema.attributes().zip(entry.templates()).map(|(key, template)| (key, template, tests.clone())),
        );
    }
    let mut attributes: Vec<ItemAttribute> = Vec::new();
    for (key, template, when) in keys {
        let is_there = attributes.iter().any(|other| other.attribute == key.name);
        if entity.attribute(&key.name).is_some() || is_there {
            continue;
        }
        let members: Vec<(String, Option<Value>)> = template
            .attributes()
            .map(|name| (name.to_owned(), member(record, entity, variable, name)))
            .collect();
        let mut known = |field: &template::Field| {
            let value = members.iter().find(|(name, _)| Some(name.as_str()) == field.attribute());
            of_field(field, value.and_then(|(_, value)| value.clone()))
        };
        let value = key::value(library, entity, key, template, &mut known)?;
        attributes.push(ItemAttribute { attribute: key.name.clone(), value, when });
    }
    attributes.sort_by_key(|attribute| !attribute.when.is_empty());
    let conditional: Vec<ItemAttribute> = attributes
        .iter()
        .position(|one| !one.when.is_empty())
        .map(|at| attributes.split_off(at))
        .unwrap_or_default();
    let own = entity.attributes.values().filter_map(|attribute| {
        let value = member(record, entity, variable, &attribute.name)?;
        let exists = || Test { value: value.clone(), operator: Operator::Exists, operands: Vec::new() };
        let when = if attribute.optional { vec![exists()] } else { Vec::new() };
        Some(ItemAttribute { attribute: attribute.name.clone(), value, when })
    });
    let (optional, always): (Vec<_>, Vec<_>) = own.partition(|attribute| !attribute.when.is_empty());
    Ok(attributes.into_iter().chain(always).chain(optional).chain(conditional).collect())
}

/// The value of a template's field, if the attribute's is this.
pub fn of_field(field: &template::Field, value: Option<Value>) -> Result<Value, Unsendable> {
    match &field.form {
        template::Form::Random { count } => Ok(Value::Random { count: *count }),
        template::Form::Shard { attribute, count } => {
            let of = value.ok_or_else(|| Unsendable::Unknown(format!("`{attribute}`")))?;
            Ok(Value::Shard { of: Box::new(of), count: *count })
        }
        _ => value.ok_or_else(|| Unsendable::Unknown(field.to_string())),
    }
}

/// A predicate without parameters, as comparisons at run time.
pub fn tests(
    entity: &Entity,
    predicate: &Predicate,
    value: impl Fn(&str) -> Option<Value>,
) -> Result<Vec<Test>, Unsendable> {
    let test = |term: &model::predicate::Term| {
        let name = &term.attribute.value;
        let value = value(name).ok_or_else(|| Unsendable::Unknown(format!("`{name}`")))?;
        let operands =
            term.operands.iter().filter_map(|operand| Some(entity.typed(name, operand.literal()?)));
        Ok(Test { value, operator: term.operator, operands: operands.collect() })
    };
    predicate.terms.iter().map(test).collect()
}

/// What a read returns of its entities. `function` names the types that are made for it.
pub fn found(
    planned: PlannedRead<'_>,
    one: bool,
    function: &str,
    library: &mut Library,
) -> Result<Found, Unsendable> {
    let views: Vec<(EntityId, View)> = planned
        .plan
        .entities
        .iter()
        .map(|id| {
            let answer = Answer {
                table: planned.table(),
                index: planned.plan.index,
                read: planned.read.attributes.as_ref().map(|wanted| &wanted.value),
            };
            (*id, view(planned.model, *id, &answer, function, library))
        })
        .collect();
    together(planned.model, planned.table(), planned.plan.index, views, one, function, library)
}

/// Whole items of these entities, as a group of reads returns them.
pub fn found_whole(
    model: &Model,
    entities: &[EntityId],
    function: &str,
    library: &mut Library,
) -> Result<Found, Unsendable> {
    let table = model.table(model.entity(entities[0]).table);
    let mut views = Vec::new();
    for id in entities {
        let own = library.records[id.0].clone();
        views.push((*id, whole(&own, library)));
    }
    together(model, table, None, views, false, function, library)
}

fn together(
    model: &Model,
    table: &Table,
    index: Option<IndexId>,
    mut views: Vec<(EntityId, View)>,
    one: bool,
    function: &str,
    library: &mut Library,
) -> Result<Found, Unsendable> {
    if let [(_, view)] = views.as_slice() {
        let view = view.clone();
        return Ok(if one { Found::One(view) } else { Found::Many(view) });
    }
    let known =
        views.iter().map(|(id, _)| recognised(model.entity(*id), table, index)).collect::<Option<Vec<_>>>();
    let told_apart = known.filter(|all| {
        let clash = |one: &Recognised, other: &Recognised| {
            one.attribute != other.attribute
                || one.text == other.text
                || one.begins && other.text.starts_with(&one.text)
        };
        let others = |at: usize| all.iter().enumerate().filter(move |(other, _)| *other != at);
        all.iter().enumerate().all(|(at, one)| !others(at).any(|(_, other)| clash(one, other)))
    });
    let Some(known) = told_apart else {
        return Err(Unsendable::Impossible("its entities can't be told apart by their keys".to_owned()));
    };
    let mut parts: Vec<Part> = Vec::new();
    for ((id, view), is) in views.drain(..).zip(known) {
        let name = plural(&identifier(&model.entity(id).name.value, "entity"));
        parts.push(Part { name, view, is });
    }
    let record = record_name(library, &pascal(function));
    library.records.push(Record { name: record.clone(), comment: String::new(), fields: Vec::new() });
    Ok(Found::Mixed { record, parts })
}

/// By the literal text with which the sort key begins, or the partition key if that says more.
fn recognised(entity: &Entity, table: &Table, index: Option<IndexId>) -> Option<Recognised> {
    let (schema, templates): (&KeySchema, Vec<&Template>) = match index {
        Some(index) => (&table.index(index).key, entity.entry(index)?.templates().collect()),
        None => (table.key.as_ref()?, entity.key_templates().collect()),
    };
    let keys: Vec<(&KeyAttribute, &Template)> = schema.attributes().zip(templates).collect();
    let telling = keys.iter().rev().find(|(_, template)| !template.literal_prefix().is_empty());
    let (key, template) = telling?;
    Some(Recognised {
        attribute: key.name.clone(),
        text: template.literal_prefix().to_owned(),
        begins: !template.is_constant(),
    })
}

/// The attributes that an answer has.
struct Answer<'m> {
    table: &'m Table,
    index: Option<IndexId>,
    read: Option<&'m AttributesRead>,
}

impl Answer<'_> {
    fn schemas(&self) -> impl Iterator<Item = &KeySchema> {
        let index = self.index.map(|index| &self.table.index(index).key);
        self.table.key.iter().chain(index)
    }

    fn has(&self, name: &str) -> bool {
        let projected = match self.index.map(|index| &self.table.index(index).projection.value) {
            None | Some(Projection::All) => true,
            Some(Projection::Keys) => false,
            Some(Projection::Include(names)) => names.iter().any(|one| one.value == name),
        };
        let local =
            self.index.is_some_and(|index| self.table.index(index).kind == model::model::IndexKind::Local);
        let read = match self.read {
            None | Some(AttributesRead::All | AttributesRead::Count) => projected,
            Some(AttributesRead::Keys) => false,
            Some(AttributesRead::These(names)) => {
                (projected || local) && names.iter().any(|one| one.value == name)
            }
        };
        read || self.schemas().any(|schema| schema.names(name))
    }

    /// A key that contains the attribute so that it can be cut out.
    fn key(&self, entity: &Entity, attribute: &str) -> Option<Source> {
        let of_index = self.index.and_then(|index| {
            Some((&self.table.index(index).key, entity.entry(index)?.templates().collect::<Vec<_>>()))
        });
        let of_table =
            self.table.key.as_ref().map(|schema| (schema, entity.key_templates().collect::<Vec<_>>()));
        let keys = of_index
            .into_iter()
            .chain(of_table)
            .flat_map(|(schema, templates)| schema.attributes().zip(templates).collect::<Vec<_>>());
        keys.filter(|(_, template)| template.tells(attribute))
            .find_map(|(key, template)| cut(&key.name, template, attribute))
    }
}

fn cut(key: &str, template: &Template, attribute: &str) -> Option<Source> {
    let mut literals = vec![String::new()];
    let mut found = None;
    for part in &template.parts {
        match part {
            template::Part::Literal(text) => literals.last_mut()?.push_str(text),
            template::Part::Field(field) => {
                let descending = match &field.form {
                    template::Form::Descending { attribute: name, digits } if name == attribute => {
                        Some(Some(*digits))
                    }
                    template::Form::Attribute(name) if name == attribute => Some(None),
                    _ => None,
                };
                if let (Some(descending), None) = (descending, &found) {
                    found = Some((literals.len() - 1, descending));
                }
                literals.push(String::new());
            }
        }
    }
    let between = literals.len().checked_sub(1).map(|last| &literals[1..last.max(1)]).unwrap_or_default();
    if between.iter().any(String::is_empty) {
        return None;
    }
    let (position, descending) = found?;
    Some(Source::Key { key: key.to_owned(), literals, position, descending })
}

/// What the answer has of an entity: the entity's own record if that is all.
fn view(model: &Model, id: EntityId, answer: &Answer<'_>, function: &str, library: &mut Library) -> View {
    let entity = model.entity(id);
    let source = |attribute: &Attribute| match answer.has(&attribute.name) {
        true => Some(Source::Attribute),
        false => answer.key(entity, &attribute.name),
    };
    let fields = fields(entity, source);
    let own = library.records[id.0].clone();
    if fields == own.fields {
        return whole(&own, library);
    }
    if let Some(view) = known(&own, &fields, library) {
        return view;
    }
    let names = |fields: &[Field]| fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    let record = match (names(&fields) == names(&own.fields), answer.index) {
        (true, _) => own.name.clone(),
        (false, Some(_)) => {
            let index = pascal(&identifier(answer.name(), "index"));
            record_name(library, &format!("{}In{index}", own.name))
        }
        (false, None) => record_name(library, &format!("{}{}", pascal(function), own.name)),
    };
    if record != own.name {
        let comment = format!("{}, as far as {} holds it.", entity.name.value, answer.name());
        library.records.push(Record { name: record.clone(), comment, fields: fields.clone() });
    }
    let wanted = format!("{}_from_{}", snake(&own.name), identifier(answer.name(), "index"));
    reader(wanted, &own, record, fields, library)
}

/// The entity's own record.
fn whole(own: &Record, library: &mut Library) -> View {
    if let Some(view) = known(own, &own.fields, library) {
        return view;
    }
    reader(format!("{}_from_item", snake(&own.name)), own, own.name.clone(), own.fields.clone(), library)
}

/// The same was read before.
fn known(own: &Record, fields: &[Field], library: &Library) -> Option<View> {
    let same = |reader: &&Reader| reader.entity == own.name && reader.fields == fields;
    let reader = library.readers.iter().find(same)?;
    Some(View { record: reader.record.clone(), reader: reader.name.clone() })
}

fn reader(wanted: String, own: &Record, record: String, fields: Vec<Field>, library: &mut Library) -> View {
    let name = free(&wanted, |name| library.readers.iter().any(|reader| reader.name == name));
    library.readers.push(Reader {
        name: name.clone(),
        entity: own.name.clone(),
        record: record.clone(),
        fields,
    });
    View { record, reader: name }
}

impl Answer<'_> {
    fn name(&self) -> &str {
        match self.index {
            Some(index) => &self.table.index(index).name.value,
            None => &self.table.name.value,
        }
    }
}
