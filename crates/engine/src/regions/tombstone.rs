//! Forgetting deletions. The tombstone of a deleted item is needed for as long as an older write to the item may still
//! arrive. That is over in two steps:
//!
//! 1. Every member has the deletion: all that was recorded up to a time has been sent between all of them. From then on
//!    each write to the item is later than the deletion.
//! 2. Whatever members had recorded until then has been sent between all of them, too.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use store::{Key, KeyRef, Space, StoreError, WriteSet};

use super::destination::Destination;
use super::send::sent_to_all_us;
use crate::background::Job;
use crate::base::version::Stamp;
use crate::base::walk::Walk;
use crate::regions::Regions;
use crate::tables::catalog::LiveTable;

const INTERVAL: Duration = Duration::from_secs(600);
/// A deletion is remembered at least so long: longer than clocks of one server can differ from its records.
const KEPT_US: u64 = 600_000_000;
const BATCH_ROWS: usize = 500;

/// Forgets the tombstones that no member needs, for as long as the database is open.
pub struct ForgetTombstones {
    regions: Arc<Regions>,
    /// For each table that was looked at: up to which time every member had the deletions, and when that was found.
    known: Mutex<HashMap<Space, (u64, u64)>>,
}

impl ForgetTombstones {
    /// For all tables.
    pub fn new(regions: Arc<Regions>) -> ForgetTombstones {
        ForgetTombstones { regions, known: Mutex::default() }
    }
}

impl Job for ForgetTombstones {
    fn name(&self) -> &'static str {
        "forgetting of deletions"
    }

    fn subject(&self) -> String {
        "all global tables".to_owned()
    }

    fn delay(&self) -> Duration {
        INTERVAL
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    async fn run(&self) -> Result<(), StoreError> {
        for table in self.regions.catalog.all() {
            if table.membership.as_ref().is_none_or(|membership| membership.is_changing()) {
                continue;
            }
            let now_us = self.regions.clock.now_us(&*self.regions.environment);
            let through_us = sent_between_all(&self.regions, &table, now_us).await?;
            let found = self.known.lock().get(&table.space()).copied();
            match found {
                Some((everywhere_us, found_us)) if through_us > found_us => {
                    self.known.lock().remove(&table.space());
                    let slowest_us = slowest_clock_us(&self.regions, &table, now_us);
                    forget(&self.regions, &table, everywhere_us.saturating_sub(KEPT_US), slowest_us).await?;
                }
                Some(_) => {}
                None => drop(self.known.lock().insert(table.space(), (through_us, now_us))),
            }
        }
        Ok(())
    }
}

/// The time in the member whose clock is the furthest behind.
fn slowest_clock_us(regions: &Regions, table: &LiveTable, now_us: u64) -> u64 {
    let others = table.membership.iter().flat_map(|membership| &membership.replicas);
    let offset = |region: &str| match regions.replication.last_beat(table, region) {
        Some(beat) => beat.clock_offset_us,
        None => regions.clock_offset_us(region),
    };
    let offsets = others.map(|replica| replica.region.as_str()).chain([&*table.namespace.region]).map(offset);
    now_us.saturating_add_signed(offsets.min().unwrap_or(0).min(0))
}

/// The time up to which every member has what every other one recorded. A peer says it of its member.
async fn sent_between_all(regions: &Regions, table: &Arc<LiveTable>, now_us: u64) -> Result<u64, StoreError> {
    let mut through_us = sent_to_all_us(regions, table, now_us).await?;
    for replica in table.membership.iter().flat_map(|membership| &membership.replicas) {
        let sent_us = match Destination::of(regions, table, &replica.region) {
            Some(Destination::Here(member)) => sent_to_all_us(regions, &member, now_us).await?,
            Some(Destination::There(_)) => {
                regions.replication.last_beat(table, &replica.region).map_or(0, |beat| beat.through_us)
            }
            None => 0,
        };
        through_us = through_us.min(sent_us);
    }
    Ok(through_us)
}

/// Removes the tombstones that were stored up to a time. A write that comes later must still be later than the
/// deletion, so one with a time in the future stays.
async fn forget(
    regions: &Regions,
    table: &LiveTable,
    through_us: u64,
    now_us: u64,
) -> Result<(), StoreError> {
    let Some(membership) = &table.membership else { return Ok(()) };
    let space = membership.versions();
    let is_over = |row: &[u8]| {
        let stamp = Stamp::decode(row)?;
        let is_past =
            stamp.recorded_us <= through_us && stamp.version.time_us <= now_us.saturating_sub(KEPT_US);
        Ok::<_, StoreError>(stamp.is_deleted && is_past)
    };
    let mut walk = Walk::new(space, BATCH_ROWS);
    loop {
        let (mut over, mut unreadable) = (Vec::new(), None);
        let mut visit = |key: KeyRef<'_>, row: Bytes| match is_over(&row) {
            Ok(true) => over.push(Key { space, position: key.to_position() }),
            Ok(false) => {}
            Err(error) => unreadable = Some(error),
        };
        let more = walk.next(&*regions.store, &mut visit).await?;
        if let Some(error) = unreadable {
            return Err(error);
        }
        if !over.is_empty() {
            // They are looked at again under their locks.
            let mut decide = |rows: &[Option<Bytes>]| {
                let still =
                    |row: &Option<Bytes>| row.as_deref().is_some_and(|row| is_over(row).unwrap_or(false));
                let deletes = over.iter().zip(rows).filter(|(_, row)| still(row));
                WriteSet { deletes: deletes.map(|(key, _)| key.clone()).collect(), ..WriteSet::default() }
            };
            regions.store.update(&over, &mut decide).await?;
        }
        if !more {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
}
