//! UpdateTable: throughput, billing mode, deletion protection, table class; making, dropping and
//! resizing global secondary indexes.

use api::{
    BillingMode as Mode, CreateGlobalSecondaryIndexAction, Error, GlobalSecondaryIndex, TableStatus,
    UpdateTableInput, UpdateTableOutput, limits,
};

use super::description::description;
use super::schema;
use crate::table::{Billing, BillingMode, IndexState, KeyAttribute, Table};
use crate::{Caller, Engine, fault};
use store::Space;

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: UpdateTableInput,
) -> Result<UpdateTableOutput, Error> {
    input.check()?;
    let not_found = Error::resource_not_found_table(&input.table_name);
    let Some(table) = engine.find(caller, &input.table_name) else { return Err(not_found) };
    let now = engine.environment.now_ms();
    let change = move |table: &Table, space| changed(table, &input, space, now);
    let changed = engine.catalog.replace(&table.caller(), &table.name, change).await;
    let table = changed.map_err(fault::of_store)?.ok_or(not_found)??;
    for index in table.indexes.iter().filter(|index| index.state != IndexState::Active) {
        engine.carry_through(&table, index);
    }
    Ok(UpdateTableOutput { table_description: Some(description(&table, TableStatus::Updating)) })
}

/// The table as the request wants it, or why it can't be.
fn changed(table: &Table, input: &UpdateTableInput, space: Space, now: u64) -> Result<Table, Error> {
    check_throughput(table, input)?;
    let mut changed = table.clone();
    changed.billing = billing(&table.billing, input, now);
    if let Some(protected) = input.deletion_protection_enabled {
        changed.deletion_protection = protected;
    }
    if let Some(class) = input.table_class {
        changed.class = Some(schema::table_class(class, Some(now)));
    }
    for update in input.global_secondary_index_updates.iter().flatten() {
        if let Some(create) = &update.create {
            let definitions = schema::definitions(input.attribute_definitions.as_deref().unwrap_or_default());
            create_index(&mut changed, create, definitions, space)?;
        }
        if let Some(delete) = &update.delete {
            delete_index(&mut changed, &delete.index_name)?;
        }
        if let Some(update) = &update.update {
            let throughput = schema::throughput(
                update.provisioned_throughput.as_ref(),
                update.on_demand_throughput.as_ref(),
            );
            let table = changed.name.clone();
            let index = changed.indexes.iter_mut().find(|index| index.name == update.index_name);
            let index = index.ok_or_else(|| Error::resource_not_found_index(&update.index_name, &table))?;
            index.billing = Some(throughput);
        }
    }
    Ok(changed)
}

/// Adds an index that is still to be filled. A definition that the table has already stands.
fn create_index(
    table: &mut Table,
    create: &CreateGlobalSecondaryIndexAction,
    declared: Vec<KeyAttribute>,
    space: Space,
) -> Result<(), Error> {
    if table.index(&create.index_name).is_some() {
        return Err(Error::validation(format!(
            "Attempting to create an index which already exists: {}",
            create.index_name
        )));
    }
    if table.indexes.iter().any(|index| index.state != IndexState::Active) {
        return Err(Error::one_index_change_at_a_time());
    }
    if table.indexes.iter().filter(|index| index.is_global()).count() >= limits::GLOBAL_SECONDARY_INDEXES_MAX {
        return Err(Error::invalid_parameter(format_args!(
            "GlobalSecondaryIndex count exceeds the per-table limit of {}",
            limits::GLOBAL_SECONDARY_INDEXES_MAX
        )));
    }
    if table.billing.mode == BillingMode::Provisioned && create.provisioned_throughput.is_none() {
        return Err(Error::invalid_parameter(format_args!(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified for index: {}",
            create.index_name
        )));
    }
    if table.billing.mode == BillingMode::OnDemand && create.provisioned_throughput.is_some() {
        return Err(Error::invalid_parameter(format_args!(
            "ProvisionedThroughput should not be specified for index: {} when BillingMode is PAY_PER_REQUEST",
            create.index_name
        )));
    }
    for attribute in declared {
        if !table.definitions.iter().any(|known| known.name == attribute.name) {
            table.definitions.push(attribute);
        }
    }
    let index = GlobalSecondaryIndex {
        index_name: create.index_name.clone(),
        key_schema: create.key_schema.clone(),
        on_demand_throughput: create.on_demand_throughput.clone(),
        projection: create.projection.clone(),
        provisioned_throughput: create.provisioned_throughput.clone(),
        warm_throughput: create.warm_throughput.clone(),
    };
    let index = schema::global_index(&index, &table.definitions);
    table.indexes.push(index.in_space(space, IndexState::Creating));
    table.forget_unused_definitions();
    Ok(())
}

fn delete_index(table: &mut Table, name: &str) -> Result<(), Error> {
    let another = table.indexes.iter().any(|index| index.state == IndexState::Deleting);
    let index = table.indexes.iter_mut().find(|index| index.name == name && index.is_global());
    let Some(index) = index else { return Err(Error::resource_not_found_index(name, &table.name)) };
    if another {
        return Err(Error::one_index_change_at_a_time());
    }
    index.state = IndexState::Deleting;
    Ok(())
}

/// The rules for throughput that need the table as it is.
fn check_throughput(table: &Table, input: &UpdateTableInput) -> Result<(), Error> {
    let is_on_demand = table.billing.mode == BillingMode::OnDemand;
    let becomes_on_demand = input.billing_mode.map_or(is_on_demand, |mode| mode == Mode::PayPerRequest);
    let Some(throughput) = &input.provisioned_throughput else {
        return match is_on_demand && !becomes_on_demand {
            true => Err(Error::invalid_parameter(
                "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
            )),
            false => Ok(()),
        };
    };
    let (read, write) = (throughput.read_capacity_units, throughput.write_capacity_units);
    if becomes_on_demand {
        return Err(Error::invalid_parameter(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ));
    }
    let billing = &table.billing;
    if !is_on_demand && (read as u64, write as u64) == (billing.read_units, billing.write_units) {
        return Err(Error::throughput_unchanged(read, write));
    }
    Ok(())
}

fn billing(current: &Billing, input: &UpdateTableInput, now: u64) -> Billing {
    let mut billing = current.clone();
    if let Some(throughput) = &input.provisioned_throughput {
        billing.read_units = throughput.read_capacity_units as u64;
        billing.write_units = throughput.write_capacity_units as u64;
        if billing.read_units > current.read_units || billing.write_units > current.write_units {
            billing.increased_ms = Some(now);
        }
        if billing.read_units < current.read_units || billing.write_units < current.write_units {
            billing.decreased_ms = Some(now);
        }
    }
    match input.billing_mode {
        Some(Mode::PayPerRequest) if current.mode == BillingMode::Provisioned => {
            billing.mode = BillingMode::OnDemand;
            billing.on_demand_since_ms = Some(now);
            (billing.read_units, billing.write_units) = (0, 0);
        }
        Some(Mode::Provisioned) => billing.mode = BillingMode::Provisioned,
        _ => {}
    }
    if input.on_demand_throughput.is_some() {
        billing.on_demand_max = schema::on_demand_max(input.on_demand_throughput.as_ref());
    }
    billing
}
