//! Goes on with what was interrupted: when the database was last open, or on a server that is gone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use store::StoreError;

use crate::background::{Job, Missing, Starter};
use crate::base::table::{Index, IndexState, Table, TableState};
use crate::copies::backup::{BackUp, Backup};
use crate::copies::bulk_put::{BulkPutRecord, PutItems};
use crate::copies::export::{ExportRecord, ExportTable};
use crate::copies::import::ImportRecord;
use crate::copies::records;
use crate::operation::{export_table_to_point_in_time, import_table};
use crate::regions::Regions;
use crate::tables::clearing::Clearing;
use crate::tables::sizes;

/// How often a server looks for what no task sees to.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// Goes on with what was interrupted: when the database was last open, or on a server that is gone.
pub async fn resume(regions: &Arc<Regions>) -> Result<(), StoreError> {
    for space in regions.catalog.dropped_spaces().await? {
        regions.background.start(Clearing::of_space(regions.catalog.clone(), space));
    }
    // Of several servers, another may be about to do it when the delay is over.
    if regions.members.is_none() {
        for table in regions.catalog.all().iter().filter(|table| is_passing(table)) {
            regions.state_change(table).finish().await?;
        }
    }
    start_missing(regions, &mut Missing::at_once(&regions.background)).await?;
    for table in regions.catalog.all() {
        regions.start_expiry_fill(&table);
        regions.start_deliveries(&table);
    }
    regions.align_members().await
}

/// Whether the table only waits to leave its state. One that is filled is made ACTIVE by the job that fills it.
fn is_passing(table: &Table) -> bool {
    let is_joining = table.membership.as_ref().is_some_and(|own| own.joins_from.is_some());
    table.state != TableState::Active && table.restore.is_none() && table.import.is_none() && !is_joining
}

/// Starts the jobs that what is stored asks for.
async fn start_missing(regions: &Arc<Regions>, missing: &mut Missing<'_>) -> Result<(), StoreError> {
    for table in regions.catalog.all() {
        if table.restore.is_some() {
            regions.start_restore(&table, missing);
        } else if is_passing(&table) {
            missing.start(regions.state_change(&table));
        }
        let is_changing = |index: &&Index| index.state != IndexState::Active && table.stands_for_rows();
        for index in table.indexes.iter().filter(is_changing) {
            missing.start(regions.index_change(&table, index));
        }
    }
    for backup in records::all::<Backup>(&*regions.store).await? {
        if !backup.is_available {
            missing.start(BackUp { copies: regions.copies.clone(), backup });
        }
    }
    start_transfers(regions, missing).await?;
    regions.start_replication(missing);
    Ok(())
}

/// Goes on with the exports, imports and bulk puts that are under way.
async fn start_transfers(regions: &Arc<Regions>, missing: &mut Missing<'_>) -> Result<(), StoreError> {
    for record in ExportRecord::under_way(&*regions.store).await? {
        let request = record.request().map_err(|error| record.unreadable(error))?;
        let filter = request.filter_specification.as_ref();
        let filter = export_table_to_point_in_time::filter(regions, filter);
        let filter = filter.map_err(|error| record.unreadable(error))?;
        missing.start(ExportTable { copies: regions.copies.clone(), record, request, filter });
    }
    for record in ImportRecord::under_way(&*regions.store).await? {
        let job = import_table::job(&regions.copies, record.clone());
        missing.start(job.map_err(|error| record.unreadable(error))?);
    }
    for record in BulkPutRecord::under_way(&*regions.store).await? {
        let job = PutItems::of(regions.copies.clone(), record.clone());
        missing.start(job.map_err(|error| record.unreadable(error))?);
    }
    Ok(())
}

/// Takes up what a request has stored without starting its job: the outcome of its commit was unknown, or its client
/// was gone in between.
pub struct TakeUp {
    regions: Arc<Regions>,
    missing: Mutex<BTreeSet<(&'static str, String)>>,
}

impl TakeUp {
    /// Nothing was missing so far.
    pub fn new(regions: Arc<Regions>) -> TakeUp {
        TakeUp { regions, missing: Mutex::default() }
    }
}

impl Job for TakeUp {
    fn name(&self) -> &'static str {
        "taking up what was left"
    }

    fn subject(&self) -> String {
        "all tables".to_owned()
    }

    fn interval(&self) -> Option<Duration> {
        Some(LOOK_INTERVAL)
    }

    fn is_short(&self) -> bool {
        true
    }

    fn lease(&self) -> Option<String> {
        None
    }

    async fn run(&self) -> Result<(), StoreError> {
        let before = std::mem::take(&mut *self.missing.lock());
        let mut missing = Missing::since(&self.regions.background, before);
        start_missing(&self.regions, &mut missing).await?;
        for table in self.regions.catalog.all() {
            self.regions.give_up_holds(&table, &mut missing).await?;
        }
        *self.missing.lock() = missing.found();
        Ok(())
    }
}

/// Takes up what a server that is gone has left undone.
pub struct TakeOver {
    pub regions: Arc<Regions>,
    pub is_any_expelled: bool,
}

impl Job for TakeOver {
    fn name(&self) -> &'static str {
        "taking over of jobs"
    }

    fn subject(&self) -> String {
        "all tables".to_owned()
    }

    fn is_short(&self) -> bool {
        true
    }

    fn lease(&self) -> Option<String> {
        None
    }

    async fn run(&self) -> Result<(), StoreError> {
        self.regions.catalog.follow().await?;
        if self.is_any_expelled {
            sizes::forget_shared(&*self.regions.store, &self.regions.catalog.all_rows_once()).await?;
        }
        resume(&self.regions).await
    }
}
