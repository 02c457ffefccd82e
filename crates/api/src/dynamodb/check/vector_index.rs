//! Rules for vector indexes, as CreateTable and UpdateTable define them.

use std::collections::{BTreeMap, BTreeSet};

use super::schema::{check_projection, is_defined};
use crate::violation::{Constraint, Violation};
use crate::{
    AttributeDefinition, CreateVectorIndexAction, Error, SearchSchemaElementType, VectorIndex,
    VectorIndexUpdate, limits,
};

impl From<&CreateVectorIndexAction> for VectorIndex {
    fn from(action: &CreateVectorIndexAction) -> VectorIndex {
        VectorIndex {
            dimensions: action.dimensions,
            distance_function: action.distance_function,
            index_name: action.index_name.clone(),
            projection: action.projection.clone(),
            search_schema: action.search_schema.clone(),
            vector_attribute: action.vector_attribute.clone(),
        }
    }
}

/// An update creates one index, or deletes one.
pub(super) fn check_vector_update(update: &VectorIndexUpdate) -> Result<(), Error> {
    match (&update.create, &update.delete) {
        (Some(create), None) => check_vector_index(&create.into()),
        (None, Some(_)) => Ok(()),
        (None, None) => Err(Error::invalid_parameter(
            "One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null",
        )),
        (Some(_), Some(_)) => Err(Error::invalid_parameter(
            "Only one of VectorIndexUpdate.Create, VectorIndexUpdate.Delete may be specified",
        )),
    }
}

/// Checks one index by itself.
pub(super) fn check_vector_index(index: &VectorIndex) -> Result<(), Error> {
    if index.dimensions > limits::VECTOR_DIMENSIONS_MAX {
        let limit = Constraint::ValueMax(limits::VECTOR_DIMENSIONS_MAX);
        let violation = Violation::of_value("dimensions", index.dimensions, limit);
        return Err(Error::violations([violation.to_string()].into_iter()));
    }
    let schema = index.search_schema.as_deref().unwrap_or_default();
    let mut seen = BTreeSet::new();
    if let Some(twice) = schema.iter().find(|element| !seen.insert(&element.attribute_name)) {
        return Err(Error::invalid_parameter(format_args!(
            "Duplicate attribute name in SearchSchema: {}",
            twice.attribute_name
        )));
    }
    let count = |kind| schema.iter().filter(|element| element.search_schema_element_type == kind).count();
    if count(SearchSchemaElementType::Hash) > 1 {
        return Err(Error::invalid_parameter("SearchSchema can have at most one HASH element"));
    }
    if count(SearchSchemaElementType::InlineFilter) > limits::VECTOR_FILTERS_MAX {
        return Err(Error::invalid_parameter(format_args!(
            "Number of INLINE_FILTER elements in SearchSchema exceeds the limit of {}",
            limits::VECTOR_FILTERS_MAX
        )));
    }
    check_projection(&index.projection)
}

/// Checks that the attributes of the SearchSchema are defined, and the vector, which is a list, is not.
pub(super) fn check_defined(index: &VectorIndex, definitions: &[AttributeDefinition]) -> Result<(), Error> {
    let mut schema = index.search_schema.iter().flatten();
    if !schema.all(|element| is_defined(&element.attribute_name, definitions)) {
        return Err(Error::search_schema_undefined());
    }
    let vector = &index.vector_attribute.attribute_name;
    if is_defined(vector, definitions) { Err(Error::vector_attribute_defined(vector)) } else { Ok(()) }
}

/// All vector indexes of one attribute have the same number of dimensions.
pub(super) fn check_dimensions(indexes: &[VectorIndex]) -> Result<(), Error> {
    let mut known = BTreeMap::new();
    for index in indexes {
        let attribute = &index.vector_attribute.attribute_name;
        if *known.entry(attribute).or_insert(index.dimensions) != index.dimensions {
            return Err(Error::vector_dimensions_differ(attribute));
        }
    }
    Ok(())
}
