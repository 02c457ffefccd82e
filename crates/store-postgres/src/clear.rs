//! Removing all rows of a space, in bounded steps.

use store::{Space, StoreError};

use crate::PostgresStore;
use crate::connection::Lease;
use crate::failure::Failure;
use crate::key_columns::space_number;
use crate::window::Edge;

/// Rows that one step removes: a transaction of some milliseconds, or of some hundred if all rows have
/// the largest size.
const STEP_ROWS: i64 = 1000;

const CLEAR_STEP: &str = "
    DELETE FROM lodestone_row AS gone
    USING (
        SELECT partition, sort FROM lodestone_row
        WHERE space = $1 AND (partition, sort) >= ($2, $3) ORDER BY partition, sort LIMIT $4) AS step
    WHERE gone.space = $1 AND gone.partition = step.partition AND gone.sort = step.sort
    RETURNING gone.partition, gone.sort";

impl PostgresStore {
    pub(crate) async fn clear_space(&self, space: Space) -> Result<(), StoreError> {
        // Each step begins where the last one ended, so that none scans removed rows.
        let mut from = Some(Edge::before_all());
        while let Some(begin) = from {
            let connection = self.calls.lease().await?;
            let cleared = self.calls.answered(clear_step(&connection, space, begin)).await;
            connection.settle(&cleared);
            from = cleared?;
        }
        Ok(())
    }
}

/// Removes the rows of one step. Returns where the next one begins, if this one was full.
async fn clear_step(connection: &Lease, space: Space, from: Edge) -> Result<Option<Edge>, Failure> {
    let statement = connection.prepare_cached(CLEAR_STEP).await?;
    let space = space_number(space);
    let rows = connection.query(&statement, &[&space, &from.partition, &from.sort, &STEP_ROWS]).await?;
    let mut last = from;
    for row in &rows {
        last = last.max(Edge { partition: row.try_get(0)?, sort: row.try_get(1)? });
    }
    let is_full = i64::try_from(rows.len()) == Ok(STEP_ROWS);
    Ok(is_full.then(|| last.next()))
}
