//! What differs between two model files, element by element. Elements are compared as they would be written, so
//! different notations of the same thing are no change.

use indexmap::IndexMap;
use serde::Serialize;

use crate::Model;
use crate::file::{Element, members};
use crate::model::{IndexId, TableId};

/// One element, or one member of it, that was added, removed or changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ElementChange {
    pub section: Section,
    /// `app-main`, `Order`, `GSI1 of app-main`, `A4`.
    pub element: String,
    /// `billing`, `key`, `attributes.status`, `project`; `None` if the element is new or removed.
    pub member: Option<String>,
    pub was: Option<String>,
    pub is: Option<String>,
}

/// The section of the file that an element is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    Table,
    Index,
    Entity,
    Pattern,
}

impl Section {
    pub fn name(self) -> &'static str {
        match self {
            Section::Table => "table",
            Section::Index => "index",
            Section::Entity => "entity",
            Section::Pattern => "pattern",
        }
    }
}

/// Members that inform people, and affect neither stored data nor requests.
const REMARKS: [&str; 4] = ["description", "samples", "allow", "expect"];

type Elements = IndexMap<(Section, String), IndexMap<String, String>>;

/// Everything that differs between two models.
pub fn changes(old: &Model, new: &Model) -> Vec<ElementChange> {
    let (was, is) = (elements(old), elements(new));
    let mut changes = Vec::new();
    for ((section, element), members) in &is {
        let blank =
            ElementChange { section: *section, element: element.clone(), member: None, was: None, is: None };
        match was.get(&(*section, element.clone())) {
            None => changes.push(ElementChange { is: Some(line(members)), ..blank }),
            Some(earlier) => changes.extend(in_members(earlier, members, &blank)),
        }
    }
    let gone = was.iter().filter(|(key, _)| !is.contains_key(*key));
    changes.extend(gone.map(|((section, element), members)| ElementChange {
        section: *section,
        element: element.clone(),
        member: None,
        was: Some(line(members)),
        is: None,
    }));
    changes
}

/// Every element of a model with its members, in the order of the file.
fn elements(model: &Model) -> Elements {
    let mut elements = Elements::new();
    let mut add = |section: Section, element: String, subject: Element| {
        let said = members(model, subject).into_iter();
        let said = said.filter(|(name, _)| !REMARKS.contains(&name.as_str()));
        let mut said: IndexMap<String, String> = said.collect();
        if let Element::Entity(id) = subject {
            // Written only where there are several tables.
            said.insert("table".to_owned(), model.table_of(model.entity(id)).name.value.clone());
        }
        elements.insert((section, element), said);
    };
    for (position, table) in model.tables.iter().enumerate() {
        let id = TableId(position);
        add(Section::Table, table.name.value.clone(), Element::Table(id));
        for (position, index) in table.indexes.iter().enumerate() {
            let name = format!("{} of {}", index.name.value, table.name.value);
            add(Section::Index, name, Element::Index(id, IndexId(position)));
        }
    }
    for id in model.entity_ids() {
        add(Section::Entity, model.entity(id).name.value.clone(), Element::Entity(id));
    }
    for (position, pattern) in model.patterns.iter().enumerate() {
        add(Section::Pattern, pattern.id.value.clone(), Element::Pattern(position));
    }
    elements
}

fn line(members: &IndexMap<String, String>) -> String {
    members.iter().map(|(name, text)| format!("{name}: {text}")).collect::<Vec<_>>().join(", ")
}

fn in_members(
    was: &IndexMap<String, String>,
    is: &IndexMap<String, String>,
    blank: &ElementChange,
) -> Vec<ElementChange> {
    let gone = was.keys().filter(|name| !is.contains_key(*name));
    let all = is.keys().chain(gone).filter(|name| was.get(*name) != is.get(*name));
    all.map(|name| ElementChange {
        member: Some(name.clone()),
        was: was.get(name).cloned(),
        is: is.get(name).cloned(),
        ..blank.clone()
    })
    .collect()
}
