//! A model that is made from something else than its file: the sections of a model file, each part as a person would
//! write it there. Learning makes drafts, and so do the readers of other tools' files.

use serde_json::{Map, Value, json};

use crate::file::{self, Comments, Element};
use crate::table_shape::TableSection;
use crate::{Level, Model, Source, diagnostic};

/// Above what an imported model has in place of what its file said.
const NOTED: &str = "What the imported file says otherwise, or not at all:";

/// Why a document can't become a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Unreadable(pub String);

/// What could not be taken over, without repetitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes(pub Vec<String>);

impl Notes {
    pub fn add(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }
}

/// A model that was made from a draft.
pub struct Import {
    pub model: Model,
    /// The model file.
    pub text: String,
    pub notes: Notes,
}

/// The sections of a model file that is being made.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub name: String,
    pub description: Option<String>,
    pub region: Option<String>,
    /// A comment above the model.
    pub comment: Option<String>,
    tables: Map<String, Value>,
    entities: Map<String, Value>,
    patterns: Map<String, Value>,
    kept: Map<String, Value>,
}

impl Draft {
    pub fn new(name: impl Into<String>) -> Draft {
        Draft { name: name.into(), ..Draft::default() }
    }

    /// Adds a table after its entities. Every attribute that an index projects is added to at least one of them; the
    /// table's keys are projected anyway.
    pub fn add_table(&mut self, mut table: TableSection) {
        let keys = table.key_names();
        let mut projected: Vec<String> = Vec::new();
        let indexes = table.fields.get_mut("indexes").and_then(Value::as_object_mut);
        for index in indexes.into_iter().flat_map(|indexes| indexes.values_mut()) {
            let Some(names) = index["project"].as_array_mut() else { continue };
            names.retain(|name| name.as_str().is_some_and(|name| !keys.iter().any(|key| key == name)));
            projected.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
            if names.is_empty() {
                index["project"] = "keys".into();
            }
        }
        self.declare(&table.name, &projected);
        self.tables.insert(table.name, Value::Object(table.fields));
    }

    fn declare(&mut self, table: &str, names: &[String]) {
        let entities = self.entities.values().filter(|entity| entity["table"] == table);
        let known: Vec<String> = entities.flat_map(names_of).collect();
        let first = self.entities.values_mut().find(|entity| entity["table"] == table);
        let Some(first) = first else { return };
        for name in names.iter().filter(|name| !known.contains(name)) {
            first["attributes"][name.as_str()] = "string".into();
        }
    }

    pub fn entities_of(&self, table: &str) -> Vec<&str> {
        let entities = self.entities.iter().filter(|(_, entity)| entity["table"] == table);
        entities.map(|(name, _)| name.as_str()).collect()
    }

    /// Adds an entity under its name, or under a similar one if that is taken, and returns the name.
    pub fn add_entity(&mut self, name: &str, table: &str, mut fields: Map<String, Value>) -> String {
        let name = free(&self.entities, name);
        fields.insert("table".to_owned(), table.into());
        self.entities.insert(name.clone(), Value::Object(fields));
        name
    }

    pub fn add_pattern(&mut self, id: &str, fields: Map<String, Value>) {
        let id = free(&self.patterns, id);
        self.patterns.insert(id, Value::Object(fields));
    }

    /// Keeps data that the format's writer needs and that a model can't express.
    pub fn keep(&mut self, name: &str, value: Map<String, Value>) {
        if !value.is_empty() {
            self.kept.insert(name.to_owned(), Value::Object(value));
        }
    }

    pub fn has_table(&self, name: &str) -> bool {
        self.tables.contains_key(name)
    }

    /// Adds the only entity of a table about which nothing but the keys is known.
    pub fn add_plain_entity(&mut self, table: &TableSection) -> String {
        let attributes: Map<String, Value> =
            table.attributes().into_iter().map(|(name, kind)| (name, kind.into())).collect();
        let fields = Map::from_iter([("attributes".to_owned(), Value::Object(attributes))]);
        self.add_entity(&entity_name(&table.name), &table.name, fields)
    }

    /// Says more about an entity that was added.
    pub fn describe_entity(&mut self, entity: &str, fields: Map<String, Value>) {
        if let Some(Value::Object(known)) = self.entities.get_mut(entity) {
            known.extend(fields);
        }
    }

    /// The same where the document could have described entities, with a note that it did not.
    pub fn add_unknown_entity(&mut self, table: &TableSection, notes: &mut Notes) {
        let entity = self.add_plain_entity(table);
        notes.add(format!(
            "table {}: its entities can't be recognised; `{entity}` represents all",
            table.name
        ));
    }

    /// Adds a table whose entities, if it has any, have been added.
    pub fn add_described_table(&mut self, table: TableSection) {
        if self.entities_of(&table.name).is_empty() {
            self.add_plain_entity(&table);
        }
        self.add_table(table);
    }

    pub fn sections(&self) -> Value {
        let mut sections = json!({ "model": self.name });
        if let Some(description) = &self.description {
            sections["description"] = description.as_str().into();
        }
        if let Some(region) = &self.region {
            sections["region"] = region.as_str().into();
        }
        let parts = [
            ("tables", &self.tables),
            ("entities", &self.entities),
            ("patterns", &self.patterns),
            ("kept", &self.kept),
        ];
        for (name, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
            sections[name] = Value::Object(part.clone());
        }
        sections
    }

    /// The model of this draft.
    pub fn checked(&self) -> Result<Model, Unreadable> {
        let reading = file::read_json(&self.sections());
        reading.model.ok_or_else(|| {
            let errors = reading.diagnostics.iter().filter(|one| one.level == Level::Error);
            let messages: Vec<String> = errors.map(|one| one.message.clone()).collect();
            Unreadable(format!("it makes no sound model: {}", messages.join("; ")))
        })
    }

    /// The draft's checked model with its file. The text is read back at once, so that no model is returned that its
    /// own file can't express.
    pub fn import(&self, model: Model, notes: Notes) -> Result<Import, Unreadable> {
        let text = file::write(&model, &self.comments(&notes));
        let source = Source::new("the imported model", text.as_str());
        let reading = file::read(&source);
        match reading.model {
            Some(model) => Ok(Import { model, text, notes }),
            None => {
                let shown = diagnostic::text(&source, &reading.diagnostics, false);
                Err(Unreadable(format!("a model file can't hold it:\n{shown}")))
            }
        }
    }

    /// Above the model: the draft's own comment, and what could not be taken over.
    fn comments(&self, notes: &Notes) -> Comments {
        let notes = notes.0.iter().map(|note| format!("- {}", note.replace('\n', " ")));
        let notes: Vec<String> = notes.collect();
        let noted = (!notes.is_empty()).then(|| format!("{NOTED}\n{}", notes.join("\n")));
        let parts: Vec<String> = self.comment.clone().into_iter().chain(noted).collect();
        let comment = (!parts.is_empty()).then(|| parts.join("\n"));
        Comments::from_iter(comment.map(|comment| (Element::Model, comment)))
    }
}

/// The attributes an entity declares or names in its templates.
fn names_of(entity: &Value) -> Vec<String> {
    let declared = entity["attributes"].as_object().into_iter().flat_map(Map::keys).cloned();
    let keys = entity["key"].as_object().into_iter().flat_map(Map::values);
    let entries = entity["indexes"].as_object().into_iter().flat_map(Map::values);
    let entries = entries.filter_map(Value::as_object).flat_map(Map::values);
    let templates = keys.chain(entries).filter_map(Value::as_str);
    declared.chain(templates.flat_map(fields_of)).collect()
}

/// `ORDER#{createdAt}#{orderId}` -> `createdAt`, `orderId`.
pub fn fields_of(template: &str) -> Vec<String> {
    let parts = template.split('{').skip(1).filter_map(|part| part.split_once('}'));
    let name = |field: &str| {
        let inner = field.rsplit('(').next().unwrap_or(field);
        inner.split([',', ')', ':']).next().unwrap_or(inner).trim().to_owned()
    };
    parts.map(|(field, _)| name(field)).collect()
}

fn free(taken: &Map<String, Value>, name: &str) -> String {
    let numbered = (2..).map(|number| format!("{name}{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken.contains_key(name)).unwrap_or_default()
}

/// `customer-orders` -> `CustomerOrder`: an entity name for the items of a table, or for a key prefix.
pub fn entity_name(plural: &str) -> String {
    let words = plural.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut name: String = words.map(capitalised).collect();
    if name.len() > 3 && name.ends_with('s') && !name.ends_with("ss") {
        name.pop();
    }
    if name.is_empty() { "Item".to_owned() } else { name }
}

/// `ORDER` and `order` -> `Order`; `lineItem` -> `LineItem`.
fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    let first: String = characters.next().into_iter().flat_map(char::to_uppercase).collect();
    let rest = characters.as_str();
    let shouted = !word.chars().any(char::is_lowercase);
    first + &if shouted { rest.to_lowercase() } else { rest.to_owned() }
}
