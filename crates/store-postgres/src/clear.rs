//! Removing all rows of a space, in bounded steps.

use store::{Space, StoreError};
use tokio_postgres::Row;

use crate::Shared;
use crate::connection::Lease;
use crate::failure::Failure;
use crate::key_columns::space_number;
use crate::pipeline::{Parameter, Pipeline};
use crate::window::Edge;

/// Rows that one step removes: transactions of some milliseconds, or of some hundred if all rows have the
/// largest size.
const STEP_ROWS: usize = 1000;

const STEP: &str = "
    SELECT shard, partition, sort FROM lodestone_row
    WHERE space = $1 AND (partition, sort) >= ($2, $3) ORDER BY partition, sort LIMIT $4";

/// Removes the rows between two keys of one shard. No client writes to the space during a clear, so these are
/// the rows of a step.
const REMOVE: &str = "
    DELETE FROM lodestone_row
    WHERE shard = $1 AND space = $2 AND (partition, sort) >= ($3, $4) AND (partition, sort) <= ($5, $6)";

impl Shared {
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

/// Removes the rows of one step, shard by shard. Returns where the next one begins, if this one was full.
async fn clear_step(connection: &Lease, space: Space, from: Edge) -> Result<Option<Edge>, Failure> {
    let (step, remove) = (connection.prepare_cached(STEP).await?, connection.prepare_cached(REMOVE).await?);
    let space = space_number(space);
    let rows = connection.query(&step, &[&space, &from.partition, &from.sort, &(STEP_ROWS as i64)]).await?;
    let rows = rows.iter().map(row_of).collect::<Result<Vec<_>, Failure>>()?;
    let mut pipeline = Pipeline::new(connection);
    for run in rows.chunk_by(|one, next| one.0 == next.0) {
        let ((shard, first), (_, last)) = (&run[0], &run[run.len() - 1]);
        let (shard, space) = (Parameter::Small(*shard), Parameter::Number(space));
        let [first_partition, first_sort] = first.parameters();
        let [last_partition, last_sort] = last.parameters();
        pipeline.statement(&remove, [shard, space, first_partition, first_sort, last_partition, last_sort]);
    }
    pipeline.send().await?;
    let is_full = rows.len() == STEP_ROWS;
    Ok(rows.into_iter().next_back().filter(|_| is_full).map(|(_, last)| last.next()))
}

fn row_of(row: &Row) -> Result<(i16, Edge), Failure> {
    Ok((row.try_get(0)?, Edge { partition: row.try_get(1)?, sort: row.try_get(2)? }))
}

impl Edge {
    fn parameters(&self) -> [Parameter<'_>; 2] {
        [Parameter::Bytes(&self.partition), Parameter::Bytes(&self.sort)]
    }
}
