//! The catalog: which tables there are. It lives in the store, one row a table, and is held in
//! memory as immutable snapshots, so that a request finds its table without a read.
//!
//! Changes go through one lock, are committed first and shown afterwards. A dropped table's rows are
//! cleared in the background; its space stays on record until that is done, so that a restart can
//! take it up again.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::RwLock;
use store::{Consistency, Direction, Key, Partition, Position, Range, Space, Store, StoreError, WriteSet};

use crate::Caller;
use crate::admission::Admission;
use crate::sizes::{Size, Sizes, Tally};
use crate::table::Table;

/// One row a table, grouped by namespace.
const TABLES: Space = Space(0);
/// The number of the next space, and one row for each space that is being cleared. While the database is
/// closed, the size of each space too.
const SPACES: Space = Space(1);
/// Sizes kept or taken out in one commit: 26 a table (5 local and 20 global indexes), so a hundred tables
/// are 3 commits.
const SIZES_A_COMMIT: usize = 1000;
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
    /// Writers hold it shared. Who has changed what writes must do (dropped the table, made an index)
    /// takes it whole once: after that no write goes by the old table.
    pub gate: Arc<tokio::sync::RwLock<()>>,
    /// How much the table and its indexes hold.
    pub sizes: Sizes,
    /// What its throughput has room for, if that is provisioned.
    pub admission: Option<Admission>,
    /// Whether another table, or none, now stands in its place.
    retired: AtomicBool,
}

impl LiveTable {
    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }
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
        let sizes = take_sizes(&*store).await?;
        let tally = |space| sizes.get(&space).map_or_else(Tally::uncertain, |size| Tally::certain(*size));
        for row in rows(&*store, TABLES).await? {
            let table: Table = serde_json::from_slice(&row.1)
                .map_err(|error| StoreError::Corrupt(format!("a table of the catalog: {error}")))?;
            let live = live(table, None, tally);
            tables.entry(live.caller()).or_default().insert(live.name.clone(), live);
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

    /// What has become of a table: the same table as it now is, unless it was dropped.
    pub fn successor(&self, table: &LiveTable) -> Option<Arc<LiveTable>> {
        self.find(&table.caller(), &table.name).filter(|successor| successor.id == table.id)
    }

    /// Up to `limit` names behind `after`, in order.
    pub fn names(&self, caller: &Caller, after: Option<&str>, limit: usize) -> Vec<String> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let tables = self.tables.read();
        let Some(tables) = tables.get(caller) else { return Vec::new() };
        tables.range::<str, _>((start, Bound::Unbounded)).take(limit).map(|(name, _)| name.clone()).collect()
    }

    /// Makes a table, given the first of the spaces that it may use.
    pub async fn create(
        self: &Arc<Catalog>,
        caller: &Caller,
        name: &str,
        make: impl Fn(Space) -> Table + Send + Sync + 'static,
    ) -> Result<Arc<LiveTable>, CreateError> {
        let (catalog, key) = (self.clone(), table_key(caller, name));
        let create = async move {
            let _changing = catalog.changing.lock().await;
            let keys = [key, next_space_key()];
            let mut made = None;
            let mut decide = |rows: &[Option<Bytes>]| {
                made = None;
                if rows[0].is_some() {
                    return WriteSet::default();
                }
                let first = rows[1].as_deref().map_or(Ok(FIRST_TABLE_SPACE), number_of);
                let table = first.map(|first| make(Space(first)));
                let writes = table.as_ref().map_or_else(
                    |_| WriteSet::default(),
                    |table| WriteSet {
                        puts: vec![
                            (keys[0].clone(), encode(table)),
                            (keys[1].clone(), encode_number(after(table))),
                        ],
                        ..WriteSet::default()
                    },
                );
                made = Some(table);
                writes
            };
            catalog.store.update(&keys, &mut decide).await.map_err(CreateError::Store)?;
            let table = made.ok_or(CreateError::Exists)?.map_err(CreateError::Store)?;
            Ok(catalog.show(live(table, None, |_| Tally::certain(Size::default()))))
        };
        unbroken(create).await.map_err(CreateError::Store)?
    }

    /// Replaces a table by a changed copy of itself; `None` if it is gone. `change` is given a space that
    /// no table has used.
    pub async fn replace<E: Send + 'static>(
        self: &Arc<Catalog>,
        caller: &Caller,
        name: &str,
        change: impl Fn(&Table, Space) -> Result<Table, E> + Send + Sync + 'static,
    ) -> Result<Option<Result<Arc<LiveTable>, E>>, StoreError> {
        let (catalog, caller, name) = (self.clone(), caller.clone(), name.to_owned());
        let replace = async move {
            let _changing = catalog.changing.lock().await;
            let Some(current) = catalog.find(&caller, &name) else { return Ok(None) };
            let keys = [table_key(&caller, &name), next_space_key()];
            let mut changed = None;
            let mut decide = |rows: &[Option<Bytes>]| {
                let next = rows[1].as_deref().map_or(Ok(FIRST_TABLE_SPACE), number_of);
                let table = next.map(|next| change(&current, Space(next)).map(|table| (table, next)));
                let mut writes = WriteSet::default();
                if let Ok(Ok((table, next))) = &table {
                    writes.puts.push((keys[0].clone(), encode(table)));
                    writes.puts.push((keys[1].clone(), encode_number(after(table).max(*next))));
                    // Spaces that the table no longer has are to be cleared.
                    let kept: Vec<Space> = table.spaces().collect();
                    let dropped = current.spaces().filter(|space| !kept.contains(space));
                    writes.puts.extend(dropped.map(|space| (drop_key(space), Bytes::new())));
                }
                changed = Some(table);
                writes
            };
            catalog.store.update(&keys, &mut decide).await?;
            let table = changed.expect("the store has called")?;
            let tally = |space| current.sizes.get(space).cloned().unwrap_or_else(Tally::uncertain);
            Ok(Some(table.map(|(table, _)| catalog.show(live(table, Some(&current), tally)))))
        };
        unbroken(replace).await?
    }

    /// Drops a table; its rows remain to be cleared with [`Catalog::clear`].
    pub async fn remove(
        self: &Arc<Catalog>,
        caller: &Caller,
        name: &str,
    ) -> Result<Option<Arc<LiveTable>>, StoreError> {
        let (catalog, caller, name) = (self.clone(), caller.clone(), name.to_owned());
        let remove = async move {
            let _changing = catalog.changing.lock().await;
            let Some(table) = catalog.find(&caller, &name) else { return Ok(None) };
            let key = table_key(&caller, &name);
            let mut decide = |_: &[Option<Bytes>]| WriteSet {
                puts: table.spaces().map(|space| (drop_key(space), Bytes::new())).collect(),
                deletes: vec![key.clone()],
                ..WriteSet::default()
            };
            catalog.store.update(std::slice::from_ref(&key), &mut decide).await?;
            if let Some(tables) = catalog.tables.write().get_mut(&caller) {
                tables.remove(&name);
            }
            table.retire();
            Ok(Some(table))
        };
        unbroken(remove).await?
    }

    /// Clears the rows of a dropped table or index and forgets its space.
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

    /// Where the making of the index in this space keeps how far it has come.
    pub fn progress_key(space: Space) -> Key {
        space_key(format!("progress:{}", space.0).into_bytes())
    }

    /// Every table, for what has to be taken up when the database is opened.
    pub fn all(&self) -> Vec<Arc<LiveTable>> {
        self.tables.read().values().flat_map(BTreeMap::values).cloned().collect()
    }

    /// Keeps the sizes of tables until the database is next opened.
    pub async fn keep_sizes(&self, tables: &[Arc<LiveTable>]) -> Result<(), StoreError> {
        let sizes: Vec<(Space, Size)> = tables.iter().flat_map(|table| table.sizes.certain()).collect();
        for sizes in sizes.chunks(SIZES_A_COMMIT) {
            let keys: Vec<Key> = sizes.iter().map(|(space, _)| size_key(*space)).collect();
            let rows = || keys.iter().cloned().zip(sizes.iter().map(|(_, size)| encode(size)));
            self.store
                .update(&keys, &mut |_| WriteSet { puts: rows().collect(), ..WriteSet::default() })
                .await?;
        }
        Ok(())
    }

    fn show(&self, live: Arc<LiveTable>) -> Arc<LiveTable> {
        let replaced =
            self.tables.write().entry(live.caller()).or_default().insert(live.name.clone(), live.clone());
        if let Some(replaced) = replaced {
            replaced.retire();
        }
        live
    }
}

/// Carries a change through even if the request that asked for it is dropped: what is committed must
/// be shown.
async fn unbroken<T: Send + 'static>(
    change: impl Future<Output = T> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::spawn(change).await.map_err(|error| StoreError::Unavailable(error.to_string()))
}

/// The first number behind the spaces of a table.
fn after(table: &Table) -> u64 {
    table.spaces().map(|space| space.0 + 1).max().unwrap_or(FIRST_TABLE_SPACE)
}

/// The table as it is served from now on; `current` is the same table as it was until now.
fn live(table: Table, current: Option<&LiveTable>, tally: impl Fn(Space) -> Arc<Tally>) -> Arc<LiveTable> {
    let gate = current.map(|current| current.gate.clone()).unwrap_or_default();
    let sizes = Sizes::new(table.spaces(), tally);
    let admission = Admission::of(&table, current.and_then(|current| current.admission.as_ref()));
    Arc::new(LiveTable { table, gate, sizes, admission, retired: AtomicBool::new(false) })
}

/// The sizes that were kept when the database was closed. They are taken out, for from now on they are
/// no longer true.
async fn take_sizes(store: &dyn Store) -> Result<HashMap<Space, Size>, StoreError> {
    let mut sizes = HashMap::new();
    for (sort, row) in rows(store, SPACES).await? {
        if let Some(number) = sort.strip_prefix(b"size:") {
            let size = serde_json::from_slice(&row)
                .map_err(|error| StoreError::Corrupt(format!("a size in the catalog: {error}")))?;
            sizes.insert(Space(number_of(number)?), size);
        }
    }
    let keys: Vec<Key> = sizes.keys().map(|space| size_key(*space)).collect();
    for keys in keys.chunks(SIZES_A_COMMIT) {
        store.update(keys, &mut |_| WriteSet { deletes: keys.to_vec(), ..WriteSet::default() }).await?;
    }
    Ok(sizes)
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

fn size_key(space: Space) -> Key {
    space_key(format!("size:{}", space.0).into_bytes())
}

fn space_key(sort: Vec<u8>) -> Key {
    Key { space: SPACES, position: Position { partition: Partition::FIRST, sort } }
}

fn encode(value: &impl serde::Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(value).expect("tables and sizes have only names and numbers"))
}

fn encode_number(number: u64) -> Bytes {
    Bytes::from(number.to_string())
}

fn number_of(bytes: &[u8]) -> Result<u64, StoreError> {
    std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| StoreError::Corrupt("a space's number in the catalog".into()))
}
