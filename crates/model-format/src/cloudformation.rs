//! CloudFormation templates, as YAML or JSON. Each table is an `AWS::DynamoDB::Table`, or a `GlobalTable` if
//! it has replicas; capacity that scales comes with its scalable targets and policies.
//!
//! A template may contain functions. Values that follow from the defaults of parameters and from the tables of
//! the template are read ([`known`]); the rest is kept, and a note reports it. Comments and the order of members are
//! not kept.

mod expanded;
mod global_table;
mod known;
mod scaling;
mod simple_table;
mod table;
mod text;

use indexmap::IndexMap;
use model::Model;
use model::draft::Draft;
use model::model::Table;
use model::table_shape::TableSection;
use serde_json::{Map, Value, json};

use crate::names::{self, ImportedNames, Names, is_table_name};
use crate::{Aspect, Format, JSON, Notes, Unreadable, create_table};
use known::KnownTemplate;

pub const FORMAT: Format = Format {
    name: "cloudformation",
    title: "a CloudFormation template",
    syntax: &text::YAML,
    recognises,
    read: Some(read),
    write: Some(write),
    holds: HOLDS,
};

pub const JSON_FORMAT: Format = Format {
    name: "cloudformation-json",
    title: "a CloudFormation template, as JSON",
    syntax: &JSON,
    recognises,
    read: Some(read),
    write: Some(write),
    holds: HOLDS,
};

const HOLDS: &[&[Aspect]] = &[Aspect::CREATE_TABLE, Aspect::DEPLOYMENT, &[Aspect::Description]];

const TABLE: &str = "AWS::DynamoDB::Table";
const GLOBAL_TABLE: &str = "AWS::DynamoDB::GlobalTable";
const SIMPLE_TABLE: &str = "AWS::Serverless::SimpleTable";

/// Where the logical ids of an imported template are kept.
const NAMES: &str = "cloudformation-names";

/// The key under which it is kept that the template is inside a serverless.yml.
const AROUND: &str = "/around";

fn recognises(document: &Value) -> bool {
    tables_of(&expanded::expanded(document)).next().is_some()
}

fn resources(document: &Value) -> impl Iterator<Item = (&String, &Value)> {
    document["Resources"].as_object().into_iter().flatten()
}

fn tables_of(document: &Value) -> impl Iterator<Item = (&String, &Value)> {
    resources(document).filter(|(_, resource)| {
        [TABLE, GLOBAL_TABLE, SIMPLE_TABLE].iter().any(|kind| resource["Type"] == *kind)
    })
}

fn read(document: &Value, notes: &mut Notes) -> Result<Draft, Unreadable> {
    if !recognises(document) {
        return Err(Unreadable(format!("there is no {TABLE} under `Resources`")));
    }
    let inside = expanded::inside_serverless(document);
    expanded::tell(document, notes);
    let document = &expanded::expanded(document);
    let known = known_tables(document, notes);
    let mut names = ImportedNames::new(names::pascal);
    let mut draft = Draft::default();
    draft.description = document["Description"].as_str().map(str::to_owned);
    let mut sections = Vec::new();
    for (id, resource) in tables_of(document) {
        let name = known.tables[id].as_str();
        known.not_read(name, &resource["Properties"], notes);
        let properties = known.resolve(&resource["Properties"]);
        names.add(name, id);
        sections.push(match resource["Type"].as_str() {
            Some(TABLE) => table::section(name, &properties)?,
            Some(SIMPLE_TABLE) => {
                names.say(&kind(name), SIMPLE_TABLE);
                table::section(name, &simple_table::full(&properties))?
            }
            _ => {
                let global = global_table::section(name, &properties)?;
                if global.home.is_some() && draft.region.is_none() {
                    draft.region = global.home;
                }
                names.say(&kind(name), GLOBAL_TABLE);
                global.section
            }
        });
    }
    scaling::read(document, &known, &mut sections, &mut names);
    draft.name = sections.first().map_or_else(String::new, |first| first.name.clone());
    sections.into_iter().for_each(|section| add(&mut draft, section, notes));
    if inside {
        names.say(AROUND, "resources");
    }
    draft.keep(NAMES, names.kept);
    Ok(draft)
}

/// The key under which the resource type of a table is kept.
fn kind(table: &str) -> String {
    format!("{table}/type")
}

fn add(draft: &mut Draft, mut section: TableSection, notes: &mut Notes) {
    super::scaling::simplify(&mut section);
    draft.add_unknown_entity(&section, notes);
    draft.add_table(section);
}

/// The name of each table, by its logical id. A name that only deployment decides is replaced by a similar one.
fn known_tables<'d>(document: &'d Value, notes: &mut Notes) -> KnownTemplate<'d> {
    let mut known = KnownTemplate { document, tables: IndexMap::new() };
    for (id, resource) in tables_of(document) {
        let given = &resource["Properties"]["TableName"];
        let resolved = known.resolve(given);
        let fallback = format!("table-{id}");
        let taken = |name: &str| known.tables.values().any(|table| table == name);
        let candidates = [resolved.as_str().unwrap_or_default(), id.as_str(), fallback.as_str()];
        let free = candidates.into_iter().find(|name| is_table_name(name) && !taken(name));
        let name = free.unwrap_or(&fallback).to_owned();
        if *given != name.as_str() {
            notes.add(format!("table {name}: its name is made when the template is deployed"));
        }
        known.tables.insert(id.clone(), name);
    }
    known
}

/// A template that is being written.
struct Template<'m> {
    names: Names<'m>,
    parameters: Map<String, Value>,
    resources: Map<String, Value>,
}

fn write(model: &Model, notes: &mut Notes) -> Value {
    let mut template = Template {
        names: Names::of(model, NAMES, names::pascal),
        parameters: Map::new(),
        resources: Map::new(),
    };
    for table in &model.tables {
        if let Some(shape) = create_table::shape_or_note(table, notes) {
            template.add(model, table, shape, notes);
        }
    }
    let mut document = json!({ "AWSTemplateFormatVersion": "2010-09-09" });
    if let Some(description) = &model.description {
        if description.len() > 1024 {
            notes.add("the description is longer than the 1,024 bytes CloudFormation takes");
        }
        document["Description"] = description.as_str().into();
    }
    if !template.parameters.is_empty() {
        document["Parameters"] = Value::Object(template.parameters);
    }
    document["Resources"] = Value::Object(template.resources);
    if template.names.kept(AROUND).is_some() {
        document.as_object_mut().map(|members| members.shift_remove("AWSTemplateFormatVersion"));
        return json!({ "resources": document });
    }
    document
}

impl Template<'_> {
    fn add(&mut self, model: &Model, table: &Table, shape: Value, notes: &mut Notes) {
        let name = table.name.value.as_str();
        let global = !table.replicas.is_empty() || self.names.kept(&kind(name)) == Some(GLOBAL_TABLE);
        let id = self.names.give(name);
        let (kind, properties) = match global {
            true => (GLOBAL_TABLE, global_table::properties(self, model, table, shape, notes)),
            false => {
                let was_simple = self.names.kept(&kind(name)) == Some(SIMPLE_TABLE);
                let properties = table::properties(self, table, shape);
                match simple_table::simple(table, &properties).filter(|_| was_simple) {
                    Some(simple) => (SIMPLE_TABLE, simple),
                    None => (TABLE, properties),
                }
            }
        };
        let mut resource = json!({ "Type": kind });
        // A stack can't delete a protected table, so the stack retains it.
        if table.deletion_protection.as_ref().is_some_and(|protected| protected.value) {
            resource["DeletionPolicy"] = "Retain".into();
            resource["UpdateReplacePolicy"] = "Retain".into();
        }
        resource["Properties"] = properties;
        self.resources.insert(id.clone(), resource);
        if !global {
            super::scaling::of(table, notes).iter().for_each(|one| scaling::write(self, &id, one));
        }
    }

    /// A customer-managed key is not in the model: it becomes a parameter of the template.
    fn key_parameter(&mut self, region: Option<&str>) -> Value {
        let name = names::pascal(&format!("encryption-key/{}", region.unwrap_or_default()));
        let place = region.map_or(String::new(), |region| format!(" in {region}"));
        let parameter = json!({
            "Type": "String",
            "Description": format!("The KMS key that tables are encrypted with{place}: its id, ARN or alias"),
        });
        self.parameters.insert(name.clone(), parameter);
        json!({ "Ref": name })
    }
}

/// Like `value[outer][inner] = …`, but replaces anything in the way that is not a mapping.
fn put(value: &mut Value, path: &[&str], what: Value) {
    let mut place = value;
    for name in path {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[*name];
    }
    *place = what;
}
