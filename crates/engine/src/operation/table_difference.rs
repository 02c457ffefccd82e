//! What has changed in a table since a time to which it can be restored. No operation of DynamoDB: the studio asks.

use api::Error;
use futures_util::future::BoxFuture;

use super::restore_table_to_point_in_time::{check_known, check_time};
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::difference::TableDifference;
use crate::operation::Engine;

impl Engine {
    /// What a restore of a table to a time would undo.
    pub fn difference<'a>(
        &'a self,
        caller: &'a Caller,
        table: &'a str,
        time_us: u64,
    ) -> BoxFuture<'a, Result<TableDifference, Error>> {
        Box::pin(async move {
            let live = self.find(caller, table)?.filter(|table| table.has_items());
            let live = live.ok_or_else(|| Error::table_not_found(table))?;
            self.cut(&live).await.map_err(fault::of_store)?;
            check_time(self, &live, time_us)?;
            check_known(self, &live, time_us).await?;
            self.compare(&live, time_us).await.map_err(fault::of_store)
        })
    }
}
