//! `entities`.

use super::layout::{LayoutNode, Map, prose, text};
use super::table::{put_samples, size};
use super::{Element, SYNC, Writer, name_of, quantity, value};
use crate::model::{
    Attribute, AttributeKind, Count, Entity, EntityId, Index, IndexEntry, IndexKind, KeySchema, Table,
};
use crate::template::Template;

impl Writer<'_> {
    pub fn entity(&self, id: EntityId) -> LayoutNode {
        let entity = self.model.entity(id);
        let table = self.model.table_of(entity);
        let mut map = Map::new();
        map.put_some("description", entity.description.as_deref().map(prose));
        if self.model.tables.len() > 1 {
            map.put("table", text(&table.name.value));
        }
        map.put_names("id", entity.identity.iter().map(|name| name.value.as_str()));
        if let (Some(key), Some(schema)) = (&entity.key, &table.key) {
            let key = templates(schema, std::iter::once(&key.partition).chain(&key.sort));
            map.put_with(self.comment(Element::Key(id)), "key", LayoutNode::Map(key));
        }
        self.attributes(&mut map, entity);
        map.put_some("count", entity.count.as_ref().map(|count| self.count(&count.value)));
        map.put_some("size", entity.size.as_ref().map(|one| size(&one.value)));
        let growth = entity.growth.as_ref();
        map.put_some("growth", growth.map(|one| text(&quantity::growth(&one.value, quantity::number))));
        map.put_some("expires", entity.expires.as_ref().map(|time| text(&quantity::duration(time.value))));
        map.put_some("owner", entity.owner.as_ref().map(|owner| text(&owner.value)));
        self.entries(&mut map, id, table);
        let kind =
            |name: &str| entity.attribute(name).filter(|one| one.declared).map(|one| one.kind.stored());
        put_samples(&mut map, &entity.samples, kind);
        self.allow(&mut map, entity.span);
        LayoutNode::Map(map)
    }

    /// Attributes that only templates and patterns name are not listed: the reader infers them.
    fn attributes(&self, map: &mut Map, entity: &Entity) {
        let declared: Vec<&Attribute> =
            entity.attributes.values().filter(|attribute| attribute.declared).collect();
        let mut details = Map::new();
        for attribute in &declared {
            details.put(&attribute.name, self.attribute(attribute));
        }
        map.put_map("attributes", details);
    }

    fn attribute(&self, attribute: &Attribute) -> LayoutNode {
        let bare = Attribute { declared: true, ..Attribute::implied(&attribute.name, attribute.span) };
        let allows = self.model.allowances.iter().any(|one| one.scope == attribute.span);
        if !allows && *attribute == (Attribute { kind: attribute.kind, ..bare.clone() }) {
            return text(attribute.kind.name());
        }
        if !allows && *attribute == (Attribute { values: attribute.values.clone(), ..bare }) {
            return values(attribute);
        }
        LayoutNode::Map(self.details(attribute))
    }

    fn details(&self, attribute: &Attribute) -> Map {
        let mut map = Map::new();
        if attribute.kind != AttributeKind::String {
            map.put("type", text(attribute.kind.name()));
        }
        if !attribute.values.is_empty() {
            map.put("values", values(attribute));
        }
        let stored = Some(attribute.kind.stored());
        map.put_some("value", attribute.constant.as_ref().map(|one| value::value(one, stored)));
        match attribute.present {
            Some(present) => map.put("present", text(&quantity::percent(present))),
            None if attribute.optional => map.put("optional", text("true")),
            None => {}
        }
        map.put_some("min", attribute.min.map(text_number));
        map.put_some("max", attribute.max.map(text_number));
        map.put_some("size", attribute.size.as_ref().map(size));
        map.put_some("distinct", attribute.distinct.as_ref().map(|distinct| text_number(distinct.value)));
        map.put_some("skew", attribute.skew.as_ref().map(|skew| text(&quantity::skew(skew.value))));
        let growth = attribute.growth.as_ref();
        let bytes = |amount: f64| quantity::size(amount as u64);
        map.put_some("growth", growth.map(|one| text(&quantity::growth(&one.value, bytes))));
        let copy = attribute.copy_of.as_ref().map(|copy| &copy.value);
        map.put_some(
            "copy-of",
            copy.map(|copy| text(&format!("{}.{}", self.name_of(copy.entity), copy.attribute))),
        );
        map.put_some("sync", attribute.sync.as_ref().map(|sync| name_of(&SYNC, sync.value)));
        self.allow(&mut map, attribute.span);
        map
    }

    fn count(&self, count: &Count) -> LayoutNode {
        let parent = count.per.map(|parent| self.name_of(parent));
        let typical = quantity::number(count.typical);
        let Some(max) = count.max else {
            let per = parent.map(|parent| format!(" per {parent}")).unwrap_or_default();
            return text(&format!("{typical}{per}"));
        };
        let mut map = Map::new();
        map.put("typical", text(&typical));
        map.put("max", text_number(max));
        map.put_some("per", parent.map(text));
        LayoutNode::Map(map)
    }

    fn entries(&self, map: &mut Map, id: EntityId, table: &Table) {
        let mut entries = Map::open();
        for entry in self.model.entity(id).entries.iter().filter(|entry| entry.declared) {
            let index = table.index(entry.index);
            let comment = self.comment(Element::Entry(id, entry.index));
            entries.put_with(comment, &index.name.value, self.entry(index, entry));
        }
        map.put_map("indexes", entries);
    }

    fn entry(&self, index: &Index, entry: &IndexEntry) -> LayoutNode {
        let mut map = Map::new();
        map.put_some("when", entry.when.as_ref().map(|when| text(&when.to_string())));
        // The table's key already determines the partition of a local index.
        let implied = if index.kind == IndexKind::Local { 1 } else { 0 };
        for (name, template) in index.key.attributes().zip(entry.templates()).skip(implied) {
            map.put(&name.name, text(&template.to_string()));
        }
        self.allow(&mut map, entry.span);
        LayoutNode::Map(map)
    }
}

fn text_number(value: f64) -> LayoutNode {
    text(&quantity::number(value))
}

fn templates<'t>(schema: &KeySchema, templates: impl Iterator<Item = &'t Template>) -> Map {
    let mut map = Map::new();
    for (attribute, template) in schema.attributes().zip(templates) {
        map.put(&attribute.name, text(&template.to_string()));
    }
    map
}

/// `[OPEN, SHIPPED]`, or `{ OPEN: 10%, SHIPPED: 90% }` with the share of each.
fn values(attribute: &Attribute) -> LayoutNode {
    if attribute.shares.is_empty() {
        return LayoutNode::List(attribute.values.iter().map(|value| text(value)).collect());
    }
    let mut map = Map::new();
    for (value, share) in attribute.values.iter().zip(&attribute.shares) {
        map.put(value, text(&quantity::percent(*share)));
    }
    LayoutNode::Map(map)
}
