//! A [`Model`] -> the text of its file. [`super::read`] returns the same model, apart from spans.
//!
//! What the reader would infer (`by` of a get, the key of an index) is written out, so that the text can be
//! understood without knowing those rules. A comment comes before the element that it is about.

mod action;
mod entity;
pub mod layout;
mod pattern;
mod quantity;
mod table;
mod value;

use std::collections::BTreeMap;

use super::attribute::SYNC;
use super::pattern::CONSISTENCY;
use super::table as names;
use crate::Span;
use crate::diagnostic::Level;
use crate::model::{EntityId, IndexId, Model, Relation, RuleLevel, RuleSetting, TableId};
use layout::{LayoutNode, Map, prose, text};

/// The element that a comment is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    Model,
    Table(TableId),
    Index(TableId, IndexId),
    Entity(EntityId),
    /// The table key of an entity.
    Key(EntityId),
    /// The place of an entity in an index.
    Entry(EntityId, IndexId),
    /// By its position.
    Pattern(usize),
}

/// Comments by the element that they are about.
pub type Comments = BTreeMap<Element, String>;

/// The text of the model file.
pub fn write(model: &Model, comments: &Comments) -> String {
    let writer = Writer { model, comments };
    let mut out = String::new();
    if let Some(comment) = comments.get(&Element::Model) {
        layout::comment_lines(&mut out, comment, 0);
    }
    out.push_str(&layout::document(&writer.root()));
    out
}

/// The members of an element as the file has them: `("by", "customerId")`. Attributes and indexes of an
/// entity are separate members: `("attributes.status", "[OPEN, SHIPPED]")`.
pub fn members(model: &Model, subject: Element) -> Vec<(String, String)> {
    let comments = Comments::new();
    let writer = Writer { model, comments: &comments };
    match subject {
        Element::Table(id) => writer.table_node(id).members(&[]),
        Element::Index(table, index) => writer.index(model.table(table).index(index)).members(&[]),
        Element::Entity(id) => writer.entity(id).members(&["attributes", "indexes"]),
        Element::Pattern(position) => writer.pattern(&model.patterns[position]).members(&[]),
        Element::Model | Element::Key(_) | Element::Entry(..) => Vec::new(),
    }
}

struct Writer<'m> {
    model: &'m Model,
    comments: &'m Comments,
}

impl Writer<'_> {
    fn root(&self) -> Map {
        let model = self.model;
        let mut root = Map::open();
        root.put("model", text(&model.name.value));
        root.put_some("description", model.description.as_deref().map(prose));
        root.put_some("region", model.region.as_ref().map(|region| text(&region.value)));
        if !model.production {
            root.put("stage", text("development"));
        }
        self.tables(&mut root);
        let mut entities = Map::open();
        for id in model.entity_ids() {
            let comment = self.comment(Element::Entity(id));
            entities.put_with(comment, &model.entity(id).name.value, self.entity(id));
        }
        root.put_map("entities", entities);
        if !model.relations.is_empty() {
            root.put(
                "relations",
                LayoutNode::List(model.relations.iter().map(|one| self.relation(one)).collect()),
            );
        }
        self.table_extras(&mut root);
        let mut patterns = Map::open();
        for (position, pattern) in model.patterns.iter().enumerate() {
            let comment = self.comment(Element::Pattern(position));
            patterns.put_with(comment, &pattern.id.value, self.pattern(pattern));
        }
        root.put_map("patterns", patterns);
        let mut rules = Map::new();
        model.rules.iter().for_each(|setting| rules.put(&setting.rule.to_string(), rule(setting)));
        root.put_map("rules", rules);
        self.allow_at_top(&mut root);
        let mut kept = Map::open();
        model.kept.iter().for_each(|(format, rest)| kept.put(format, value::json(rest)));
        root.put_map("kept", kept);
        root
    }

    fn comment(&self, subject: Element) -> Option<String> {
        self.comments.get(&subject).cloned()
    }

    fn name_of(&self, id: EntityId) -> &str {
        &self.model.entity(id).name.value
    }

    fn relation(&self, relation: &Relation) -> LayoutNode {
        let kind = if relation.many_to_many { "M:N" } else { "1:N" };
        let via = relation.via.map(|via| format!(" via {}", self.name_of(via))).unwrap_or_default();
        text(&format!("{} {kind} {}{via}", self.name_of(relation.from), self.name_of(relation.to)))
    }

    /// The findings that the file allows in the element with this span.
    fn allow(&self, map: &mut Map, scope: Span) {
        let mut allowed = Map::new();
        for one in self.model.allowances.iter().filter(|one| one.scope == scope && !self.is_whole(scope)) {
            allowed.put(&one.rule.to_string(), text(&one.reason));
        }
        map.put_map("allow", allowed);
    }

    /// The findings that the file allows everywhere, or in an element that no longer exists.
    fn allow_at_top(&self, root: &mut Map) {
        let scopes = self.scopes();
        let mut allowed = Map::new();
        for one in &self.model.allowances {
            if self.is_whole(one.scope) || !scopes.contains(&one.scope) {
                allowed.put(&one.rule.to_string(), text(&one.reason));
            }
        }
        root.put_map("allow", allowed);
    }

    /// An element made by the program has no span in a file, so nothing can be allowed in it alone.
    fn is_whole(&self, scope: Span) -> bool {
        scope == Span::default() || scope.start == 0
    }

    fn scopes(&self) -> Vec<Span> {
        let model = self.model;
        let tables = model.tables.iter().flat_map(|table| {
            std::iter::once(table.span).chain(table.indexes.iter().map(|index| index.span))
        });
        let entities = model.entities.iter().flat_map(|entity| {
            let entries = entity.entries.iter().filter(|entry| entry.declared).map(|entry| entry.span);
            let attributes =
                entity.attributes.values().filter(|one| one.declared).map(|attribute| attribute.span);
            std::iter::once(entity.span).chain(entries).chain(attributes)
        });
        tables.chain(entities).chain(model.patterns.iter().map(|pattern| pattern.span)).collect()
    }
}

fn rule(setting: &RuleSetting) -> LayoutNode {
    let level = setting.level.map(|level| match level {
        RuleLevel::Off => "off",
        RuleLevel::At(Level::Info) => "info",
        RuleLevel::At(Level::Warning) => "warning",
        RuleLevel::At(Level::Error) => "error",
    });
    if let Some(level) = level.filter(|_| setting.parameters.is_empty()) {
        return text(level);
    }
    let mut map = Map::new();
    map.put_some("level", level.map(text));
    for (name, value) in &setting.parameters {
        map.put(name, text(&quantity::number(value.value)));
    }
    LayoutNode::Map(map)
}

/// The name of a choice in the readers' list.
fn name_of<T: Copy + PartialEq>(choices: &[(&'static str, T)], wanted: T) -> LayoutNode {
    let found = choices.iter().find(|(_, choice)| *choice == wanted);
    text(found.map_or("", |(name, _)| name))
}
