//! UpdateTableReplicaAutoScaling: how the Regions of a global table scale their throughput. Writes are scaled alike in every
//! Region, reads in each as it is asked. It is another way to set what Application Auto Scaling keeps.

use std::collections::BTreeMap;

use api::{
    AutoScalingSettingsUpdate, Error, UpdateTableReplicaAutoScalingInput, UpdateTableReplicaAutoScalingOutput,
};

use super::authorization::access::{Access, Resource};
use super::describe_table_replica_auto_scaling::{describe, find};
use super::replica_updates::{check_member, check_settled};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::table::{BillingMode, Table};
use crate::operation::Engine;
use crate::regions::{Scaled, ScaledUnits, ScalingSettings};

pub(super) struct UpdateTableReplicaAutoScaling;

impl Serve for UpdateTableReplicaAutoScaling {
    type Input = UpdateTableReplicaAutoScalingInput;
    type Output = UpdateTableReplicaAutoScalingOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r UpdateTableReplicaAutoScalingInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:UpdateTableReplicaAutoScaling", Resource::table(&input.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: UpdateTableReplicaAutoScalingInput,
    ) -> Result<UpdateTableReplicaAutoScalingOutput, Error> {
        input.check()?;
        let table = find(engine, caller, &input.table_name)?;
        check_provisioned(&table, &input)?;
        let by_region = changes(&table, &input)?;
        check_settled(&table)?;
        for (region, scaled) in by_region {
            engine.scale_replica(&table, &region, scaled).await?;
        }
        Ok(UpdateTableReplicaAutoScalingOutput {
            table_auto_scaling_description: Some(describe(engine, &table).await?),
        })
    }
}

/// The members, this one first: what is wrong is found before anything is set elsewhere.
fn regions(table: &Table) -> Vec<String> {
    let others = table.other_regions().map(str::to_owned);
    std::iter::once(table.namespace.region.to_string()).chain(others).collect()
}

/// Refuses to scale what has no units. The parameters are named as in the first version of global tables.
fn check_provisioned(table: &Table, input: &UpdateTableReplicaAutoScalingInput) -> Result<(), Error> {
    let asked = [
        (
            "GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate",
            input.provisioned_write_capacity_auto_scaling_update.is_some(),
        ),
        ("GlobalTableGlobalSecondaryIndexSettingsUpdate", input.global_secondary_index_updates.is_some()),
        ("ReplicaSettingsUpdate", input.replica_updates.is_some()),
    ];
    let asked: Vec<&str> = asked.into_iter().filter(|(_, asked)| *asked).map(|(name, _)| name).collect();
    if asked.is_empty() {
        return Err(Error::replica_scaling_update_missing());
    }
    if table.billing.mode == BillingMode::OnDemand {
        let mut regions = regions(table);
        regions.sort();
        return Err(Error::replica_scaling_on_demand(&table.name, &regions, &asked));
    }
    Ok(())
}

/// What is to be set in each Region.
fn changes(
    table: &Table,
    input: &UpdateTableReplicaAutoScalingInput,
) -> Result<Vec<(String, Vec<Scaled>)>, Error> {
    let mut everywhere = Vec::new();
    if let Some(update) = &input.provisioned_write_capacity_auto_scaling_update {
        everywhere.push(change(table, None, true, update)?);
    }
    for update in input.global_secondary_index_updates.iter().flatten() {
        if let Some(writes) = &update.provisioned_write_capacity_auto_scaling_update {
            everywhere.push(change(table, update.index_name.as_deref(), true, writes)?);
        }
    }
    let mut reads: BTreeMap<&str, Vec<Scaled>> = BTreeMap::new();
    for replica in input.replica_updates.iter().flatten() {
        if *replica.region_name != *table.namespace.region {
            check_member(table, &replica.region_name)?;
        }
        let own = reads.entry(&replica.region_name).or_default();
        if let Some(update) = &replica.replica_provisioned_read_capacity_auto_scaling_update {
            own.push(change(table, None, false, update)?);
        }
        for update in replica.replica_global_secondary_index_updates.iter().flatten() {
            if let Some(reads) = &update.provisioned_read_capacity_auto_scaling_update {
                own.push(change(table, update.index_name.as_deref(), false, reads)?);
            }
        }
    }
    let of_region = |region: String| {
        let mut scaled = everywhere.clone();
        scaled.extend(reads.remove(&*region).unwrap_or_default());
        (region, scaled)
    };
    Ok(regions(table).into_iter().map(of_region).collect())
}

/// How units are to be scaled: all settings, or none if scaling is switched off.
fn change(
    table: &Table,
    index: Option<&str>,
    is_write: bool,
    update: &AutoScalingSettingsUpdate,
) -> Result<Scaled, Error> {
    if let Some(index) = index
        && !table.index(index).is_some_and(|index| index.is_global())
    {
        return Err(Error::resource_not_found_index(index, &table.name));
    }
    let units = ScaledUnits { index: index.map(str::to_owned), is_write };
    let given = [
        ("MaximumUnits", update.maximum_units.is_some()),
        ("MinimumUnits", update.minimum_units.is_some()),
        ("ScalingPolicyUpdate", update.scaling_policy_update.is_some()),
    ];
    let named = |is_given: bool| -> Vec<&str> {
        given.iter().filter(|(_, given)| *given == is_given).map(|(name, _)| *name).collect()
    };
    if update.auto_scaling_disabled == Some(true) {
        return match named(true)[..] {
            [] => Ok(Scaled { units, settings: None }),
            ref given => Err(Error::replica_scaling_not_blank(&table.name, given)),
        };
    }
    let (Some(min_units), Some(max_units), Some(policy)) =
        (update.minimum_units, update.maximum_units, &update.scaling_policy_update)
    else {
        return Err(Error::replica_scaling_incomplete(&table.name, &named(false)));
    };
    let configuration = &policy.target_tracking_scaling_policy_configuration;
    let settings = ScalingSettings {
        min_units,
        max_units,
        role_arn: String::new(),
        policy_name: policy.policy_name.clone().unwrap_or_else(|| policy_name(table, &units)),
        target_value: configuration.target_value,
        scale_in_cooldown: configuration.scale_in_cooldown,
        scale_out_cooldown: configuration.scale_out_cooldown,
        disable_scale_in: configuration.disable_scale_in,
    };
    Ok(Scaled { units, settings: Some(settings) })
}

/// The name of a policy that was given none.
fn policy_name(table: &Table, units: &ScaledUnits) -> String {
    let access = if units.is_write { "Write" } else { "Read" };
    let index = units.index.as_ref().map(|index| format!("/index/{index}")).unwrap_or_default();
    format!("DynamoDB{access}CapacityUtilization:table/{}{index}", table.name)
}
