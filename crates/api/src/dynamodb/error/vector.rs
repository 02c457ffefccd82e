//! What is wrong with a vector index, with a vector, or with a search for the nearest.

use crate::{Error, limits};

impl Error {
    /// A table with more vector indexes than it may have.
    pub fn too_many_vector_indexes() -> Error {
        Error::invalid_parameter(format_args!(
            "VectorIndex count exceeds the per-table limit of {}",
            limits::VECTOR_INDEXES_MAX
        ))
    }

    /// A vector index on a table with provisioned throughput. The wording is Lodestone's.
    pub fn vector_index_not_on_demand(index: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "VectorIndexes are only supported when BillingMode is PAY_PER_REQUEST. IndexName: {index}"
        ))
    }

    /// A vector index with an attribute in its SearchSchema whose type is unknown.
    pub fn search_schema_undefined() -> Error {
        Error::invalid_parameter("One element in SearchSchema is not defined in attribute definitions")
    }

    /// A vector index whose vector is defined as a scalar. The wording is Lodestone's.
    pub fn vector_attribute_defined(attribute: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "VectorAttribute must not be defined in AttributeDefinitions: {attribute}"
        ))
    }

    /// Two vector indexes on one attribute, for vectors of different lengths. The wording is Lodestone's.
    pub fn vector_dimensions_differ(attribute: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "All vector indexes of the attribute {attribute} must have the same Dimensions"
        ))
    }

    /// An item whose vector has another length than the index.
    pub fn vector_size(attribute: &str, expected: usize, actual: usize, index: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Invalid size for parameter {attribute}, Expected: {expected}, Actual: {actual}. IndexName: {index}"
        ))
    }

    /// An item whose vector is no list, or has an element that is no number. `parameter` names the element, too.
    pub fn vector_type(parameter: &str, expected: &str, actual: &str, index: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Invalid type for parameter {parameter}, Expected: {expected}, Actual: {actual}. IndexName: {index}"
        ))
    }

    /// An item whose vector has a number beyond those of 32 bits. The wording is Lodestone's.
    pub fn vector_element_too_large(parameter: &str, index: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Invalid value for parameter {parameter}, Expected: a 32-bit floating point number. IndexName: {index}"
        ))
    }

    /// SearchVectors with a TopK that is too small or too large.
    pub fn top_k_out_of_range(top_k: impl std::fmt::Display) -> Error {
        Error::validation(format!(
            "Provided TopK value '{top_k}' is out of valid range. The value must be between 1 and {} inclusive",
            limits::SEARCH_TOP_K_MAX
        ))
    }

    /// SearchVectors with an element that is no number of 32 bits. The wording is Lodestone's.
    pub fn search_vector_element(position: usize) -> Error {
        Error::validation(format!(
            "Invalid SearchVector: the element at index {position} is not a 32-bit floating point number"
        ))
    }

    /// SearchVectors with a vector of another length than the index.
    pub fn search_vector_size(actual: usize, expected: usize) -> Error {
        Error::validation(format!(
            "Input search vector dimension {actual} does not match vector index dimension {expected}"
        ))
    }

    /// SearchVectors in a vector index that is not complete yet.
    pub fn vector_index_backfilling(index: &str) -> Error {
        Error::validation(format!("Cannot search backfilling vector index: {index}"))
    }

    /// SearchVectors without the partition key that the index has.
    pub fn search_hash_missing() -> Error {
        Error::validation("SearchConditionExpression must be provided when SearchSchema has a HASH key")
    }

    /// SearchVectors with a condition on an attribute that the SearchSchema lacks. The wording is Lodestone's.
    pub fn search_attribute_unknown(attribute: &str) -> Error {
        Error::validation(format!(
            "Invalid SearchConditionExpression: The attribute is not part of the SearchSchema; attribute: {attribute}"
        ))
    }

    /// SearchVectors whose answer is too large. The wording is Lodestone's.
    pub fn search_answer_too_large() -> Error {
        Error::validation(
            "The search results exceed the maximum of 16 MB. Use a smaller TopK or a narrower ProjectionExpression",
        )
    }

    /// A Query or Scan of a vector index, or SearchVectors in another index.
    pub fn index_type_not_supported(operation: &str) -> Error {
        Error::validation(format!("{operation} operation not supported on this index type."))
    }
}
