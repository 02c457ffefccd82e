//! Auto scaling of the members' throughput. Every Region has scalable targets of its own, which Application Auto Scaling
//! keeps. DynamoDB shows and sets those of all members at once, and a new member gets the write targets of its source.

use api::Error;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use store::StoreError;

use super::in_region;
use super::peer::{Answer, News};
use crate::Namespace;
use crate::base::fault;
use crate::base::table::Table;
use crate::regions::Regions;

/// Application Auto Scaling, as far as global tables need it. The engine knows no more of that service.
pub trait Scaling: Send + Sync {
    /// Whether a policy scales the writes of the table, or of one of its global indexes.
    fn scales_writes<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
        index: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, Error>>;

    /// How units are scaled; none if no policy scales them.
    fn settings<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
        units: &'a ScaledUnits,
    ) -> BoxFuture<'a, Result<Option<ScalingSettings>, Error>>;

    /// Scales units in this way, or no more.
    fn set<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
        scaled: Scaled,
    ) -> BoxFuture<'a, Result<(), Error>>;
}

/// The read or the write units of a table, or of one of its global indexes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaledUnits {
    pub index: Option<String>,
    pub is_write: bool,
}

/// Units, and how they are scaled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaled {
    pub units: ScaledUnits,
    /// None if they are not.
    pub settings: Option<ScalingSettings>,
}

/// The bounds of a scalable target, and the policy that tracks its utilization.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingSettings {
    pub min_units: i64,
    pub max_units: i64,
    /// The role that is shown. It can't be set.
    pub role_arn: String,
    pub policy_name: String,
    /// Per cent.
    pub target_value: f64,
    pub scale_in_cooldown: Option<i32>,
    pub scale_out_cooldown: Option<i32>,
    pub disable_scale_in: Option<bool>,
}

impl Regions {
    /// How the units of a member are scaled: of the table, and of each global index.
    pub(crate) async fn scaling_of(&self, table: &Table, region: &str) -> Result<Vec<Scaled>, Error> {
        match self.peers.get(region) {
            Some(_) => Ok(self.send_scaling(table, region, Vec::new()).await?.scaling),
            None => self.scaling_here(&in_region(table, region), table).await,
        }
    }

    /// Scales the units of a member.
    pub(crate) async fn scale_replica(
        &self,
        table: &Table,
        region: &str,
        scaled: Vec<Scaled>,
    ) -> Result<(), Error> {
        match self.peers.get(region) {
            Some(_) if scaled.is_empty() => Ok(()),
            Some(_) => self.send_scaling(table, region, scaled).await.map(drop),
            None => self.set_scaling_here(&in_region(table, region), &table.name, scaled).await,
        }
    }

    /// The units of a Region of this server. Without the service nothing is scaled.
    pub(super) async fn scaling_here(
        &self,
        namespace: &Namespace,
        table: &Table,
    ) -> Result<Vec<Scaled>, Error> {
        let mut found = Vec::new();
        for index in table.resources() {
            for is_write in [false, true] {
                let units = ScaledUnits { index: index.map(|index| index.name.clone()), is_write };
                let settings = match self.replication.scaling.get() {
                    Some(scaling) => scaling.settings(namespace, &table.name, &units).await?,
                    None => None,
                };
                found.push(Scaled { units, settings });
            }
        }
        Ok(found)
    }

    pub(super) async fn set_scaling_here(
        &self,
        namespace: &Namespace,
        table: &str,
        scaled: Vec<Scaled>,
    ) -> Result<(), Error> {
        let scaling = self.replication.scaling.get().ok_or_else(Error::scaling_absent)?;
        for scaled in scaled {
            scaling.set(namespace, table, scaled).await?;
        }
        Ok(())
    }

    async fn send_scaling(&self, table: &Table, region: &str, scaled: Vec<Scaled>) -> Result<Answer, Error> {
        let peer = self.peers.get(region).ok_or_else(|| Error::replica_region_away(region))?;
        let answer = self.send_news(&peer, table, region, News::Scaling(scaled)).await;
        answer.map_err(|error| match error {
            StoreError::Unavailable(_) => Error::replica_region_away(region),
            error => fault::of_store(error),
        })
    }

    /// A new member gets the write targets of its source. It is a member also without them.
    pub(crate) async fn copy_scaling(&self, source: &Table, region: &str) {
        let copied = async {
            let mut scaled = self.scaling_here(&source.namespace, source).await?;
            scaled.retain(|scaled| scaled.units.is_write && scaled.settings.is_some());
            match scaled.is_empty() {
                true => Ok(()),
                false => self.scale_replica(source, region, scaled).await,
            }
        };
        if let Err(error) = copied.await {
            tracing::warn!(%error, table = source.name, region, "a replica has no auto scaling of its own");
        }
    }
}
