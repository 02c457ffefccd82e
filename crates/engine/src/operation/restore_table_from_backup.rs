//! RestoreTableFromBackup: a new table with the items of a backup.

use api::{Error, RestoreTableFromBackupInput, RestoreTableFromBackupOutput, TableStatus};

use super::authorization::access::{Access, Resource};
use super::backup_description;
use super::description::description;
use super::restored::{self, RestoreOverrides};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::table::Restore;
use crate::operation::Engine;

pub(super) struct RestoreTableFromBackup;

impl Serve for RestoreTableFromBackup {
    type Input = RestoreTableFromBackupInput;
    type Output = RestoreTableFromBackupOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r RestoreTableFromBackupInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::of_restore(
            "dynamodb:RestoreTableFromBackup",
            Resource::arn(&input.backup_arn),
            &input.target_table_name,
        )
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: RestoreTableFromBackupInput,
    ) -> Result<RestoreTableFromBackupOutput, Error> {
        input.check()?;
        let backup = backup_description::find(engine, caller, &input.backup_arn).await?;
        restored::check_target(engine, caller, &input.target_table_name)?;
        if !backup.is_available || backup_description::is_being_restored(engine, &backup.arn) {
            return Err(Error::backup_in_use(&backup.arn));
        }
        let overrides = RestoreOverrides {
            billing_mode: input.billing_mode_override,
            throughput: input.provisioned_throughput_override.as_ref(),
            on_demand: input.on_demand_throughput_override.as_ref(),
            global: input.global_secondary_index_override.as_deref(),
            local: input.local_secondary_index_override.as_deref(),
            vector: input.vector_index_override.as_deref(),
            encryption: input.sse_specification_override.as_ref(),
        };
        let now_ms = engine.environment.now_ms();
        let new = restored::new_table(&backup.table, &input.target_table_name, &overrides, now_ms)?;
        let restore = Restore {
            source_table_arn: backup.table.arn(),
            source_backup_arn: Some(backup.arn.clone()),
            time_us: backup.time_us,
        };
        let target = restored::create(engine, caller, new, restore).await?;
        engine.start_restore(&target, &mut &engine.background);
        Ok(RestoreTableFromBackupOutput {
            table_description: Some(description(&target, TableStatus::Creating, engine.usage.now().ms)),
        })
    }
}
