//! Backups as clients see them, and how requests name them.

use api::{
    BackupDescription, BackupDetails, BackupStatus, BackupSummary, BackupType, BillingMode as Mode, Error,
    ErrorKind, GlobalSecondaryIndexInfo, LocalSecondaryIndexInfo, ProvisionedThroughput, SourceTableDetails,
    SourceTableFeatureDetails, StreamSpecification, TableName, TimeToLiveDescription, TimeToLiveStatus,
    VectorIndexInfo,
};

use super::description::{key_schema, on_demand_max, projection, seconds, vector_info};
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::table::{BillingMode, Index, Scope};
use crate::copies::backup::{Backup, BackupKind, SYSTEM_LIFETIME_MS};
use crate::copies::{failures, records};
use crate::operation::Engine;
use crate::tables::catalog::LiveTable;

/// The caller's backup with this ARN.
pub async fn find(engine: &Engine, caller: &Caller, arn: &str) -> Result<Backup, Error> {
    let invalid = || Error::validation("Invalid Backup ARN");
    let (table, _) = arn.split_once("/backup/").ok_or_else(invalid)?;
    let name = TableName::parse_arn(table).ok_or_else(invalid)?;
    let home = name.home.ok_or_else(invalid)?;
    if home.account != &*caller.namespace.account {
        return Err(Error::new(ErrorKind::AccessDenied, "Access is denied"));
    }
    let found =
        records::get::<Backup>(&*engine.store, &caller.namespace, arn).await.map_err(fault::of_store)?;
    match found {
        Some(backup) => Ok(backup),
        None => Err(failures::explain(engine, &caller.namespace, arn, Error::backup_not_found(arn)).await),
    }
}

/// Whether a table is being restored from the backup with this ARN.
pub fn is_being_restored(engine: &Engine, arn: &str) -> bool {
    let source =
        |table: &LiveTable| table.restore.as_ref().and_then(|restore| restore.source_backup_arn.clone());
    engine.catalog.all().iter().any(|table| source(table).as_deref() == Some(arn))
}

/// Its BackupDetails.
pub fn details(backup: &Backup) -> BackupDetails {
    BackupDetails {
        backup_arn: backup.arn.clone(),
        backup_creation_date_time: seconds(backup.created_ms),
        backup_expiry_date_time: expiry(backup),
        backup_name: backup.name.clone(),
        backup_size_bytes: Some(backup.size_bytes),
        backup_status: status(backup),
        backup_type: kind(backup),
    }
}

/// Its BackupSummary.
pub fn summary(backup: &Backup) -> BackupSummary {
    BackupSummary {
        backup_arn: Some(backup.arn.clone()),
        backup_creation_date_time: Some(seconds(backup.created_ms)),
        backup_expiry_date_time: expiry(backup),
        backup_name: Some(backup.name.clone()),
        backup_size_bytes: Some(backup.size_bytes),
        backup_status: Some(status(backup)),
        backup_type: Some(kind(backup)),
        table_arn: Some(backup.table.arn()),
        table_id: Some(backup.table.id.clone()),
        table_name: Some(backup.table.name.clone()),
    }
}

/// Its BackupDescription. That of a system backup has no features.
pub fn description(backup: &Backup) -> BackupDescription {
    let table = &backup.table;
    let features = match backup.kind {
        BackupKind::User => features(backup),
        BackupKind::System => SourceTableFeatureDetails::default(),
    };
    BackupDescription {
        backup_details: Some(details(backup)),
        source_table_details: Some(SourceTableDetails {
            billing_mode: Some(match table.billing.mode {
                BillingMode::OnDemand => Mode::PayPerRequest,
                BillingMode::Provisioned => Mode::Provisioned,
            }),
            item_count: Some(backup.item_count),
            key_schema: key_schema(&table.keys),
            on_demand_throughput: on_demand_max(table.billing.on_demand_max),
            provisioned_throughput: ProvisionedThroughput {
                read_capacity_units: table.billing.read_units as i64,
                write_capacity_units: table.billing.write_units as i64,
            },
            table_arn: Some(table.arn()),
            table_creation_date_time: seconds(table.created_ms),
            table_id: table.id.clone(),
            table_name: table.name.clone(),
            table_size_bytes: Some(backup.size_bytes),
        }),
        source_table_feature_details: Some(features),
    }
}

fn features(backup: &Backup) -> SourceTableFeatureDetails {
    let table = &backup.table;
    let of_scope = |scope: Scope| table.indexes.iter().filter(move |index| index.scope == scope);
    let global: Vec<GlobalSecondaryIndexInfo> = of_scope(Scope::Global).map(global_index).collect();
    let local: Vec<LocalSecondaryIndexInfo> = of_scope(Scope::Local).map(local_index).collect();
    let vector: Vec<VectorIndexInfo> = of_scope(Scope::Vector).map(vector_info).collect();
    SourceTableFeatureDetails {
        global_secondary_indexes: (!global.is_empty()).then_some(global),
        local_secondary_indexes: (!local.is_empty()).then_some(local),
        vector_indexes: (!vector.is_empty()).then_some(vector),
        stream_description: table
            .stream
            .as_ref()
            .map(|stream| StreamSpecification { stream_enabled: true, stream_view_type: Some(stream.view) }),
        time_to_live_description: table.time_to_live.clone().map(|attribute| TimeToLiveDescription {
            attribute_name: Some(attribute),
            time_to_live_status: Some(TimeToLiveStatus::Enabled),
        }),
        ..SourceTableFeatureDetails::default()
    }
}

fn global_index(index: &Index) -> GlobalSecondaryIndexInfo {
    let units = index.billing.unwrap_or_default();
    GlobalSecondaryIndexInfo {
        index_name: Some(index.name.clone()),
        key_schema: Some(key_schema(&index.keys)),
        on_demand_throughput: on_demand_max(units.on_demand_max),
        projection: Some(projection(&index.projection)),
        provisioned_throughput: Some(ProvisionedThroughput {
            read_capacity_units: units.read_units as i64,
            write_capacity_units: units.write_units as i64,
        }),
    }
}

fn local_index(index: &Index) -> LocalSecondaryIndexInfo {
    LocalSecondaryIndexInfo {
        index_name: Some(index.name.clone()),
        key_schema: Some(key_schema(&index.keys)),
        projection: Some(projection(&index.projection)),
    }
}

fn status(backup: &Backup) -> BackupStatus {
    if backup.is_available { BackupStatus::Available } else { BackupStatus::Creating }
}

fn kind(backup: &Backup) -> BackupType {
    match backup.kind {
        BackupKind::User => BackupType::User,
        BackupKind::System => BackupType::System,
    }
}

fn expiry(backup: &Backup) -> Option<f64> {
    (backup.kind == BackupKind::System).then(|| seconds(backup.created_ms + SYSTEM_LIFETIME_MS))
}
