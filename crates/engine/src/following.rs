//! What a server of a cluster does for the others: it beats, and it follows the changes of the catalog. When a server
//! is gone, `resuming.rs` takes over its jobs.

use std::sync::Arc;
use std::time::Duration;

use store::StoreError;

use crate::background::Job;
use crate::cluster::members::{Members, Watched};
use crate::regions::Regions;
use crate::resuming::TakeOver;
use crate::tables::Tables;

/// Says that this server lives, and looks after the others.
pub struct Beat {
    pub regions: Arc<Regions>,
    pub members: Arc<Members>,
}

impl Job for Beat {
    fn name(&self) -> &'static str {
        "beat of this server"
    }

    fn subject(&self) -> String {
        format!("member {}", self.members.own().0)
    }

    fn interval(&self) -> Option<Duration> {
        Some(self.members.beat_interval())
    }

    fn is_short(&self) -> bool {
        true
    }

    fn lease(&self) -> Option<String> {
        None
    }

    async fn run(&self) -> Result<(), StoreError> {
        let beat = self.members.beat().await;
        if let Err(error @ StoreError::Fenced(_)) = &beat {
            tracing::error!(%error, "this server stops and has to join again");
            self.regions.background.stop();
        }
        beat?;
        let Watched { is_any_gone, is_any_expelled, count } = self.members.watch_others().await?;
        if self.regions.usage.set_servers(count) {
            self.regions.catalog.all().iter().for_each(|table| table.meter.share_among(count));
        }
        if is_any_gone {
            self.regions.background.start(TakeOver { regions: self.regions.clone(), is_any_expelled });
        }
        Ok(())
    }
}

/// Follows what other servers do to tables.
pub struct Follow {
    pub tables: Arc<Tables>,
    pub members: Arc<Members>,
}

impl Job for Follow {
    fn name(&self) -> &'static str {
        "following of other servers"
    }

    fn subject(&self) -> String {
        "all tables".to_owned()
    }

    fn interval(&self) -> Option<Duration> {
        Some(self.members.poll)
    }

    fn is_short(&self) -> bool {
        true
    }

    fn lease(&self) -> Option<String> {
        None
    }

    async fn run(&self) -> Result<(), StoreError> {
        let version = self.members.version().await?;
        if version.number > self.members.seen() || self.members.has_left_frozen(version) {
            self.tables.catalog.follow().await?;
        }
        Ok(())
    }
}
