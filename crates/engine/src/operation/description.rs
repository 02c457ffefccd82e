//! A table as clients see it.

use api::{
    AttributeDefinition, BillingMode as Mode, BillingModeSummary, GlobalSecondaryIndexDescription,
    GlobalSecondaryIndexWarmThroughputDescription, IndexStatus, KeySchemaElement, KeyType,
    LocalSecondaryIndexDescription, OnDemandThroughput, ProjectionType, ProvisionedThroughputDescription,
    ScalarAttributeType, TableClass, TableClassSummary, TableDescription, TableStatus,
    TableWarmThroughputDescription,
};
use item::Type;

use crate::table::{
    Billing, BillingMode, Index, IndexState, KeyAttribute, KeySchema, OnDemandMax, Projection, Scope, Table,
};

pub fn description(table: &Table, status: TableStatus) -> TableDescription {
    TableDescription {
        attribute_definitions: Some(table.definitions.iter().map(definition).collect()),
        table_name: Some(table.name.clone()),
        key_schema: Some(key_schema(&table.keys)),
        table_status: Some(status),
        creation_date_time: Some(seconds(table.created_ms)),
        provisioned_throughput: Some(throughput(&table.billing)),
        table_arn: Some(table.arn()),
        table_id: Some(table.id.clone()),
        billing_mode_summary: billing_mode(&table.billing),
        on_demand_throughput: on_demand_max(table.billing.on_demand_max),
        warm_throughput: Some(warm(table.billing.read_units, table.billing.write_units)),
        table_class_summary: table_class(table),
        deletion_protection_enabled: Some(table.deletion_protection),
        local_secondary_indexes: listed(table, Scope::Local, local_index),
        global_secondary_indexes: listed(table, Scope::Global, global_index),
        ..TableDescription::default()
    }
}

/// The indexes of one scope; a table without any says nothing of them.
fn listed<T>(table: &Table, scope: Scope, describe: impl Fn(&Table, &Index) -> T) -> Option<Vec<T>> {
    let indexes = table.indexes.iter().filter(|index| index.scope == scope);
    let described: Vec<T> = indexes.map(|index| describe(table, index)).collect();
    (!described.is_empty()).then_some(described)
}

fn local_index(table: &Table, index: &Index) -> LocalSecondaryIndexDescription {
    LocalSecondaryIndexDescription {
        index_name: Some(index.name.clone()),
        index_arn: Some(index_arn(table, index)),
        key_schema: Some(key_schema(&index.keys)),
        projection: Some(projection(&index.projection)),
        index_size_bytes: Some(0),
        item_count: Some(0),
    }
}

fn global_index(table: &Table, index: &Index) -> GlobalSecondaryIndexDescription {
    let throughput = index.billing.unwrap_or_default();
    let warm = warm(throughput.read_units, throughput.write_units);
    GlobalSecondaryIndexDescription {
        index_name: Some(index.name.clone()),
        index_arn: Some(index_arn(table, index)),
        key_schema: Some(key_schema(&index.keys)),
        projection: Some(projection(&index.projection)),
        index_status: Some(match index.state {
            IndexState::Creating => IndexStatus::Creating,
            IndexState::Active => IndexStatus::Active,
            IndexState::Deleting => IndexStatus::Deleting,
        }),
        backfilling: (index.state == IndexState::Creating).then_some(true),
        provisioned_throughput: Some(ProvisionedThroughputDescription {
            read_capacity_units: Some(throughput.read_units as i64),
            write_capacity_units: Some(throughput.write_units as i64),
            number_of_decreases_today: Some(0),
            ..ProvisionedThroughputDescription::default()
        }),
        on_demand_throughput: on_demand_max(throughput.on_demand_max),
        warm_throughput: Some(GlobalSecondaryIndexWarmThroughputDescription {
            read_units_per_second: warm.read_units_per_second,
            write_units_per_second: warm.write_units_per_second,
            status: Some(IndexStatus::Active),
        }),
        index_size_bytes: Some(0),
        item_count: Some(0),
    }
}

fn index_arn(table: &Table, index: &Index) -> String {
    format!("{}/index/{}", table.arn(), index.name)
}

fn projection(projection: &Projection) -> api::Projection {
    let (kind, names) = match projection {
        Projection::KeysOnly => (ProjectionType::KeysOnly, None),
        Projection::Include(names) => (ProjectionType::Include, Some(names.clone())),
        Projection::All => (ProjectionType::All, None),
    };
    api::Projection { projection_type: Some(kind), non_key_attributes: names }
}

fn definition(attribute: &KeyAttribute) -> AttributeDefinition {
    AttributeDefinition {
        attribute_name: attribute.name.clone(),
        attribute_type: match attribute.kind {
            Type::N => ScalarAttributeType::N,
            Type::B => ScalarAttributeType::B,
            _ => ScalarAttributeType::S,
        },
    }
}

fn key_schema(keys: &KeySchema) -> Vec<KeySchemaElement> {
    let element = |attribute: &KeyAttribute, key_type| KeySchemaElement {
        attribute_name: attribute.name.clone(),
        key_type,
    };
    let hash = keys.partition.iter().map(|attribute| element(attribute, KeyType::Hash));
    let range = keys.sort.iter().map(|attribute| element(attribute, KeyType::Range));
    hash.chain(range).collect()
}

fn throughput(billing: &Billing) -> ProvisionedThroughputDescription {
    ProvisionedThroughputDescription {
        read_capacity_units: Some(billing.read_units as i64),
        write_capacity_units: Some(billing.write_units as i64),
        number_of_decreases_today: Some(0),
        last_increase_date_time: billing.increased_ms.map(seconds),
        last_decrease_date_time: billing.decreased_ms.map(seconds),
    }
}

/// A table that was never on-demand has none.
fn billing_mode(billing: &Billing) -> Option<BillingModeSummary> {
    let since = billing.on_demand_since_ms?;
    Some(BillingModeSummary {
        billing_mode: Some(match billing.mode {
            BillingMode::OnDemand => Mode::PayPerRequest,
            BillingMode::Provisioned => Mode::Provisioned,
        }),
        last_update_to_pay_per_request_date_time: Some(seconds(since)),
    })
}

fn on_demand_max(max: OnDemandMax) -> Option<OnDemandThroughput> {
    (max.read_units.is_some() || max.write_units.is_some()).then(|| OnDemandThroughput {
        max_read_request_units: Some(max.read_units.unwrap_or(-1)),
        max_write_request_units: Some(max.write_units.unwrap_or(-1)),
    })
}

/// What can be served at once: what a new on-demand table can, or what is provisioned if more.
fn warm(read_units: u64, write_units: u64) -> TableWarmThroughputDescription {
    let partitions = capacity::PARTITIONS_ON_DEMAND;
    TableWarmThroughputDescription {
        read_units_per_second: Some(read_units.max(partitions * capacity::PARTITION_READ_UNITS) as i64),
        write_units_per_second: Some(write_units.max(partitions * capacity::PARTITION_WRITE_UNITS) as i64),
        status: Some(TableStatus::Active),
    }
}

fn table_class(table: &Table) -> Option<TableClassSummary> {
    let class = table.class.as_ref()?;
    Some(TableClassSummary {
        table_class: Some(match class.infrequent_access {
            true => TableClass::StandardInfrequentAccess,
            false => TableClass::Standard,
        }),
        last_update_date_time: class.changed_ms.map(seconds),
    })
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}
