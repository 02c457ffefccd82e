//! A table of the model -> CreateTable.

use std::collections::BTreeMap;

use api::{
    AttributeDefinition, BillingMode, CreateTableInput, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    LocalSecondaryIndex, Projection, ProjectionType, ProvisionedThroughput, ScalarAttributeType,
};
use item::Type;
use model::model as design;
use model::model::{Billing, Index, IndexKind, KeyAttribute, KeySchema, Table, Throughput};

/// `None` if the keys have not been designed yet.
pub fn create_table(table: &Table) -> Option<CreateTableInput> {
    let key = table.key.as_ref()?;
    let of_kind = |kind| table.indexes.iter().filter(move |index| index.kind == kind);
    let global: Vec<_> = of_kind(IndexKind::Global).map(|index| global_index(table, index)).collect();
    let local: Vec<_> = of_kind(IndexKind::Local).map(local_index).collect();
    Some(CreateTableInput {
        table_name: table.name.value.clone(),
        key_schema: Some(key_schema(key)),
        attribute_definitions: Some(definitions(table, key)),
        billing_mode: Some(match table.billing.value {
            Billing::OnDemand => BillingMode::PayPerRequest,
            Billing::Provisioned => BillingMode::Provisioned,
        }),
        provisioned_throughput: provisioned(table, &table.throughput),
        global_secondary_indexes: (!global.is_empty()).then_some(global),
        local_secondary_indexes: (!local.is_empty()).then_some(local),
        ..CreateTableInput::default()
    })
}

fn key_schema(key: &KeySchema) -> Vec<KeySchemaElement> {
    let element = |key_type: KeyType| {
        move |attribute: &KeyAttribute| KeySchemaElement { attribute_name: attribute.name.clone(), key_type }
    };
    key.partition
        .iter()
        .map(element(KeyType::Hash))
        .chain(key.sort.iter().map(element(KeyType::Range)))
        .collect()
}

/// Each key attribute once.
fn definitions(table: &Table, key: &KeySchema) -> Vec<AttributeDefinition> {
    let schemas = std::iter::once(key).chain(table.indexes.iter().map(|index| &index.key));
    let attributes: BTreeMap<&str, Type> =
        schemas.flat_map(KeySchema::attributes).map(|key| (key.name.as_str(), key.kind)).collect();
    let definition = |(name, kind): (&str, Type)| AttributeDefinition {
        attribute_name: name.to_owned(),
        attribute_type: match kind {
            Type::N => ScalarAttributeType::N,
            Type::B => ScalarAttributeType::B,
            _ => ScalarAttributeType::S,
        },
    };
    attributes.into_iter().map(definition).collect()
}

fn global_index(table: &Table, index: &Index) -> GlobalSecondaryIndex {
    GlobalSecondaryIndex {
        index_name: index.name.value.clone(),
        key_schema: key_schema(&index.key),
        projection: projection(index),
        provisioned_throughput: provisioned(table, &index.throughput),
        ..GlobalSecondaryIndex::default()
    }
}

fn local_index(index: &Index) -> LocalSecondaryIndex {
    LocalSecondaryIndex {
        index_name: index.name.value.clone(),
        key_schema: key_schema(&index.key),
        projection: projection(index),
    }
}

fn projection(index: &Index) -> Projection {
    let (projection_type, names) = match &index.projection.value {
        design::Projection::All => (ProjectionType::All, None),
        design::Projection::Keys => (ProjectionType::KeysOnly, None),
        design::Projection::Include(names) => (ProjectionType::Include, Some(names)),
    };
    let names = names.map(|names| names.iter().map(|name| name.value.clone()).collect());
    Projection { projection_type: Some(projection_type), non_key_attributes: names }
}

/// Five units where the file declares none, as in DynamoDB's console.
fn provisioned(table: &Table, throughput: &Throughput) -> Option<ProvisionedThroughput> {
    const UNITS: u64 = 5;
    let of = |capacity: Option<&design::Capacity>| {
        let units = capacity.and_then(|capacity| capacity.units.or(capacity.min)).unwrap_or(UNITS);
        i64::try_from(units).unwrap_or(i64::MAX)
    };
    (table.billing.value == Billing::Provisioned).then(|| ProvisionedThroughput {
        read_capacity_units: of(throughput.read.as_ref().map(|capacity| &capacity.value)),
        write_capacity_units: of(throughput.write.as_ref().map(|capacity| &capacity.value)),
    })
}
