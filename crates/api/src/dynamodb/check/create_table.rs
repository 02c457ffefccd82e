use std::collections::BTreeSet;

use super::resource::{check_policy, check_tags};
use super::schema::{
    check_billing, check_composite_key, check_definitions, check_encryption, check_index_billing,
    check_index_key_defined, check_key_names, check_non_key_attribute_count, check_on_demand_max,
    check_projection, check_simple_key, defined_names, invalid_key_schema, is_defined, join, key_names,
};
use super::vector_index::{check_defined, check_dimensions, check_vector_index};
use super::{Refuse, refuse_table_request};
use crate::violation::{Constraint, Violations};
use crate::{
    AttributeDefinition, BillingMode, CreateTableInput, Error, GlobalSecondaryIndex, KeySchemaElement,
    KeyType, LocalSecondaryIndex, VectorIndex, limits,
};

impl Refuse for CreateTableInput {
    fn refuse(&self, violations: Violations) -> Error {
        refuse_table_request(violations)
    }
}

impl CreateTableInput {
    /// Checks the key, the indexes and how the table is paid for, in DynamoDB's order.
    pub fn check(&self) -> Result<(), Error> {
        let (key, definitions) = self.required_schema()?;
        check_billing(self.paid_by(), self.provisioned_throughput.as_ref())?;
        check_definitions(definitions)?;
        if !key_names(key).all(|name| is_defined(name, definitions)) {
            return Err(invalid_key_schema("Some index key attribute have no definition"));
        }
        check_simple_key(key, "keySchema")?;
        self.global_indexes().iter().try_for_each(|index| check_key_names(&index.key_schema))?;
        self.check_definitions_used(key, definitions)?;
        self.check_local_indexes(key, definitions)?;
        self.check_global_indexes(definitions)?;
        self.check_vector_indexes(definitions)?;
        self.check_index_names()?;
        check_on_demand_max(self.paid_by(), self.on_demand_throughput.as_ref())?;
        check_encryption(self.sse_specification.as_ref())?;
        check_tags(self.tags.as_deref().unwrap_or_default())?;
        check_policy(self.resource_policy.as_deref().unwrap_or_default())?;
        check_non_key_attribute_count(
            self.local_indexes()
                .iter()
                .map(|index| &index.projection)
                .chain(self.global_indexes().iter().map(|index| &index.projection))
                .chain(self.vector_indexes().iter().map(|index| &index.projection)),
        )
    }

    /// The billing mode, or its default.
    pub fn paid_by(&self) -> BillingMode {
        self.billing_mode.unwrap_or(BillingMode::Provisioned)
    }

    fn local_indexes(&self) -> &[LocalSecondaryIndex] {
        self.local_secondary_indexes.as_deref().unwrap_or_default()
    }

    fn global_indexes(&self) -> &[GlobalSecondaryIndex] {
        self.global_secondary_indexes.as_deref().unwrap_or_default()
    }

    fn vector_indexes(&self) -> &[VectorIndex] {
        self.vector_indexes.as_deref().unwrap_or_default()
    }

    /// The facts require neither, because a replica copies the schema of another table. Replicas are not
    /// served.
    fn required_schema(&self) -> Result<(&[KeySchemaElement], &[AttributeDefinition]), Error> {
        if let (Some(key), Some(definitions)) = (&self.key_schema, &self.attribute_definitions) {
            return Ok((key, definitions));
        }
        let missing = [
            ("keySchema", self.key_schema.is_none()),
            ("attributeDefinitions", self.attribute_definitions.is_none()),
        ];
        let missing = missing.into_iter().filter(|(_, missing)| *missing);
        Err(Error::violations(missing.map(|(member, _)| {
            format!("Value null at '{member}' failed to satisfy constraint: {}", Constraint::NotNull)
        })))
    }

    fn check_definitions_used(
        &self,
        key: &[KeySchemaElement],
        definitions: &[AttributeDefinition],
    ) -> Result<(), Error> {
        let without_index = self.local_secondary_indexes.is_none() && self.global_secondary_indexes.is_none();
        if without_index && self.vector_indexes.is_none() {
            if key.len() == definitions.len() {
                return Ok(());
            }
            return Err(Error::invalid_parameter(
                "Number of attributes in KeySchema does not exactly match number of attributes defined in \
                 AttributeDefinitions",
            ));
        }
        let local = self.local_indexes().iter().flat_map(|index| key_names(&index.key_schema));
        let global = self.global_indexes().iter().flat_map(|index| key_names(&index.key_schema));
        let searched = self.vector_indexes().iter().flat_map(|index| &index.search_schema).flatten();
        let searched = searched.map(|element| element.attribute_name.as_str());
        let used: BTreeSet<&str> = key_names(key).chain(local).chain(global).chain(searched).collect();
        if defined_names(definitions).all(|name| used.contains(name)) {
            return Ok(());
        }
        Err(Error::invalid_parameter(format_args!(
            "Some AttributeDefinitions are not used. AttributeDefinitions: [{}], keys used: [{}]",
            join(defined_names(definitions)),
            join(used.into_iter())
        )))
    }

    fn check_local_indexes(
        &self,
        table_key: &[KeySchemaElement],
        definitions: &[AttributeDefinition],
    ) -> Result<(), Error> {
        let Some(indexes) = &self.local_secondary_indexes else { return Ok(()) };
        if indexes.is_empty() {
            return Err(Error::invalid_parameter("List of LocalSecondaryIndexes is empty"));
        }
        if table_key.len() < 2 {
            return Err(Error::invalid_parameter(
                "Table KeySchema does not have a range key, which is required when specifying a \
                 LocalSecondaryIndex",
            ));
        }
        for (position, index) in indexes.iter().enumerate() {
            check_index_key_defined(&index.key_schema, definitions)?;
            let member = format!("localSecondaryIndexes.{}.member.keySchema", position + 1);
            check_simple_key(&index.key_schema, &member)?;
            check_local_key(index, table_key)?;
            check_projection(&index.projection)?;
        }
        if indexes.len() > limits::LOCAL_SECONDARY_INDEXES_MAX {
            return Err(Error::invalid_parameter(format_args!(
                "Number of LocalSecondaryIndexes exceeds per-table limit of {}",
                limits::LOCAL_SECONDARY_INDEXES_MAX
            )));
        }
        Ok(())
    }

    fn check_global_indexes(&self, definitions: &[AttributeDefinition]) -> Result<(), Error> {
        let Some(indexes) = &self.global_secondary_indexes else { return Ok(()) };
        if indexes.is_empty() {
            return Err(Error::invalid_parameter("List of GlobalSecondaryIndexes is empty"));
        }
        for index in indexes {
            check_index_key_defined(&index.key_schema, definitions)?;
            check_composite_key(&index.key_schema)?;
            check_projection(&index.projection)?;
            check_index_billing(self.paid_by(), &index.index_name, index.provisioned_throughput.as_ref())?;
            check_on_demand_max(self.paid_by(), index.on_demand_throughput.as_ref())?;
        }
        if indexes.len() > limits::GLOBAL_SECONDARY_INDEXES_MAX {
            return Err(Error::invalid_parameter(format_args!(
                "GlobalSecondaryIndex count exceeds the per-table limit of {}",
                limits::GLOBAL_SECONDARY_INDEXES_MAX
            )));
        }
        Ok(())
    }

    fn check_vector_indexes(&self, definitions: &[AttributeDefinition]) -> Result<(), Error> {
        let Some(indexes) = &self.vector_indexes else { return Ok(()) };
        let Some(first) = indexes.first() else {
            return Err(Error::invalid_parameter("List of VectorIndexes is empty"));
        };
        if self.paid_by() == BillingMode::Provisioned {
            return Err(Error::vector_index_not_on_demand(&first.index_name));
        }
        for index in indexes {
            check_vector_index(index)?;
            check_defined(index, definitions)?;
        }
        if indexes.len() > limits::VECTOR_INDEXES_MAX {
            return Err(Error::too_many_vector_indexes());
        }
        check_dimensions(indexes)
    }

    /// All indexes share one set of names.
    fn check_index_names(&self) -> Result<(), Error> {
        let local = self.local_indexes().iter().map(|index| &index.index_name);
        let global = self.global_indexes().iter().map(|index| &index.index_name);
        let mut seen = BTreeSet::new();
        let vector = self.vector_indexes().iter().map(|index| &index.index_name);
        match local.chain(global).chain(vector).find(|name| !seen.insert(*name)) {
            Some(twice) => Err(Error::invalid_parameter(format_args!("Duplicate index name: {twice}"))),
            None => Ok(()),
        }
    }
}

/// A local index is in the partitions of its table, under a sort key of its own.
fn check_local_key(index: &LocalSecondaryIndex, table_key: &[KeySchemaElement]) -> Result<(), Error> {
    let name = &index.index_name;
    let hash = |key: &[KeySchemaElement]| {
        key.iter().find(|element| element.key_type == KeyType::Hash).map(|e| e.attribute_name.clone())
    };
    let (own, table) = (hash(&index.key_schema), hash(table_key));
    if own != table {
        return Err(Error::invalid_parameter(format_args!(
            "Index KeySchema does not have the same leading hash key as table KeySchema for index: {name}. \
             index hash key: {}, table hash key: {}",
            own.unwrap_or_default(),
            table.unwrap_or_default()
        )));
    }
    if index.key_schema.len() < 2 {
        return Err(Error::invalid_parameter(format_args!(
            "Index KeySchema does not have a range key for index: {name}"
        )));
    }
    Ok(())
}
