//! The operations of the first version of global tables (2017.11.29). AWS no longer makes such tables, so there are none;
//! today's are made with `replica_updates.rs`.

use api::{
    CreateGlobalTableInput, CreateGlobalTableOutput, DescribeGlobalTableInput, DescribeGlobalTableOutput,
    DescribeGlobalTableSettingsInput, DescribeGlobalTableSettingsOutput, Error, ListGlobalTablesInput,
    ListGlobalTablesOutput, UpdateGlobalTableInput, UpdateGlobalTableOutput, UpdateGlobalTableSettingsInput,
    UpdateGlobalTableSettingsOutput,
};

/// CreateGlobalTable.
pub fn create(input: &CreateGlobalTableInput) -> Result<CreateGlobalTableOutput, Error> {
    input.check()?;
    Err(Error::global_table_version_unsupported())
}

/// DescribeGlobalTable.
pub fn describe(input: &DescribeGlobalTableInput) -> Result<DescribeGlobalTableOutput, Error> {
    input.check()?;
    Err(Error::global_table_not_found(&input.global_table_name))
}

/// DescribeGlobalTableSettings.
pub fn describe_settings(
    input: &DescribeGlobalTableSettingsInput,
) -> Result<DescribeGlobalTableSettingsOutput, Error> {
    input.check()?;
    Err(Error::global_table_not_found(&input.global_table_name))
}

/// ListGlobalTables.
pub fn list(input: &ListGlobalTablesInput) -> Result<ListGlobalTablesOutput, Error> {
    input.check()?;
    Ok(ListGlobalTablesOutput { global_tables: Some(Vec::new()), last_evaluated_global_table_name: None })
}

/// UpdateGlobalTable.
pub fn update(input: &UpdateGlobalTableInput) -> Result<UpdateGlobalTableOutput, Error> {
    input.check()?;
    Err(Error::global_table_not_found(&input.global_table_name))
}

/// UpdateGlobalTableSettings.
pub fn update_settings(
    input: &UpdateGlobalTableSettingsInput,
) -> Result<UpdateGlobalTableSettingsOutput, Error> {
    input.check()?;
    Err(Error::global_table_not_found(&input.global_table_name))
}
