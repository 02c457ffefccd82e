//! Goes on with what was interrupted: when the database was last open, or on a server that is gone.

use std::sync::Arc;

use store::StoreError;

use crate::background::Job;
use crate::base::table::{IndexState, TableState};
use crate::copies::backup::{BackUp, Backup};
use crate::copies::bulk_put::{BulkPutRecord, PutItems};
use crate::copies::export::{ExportRecord, ExportTable};
use crate::copies::import::ImportRecord;
use crate::copies::records;
use crate::operation::{export_table_to_point_in_time, import_table};
use crate::regions::Regions;
use crate::tables::clearing::Clearing;
use crate::tables::sizes;

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
            sizes::forget_shared(&*self.regions.store, &self.regions.catalog.all()).await?;
        }
        resume(&self.regions).await
    }
}
