//! CreateTable: a new, empty table.

use api::{
    AttributeDefinition, BillingMode as Mode, CreateTableInput, CreateTableOutput, Error, KeySchemaElement,
    KeyType, OnDemandThroughput, ScalarAttributeType, TableStatus,
};
use item::Type;

use super::description::description;
use crate::catalog::CreateError;
use crate::table::{
    Billing, BillingMode, KeyAttribute, KeySchema, NewTable, OnDemandMax, Table, TableClass,
};
use crate::{Caller, Engine, fault};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: CreateTableInput,
) -> Result<CreateTableOutput, Error> {
    input.check()?;
    if input.global_secondary_indexes.is_some() || input.local_secondary_indexes.is_some() {
        return Err(Error::validation("Secondary indexes are not served yet"));
    }
    let now = engine.environment.now_ms();
    let id = uuid(engine.environment.random());
    let made = engine
        .catalog
        .create(caller, &input.table_name, |space| {
            Table::new(caller, new_table(&input, now), space, id.clone(), now)
        })
        .await;
    let table = made.map_err(|error| match error {
        CreateError::Exists => Error::table_exists(&input.table_name),
        CreateError::Store(error) => fault::of_store(error),
    })?;
    Ok(CreateTableOutput { table_description: Some(description(&table, TableStatus::Creating)) })
}

fn new_table(input: &CreateTableInput, now: u64) -> NewTable {
    let throughput = input.provisioned_throughput.clone().unwrap_or_default();
    let on_demand = input.billing_mode == Some(Mode::PayPerRequest);
    NewTable {
        name: input.table_name.clone(),
        keys: key_schema(
            input.key_schema.as_deref().unwrap_or_default(),
            input.attribute_definitions.as_deref().unwrap_or_default(),
        ),
        billing: Billing {
            mode: if on_demand { BillingMode::OnDemand } else { BillingMode::Provisioned },
            read_units: throughput.read_capacity_units as u64,
            write_units: throughput.write_capacity_units as u64,
            on_demand_since_ms: on_demand.then_some(now),
            increased_ms: None,
            decreased_ms: None,
            on_demand_max: on_demand_max(input.on_demand_throughput.as_ref()),
        },
        deletion_protection: input.deletion_protection_enabled.unwrap_or(false),
        class: input.table_class.map(|class| table_class(class, None)),
    }
}

/// The caps of an on-demand table; -1 means none.
pub fn on_demand_max(throughput: Option<&OnDemandThroughput>) -> OnDemandMax {
    let cap = |units: Option<i64>| units.filter(|units| *units > 0);
    throughput.map_or_else(OnDemandMax::default, |throughput| OnDemandMax {
        read_units: cap(throughput.max_read_request_units),
        write_units: cap(throughput.max_write_request_units),
    })
}

pub fn table_class(class: api::TableClass, changed_ms: Option<u64>) -> TableClass {
    TableClass { infrequent_access: class == api::TableClass::StandardInfrequentAccess, changed_ms }
}

/// The key schema; `check` has made sure that each key attribute is defined.
fn key_schema(elements: &[KeySchemaElement], definitions: &[AttributeDefinition]) -> KeySchema {
    let attributes = |key_type: KeyType| {
        let elements = elements.iter().filter(|element| element.key_type == key_type);
        elements.filter_map(|element| attribute(&element.attribute_name, definitions)).collect()
    };
    KeySchema { partition: attributes(KeyType::Hash), sort: attributes(KeyType::Range) }
}

fn attribute(name: &str, definitions: &[AttributeDefinition]) -> Option<KeyAttribute> {
    let definition = definitions.iter().find(|definition| definition.attribute_name == name)?;
    Some(KeyAttribute { name: name.to_owned(), kind: kind(definition.attribute_type) })
}

fn kind(scalar: ScalarAttributeType) -> Type {
    match scalar {
        ScalarAttributeType::S => Type::S,
        ScalarAttributeType::N => Type::N,
        ScalarAttributeType::B => Type::B,
    }
}

/// A version 4 UUID from 128 random bits.
fn uuid(random: u128) -> String {
    let bits = (random & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
