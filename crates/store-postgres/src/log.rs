//! Reading and trimming the change logs. Records are appended by updates.

use bytes::Bytes;
use store::{Log, LogPosition, StoreError};

use crate::connection::Lease;
use crate::failure::Failure;
use crate::key_columns::{log_number, position, position_number};
use crate::{Shared, shard};

/// Records that one step of trimming removes: a transaction of some milliseconds.
const STEP_RECORDS: i64 = 1000;

const READ: &str = "
    SELECT position, record FROM lodestone_record
    WHERE shard = $1 AND log = $2 AND position > $3 ORDER BY position LIMIT $4";

const END: &str = "SELECT last FROM lodestone_log WHERE shard = $1 AND log = $2";

const STEP_END: &str = "
    SELECT position FROM lodestone_record
    WHERE shard = $1 AND log = $2 AND position > $3 AND position <= $4 ORDER BY position OFFSET $5 LIMIT 1";

const DELETE_STEP: &str = "
    DELETE FROM lodestone_record WHERE shard = $1 AND log = $2 AND position > $3 AND position <= $4";

impl Shared {
    pub(crate) async fn read_records(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        let connection = self.calls.lease().await?;
        let records = self.calls.answered(read(&connection, log, after, limit)).await;
        connection.settle(&records);
        Ok(records?)
    }

    pub(crate) async fn read_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        let connection = self.calls.lease().await?;
        let end = self.calls.answered(end(&connection, log)).await;
        connection.settle(&end);
        Ok(end?)
    }

    /// The log's counter row stays, so its positions are never given out again.
    pub(crate) async fn trim_records(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        let mut from = Some(0);
        while let Some(after) = from {
            let connection = self.calls.lease().await?;
            let trimmed = self.calls.answered(trim_step(&connection, log, after, through)).await;
            connection.settle(&trimmed);
            from = trimmed?;
        }
        Ok(())
    }
}

/// Up to `limit` records after position `after`.
pub(crate) async fn read(
    connection: &Lease,
    log: Log,
    after: LogPosition,
    limit: usize,
) -> Result<Vec<(LogPosition, Bytes)>, Failure> {
    let statement = connection.prepare_cached(READ).await?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = connection
        .query(&statement, &[&shard::of_log(log), &log_number(log), &position_number(after), &limit])
        .await?;
    rows.iter().map(|row| Ok((position(row.try_get(0)?)?, Bytes::copy_from_slice(row.try_get(1)?)))).collect()
}

/// The position of the last record that was ever appended.
pub(crate) async fn end(connection: &Lease, log: Log) -> Result<LogPosition, Failure> {
    let statement = connection.prepare_cached(END).await?;
    let row = connection.query_opt(&statement, &[&shard::of_log(log), &log_number(log)]).await?;
    row.map_or(Ok(LogPosition(0)), |row| position(row.try_get(0)?))
}

/// Removes the records of one step after position `after`. Returns the last position it removed if there
/// may be more.
async fn trim_step(
    connection: &Lease,
    log: Log,
    after: i64,
    through: LogPosition,
) -> Result<Option<i64>, Failure> {
    let (shard, log, through) = (shard::of_log(log), log_number(log), position_number(through));
    let step_end = connection.prepare_cached(STEP_END).await?;
    let last =
        connection.query_opt(&step_end, &[&shard, &log, &after, &through, &(STEP_RECORDS - 1)]).await?;
    let last: Option<i64> = last.map(|row| row.try_get(0)).transpose()?;
    let delete = connection.prepare_cached(DELETE_STEP).await?;
    connection.execute(&delete, &[&shard, &log, &after, &last.unwrap_or(through)]).await?;
    Ok(last)
}
