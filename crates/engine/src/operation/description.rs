//! The TableDescription of a table.

use api::{
    AttributeDefinition, BillingMode as Mode, BillingModeSummary, GlobalSecondaryIndexDescription,
    GlobalSecondaryIndexWarmThroughputDescription, GlobalTableSettingsReplicationMode,
    GlobalTableWitnessDescription, IndexStatus, KeySchemaElement, KeyType, LocalSecondaryIndexDescription,
    MultiRegionConsistency, OnDemandThroughput, OnDemandThroughputOverride, ProjectionType,
    ProvisionedThroughputDescription, ProvisionedThroughputOverride, ReplicaDescription,
    ReplicaGlobalSecondaryIndexDescription, ReplicaStatus, RestoreSummary, SSEDescription, SSEStatus,
    SSEType, ScalarAttributeType, SearchSchemaElement, SearchSchemaElementType, StreamSpecification,
    TableClass, TableClassSummary, TableDescription, TableStatus, TableWarmThroughputDescription,
    VectorAttributeDefinition, VectorDistanceFunction, VectorIndexDescription, VectorIndexInfo,
    WitnessStatus,
};
use item::Type;

use crate::Namespace;
use crate::base::membership::{IndexOverride, Membership, Replica, ReplicaState};
use crate::base::stream;
use crate::base::strong::Strong;
use crate::base::table::{
    Billing, BillingMode, DistanceFunction, Encryption, Index, IndexState, KeyAttribute, KeySchema,
    OnDemandMax, Projection, Restore, Scope, Table, TableState, WarmThroughput,
};
use crate::tables::catalog::LiveTable;

/// The description of a table that is being deleted: it has no schema.
pub fn deleted(table: &LiveTable, now_ms: u64) -> TableDescription {
    TableDescription {
        attribute_definitions: None,
        key_schema: None,
        creation_date_time: None,
        local_secondary_indexes: None,
        global_secondary_indexes: None,
        vector_indexes: None,
        ..description(table, TableStatus::Deleting, now_ms)
    }
}

/// The description of a table in its current state.
pub fn current(table: &LiveTable, now_ms: u64) -> TableDescription {
    match table.state {
        TableState::Creating => description(table, TableStatus::Creating, now_ms),
        TableState::Active => description(table, TableStatus::Active, now_ms),
        TableState::Updating => description(table, TableStatus::Updating, now_ms),
        TableState::Deleting => deleted(table, now_ms),
    }
}

/// The description of a table with this status. The answer to a request shows the status that the request
/// began, which may already be over. `now_ms` is a time by the clock of capacity.
pub fn description(table: &LiveTable, status: TableStatus, now_ms: u64) -> TableDescription {
    let size = table.sizes.shown(table.space());
    let is_global = table.other_regions().next().is_some();
    TableDescription {
        attribute_definitions: Some(table.definitions.iter().map(definition).collect()),
        table_name: Some(table.name.clone()),
        key_schema: Some(key_schema(&table.keys)),
        table_status: Some(status),
        creation_date_time: Some(seconds(table.created_ms)),
        provisioned_throughput: Some(throughput(&table.billing, now_ms)),
        table_arn: Some(table.arn()),
        table_id: Some(table.id.clone()),
        billing_mode_summary: billing_mode(&table.billing),
        on_demand_throughput: on_demand_max(table.billing.on_demand_max),
        warm_throughput: Some(warm(table.billing.warm())),
        table_class_summary: table_class(table),
        deletion_protection_enabled: Some(table.deletion_protection),
        sse_description: table.encryption.as_ref().map(|encryption| sse(table, encryption)),
        stream_specification: table
            .stream
            .as_ref()
            .map(|stream| StreamSpecification { stream_enabled: true, stream_view_type: Some(stream.view) }),
        latest_stream_label: table.last_stream_ms.map(stream::iso_8601_ms),
        latest_stream_arn: table.last_stream_ms.map(|ms| table.stream_arn(ms)),
        restore_summary: table.restore.as_ref().map(restore_summary),
        global_table_version: is_global.then(|| "2019.11.21".to_owned()),
        global_table_settings_replication_mode: is_global
            .then_some(GlobalTableSettingsReplicationMode::EnabledWithOverrides),
        replicas: is_global.then(|| replicas(table)),
        multi_region_consistency: table.strong.as_ref().map(|_| MultiRegionConsistency::Strong),
        global_table_witnesses: table.strong.as_ref().and_then(witnesses),
        item_count: Some(size.items),
        table_size_bytes: Some(size.bytes),
        local_secondary_indexes: listed(table, Scope::Local, local_index),
        global_secondary_indexes: listed(table, Scope::Global, |table, index| {
            global_index(table, index, status, now_ms)
        }),
        vector_indexes: listed(table, Scope::Vector, |table, index| vector_index(table, index, status)),
        ..TableDescription::default()
    }
}

/// The other Regions of a global table.
fn replicas(table: &Table) -> Vec<ReplicaDescription> {
    let members = table.membership.iter();
    let members = members.flat_map(|own| own.replicas.iter().map(|it| replica(own, it)));
    let strong = table.strong.iter().flat_map(|strong| &strong.replicas);
    members.chain(strong.map(|it| described(&it.region, it.state))).collect()
}

fn described(region: &str, state: ReplicaState) -> ReplicaDescription {
    ReplicaDescription {
        region_name: Some(region.to_owned()),
        replica_status: Some(match state {
            ReplicaState::Creating => ReplicaStatus::Creating,
            ReplicaState::Active => ReplicaStatus::Active,
            ReplicaState::Deleting => ReplicaStatus::Deleting,
        }),
        ..ReplicaDescription::default()
    }
}

/// The witness of a strongly consistent table. It comes and goes with the replicas.
fn witnesses(strong: &Strong) -> Option<Vec<GlobalTableWitnessDescription>> {
    let has = |state| strong.replicas.iter().any(|replica| replica.state == state);
    let status = match () {
        () if has(ReplicaState::Creating) => WitnessStatus::Creating,
        () if has(ReplicaState::Deleting) => WitnessStatus::Deleting,
        () => WitnessStatus::Active,
    };
    let described = |region: &String| GlobalTableWitnessDescription {
        region_name: Some(region.clone()),
        witness_status: Some(status),
    };
    Some(vec![described(strong.witness.as_ref()?)])
}

/// Another member of a global table. What it has like the group is not shown.
fn replica(own: &Membership, replica: &Replica) -> ReplicaDescription {
    let overrides = own.overrides.get(&replica.region).cloned().unwrap_or_default();
    let throughput = |read_units: Option<u64>| {
        read_units.map(|units| ProvisionedThroughputOverride { read_capacity_units: Some(units as i64) })
    };
    let maximum = |max: Option<i64>| {
        max.map(|units| OnDemandThroughputOverride { max_read_request_units: Some(units) })
    };
    let index = |(name, own): (&String, &IndexOverride)| ReplicaGlobalSecondaryIndexDescription {
        index_name: Some(name.clone()),
        provisioned_throughput_override: throughput(own.read_units),
        on_demand_throughput_override: maximum(own.max_read_units),
        ..ReplicaGlobalSecondaryIndexDescription::default()
    };
    let indexes: Vec<ReplicaGlobalSecondaryIndexDescription> = overrides.indexes.iter().map(index).collect();
    ReplicaDescription {
        kms_master_key_id: overrides.kms_key,
        provisioned_throughput_override: throughput(overrides.read_units),
        on_demand_throughput_override: maximum(overrides.max_read_units),
        global_secondary_indexes: (!indexes.is_empty()).then_some(indexes),
        replica_table_class_summary: overrides.infrequent_access.map(|rarely| TableClassSummary {
            table_class: Some(class(rarely)),
            last_update_date_time: None,
        }),
        ..described(&replica.region, replica.state)
    }
}

fn restore_summary(restore: &Restore) -> RestoreSummary {
    RestoreSummary {
        source_table_arn: Some(restore.source_table_arn.clone()),
        source_backup_arn: restore.source_backup_arn.clone(),
        restore_date_time: restore.time_us as f64 / 1e6,
        restore_in_progress: true,
    }
}

/// The descriptions of the indexes of one scope; `None` if there are none.
fn listed<T>(table: &LiveTable, scope: Scope, describe: impl Fn(&LiveTable, &Index) -> T) -> Option<Vec<T>> {
    let indexes = table.indexes.iter().filter(|index| index.scope == scope);
    let described: Vec<T> = indexes.map(|index| describe(table, index)).collect();
    (!described.is_empty()).then_some(described)
}

fn local_index(table: &LiveTable, index: &Index) -> LocalSecondaryIndexDescription {
    let size = table.sizes.shown(index.space());
    LocalSecondaryIndexDescription {
        index_name: Some(index.name.clone()),
        index_arn: Some(table.index_arn(index)),
        key_schema: Some(key_schema(&index.keys)),
        projection: Some(projection(&index.projection)),
        index_size_bytes: Some(size.bytes),
        item_count: Some(size.items),
    }
}

fn global_index(
    table: &LiveTable,
    index: &Index,
    status: TableStatus,
    now_ms: u64,
) -> GlobalSecondaryIndexDescription {
    let size = table.sizes.shown(index.space());
    let throughput = index.billing.unwrap_or_default();
    let warm = throughput.warm();
    GlobalSecondaryIndexDescription {
        index_name: Some(index.name.clone()),
        index_arn: Some(table.index_arn(index)),
        key_schema: Some(key_schema(&index.keys)),
        projection: Some(projection(&index.projection)),
        index_status: Some(index_status(index, status)),
        backfilling: backfilling(index, status),
        provisioned_throughput: Some(ProvisionedThroughputDescription {
            read_capacity_units: Some(throughput.read_units as i64),
            write_capacity_units: Some(throughput.write_units as i64),
            number_of_decreases_today: Some(i64::from(throughput.decreases.today(now_ms))),
            ..ProvisionedThroughputDescription::default()
        }),
        on_demand_throughput: on_demand_max(throughput.on_demand_max),
        warm_throughput: Some(GlobalSecondaryIndexWarmThroughputDescription {
            read_units_per_second: Some(warm.read_units as i64),
            write_units_per_second: Some(warm.write_units as i64),
            status: Some(IndexStatus::Active),
        }),
        index_size_bytes: Some(size.bytes),
        item_count: Some(size.items),
    }
}

fn index_status(index: &Index, status: TableStatus) -> IndexStatus {
    match index.state {
        _ if status == TableStatus::Creating => IndexStatus::Creating,
        IndexState::Creating => IndexStatus::Creating,
        IndexState::Active => IndexStatus::Active,
        IndexState::Deleting => IndexStatus::Deleting,
    }
}

/// At DynamoDB the back-fill of a new index begins when the table is no longer UPDATING.
fn backfilling(index: &Index, status: TableStatus) -> Option<bool> {
    (index.state == IndexState::Creating).then_some(status != TableStatus::Updating)
}

fn vector_index(table: &LiveTable, index: &Index, status: TableStatus) -> VectorIndexDescription {
    let size = table.sizes.shown(index.space());
    let VectorIndexInfo {
        dimensions,
        distance_function,
        index_name,
        projection,
        search_schema,
        vector_attribute,
    } = vector_info(index);
    VectorIndexDescription {
        backfilling: backfilling(index, status),
        dimensions,
        distance_function,
        index_arn: Some(table.index_arn(index)),
        index_name,
        index_size_bytes: Some(size.bytes),
        index_status: Some(index_status(index, status)),
        item_count: Some(size.items),
        projection,
        search_schema,
        vector_attribute,
    }
}

/// The definition of a vector index as clients see it.
pub fn vector_info(index: &Index) -> VectorIndexInfo {
    let settings = index.vector.as_ref();
    let element = |search_schema_element_type: SearchSchemaElementType| {
        move |attribute: &KeyAttribute| SearchSchemaElement {
            attribute_name: attribute.name.clone(),
            search_schema_element_type,
        }
    };
    let hash = index.keys.partition.iter().map(element(SearchSchemaElementType::Hash));
    let filters = index.filters().iter().map(element(SearchSchemaElementType::InlineFilter));
    let search_schema: Vec<SearchSchemaElement> = hash.chain(filters).collect();
    VectorIndexInfo {
        dimensions: settings.map(|settings| settings.dimensions as i64),
        distance_function: settings.map(|settings| match settings.distance {
            DistanceFunction::Cosine => VectorDistanceFunction::Cosine,
            DistanceFunction::DotProduct => VectorDistanceFunction::DotProduct,
            DistanceFunction::Euclidean => VectorDistanceFunction::Euclidean,
        }),
        index_name: Some(index.name.clone()),
        projection: Some(projection(&index.projection)),
        search_schema: (!search_schema.is_empty()).then_some(search_schema),
        vector_attribute: settings
            .map(|settings| VectorAttributeDefinition { attribute_name: settings.attribute.clone() }),
    }
}

/// A projection as clients see it.
pub fn projection(projection: &Projection) -> api::Projection {
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

/// A key schema as clients see it.
pub fn key_schema(keys: &KeySchema) -> Vec<KeySchemaElement> {
    let element = |attribute: &KeyAttribute, key_type| KeySchemaElement {
        attribute_name: attribute.name.clone(),
        key_type,
    };
    let hash = keys.partition.iter().map(|attribute| element(attribute, KeyType::Hash));
    let range = keys.sort.iter().map(|attribute| element(attribute, KeyType::Range));
    hash.chain(range).collect()
}

fn throughput(billing: &Billing, now_ms: u64) -> ProvisionedThroughputDescription {
    ProvisionedThroughputDescription {
        read_capacity_units: Some(billing.read_units as i64),
        write_capacity_units: Some(billing.write_units as i64),
        number_of_decreases_today: Some(i64::from(billing.decreases.today(now_ms))),
        last_increase_date_time: billing.increased_ms.map(seconds),
        last_decrease_date_time: billing.decreased_ms.map(seconds),
    }
}

/// `None` for a table that was never on-demand.
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

/// `None` if there are no maximums.
pub fn on_demand_max(max: OnDemandMax) -> Option<OnDemandThroughput> {
    (max != OnDemandMax::default()).then_some(OnDemandThroughput {
        max_read_request_units: max.read_units,
        max_write_request_units: max.write_units,
    })
}

fn warm(warm: WarmThroughput) -> TableWarmThroughputDescription {
    TableWarmThroughputDescription {
        read_units_per_second: Some(warm.read_units as i64),
        write_units_per_second: Some(warm.write_units as i64),
        status: Some(TableStatus::Active),
    }
}

fn sse(table: &Table, encryption: &Encryption) -> SSEDescription {
    let key = match encryption.key.as_deref() {
        Some(arn) if arn.starts_with("arn:") => arn.to_owned(),
        Some(alias) if alias.starts_with("alias/") => kms_arn(table, alias),
        Some(id) => kms_arn(table, &format!("key/{id}")),
        None => kms_arn(table, "alias/aws/dynamodb"),
    };
    SSEDescription {
        status: Some(SSEStatus::Enabled),
        sse_type: Some(SSEType::Kms),
        kms_master_key_arn: Some(key),
        ..SSEDescription::default()
    }
}

fn kms_arn(table: &Table, resource: &str) -> String {
    let Namespace { account, region } = &table.namespace;
    format!("arn:aws:kms:{region}:{account}:{resource}")
}

fn table_class(table: &Table) -> Option<TableClassSummary> {
    let class = table.class.as_ref()?;
    Some(TableClassSummary {
        table_class: Some(self::class(class.infrequent_access)),
        last_update_date_time: class.changed_ms.map(seconds),
    })
}

fn class(infrequent_access: bool) -> TableClass {
    if infrequent_access { TableClass::StandardInfrequentAccess } else { TableClass::Standard }
}

/// A time as clients see it.
pub fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}
