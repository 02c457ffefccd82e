//! Rules for keys and indexes, as CreateTable and UpdateTable define them.

use std::collections::BTreeSet;

use crate::violation::Constraint;
use crate::{
    AttributeDefinition, BillingMode, Error, KeySchemaElement, KeyType, OnDemandThroughput, Projection,
    ProjectionType, ProvisionedThroughput, SSESpecification, SSEType, limits,
};

/// One HASH attribute, then at most one RANGE attribute: the key of a table or local index.
/// `member` names the key schema in messages about its length.
pub(super) fn check_simple_key(key: &[KeySchemaElement], member: &str) -> Result<(), Error> {
    if key.len() > 2 {
        let shown: Vec<String> = key.iter().map(show_element).collect();
        return Err(Error::request_shape(format_args!(
            "Value '[{}]' at '{member}' failed to satisfy constraint: {}",
            shown.join(", "),
            Constraint::LengthMax(2)
        )));
    }
    if key.first().is_none_or(|first| first.key_type != KeyType::Hash) {
        return Err(first_is_not_hash());
    }
    if let [hash, range] = key {
        if range.key_type != KeyType::Range {
            return Err(invalid_key_schema("The second KeySchemaElement is not a RANGE key type"));
        }
        if hash.attribute_name == range.attribute_name {
            return Err(Error::validation(
                "Both the Hash Key and the Range Key element in the KeySchema have the same name",
            ));
        }
    }
    Ok(())
}

fn show_element(element: &KeySchemaElement) -> String {
    let (name, kind) = (&element.attribute_name, element.key_type.as_str());
    format!("KeySchemaElement(attributeName={name}, keyType={kind})")
}

/// One to four HASH attributes, then none to four RANGE attributes: the key of a global index.
pub(super) fn check_composite_key(key: &[KeySchemaElement]) -> Result<(), Error> {
    let count = |kind| key.iter().filter(|element| element.key_type == kind).count();
    if count(KeyType::Hash) == 0 {
        return Err(first_is_not_hash());
    }
    for kind in [KeyType::Hash, KeyType::Range] {
        if count(kind) > limits::INDEX_KEY_ATTRIBUTES_MAX {
            return Err(Error::invalid_parameter(format_args!(
                "The KeySchema exceeds the maximum allowed number of {} key attributes",
                kind.as_str()
            )));
        }
    }
    if !key.is_sorted_by_key(|element| element.key_type) {
        return Err(Error::invalid_parameter(
            "All HASH key attributes must precede RANGE key attributes in the KeySchema",
        ));
    }
    check_key_names(key)
}

pub(super) fn check_key_names(key: &[KeySchemaElement]) -> Result<(), Error> {
    let names: BTreeSet<&str> = key_names(key).collect();
    match names.len() < key.len() {
        true => {
            Err(Error::invalid_parameter("The KeySchema contains multiple key attributes with the same name"))
        }
        false => Ok(()),
    }
}

fn first_is_not_hash() -> Error {
    invalid_key_schema("The first KeySchemaElement is not a HASH key type")
}

pub(super) fn invalid_key_schema(text: &str) -> Error {
    Error::validation(format!("Invalid KeySchema: {text}"))
}

pub(super) fn key_names(key: &[KeySchemaElement]) -> impl Iterator<Item = &str> {
    key.iter().map(|element| element.attribute_name.as_str())
}

/// No attribute may be defined twice, not even with the same type.
pub(super) fn check_definitions(definitions: &[AttributeDefinition]) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    match definitions.iter().find(|definition| !seen.insert(&definition.attribute_name)) {
        Some(twice) => Err(Error::invalid_parameter(format_args!(
            "Attribute Name is duplicated: {}",
            twice.attribute_name
        ))),
        None => Ok(()),
    }
}

/// Every attribute of an index's key must have its type defined.
pub(super) fn check_index_key_defined(
    key: &[KeySchemaElement],
    definitions: &[AttributeDefinition],
) -> Result<(), Error> {
    if key_names(key).all(|name| is_defined(name, definitions)) {
        return Ok(());
    }
    Err(Error::invalid_parameter(format_args!(
        "Some index key attributes are not defined in AttributeDefinitions. Keys: [{}], \
         AttributeDefinitions: [{}]",
        join(key_names(key)),
        join(defined_names(definitions))
    )))
}

pub(super) fn is_defined(name: &str, definitions: &[AttributeDefinition]) -> bool {
    defined_names(definitions).any(|defined| defined == name)
}

pub(super) fn defined_names(definitions: &[AttributeDefinition]) -> impl Iterator<Item = &str> {
    definitions.iter().map(|definition| definition.attribute_name.as_str())
}

pub(super) fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

pub(super) fn check_projection(projection: &Projection) -> Result<(), Error> {
    let Some(kind) = projection.projection_type else {
        return Err(Error::invalid_parameter("Unknown ProjectionType: null"));
    };
    match (kind, &projection.non_key_attributes) {
        (ProjectionType::Include, None) => {
            Err(Error::invalid_parameter("ProjectionType is INCLUDE, but NonKeyAttributes is not specified"))
        }
        (ProjectionType::Include, Some(names)) => check_non_key_attributes(names),
        (_, Some(_)) => Err(Error::invalid_parameter(format_args!(
            "ProjectionType is {}, but NonKeyAttributes is specified",
            kind.as_str()
        ))),
        (_, None) => Ok(()),
    }
}

fn check_non_key_attributes(names: &[String]) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        Some(twice) => Err(Error::invalid_parameter(format_args!(
            "Duplicate attribute name in NonKeyAttributes: {twice}"
        ))),
        None => Ok(()),
    }
}

/// Counts the projected attributes of all indexes of a table.
pub(super) fn check_non_key_attribute_count<'a>(
    projections: impl Iterator<Item = &'a Projection>,
) -> Result<(), Error> {
    let count: usize = projections.flat_map(|projection| &projection.non_key_attributes).map(Vec::len).sum();
    if count <= limits::NON_KEY_ATTRIBUTES_MAX {
        return Ok(());
    }
    Err(Error::invalid_parameter(format_args!(
        "Number of NonKeyAttributes over all indexes exceeds the per-table limit of {}",
        limits::NON_KEY_ATTRIBUTES_MAX
    )))
}

/// A provisioned table needs throughput; an on-demand table must not have any.
pub(super) fn check_billing(
    mode: BillingMode,
    throughput: Option<&ProvisionedThroughput>,
) -> Result<(), Error> {
    match (mode, throughput) {
        (BillingMode::Provisioned, None) => Err(Error::throughput_missing()),
        (BillingMode::PayPerRequest, Some(_)) => Err(Error::throughput_on_demand()),
        _ => Ok(()),
    }
}

/// The same rule for a global index, by the billing mode of its table.
pub(super) fn check_index_billing(
    mode: BillingMode,
    index: &str,
    throughput: Option<&ProvisionedThroughput>,
) -> Result<(), Error> {
    match (mode, throughput) {
        (BillingMode::Provisioned, None) => Err(Error::index_throughput_missing(index)),
        (BillingMode::PayPerRequest, Some(_)) => Err(Error::index_throughput_on_demand(index)),
        _ => Ok(()),
    }
}

/// Only on-demand tables can have maximum throughputs. The one for reads is checked first.
pub(super) fn check_on_demand_max(
    mode: BillingMode,
    throughput: Option<&OnDemandThroughput>,
) -> Result<(), Error> {
    let Some(throughput) = throughput else { return Ok(()) };
    let read = ("MaxReadRequestUnits", throughput.max_read_request_units);
    let write = ("MaxWriteRequestUnits", throughput.max_write_request_units);
    for (member, units) in [read, write] {
        let Some(units) = units else { continue };
        if mode == BillingMode::Provisioned {
            return Err(Error::invalid_parameter(format_args!(
                "{member} for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED."
            )));
        }
        if units < 1 {
            return Err(Error::on_demand_max_out_of_range(member));
        }
    }
    Ok(())
}

/// A table's owner can choose encryption with an own key, and nothing else.
pub(super) fn check_encryption(specification: Option<&SSESpecification>) -> Result<(), Error> {
    let Some(specification) = specification else { return Ok(()) };
    if specification.sse_type == Some(SSEType::Aes256) {
        return Err(Error::invalid_parameter("SSEType AES256 is not supported"));
    }
    if specification.kms_master_key_id.is_some() && specification.enabled != Some(true) {
        return Err(Error::invalid_parameter("KMSMasterKeyId can only be specified when SSE is enabled"));
    }
    Ok(())
}
