//! ReplicaUpdates with MultiRegionConsistency STRONG: a table becomes strongly consistent between three Regions, or a table
//! of one Region again. Both are one request: the Regions of such a table don't change one by one.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use api::{
    CreateReplicationGroupMemberAction, Error, MultiRegionConsistency, TableDescription, UpdateTableInput,
    UpdateTableOutput,
};
use host::uuid;
use store::{Consistency, Direction, Range, Space};

use super::replica_updates::{self, check_settled};
use super::unserved;
use crate::base::fault;
use crate::base::strong::{self, NewReplica, Strong};
use crate::base::table::{Scope, Table, TableState};
use crate::operation::Engine;
use crate::tables::catalog::LiveTable;

/// The Regions that AWS combines.
const REGION_SETS: [&[&str]; 3] = [
    &["us-east-1", "us-east-2", "us-west-2"],
    &["eu-west-1", "eu-west-2", "eu-west-3", "eu-central-1"],
    &["ap-northeast-1", "ap-northeast-2", "ap-northeast-3"],
];
/// With the Region that is asked.
const OTHERS: usize = 2;

/// Whether a change of replicas is about strong consistency.
pub fn is_meant(table: &Table, input: &UpdateTableInput) -> bool {
    table.strong.is_some()
        || input.multi_region_consistency == Some(MultiRegionConsistency::Strong)
        || input.global_table_witness_updates.is_some()
}

/// What is asked for.
struct Asked<'a> {
    creates: Vec<&'a CreateReplicationGroupMemberAction>,
    deletes: Vec<&'a str>,
    new_witness: Option<&'a str>,
    gone_witness: Option<&'a str>,
}

impl<'a> Asked<'a> {
    fn of(input: &'a UpdateTableInput) -> Asked<'a> {
        let updates = || input.replica_updates.iter().flatten();
        let witnesses = || input.global_table_witness_updates.iter().flatten();
        let created = witnesses().find_map(|update| update.create.as_ref());
        let deleted = witnesses().find_map(|update| update.delete.as_ref());
        let deletes = updates().filter_map(|update| update.delete.as_ref());
        Asked {
            creates: updates().filter_map(|update| update.create.as_ref()).collect(),
            deletes: deletes.map(|delete| delete.region_name.as_str()).collect(),
            new_witness: created.map(|create| create.region_name.as_str()),
            gone_witness: deleted.map(|delete| delete.region_name.as_str()),
        }
    }

    fn created(&self) -> impl Iterator<Item = &'a str> {
        self.creates.iter().map(|create| create.region_name.as_str()).chain(self.new_witness)
    }

    fn deleted(&self) -> impl Iterator<Item = &'a str> {
        self.deletes.iter().copied().chain(self.gone_witness)
    }
}

pub async fn run(
    engine: &Engine,
    table: &Arc<LiveTable>,
    input: &UpdateTableInput,
) -> Result<UpdateTableOutput, Error> {
    if input.multi_region_consistency.is_some() && (table.membership.is_some() || table.strong.is_some()) {
        return Err(Error::consistency_of_global_table());
    }
    let asked = Asked::of(input);
    let described = match &table.strong {
        Some(strong) => {
            unserved::check_strong_update(input)?;
            check_parting(table, strong, &asked)?;
            part(engine, table).await?
        }
        None => {
            if input.multi_region_consistency != Some(MultiRegionConsistency::Strong) {
                return Err(Error::witness_without_strong());
            }
            let updates = input.replica_updates.iter().flatten().filter_map(|update| update.update.as_ref());
            let mut changed = updates.map(|update| update.region_name.as_str()).chain(asked.deleted());
            if let Some(region) = changed.next() {
                return Err(Error::replica_unknown(region));
            }
            check_regions(engine, table, &asked)?;
            check_table(engine, table).await?;
            join(engine, table, &asked).await?
        }
    };
    Ok(UpdateTableOutput { table_description: Some(described) })
}

/// Checks the Regions that a table is to have beside its own.
fn check_regions(engine: &Engine, table: &Table, asked: &Asked<'_>) -> Result<(), Error> {
    let own = &*table.namespace.region;
    for region in asked.created() {
        if region == own {
            return Err(Error::replica_is_local());
        }
        if !replica_updates::REGIONS.contains(&region) {
            return Err(Error::replica_region_unsupported(region, &replica_updates::REGIONS));
        }
    }
    let distinct: BTreeSet<&str> = asked.created().collect();
    if asked.creates.is_empty() || asked.created().count() != OTHERS || distinct.len() != OTHERS {
        return Err(Error::strong_regions_not_three());
    }
    let is_together = |set: &&[&str]| asked.created().chain([own]).all(|region| set.contains(&region));
    if !REGION_SETS.iter().any(is_together) {
        let regions: Vec<String> = std::iter::once(own).chain(asked.created()).map(str::to_owned).collect();
        return Err(Error::strong_regions_apart(&regions, &REGION_SETS));
    }
    for create in &asked.creates {
        if engine.peers.get(&create.region_name).is_some() {
            return Err(Error::strong_region_at_peer(&create.region_name));
        }
        unserved::check_strong_replica(create)?;
    }
    Ok(())
}

/// Checks what a table must be like to become strongly consistent.
async fn check_table(engine: &Engine, table: &LiveTable) -> Result<(), Error> {
    let refused = |reason: &str| Err(Error::strong_not_possible(&table.name, reason));
    if table.indexes.iter().any(|index| index.scope == Scope::Local) {
        return refused("it has local secondary indexes");
    }
    if table.time_to_live.is_some() {
        return refused("its Time to Live is enabled");
    }
    let mut is_empty = true;
    let mut visit = |_: store::KeyRef<'_>, _| {
        is_empty = false;
        ControlFlow::Break(())
    };
    let rows = Range::all(table.space());
    let scanned = engine.store.scan(&rows, Direction::Forward, Consistency::Latest, &mut visit).await;
    scanned.map_err(fault::of_store)?;
    if !is_empty {
        return refused("it is not empty");
    }
    replica_updates::check_scaled(engine, table).await
}

/// Makes the replicas.
async fn join(engine: &Engine, table: &Arc<LiveTable>, asked: &Asked<'_>) -> Result<TableDescription, Error> {
    let new_replica = |create: &&CreateReplicationGroupMemberAction| NewReplica {
        region: create.region_name.clone(),
        id: uuid(engine.environment.random()),
        kms_key: create.kms_master_key_id.clone(),
    };
    let new: Vec<NewReplica> = asked.creates.iter().map(new_replica).collect();
    let new_regions: Vec<String> = new.iter().map(|new| new.region.clone()).collect();
    let witness = asked.new_witness.map(str::to_owned);
    let (updating, creating) =
        (engine.passing_state(TableState::Updating), engine.passing_state(TableState::Creating));
    let now_ms = engine.environment.now_ms();
    let join = move |tables: &[Table], _: Space, _: u64| {
        check_settled(&tables[0])?;
        if tables[0].membership.is_some() || tables[0].strong.is_some() {
            return Err(Error::consistency_of_global_table());
        }
        if tables.len() > 1 {
            return Err(Error::replica_exists(&tables[0].name));
        }
        let mut table = tables[0].clone();
        table.state = updating;
        Ok(table.with_replicas(&new, witness.clone(), creating, now_ms))
    };
    let joined = engine.change_replicas_between_writes(table, new_regions.clone(), join).await;
    let source = joined.map_err(fault::of_store)?;
    let source = source.ok_or_else(|| Error::resource_not_found_table(&table.name))??;
    let answer = replica_updates::answer(engine, &source);
    for region in &new_regions {
        engine.copy_scaling(&source, region).await;
    }
    for replica in engine.catalog.replicas(&source) {
        engine.leave_state(&replica).await;
    }
    engine.leave_state(&source).await;
    Ok(answer)
}

/// All other Regions leave at once.
fn check_parting(table: &Table, strong: &Strong, asked: &Asked<'_>) -> Result<(), Error> {
    if asked.created().next().is_some() {
        return Err(Error::strong_regions_fixed());
    }
    for region in &asked.deletes {
        if **region == *table.namespace.region {
            return Err(Error::replica_is_local());
        }
        replica_updates::check_member(table, region)?;
    }
    if let Some(region) = asked.gone_witness.filter(|region| strong.witness.as_deref() != Some(*region)) {
        return Err(Error::replica_unknown(region));
    }
    let leaving: BTreeSet<&str> = asked.deleted().collect();
    if table.strong_regions().chain(strong.witness.as_deref()).any(|region| !leaving.contains(region)) {
        return Err(Error::strong_regions_fixed());
    }
    Ok(())
}

/// Removes the other replicas; the rows stay with the table that is asked.
async fn part(engine: &Engine, table: &Arc<LiveTable>) -> Result<TableDescription, Error> {
    let (updating, shards) = (engine.passing_state(TableState::Updating), engine.stream_shards);
    let part = move |tables: &[Table], unused: Space, now_us: u64| {
        check_settled(&tables[0])?;
        for leaving in &tables[1..] {
            if leaving.deletion_protection {
                return Err(Error::replica_protected(&leaving.name, &leaving.namespace.region));
            }
            if !leaving.copies.is_empty() {
                return Err(Error::table_being_copied(&leaving.name));
            }
        }
        let mut parting = strong::parting(tables, shards, unused, now_us);
        parting[0].state = updating;
        Ok(parting)
    };
    let parted = engine.change_replicas_between_writes(table, Vec::new(), part).await;
    let left = parted.map_err(fault::of_store)?;
    let left = left.ok_or_else(|| Error::resource_not_found_table(&table.name))??;
    let answer = replica_updates::answer(engine, &left);
    for leaving in engine.catalog.replicas(&left) {
        engine.leave_state(&leaving).await;
    }
    engine.leave_state(&left).await;
    Ok(answer)
}
