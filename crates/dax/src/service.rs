//! What each method does: read the request with the table's key schema, look into the caches, ask the database, write
//! the answer. Reads, writes and transactions have a file each.
//!
//! GetItem and BatchGetItem read whole items, which cost the same, and choose the parts that a projection names from
//! those. So an item has one entry in the cache, whatever parts of it clients read.

mod read;
mod transaction;
mod write;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::{DescribeTableInput, Error, ErrorKind, Input, KeyType, ScalarAttributeType};
use bytes::Bytes;
use host::{Environment, Namespace, Rows};
use item::{Item, Type};
use quick_cache::sync::Cache;

use crate::answer;
use crate::attribute_list::AttributeLists;
use crate::cache::{CacheOptions, Caches, ItemKey};
use crate::cbor::Writer;
use crate::key::KeySchema;
use crate::metrics::Counter;
use crate::observed::Tally;
use crate::outside::{Database, Session};
use crate::refusal::Refusal;
use crate::request::{Method, Request, SERVICE};

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
    /// How many evicted bytes are in the metrics already.
    evicted_reported: AtomicU64,
}

/// A request's sender: who it is, and where it reached us.
pub struct Peer<'p> {
    pub session: &'p dyn Session,
    pub namespace: &'p Arc<Namespace>,
    pub reached: SocketAddr,
    pub tally: &'p Tally,
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
            lists: AttributeLists::new(rows, environment.clone()),
            environment,
            schemas: Cache::new(SCHEMAS_MAX),
            requests: Counter::default(),
            failed_requests: Counter::default(),
            evicted_reported: AtomicU64::new(0),
        }
    }

    /// What had to leave the caches since this was last called.
    pub(crate) fn take_evicted_bytes(&self) -> u64 {
        let all = self.caches.evicted_bytes.get();
        all.saturating_sub(self.evicted_reported.swap(all, Ordering::Relaxed))
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
            evicted_bytes: self.caches.evicted_bytes.get(),
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
        // The table may have been deleted and created again.
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

    fn place(&self, peer: &Peer<'_>, table: &str, key: &Item) -> ItemKey {
        ItemKey { namespace: peer.namespace.clone(), table: table.into(), key: key.clone() }
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
