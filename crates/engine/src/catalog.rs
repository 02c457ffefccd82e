//! The catalog: which tables there are. It lives in the store, one row a table, and is held in
//! memory as immutable snapshots, so that a request finds its table without a read.
//!
//! Changes go through one lock, are committed first and shown afterwards. A dropped table's rows are
//! cleared in the background; its space stays on record until that is done, so that a restart can
//! take it up again.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;
use store::{Consistency, Direction, Key, Partition, Position, Range, Space, Store, StoreError, WriteSet};

use crate::Caller;
use crate::table::Table;

/// One row a table, grouped by namespace.
const TABLES: Space = Space(0);
/// The number of the next space, and one row for each space that is being cleared.
const SPACES: Space = Space(1);
/// Lower numbers are the catalog's own.
const FIRST_TABLE_SPACE: u64 = 16;

pub struct Catalog {
    store: Arc<dyn Store>,
    tables: RwLock<HashMap<Caller, BTreeMap<String, Arc<LiveTable>>>>,
    changing: tokio::sync::Mutex<()>,
}

/// A table that is being served.
pub struct LiveTable {
    pub table: Table,
    /// Writers hold it shared; dropping the table takes it whole once, so that no write is under way
    /// when the rows are cleared.
    pub gate: Arc<tokio::sync::RwLock<()>>,
}

impl std::ops::Deref for LiveTable {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.table
    }
}

/// Why a table was not made.
pub enum CreateError {
    Exists,
    Store(StoreError),
}

impl Catalog {
    /// Reads the catalog. The spaces whose clearing was cut short come with it.
    pub async fn load(store: Arc<dyn Store>) -> Result<(Catalog, Vec<Space>), StoreError> {
        let mut tables: HashMap<Caller, BTreeMap<String, Arc<LiveTable>>> = HashMap::new();
        for row in rows(&*store, TABLES).await? {
            let table: Table = serde_json::from_slice(&row.1)
                .map_err(|error| StoreError::Corrupt(format!("a table of the catalog: {error}")))?;
            tables.entry(table.caller()).or_default().insert(table.name.clone(), live(table, Arc::default()));
        }
        let mut dropped = Vec::new();
        for (sort, _) in rows(&*store, SPACES).await? {
            if let Some(number) = sort.strip_prefix(b"drop:") {
                dropped.push(Space(number_of(number)?));
            }
        }
        Ok((Catalog { store, tables: RwLock::new(tables), changing: tokio::sync::Mutex::new(()) }, dropped))
    }

    pub fn find(&self, caller: &Caller, name: &str) -> Option<Arc<LiveTable>> {
        self.tables.read().get(caller)?.get(name).cloned()
    }

    /// Up to `limit` names behind `after`, in order.
    pub fn names(&self, caller: &Caller, after: Option<&str>, limit: usize) -> Vec<String> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let tables = self.tables.read();
        let Some(tables) = tables.get(caller) else { return Vec::new() };
        tables.range::<str, _>((start, Bound::Unbounded)).take(limit).map(|(name, _)| name.clone()).collect()
    }

    /// Makes a table in a space of its own.
    pub async fn create(
        &self,
        caller: &Caller,
        name: &str,
        make: impl Fn(Space) -> Table + Send + Sync,
    ) -> Result<Arc<LiveTable>, CreateError> {
        let _changing = self.changing.lock().await;
        let keys = [table_key(caller, name), next_space_key()];
        let mut made = None;
        self.store
            .update(&keys, &mut |rows| {
                made = None;
                if rows[0].is_some() {
                    return WriteSet::default();
                }
                let space = rows[1].as_deref().map_or(Ok(FIRST_TABLE_SPACE), number_of);
                let table = space.map(|space| make(Space(space)));
                let mut writes = WriteSet::default();
                if let Ok(table) = &table {
                    writes.puts.push((keys[0].clone(), encode(table)));
                    writes.puts.push((keys[1].clone(), Bytes::from((table.space().0 + 1).to_string())));
                }
                made = Some(table);
                writes
            })
            .await
            .map_err(CreateError::Store)?;
        let table = made.ok_or(CreateError::Exists)?.map_err(CreateError::Store)?;
        Ok(self.show(table, Arc::default()))
    }

    /// Replaces a table by a changed copy of itself; `None` if it is gone.
    pub async fn replace(
        &self,
        caller: &Caller,
        name: &str,
        change: impl FnOnce(&Table) -> Table,
    ) -> Result<Option<Arc<LiveTable>>, StoreError> {
        let _changing = self.changing.lock().await;
        let Some(current) = self.find(caller, name) else { return Ok(None) };
        let table = change(&current);
        let key = table_key(caller, name);
        let row = encode(&table);
        self.store
            .update(std::slice::from_ref(&key), &mut |_| WriteSet {
                puts: vec![(key.clone(), row.clone())],
                ..WriteSet::default()
            })
            .await?;
        Ok(Some(self.show(table, current.gate.clone())))
    }

    /// Drops a table; its rows remain to be cleared with [`Catalog::clear`].
    pub async fn remove(&self, caller: &Caller, name: &str) -> Result<Option<Arc<LiveTable>>, StoreError> {
        let _changing = self.changing.lock().await;
        let Some(table) = self.find(caller, name) else { return Ok(None) };
        let key = table_key(caller, name);
        self.store
            .update(std::slice::from_ref(&key), &mut |_| WriteSet {
                puts: vec![(drop_key(table.space()), Bytes::new())],
                deletes: vec![key.clone()],
                ..WriteSet::default()
            })
            .await?;
        if let Some(tables) = self.tables.write().get_mut(caller) {
            tables.remove(name);
        }
        Ok(Some(table))
    }

    /// Clears the rows of a dropped table and forgets its space.
    pub async fn clear(store: &dyn Store, space: Space) -> Result<(), StoreError> {
        store.clear(space).await?;
        let key = drop_key(space);
        store
            .update(std::slice::from_ref(&key), &mut |_| WriteSet {
                deletes: vec![key.clone()],
                ..WriteSet::default()
            })
            .await
    }

    fn show(&self, table: Table, gate: Arc<tokio::sync::RwLock<()>>) -> Arc<LiveTable> {
        let live = live(table, gate);
        self.tables.write().entry(live.caller()).or_default().insert(live.name.clone(), live.clone());
        live
    }
}

fn live(table: Table, gate: Arc<tokio::sync::RwLock<()>>) -> Arc<LiveTable> {
    Arc::new(LiveTable { table, gate })
}

/// All rows of one of the catalog's spaces. There are few: at most 2,500 tables an account.
async fn rows(store: &dyn Store, space: Space) -> Result<Vec<(Vec<u8>, Bytes)>, StoreError> {
    let mut rows = Vec::new();
    let range = Range { space, start: Bound::Unbounded, end: Bound::Unbounded };
    store
        .scan(&range, Direction::Forward, Consistency::Latest, &mut |key, value| {
            rows.push((key.sort.to_vec(), value));
            ControlFlow::Continue(())
        })
        .await?;
    Ok(rows)
}

fn table_key(caller: &Caller, name: &str) -> Key {
    let hash = blake3::hash(format!("{}/{}", caller.account, caller.region).as_bytes());
    let partition = Partition(hash.as_bytes()[..Partition::LENGTH].try_into().expect("a longer hash"));
    Key { space: TABLES, position: Position { partition, sort: name.as_bytes().to_vec() } }
}

fn next_space_key() -> Key {
    space_key(b"next".to_vec())
}

fn drop_key(space: Space) -> Key {
    space_key(format!("drop:{}", space.0).into_bytes())
}

fn space_key(sort: Vec<u8>) -> Key {
    Key { space: SPACES, position: Position { partition: Partition::FIRST, sort } }
}

fn encode(table: &Table) -> Bytes {
    Bytes::from(serde_json::to_vec(table).expect("a table has only names and numbers"))
}

fn number_of(bytes: &[u8]) -> Result<u64, StoreError> {
    std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| StoreError::Corrupt("a space's number in the catalog".into()))
}
