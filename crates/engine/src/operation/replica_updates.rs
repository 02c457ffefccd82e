//! ReplicaUpdates of UpdateTable: Regions join and leave a global table, or get settings of their own. The Region that is
//! asked is the source of a new member.

use std::sync::Arc;

use api::{
    CreateReplicationGroupMemberAction, Error, ReplicaGlobalSecondaryIndex, StreamViewType, TableClass,
    TableDescription, TableStatus, UpdateReplicationGroupMemberAction, UpdateTableInput, UpdateTableOutput,
};
use store::{Space, StoreError};

use super::description::description;
use super::stream_specification::Moment;
use super::{strong_replicas, unserved};
use crate::base::fault;
use crate::base::membership::{IndexOverride, Membership, Overrides, ReplicaState, Sourced};
use crate::base::strong::Strong;
use crate::base::table::{BillingMode, Table, TableState};
use crate::base::version::Version;
use crate::operation::Engine;
use crate::regions::{self, TableThere, in_region};
use crate::tables::catalog::LiveTable;

/// The Regions that can be members, as AWS lists them.
pub(super) const REGIONS: [&str; 34] = [
    "ap-south-2",
    "ap-south-1",
    "eu-south-1",
    "eu-south-2",
    "me-central-1",
    "il-central-1",
    "ca-central-1",
    "ap-east-2",
    "mx-central-1",
    "eu-central-1",
    "eu-central-2",
    "us-west-1",
    "us-west-2",
    "af-south-1",
    "eu-north-1",
    "eu-west-3",
    "eu-west-2",
    "eu-west-1",
    "ap-northeast-3",
    "ap-northeast-2",
    "me-south-1",
    "ap-northeast-1",
    "sa-east-1",
    "ap-east-1",
    "ca-west-1",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "us-east-1",
    "ap-southeast-5",
    "us-east-2",
    "ap-southeast-6",
    "ap-southeast-7",
];

pub async fn run(
    engine: &Engine,
    table: &Arc<LiveTable>,
    input: &UpdateTableInput,
) -> Result<UpdateTableOutput, Error> {
    unserved::check_replica_updates(input)?;
    if let Some(own) = &table.membership
        && own.joins_from.is_some()
    {
        return Err(Error::replica_being_added(&table.name, &table.namespace.region));
    }
    if strong_replicas::is_meant(table, input) {
        return strong_replicas::run(engine, table, input).await;
    }
    let mut moves = input.replica_updates.iter().flatten().filter_map(|update| update.delete.as_ref());
    if moves.next().is_some_and(|first| moves.any(|other| other != first)) {
        return Err(Error::replica_actions_too_many());
    }
    let mut described = None;
    for update in input.replica_updates.iter().flatten() {
        let done = if let Some(action) = &update.create {
            create(engine, table, action, input.multi_region_consistency.is_some()).await?
        } else if let Some(action) = &update.delete {
            delete(engine, table, &action.region_name).await?
        } else if let Some(action) = &update.update {
            override_settings(engine, table, action).await?
        } else {
            continue;
        };
        described = Some(done);
        // A second entry that asks for the same is no other change.
        if update.update.is_none() {
            break;
        }
    }
    Ok(UpdateTableOutput { table_description: described })
}

/// The answer while the change is under way.
pub(super) fn answer(engine: &Engine, table: &LiveTable) -> TableDescription {
    description(table, TableStatus::Updating, engine.usage.now().ms)
}

async fn create(
    engine: &Engine,
    table: &Arc<LiveTable>,
    action: &CreateReplicationGroupMemberAction,
    has_consistency: bool,
) -> Result<TableDescription, Error> {
    let region = action.region_name.clone();
    if *table.namespace.region == *region {
        return Err(Error::replica_is_local());
    }
    if !REGIONS.contains(&region.as_str()) {
        return Err(Error::replica_region_unsupported(&region, &REGIONS));
    }
    if has_consistency && table.membership.is_some() {
        return Err(Error::validation(
            "MultiRegionConsistency parameter is unsupported on existing global table",
        ));
    }
    let member = table.membership.as_ref().and_then(|own| own.replica(&region));
    if member.is_some_and(|member| member.state == ReplicaState::Creating) {
        return Err(Error::global_table_in_use());
    }
    if member.is_some() || there(engine, table, &region).await?.is_some() {
        return Err(Error::replica_exists(&table.name));
    }
    check_scaled(engine, table).await?;
    let overrides = merged(Overrides::default(), &Asked::of_create(action), table);
    let (state, shards) = (engine.passing_state(TableState::Updating), engine.stream_shards);
    let created_ms = engine.new_stream_ms(&table.namespace, &table.name);
    let (now_ms, new) = (engine.environment.now_ms(), region.clone());
    let join = move |table: &Table, unused: Space, now_us: u64| {
        check_settled(table)?;
        let mut table = table.clone();
        let own_region = table.namespace.region.to_string();
        if table.membership.is_none() {
            let base = Version { time_us: now_us, region: own_region };
            table.membership = Some(Membership::new(Space(table.numbers_end().max(unused.0)), base));
        }
        let own = table.membership.as_mut().expect("it was just made");
        if own.replica(&new).is_some() {
            return Err(Error::replica_exists(&table.name));
        }
        own.add(&new, ReplicaState::Creating, now_us);
        own.sourced.push(Sourced { region: new.clone(), at_ms: now_ms });
        if overrides != Overrides::default() {
            own.overrides.insert(new.clone(), overrides.clone());
        }
        let unused = Space(table.numbers_end().max(unused.0));
        if table.stream.is_none() {
            let moment = Moment { created_ms, now_us, shards, unused };
            table.switch_stream_on(StreamViewType::NewAndOldImages, &moment);
        }
        table.settle_log(shards, unused, now_us + 1);
        table.state = state;
        Ok(table)
    };
    let changed = engine.change_between_writes(table, join).await.map_err(fault::of_store)?;
    let source = changed.ok_or_else(|| Error::resource_not_found_table(&table.name))??;
    let answer = answer(engine, &source);
    engine.start_join(&source, &region).await;
    engine.leave_state(&source).await;
    Ok(answer)
}

/// The table of this name in another Region, on this server or at a peer.
pub(super) async fn there(
    engine: &Engine,
    table: &LiveTable,
    region: &str,
) -> Result<Option<TableThere>, Error> {
    let standing = engine.table_there(table, region).await;
    standing.map_err(|error| match error {
        StoreError::Unavailable(_) => Error::replica_region_away(region),
        error => fault::of_store(error),
    })
}

/// A provisioned table, and every index of it, needs writes that are scaled.
pub(super) async fn check_scaled(engine: &Engine, table: &LiveTable) -> Result<(), Error> {
    if table.billing.mode == BillingMode::OnDemand {
        return Ok(());
    }
    for index in table.resources() {
        let name = index.map(|index| index.name.as_str());
        let is_scaled = match engine.replication.scaling.get() {
            Some(scaling) => scaling.scales_writes(&table.namespace, &table.name, name).await?,
            None => false,
        };
        if !is_scaled {
            return Err(Error::replica_not_scaled(index.is_some()));
        }
    }
    Ok(())
}

/// Refuses a change while another one is under way.
pub fn check_settled(table: &Table) -> Result<(), Error> {
    let is_changing = table.membership.as_ref().is_some_and(Membership::is_changing)
        || table.strong.as_ref().is_some_and(Strong::is_changing);
    if is_changing || table.state != TableState::Active {
        return Err(Error::global_table_in_use());
    }
    Ok(())
}

/// Refuses to remove a member that others were copied from lately and still are there.
pub fn check_not_source(table: &Table, now_ms: u64) -> Result<(), Error> {
    let was_source = table.membership.as_ref().is_some_and(|own| own.was_source(now_ms));
    if was_source { Err(Error::replica_was_source()) } else { Ok(()) }
}

async fn delete(engine: &Engine, table: &Arc<LiveTable>, region: &str) -> Result<TableDescription, Error> {
    if *table.namespace.region == *region {
        return Err(Error::replica_is_local());
    }
    check_member(table, region)?;
    check_settled(table)?;
    let namespace = in_region(table, region);
    // A peer that is away can't say: its member is removed when it is back.
    if let Ok(Some(leaving)) = there(engine, table, region).await {
        if leaving.is_protected {
            return Err(Error::replica_protected(&table.name, region));
        }
        if leaving.was_source {
            return Err(Error::replica_was_source());
        }
    }
    let (state, gone) = (engine.passing_state(TableState::Updating), region.to_owned());
    let leave = move |table: &Table, _: Space| {
        check_member(table, &gone)?;
        check_settled(table)?;
        let mut table = table.clone();
        table.membership.iter_mut().for_each(|own| own.set_state(&gone, ReplicaState::Deleting));
        table.state = state;
        Ok::<_, Error>(table)
    };
    let answer = answer(engine, table);
    let changed = engine.catalog.replace(&table.namespace, &table.name, leave).await;
    let changed = changed.map_err(fault::of_store)?;
    let source = changed.ok_or_else(|| Error::resource_not_found_table(&table.name))??;
    engine.start_leave(namespace, &table.name).await;
    engine.leave_state(&source).await;
    Ok(answer)
}

/// Refuses a Region that is no other member.
pub fn check_member(table: &Table, region: &str) -> Result<(), Error> {
    let is_member = table.other_regions().any(|other| other == region);
    if is_member { Ok(()) } else { Err(Error::replica_unknown(region)) }
}

/// Changes what a member has of its own.
async fn override_settings(
    engine: &Engine,
    table: &Arc<LiveTable>,
    action: &UpdateReplicationGroupMemberAction,
) -> Result<TableDescription, Error> {
    let region = &action.region_name;
    check_member(table, region)?;
    check_settled(table)?;
    if action.kms_master_key_id.is_some() {
        return Err(Error::invalid_parameter(
            "KMSMasterKeyId of a replica cannot be changed. Use SSESpecification in its Region",
        ));
    }
    if table.billing.mode == BillingMode::OnDemand && action.provisioned_throughput_override.is_some() {
        return Err(Error::invalid_parameter(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ));
    }
    let own = table.membership.as_ref().and_then(|own| own.overrides.get(region)).cloned();
    let overrides = merged(own.unwrap_or_default(), &Asked::of_update(action), table);
    let (region, now_us) = (region.clone(), engine.clock.now_us(&*engine.environment));
    let change = move |table: &Table, _: Space| {
        let mut table = table.clone();
        let own = table.membership.as_mut().ok_or(())?;
        match overrides == Overrides::default() {
            true => own.overrides.remove(&region),
            false => own.overrides.insert(region.clone(), overrides.clone()),
        };
        regions::note_change(&mut table, false, now_us);
        Ok::<_, ()>(table)
    };
    let changed = engine.catalog.replace(&table.namespace, &table.name, change).await;
    if let Some(Ok(changed)) = changed.map_err(fault::of_store)? {
        engine.align_others(&changed).await.map_err(fault::of_store)?;
    }
    Ok(answer(engine, table))
}

/// What a request asks for a member alone.
struct Asked<'a> {
    read_units: Option<i64>,
    max_read_units: Option<i64>,
    class: Option<TableClass>,
    kms_key: Option<&'a String>,
    indexes: Option<&'a Vec<ReplicaGlobalSecondaryIndex>>,
}

impl<'a> Asked<'a> {
    fn of_create(action: &'a CreateReplicationGroupMemberAction) -> Asked<'a> {
        let throughput = action.provisioned_throughput_override.as_ref();
        Asked {
            read_units: throughput.and_then(|throughput| throughput.read_capacity_units),
            max_read_units: action
                .on_demand_throughput_override
                .as_ref()
                .and_then(|it| it.max_read_request_units),
            class: action.table_class_override,
            kms_key: action.kms_master_key_id.as_ref(),
            indexes: action.global_secondary_indexes.as_ref(),
        }
    }

    fn of_update(action: &'a UpdateReplicationGroupMemberAction) -> Asked<'a> {
        let throughput = action.provisioned_throughput_override.as_ref();
        Asked {
            read_units: throughput.and_then(|throughput| throughput.read_capacity_units),
            max_read_units: action
                .on_demand_throughput_override
                .as_ref()
                .and_then(|it| it.max_read_request_units),
            class: action.table_class_override,
            kms_key: None,
            indexes: action.global_secondary_indexes.as_ref(),
        }
    }
}

/// The settings of a member with what is asked. What is equal to the group's is none of its own.
fn merged(own: Overrides, asked: &Asked<'_>, table: &Table) -> Overrides {
    let mut merged = own;
    let group = table.membership.as_ref().and_then(|own| own.group_read_units);
    let group_units = group.unwrap_or(table.billing.read_units);
    let units = |asked: i64, group: u64| u64::try_from(asked).ok().filter(|units| *units != group);
    if let Some(asked) = asked.read_units {
        merged.read_units = units(asked, group_units);
    }
    if let Some(asked) = asked.max_read_units {
        let group = table.billing.on_demand_max.read_units;
        merged.max_read_units = Some(asked).filter(|asked| Some(*asked) != group);
    }
    if let Some(class) = asked.class {
        let rarely = class == TableClass::StandardInfrequentAccess;
        let group = table.class.as_ref().is_some_and(|class| class.infrequent_access);
        merged.infrequent_access = Some(rarely).filter(|rarely| *rarely != group);
    }
    merged.kms_key = asked.kms_key.cloned().or(merged.kms_key);
    for asked in asked.indexes.into_iter().flatten() {
        // A name that is no index of the table is ignored, as at DynamoDB.
        let Some(index) = table.index(&asked.index_name) else { continue };
        let group = index.billing.unwrap_or_default();
        let own: &mut IndexOverride = merged.indexes.entry(asked.index_name.clone()).or_default();
        if let Some(asked) =
            asked.provisioned_throughput_override.as_ref().and_then(|asked| asked.read_capacity_units)
        {
            own.read_units = units(asked, group.read_units);
        }
        if let Some(asked) =
            asked.on_demand_throughput_override.as_ref().and_then(|asked| asked.max_read_request_units)
        {
            own.max_read_units = Some(asked).filter(|asked| Some(*asked) != group.on_demand_max.read_units);
        }
    }
    merged.indexes.retain(|_, own| *own != IndexOverride::default());
    merged
}
