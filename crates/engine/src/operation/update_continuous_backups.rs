//! UpdateContinuousBackups: switches point-in-time recovery on and off.

use api::{Error, UpdateContinuousBackupsInput, UpdateContinuousBackupsOutput};
use store::Space;

use super::authorization::access::{Access, Resource};
use super::describe_continuous_backups::description;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::table::{Recovery, Table};
use crate::operation::Engine;

/// How many days back a state can be restored unless the request says otherwise.
const DAYS_DEFAULT: u32 = 35;

pub(super) struct UpdateContinuousBackups;

impl Serve for UpdateContinuousBackups {
    type Input = UpdateContinuousBackupsInput;
    type Output = UpdateContinuousBackupsOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r UpdateContinuousBackupsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:UpdateContinuousBackups", Resource::table(&input.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: UpdateContinuousBackupsInput,
    ) -> Result<UpdateContinuousBackupsOutput, Error> {
        input.check()?;
        let not_found = || Error::table_not_found(&input.table_name);
        let table = engine
            .find(caller, &input.table_name)?
            .filter(|table| table.has_items())
            .ok_or_else(not_found)?;
        let specification = &input.point_in_time_recovery_specification;
        let enabled = specification.point_in_time_recovery_enabled;
        if !enabled && specification.recovery_period_in_days.is_some() {
            return Err(Error::validation(
                "RecoveryPeriodInDays can't be specified when PointInTimeRecoveryEnabled is false",
            ));
        }
        let days = specification.recovery_period_in_days.map_or(DAYS_DEFAULT, |days| days as u32);
        let shards = engine.stream_shards;
        // Between writes: each of them is recorded from here on, or was before the window.
        let update = move |table: &Table, unused: Space, now_us: u64| {
            table.check_active()?;
            let mut table = table.clone();
            let since_us = table.recovery.map_or(now_us, |recovery| recovery.since_us);
            table.recovery = enabled.then_some(Recovery { since_us, days });
            if !enabled {
                table.doubtful_times.clear();
            }
            table.settle_log(shards, unused, now_us);
            Ok::<_, Error>(table)
        };
        let changed = engine.change_between_writes(&table, update).await.map_err(fault::of_store)?;
        let table = changed.ok_or_else(not_found)??;
        Ok(UpdateContinuousBackupsOutput {
            continuous_backups_description: Some(description(engine, &table)),
        })
    }
}
