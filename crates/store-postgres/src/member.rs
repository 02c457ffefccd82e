//! The servers that share the database.
//!
//! A server that has joined has a row for each shard in `lodestone_member`. Every transaction of an update holds one of
//! them `FOR KEY SHARE`, in the round trip that locks its stripes: that of its first stripe's shard. So in an engine that
//! distributes shards, a transaction of one shard is one of one node, and a lost node holds up the transactions of its own
//! shards alone. To expel a server is to delete all its rows: the deletion waits for the transactions that hold one, and
//! later ones don't find theirs.
//!
//! A commit may be under way whose caller is gone (a request was cut off), so each update has a ticket until it
//! has ended, and [`Cluster::settle`] waits for the tickets that are out.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use store::{Cluster, Log, LogPosition, Member, StoreError};
use tokio::sync::Notify;
use tokio_postgres::{Row, Statement};

use crate::connection::Lease;
use crate::failure::Failure;
use crate::key_columns::{log_number, position_number};
use crate::pipeline::{Parameter, Pipeline};
use crate::{PostgresStore, Shared, shard};

pub(crate) const HOLD: &str =
    "SELECT member FROM lodestone_member WHERE shard = $1 AND member = $2 FOR KEY SHARE";

/// One row for each shard: those of `shard::COUNT`.
const JOIN: &str = "
    INSERT INTO lodestone_member (shard, member)
    SELECT shard::smallint, $1::bigint FROM generate_series(0, 255) AS shard";
const EXPEL: &str = "DELETE FROM lodestone_member WHERE member = $1";

/// Alone in its transaction, so the order of the logs does not matter. An update that holds the counter has
/// committed when this is done.
pub(crate) const RAISE: &str = "
    INSERT INTO lodestone_log (shard, log, last) VALUES ($1, $2, $3)
    ON CONFLICT (shard, log) DO UPDATE SET last = GREATEST(lodestone_log.last, excluded.last)";

/// Adds the statement that holds a member's row of a shard until the end of the transaction.
pub(crate) fn hold<'a>(pipeline: &mut Pipeline<'a>, statement: &'a Statement, shard: i16, member: Member) {
    pipeline.statement(statement, [Parameter::Small(shard), Parameter::Number(number(member))]);
}

/// Whether the row was there.
pub(crate) fn check_held(member: Member, rows: Option<Vec<Row>>) -> Result<(), Failure> {
    match rows {
        Some(rows) if rows.is_empty() => {
            let reason = format!(
                "member {} has no row in lodestone_member any more: another server has expelled it",
                member.0
            );
            Err(Failure::Fenced(reason))
        }
        Some(_) => Ok(()),
        None => Err(Failure::Unreadable("lodestone_member gave no answer".to_owned())),
    }
}

fn number(member: Member) -> i64 {
    member.0.cast_signed()
}

#[async_trait]
impl Cluster for PostgresStore {
    async fn join(&self) -> Result<Member, StoreError> {
        // So many that none comes twice, and few enough that JSON can hold one.
        let random = getrandom::u64()
            .map_err(|error| StoreError::Unavailable(format!("no random number: {error}")))?;
        let member = Member((random >> 12).max(1));
        self.shared.on_member(JOIN, member).await?;
        *self.shared.member.lock() = Some(member);
        Ok(member)
    }

    async fn expel(&self, member: Member) -> Result<(), StoreError> {
        Ok(self.shared.on_member(EXPEL, member).await?)
    }

    async fn settle(&self) -> Result<(), StoreError> {
        self.shared.tickets.all_back().await;
        Ok(())
    }

    async fn raise_logs(&self, logs: &[Log], time_us: u64) -> Result<(), StoreError> {
        let connection = self.shared.calls.lease().await?;
        let raised = self.shared.calls.answered(raise(&connection, logs, time_us)).await;
        connection.settle(&raised);
        Ok(raised?)
    }
}

async fn raise(connection: &Lease, logs: &[Log], time_us: u64) -> Result<(), Failure> {
    let raise = connection.prepare_cached(RAISE).await?;
    let mut pipeline = Pipeline::new(connection);
    let end = position_number(LogPosition::through(time_us));
    for log in logs {
        let (shard, number) = (Parameter::Small(shard::of_log(*log)), Parameter::Number(log_number(*log)));
        pipeline.statement(&raise, [shard, number, Parameter::Number(end)]);
    }
    pipeline.send().await.map(|_| ())
}

impl Shared {
    async fn on_member(&self, statement: &str, member: Member) -> Result<(), Failure> {
        let connection = self.calls.lease().await?;
        let changing = async {
            let statement = connection.prepare_cached(statement).await?;
            connection.execute(&statement, &[&number(member)]).await?;
            Ok(())
        };
        let changed = self.calls.answered(changing).await;
        connection.settle(&changed);
        changed
    }
}

/// One ticket for each update that has not ended.
#[derive(Default)]
pub(crate) struct Tickets {
    out: Mutex<Out>,
    returned: Notify,
}

#[derive(Default)]
struct Out {
    last: u64,
    numbers: BTreeSet<u64>,
}

/// An update that has not ended.
pub(crate) struct Ticket {
    tickets: Arc<Tickets>,
    number: u64,
}

impl Tickets {
    pub(crate) fn take(self: &Arc<Self>) -> Ticket {
        let mut out = self.out.lock();
        out.last += 1;
        let number = out.last;
        out.numbers.insert(number);
        Ticket { tickets: self.clone(), number }
    }

    /// Waits until the tickets that are out now have come back.
    async fn all_back(&self) {
        let last = self.out.lock().last;
        loop {
            // Made before the check, so that no return is missed between the two.
            let returned = self.returned.notified();
            if self.out.lock().numbers.first().is_none_or(|first| *first > last) {
                return;
            }
            returned.await;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.tickets.out.lock().numbers.remove(&self.number);
        self.tickets.returned.notify_waiters();
    }
}
