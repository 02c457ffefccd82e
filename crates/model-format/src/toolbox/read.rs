//! A program -> tables, entities and patterns, as far as it is static.

use std::collections::BTreeMap;

use model::draft::{Draft, entity_name, fields_of};
use model::table_shape::TableSection;
use serde_json::{Map, Value, json};

use super::pattern;
use super::schema::{Attribute, Program};
use super::{ENTITY, TIMESTAMPS};
use crate::javascript::expression::{Function, Made, bindings, source};
use crate::javascript::{as_code, calls};
use crate::{Notes, Unreadable};

pub fn parse(text: &str) -> Result<Value, Unreadable> {
    let unreadable = || Unreadable("there is no `new Table(…)` of dynamodb-toolbox".to_owned());
    if !text.contains("dynamodb-toolbox") {
        return Err(unreadable());
    }
    let (calls, _) = calls(text, &["Table", "Entity"]);
    let of = |kind: &str| -> Vec<Value> {
        let own = calls.iter().filter(|call| call.name.rsplit('.').next() == Some(kind));
        let own = own.filter_map(|call| match call.arguments.as_slice() {
            [only @ Value::Object(_)] => Some(json!({ "id": call.target, "is": only })),
            _ => None,
        });
        own.collect()
    };
    let (tables, entities) = (of("Table"), of("Entity"));
    if tables.is_empty() {
        return Err(unreadable());
    }
    Ok(json!({ "toolbox": { "tables": tables, "entities": entities, "constants": bindings(text) } }))
}

/// A table, with the name of the constant that it is.
pub struct Table {
    id: String,
    pub section: TableSection,
    /// Where items say of which entity they are.
    entity_attribute: String,
}

/// An entity that was read.
pub struct Entity {
    /// The name of the constant.
    pub id: String,
    /// In the model.
    pub name: String,
    pub table: String,
    /// The template of each key attribute that is not an attribute of its own.
    pub templates: BTreeMap<String, String>,
    pub attributes: Vec<String>,
    /// What holds for the items in an index.
    pub conditions: BTreeMap<String, Vec<String>>,
}

impl Entity {
    /// What a key attribute consists of.
    pub fn template(&self, key: &str) -> Option<String> {
        let own = || self.attributes.iter().any(|name| name == key).then(|| format!("{{{key}}}"));
        self.templates.get(key).cloned().or_else(own)
    }
}

pub fn read(document: &Value, notes: &mut Notes) -> Result<Draft, Unreadable> {
    let program = &document["toolbox"];
    let constants: BTreeMap<String, String> =
        serde_json::from_value(program["constants"].clone()).unwrap_or_default();
    let source = Program { constants: &constants };
    let mut tables = Vec::new();
    for table in program["tables"].as_array().into_iter().flatten() {
        tables.push(self::table(table, &source, notes)?);
    }
    let mut draft = Draft::new(tables.first().map_or("model", |table| table.section.name.as_str()));
    let mut entities = Vec::new();
    for entity in program["entities"].as_array().into_iter().flatten() {
        let of = as_code(&entity["is"]["table"]).unwrap_or_default();
        let known = tables.iter().find(|table| table.id == of);
        // A folder of one table may get it from a function.
        let Some(table) = known.or(if let [only] = tables.as_slice() { Some(only) } else { None }) else {
            notes.add(format!(
                "{}: its table `{of}` is computed by the program, so it is left out",
                name(entity)
            ));
            continue;
        };
        entities.extend(self::entity(entity, table, &source, &mut draft, notes));
    }
    pattern::read(&source, &tables_by_id(&tables), &entities, &mut draft, notes);
    for table in tables {
        if draft.entities_of(&table.section.name).is_empty() {
            draft.add_unknown_entity(&table.section, notes);
        }
        draft.add_table(table.section);
    }
    Ok(draft)
}

fn tables_by_id(tables: &[Table]) -> BTreeMap<&str, &TableSection> {
    tables.iter().map(|table| (table.id.as_str(), &table.section)).collect()
}

fn name(entity: &Value) -> &str {
    entity["is"]["name"].as_str().or(entity["id"].as_str()).unwrap_or("an entity")
}

fn table(table: &Value, program: &Program<'_>, notes: &mut Notes) -> Result<Table, Unreadable> {
    let is = &table["is"];
    let id = table["id"].as_str().unwrap_or("Table").to_owned();
    let name = program.resolved(&is["name"]).as_str().map(str::to_owned).unwrap_or_else(|| {
        notes.add(format!("{id}: its name is computed by the program; the model calls it `{id}`"));
        id.clone()
    });
    let mut fields = Map::new();
    put_keys(&mut fields, is, program);
    if !fields.contains_key("partition") {
        return Err(Unreadable(format!("table {id}: its partition key is computed by the program")));
    }
    let mut indexes = Map::new();
    for (index, shape) in is["indexes"].as_object().into_iter().flatten() {
        let mut of = Map::new();
        if shape["type"] == "local" {
            of.insert("type".to_owned(), "local".into());
        }
        put_keys(&mut of, shape, program);
        of.insert("project".to_owned(), "all".into());
        if !of.contains_key("partition") && shape["type"] != "local" {
            notes.add(format!("{id}: index {index} is computed by the program, and left out"));
            continue;
        }
        note_others(&format!("{id}, index {index}"), shape, &["type", "partitionKey", "sortKey"], notes);
        indexes.insert(index.clone(), Value::Object(of));
    }
    if !is["indexes"].is_null() && !is["indexes"].is_object() {
        notes.add(format!("{id}: its indexes are computed by the program, and left out"));
    }
    if !indexes.is_empty() {
        notes.add(format!("{id}: the program does not say what its indexes project; the model says all"));
        fields.insert("indexes".to_owned(), Value::Object(indexes));
    }
    let known = [
        "name",
        "partitionKey",
        "sortKey",
        "indexes",
        "entityAttributeSavedAs",
        "documentClient",
        "...documentClient",
    ];
    note_others(&id, is, &known, notes);
    let entity_attribute = is["entityAttributeSavedAs"].as_str().unwrap_or(ENTITY).to_owned();
    Ok(Table { id, section: TableSection { name, fields }, entity_attribute })
}

fn note_others(of: &str, object: &Value, known: &[&str], notes: &mut Notes) {
    for name in object.as_object().into_iter().flat_map(Map::keys) {
        if !known.contains(&name.as_str()) {
            notes.add(format!("{of}: `{}` is not read", name.trim_start_matches("...")));
        }
    }
}

fn put_keys(fields: &mut Map<String, Value>, shape: &Value, program: &Program<'_>) {
    for (side, member) in [("partition", "partitionKey"), ("sort", "sortKey")] {
        let key = &shape[member];
        let kind = program.resolved(&key["type"]);
        let kind = kind.as_str().filter(|kind| matches!(*kind, "number" | "binary")).unwrap_or("string");
        if let Some(name) = program.resolved(&key["name"]).as_str() {
            fields.insert(side.to_owned(), json!({ name: kind }));
        }
    }
}

fn entity(
    entity: &Value,
    table: &Table,
    program: &Program<'_>,
    draft: &mut Draft,
    notes: &mut Notes,
) -> Option<Entity> {
    let is = &entity["is"];
    let name = program.resolved(&is["name"]).as_str().map_or_else(|| name(entity).to_owned(), str::to_owned);
    if !is["attributes"].is_null() && is["schema"].is_null() {
        notes.add(format!("{name} is written for release 0 of dynamodb-toolbox, which is not read"));
        return None;
    }
    // `schema` alone is short for `schema: schema`.
    let schema = is.get("schema").or_else(|| is.get("...schema"))?;
    let Some(attributes) = program.attributes(&name, schema, notes) else {
        notes.add(format!("{name}: its schema is computed by the program, so it is left out"));
        return None;
    };
    let mut made = Fields::new(&name, &attributes, &table.section);
    for attribute in &attributes {
        made.add(attribute, notes);
    }
    made.compute_key(&is["computeKey"], notes);
    made.add_internal(is, &table.entity_attribute);
    made.fill_keys(notes);
    note_unread(&name, &attributes, notes);
    let known = [
        "name",
        "table",
        "...table",
        "schema",
        "...schema",
        "computeKey",
        "entityAttribute",
        "entityAttributeName",
        "entityAttributeHidden",
        "timestamps",
    ];
    note_others(&name, is, &known, notes);
    let Fields { templates, when, fields: mut described, .. } = made;
    table.section.fit_types(&mut described);
    let keys = table.section.key_names();
    let own = |names: &[String]| -> Map<String, Value> {
        names.iter().filter_map(|name| Some((name.clone(), templates.get(name)?.clone().into()))).collect()
    };
    let mut fields = Map::from_iter([("attributes".to_owned(), Value::Object(described.clone()))]);
    let key = own(&keys);
    if !key.is_empty() {
        fields.insert("key".to_owned(), Value::Object(key));
    }
    let (mut entries, mut conditions) = (Map::new(), BTreeMap::new());
    for (index, names) in table.section.index_keys() {
        let names: Vec<String> = names.into_iter().filter(|name| !keys.contains(name)).collect();
        let mut entry = own(&names);
        if entry.is_empty() {
            continue;
        }
        let plain =
            names.iter().filter(|name| !templates.contains_key(*name) && described.contains_key(*name));
        entry.extend(plain.map(|name| (name.clone(), Value::from(format!("{{{name}}}")))));
        if let Some(missing) = names.iter().find(|name| !entry.contains_key(*name)) {
            notes.add(format!("{name} has no `{missing}`, so it is not in index {index}"));
            continue;
        }
        // That an optional attribute is there follows from the template.
        let used: Vec<String> = entry.values().filter_map(Value::as_str).flat_map(fields_of).collect();
        let is_optional = |name: &str| described.get(name).is_some_and(|one| one["optional"] == true);
        let implied: Vec<String> =
            used.iter().filter(|name| is_optional(name)).map(|name| format!("exists {name}")).collect();
        let condition = names.iter().find_map(|name| when.get(name)).map_or("", String::as_str);
        let said = condition.split(" and ").filter(|term| !term.is_empty()).map(str::to_owned);
        let said: Vec<String> = said.filter(|term| !implied.contains(term)).collect();
        if !said.is_empty() {
            entry.insert("when".to_owned(), said.join(" and ").into());
        }
        conditions.insert(index.clone(), said.into_iter().chain(implied).collect());
        entries.insert(index, Value::Object(entry));
    }
    if !entries.is_empty() {
        fields.insert("indexes".to_owned(), Value::Object(entries));
    }
    let is_word = name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.is_empty();
    let wanted = if is_word { name.clone() } else { entity_name(&name) };
    let called = draft.add_entity(&wanted, &table.section.name, fields);
    Some(Entity {
        id: entity["id"].as_str().unwrap_or_default().to_owned(),
        name: called,
        table: table.id.clone(),
        templates,
        attributes: described.keys().cloned().collect(),
        conditions,
    })
}

/// What is said of attributes and not read, a line for each kind.
fn note_unread(of: &str, attributes: &[Attribute], notes: &mut Notes) {
    let mut said: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for attribute in attributes {
        for step in &attribute.unread {
            said.entry(step).or_default().push(&attribute.name);
        }
    }
    for (step, names) in said {
        notes.add(format!("{of}: `{step}` of {} is not read", names.join(", ")));
    }
}

/// The parts of an entity while it is read.
struct Fields<'a> {
    of: &'a str,
    attributes: &'a [Attribute],
    table: &'a TableSection,
    templates: BTreeMap<String, String>,
    /// The condition on which an item has a key attribute.
    when: BTreeMap<String, String>,
    fields: Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn new(of: &'a str, attributes: &'a [Attribute], table: &'a TableSection) -> Fields<'a> {
        let (templates, when) = (BTreeMap::new(), BTreeMap::new());
        Fields { of, attributes, table, templates, when, fields: Map::new() }
    }

    fn is_key(&self, name: &str) -> bool {
        let in_indexes = self.table.index_keys().into_iter().flat_map(|(_, names)| names);
        self.table.key_names().into_iter().chain(in_indexes).any(|key| key == name)
    }

    fn add(&mut self, attribute: &Attribute, notes: &mut Notes) {
        let Attribute { name, stored, .. } = attribute;
        let is_key = self.is_key(stored);
        if is_key && let Some(Value::String(constant)) = &attribute.constant {
            let (before, after) = &attribute.around;
            self.put(stored, &Made { template: literal(&format!("{before}{constant}{after}")), when: None });
            return;
        }
        if is_key && let Some(link) = &attribute.link {
            match Function::parse(link).and_then(|function| function.made()) {
                Some(made) => self.put(stored, &made),
                None => {
                    notes.add(format!("{}.{name}: its link is code that is not read: {link}", self.of));
                    self.describe(attribute, stored);
                }
            }
            return;
        }
        let is_wrapped = attribute.around != (String::new(), String::new());
        if is_key && (is_wrapped || name != stored) {
            let (before, after) = &attribute.around;
            let template = format!("{}{{{name}}}{}", literal(before), literal(after));
            self.templates.insert(stored.clone(), template);
            notes.add(format!(
                "{}.{name} is stored in `{stored}` alone; in the model it is an attribute of its own, too",
                self.of
            ));
            self.describe(attribute, name);
            return;
        }
        if name != stored {
            notes.add(format!("{}.{name} is stored as `{stored}`, and the model calls it so", self.of));
        }
        if attribute.link.is_some() || is_wrapped {
            notes.add(format!("{}.{name} is made by the program, and the model does not know how", self.of));
        }
        self.describe(attribute, stored);
    }

    fn describe(&mut self, attribute: &Attribute, name: &str) {
        let mut described = json!({ "type": attribute.kind });
        match &attribute.constant {
            Some(constant) => described["value"] = constant.clone(),
            None if !attribute.values.is_empty() => described["values"] = attribute.values.clone().into(),
            None => {}
        }
        if attribute.is_optional && !attribute.is_key {
            described["optional"] = true.into();
        }
        self.fields.insert(name.to_owned(), described);
    }

    /// A key that a function makes: its attributes by the names that they are stored under.
    fn put(&mut self, key: &str, made: &Made) {
        let template = self.renamed(&made.template);
        self.templates.insert(key.to_owned(), template);
        if let Some(when) = &made.when {
            self.when.insert(key.to_owned(), self.renamed_words(when));
        }
    }

    fn stored<'n>(&'n self, name: &'n str) -> &'n str {
        let renamed = self.attributes.iter().find(|one| one.name == name && !self.is_key(&one.stored));
        renamed.map_or(name, |one| one.stored.as_str())
    }

    fn renamed(&self, template: &str) -> String {
        let renamed = self.attributes.iter().filter(|one| self.stored(&one.name) != one.name);
        renamed.fold(template.to_owned(), |template, one| {
            let mut out = String::new();
            for (position, piece) in template.split('{').enumerate() {
                if position > 0 {
                    out.push('{');
                }
                let (field, rest) = piece.split_at(piece.find('}').unwrap_or(0));
                out += &replaced(field, &one.name, &one.stored);
                out += rest;
            }
            out
        })
    }

    fn renamed_words(&self, text: &str) -> String {
        let words: Vec<&str> = text.split(' ').map(|word| self.stored(word)).collect();
        words.join(" ")
    }

    fn compute_key(&mut self, compute: &Value, notes: &mut Notes) {
        let Some(code) = as_code(compute) else { return };
        let function = Function::parse(code);
        let returned = function.as_ref().and_then(Function::returned).unwrap_or_default();
        for key in self.table.key_names() {
            let short = returned.contains_key(&format!("...{key}"));
            let value = if short { Some(key.clone()) } else { returned.get(&key).and_then(source) };
            let made =
                function.as_ref().zip(value.as_ref()).and_then(|(function, text)| function.template(text));
            match made {
                // It is the attribute of the same name.
                Some(template) if template == format!("{{{key}}}") => {}
                Some(template) => self.put(&key, &Made { template, when: None }),
                None => notes.add(format!("{}: how `{key}` is computed is not read: {code}", self.of)),
            }
        }
    }

    /// What the library adds to every item.
    fn add_internal(&mut self, is: &Value, entity_attribute: &str) {
        if is["entityAttribute"] != false {
            let tag = json!({ "type": "string", "value": self.of });
            self.fields.insert(entity_attribute.to_owned(), tag);
        }
        for (timestamp, stored) in TIMESTAMPS {
            let said = match &is["timestamps"] {
                Value::Object(each) => each.get(timestamp).unwrap_or(&Value::Bool(true)),
                other => other,
            };
            if *said != false {
                let stored = said["savedAs"].as_str().unwrap_or(stored);
                self.fields.insert(stored.to_owned(), "timestamp".into());
            }
        }
    }

    /// A key that is not said, or not understood, is an attribute by itself.
    fn fill_keys(&mut self, notes: &mut Notes) {
        for name in self.table.key_names() {
            if !self.templates.contains_key(&name) && !self.fields.contains_key(&name) {
                notes.add(format!("{}: what its key `{name}` consists of is not known", self.of));
                self.fields.insert(name, "string".into());
            }
        }
    }
}

fn literal(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// The name in a field of a template: `id`, `lower(id)`, `id:08`.
fn replaced(field: &str, from: &str, to: &str) -> String {
    let inner = field.rsplit('(').next().unwrap_or(field);
    let name = inner.split([',', ')', ':']).next().unwrap_or(inner);
    match name == from {
        true => {
            let at = field.len() - inner.len();
            format!("{}{to}{}", &field[..at], &inner[name.len()..])
        }
        false => field.to_owned(),
    }
}
