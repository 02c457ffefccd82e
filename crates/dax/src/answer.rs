//! Answers as they go out: an empty array for success, then what the method answers.

use std::collections::BTreeMap;
use std::net::IpAddr;

use api::{Capacity, ConsumedCapacity, ItemCollectionMetrics};
use expression::Projection;
use item::{Item, ItemRef};

use crate::attribute_list::AttributeLists;
use crate::cache::Page;
use crate::cbor::Writer;
use crate::key::KeySchema;
use crate::value;

/// The members of an answer, by their numbers on the wire.
const ITEM: i64 = 0;
const CONSUMED_CAPACITY: i64 = 1;
const ATTRIBUTES: i64 = 2;
const ITEM_COLLECTION_METRICS: i64 = 3;
const ITEMS: i64 = 7;
const COUNT: i64 = 8;
const LAST_EVALUATED_KEY: i64 = 9;
const SCANNED_COUNT: i64 = 10;

/// The role of a node that takes reads and writes.
const LEADER: i64 = 1;

/// An answer that tells success.
pub fn success() -> Writer {
    let mut writer = Writer::default();
    writer.array(0);
    writer
}

/// A table's key attributes, the partition key first.
pub fn key_schema(schema: &KeySchema, writer: &mut Writer) {
    writer.map(schema.attributes().count());
    for (name, kind) in schema.attributes() {
        writer.text(name);
        writer.text(kind.name());
    }
}

/// The one node that there is, at the address that the client reached.
pub fn endpoints(address: IpAddr, port: u16, writer: &mut Writer) {
    writer.array(1);
    writer.map(7);
    writer.int(0);
    writer.int(1);
    writer.int(1);
    writer.text(&address.to_string());
    writer.int(2);
    match address {
        IpAddr::V4(address) => writer.bytes(&address.octets()),
        IpAddr::V6(address) => writer.bytes(&address.octets()),
    }
    writer.int(3);
    writer.int(port.into());
    writer.int(4);
    writer.int(LEADER);
    writer.int(5);
    writer.text("local");
    writer.int(6);
    writer.int(1);
}

/// What an item looks like in an answer: whole, or the parts that a projection names, by their places in it.
pub fn item(
    item: ItemRef<'_>,
    projection: Option<&Projection>,
    schema: &KeySchema,
    lists: &AttributeLists,
    writer: &mut Writer,
) {
    match projection {
        None => writer.nested(|writer| lists.write_item(item, schema, writer)),
        Some(projection) => {
            let found =
                projection.paths().enumerate().filter_map(|(place, path)| Some((place, path.find(item)?)));
            writer.open_map();
            for (place, part) in found {
                writer.int(place as i64);
                value::write(part, writer);
            }
            writer.end();
        }
    }
}

/// The members of an answer that are there.
pub struct Members<'w>(&'w mut Writer);

impl<'w> Members<'w> {
    pub fn open(writer: &'w mut Writer) -> Members<'w> {
        writer.open_map();
        Members(writer)
    }

    pub fn end(self) {
        self.0.end();
    }

    fn member(&mut self, number: i64) -> &mut Writer {
        self.0.int(number);
        self.0
    }

    pub fn item(
        &mut self,
        found: ItemRef<'_>,
        projection: Option<&Projection>,
        schema: &KeySchema,
        lists: &AttributeLists,
    ) {
        item(found, projection, schema, lists, self.member(ITEM));
    }

    pub fn consumed_capacity(&mut self, capacity: Option<&ConsumedCapacity>) {
        if let Some(capacity) = capacity {
            consumed_capacity(capacity, self.member(CONSUMED_CAPACITY));
        }
    }

    /// The whole item before or after a write.
    pub fn whole_attributes(
        &mut self,
        attributes: Option<&Item>,
        schema: &KeySchema,
        lists: &AttributeLists,
    ) {
        if let Some(attributes) = attributes {
            self.member(ATTRIBUTES).nested(|writer| lists.write_item(attributes.as_ref(), schema, writer));
        }
    }

    /// Those attributes that an update changed.
    pub fn updated_attributes(&mut self, attributes: Option<&Item>, lists: &AttributeLists) {
        if let Some(attributes) = attributes {
            self.member(ATTRIBUTES).nested(|writer| lists.write_attributes(attributes.as_ref(), writer));
        }
    }

    pub fn item_collection_metrics(&mut self, metrics: Option<&ItemCollectionMetrics>, schema: &KeySchema) {
        if let Some(metrics) = metrics {
            item_collection_metrics(metrics, schema, self.member(ITEM_COLLECTION_METRICS));
        }
    }

    /// What a Query or Scan found. A page from the cache consumed nothing.
    pub fn page(
        &mut self,
        page: &Page,
        is_cached: bool,
        on_index: bool,
        projection: Option<&Projection>,
        schema: &KeySchema,
        lists: &AttributeLists,
    ) {
        if let Some(items) = &page.items {
            let writer = self.member(ITEMS);
            writer.array(items.len());
            for found in items {
                page_item(found.as_ref(), projection, schema, lists, writer);
            }
        }
        for (number, count) in [(COUNT, page.count), (SCANNED_COUNT, page.scanned_count)] {
            if let Some(count) = count {
                self.member(number).int(count.into());
            }
        }
        if let Some(key) = &page.last_evaluated_key {
            let writer = self.member(LAST_EVALUATED_KEY);
            match on_index {
                true => writer.nested(|writer| value::write_entries(key.as_ref(), writer)),
                false => writer.bytes(&schema.bytes_of(key.as_ref()).unwrap_or_default()),
            }
        }
        self.consumed_capacity(page.consumed_capacity.as_ref().filter(|_| !is_cached));
    }
}

fn page_item(
    found: ItemRef<'_>,
    projection: Option<&Projection>,
    schema: &KeySchema,
    lists: &AttributeLists,
    writer: &mut Writer,
) {
    if projection.is_none() {
        writer.array(2);
        writer.bytes(&schema.bytes_of(found).unwrap_or_default());
    }
    item(found, projection, schema, lists, writer);
}

/// The items of one table in a batch: keys and items in turn, or parts of items.
pub fn batch_items(
    items: &[Item],
    projection: Option<&Projection>,
    schema: &KeySchema,
    lists: &AttributeLists,
    writer: &mut Writer,
) {
    writer.array(if projection.is_some() { items.len() } else { 2 * items.len() });
    for found in items {
        if projection.is_none() {
            writer.bytes(&schema.bytes_of(found.as_ref()).unwrap_or_default());
        }
        item(found.as_ref(), projection, schema, lists, writer);
    }
}

/// A byte string: the table's name, units in all, then of the table and of its indexes.
pub fn consumed_capacity(capacity: &ConsumedCapacity, writer: &mut Writer) {
    let indexes = |indexes: &Option<BTreeMap<String, Capacity>>, writer: &mut Writer| match indexes {
        None => writer.null(),
        Some(indexes) => {
            writer.map(indexes.len());
            for (name, capacity) in indexes {
                writer.text(name);
                writer.float(capacity.capacity_units.unwrap_or_default());
            }
        }
    };
    writer.nested(|writer| {
        writer.text(capacity.table_name.as_deref().unwrap_or_default());
        writer.float(capacity.capacity_units.unwrap_or_default());
        match &capacity.table {
            Some(table) => writer.float(table.capacity_units.unwrap_or_default()),
            None => writer.null(),
        }
        indexes(&capacity.global_secondary_indexes, writer);
        indexes(&capacity.local_secondary_indexes, writer);
    });
}

/// The same as transactions have it: maps with a number for each member.
pub fn transaction_capacities(capacities: &[ConsumedCapacity], writer: &mut Writer) {
    let units = |capacity: &Capacity, writer: &mut Writer| {
        writer.open_map();
        let members = [capacity.capacity_units, capacity.read_capacity_units, capacity.write_capacity_units];
        for (number, units) in (1..).zip(members) {
            if let Some(units) = units {
                writer.int(number);
                writer.float(units);
            }
        }
        writer.end();
    };
    writer.array(capacities.len());
    for capacity in capacities {
        writer.open_map();
        let members = [capacity.capacity_units, capacity.read_capacity_units, capacity.write_capacity_units];
        for (number, units) in (1..).zip(members) {
            if let Some(units) = units {
                writer.int(number);
                writer.float(units);
            }
        }
        if let Some(name) = &capacity.table_name {
            writer.int(4);
            writer.text(name);
        }
        if let Some(table) = &capacity.table {
            writer.int(5);
            units(table, writer);
        }
        for (number, indexes) in
            [(6, &capacity.global_secondary_indexes), (7, &capacity.local_secondary_indexes)]
        {
            let Some(indexes) = indexes else { continue };
            writer.int(number);
            writer.map(indexes.len());
            for (name, capacity) in indexes {
                writer.text(name);
                units(capacity, writer);
            }
        }
        writer.end();
    }
}

/// A byte string: the partition key, then the bounds of the collection's size.
fn item_collection_metrics(metrics: &ItemCollectionMetrics, schema: &KeySchema, writer: &mut Writer) {
    let key = metrics.item_collection_key.as_ref().and_then(|key| key.get(&schema.partition.0));
    let range = metrics.size_estimate_range_gb.as_deref().unwrap_or_default();
    writer.nested(|writer| {
        match key {
            Some(key) => value::write(key, writer),
            None => writer.null(),
        }
        for bound in 0..2 {
            writer.float(range.get(bound).copied().unwrap_or_default());
        }
    });
}

/// Those of several tables.
pub fn table_metrics<'s>(
    tables: Option<&BTreeMap<String, Vec<ItemCollectionMetrics>>>,
    schema: impl Fn(&str) -> Option<&'s KeySchema>,
    writer: &mut Writer,
) {
    let known =
        tables.into_iter().flatten().filter_map(|(table, metrics)| Some((table, schema(table)?, metrics)));
    writer.open_map();
    for (table, schema, metrics) in known {
        writer.text(table);
        writer.array(metrics.len());
        metrics.iter().for_each(|metrics| item_collection_metrics(metrics, schema, writer));
    }
    writer.end();
}
