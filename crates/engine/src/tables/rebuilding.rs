//! Makes everything again that is derived from items, after a repair has saved items, index rows and sizes of
//! different moments: indexes, expiry times, the sizes of item collections, the sizes of tables.
//!
//! [`begin_rebuilding`] changes the catalog of a store that no database is open on: each index gets a new, empty space
//! and is CREATING, the old spaces are to be cleared, and no size is known. That is one commit for each table, so a
//! crash leaves a table with all its old indexes or with none. The next opening finishes it, with the jobs that fill a
//! new index.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use item::Item;
use store::{Key, Position, Space, Store, StoreError, WriteSet};

use crate::base::rows::put_rows;
use crate::base::size::Size;
use crate::base::strong;
use crate::base::table::{Scope, Table};
use crate::base::walk::Walk;
use crate::base::{index, space};
use crate::tables::{catalog, format};

/// Items that are read together.
const BATCH_ROWS: usize = 500;

/// What is to be made again when the database is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebuilding {
    pub tables: usize,
    pub indexes: usize,
}

/// Gives up all that is derived from items. Spaces from `unused` on must be empty; the catalog may know of later ones.
pub fn begin_rebuilding(store: &dyn Store, unused: u64) -> BoxFuture<'_, Result<Rebuilding, StoreError>> {
    Box::pin(async move {
        format::check_readable(store).await?;
        let tables = catalog::stored_tables(store).await?;
        let ends = tables.iter().map(Table::numbers_end);
        let mut unused = ends.chain([unused, catalog::unused_space(store).await?.0]).max().unwrap_or(unused);
        let mut begun = Rebuilding::default();
        for table in tables.iter().filter(|table| table.stands_for_rows()) {
            let is_replica = |other: &&Table| {
                other.name == table.name
                    && table.strong_regions().any(|region| other.is_in(&table.namespace, region))
            };
            let replicas: Vec<Table> = tables.iter().filter(is_replica).cloned().collect();
            unused = begin(store, table, &replicas, unused).await?;
            begun.tables += 1;
            begun.indexes += table.indexes.len();
        }
        Ok(begun)
    })
}

/// Begins with one table, and its strong replicas, which have the same rows. Returns the first space that is unused then.
async fn begin(store: &dyn Store, table: &Table, replicas: &[Table], unused: u64) -> Result<u64, StoreError> {
    let mut renewed = table.clone();
    let old = renewed.renew_derived(Space(unused));
    let unused = unused.max(renewed.numbers_end());
    let next = (space::next_key(), space::encode_number(unused));
    if let Some(collections) = renewed.collections() {
        // If this is cut short, the space is cleared, and used by no other table.
        put_rows(store, &[next.clone(), (space::drop_key(collections), Bytes::new())]).await?;
        count_collections(store, &renewed, collections).await?;
    }
    let sizes = table.spaces().map(space::size_key);
    let counted = renewed.collections().map(space::drop_key);
    let row = |table: &Table| (space::table_key(&table.namespace, &table.name), catalog::encode_table(table));
    let mut puts: Vec<(Key, Bytes)> = strong::share(renewed, replicas).iter().map(row).collect();
    puts.push(next);
    let keys: Vec<Key> = puts.iter().map(|(key, _)| key.clone()).collect();
    puts.extend(old.iter().map(|space| (space::drop_key(*space), Bytes::new())));
    let progress = old.iter().map(|space| space::progress_key(*space));
    let deletes: Vec<Key> = sizes.chain(progress).chain(counted).collect();
    let mut write = |_: &[Option<Bytes>]| WriteSet {
        puts: puts.clone(),
        deletes: deletes.clone(),
        ..WriteSet::default()
    };
    store.update(&keys, &mut write).await?;
    Ok(unused)
}

/// The sizes of item collections: of the items of a partition, and of their rows in local indexes.
async fn count_collections(store: &dyn Store, table: &Table, space: Space) -> Result<(), StoreError> {
    let mut walk = Walk::new(table.space(), BATCH_ROWS);
    let mut sizes: BTreeMap<Position, i64> = BTreeMap::new();
    loop {
        let mut batch = Vec::new();
        if !walk.next(store, &mut |key, row| batch.push((key.to_position(), row))).await? {
            break;
        }
        // The items of a partition follow each other: all but the last partition of a batch are complete.
        let last = sizes.pop_last();
        put_sizes(store, space, &sizes).await?;
        sizes = last.into_iter().collect();
        for (position, row) in batch {
            let item = Item::from_stored(row);
            let item = item.map_err(|error| table.unreadable(table.space(), &position, error))?;
            let collection = Position { partition: position.partition, sort: Vec::new() };
            *sizes.entry(collection).or_default() += bytes_in_collection(table, &item);
        }
    }
    put_sizes(store, space, &sizes).await
}

fn bytes_in_collection(table: &Table, item: &Item) -> i64 {
    let local = table.indexes.iter().filter(|index| index.scope == Scope::Local);
    let rows = local.filter_map(|local| index::entry(table, local, item));
    Size::of(item.as_ref()).bytes + rows.map(|(_, row)| Size::of(row.as_ref()).bytes).sum::<i64>()
}

async fn put_sizes(
    store: &dyn Store,
    space: Space,
    sizes: &BTreeMap<Position, i64>,
) -> Result<(), StoreError> {
    let row = |(position, bytes): (&Position, &i64)| {
        let key = Key { space, position: position.clone() };
        (key, Bytes::copy_from_slice(&bytes.cast_unsigned().to_be_bytes()))
    };
    put_rows(store, &sizes.iter().map(row).collect::<Vec<_>>()).await
}
