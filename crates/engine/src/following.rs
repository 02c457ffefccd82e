//! What a server of a cluster does for the others: it beats, it follows the changes of the catalog, and it takes up
//! the jobs of a server that is gone.

use std::sync::Arc;
use std::time::Duration;

use store::StoreError;

use crate::background::Job;
use crate::members::{Members, Watched};
use crate::shared::Core;
use crate::sizes;

/// Says that this server lives, and looks after the others.
pub struct Beat {
    pub core: Arc<Core>,
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
            tracing::error!(%error, "this server stops and has to join anew");
            self.core.background.stop();
        }
        beat?;
        let Watched { is_any_gone, is_any_expelled, count } = self.members.watch_others().await?;
        if self.core.usage.set_servers(count) {
            self.core.catalog.all().iter().for_each(|table| table.meter.share_among(count));
        }
        if is_any_gone {
            self.core.background.start(TakeOver { core: self.core.clone(), is_any_expelled });
        }
        Ok(())
    }
}

/// Follows what other servers do to tables.
pub struct Follow {
    pub core: Arc<Core>,
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
            self.core.catalog.follow().await?;
        }
        Ok(())
    }
}

/// Takes up what a server that is gone has left undone.
struct TakeOver {
    core: Arc<Core>,
    is_any_expelled: bool,
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
        self.core.catalog.follow().await?;
        if self.is_any_expelled {
            sizes::forget_shared(&*self.core.store, &self.core.catalog.all()).await?;
        }
        self.core.resume_interrupted().await
    }
}
