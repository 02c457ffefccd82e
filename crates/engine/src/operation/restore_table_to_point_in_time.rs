//! RestoreTableToPointInTime: a new table with the items that another had at a time.

use api::{Error, ErrorKind, RestoreTableToPointInTimeInput, RestoreTableToPointInTimeOutput, TableStatus};

use super::authorization::access::{Access, Resource};
use super::describe_continuous_backups::window;
use super::description::description;
use super::restored::{self, RestoreOverrides};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::stream::iso_8601_ms;
use crate::base::table::{DoubtfulTime, Restore, Table};
use crate::operation::Engine;
use crate::tables::catalog::LiveTable;

pub(super) struct RestoreTableToPointInTime;

impl Serve for RestoreTableToPointInTime {
    type Input = RestoreTableToPointInTimeInput;
    type Output = RestoreTableToPointInTimeOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r RestoreTableToPointInTimeInput, _: &Namespace) -> Vec<Access<'r>> {
        let source = input.source_table_arn.as_deref().or(input.source_table_name.as_deref());
        let source = source.map_or(Resource::Any, Resource::table);
        Access::of_restore("dynamodb:RestoreTableToPointInTime", source, &input.target_table_name)
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: RestoreTableToPointInTimeInput,
    ) -> Result<RestoreTableToPointInTimeOutput, Error> {
        input.check()?;
        let source = match (&input.source_table_name, &input.source_table_arn) {
            (Some(name), None) | (None, Some(name)) => name,
            _ => {
                return Err(Error::validation(
                    "Must provide exactly one of: sourceTableArn, sourceTableName",
                ));
            }
        };
        let asked = asked_time(&input)?;
        let table = engine.find(caller, source)?.filter(|table| table.has_items());
        let table = table.ok_or_else(|| Error::table_not_found(source))?;
        let now_us = engine.cut(&table).await.map_err(fault::of_store)?;
        let time_us = asked.unwrap_or(now_us);
        check_time(engine, &table, time_us)?;
        if asked.is_some() {
            check_known(engine, &table, time_us).await?;
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
        let new =
            restored::new_table(&table, &input.target_table_name, &overrides, engine.environment.now_ms())?;
        restored::check_target(engine, caller, &input.target_table_name)?;
        let restore =
            Restore { source_table_arn: table.arn(), source_backup_arn: None, time_us: time_us.min(now_us) };
        let target = table.namespace.table_arn(&input.target_table_name);
        engine.hold_log_from(&table, &target, restore.time_us).await.map_err(fault::of_store)?;
        let target = restored::create(engine, caller, new, restore).await?;
        engine.start_restore(&target, &mut &engine.background);
        Ok(RestoreTableToPointInTimeOutput {
            table_description: Some(description(&target, TableStatus::Creating, engine.usage.now().ms)),
        })
    }
}

/// Refuses a time to which the table can't be restored.
pub fn check_time(engine: &Engine, table: &Table, time_us: u64) -> Result<(), Error> {
    let window = window(engine, table).ok_or_else(|| Error::recovery_unavailable(&table.name))?;
    if window.contains(&time_us) {
        return Ok(());
    }
    let [time, earliest, latest] = [time_us, *window.start(), *window.end()].map(|us| iso_8601_ms(us / 1000));
    Err(Error::restore_time_invalid(&time, &earliest, &latest))
}

/// Refuses a time at which the clock was wrong, so that it is not known which changes were made before it.
pub async fn check_known(engine: &Engine, table: &LiveTable, time_us: u64) -> Result<(), Error> {
    let doubtful = engine.doubtful_time(table, time_us).await.map_err(fault::of_store)?;
    let Some(DoubtfulTime { after_us, until_us }) = doubtful else { return Ok(()) };
    let [time, after] = [time_us, after_us].map(|us| iso_8601_ms(us / 1000));
    let until =
        until_us.map_or_else(String::new, |us| format!(", a time from '{}Z' on", iso_8601_ms(us / 1000)));
    Err(Error::new(
        ErrorKind::InvalidRestoreTime,
        format!(
            "The state of table {} at '{time}Z' is not known: the server's clock was wrong, and changes were recorded \
             under later times. Name a time up to '{after}Z'{until}, or the latest time",
            table.name
        ),
    ))
}

/// The time that the request names, in microseconds; none for the latest.
fn asked_time(input: &RestoreTableToPointInTimeInput) -> Result<Option<u64>, Error> {
    match (input.restore_date_time, input.use_latest_restorable_time.unwrap_or(false)) {
        (Some(_), true) => Err(Error::validation(
            "Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot be set for \
             point-in-time restore request.",
        )),
        (None, false) => Err(Error::validation(
            "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but \
             not both",
        )),
        (Some(time), false) => Ok(Some((time.max(0.0) * 1e6) as u64)),
        (None, true) => Ok(None),
    }
}
