//! DescribeContinuousBackups: whether a table can be restored to a point in time, and to which.

use api::{
    ContinuousBackupsDescription, ContinuousBackupsStatus, DescribeContinuousBackupsInput,
    DescribeContinuousBackupsOutput, Error, PointInTimeRecoveryDescription, PointInTimeRecoveryStatus,
};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::table::Table;
use crate::operation::Engine;

const DAY_US: u64 = 24 * 60 * 60 * 1_000_000;

pub(super) struct DescribeContinuousBackups;

impl Serve for DescribeContinuousBackups {
    type Input = DescribeContinuousBackupsInput;
    type Output = DescribeContinuousBackupsOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r DescribeContinuousBackupsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeContinuousBackups", Resource::table(&input.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DescribeContinuousBackupsInput,
    ) -> Result<DescribeContinuousBackupsOutput, Error> {
        input.check()?;
        let not_found = || Error::table_not_found(&input.table_name);
        let table = engine.find(caller, &input.table_name)?.ok_or_else(not_found)?;
        Ok(DescribeContinuousBackupsOutput {
            continuous_backups_description: Some(description(engine, &table)),
        })
    }
}

/// What a table can be restored to.
pub fn description(engine: &Engine, table: &Table) -> ContinuousBackupsDescription {
    let window = window(engine, table);
    let seconds = |time_us: u64| time_us as f64 / 1e6;
    ContinuousBackupsDescription {
        continuous_backups_status: ContinuousBackupsStatus::Enabled,
        point_in_time_recovery_description: Some(PointInTimeRecoveryDescription {
            point_in_time_recovery_status: Some(match window {
                Some(_) => PointInTimeRecoveryStatus::Enabled,
                None => PointInTimeRecoveryStatus::Disabled,
            }),
            recovery_period_in_days: table.recovery.map(|recovery| recovery.days as i32),
            earliest_restorable_date_time: window.as_ref().map(|window| seconds(*window.start())),
            latest_restorable_date_time: window.as_ref().map(|window| seconds(*window.end())),
        }),
    }
}

/// The times that a table can be restored to, up to now; none if recovery is off. At AWS the latest is five
/// minutes ago.
pub fn window(engine: &Engine, table: &Table) -> Option<std::ops::RangeInclusive<u64>> {
    let recovery = table.recovery?;
    let now_us = engine.clock.now_us(&*engine.environment);
    let earliest_us =
        recovery.since_us.max(engine.date_us().saturating_sub(u64::from(recovery.days) * DAY_US));
    Some(earliest_us..=now_us.max(earliest_us))
}
