//! Bounded pools of connections. A connection with an open transaction never returns to its pool.
//!
//! [`Lease::settle`] returns a connection to its pool when the server has answered. A lease that is
//! dropped in any other way (no answer came, the caller was cancelled) closes its connection, and the
//! server rolls back.

use std::ops::Deref;
use std::time::Duration;

use deadpool_postgres::{
    ClientWrapper, Connect, Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use store::StoreError;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config};

use crate::Options;
use crate::address::Address;
use crate::engine::Engine;
use crate::failure::{Failure, with_causes};

pub(crate) const BEGIN_UPDATE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
pub(crate) const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

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
    /// For calls: the server ends a transaction that stalls, so it cannot hold its locks for ever.
    ///
    /// There is deliberately no `statement_timeout`: if it fired while COMMIT waits for a synchronous
    /// replica, PostgreSQL would report success without the replica.
    pub(crate) fn of_calls(
        address: &Address,
        options: &Options,
        engine: Engine,
        size: usize,
    ) -> Result<Connections, StoreError> {
        let settings = format!(
            "{} SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {}",
            engine.settings(),
            options.wait.as_millis(),
            options.reply.as_millis(),
        );
        Self::new(address, options, size, settings)
    }

    /// For snapshots, which may be idle in their transaction.
    pub(crate) fn of_snapshots(
        address: &Address,
        options: &Options,
        engine: Engine,
    ) -> Result<Connections, StoreError> {
        let settings = format!("{} SET idle_in_transaction_session_timeout = 0", engine.settings());
        Self::new(address, options, options.snapshots, settings)
    }

    fn new(
        address: &Address,
        options: &Options,
        size: usize,
        settings: String,
    ) -> Result<Connections, StoreError> {
        let config = config_for(address, options);
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_connect(config, address.clone(), ManagerConfig { recycling_method });
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

/// How the pool makes a connection. A task drives it.
impl Connect for Address {
    fn connect(
        &self,
        config: &Config,
    ) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), tokio_postgres::Error>> {
        let config = config.clone();
        Box::pin(async move {
            let (client, connection) = Address::connect(self, &config).await?;
            let driven = tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(reason = with_causes(&error), "a connection to PostgreSQL was lost");
                }
            });
            Ok((client, driven))
        })
    }
}

/// A connection of its own, to find out which engine answers.
pub(crate) async fn recognise(address: &Address, options: &Options) -> Result<Engine, Failure> {
    let config = config_for(address, options);
    let connecting = async {
        let (client, connection) = address.connect(&config).await?;
        let driven = tokio::spawn(connection);
        let engine = Engine::recognise(&client).await;
        drop(client);
        // Whatever ends the connection now does not change what was recognised.
        let _ = driven.await;
        engine
    };
    match tokio::time::timeout(options.wait, connecting).await {
        Ok(engine) => engine,
        Err(_) => Err(Failure::Lost(format!("the database did not answer within {:?}", options.wait))),
    }
}

fn config_for(address: &Address, options: &Options) -> Config {
    let mut config = address.config.clone();
    // A host that drops packets must leave time for the next ones in the list.
    let hosts = u32::try_from(config.get_hosts().len()).unwrap_or(u32::MAX).max(1);
    config
        .application_name("lodestone")
        .connect_timeout(options.wait / hosts)
        .keepalives_idle(KEEPALIVE_IDLE)
        .keepalives_interval(KEEPALIVE_INTERVAL)
        .keepalives_retries(KEEPALIVE_RETRIES)
        .tcp_user_timeout(options.reply);
    config
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
