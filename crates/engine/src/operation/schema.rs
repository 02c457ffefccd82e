//! From the shapes that define tables and indexes to what the catalog keeps. `check` has made sure
//! that they are right.

use api::{
    AttributeDefinition, GlobalSecondaryIndex, KeySchemaElement, KeyType, LocalSecondaryIndex,
    OnDemandThroughput, ProjectionType, ProvisionedThroughput, ScalarAttributeType,
};
use item::Type;

use crate::table::{
    KeyAttribute, KeySchema, NewIndex, OnDemandMax, Projection, Scope, TableClass, Throughput,
};

pub fn definitions(definitions: &[AttributeDefinition]) -> Vec<KeyAttribute> {
    let attribute = |definition: &AttributeDefinition| KeyAttribute {
        name: definition.attribute_name.clone(),
        kind: match definition.attribute_type {
            ScalarAttributeType::S => Type::S,
            ScalarAttributeType::N => Type::N,
            ScalarAttributeType::B => Type::B,
        },
    };
    definitions.iter().map(attribute).collect()
}

pub fn keys(elements: &[KeySchemaElement], definitions: &[KeyAttribute]) -> KeySchema {
    let attributes = |key_type: KeyType| {
        let elements = elements.iter().filter(|element| element.key_type == key_type);
        let definition = |element: &KeySchemaElement| {
            definitions.iter().find(|definition| definition.name == element.attribute_name).cloned()
        };
        elements.filter_map(definition).collect()
    };
    KeySchema { partition: attributes(KeyType::Hash), sort: attributes(KeyType::Range) }
}

pub fn local_index(index: &LocalSecondaryIndex, definitions: &[KeyAttribute]) -> NewIndex {
    NewIndex {
        name: index.index_name.clone(),
        scope: Scope::Local,
        keys: keys(&index.key_schema, definitions),
        projection: projection(&index.projection),
        billing: None,
    }
}

pub fn global_index(index: &GlobalSecondaryIndex, definitions: &[KeyAttribute]) -> NewIndex {
    NewIndex {
        name: index.index_name.clone(),
        scope: Scope::Global,
        keys: keys(&index.key_schema, definitions),
        projection: projection(&index.projection),
        billing: Some(throughput(index.provisioned_throughput.as_ref(), index.on_demand_throughput.as_ref())),
    }
}

fn projection(projection: &api::Projection) -> Projection {
    match projection.projection_type {
        Some(ProjectionType::Include) => {
            Projection::Include(projection.non_key_attributes.clone().unwrap_or_default())
        }
        Some(ProjectionType::KeysOnly) => Projection::KeysOnly,
        _ => Projection::All,
    }
}

pub fn throughput(
    provisioned: Option<&ProvisionedThroughput>,
    on_demand: Option<&OnDemandThroughput>,
) -> Throughput {
    Throughput {
        read_units: provisioned.map_or(0, |units| units.read_capacity_units as u64),
        write_units: provisioned.map_or(0, |units| units.write_capacity_units as u64),
        on_demand_max: on_demand_max(on_demand),
    }
}

/// The caps of an on-demand table or index; -1 means none.
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
