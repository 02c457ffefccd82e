//! Bounded pools of connections. A connection with an open transaction never returns to its pool.
//!
//! [`Lease::settle`] returns a connection to its pool when the server has answered. A lease that is
//! dropped in any other way (no answer came, the caller was cancelled) closes its connection, and the
//! server rolls back.

use std::ops::Deref;
use std::str::FromStr;
use std::time::Duration;

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime,
};
use futures_util::FutureExt;
use store::StoreError;
use tokio_postgres::{Config, NoTls};

use crate::Options;
use crate::failure::{Failure, with_causes};

/// Every statement of this store is a lookup or a range of a primary key, but new tables have no
/// statistics that would tell the planner. So other plans are ruled out, and the remaining one is
/// made once.
///
/// There is deliberately no `statement_timeout`: if it fired while COMMIT waits for a synchronous
/// replica, PostgreSQL would report success without the replica.
const PLAN_SETTINGS: &str = "SET enable_seqscan = off; SET enable_bitmapscan = off; \
     SET enable_hashjoin = off; SET enable_mergejoin = off; \
     SET plan_cache_mode = force_generic_plan; SET jit = off";

const BEGIN_UPDATE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A lost peer is noticed after 15 s + 3 × 5 s of silence.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;

/// A pool of connections to one database.
#[derive(Clone)]
pub(crate) struct Connections {
    pool: Pool,
    reply: Duration,
}

impl Connections {
    /// For calls: PostgreSQL ends a transaction that stalls, so it cannot hold its locks for ever.
    pub(crate) fn of_calls(url: &str, options: &Options) -> Result<Connections, StoreError> {
        let settings = format!(
            "{PLAN_SETTINGS}; SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {}",
            options.wait.as_millis(),
            options.reply.as_millis(),
        );
        Self::new(url, options, options.connections, settings)
    }

    /// For snapshots, which may be idle in their transaction.
    pub(crate) fn of_snapshots(url: &str, options: &Options) -> Result<Connections, StoreError> {
        let settings = format!("{PLAN_SETTINGS}; SET idle_in_transaction_session_timeout = 0");
        Self::new(url, options, options.snapshots, settings)
    }

    fn new(url: &str, options: &Options, size: usize, settings: String) -> Result<Connections, StoreError> {
        // The message names the wrong setting and never quotes the URL, which may hold a password.
        let mut config = Config::from_str(url).map_err(|error| {
            StoreError::Unavailable(format!("the PostgreSQL URL: {}", with_causes(&error)))
        })?;
        // A host that drops packets must leave time for the next ones in the list.
        let hosts = u32::try_from(config.get_hosts().len()).unwrap_or(u32::MAX).max(1);
        config
            .application_name("lodestone")
            .connect_timeout(options.wait / hosts)
            .keepalives_idle(KEEPALIVE_IDLE)
            .keepalives_interval(KEEPALIVE_INTERVAL)
            .keepalives_retries(KEEPALIVE_RETRIES)
            .tcp_user_timeout(options.reply);
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_config(config, NoTls, ManagerConfig { recycling_method });
        let pool = Pool::builder(manager)
            .max_size(size)
            .wait_timeout(Some(options.wait))
            .create_timeout(Some(options.wait))
            .recycle_timeout(Some(options.wait))
            .runtime(Runtime::Tokio1)
            .post_create(applying(settings, options.wait))
            .build()
            .map_err(|error| StoreError::Unavailable(with_causes(&error)))?;
        Ok(Connections { pool, reply: options.reply })
    }

    pub(crate) async fn lease(&self) -> Result<Lease, Failure> {
        Ok(Lease { connection: Some(self.pool.get().await?) })
    }

    /// Waits for one round trip, at most `Options::reply`.
    pub(crate) async fn answered<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        match tokio::time::timeout(self.reply, work).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Failure::Lost(format!("PostgreSQL did not answer within {:?}", self.reply))),
        }
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }
}

/// Applies the settings to a new connection. The pool's time limit does not include this.
fn applying(settings: String, wait: Duration) -> Hook {
    Hook::async_fn(move |client: &mut ClientWrapper, _| {
        let settings = settings.clone();
        Box::pin(async move {
            match tokio::time::timeout(wait, client.batch_execute(&settings)).await {
                Ok(applied) => applied.map_err(HookError::Backend),
                Err(_) => Err(HookError::message("no answer to the settings of a new connection")),
            }
        })
    })
}

/// A connection in use.
pub(crate) struct Lease {
    /// `None` once the lease is settled or dropped.
    connection: Option<Object>,
}

impl Lease {
    pub(crate) async fn begin_update(&self) -> Result<(), Failure> {
        Ok(self.batch_execute(BEGIN_UPDATE).await?)
    }

    /// The next statement fixes the moment that the transaction sees.
    pub(crate) async fn begin_snapshot(&self) -> Result<(), Failure> {
        Ok(self.batch_execute(BEGIN_SNAPSHOT).await?)
    }

    /// Returns the connection, which has no open transaction, to the pool if it is still usable.
    pub(crate) fn settle<T>(mut self, outcome: &Result<T, Failure>) {
        if outcome.as_ref().err().is_none_or(Failure::spares_connection) {
            drop(self.connection.take());
        }
    }

    /// Like [`Lease::settle`], after a rollback of the open transaction.
    pub(crate) fn settle_with_rollback<T>(self, outcome: &Result<T, Failure>) {
        // One poll sends the request; later statements on the connection queue after it.
        let _ = self.batch_execute("ROLLBACK").now_or_never();
        self.settle(outcome);
    }
}

impl Deref for Lease {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        self.connection.as_ref().expect("a lease has a connection until it is settled")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(Object::take(connection));
        }
    }
}
