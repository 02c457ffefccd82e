//! Rows that a service keeps in the database.
//!
//! Several servers can share a database. Then each answers requests from the rows, and one of them does the work that
//! no request asks for: the one that has the lease of it.

use std::collections::BTreeMap;
use std::sync::Arc;

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

    /// Stores a row, or removes it, if it is as expected; `None` is no row. Returns whether it was.
    async fn replace(
        &self,
        name: &str,
        expected: Option<&[u8]>,
        value: Option<Vec<u8>>,
    ) -> Result<bool, RowsError>;

    /// Whether other servers change the rows, too.
    fn are_shared(&self) -> bool {
        false
    }

    /// Takes a lease; false if another server has it. Once taken, it is this server's for as long as it may write
    /// rows.
    async fn take_lease(&self, _name: &str) -> Result<bool, RowsError> {
        Ok(true)
    }
}

/// Why rows could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RowsError(pub String);

/// Rows that requests change, on whichever server they arrive. A row is replaced only if it is as this server last read
/// or wrote it, so that no server undoes what another has acknowledged. Loading and changing must not overlap.
pub struct SharedRows {
    rows: Arc<dyn Rows>,
    prefix: &'static str,
    known: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl SharedRows {
    /// The rows whose names start with the prefix. They are to be loaded before they are changed.
    pub fn new(rows: Arc<dyn Rows>, prefix: &'static str) -> SharedRows {
        SharedRows { rows, prefix, known: Mutex::default() }
    }

    /// The rows as they are now.
    pub async fn load(&self) -> Result<Vec<(String, Vec<u8>)>, RowsError> {
        let rows = self.rows.list(self.prefix).await?;
        *self.known.lock() = rows.iter().cloned().collect();
        Ok(rows)
    }

    /// Stores a row.
    pub async fn put(&self, name: &str, value: Vec<u8>) -> Result<(), RowsError> {
        self.change(name, Some(value)).await
    }

    /// Removes a row. It is no error if there is no such row.
    pub async fn delete(&self, name: &str) -> Result<(), RowsError> {
        self.change(name, None).await
    }

    async fn change(&self, name: &str, value: Option<Vec<u8>>) -> Result<(), RowsError> {
        let known = self.known.lock().get(name).cloned();
        if !self.rows.replace(name, known.as_deref(), value.clone()).await? {
            return Err(RowsError(format!("another server has changed the row {name}")));
        }
        let mut known = self.known.lock();
        match value {
            Some(value) => drop(known.insert(name.to_owned(), value)),
            None => drop(known.remove(name)),
        }
        Ok(())
    }
}

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

    async fn replace(
        &self,
        name: &str,
        expected: Option<&[u8]>,
        value: Option<Vec<u8>>,
    ) -> Result<bool, RowsError> {
        let mut rows = self.0.lock();
        if rows.get(name).map(Vec::as_slice) != expected {
            return Ok(false);
        }
        match value {
            Some(value) => drop(rows.insert(name.to_owned(), value)),
            None => drop(rows.remove(name)),
        }
        Ok(true)
    }
}
