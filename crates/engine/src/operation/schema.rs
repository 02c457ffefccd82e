//! From the shapes that define tables and indexes to what the catalog keeps. `check` has made sure
//! that they are right.

use api::{
    AttributeDefinition, Error, GlobalSecondaryIndex, KeySchemaElement, KeyType, LocalSecondaryIndex,
    OnDemandThroughput, ProjectionType, ProvisionedThroughput, SSESpecification, ScalarAttributeType,
};
use item::Type;

use crate::table::{
    Encryption, KeyAttribute, KeySchema, NewIndex, OnDemandMax, Projection, Scope, TableClass, Throughput,
    WarmThroughput,
};

/// Tells the operator what a request asked for and does not get. Such a table is made all the same: most
/// programs that bring their templates along can do without.
pub fn warn_of_unserved(table: &str, asked: &[(&str, bool)]) {
    for (what, _) in asked.iter().filter(|(_, asked)| *asked) {
        tracing::warn!(table, "{what} are not served yet: the table does without them");
    }
}

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
    })
}

/// How messages name what an index's setting is for.
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

pub fn provisioned(current: Throughput, asked: Option<&ProvisionedThroughput>) -> Throughput {
    asked.map_or(current, |units| Throughput {
        read_units: units.read_capacity_units as u64,
        write_units: units.write_capacity_units as u64,
        ..current
    })
}

/// The caps of an on-demand table or index: what is not mentioned stays, and -1 takes a cap away.
pub fn on_demand_max(current: OnDemandMax, asked: Option<&OnDemandThroughput>) -> OnDemandMax {
    let cap = |current: Option<i64>, asked: Option<i64>| match asked {
        Some(units) => Some(units).filter(|units| *units > 0),
        None => current,
    };
    asked.map_or(current, |asked| OnDemandMax {
        read_units: cap(current.read_units, asked.max_read_request_units),
        write_units: cap(current.write_units, asked.max_write_request_units),
    })
}

/// What a table or index is asked to be ready for: that can be raised over what it is ready for now, and
/// never lowered. `of` names it in messages.
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

/// Without `Enabled` the table has the key that the service owns.
pub fn encryption(specification: &SSESpecification) -> Option<Encryption> {
    (specification.enabled == Some(true)).then(|| Encryption { key: specification.kms_master_key_id.clone() })
}

pub fn table_class(class: api::TableClass, changed_ms: Option<u64>) -> TableClass {
    TableClass { infrequent_access: class == api::TableClass::StandardInfrequentAccess, changed_ms }
}
