//! Rows that a service keeps in the database.

use std::collections::BTreeMap;

use async_trait::async_trait;
use parking_lot::Mutex;

/// Named rows of bytes, durable once `put` or `delete` has returned.
#[async_trait]
pub trait Rows: Send + Sync + 'static {
    /// The row with this name.
    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, RowsError>;

    /// Stores a row.
    async fn put(&self, name: &str, value: Vec<u8>) -> Result<(), RowsError>;

    /// Removes a row. It is no error if there is no such row.
    async fn delete(&self, name: &str) -> Result<(), RowsError>;

    /// The rows whose names start with the prefix, in the order of their names.
    async fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, RowsError>;
}

/// Why rows could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RowsError(pub String);

/// Rows in memory. They outlive the service that keeps them, so a test can restart it.
#[derive(Debug, Default)]
pub struct MemoryRows(pub Mutex<BTreeMap<String, Vec<u8>>>);

#[async_trait]
impl Rows for MemoryRows {
    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, RowsError> {
        Ok(self.0.lock().get(name).cloned())
    }

    async fn put(&self, name: &str, value: Vec<u8>) -> Result<(), RowsError> {
        self.0.lock().insert(name.to_owned(), value);
        Ok(())
    }

    async fn delete(&self, name: &str) -> Result<(), RowsError> {
        self.0.lock().remove(name);
        Ok(())
    }

    async fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, RowsError> {
        let rows = self.0.lock();
        let found = rows.iter().filter(|(name, _)| name.starts_with(prefix));
        Ok(found.map(|(name, value)| (name.clone(), value.clone())).collect())
    }
}
