//! A table that is strongly consistent in three Regions of the same servers: clients use any Region, and all of them
//! together see one order of reads and writes.

use serde_json::{Value, json};
use simulation::{Kind, Request};

use crate::plan::REGIONS;
use crate::requests::TABLE;
use crate::run::{PEACE, WAIT, World};

/// The Regions of the table. It is made in the first one.
pub const STRONG_REGIONS: [&str; 3] = [REGIONS[0], "us-east-2", "us-west-2"];

/// Whether such a table serves the request: DynamoDB's has no local indexes and no transactions.
pub fn is_for_strong_regions(request: &Request) -> bool {
    matches!(request.kind, Kind::Single | Kind::Batch)
}

impl World {
    /// Makes the table one of all three Regions.
    pub(crate) async fn join_strong_regions(&self) -> Result<(), String> {
        let create = |region: &&str| json!({"Create": {"RegionName": region}});
        let creates: Vec<Value> = STRONG_REGIONS[1..].iter().map(create).collect();
        let input =
            json!({"TableName": TABLE, "MultiRegionConsistency": "STRONG", "ReplicaUpdates": creates});
        let input = &input;
        self.settled("the table is in all Regions", PEACE, || async move {
            for region in STRONG_REGIONS {
                let table = json!({"TableName": TABLE});
                match self.servers.call_in(region, 0, 0, "DescribeTable", table, WAIT).await {
                    Ok(described) if described["Table"]["TableStatus"] != "ACTIVE" => return Ok(false),
                    Ok(_) => {}
                    Err(failure) if failure.name() == "ResourceNotFoundException" => {
                        let join = self.servers.call(0, 0, "UpdateTable", input.clone(), WAIT);
                        return join.await.map(|_| false);
                    }
                    Err(failure) => return Err(failure),
                }
            }
            Ok(true)
        })
        .await
    }

    /// Makes the table one of its first Region alone, so that it can be deleted.
    pub(crate) async fn part_strong_regions(&self) -> Result<(), String> {
        if !self.plan.features.strong {
            return Ok(());
        }
        let delete = |region: &&str| json!({"Delete": {"RegionName": region}});
        let deletes: Vec<Value> = STRONG_REGIONS[1..].iter().map(delete).collect();
        let input = json!({"TableName": TABLE, "ReplicaUpdates": deletes});
        let input = &input;
        self.settled("the other Regions have left", PEACE, || async move {
            let table = json!({"TableName": TABLE});
            let described = self.servers.call(0, 0, "DescribeTable", table, WAIT).await?;
            if described["Table"]["MultiRegionConsistency"].is_null() {
                return Ok(described["Table"]["TableStatus"] == "ACTIVE");
            }
            self.servers.call(0, 0, "UpdateTable", input.clone(), WAIT).await.map(|_| false)
        })
        .await
    }
}
