//! Rows in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use parking_lot::Mutex;
use triggers::{Rows, RowsError};

/// Rows in memory. They outlive the triggers.
#[derive(Default)]
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
