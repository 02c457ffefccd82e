//! The table of another member of a global table, wherever it is: in another Region of this server, or at a peer.

use std::sync::Arc;

use store::{Key, StoreError};

use super::in_region;
use super::peer::{CHANGES_MAX, MESSAGE_BYTES, News, Peer, SentChange, Versioned};
use crate::base::origin::Origin;
use crate::base::table::Table;
use crate::commit::decide::Refusal;
use crate::commit::{self, Failure, Plan, WriteError};
use crate::regions::Regions;
use crate::tables::catalog::LiveTable;

/// Another member's table.
#[derive(Clone)]
pub enum Destination {
    Here(Arc<LiveTable>),
    There(Arc<dyn Peer>),
}

impl Destination {
    /// The table of a member in this Region; none if it should be here and is not.
    pub fn of(regions: &Regions, table: &Table, region: &str) -> Option<Destination> {
        match regions.peers.get(region) {
            Some(peer) => Some(Destination::There(peer)),
            None => regions.catalog.find(&in_region(table, region), &table.name).map(Destination::Here),
        }
    }

    /// Makes changes of `source` there. False if there is no throughput left for some of them. What is outdated there
    /// is left out.
    pub async fn deliver(
        &self,
        regions: &Regions,
        source: &Table,
        region: &str,
        changes: Vec<Versioned>,
        origin: Origin,
    ) -> Result<bool, StoreError> {
        let peer = match self {
            Destination::Here(target) => return apply(regions, target, changes, origin).await,
            Destination::There(peer) => peer,
        };
        let mut is_done = true;
        for part in parts(changes) {
            let news = if origin == Origin::Replica { News::Changes(part) } else { News::Copy(part) };
            let answer = regions.send_news(peer, source, region, news).await?;
            is_done &= answer.is_done;
        }
        Ok(is_done)
    }

    /// Makes changes of `source` there in one commit, except for those that are outdated. False if there is no throughput
    /// left for all of them.
    pub async fn deliver_together(
        &self,
        regions: &Regions,
        source: &Table,
        region: &str,
        changes: Vec<Versioned>,
    ) -> Result<bool, StoreError> {
        match self {
            Destination::Here(target) => apply_together(regions, target, changes).await,
            Destination::There(peer) => {
                let news = News::Together(changes.into_iter().map(Into::into).collect());
                Ok(regions.send_news(peer, source, region, news).await?.is_done)
            }
        }
    }
}

/// Changes in messages of a bounded size.
fn parts(changes: Vec<Versioned>) -> Vec<Vec<SentChange>> {
    let mut parts: Vec<Vec<SentChange>> = Vec::new();
    let mut bytes = 0;
    for change in changes {
        bytes += change.size();
        match parts.last_mut().filter(|part| bytes <= MESSAGE_BYTES && part.len() < CHANGES_MAX) {
            Some(part) => part.push(change.into()),
            None => {
                bytes = change.size();
                parts.push(vec![change.into()]);
            }
        }
    }
    parts
}

/// Applies changes that were made in another Region. False if there is no throughput left for some of them. What is
/// outdated is left out.
pub async fn apply(
    regions: &Regions,
    target: &Arc<LiveTable>,
    changes: Vec<Versioned>,
    origin: Origin,
) -> Result<bool, StoreError> {
    let mut plans = plans(target, changes, origin);
    let mut is_done = true;
    for result in commit::apply_each(regions, None, &mut plans).await.map_err(|it| failed(target, it))? {
        match result {
            Ok(_) | Err(WriteError::Refused(Refusal::Outdated)) => {}
            Err(WriteError::Refused(Refusal::Throttled(_))) => is_done = false,
            Err(WriteError::Failed(failure)) => return Err(failed(target, failure)),
            Err(WriteError::Refused(refusal)) => return Err(impossible(target, &refusal)),
        }
    }
    Ok(is_done)
}

/// Applies changes in one commit, except for those that are outdated. False if there is no throughput left for all.
pub async fn apply_together(
    regions: &Regions,
    target: &Arc<LiveTable>,
    changes: Vec<Versioned>,
) -> Result<bool, StoreError> {
    let plans = plans(target, changes, Origin::Replica);
    match commit::apply_current(regions, plans).await.map_err(|it| failed(target, it))? {
        Ok(()) => Ok(true),
        Err(Refusal::Throttled(_)) => Ok(false),
        Err(refusal) => Err(impossible(target, &refusal)),
    }
}

fn plans(target: &Arc<LiveTable>, changes: Vec<Versioned>, origin: Origin) -> Vec<Plan> {
    let plan = |Versioned { at, change, version }| {
        let key = Key { space: target.space(), position: at };
        Plan { origin, version: Some(version), ..Plan::of_client(target.clone(), key, change) }
    };
    changes.into_iter().map(plan).collect()
}

fn failed(target: &LiveTable, failure: Failure) -> StoreError {
    match failure {
        Failure::TableGone => {
            StoreError::Unavailable(format!("{} was deleted in the meantime", target.full_name()))
        }
        Failure::Store(error) => error,
    }
}

fn impossible(target: &LiveTable, refusal: &Refusal) -> StoreError {
    StoreError::Corrupt(format!("{}: a change can't be replicated: {refusal:?}", target.full_name()))
}
