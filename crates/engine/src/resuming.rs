//! What starts when the database is opened: the jobs that run for as long as it is open, and whatever was interrupted.

use std::sync::Arc;

use store::StoreError;

use crate::Engine;
use crate::base::table::{IndexState, TableState};
use crate::commit::expiry::Sweep;
use crate::copies::backup::{BackUp, Backup};
use crate::copies::bulk_put::{BulkPutRecord, PutItems};
use crate::copies::export::{ExportRecord, ExportTable};
use crate::copies::import::ImportRecord;
use crate::copies::records;
use crate::following::{Beat, Follow};
use crate::log::size::CountLogs;
use crate::log::trimming::Trimming;
use crate::operation::{export_table_to_point_in_time, import_table};
use crate::read::index_delay::TakeSnapshots;
use crate::regions::{ForgetTombstones, Regions};
use crate::reports::metrics::KeepMetrics;
use crate::tables::clearing::Clearing;
use crate::tables::sizes::{CountAll, ShareSizes};
use crate::tables::sketches::keeping::KeepSketches;

impl Engine {
    /// Starts the jobs that run for as long as the database is open, and goes on with what was interrupted when it
    /// was last open.
    pub(crate) async fn start_jobs(&self) -> Result<(), StoreError> {
        let regions = &self.regions;
        if let Some(members) = &self.members {
            self.background.start(Beat { regions: regions.clone(), members: members.clone() });
            self.background.start(Follow { tables: regions.tables.clone(), members: members.clone() });
        }
        regions.heal_all_if_alone().await?;
        resume(regions).await?;
        self.background.start(Sweep { commits: regions.commits.clone() });
        if !self.usage.is_off() {
            self.background.start(KeepMetrics { reports: regions.reports.clone() });
        }
        if self.index_delay.is_some() {
            self.background.start(TakeSnapshots { reads: regions.reads.clone() });
        }
        if self.sketches.is_on() {
            self.background.start(KeepSketches { tables: regions.tables.clone() });
        }
        self.background.start(CountLogs { logs: regions.logs.clone() });
        self.background.start(Trimming { logs: regions.logs.clone() });
        self.background.start(ForgetTombstones::new(regions.clone()));
        if self.members.is_some() {
            self.background.start(ShareSizes { tables: regions.tables.clone() });
        }
        self.background.start(CountAll { tables: regions.tables.clone() });
        Ok(())
    }
}

/// Goes on with what was interrupted: when the database was last open, or on a server that is gone.
pub async fn resume(regions: &Arc<Regions>) -> Result<(), StoreError> {
    for space in regions.catalog.dropped_spaces().await? {
        regions.background.start(Clearing::of_space(regions.catalog.clone(), space));
    }
    for table in regions.catalog.all() {
        let is_joining = table.membership.as_ref().is_some_and(|own| own.joins_from.is_some());
        if table.restore.is_some() {
            regions.start_restore(&table);
        } else if table.import.is_some() || is_joining {
            // The job that fills it makes it ACTIVE.
        } else if regions.members.is_some() && table.state != TableState::Active {
            // Another server may be about to do it when the delay is over.
            regions.background.start(regions.state_change(&table));
        } else {
            regions.state_change(&table).finish().await?;
        }
    }
    let tables = regions.catalog.all();
    for table in &tables {
        for index in table.indexes.iter().filter(|index| index.state != IndexState::Active) {
            regions.start_index_change(table, index);
        }
    }
    for table in &tables {
        regions.start_expiry_fill(table);
        regions.start_deliveries(table);
    }
    for backup in records::all::<Backup>(&*regions.store).await? {
        if !backup.is_available {
            regions.background.start(BackUp { copies: regions.copies.clone(), backup });
        }
    }
    resume_transfers(regions).await?;
    regions.resume_replication().await
}

/// Goes on with the exports, imports and bulk puts that were under way.
async fn resume_transfers(regions: &Arc<Regions>) -> Result<(), StoreError> {
    for record in ExportRecord::under_way(&*regions.store).await? {
        let request = record.request().map_err(|error| record.unreadable(error))?;
        let filter = request.filter_specification.as_ref();
        let filter = export_table_to_point_in_time::filter(regions, filter);
        let filter = filter.map_err(|error| record.unreadable(error))?;
        regions.background.start(ExportTable { copies: regions.copies.clone(), record, request, filter });
    }
    for record in ImportRecord::under_way(&*regions.store).await? {
        import_table::start(&regions.copies, record.clone()).map_err(|error| record.unreadable(error))?;
    }
    for record in BulkPutRecord::under_way(&*regions.store).await? {
        let job = PutItems::of(regions.copies.clone(), record.clone());
        regions.background.start(job.map_err(|error| record.unreadable(error))?);
    }
    Ok(())
}
