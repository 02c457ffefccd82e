//! What a restored table takes over from its source, and what a request changes.

use std::sync::Arc;

use api::{
    BillingMode as Mode, Error, GlobalSecondaryIndex, KeySchemaElement, LocalSecondaryIndex,
    OnDemandThroughput, ProvisionedThroughput, SSESpecification, VectorIndex,
};

use super::{description, schema};
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::table::{
    Billing, BillingMode, Index, NewIndex, NewTable, OnDemandMax, Restore, Scope, Table, TableState,
    Throughput, WarmThroughput,
};
use crate::copies::failures;
use crate::operation::Engine;
use crate::operation::create_table::uuid;
use crate::tables::catalog::{CreateError, LiveTable};

/// What a request asks for in place of what the source has.
pub struct RestoreOverrides<'a> {
    pub billing_mode: Option<Mode>,
    pub throughput: Option<&'a ProvisionedThroughput>,
    pub on_demand: Option<&'a OnDemandThroughput>,
    /// None keeps every index; otherwise the listed ones are kept, perhaps under another name.
    pub global: Option<&'a [GlobalSecondaryIndex]>,
    pub local: Option<&'a [LocalSecondaryIndex]>,
    pub vector: Option<&'a [VectorIndex]>,
    pub encryption: Option<&'a SSESpecification>,
}

/// Refuses a target whose name is taken.
pub fn check_target(engine: &Engine, caller: &Caller, name: &str) -> Result<(), Error> {
    match engine.find(caller, name)? {
        None => Ok(()),
        Some(table) => match &table.restore {
            Some(restore) => {
                let from = restore.source_backup_arn.as_ref().unwrap_or(&restore.source_table_arn);
                Err(Error::restore_target_in_use(name, from))
            }
            None => Err(Error::restore_target_exists(name)),
        },
    }
}

/// The definition of the new table. It has the source's keys, indexes, encryption and billing; its stream,
/// time to live, recovery, tags, policy and deletion protection are not taken over.
pub fn new_table(
    source: &Table,
    name: &str,
    overrides: &RestoreOverrides<'_>,
    now_ms: u64,
) -> Result<NewTable, Error> {
    let billing = billing(&source.billing, overrides, now_ms)?;
    let kept =
        |scope: Scope| source.indexes.iter().filter(move |index| index.scope == scope && index.is_written());
    let local = match overrides.local {
        None => kept(Scope::Local).map(|index| renamed(index, &index.name, &billing, None)).collect(),
        Some(wanted) => wanted
            .iter()
            .map(|index| local_index(source, index, &billing))
            .collect::<Result<Vec<_>, Error>>()?,
    };
    let global = match overrides.global {
        None => kept(Scope::Global).map(|index| renamed(index, &index.name, &billing, None)).collect(),
        Some(wanted) => wanted
            .iter()
            .map(|index| global_index(source, index, &billing))
            .collect::<Result<Vec<_>, Error>>()?,
    };
    let vector = match overrides.vector {
        None => kept(Scope::Vector).map(NewIndex::like).collect(),
        Some(wanted) => {
            wanted.iter().map(|index| vector_index(source, index)).collect::<Result<Vec<_>, Error>>()?
        }
    };
    if let Some(index) = vector.first().filter(|_| billing.mode == BillingMode::Provisioned) {
        return Err(Error::vector_index_not_on_demand(&index.name));
    }
    let indexes: Vec<NewIndex> = local.into_iter().chain(global).chain(vector).collect();
    let is_used = |name: &str| source.keys.contains(name) || indexes.iter().any(|index| index.uses(name));
    let definitions =
        source.definitions.iter().filter(|definition| is_used(&definition.name)).cloned().collect();
    Ok(NewTable {
        name: name.to_owned(),
        keys: source.keys.clone(),
        definitions,
        indexes,
        billing,
        deletion_protection: false,
        class: None,
        state: TableState::Creating,
        tags: Default::default(),
        policy: None,
        encryption: match overrides.encryption {
            Some(asked) => schema::encryption(asked),
            None => source.encryption.clone(),
        },
    })
}

/// Makes the new table, CREATING.
pub async fn create(
    engine: &Engine,
    caller: &Caller,
    new: NewTable,
    restore: Restore,
) -> Result<Arc<LiveTable>, Error> {
    let (namespace, now_ms) = (caller.namespace.clone(), engine.environment.now_ms());
    let (id, name) = (uuid(engine.environment.random()), new.name.clone());
    let make = move |space| {
        let mut table = Table::new(namespace.clone(), new.clone(), space, id.clone(), now_ms);
        table.restore = Some(restore.clone());
        table
    };
    let arn = caller.namespace.table_arn(&name);
    failures::forget(engine, &caller.namespace, &arn).await.map_err(fault::of_store)?;
    engine.catalog.create(&caller.namespace, &name, make).await.map_err(|error| match error {
        CreateError::Exists => Error::restore_target_exists(&name),
        CreateError::Store(error) => fault::of_store(error),
    })
}

fn billing(source: &Billing, overrides: &RestoreOverrides<'_>, now_ms: u64) -> Result<Billing, Error> {
    let mode = match overrides.billing_mode {
        Some(Mode::PayPerRequest) => BillingMode::OnDemand,
        Some(Mode::Provisioned) => BillingMode::Provisioned,
        None => source.mode,
    };
    if overrides.throughput.is_some() && mode != BillingMode::Provisioned {
        return Err(Error::validation(
            "Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED",
        ));
    }
    if overrides.billing_mode == Some(Mode::Provisioned) && overrides.throughput.is_none() {
        return Err(Error::validation(
            "Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED",
        ));
    }
    let on_demand = mode == BillingMode::OnDemand;
    let units = overrides.throughput.map_or((source.read_units, source.write_units), |units| {
        (units.read_capacity_units as u64, units.write_capacity_units as u64)
    });
    let (read_units, write_units) = if on_demand { (0, 0) } else { units };
    Ok(Billing {
        mode,
        read_units,
        write_units,
        on_demand_since_ms: on_demand.then_some(now_ms),
        increased_ms: None,
        decreased_ms: None,
        on_demand_max: match on_demand {
            true => schema::on_demand_max(source.on_demand_max, overrides.on_demand),
            false => OnDemandMax::default(),
        },
        warm: WarmThroughput::default(),
        decreases: Default::default(),
        switches: Default::default(),
    })
}

/// An index of the source under a name. A global index has the billing mode of its table.
fn renamed(index: &Index, name: &str, billing: &Billing, units: Option<&ProvisionedThroughput>) -> NewIndex {
    let throughput = |own: Throughput| {
        let own = Throughput { decreases: Default::default(), ..own };
        match billing.mode {
            BillingMode::OnDemand => Throughput { read_units: 0, write_units: 0, ..own },
            BillingMode::Provisioned if own.read_units == 0 => {
                let Billing { read_units, write_units, .. } = *billing;
                schema::provisioned(Throughput { read_units, write_units, ..own }, units)
            }
            BillingMode::Provisioned => schema::provisioned(own, units),
        }
    };
    let billing = index.billing.map(throughput);
    NewIndex { name: name.to_owned(), billing, ..NewIndex::like(index) }
}

fn vector_index(source: &Table, asked: &VectorIndex) -> Result<NewIndex, Error> {
    let wanted = schema::vector_index(asked, &source.definitions);
    let is_same = |index: &&Index| {
        (&index.vector, &index.keys, &index.projection) == (&wanted.vector, &wanted.keys, &wanted.projection)
    };
    let found = source.indexes.iter().filter(|index| index.scope == Scope::Vector).find(is_same);
    found.map(|_| wanted.clone()).ok_or_else(|| Error::restored_index_unknown(&asked.index_name))
}

fn global_index(source: &Table, asked: &GlobalSecondaryIndex, billing: &Billing) -> Result<NewIndex, Error> {
    let found = matching(source, Scope::Global, &asked.key_schema, &asked.projection);
    let index = found.ok_or_else(|| Error::restored_index_unknown(&asked.index_name))?;
    Ok(renamed(index, &asked.index_name, billing, asked.provisioned_throughput.as_ref()))
}

fn local_index(source: &Table, asked: &LocalSecondaryIndex, billing: &Billing) -> Result<NewIndex, Error> {
    let found = matching(source, Scope::Local, &asked.key_schema, &asked.projection);
    let index = found.ok_or_else(|| Error::restored_index_unknown(&asked.index_name))?;
    Ok(renamed(index, &asked.index_name, billing, None))
}

/// The source's index with these keys and this projection.
fn matching<'a>(
    source: &'a Table,
    scope: Scope,
    keys: &[KeySchemaElement],
    projection: &api::Projection,
) -> Option<&'a Index> {
    let same_projection = |index: &Index| {
        let shown = description::projection(&index.projection);
        shown.projection_type == projection.projection_type
            && shown.non_key_attributes.unwrap_or_default()
                == projection.non_key_attributes.clone().unwrap_or_default()
    };
    source.indexes.iter().find(|index| {
        index.scope == scope && description::key_schema(&index.keys) == keys && same_projection(index)
    })
}
