//! The names of resources in a template. A model doesn't have them, and they matter: a table resource under
//! another name is another table, created new and empty. So the names of an imported template are kept, and
//! other resources get names derived from what they are.
//!
//! A resource is identified by a path: `shop`, `shop/read`, `shop/index/byEmail/write`.

use std::collections::BTreeSet;

use model::Model;
use serde_json::{Map, Value};

/// `shop/index/byEmail/read` -> a name in the style of the format.
pub type Spell = fn(&str) -> String;

/// Gives names to resources.
pub struct Names<'m> {
    kept: Option<&'m Map<String, Value>>,
    taken: BTreeSet<String>,
    spell: Spell,
}

impl<'m> Names<'m> {
    pub fn of(model: &'m Model, section: &str, spell: Spell) -> Names<'m> {
        let kept = model.kept.get(section).and_then(Value::as_object);
        let taken = kept.into_iter().flat_map(Map::values).filter_map(Value::as_str);
        Names { kept, taken: taken.map(str::to_owned).collect(), spell }
    }

    /// The name that the imported template gave to a resource, if there was one.
    pub fn kept(&self, about: &str) -> Option<&'m str> {
        self.kept?.get(about)?.as_str()
    }

    /// The name of a resource; asked for only once.
    pub fn give(&mut self, about: &str) -> String {
        if let Some(name) = self.kept(about) {
            return name.to_owned();
        }
        let name = (self.spell)(about);
        let numbered = (2..).map(|number| format!("{name}{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let free = names.find(|name| !self.taken.contains(name)).unwrap_or(name);
        self.taken.insert(free.clone());
        free
    }
}

/// The names in a template that is read. Those that would not be derived again are kept.
pub struct ImportedNames {
    pub kept: Map<String, Value>,
    spell: Spell,
}

impl ImportedNames {
    pub fn new(spell: Spell) -> ImportedNames {
        ImportedNames { kept: Map::new(), spell }
    }

    pub fn add(&mut self, about: &str, name: &str) {
        if (self.spell)(about) != name {
            self.say(about, name);
        }
    }

    /// Keeps a further fact about a resource.
    pub fn say(&mut self, about: &str, what: &str) {
        self.kept.insert(about.to_owned(), what.into());
    }
}

/// The words of a text: `shop/index/by-email` -> `shop`, `index`, `by`, `email`.
pub fn words(about: &str) -> impl Iterator<Item = &str> {
    about.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

/// `ShopByEmailRead`.
pub fn pascal(about: &str) -> String {
    let parts = about.split('/').filter(|part| *part != "index");
    let name: String = parts.flat_map(words).map(capitalised).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("Table{name}") }
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_ascii_uppercase() + rest
}

/// Whether it is a valid table name.
pub fn is_table_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (3..=255).contains(&name.len()) && name.chars().all(allowed)
}
