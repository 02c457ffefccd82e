//! A table as clients see it.

use api::{
    AttributeDefinition, BillingMode as Mode, BillingModeSummary, KeySchemaElement, KeyType,
    OnDemandThroughput, ProvisionedThroughputDescription, ScalarAttributeType, TableClass,
    TableClassSummary, TableDescription, TableStatus, TableWarmThroughputDescription,
};
use item::Type;

use crate::table::{Billing, BillingMode, KeyAttribute, KeySchema, Table};

pub fn description(table: &Table, status: TableStatus) -> TableDescription {
    TableDescription {
        attribute_definitions: Some(table.keys.attributes().map(definition).collect()),
        table_name: Some(table.name.clone()),
        key_schema: Some(key_schema(&table.keys)),
        table_status: Some(status),
        creation_date_time: Some(seconds(table.created_ms)),
        provisioned_throughput: Some(throughput(&table.billing)),
        table_arn: Some(table.arn()),
        table_id: Some(table.id.clone()),
        billing_mode_summary: billing_mode(&table.billing),
        on_demand_throughput: on_demand_max(&table.billing),
        warm_throughput: Some(warm(&table.billing)),
        table_class_summary: table_class(table),
        deletion_protection_enabled: Some(table.deletion_protection),
        ..TableDescription::default()
    }
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

fn on_demand_max(billing: &Billing) -> Option<OnDemandThroughput> {
    let max = billing.on_demand_max;
    (max.read_units.is_some() || max.write_units.is_some()).then(|| OnDemandThroughput {
        max_read_request_units: Some(max.read_units.unwrap_or(-1)),
        max_write_request_units: Some(max.write_units.unwrap_or(-1)),
    })
}

/// What the table can serve at once: what a new on-demand table can, or what is provisioned if more.
fn warm(billing: &Billing) -> TableWarmThroughputDescription {
    let partitions = capacity::PARTITIONS_ON_DEMAND;
    TableWarmThroughputDescription {
        read_units_per_second: Some(billing.read_units.max(partitions * capacity::PARTITION_READ_UNITS) as i64),
        write_units_per_second: Some(
            billing.write_units.max(partitions * capacity::PARTITION_WRITE_UNITS) as i64
        ),
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
