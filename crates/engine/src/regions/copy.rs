//! Copying a member to another one: all items with their versions, and then all deletions that are remembered. Whatever
//! is newer there stays, so a copy needs no state of one moment and may be repeated.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use item::Item;
use store::{Consistency, Key, Position, Space, StoreError};

use super::destination::Destination;
use super::peer::Versioned;
use crate::base::membership::Membership;
use crate::base::origin::Origin;
use crate::base::version::{self, Stamp};
use crate::base::walk::Walk;
use crate::commit::Change;
use crate::regions::Regions;
use crate::tables::catalog::LiveTable;

/// Items that one commit writes: few, so that it is never too large for a store.
const COMMIT_ITEMS: usize = 25;
/// How long a copy waits for throughput of the other table.
const THROTTLED_REST: Duration = Duration::from_millis(100);

/// A copy of one member to another.
pub struct Copy<'a> {
    pub regions: &'a Regions,
    pub source: &'a Arc<LiveTable>,
    pub target: &'a Destination,
    /// The Region of the target.
    pub region: &'a str,
    pub origin: Origin,
}

/// Rows of the source that are sent together.
type Rows = Vec<(Position, Option<Bytes>)>;

impl Copy<'_> {
    /// Copies the items of the source, and then its tombstones.
    pub async fn run(&self) -> Result<(), StoreError> {
        let (store, space) = (&*self.regions.store, self.source.space());
        let versions = self.source.membership.as_ref().map_or(Space(0), Membership::versions);
        let mut walk = Walk::new(space, COMMIT_ITEMS);
        loop {
            let mut positions = Vec::with_capacity(COMMIT_ITEMS);
            if !walk.next(store, &mut |key, _| positions.push(key.to_position())).await? {
                break;
            }
            let items = positions.iter().map(|at| Key { space, position: at.clone() });
            let keys: Vec<Key> = items.chain(positions.iter().map(|at| version::key(versions, at))).collect();
            // Of the same moment: each item with its version.
            let mut rows = store.get(&keys, Consistency::Latest).await?;
            let stamps = rows.split_off(positions.len());
            let rows: Rows = positions.into_iter().zip(rows).collect();
            self.deliver(&|| self.items(&rows, &stamps)).await?;
        }
        let mut walk = Walk::new(versions, COMMIT_ITEMS);
        loop {
            let mut rows: Rows = Vec::with_capacity(COMMIT_ITEMS);
            if !walk.next(store, &mut |key, row| rows.push((key.to_position(), Some(row)))).await? {
                return Ok(());
            }
            self.deliver(&|| tombstones(&rows)).await?;
        }
    }

    /// Sends changes until there is throughput for all of them. Those that are there by then change nothing.
    async fn deliver(
        &self,
        changes: &(dyn Fn() -> Result<Vec<Versioned>, StoreError> + Sync),
    ) -> Result<(), StoreError> {
        loop {
            let changes = changes()?;
            let Copy { regions, source, region, origin, .. } = self;
            if changes.is_empty() || self.target.deliver(regions, source, region, changes, *origin).await? {
                break;
            }
            regions.environment.sleep(THROTTLED_REST).await;
        }
        tokio::task::yield_now().await;
        Ok(())
    }

    fn items(&self, rows: &Rows, stamps: &[Option<Bytes>]) -> Result<Vec<Versioned>, StoreError> {
        let mut changes = Vec::with_capacity(rows.len());
        for ((at, row), stamp) in rows.iter().zip(stamps) {
            let Some(row) = row else { continue };
            let item = Item::from_stored(row.clone());
            let item = item.map_err(|error| self.source.unreadable(self.source.space(), at, error))?;
            let stamp = stamp.as_deref().map(Stamp::decode).transpose()?.map(|stamp| stamp.version);
            let version = stamp.or_else(|| version::base(self.source)).expect("the source is a member");
            changes.push(Versioned { at: at.clone(), change: Change::Put(item), version });
        }
        Ok(changes)
    }
}

fn tombstones(rows: &Rows) -> Result<Vec<Versioned>, StoreError> {
    let mut changes = Vec::new();
    for (at, row) in rows {
        let stamp = row.as_deref().map(Stamp::decode).transpose()?;
        if let Some(stamp) = stamp.filter(|stamp| stamp.is_deleted) {
            let change = Change::Delete { key_attributes: Item::default() };
            changes.push(Versioned { at: at.clone(), change, version: stamp.version });
        }
    }
    Ok(changes)
}
