//! What a scalable target is: the read or the write units of a table or global index.

use api::autoscaling::{ScalableDimension, ServiceNamespace};
use api::{
    BillingMode, Error, GlobalSecondaryIndexUpdate, IndexStatus, ProvisionedThroughput, TableDescription,
    TableStatus, UpdateGlobalSecondaryIndexAction, UpdateTableInput,
};
use capacity::Access;

/// The units of a table or global index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    pub table: String,
    pub index: Option<String>,
    pub access: Access,
}

/// What a table or index has at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provisioned {
    read_units: i64,
    write_units: i64,
    /// Its units can be changed now: it is provisioned, and neither it nor its table is being changed.
    pub is_scalable: bool,
}

impl Resource {
    /// `table/Orders` or `table/Orders/index/ByDate`, with a dimension that fits.
    pub fn parse(
        namespace: ServiceNamespace,
        resource_id: &str,
        dimension: ScalableDimension,
    ) -> Result<Resource, Error> {
        let parts: Vec<&str> = resource_id.split('/').collect();
        let (is_index, access) = match dimension {
            ScalableDimension::DynamodbTableReadCapacityUnits => (false, Access::Read),
            ScalableDimension::DynamodbTableWriteCapacityUnits => (false, Access::Write),
            ScalableDimension::DynamodbIndexReadCapacityUnits => (true, Access::Read),
            ScalableDimension::DynamodbIndexWriteCapacityUnits => (true, Access::Write),
            _ => return Err(Error::scalable_target_unsupported()),
        };
        let (table, index) = match parts[..] {
            ["table", table] if !is_index => (table, None),
            ["table", table, "index", index] if is_index => (table, Some(index.to_owned())),
            _ => return Err(Error::scalable_target_unsupported()),
        };
        match namespace == ServiceNamespace::Dynamodb && !table.is_empty() {
            true => Ok(Resource { table: table.to_owned(), index, access }),
            false => Err(Error::scalable_target_unsupported()),
        }
    }

    /// None if the index does not exist.
    pub fn provisioned(&self, table: &TableDescription) -> Option<Provisioned> {
        let on_demand = table
            .billing_mode_summary
            .as_ref()
            .is_some_and(|summary| summary.billing_mode == Some(BillingMode::PayPerRequest));
        let is_active = table.table_status == Some(TableStatus::Active);
        let (throughput, is_ready) = match &self.index {
            None => (table.provisioned_throughput.as_ref(), is_active),
            Some(name) => {
                let mut indexes = table.global_secondary_indexes.iter().flatten();
                let index = indexes.find(|index| index.index_name.as_ref() == Some(name))?;
                let is_ready = is_active && index.index_status == Some(IndexStatus::Active);
                (index.provisioned_throughput.as_ref(), is_ready)
            }
        };
        let read_units = throughput.and_then(|units| units.read_capacity_units).unwrap_or(0);
        let write_units = throughput.and_then(|units| units.write_capacity_units).unwrap_or(0);
        let is_scalable = is_ready && !on_demand && read_units > 0 && write_units > 0;
        Some(Provisioned { read_units, write_units, is_scalable })
    }

    /// The units of the target's own kind.
    pub fn units(&self, provisioned: &Provisioned) -> u64 {
        let units = match self.access {
            Access::Read => provisioned.read_units,
            Access::Write => provisioned.write_units,
        };
        u64::try_from(units).unwrap_or(0)
    }

    /// The request that sets the units. The other kind stays as it is.
    pub fn update(&self, provisioned: &Provisioned, units: u64) -> UpdateTableInput {
        let units = i64::try_from(units).unwrap_or(i64::MAX);
        let throughput = match self.access {
            Access::Read => ProvisionedThroughput {
                read_capacity_units: units,
                write_capacity_units: provisioned.write_units,
            },
            Access::Write => ProvisionedThroughput {
                read_capacity_units: provisioned.read_units,
                write_capacity_units: units,
            },
        };
        let input = UpdateTableInput { table_name: self.table.clone(), ..UpdateTableInput::default() };
        match &self.index {
            None => UpdateTableInput { provisioned_throughput: Some(throughput), ..input },
            Some(index) => {
                let update = UpdateGlobalSecondaryIndexAction {
                    index_name: index.clone(),
                    provisioned_throughput: Some(throughput),
                    ..UpdateGlobalSecondaryIndexAction::default()
                };
                let update = GlobalSecondaryIndexUpdate {
                    update: Some(update),
                    ..GlobalSecondaryIndexUpdate::default()
                };
                UpdateTableInput { global_secondary_index_updates: Some(vec![update]), ..input }
            }
        }
    }

    /// The names and values of the metrics' dimensions.
    pub fn dimensions(&self) -> Vec<(&'static str, &str)> {
        let index = self.index.as_deref().map(|index| ("GlobalSecondaryIndexName", index));
        [("TableName", self.table.as_str())].into_iter().chain(index).collect()
    }

    /// `write capacity units`, as activities name them.
    pub fn units_name(&self) -> &'static str {
        match self.access {
            Access::Read => "read capacity units",
            Access::Write => "write capacity units",
        }
    }
}
