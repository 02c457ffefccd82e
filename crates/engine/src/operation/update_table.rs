//! UpdateTable: throughput, billing mode, deletion protection, table class.

use api::{BillingMode as Mode, Error, TableStatus, UpdateTableInput, UpdateTableOutput};

use super::create_table::{on_demand_max, table_class};
use super::description::description;
use crate::table::{Billing, BillingMode, Table};
use crate::{Caller, Engine, fault};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: UpdateTableInput,
) -> Result<UpdateTableOutput, Error> {
    input.check()?;
    let not_found = || Error::resource_not_found_table(&input.table_name);
    let table = engine.find(caller, &input.table_name).ok_or_else(not_found)?;
    check(&table, &input)?;
    let now = engine.environment.now_ms();
    let changed = engine
        .catalog
        .replace(&table.caller(), &table.name, |table| changed(table, &input, now))
        .await
        .map_err(fault::of_store)?;
    let table = changed.ok_or_else(not_found)?;
    Ok(UpdateTableOutput { table_description: Some(description(&table, TableStatus::Updating)) })
}

/// The rules that need the table as it is.
fn check(table: &Table, input: &UpdateTableInput) -> Result<(), Error> {
    let becomes_on_demand = match input.billing_mode {
        Some(mode) => mode == Mode::PayPerRequest,
        None => table.billing.mode == BillingMode::OnDemand,
    };
    let Some(throughput) = &input.provisioned_throughput else {
        let switches = !becomes_on_demand && table.billing.mode == BillingMode::OnDemand;
        return if switches { Err(Error::invalid_parameter(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        )) } else { Ok(()) };
    };
    if becomes_on_demand {
        return Err(Error::invalid_parameter(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ));
    }
    let same = table.billing.mode == BillingMode::Provisioned
        && throughput.read_capacity_units as u64 == table.billing.read_units
        && throughput.write_capacity_units as u64 == table.billing.write_units;
    if same {
        return Err(Error::validation(format!(
            "The provisioned throughput for the table will not change. The requested value equals the current \
             value. Current ReadCapacityUnits provisioned for the table: {0}. Requested ReadCapacityUnits: {0}. \
             Current WriteCapacityUnits provisioned for the table: {1}. Requested WriteCapacityUnits: {1}. \
             Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.",
            throughput.read_capacity_units, throughput.write_capacity_units
        )));
    }
    Ok(())
}

fn changed(table: &Table, input: &UpdateTableInput, now: u64) -> Table {
    let mut table = table.clone();
    table.billing = billing(&table.billing, input, now);
    if let Some(protected) = input.deletion_protection_enabled {
        table.deletion_protection = protected;
    }
    if let Some(class) = input.table_class {
        table.class = Some(table_class(class, Some(now)));
    }
    table
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
        billing.on_demand_max = on_demand_max(input.on_demand_throughput.as_ref());
    }
    billing
}
