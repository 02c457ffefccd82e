//! What every service beside the engine gets from it: rows, time, chance and callers.

use std::sync::Arc;
use std::time::Duration;

use api::Input;
use async_trait::async_trait;
use engine::{Caller, Engine};
use host::{Environment, Namespace, Rows, RowsError, Sleep};

#[cfg(test)]
mod tests;

/// The database itself as the sender of a request.
pub fn caller(namespace: &Namespace) -> Caller {
    Caller::new(namespace.account.clone(), namespace.region.clone())
}

/// Sends the engine a request of the database itself.
pub async fn send<I>(engine: &Engine, namespace: &Namespace, input: I) -> Result<I::Output, api::Error>
where
    I: Input<Request = api::Request, Response = api::Response>,
{
    let response = engine.call(&caller(namespace), input.into_request()).await?;
    I::output(response).ok_or_else(api::Error::internal)
}

/// The engine as services know it. What each needs of it is in the service's file.
pub struct OfEngine(pub Arc<Engine>);

/// Rows in the engine's store.
#[async_trait]
impl Rows for OfEngine {
    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, RowsError> {
        let row = self.0.service_row(name).await.map_err(|error| RowsError(error.to_string()))?;
        Ok(row.map(Vec::from))
    }

    async fn put(&self, name: &str, value: Vec<u8>) -> Result<(), RowsError> {
        self.0.put_service_row(name, value.into()).await.map_err(|error| RowsError(error.to_string()))
    }

    async fn delete(&self, name: &str) -> Result<(), RowsError> {
        self.0.delete_service_row(name).await.map_err(|error| RowsError(error.to_string()))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, RowsError> {
        let rows = self.0.service_rows(prefix).await.map_err(|error| RowsError(error.to_string()))?;
        Ok(rows.into_iter().map(|(name, value)| (name, value.into())).collect())
    }

    async fn replace(
        &self,
        name: &str,
        expected: Option<&[u8]>,
        value: Option<Vec<u8>>,
    ) -> Result<bool, RowsError> {
        let replaced = self.0.replace_service_row(name, expected, value.map(Into::into)).await;
        replaced.map_err(|error| RowsError(error.to_string()))
    }

    fn are_shared(&self) -> bool {
        self.0.is_shared()
    }

    async fn take_lease(&self, name: &str) -> Result<bool, RowsError> {
        self.0.take_lease(name).await.map_err(|error| RowsError(error.to_string()))
    }
}

/// The time, and the system's random numbers.
pub enum Clock {
    /// The date of the database.
    OfEngine(Arc<Engine>),
    /// The time that capacity goes by, which may run faster.
    OfCapacity(Arc<Engine>),
}

impl Environment for Clock {
    fn now_ms(&self) -> u64 {
        match self {
            Clock::OfEngine(engine) => engine.date_us() / 1000,
            Clock::OfCapacity(engine) => engine.usage().now().ms,
        }
    }

    fn random(&self) -> u128 {
        lodestone::System.random()
    }

    fn sleep(&self, time: Duration) -> Sleep {
        let scale = match self {
            Clock::OfEngine(_) => 1,
            Clock::OfCapacity(engine) => engine.usage().time_scale(),
        };
        // Never without a pause, however fast the clock runs.
        let time = time / u32::try_from(scale).unwrap_or(u32::MAX);
        Box::pin(tokio::time::sleep(time.max(Duration::from_millis(1))))
    }
}
