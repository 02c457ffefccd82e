//! Clearing the rows of dropped tables and indexes.
//!
//! The catalog records each dropped space until it is empty, so a clearing that was interrupted goes on
//! when the database is next opened.

use std::sync::Arc;

use store::{Space, StoreError};

use crate::background::Job;
use crate::tables::catalog::{Catalog, LiveTable};

/// Clears spaces, one after the other.
pub struct Clearing {
    catalog: Arc<Catalog>,
    /// The table that the spaces belonged to; unknown after a restart, when no write can be under way.
    dropped: Option<Arc<LiveTable>>,
    /// At least one.
    spaces: Vec<Space>,
}

impl Clearing {
    /// Clears a dropped table and its indexes.
    pub fn of_table(catalog: Arc<Catalog>, dropped: Arc<LiveTable>) -> Clearing {
        let spaces = dropped.spaces().collect();
        Clearing { catalog, dropped: Some(dropped), spaces }
    }

    /// Clears a space that the table no longer has.
    pub fn of_part(catalog: Arc<Catalog>, table: Arc<LiveTable>, space: Space) -> Clearing {
        Clearing { catalog, dropped: Some(table), spaces: vec![space] }
    }

    /// Clears a space that belonged to an unknown table.
    pub fn of_space(catalog: Arc<Catalog>, space: Space) -> Clearing {
        Clearing { catalog, dropped: None, spaces: vec![space] }
    }
}

impl Job for Clearing {
    fn name(&self) -> &'static str {
        "clearing of dropped tables"
    }

    fn subject(&self) -> String {
        match &self.dropped {
            Some(table) => table.full_name(),
            None => format!("space {}", self.spaces[0].0),
        }
    }

    /// Of the spaces: a table of the same name may be dropped again in the meantime.
    fn lease(&self) -> Option<String> {
        Some(format!("{}/{}", self.name(), self.spaces[0].0))
    }

    async fn run(&self) -> Result<(), StoreError> {
        self.catalog.wait_for_writes(self.dropped.as_deref()).await?;
        for space in &self.spaces {
            self.catalog.clear(*space).await?;
        }
        Ok(())
    }
}
