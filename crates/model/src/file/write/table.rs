//! `table` or `tables`, and their indexes.

use item::Type;

use super::layout::{LayoutNode, Map, text};
use super::{Element, Writer, name_of, names, quantity, value};
use crate::model::{
    Billing, Capacity, Encryption, Index, IndexId, IndexKind, KeyAttribute, KeySchema, Projection, SampleRow,
    Size, Table, TableClass, TableId, Throughput,
};

impl Writer<'_> {
    pub fn tables(&self, root: &mut Map) {
        if let [table] = self.model.tables.as_slice() {
            let mut map = Map::new();
            map.put("name", text(&table.name.value));
            self.table(&mut map, table);
            root.put_with(self.comment(Element::Table(TableId(0))), "table", LayoutNode::Map(map));
            return;
        }
        let mut tables = Map::open();
        for (position, table) in self.model.tables.iter().enumerate() {
            let id = TableId(position);
            let mut map = Map::new();
            self.table(&mut map, table);
            map.put_map("indexes", self.indexes(id));
            put_samples(&mut map, &table.samples, |name| key_type(table.key.as_ref(), name));
            tables.put_with(self.comment(Element::Table(id)), &table.name.value, LayoutNode::Map(map));
        }
        root.put_map("tables", tables);
    }

    /// Indexes and rows of a single table are written beside it.
    pub fn table_extras(&self, root: &mut Map) {
        if let [table] = self.model.tables.as_slice() {
            root.put_map("indexes", self.indexes(TableId(0)));
            put_samples(root, &table.samples, |name| key_type(table.key.as_ref(), name));
        }
    }

    pub fn table_node(&self, id: TableId) -> LayoutNode {
        let mut map = Map::new();
        self.table(&mut map, self.model.table(id));
        LayoutNode::Map(map)
    }

    fn table(&self, map: &mut Map, table: &Table) {
        if let Some(key) = &table.key {
            map.put_some("partition", key_attributes(&key.partition));
            map.put_some("sort", key_attributes(&key.sort));
        }
        if table.billing.value != Billing::OnDemand || table.key.is_some() {
            map.put("billing", name_of(&names::BILLING, table.billing.value));
        }
        put_throughput(map, &table.throughput);
        if table.class != TableClass::Standard {
            map.put("class", name_of(&names::CLASSES, table.class));
        }
        map.put_some("ttl", table.ttl.as_ref().map(|ttl| text(&ttl.value)));
        map.put_some("stream", table.stream.as_ref().map(|view| name_of(&names::STREAMS, view.value)));
        map.put_some("pitr", table.pitr.as_ref().map(|pitr| text(&pitr.value.to_string())));
        let protection = table.deletion_protection.as_ref();
        map.put_some("deletion-protection", protection.map(|one| text(&one.value.to_string())));
        if table.encryption != Encryption::AwsOwned {
            map.put("encryption", name_of(&names::ENCRYPTION, table.encryption));
        }
        map.put_names("replicas", table.replicas.iter().map(|region| region.value.as_str()));
        map.put_some("owner", table.owner.as_ref().map(|owner| text(&owner.value)));
        let mut tags = Map::new();
        table.tags.iter().for_each(|(name, value)| tags.put(name, text(value)));
        map.put_map("tags", tags);
        self.allow(map, table.span);
    }

    fn indexes(&self, id: TableId) -> Map {
        let mut indexes = Map::open();
        for (position, index) in self.model.table(id).indexes.iter().enumerate() {
            let comment = self.comment(Element::Index(id, IndexId(position)));
            indexes.put_with(comment, &index.name.value, self.index(index));
        }
        indexes
    }

    pub fn index(&self, index: &Index) -> LayoutNode {
        let mut map = Map::new();
        if index.kind == IndexKind::Local {
            map.put("type", text("local"));
        } else {
            map.put_some("partition", key_attributes(&index.key.partition));
        }
        map.put_some("sort", key_attributes(&index.key.sort));
        map.put(
            "project",
            match &index.projection.value {
                Projection::All => text("all"),
                Projection::Keys => text("keys"),
                Projection::Include(names) => LayoutNode::List(names.iter().map(|name| text(name)).collect()),
            },
        );
        put_throughput(&mut map, &index.throughput);
        map.put_some("size", index.size.as_ref().map(|size| self::size(&size.value)));
        self.allow(&mut map, index.span);
        LayoutNode::Map(map)
    }
}

fn key_type(key: Option<&KeySchema>, name: &str) -> Option<Type> {
    key?.attributes().find(|attribute| attribute.name == name).map(|found| found.kind)
}

fn key_attributes(attributes: &[KeyAttribute]) -> Option<LayoutNode> {
    if attributes.iter().any(|attribute| attribute.kind != Type::S) {
        let mut map = Map::new();
        attributes.iter().for_each(|one| map.put(&one.name, name_of(&names::KEY_TYPES, one.kind)));
        return Some(LayoutNode::Map(map));
    }
    match attributes {
        [] => None,
        [one] => Some(text(&one.name)),
        several => Some(LayoutNode::List(several.iter().map(|one| text(&one.name)).collect())),
    }
}

fn put_throughput(map: &mut Map, throughput: &Throughput) {
    map.put_some("read", throughput.read.as_ref().map(|read| capacity(&read.value)));
    map.put_some("write", throughput.write.as_ref().map(|write| capacity(&write.value)));
}

fn capacity(capacity: &Capacity) -> LayoutNode {
    let integer = |units: u64| text(&units.to_string());
    if let (Some(units), true) =
        (capacity.units, *capacity == Capacity { units: capacity.units, ..Capacity::default() })
    {
        return integer(units);
    }
    let mut map = Map::new();
    map.put_some("units", capacity.units.map(integer));
    map.put_some("min", capacity.min.map(integer));
    map.put_some("max", capacity.max.map(integer));
    map.put_some("target", capacity.target.map(|target| text(&quantity::percent(target))));
    map.put_some("scale-in", capacity.scale_in_seconds.map(|time| text(&quantity::duration(time))));
    map.put_some("scale-out", capacity.scale_out_seconds.map(|time| text(&quantity::duration(time))));
    LayoutNode::Map(map)
}

/// `1 KB`, or `{ typical: 1 KB, max: 300 KB }`.
pub fn size(size: &Size) -> LayoutNode {
    let typical = text(&quantity::size(size.typical));
    let Some(max) = size.max else { return typical };
    let mut map = Map::new();
    map.put("typical", typical);
    map.put("max", text(&quantity::size(max)));
    LayoutNode::Map(map)
}

/// A mapping if the rows have names, else a list.
pub fn put_samples(map: &mut Map, rows: &[SampleRow], kind: impl Fn(&str) -> Option<Type>) {
    if rows.is_empty() {
        return;
    }
    let row = |row: &SampleRow| {
        let mut map = Map::new();
        row.values.iter().for_each(|(name, one)| map.put(name, value::value(&one.value, kind(name))));
        LayoutNode::Map(map)
    };
    let node = if rows.iter().all(|row| row.name.is_some()) {
        let mut named = Map::open();
        for one in rows {
            named.put(one.name.as_ref().map_or("", |name| &name.value), row(one));
        }
        LayoutNode::Map(named)
    } else {
        LayoutNode::List(rows.iter().map(row).collect())
    };
    map.put("samples", node);
}
