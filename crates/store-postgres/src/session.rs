//! Finding out whether a commit happened whose reply was lost.
//!
//! Every transaction leaves a mark: a row of its session in `lodestone_commit` that holds the number of the
//! session's last transaction, written in the same commit. A session has one transaction at a time.
//!
//! If the reply to COMMIT is lost, the session is *closed*: its row is marked so, by a transaction of its
//! own, on whatever server leads by then. The lock of the row waits for the lost transaction if it is still
//! running. The row then says which transaction was the last. If it is the lost one, the commit happened.
//! If not, it can never happen: the mark of a closed session violates NOT NULL, so a transaction that is
//! still on its way fails. The closing is itself committed as durably as any write. So what it found is not
//! lost with the next failure of a leader.
//!
//! A number of PostgreSQL's own for transactions would be cheaper but can't be used: after a crash or a
//! failover, numbers whose transactions left no trace are given out again.

use std::time::Duration;

use store::StoreError;
use tokio::time::Instant;
use tokio_postgres::Statement;

use crate::connection::{Connections, Lease};
use crate::failure::Failure;
use crate::pipeline::{Parameter, Pipeline};

/// Marks a transaction. Parameters: the shard, the session, the number of the transaction.
const MARK: &str = "
    INSERT INTO lodestone_commit (shard, session, serial, is_closed, at) VALUES ($1, $2, $3, false, now())
    ON CONFLICT (shard, session) DO UPDATE
    SET serial = CASE WHEN lodestone_commit.is_closed THEN NULL ELSE excluded.serial END, at = excluded.at";

const CLOSE: &str = "
    INSERT INTO lodestone_commit (shard, session, serial, is_closed, at) VALUES ($1, $2, 0, true, now())
    ON CONFLICT (shard, session) DO UPDATE SET is_closed = true, at = excluded.at
    RETURNING serial";

/// No transaction is on its way for a day.
const FORGET: &str = "DELETE FROM lodestone_commit WHERE at < now() - interval '1 day'";

/// Between two tries to reach a server that leads.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// The transactions of one runner, one after the other.
pub(crate) struct Session {
    number: i64,
    serial: i64,
}

/// The mark of one transaction.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) shard: i16,
    session: i64,
    serial: i64,
}

impl Session {
    /// A session whose number was never used before.
    pub(crate) fn new() -> Result<Session, Failure> {
        let number = getrandom::u64().map_err(|error| Failure::Lost(format!("no random number: {error}")))?;
        Ok(Session { number: number.cast_signed(), serial: 0 })
    }

    /// The mark of the next transaction, in the shard of its first row.
    pub(crate) fn next_mark(&mut self, shard: i16) -> Mark {
        self.serial += 1;
        Mark { shard, session: self.number, serial: self.serial }
    }
}

impl Mark {
    pub(crate) async fn statement(connection: &Lease) -> Result<Statement, Failure> {
        Ok(connection.prepare_cached(MARK).await?)
    }

    pub(crate) fn write<'a>(self, pipeline: &mut Pipeline<'a>, statement: &'a Statement) {
        let Mark { shard, session, serial } = self;
        pipeline.statement(
            statement,
            [Parameter::Small(shard), Parameter::Number(session), Parameter::Number(serial)],
        );
    }

    /// Closes the session and says whether this transaction was committed. An error means that no server
    /// could be asked in `time`, and that the outcome stays unknown.
    pub(crate) async fn find(self, connections: &Connections, time: Duration) -> Result<bool, Failure> {
        let deadline = Instant::now() + time;
        loop {
            match self.close(connections).await {
                Ok(serial) => return Ok(serial == self.serial),
                Err(Failure::Closed) => return Err(Failure::Closed),
                Err(failure) if Instant::now() > deadline => return Err(failure),
                Err(failure) => tracing::debug!(?failure, "a commit without a reply is looked for again"),
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    async fn close(self, connections: &Connections) -> Result<i64, Failure> {
        let connection = connections.lease().await?;
        let closing = async {
            let close = connection.prepare_cached(CLOSE).await?;
            Ok(connection.query_one(&close, &[&self.shard, &self.session]).await?.try_get(0)?)
        };
        let closed = connections.answered(closing).await;
        connection.settle(&closed);
        closed
    }
}

/// Removes the rows of sessions that ended long ago.
pub(crate) async fn forget_old(connections: &Connections) -> Result<(), StoreError> {
    let connection = connections.lease().await?;
    let forgotten = connections.answered(async { Ok(connection.batch_execute(FORGET).await?) }).await;
    connection.settle(&forgotten);
    Ok(forgotten?)
}
