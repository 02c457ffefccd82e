//! DescribeTableReplicaAutoScaling: how each Region of a global table scales its throughput.

use std::sync::Arc;

use api::{
    AutoScalingPolicyDescription, AutoScalingSettingsDescription,
    AutoScalingTargetTrackingScalingPolicyConfigurationDescription, DescribeTableReplicaAutoScalingInput,
    DescribeTableReplicaAutoScalingOutput, Error, ReplicaAutoScalingDescription,
    ReplicaGlobalSecondaryIndexAutoScalingDescription, ReplicaStatus, TableAutoScalingDescription,
};

use super::authorization::access::{Access, Resource};
use super::description;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;
use crate::regions::{Scaled, ScalingSettings};
use crate::tables::catalog::LiveTable;

pub(super) struct DescribeTableReplicaAutoScaling;

impl Serve for DescribeTableReplicaAutoScaling {
    type Input = DescribeTableReplicaAutoScalingInput;
    type Output = DescribeTableReplicaAutoScalingOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r DescribeTableReplicaAutoScalingInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeTableReplicaAutoScaling", Resource::table(&input.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DescribeTableReplicaAutoScalingInput,
    ) -> Result<DescribeTableReplicaAutoScalingOutput, Error> {
        input.check()?;
        let table = find(engine, caller, &input.table_name)?;
        Ok(DescribeTableReplicaAutoScalingOutput {
            table_auto_scaling_description: Some(describe(engine, &table).await?),
        })
    }
}

/// The table, if other Regions have it, too.
pub fn find(engine: &Engine, caller: &Caller, name: &str) -> Result<Arc<LiveTable>, Error> {
    let table = engine.find(caller, name)?;
    let is_global = |table: &Arc<LiveTable>| table.other_regions().next().is_some();
    table.filter(is_global).ok_or_else(|| Error::no_such_global_table(name))
}

/// All members: the Region that is asked, and then the others.
pub async fn describe(engine: &Engine, table: &LiveTable) -> Result<TableAutoScalingDescription, Error> {
    let whole = description::current(table, engine.usage.now().ms);
    let own = (table.namespace.region.to_string(), ReplicaStatus::Active);
    let others = whole
        .replicas
        .iter()
        .flatten()
        .filter_map(|replica| Some((replica.region_name.clone()?, replica.replica_status?)));
    let mut replicas = Vec::new();
    for (region, status) in std::iter::once(own).chain(others) {
        let scaling = engine.scaling_of(table, &region).await?;
        let settings = |index: Option<&str>, is_write: bool| {
            let is_meant = |scaled: &&Scaled| {
                scaled.units.index.as_deref() == index && scaled.units.is_write == is_write
            };
            Some(describe_settings(scaling.iter().find(is_meant).and_then(|scaled| scaled.settings.as_ref())))
        };
        let indexes = whole.global_secondary_indexes.iter().flatten();
        let indexes = indexes.map(|index| ReplicaGlobalSecondaryIndexAutoScalingDescription {
            index_name: index.index_name.clone(),
            index_status: index.index_status,
            provisioned_read_capacity_auto_scaling_settings: settings(index.index_name.as_deref(), false),
            provisioned_write_capacity_auto_scaling_settings: settings(index.index_name.as_deref(), true),
        });
        replicas.push(ReplicaAutoScalingDescription {
            region_name: Some(region),
            replica_status: Some(status),
            global_secondary_indexes: Some(indexes.collect()),
            replica_provisioned_read_capacity_auto_scaling_settings: settings(None, false),
            replica_provisioned_write_capacity_auto_scaling_settings: settings(None, true),
        });
    }
    Ok(TableAutoScalingDescription {
        table_name: whole.table_name,
        table_status: whole.table_status,
        replicas: Some(replicas),
    })
}

fn describe_settings(settings: Option<&ScalingSettings>) -> AutoScalingSettingsDescription {
    let Some(settings) = settings else {
        return AutoScalingSettingsDescription {
            auto_scaling_disabled: Some(true),
            scaling_policies: Some(Vec::new()),
            ..AutoScalingSettingsDescription::default()
        };
    };
    let configuration = AutoScalingTargetTrackingScalingPolicyConfigurationDescription {
        disable_scale_in: settings.disable_scale_in,
        scale_in_cooldown: settings.scale_in_cooldown,
        scale_out_cooldown: settings.scale_out_cooldown,
        target_value: settings.target_value,
    };
    AutoScalingSettingsDescription {
        auto_scaling_disabled: None,
        auto_scaling_role_arn: Some(settings.role_arn.clone()),
        minimum_units: Some(settings.min_units),
        maximum_units: Some(settings.max_units),
        scaling_policies: Some(vec![AutoScalingPolicyDescription {
            policy_name: Some(settings.policy_name.clone()),
            target_tracking_scaling_policy_configuration: Some(configuration),
        }]),
    }
}
