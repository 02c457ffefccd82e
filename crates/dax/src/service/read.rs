//! GetItem, BatchGetItem, Query and Scan: what is in the caches is not asked of the database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{BatchGetItemInput, Error, GetItemInput, KeysAndAttributes, QueryInput, ScanInput};
use bytes::Bytes;
use expression::Projection;
use item::Item;

use super::{Answer, Peer, Service};
use crate::answer::{self, Members};
use crate::cache::{Found, ItemKey, Page, PageKey, Ticket};
use crate::cbor::{Reader, Writer};
use crate::expression::{Placeholders, projection};
use crate::key::KeySchema;
use crate::refusal::Refusal;
use crate::request::{Method, Options, TableKeys};
use crate::value;

/// DynamoDB's limit of keys in one BatchGetItem. More are refused, also if some are in the cache.
const BATCH_KEYS_MAX: usize = 100;

impl Service {
    pub(super) async fn get_item(
        &self,
        peer: &Peer<'_>,
        table: &str,
        key: &[u8],
        options: &Options<'_>,
    ) -> Answer {
        peer.session.authorize("dax:GetItem")?;
        let schema = self.schema(peer, table).await?;
        let key = schema.read(key)?;
        let projection = read_projection(options.projection)?;
        let consistent_read = options.consistent_read.unwrap_or_default();
        let place = self.place(peer, table, &key);
        let found = if consistent_read { None } else { Some(self.find_item(peer, &place)) };
        let (item, capacity) = match found {
            Some(Found::Hit(item)) => (item, None),
            other => {
                let input = GetItemInput {
                    table_name: table.to_owned(),
                    key,
                    consistent_read: Some(consistent_read),
                    return_consumed_capacity: options.return_consumed_capacity,
                    ..GetItemInput::default()
                };
                let output = self.checked(peer, table, self.send(peer.namespace, input).await)?;
                if let Some(Found::Miss(ticket)) = other {
                    self.caches.keep_read(place, &ticket, output.item.clone());
                }
                (output.item, output.consumed_capacity)
            }
        };
        let mut writer = answer::success();
        let mut members = Members::open(&mut writer);
        if let Some(item) = &item {
            members.item(item.as_ref(), projection.as_ref(), &schema, &self.lists);
        }
        members.consumed_capacity(capacity.as_ref());
        members.end();
        Ok(writer)
    }

    pub(super) async fn query(
        &self,
        peer: &Peer<'_>,
        table: &str,
        key_condition: Option<&[u8]>,
        options: &Options<'_>,
        page_key: Option<PageKey>,
    ) -> Answer {
        peer.session.authorize("dax:Query")?;
        let schema = self.schema(peer, table).await?;
        let projection = read_projection(options.projection)?;
        if let Some(page) = self.find_page(peer, page_key.as_ref()) {
            return Ok(self.page(&page, true, options, projection.as_ref(), &schema));
        }
        let mut placeholders = Placeholders::default();
        let key_condition = key_condition.map(|tree| placeholders.condition(tree)).transpose()?;
        let filter = options.filter.map(|tree| placeholders.condition(tree)).transpose()?;
        let projected =
            projection.as_ref().map(|projection| placeholders.attributes(projection.top_level_names()));
        let input = QueryInput {
            table_name: table.to_owned(),
            index_name: options.index.map(str::to_owned),
            key_condition_expression: key_condition,
            filter_expression: filter,
            projection_expression: projected,
            expression_attribute_names: placeholders.names(),
            expression_attribute_values: placeholders.values(),
            exclusive_start_key: start_key(options, &schema)?,
            consistent_read: options.consistent_read,
            limit: options.limit,
            scan_index_forward: options.scan_index_forward,
            select: options.select,
            return_consumed_capacity: options.return_consumed_capacity,
            ..QueryInput::default()
        };
        let output = self.checked(peer, table, self.send(peer.namespace, input).await)?;
        let page = Arc::new(Page {
            items: output.items,
            count: output.count,
            scanned_count: output.scanned_count,
            last_evaluated_key: output.last_evaluated_key,
            consumed_capacity: output.consumed_capacity,
        });
        if let Some(key) = page_key {
            self.caches.keep_page(key, page.clone());
        }
        Ok(self.page(&page, false, options, projection.as_ref(), &schema))
    }

    pub(super) async fn scan(
        &self,
        peer: &Peer<'_>,
        table: &str,
        options: &Options<'_>,
        page_key: Option<PageKey>,
    ) -> Answer {
        peer.session.authorize("dax:Scan")?;
        let schema = self.schema(peer, table).await?;
        let projection = read_projection(options.projection)?;
        if let Some(page) = self.find_page(peer, page_key.as_ref()) {
            return Ok(self.page(&page, true, options, projection.as_ref(), &schema));
        }
        let mut placeholders = Placeholders::default();
        let filter = options.filter.map(|tree| placeholders.condition(tree)).transpose()?;
        let projected =
            projection.as_ref().map(|projection| placeholders.attributes(projection.top_level_names()));
        let input = ScanInput {
            table_name: table.to_owned(),
            index_name: options.index.map(str::to_owned),
            filter_expression: filter,
            projection_expression: projected,
            expression_attribute_names: placeholders.names(),
            expression_attribute_values: placeholders.values(),
            exclusive_start_key: start_key(options, &schema)?,
            consistent_read: options.consistent_read,
            limit: options.limit,
            segment: options.segment,
            total_segments: options.total_segments,
            select: options.select,
            return_consumed_capacity: options.return_consumed_capacity,
            ..ScanInput::default()
        };
        let output = self.checked(peer, table, self.send(peer.namespace, input).await)?;
        let page = Arc::new(Page {
            items: output.items,
            count: output.count,
            scanned_count: output.scanned_count,
            last_evaluated_key: output.last_evaluated_key,
            consumed_capacity: output.consumed_capacity,
        });
        if let Some(key) = page_key {
            self.caches.keep_page(key, page.clone());
        }
        Ok(self.page(&page, false, options, projection.as_ref(), &schema))
    }

    fn page(
        &self,
        page: &Page,
        is_cached: bool,
        options: &Options<'_>,
        projection: Option<&Projection>,
        schema: &KeySchema,
    ) -> Writer {
        let mut writer = answer::success();
        let mut members = Members::open(&mut writer);
        members.page(page, is_cached, options.index.is_some(), projection, schema, &self.lists);
        members.end();
        writer
    }

    pub(super) async fn batch_get_item(
        &self,
        peer: &Peer<'_>,
        tables: &[TableKeys<'_>],
        options: &Options<'_>,
    ) -> Answer {
        peer.session.authorize("dax:BatchGetItem")?;
        let mut schemas = BTreeMap::new();
        let mut projections = BTreeMap::new();
        let mut keys: BTreeMap<&str, (bool, Vec<Item>)> = BTreeMap::new();
        for asked in tables {
            let schema = self.schema(peer, asked.table).await?;
            let of_table = asked.keys.iter().map(|key| schema.read(key)).collect::<Result<Vec<_>, _>>()?;
            keys.insert(asked.table, (asked.consistent_read, of_table));
            schemas.insert(asked.table, schema);
            if let Some(projection) = read_projection(asked.projection)? {
                projections.insert(asked.table, projection);
            }
        }
        // What is going to be refused is refused for all its keys.
        let is_refused = keys.values().map(|(_, keys)| keys.len()).sum::<usize>() > BATCH_KEYS_MAX
            || keys.values().any(|(_, keys)| {
                let distinct: BTreeSet<Bytes> = keys.iter().map(|key| key.clone().into_stored()).collect();
                keys.is_empty() || distinct.len() < keys.len()
            });
        let mut found: BTreeMap<&str, Vec<Item>> = BTreeMap::new();
        let mut missing: Vec<(&str, ItemKey, Ticket)> = Vec::new();
        let mut request_items = BTreeMap::new();
        for (table, (consistent_read, keys)) in keys {
            found.insert(table, Vec::new());
            let mut asked = Vec::new();
            for key in keys {
                if consistent_read || is_refused {
                    asked.push(key);
                    continue;
                }
                let place = self.place(peer, table, &key);
                match self.find_item(peer, &place) {
                    Found::Hit(item) => found.entry(table).or_default().extend(item),
                    Found::Miss(ticket) => {
                        missing.push((table, place, ticket));
                        asked.push(key);
                    }
                }
            }
            if !asked.is_empty() || is_refused {
                let of_table = KeysAndAttributes {
                    keys: asked,
                    consistent_read: Some(consistent_read),
                    ..KeysAndAttributes::default()
                };
                request_items.insert(table.to_owned(), of_table);
            }
        }
        let output = if request_items.is_empty() && !tables.is_empty() {
            api::BatchGetItemOutput::default()
        } else {
            let input = BatchGetItemInput {
                request_items,
                return_consumed_capacity: options.return_consumed_capacity,
                ..BatchGetItemInput::default()
            };
            self.send(peer.namespace, input).await?
        };
        let responses = output.responses.unwrap_or_default();
        let unprocessed = output.unprocessed_keys.unwrap_or_default();
        for (table, place, ticket) in missing {
            let is_unprocessed = unprocessed.get(table).is_some_and(|keys| keys.keys.contains(&place.key));
            if !is_unprocessed {
                let schema = &schemas[table];
                let items = responses.get(table).into_iter().flatten();
                let item = items.into_iter().find(|item| schema.key_of(item.as_ref()) == place.key);
                self.caches.keep_read(place, &ticket, item.cloned());
            }
        }
        for (table, items) in &mut found {
            items.extend(responses.get(*table).into_iter().flatten().cloned());
        }

        let mut writer = answer::success();
        writer.array(2);
        writer.map(found.len());
        for (table, items) in &found {
            writer.text(table);
            answer::batch_items(items, projections.get(table), &schemas[table], &self.lists, &mut writer);
        }
        writer.map(unprocessed.len());
        for (table, keys) in &unprocessed {
            writer.text(table);
            writer.array(keys.keys.len());
            let bytes =
                |key: &Item| schemas.get(table.as_str()).and_then(|schema| schema.bytes_of(key.as_ref()));
            keys.keys.iter().for_each(|key| writer.bytes(&bytes(key).unwrap_or_default()));
        }
        let capacities = output.consumed_capacity.unwrap_or_default();
        writer.array(capacities.len());
        capacities.iter().for_each(|capacity| answer::consumed_capacity(capacity, &mut writer));
        Ok(writer)
    }

    /// Looks for an item in the cache.
    fn find_item(&self, peer: &Peer<'_>, place: &ItemKey) -> Found {
        let found = self.caches.item(place);
        match &found {
            Found::Hit(_) => peer.tally.item_hits.count(),
            Found::Miss(_) => peer.tally.item_misses.count(),
        }
        found
    }

    /// Looks for a page in the cache, if it may be there.
    fn find_page(&self, peer: &Peer<'_>, key: Option<&PageKey>) -> Option<Arc<Page>> {
        let found = self.caches.page(key?);
        match &found {
            Some(_) => peer.tally.page_hits.count(),
            None => peer.tally.page_misses.count(),
        }
        found
    }

    /// The place of a page in the cache; none for a consistent read.
    pub(super) fn page_key(
        &self,
        peer: &Peer<'_>,
        method: Method,
        arguments: &Bytes,
        options: &Options<'_>,
    ) -> Option<PageKey> {
        let is_cached = !options.consistent_read.unwrap_or_default();
        is_cached.then(|| PageKey {
            namespace: peer.namespace.clone(),
            method: method.number(),
            // A copy: the buffer that a request came in may be larger.
            request: Bytes::copy_from_slice(arguments),
        })
    }
}

pub(super) fn read_projection(tree: Option<&[u8]>) -> Result<Option<Projection>, Refusal> {
    let Some(tree) = tree else { return Ok(None) };
    let projection = projection(tree)?.map_err(|error| Error::validation(error.to_string()))?;
    Ok(Some(projection))
}

/// A key in the table's bytes, or on an index a map of names and values.
fn start_key(options: &Options<'_>, schema: &KeySchema) -> Result<Option<Item>, Refusal> {
    let Some(bytes) = options.exclusive_start_key else { return Ok(None) };
    Ok(Some(match options.index {
        Some(_) => value::read_entries(&mut Reader(bytes))?,
        None => schema.read(bytes)?,
    }))
}
