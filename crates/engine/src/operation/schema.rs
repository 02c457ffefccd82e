//! Converts the shapes that define tables and indexes into the catalog's. `check` has validated them.

use api::{
    AttributeDefinition, Error, GlobalSecondaryIndex, KeySchemaElement, KeyType, LocalSecondaryIndex,
    OnDemandThroughput, ProjectionType, ProvisionedThroughput, SSESpecification, ScalarAttributeType,
    SearchSchemaElement, SearchSchemaElementType, VectorDistanceFunction, VectorIndex,
};
use item::Type;

use crate::base::table::{
    DistanceFunction, Encryption, KeyAttribute, KeySchema, NewIndex, OnDemandMax, Projection, Scope,
    TableClass, Throughput, VectorSettings, WarmThroughput,
};

/// The AttributeDefinitions.
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

/// The KeySchema, with the types of its attributes.
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

/// A local index to be created.
pub fn local_index(index: &LocalSecondaryIndex, definitions: &[KeyAttribute]) -> NewIndex {
    NewIndex {
        name: index.index_name.clone(),
        scope: Scope::Local,
        keys: keys(&index.key_schema, definitions),
        projection: projection(&index.projection),
        billing: None,
        vector: None,
    }
}

/// A vector index to be created.
pub fn vector_index(index: &VectorIndex, definitions: &[KeyAttribute]) -> NewIndex {
    let attributes = |kind: SearchSchemaElementType| {
        let elements = index.search_schema.iter().flatten();
        let elements = elements.filter(|element| element.search_schema_element_type == kind);
        let definition = |element: &SearchSchemaElement| {
            definitions.iter().find(|definition| definition.name == element.attribute_name).cloned()
        };
        elements.filter_map(definition).collect()
    };
    NewIndex {
        name: index.index_name.clone(),
        scope: Scope::Vector,
        keys: KeySchema { partition: attributes(SearchSchemaElementType::Hash), sort: Vec::new() },
        projection: projection(&index.projection),
        billing: None,
        vector: Some(VectorSettings {
            attribute: index.vector_attribute.attribute_name.clone(),
            dimensions: index.dimensions as usize,
            distance: match index.distance_function {
                VectorDistanceFunction::Cosine => DistanceFunction::Cosine,
                VectorDistanceFunction::DotProduct => DistanceFunction::DotProduct,
                VectorDistanceFunction::Euclidean => DistanceFunction::Euclidean,
            },
            filters: attributes(SearchSchemaElementType::InlineFilter),
        }),
    }
}

/// A global index to be created.
pub fn global_index(index: &GlobalSecondaryIndex, definitions: &[KeyAttribute]) -> Result<NewIndex, Error> {
    let mut throughput = provisioned(Throughput::default(), index.provisioned_throughput.as_ref());
    throughput.on_demand_max = on_demand_max(throughput.on_demand_max, index.on_demand_throughput.as_ref());
    if let Some(asked) = &index.warm_throughput {
        throughput.warm = warm(throughput.warm(), asked, &of_index(&index.index_name))?;
    }
    Ok(NewIndex {
        name: index.index_name.clone(),
        scope: Scope::Global,
        keys: keys(&index.key_schema, definitions),
        projection: projection(&index.projection),
        billing: Some(throughput),
        vector: None,
    })
}

/// How messages about a setting name its index.
pub fn of_index(name: &str) -> String {
    format!("index: {name}")
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

/// The throughput that a request asks for, or the current one.
pub fn provisioned(current: Throughput, asked: Option<&ProvisionedThroughput>) -> Throughput {
    asked.map_or(current, |units| Throughput {
        read_units: units.read_capacity_units as u64,
        write_units: units.write_capacity_units as u64,
        ..current
    })
}

/// The maximums of an on-demand table or index: one that is not mentioned stays, and -1 removes one.
pub fn on_demand_max(current: OnDemandMax, asked: Option<&OnDemandThroughput>) -> OnDemandMax {
    let maximum = |current: Option<i64>, asked: Option<i64>| match asked {
        Some(units) => Some(units).filter(|units| *units > 0),
        None => current,
    };
    asked.map_or(current, |asked| OnDemandMax {
        read_units: maximum(current.read_units, asked.max_read_request_units),
        write_units: maximum(current.write_units, asked.max_write_request_units),
    })
}

/// The warm throughput of a table or index. It can be raised and never lowered. `of` names the table or
/// index in messages.
pub fn warm(now: WarmThroughput, asked: &api::WarmThroughput, of: &str) -> Result<WarmThroughput, Error> {
    let raised = |member: &str, now: u64, asked: Option<i64>| match asked {
        Some(units) if units < now as i64 => Err(Error::warm_throughput_lowered(member, of)),
        Some(units) => Ok(units as u64),
        None => Ok(now),
    };
    Ok(WarmThroughput {
        read_units: raised("ReadUnitsPerSecond", now.read_units, asked.read_units_per_second)?,
        write_units: raised("WriteUnitsPerSecond", now.write_units, asked.write_units_per_second)?,
    })
}

/// `None`, for the key that the service owns, unless `Enabled` is set.
pub fn encryption(specification: &SSESpecification) -> Option<Encryption> {
    (specification.enabled == Some(true)).then(|| Encryption { key: specification.kms_master_key_id.clone() })
}

/// The table class; `changed_ms` is when it was changed after the table's creation.
pub fn table_class(class: api::TableClass, changed_ms: Option<u64>) -> TableClass {
    TableClass { infrequent_access: class == api::TableClass::StandardInfrequentAccess, changed_ms }
}
