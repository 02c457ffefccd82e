//! SearchVectors: the items of a vector index that are nearest to a vector.

use api::limits::SEARCH_BYTES_MAX;
use api::{
    Error, ReturnConsumedCapacity, SearchResultItem, SearchVectorsInput, SearchVectorsOutput, VectorCapacity,
};
use expression::key_condition::KeyRange;
use expression::{ExpressionError, SearchCondition};
use item::ValueBuf;

use super::answer_size::AnswerSize;
use super::authorization::access::{Access, Resource};
use super::parameters::{Parameters, read_error};
use super::query::checked_partition_key;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::table::{Index, IndexState, KeyAttribute, VectorSettings};
use crate::operation::Engine;
use crate::read::search::{self, SearchError, SearchRequest};

pub(super) struct SearchVectors;

impl Serve for SearchVectors {
    type Input = SearchVectorsInput;
    type Output = SearchVectorsOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r SearchVectorsInput, _: &Namespace) -> Vec<Access<'r>> {
        // DynamoDB's condition keys are not part of such a request.
        Access::one("dynamodb:SearchVectors", Resource::source(&input.table_name, Some(&input.index_name)))
    }

    fn answer_size(input: &SearchVectorsInput) -> AnswerSize {
        AnswerSize::of_items(usize::try_from(input.top_k).unwrap_or(0), SEARCH_BYTES_MAX)
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: SearchVectorsInput,
    ) -> Result<SearchVectorsOutput, Error> {
        input.check()?;
        let vector = numbers(&input.search_vector)?;
        let (names, values) = (&input.expression_attribute_names, &input.expression_attribute_values);
        let mut parameters = Parameters::of_read(engine, names, values)?;
        let condition = parameters.search_condition(input.search_condition_expression.as_deref())?;
        let projection = parameters.projection(input.projection_expression.as_deref(), None)?;
        parameters.finish()?;
        let table = engine.table(caller, &input.table_name)?;
        let unknown = || Error::index_unknown(&input.index_name);
        let index = table.index(&input.index_name).ok_or_else(unknown)?;
        let settings = searchable(index)?;
        if vector.len() != settings.dimensions {
            return Err(Error::search_vector_size(vector.len(), settings.dimensions));
        }
        let request = SearchRequest {
            table: &table,
            index,
            settings,
            vector,
            partition: partition(index, &condition)?,
            filters: filters(index, &condition)?,
            top_k: usize::try_from(input.top_k).unwrap_or(0),
            projection: projection.as_ref(),
        };

        let found = search::nearest(engine, &request).await?;

        let metered = VectorCapacity {
            vector_search_request_bytes: Some(found.metered_bytes as f64),
            ..VectorCapacity::default()
        };
        let result = |(item, score)| SearchResultItem { item: Some(item), score: Some(score) };
        Ok(SearchVectorsOutput {
            consumed_capacity: match input.return_consumed_capacity {
                None | Some(ReturnConsumedCapacity::None) => None,
                Some(ReturnConsumedCapacity::Total | ReturnConsumedCapacity::Indexes) => Some(metered),
            },
            search_results: Some(found.items.into_iter().map(result).collect()),
        })
    }
}

impl From<SearchError> for Error {
    fn from(error: SearchError) -> Error {
        match error {
            SearchError::TooLarge => Error::search_answer_too_large(),
            SearchError::Store(error) => fault::of_store(error),
        }
    }
}

/// The vector that is searched for.
fn numbers(elements: &[ValueBuf]) -> Result<Vec<f32>, Error> {
    let number = |(position, element): (usize, &ValueBuf)| {
        let number = element.as_ref().as_number().map(|number| number.to_f32());
        number.filter(|number| number.is_finite()).ok_or_else(|| Error::search_vector_element(position))
    };
    elements.iter().enumerate().map(number).collect()
}

/// What the index searches, unless it is another kind of index, is not complete yet, or is being deleted.
fn searchable(index: &Index) -> Result<&VectorSettings, Error> {
    let settings = index.vector.as_ref();
    let settings = settings.ok_or_else(|| Error::index_type_not_supported("SearchVectors"))?;
    match index.state {
        IndexState::Active => Ok(settings),
        IndexState::Creating => Err(Error::vector_index_backfilling(&index.name)),
        IndexState::Deleting => Err(Error::index_unknown(&index.name)),
    }
}

/// The value of the partition key, which the condition must have if the index has one.
fn partition(index: &Index, condition: &SearchCondition) -> Result<Option<ValueBuf>, Error> {
    let Some(key) = index.keys.partition.first() else { return Ok(None) };
    let value = condition.value(&key.name).ok_or_else(Error::search_hash_missing)?;
    check_type(key, value)?;
    let partition = KeyRange { partition: vec![value.clone()], sort_prefix: Vec::new(), sort: None };
    checked_partition_key(&index.keys, &partition)?;
    Ok(Some(value.clone()))
}

/// The other terms of the condition, which are about INLINE_FILTER attributes.
fn filters<'a>(index: &Index, condition: &'a SearchCondition) -> Result<Vec<(&'a str, &'a ValueBuf)>, Error> {
    let mut filters = Vec::new();
    for (name, value) in condition.terms().filter(|(name, _)| !index.keys.contains(name)) {
        let attribute = index.filters().iter().find(|attribute| attribute.name == name);
        check_type(attribute.ok_or_else(|| Error::search_attribute_unknown(name))?, value)?;
        filters.push((name, value));
    }
    Ok(filters)
}

fn check_type(attribute: &KeyAttribute, value: &ValueBuf) -> Result<(), Error> {
    match value.as_ref().kind() == attribute.kind {
        true => Ok(()),
        false => Err(read_error(ExpressionError::KeyType)),
    }
}
