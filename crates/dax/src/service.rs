//! What each method does: read the request with the table's key schema, look into the caches, ask the database, write
//! the answer.
//!
//! GetItem and BatchGetItem read whole items, which cost the same, and choose the parts that a projection names from
//! those. So an item has one entry in the cache, whatever parts of it clients read.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use api::{
    BatchGetItemInput, BatchWriteItemInput, ConditionCheck, Delete, DeleteItemInput, DeleteRequest,
    DescribeTableInput, Error, ErrorKind, Get, GetItemInput, Input, KeyType, KeysAndAttributes, Put,
    PutItemInput, PutRequest, QueryInput, ReturnValue, ReturnValuesOnConditionCheckFailure,
    ScalarAttributeType, ScanInput, TransactGetItem, TransactGetItemsInput, TransactWriteItem,
    TransactWriteItemsInput, Update, UpdateItemInput, WriteRequest,
};
use bytes::Bytes;
use expression::Projection;
use host::{Environment, Namespace, Rows};
use item::{Item, Type};
use quick_cache::sync::Cache;

use crate::answer::{self, Members};
use crate::attribute_list::{self, AttributeLists};
use crate::cache::{CacheOptions, Caches, Found, ItemKey, Page, PageKey, Ticket, Writing};
use crate::cbor::{Reader, Writer};
use crate::expression::{Placeholders, projection};
use crate::key::KeySchema;
use crate::metrics::Counter;
use crate::outside::{Database, Session};
use crate::refusal::Refusal;
use crate::request::{
    Action, Method, Options, Request, SERVICE, TableKeys, TableWrites, TransactGet, TransactWrite,
};
use crate::value;

/// DynamoDB's limit of keys in one BatchGetItem. More are refused, also if some are in the cache.
const BATCH_KEYS_MAX: usize = 100;

/// How many tables' key schemas are remembered, and for how long. Clients remember them as long.
const SCHEMAS_MAX: usize = 10_000;
const SCHEMA_TTL_MS: u64 = 60_000;

/// The cache in front of a database.
pub struct Service {
    database: Arc<dyn Database>,
    environment: Arc<dyn Environment>,
    caches: Caches,
    pub(crate) lists: AttributeLists,
    schemas: Cache<(Arc<Namespace>, String), (Arc<KeySchema>, u64)>,
    pub(crate) requests: Counter,
    pub(crate) failed_requests: Counter,
}

/// A request's sender: who it is, and where it reached us.
pub struct Peer<'p> {
    pub session: &'p dyn Session,
    pub namespace: &'p Arc<Namespace>,
    pub reached: SocketAddr,
}

type Answer = Result<Writer, Refusal>;

impl Service {
    pub fn new(
        database: Arc<dyn Database>,
        rows: Arc<dyn Rows>,
        environment: Arc<dyn Environment>,
        options: CacheOptions,
    ) -> Service {
        Service {
            database,
            caches: Caches::new(options, environment.clone()),
            environment,
            lists: AttributeLists::new(rows),
            schemas: Cache::new(SCHEMAS_MAX),
            requests: Counter::default(),
            failed_requests: Counter::default(),
        }
    }

    /// What was counted since the start.
    pub fn metrics(&self) -> crate::Metrics {
        crate::Metrics {
            item_cache_hits: self.caches.item_hits.get(),
            item_cache_misses: self.caches.item_misses.get(),
            query_cache_hits: self.caches.query_hits.get(),
            query_cache_misses: self.caches.query_misses.get(),
            item_cache_bytes: self.caches.item_bytes(),
            query_cache_bytes: self.caches.query_bytes(),
            requests: self.requests.get(),
            failed_requests: self.failed_requests.get(),
            connections: 0,
        }
    }

    /// An id for an answer.
    pub(crate) fn request_id(&self) -> String {
        host::uuid(self.environment.random())
    }

    /// Answers a request. `arguments` are the bytes that `request` was read from.
    pub(crate) async fn answer(
        &self,
        peer: &Peer<'_>,
        method: Method,
        request: Request<'_>,
        arguments: &Bytes,
    ) -> Answer {
        self.requests.count();
        let answer = self.run(peer, method, request, arguments).await;
        if answer.is_err() {
            self.failed_requests.count();
        }
        answer
    }

    async fn run(&self, peer: &Peer<'_>, method: Method, request: Request<'_>, arguments: &Bytes) -> Answer {
        match request {
            // The connection itself does this.
            Request::AuthorizeConnection { .. } => Ok(answer::success()),
            Request::Endpoints => {
                let mut writer = answer::success();
                answer::endpoints(peer.reached.ip().to_canonical(), peer.reached.port(), &mut writer);
                Ok(writer)
            }
            Request::DefineKeySchema { table } => self.define_key_schema(peer, table).await,
            Request::DefineAttributeListId { names } => {
                let mut writer = answer::success();
                writer.int(self.lists.define(names).await?.into());
                Ok(writer)
            }
            Request::DefineAttributeList { id } => self.define_attribute_list(id).await,
            Request::GetItem { table, key, options } => self.get_item(peer, table, key, &options).await,
            Request::PutItem { table, key, values, options } => {
                self.put_item(peer, table, key, values, &options).await
            }
            Request::UpdateItem { table, key, options } => self.update_item(peer, table, key, &options).await,
            Request::DeleteItem { table, key, options } => self.delete_item(peer, table, key, &options).await,
            Request::Query { table, key_condition, options } => {
                let page_key = self.page_key(peer, method, arguments, &options);
                self.query(peer, table, key_condition, &options, page_key).await
            }
            Request::Scan { table, options } => {
                let page_key = self.page_key(peer, method, arguments, &options);
                self.scan(peer, table, &options, page_key).await
            }
            Request::BatchGetItem { tables, options } => self.batch_get_item(peer, &tables, &options).await,
            Request::BatchWriteItem { tables, options } => {
                self.batch_write_item(peer, &tables, &options).await
            }
            Request::TransactGetItems { gets, options } => {
                self.transact_get_items(peer, &gets, &options).await
            }
            Request::TransactWriteItems { writes, options } => {
                self.transact_write_items(peer, &writes, &options).await
            }
            Request::Methods => {
                let mut writer = answer::success();
                writer.array(Method::ALL.len());
                Method::ALL.iter().for_each(|method| writer.int(method.number()));
                Ok(writer)
            }
            Request::Services => {
                let mut writer = answer::success();
                writer.array(1);
                writer.int(SERVICE);
                Ok(writer)
            }
        }
    }

    async fn send<I>(&self, namespace: &Namespace, input: I) -> Result<I::Output, Error>
    where
        I: Input<Request = api::Request, Response = api::Response>,
    {
        let response = self.database.call(namespace, input.into_request()).await?;
        I::output(response).ok_or_else(Error::internal)
    }

    async fn define_key_schema(&self, peer: &Peer<'_>, table: &str) -> Answer {
        // The table may have been made anew.
        self.schemas.remove(&(peer.namespace.clone(), table.to_owned()));
        let schema = self.schema(peer, table).await?;
        let mut writer = answer::success();
        answer::key_schema(&schema, &mut writer);
        Ok(writer)
    }

    async fn define_attribute_list(&self, id: i64) -> Answer {
        let unknown = || Refusal::from(Error::validation(format!("The attribute list {id} is not known")));
        let id = u32::try_from(id).map_err(|_| unknown())?;
        let names = self.lists.names(id).await?;
        let mut writer = answer::success();
        writer.array(names.len());
        names.iter().for_each(|name| writer.text(name));
        Ok(writer)
    }

    async fn get_item(&self, peer: &Peer<'_>, table: &str, key: &[u8], options: &Options<'_>) -> Answer {
        peer.session.authorize("dax:GetItem")?;
        let schema = self.schema(peer, table).await?;
        let key = schema.read(key)?;
        let projection = read_projection(options.projection)?;
        let consistent_read = options.consistent_read.unwrap_or_default();
        let place = self.place(peer, table, &key);
        let found = if consistent_read { None } else { Some(self.caches.item(&place)) };
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

    async fn put_item(
        &self,
        peer: &Peer<'_>,
        table: &str,
        key: &[u8],
        values: &[u8],
        options: &Options<'_>,
    ) -> Answer {
        peer.session.authorize("dax:PutItem")?;
        let schema = self.schema(peer, table).await?;
        let key = schema.read(key)?;
        let item = attribute_list::read_item(&self.lists, &key, values).await?;
        let mut placeholders = Placeholders::default();
        let condition = options.condition.map(|tree| placeholders.condition(tree)).transpose()?;
        let input = PutItemInput {
            table_name: table.to_owned(),
            item: item.clone(),
            condition_expression: condition,
            expression_attribute_names: placeholders.names(),
            expression_attribute_values: placeholders.values(),
            return_values: options.return_values,
            return_consumed_capacity: options.return_consumed_capacity,
            return_item_collection_metrics: options.return_item_collection_metrics,
            ..PutItemInput::default()
        };
        let writing = self.caches.write(self.place(peer, table, &key));
        let output = self.checked(peer, table, self.send(peer.namespace, input).await);
        let output = settle(output, writing, |writing, _| writing.written(Some(item)))?;
        let mut writer = answer::success();
        let mut members = Members::open(&mut writer);
        members.whole_attributes(output.attributes.as_ref(), &schema, &self.lists);
        members.item_collection_metrics(output.item_collection_metrics.as_ref(), &schema);
        members.consumed_capacity(output.consumed_capacity.as_ref());
        members.end();
        Ok(writer)
    }

    async fn update_item(&self, peer: &Peer<'_>, table: &str, key: &[u8], options: &Options<'_>) -> Answer {
        peer.session.authorize("dax:UpdateItem")?;
        let schema = self.schema(peer, table).await?;
        let key = schema.read(key)?;
        let mut placeholders = Placeholders::default();
        let update = options.update.map(|tree| placeholders.update(tree)).transpose()?;
        let condition = options.condition.map(|tree| placeholders.condition(tree)).transpose()?;
        let asked = options.return_values.unwrap_or_default();
        // Who asks for nothing can be given nothing of the whole item, which the cache wants to know.
        let returned = if asked == ReturnValue::None { ReturnValue::AllNew } else { asked };
        let input = UpdateItemInput {
            table_name: table.to_owned(),
            key: key.clone(),
            update_expression: update,
            condition_expression: condition,
            expression_attribute_names: placeholders.names(),
            expression_attribute_values: placeholders.values(),
            return_values: Some(returned),
            return_consumed_capacity: options.return_consumed_capacity,
            return_item_collection_metrics: options.return_item_collection_metrics,
            ..UpdateItemInput::default()
        };
        let writing = self.caches.write(self.place(peer, table, &key));
        let output = self.checked(peer, table, self.send(peer.namespace, input).await);
        let output = settle(output, writing, |writing, output| {
            if let (ReturnValue::AllNew, Some(item)) = (returned, &output.attributes) {
                writing.written(Some(item.clone()));
            }
        })?;
        let mut writer = answer::success();
        let mut members = Members::open(&mut writer);
        let attributes = output.attributes.as_ref();
        match asked {
            ReturnValue::None => {}
            ReturnValue::AllOld | ReturnValue::AllNew => {
                members.whole_attributes(attributes, &schema, &self.lists);
            }
            ReturnValue::UpdatedOld | ReturnValue::UpdatedNew => {
                members.updated_attributes(attributes, &self.lists)
            }
        }
        members.item_collection_metrics(output.item_collection_metrics.as_ref(), &schema);
        members.consumed_capacity(output.consumed_capacity.as_ref());
        members.end();
        Ok(writer)
    }

    async fn delete_item(&self, peer: &Peer<'_>, table: &str, key: &[u8], options: &Options<'_>) -> Answer {
        peer.session.authorize("dax:DeleteItem")?;
        let schema = self.schema(peer, table).await?;
        let key = schema.read(key)?;
        let mut placeholders = Placeholders::default();
        let condition = options.condition.map(|tree| placeholders.condition(tree)).transpose()?;
        let input = DeleteItemInput {
            table_name: table.to_owned(),
            key: key.clone(),
            condition_expression: condition,
            expression_attribute_names: placeholders.names(),
            expression_attribute_values: placeholders.values(),
            return_values: options.return_values,
            return_consumed_capacity: options.return_consumed_capacity,
            return_item_collection_metrics: options.return_item_collection_metrics,
            ..DeleteItemInput::default()
        };
        let writing = self.caches.write(self.place(peer, table, &key));
        let output = self.checked(peer, table, self.send(peer.namespace, input).await);
        let output = settle(output, writing, |writing, _| writing.written(None))?;
        let mut writer = answer::success();
        let mut members = Members::open(&mut writer);
        members.whole_attributes(output.attributes.as_ref(), &schema, &self.lists);
        members.item_collection_metrics(output.item_collection_metrics.as_ref(), &schema);
        members.consumed_capacity(output.consumed_capacity.as_ref());
        members.end();
        Ok(writer)
    }

    async fn query(
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
        if let Some(page) = page_key.as_ref().and_then(|key| self.caches.page(key)) {
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

    async fn scan(
        &self,
        peer: &Peer<'_>,
        table: &str,
        options: &Options<'_>,
        page_key: Option<PageKey>,
    ) -> Answer {
        peer.session.authorize("dax:Scan")?;
        let schema = self.schema(peer, table).await?;
        let projection = read_projection(options.projection)?;
        if let Some(page) = page_key.as_ref().and_then(|key| self.caches.page(key)) {
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

    async fn batch_get_item(
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
                match self.caches.item(&place) {
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

    async fn batch_write_item(
        &self,
        peer: &Peer<'_>,
        tables: &[TableWrites<'_>],
        options: &Options<'_>,
    ) -> Answer {
        peer.session.authorize("dax:BatchWriteItem")?;
        let mut schemas = BTreeMap::new();
        let mut request_items: BTreeMap<String, Vec<WriteRequest>> = BTreeMap::new();
        let mut written: Vec<(&str, Item, Option<Item>)> = Vec::new();
        for asked in tables {
            let schema = self.schema(peer, asked.table).await?;
            let requests = request_items.entry(asked.table.to_owned()).or_default();
            for (key, values) in &asked.writes {
                let key = schema.read(key)?;
                let item = match values {
                    Some(values) => Some(attribute_list::read_item(&self.lists, &key, values).await?),
                    None => None,
                };
                let delete = item.is_none().then(|| DeleteRequest { key: key.clone() });
                let put = item.clone().map(|item| PutRequest { item });
                requests.push(WriteRequest { delete_request: delete, put_request: put });
                written.push((asked.table, key, item));
            }
            schemas.insert(asked.table, schema);
        }
        let input = BatchWriteItemInput {
            request_items,
            return_consumed_capacity: options.return_consumed_capacity,
            return_item_collection_metrics: options.return_item_collection_metrics,
            ..BatchWriteItemInput::default()
        };
        let writing: Vec<Writing<'_>> =
            written.iter().map(|(table, key, _)| self.caches.write(self.place(peer, table, key))).collect();
        let output = match self.send(peer.namespace, input).await {
            Ok(output) => output,
            Err(error) => {
                if is_certain(error.kind) {
                    writing.into_iter().for_each(Writing::refused);
                }
                return Err(error.into());
            }
        };
        let unprocessed = output.unprocessed_items.unwrap_or_default();
        for (writing, (table, key, item)) in writing.into_iter().zip(written) {
            let schema = &schemas[table];
            let is_same = |request: &WriteRequest| match (&request.put_request, &request.delete_request) {
                (Some(put), _) => schema.key_of(put.item.as_ref()) == key,
                (None, Some(delete)) => delete.key == key,
                (None, None) => false,
            };
            match unprocessed.get(table).is_some_and(|requests| requests.iter().any(is_same)) {
                true => writing.refused(),
                false => writing.written(item),
            }
        }

        let mut writer = answer::success();
        writer.map(unprocessed.len());
        for (table, requests) in &unprocessed {
            writer.text(table);
            writer.array(2 * requests.len());
            let schema = &schemas[table.as_str()];
            for request in requests {
                let put = request.put_request.as_ref().map(|put| &put.item);
                let key = put.or(request.delete_request.as_ref().map(|delete| &delete.key));
                let key = key.and_then(|item| schema.bytes_of(item.as_ref()));
                writer.bytes(&key.unwrap_or_default());
                match put {
                    Some(item) => {
                        writer.nested(|writer| self.lists.write_item(item.as_ref(), schema, writer))
                    }
                    None => writer.null(),
                }
            }
        }
        let capacities = output.consumed_capacity.unwrap_or_default();
        writer.array(capacities.len());
        capacities.iter().for_each(|capacity| answer::consumed_capacity(capacity, &mut writer));
        let schema = |table: &str| schemas.get(table).map(|schema| &**schema);
        answer::table_metrics(output.item_collection_metrics.as_ref(), schema, &mut writer);
        Ok(writer)
    }

    async fn transact_get_items(
        &self,
        peer: &Peer<'_>,
        gets: &[TransactGet<'_>],
        options: &Options<'_>,
    ) -> Answer {
        peer.session.authorize("dax:GetItem")?;
        let mut schemas = Vec::new();
        let mut projections = Vec::new();
        let mut transact_items = Vec::new();
        for asked in gets {
            let schema = self.schema(peer, asked.table).await?;
            projections.push(read_projection(asked.projection)?);
            let key = schema.read(asked.key)?;
            let get = Get { table_name: asked.table.to_owned(), key, ..Get::default() };
            transact_items.push(TransactGetItem { get });
            schemas.push(schema);
        }
        let input = TransactGetItemsInput {
            transact_items,
            return_consumed_capacity: options.return_consumed_capacity,
            ..TransactGetItemsInput::default()
        };
        let output = match self.send(peer.namespace, input).await {
            Ok(output) => output,
            Err(error) => return Err(Refusal::Transaction(Box::new((error, schemas)))),
        };
        let mut writer = answer::success();
        writer.array(2);
        let responses = output.responses.unwrap_or_default();
        writer.array(responses.len());
        for ((response, schema), projection) in responses.iter().zip(&schemas).zip(&projections) {
            match &response.item {
                Some(item) => {
                    answer::item(item.as_ref(), projection.as_ref(), schema, &self.lists, &mut writer)
                }
                None => writer.null(),
            }
        }
        answer::transaction_capacities(&output.consumed_capacity.unwrap_or_default(), &mut writer);
        Ok(writer)
    }

    async fn transact_write_items(
        &self,
        peer: &Peer<'_>,
        writes: &[TransactWrite<'_>],
        options: &Options<'_>,
    ) -> Answer {
        let mut schemas = Vec::new();
        let mut transact_items = Vec::new();
        let mut written: Vec<(ItemKey, Action, Option<Item>)> = Vec::new();
        for asked in writes {
            peer.session.authorize(match asked.action {
                Action::Put => "dax:PutItem",
                Action::Update => "dax:UpdateItem",
                Action::Delete => "dax:DeleteItem",
                Action::ConditionCheck => "dax:ConditionCheckItem",
            })?;
            let schema = self.schema(peer, asked.table).await?;
            let key = schema.read(asked.key)?;
            let item = match (asked.action, asked.values) {
                (Action::Put, Some(values)) => {
                    Some(attribute_list::read_item(&self.lists, &key, values).await?)
                }
                (Action::Put, None) => Some(key.clone()),
                _ => None,
            };
            written.push((self.place(peer, asked.table, &key), asked.action, item.clone()));
            transact_items.push(transact_write_item(asked, key, item)?);
            schemas.push(schema);
        }
        let input = TransactWriteItemsInput {
            transact_items,
            client_request_token: options.client_request_token.map(str::to_owned),
            return_consumed_capacity: options.return_consumed_capacity,
            return_item_collection_metrics: options.return_item_collection_metrics,
            ..TransactWriteItemsInput::default()
        };
        let changes = written.into_iter().filter(|(_, action, _)| *action != Action::ConditionCheck);
        let writing: Vec<(Writing<'_>, Action, Option<Item>)> =
            changes.map(|(place, action, item)| (self.caches.write(place), action, item)).collect();
        let output = match self.send(peer.namespace, input).await {
            Ok(output) => output,
            Err(error) => {
                if is_certain(error.kind) {
                    writing.into_iter().for_each(|(writing, ..)| writing.refused());
                }
                return Err(Refusal::Transaction(Box::new((error, schemas))));
            }
        };
        // A request with a token that was used before wrote nothing now, and what it wrote then may be changed since.
        let may_be_repeated = options.client_request_token.is_some();
        for (writing, action, item) in writing {
            match action {
                Action::Put | Action::Delete if !may_be_repeated => writing.written(item),
                // What an update made of its item isn't known here: the next read finds out.
                _ => drop(writing),
            }
        }
        let mut writer = answer::success();
        writer.array(3);
        writer.null();
        answer::transaction_capacities(&output.consumed_capacity.unwrap_or_default(), &mut writer);
        let schema = |table: &str| {
            let place = writes.iter().position(|write| write.table == table)?;
            schemas.get(place).map(|schema| &**schema)
        };
        answer::table_metrics(output.item_collection_metrics.as_ref(), schema, &mut writer);
        Ok(writer)
    }

    fn place(&self, peer: &Peer<'_>, table: &str, key: &Item) -> ItemKey {
        ItemKey { namespace: peer.namespace.clone(), table: table.into(), key: key.clone() }
    }

    /// The place of a page in the cache; none for a consistent read.
    fn page_key(
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

    /// The key schema of a table.
    async fn schema(&self, peer: &Peer<'_>, table: &str) -> Result<Arc<KeySchema>, Error> {
        let place = (peer.namespace.clone(), table.to_owned());
        let now_ms = self.environment.now_ms();
        if let Some((schema, _)) = self.schemas.get(&place).filter(|(_, until_ms)| now_ms < *until_ms) {
            return Ok(schema);
        }
        let input = DescribeTableInput { table_name: table.to_owned() };
        let described = self.send(peer.namespace, input).await?.table.ok_or_else(Error::internal)?;
        let kind = |name: &str| {
            let mut definitions = described.attribute_definitions.iter().flatten();
            let definition = definitions.find(|definition| definition.attribute_name == name)?;
            Some(match definition.attribute_type {
                ScalarAttributeType::S => Type::S,
                ScalarAttributeType::N => Type::N,
                ScalarAttributeType::B => Type::B,
            })
        };
        let key = |wanted: KeyType| {
            let mut elements = described.key_schema.iter().flatten();
            let element = elements.find(|element| element.key_type == wanted)?;
            Some((element.attribute_name.clone(), kind(&element.attribute_name)?))
        };
        let partition = key(KeyType::Hash).ok_or_else(Error::internal)?;
        let schema = Arc::new(KeySchema { partition, sort: key(KeyType::Range) });
        self.schemas.insert(place, (schema.clone(), now_ms + SCHEMA_TTL_MS));
        Ok(schema)
    }

    /// Forgets the key schema of a table that is gone, or has another schema now.
    fn checked<T>(&self, peer: &Peer<'_>, table: &str, result: Result<T, Error>) -> Result<T, Error> {
        result.inspect_err(|error| {
            if matches!(error.kind, ErrorKind::ResourceNotFound | ErrorKind::Validation) {
                self.schemas.remove(&(peer.namespace.clone(), table.to_owned()));
            }
        })
    }
}

/// Tells the cache how a write ended.
fn settle<'c, T>(
    output: Result<T, Error>,
    writing: Writing<'c>,
    written: impl FnOnce(Writing<'c>, &T),
) -> Result<T, Error> {
    match output {
        Ok(output) => {
            written(writing, &output);
            Ok(output)
        }
        Err(error) => {
            if is_certain(error.kind) {
                writing.refused();
            }
            Err(error)
        }
    }
}

/// Whether an error says that nothing was written.
fn is_certain(kind: ErrorKind) -> bool {
    !matches!(kind, ErrorKind::InternalServerError | ErrorKind::ServiceUnavailable)
}

fn read_projection(tree: Option<&[u8]>) -> Result<Option<Projection>, Refusal> {
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

fn transact_write_item(
    asked: &TransactWrite<'_>,
    key: Item,
    item: Option<Item>,
) -> Result<TransactWriteItem, Refusal> {
    let table_name = asked.table.to_owned();
    let mut placeholders = Placeholders::default();
    let update_expression = asked.update.map(|tree| placeholders.update(tree)).transpose()?;
    let condition_expression = asked.condition.map(|tree| placeholders.condition(tree)).transpose()?;
    let expression_attribute_names = placeholders.names();
    let expression_attribute_values = placeholders.values();
    let return_values_on_condition_check_failure =
        asked.returns_old_on_failure.then_some(ReturnValuesOnConditionCheckFailure::AllOld);
    let mut write = TransactWriteItem::default();
    match asked.action {
        Action::Put => {
            write.put = Some(Put {
                item: item.unwrap_or(key),
                condition_expression,
                expression_attribute_names,
                expression_attribute_values,
                return_values_on_condition_check_failure,
                table_name,
            });
        }
        Action::Update => {
            write.update = Some(Update {
                key,
                condition_expression,
                update_expression: update_expression.unwrap_or_default(),
                expression_attribute_names,
                expression_attribute_values,
                return_values_on_condition_check_failure,
                table_name,
            });
        }
        Action::Delete => {
            write.delete = Some(Delete {
                key,
                condition_expression,
                expression_attribute_names,
                expression_attribute_values,
                return_values_on_condition_check_failure,
                table_name,
            });
        }
        Action::ConditionCheck => {
            write.condition_check = Some(ConditionCheck {
                key,
                condition_expression: condition_expression.unwrap_or_default(),
                expression_attribute_names,
                expression_attribute_values,
                return_values_on_condition_check_failure,
                table_name,
            });
        }
    }
    Ok(write)
}
