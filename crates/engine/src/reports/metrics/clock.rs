//! The clock of capacity, where it is faster than real time: it is stored, so that it never goes back.

use std::time::Duration;

use store::{Consistency, Store, StoreError};

use crate::base::rows::put_rows;
use crate::base::space;
use crate::reports::Reports;

/// How far a faster clock had come when the database was last open. At real speed there is no other clock.
pub async fn read_clock(store: &dyn Store, time_scale: u32) -> Result<Option<u64>, StoreError> {
    if time_scale <= 1 {
        return Ok(None);
    }
    let row = store.get(&[space::clock_key()], Consistency::Latest).await?.pop().flatten();
    Ok(row.map(|row| space::decode_number(&row)).transpose()?.map(|ms| ms.saturating_mul(1000)))
}

impl Reports {
    /// Stores how far a faster clock has come, or will have come by the next time.
    pub(crate) async fn keep_clock(&self, interval: Duration) -> Result<(), StoreError> {
        let scale = self.usage.time_scale();
        if scale == 1 {
            return Ok(());
        }
        let lead_ms = (interval.as_millis() as u64).saturating_mul(scale);
        let row = space::encode_number(self.usage.now().ms + lead_ms);
        put_rows(&*self.store, &[(space::clock_key(), row)]).await
    }
}
