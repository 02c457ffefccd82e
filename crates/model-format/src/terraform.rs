//! Terraform: configurations as HCL or as `.tf.json`; and, for reading only, the plan or state that
//! `terraform show -json` prints. HCL and JSON become the same document: that of
//! `.tf.json`, with each nested block in a list.
//!
//! Values that follow from the defaults of variables, from locals and from other resources are read ([`known`]);
//! the rest is kept.

mod hcl;
mod known;
mod module;
mod plan;
mod scaling;
mod table;

use model::Model;
use model::draft::Draft;
use model::model::Table;
use serde_json::{Map, Value, json};

use crate::names::{ImportedNames, Names, is_table_name, words};
use crate::scaling::simplify;
use crate::{Aspect, Format, JSON, Notes, Unreadable, create_table};
use known::KnownConfiguration;

pub const FORMAT: Format = Format {
    name: "terraform",
    title: "a Terraform configuration",
    syntax: &hcl::HCL,
    recognises,
    read: Some(read),
    write: Some(write),
    holds: HOLDS,
};

pub const JSON_FORMAT: Format = Format {
    name: "terraform-json",
    title: "a Terraform configuration, as .tf.json",
    syntax: &JSON,
    recognises,
    read: Some(read),
    write: Some(write),
    holds: HOLDS,
};

pub const PLAN_FORMAT: Format = Format {
    name: "terraform-plan",
    title: "what `terraform show -json` prints of a plan or state",
    syntax: &JSON,
    recognises: |document| recognises(&plan::configuration(document)),
    read: Some(|document, notes| {
        let unread = document[module::NOTES].as_array().into_iter().flatten().filter_map(Value::as_str);
        unread.for_each(|note| notes.add(note));
        let configuration = plan::configuration(document);
        plan::tell_unread(&configuration, notes);
        read(&configuration, notes)
    }),
    write: None,
    holds: HOLDS,
};

/// A configuration whose tables are in modules, as the plan of it, as far as it is known; `None` if no module of it has
/// tables. `load` gives the text of a module's folder, by its path from the configuration's own.
pub fn plan_of_modules(text: &str, load: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    module::plan(text, load).map(|plan| plan.to_string())
}

const HOLDS: &[&[Aspect]] = &[Aspect::CREATE_TABLE, Aspect::DEPLOYMENT, &[Aspect::Region]];

const TABLE: &str = "aws_dynamodb_table";

/// Where the names of an imported configuration's resources are kept.
const NAMES: &str = "terraform-names";

/// The first release of the provider in which an index has a `key_schema`.
const PROVIDER: &str = ">= 6.29";

fn recognises(document: &Value) -> bool {
    resources(document, TABLE).next().is_some()
}

/// Resources of a type, with their names.
fn resources<'d>(document: &'d Value, kind: &str) -> impl Iterator<Item = (&'d String, &'d Value)> {
    let named = document["resource"][kind].as_object().into_iter().flatten();
    named.filter_map(|(name, resource)| Some((name, blocks(resource).next()?)))
}

/// Blocks of a kind: a list, or a single one.
fn blocks(value: &Value) -> impl Iterator<Item = &Value> {
    let alone = std::iter::once(value).filter(|value| value.is_object());
    alone.chain(value.as_array().into_iter().flatten())
}

fn read(document: &Value, notes: &mut Notes) -> Result<Draft, Unreadable> {
    if !recognises(document) {
        return Err(Unreadable(format!("there is no resource {TABLE}")));
    }
    let known = known_tables(document, notes);
    let mut names = ImportedNames::new(spelled);
    let mut sections = Vec::new();
    for (label, resource) in resources(document, TABLE) {
        let name = known.tables[label].as_str();
        names.add(name, label);
        sections.push(table::section(name, &known.resolve(resource))?);
    }
    scaling::read(document, &known, &mut sections, &mut names);
    let mut draft = Draft::new(sections.first().map_or("", |first| first.name.as_str()));
    let provider = blocks(&document["provider"]["aws"]).find(|provider| provider.get("alias").is_none());
    let region = provider.map(|provider| known.resolve(&provider["region"]));
    draft.region = region.and_then(|region| region.as_str().map(str::to_owned));
    for mut section in sections {
        simplify(&mut section);
        draft.add_unknown_entity(&section, notes);
        draft.add_table(section);
    }
    draft.keep(NAMES, names.kept);
    Ok(draft)
}

/// The name of each table, by the name of its resource. A name that only a plan can compute is replaced by a similar
/// one.
fn known_tables<'d>(document: &'d Value, notes: &mut Notes) -> KnownConfiguration<'d> {
    let mut known = KnownConfiguration::new(document);
    for (label, resource) in resources(document, TABLE) {
        let resolved = known.resolve(&resource["name"]);
        let fallback = format!("table-{label}");
        let taken = |name: &str| known.tables.values().any(|table| table == name);
        let candidates = [resolved.as_str().unwrap_or_default(), label.as_str(), fallback.as_str()];
        let free = candidates.into_iter().find(|name| is_table_name(name) && !taken(name));
        let name = free.unwrap_or(&fallback).to_owned();
        if resource["name"] != name.as_str() {
            notes.add(format!("table {name}: its name is made when the configuration is applied"));
        }
        for repeated in ["count", "for_each"] {
            if resource.get(repeated).is_some() {
                notes.add(format!("table {name}: `{repeated}` may make several; one is read"));
            }
        }
        known.tables.insert(label.clone(), name);
    }
    known
}

/// `shop/index/byEmail/read` -> `shop_byEmail_read`. A policy has the same name as its target.
fn spelled(about: &str) -> String {
    let about = about.strip_suffix(scaling::POLICY_OF).unwrap_or(about);
    let parts = about.split('/').filter(|part| *part != "index");
    let name = parts.flat_map(words).collect::<Vec<_>>().join("_");
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("table_{name}") }
}

/// A configuration while it is written. Each type of resource has names of its own.
struct Configuration<'m> {
    table_names: Names<'m>,
    target_names: Names<'m>,
    policy_names: Names<'m>,
    variables: Map<String, Value>,
    tables: Map<String, Value>,
    targets: Map<String, Value>,
    policies: Map<String, Value>,
}

fn write(model: &Model, notes: &mut Notes) -> Value {
    let names = || Names::of(model, NAMES, spelled);
    let mut configuration = Configuration {
        table_names: names(),
        target_names: names(),
        policy_names: names(),
        variables: Map::new(),
        tables: Map::new(),
        targets: Map::new(),
        policies: Map::new(),
    };
    for table in &model.tables {
        if let Some(shape) = create_table::shape_or_note(table, notes) {
            configuration.add(table, &shape, notes);
        }
    }
    let provider = json!({ "aws": { "source": "hashicorp/aws", "version": PROVIDER } });
    let mut document = json!({ "terraform": { "required_providers": [provider] } });
    if let Some(region) = &model.region {
        document["provider"] = json!({ "aws": { "region": literal(&region.value) } });
    }
    if !configuration.variables.is_empty() {
        document["variable"] = Value::Object(configuration.variables);
    }
    let kinds = [
        (TABLE, configuration.tables),
        (scaling::TARGET, configuration.targets),
        (scaling::POLICY, configuration.policies),
    ];
    for (kind, resources) in kinds.into_iter().filter(|(_, resources)| !resources.is_empty()) {
        document["resource"][kind] = Value::Object(resources);
    }
    document
}

impl Configuration<'_> {
    fn add(&mut self, table: &Table, shape: &Value, notes: &mut Notes) {
        let label = self.table_names.give(&table.name.value);
        let scaling = super::scaling::of(table, notes);
        let resource = table::resource(self, table, shape, &scaling, notes);
        self.tables.insert(label.clone(), resource);
        scaling.iter().for_each(|one| scaling::write(self, &label, one));
    }

    /// A customer-managed key is not in the model: it becomes a variable.
    fn key_variable(&mut self, region: Option<&str>) -> Value {
        let name = std::iter::once("encryption_key_arn").chain(words(region.unwrap_or_default()));
        let name = name.collect::<Vec<_>>().join("_");
        let place = region.map_or(String::new(), |region| format!(" in {region}"));
        let description = format!("The ARN of the KMS key that tables are encrypted with{place}");
        self.variables.insert(name.clone(), json!({ "type": "string", "description": description }));
        format!("${{var.{name}}}").into()
    }
}

/// A text without expressions: `${` in it is escaped.
fn literal(text: &str) -> Value {
    text.replace("${", "$${").replace("%{", "%%{").into()
}
