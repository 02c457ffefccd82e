//! A model on its way in: the sections of a model file, each part as a person would write it there.

use serde_json::{Map, Value, json};

use super::create_table::TableSection;

#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub name: String,
    pub description: Option<String>,
    tables: Map<String, Value>,
    entities: Map<String, Value>,
    patterns: Map<String, Value>,
}

impl Draft {
    pub fn new(name: impl Into<String>) -> Draft {
        Draft { name: name.into(), ..Draft::default() }
    }

    pub fn add_table(&mut self, table: TableSection) {
        self.tables.insert(table.name, Value::Object(table.fields));
    }

    /// Adds an entity under its name, or under a similar one if that is taken, and returns which.
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

    /// The only entity of a table of which nothing but its keys is known.
    pub fn add_plain_entity(&mut self, table: &TableSection) -> String {
        let attributes: Map<String, Value> =
            table.attributes().into_iter().map(|(name, kind)| (name, kind.into())).collect();
        let fields = Map::from_iter([("attributes".to_owned(), Value::Object(attributes))]);
        self.add_entity(&entity_name(&table.name), &table.name, fields)
    }

    pub fn sections(&self) -> Value {
        let mut sections = json!({ "model": self.name });
        if let Some(description) = &self.description {
            sections["description"] = description.as_str().into();
        }
        let parts = [("tables", &self.tables), ("entities", &self.entities), ("patterns", &self.patterns)];
        for (name, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
            sections[name] = Value::Object(part.clone());
        }
        sections
    }
}

fn free(taken: &Map<String, Value>, name: &str) -> String {
    let numbered = (2..).map(|number| format!("{name}{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken.contains_key(name)).unwrap_or_default()
}

/// `customer-orders` -> `CustomerOrder`: what one item of a table, or what a prefix, may be called.
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
