//! What is wrong with a table, or with a change of one.

use crate::{Error, ErrorKind};

impl Error {
    /// The table of an item operation does not exist, or not yet.
    pub fn resource_not_found_item() -> Error {
        Error::new(ErrorKind::ResourceNotFound, "Requested resource not found")
    }

    /// The table of a table operation does not exist.
    pub fn resource_not_found_table(name: &str) -> Error {
        let message = format!("Requested resource not found: Table: {name} not found");
        Error::new(ErrorKind::ResourceNotFound, message)
    }

    /// The table of a backup operation does not exist.
    pub fn table_not_found(name: &str) -> Error {
        Error::new(ErrorKind::TableNotFound, format!("Table not found: {name}"))
    }

    /// CreateTable with a name that is taken.
    pub fn table_exists(name: &str) -> Error {
        Error::new(ErrorKind::ResourceInUse, format!("Table already exists: {name}"))
    }

    /// A change of a table that is CREATING.
    pub fn table_being_created(name: &str) -> Error {
        Error::table_in_use(format_args!("Table is being created: {name}"))
    }

    /// A change of a table that is UPDATING.
    pub fn table_being_updated(name: &str) -> Error {
        Error::table_in_use(format_args!("Table is being updated: {name}"))
    }

    /// A change of a table that is DELETING.
    pub fn table_being_deleted(name: &str) -> Error {
        Error::table_in_use(format_args!("Table is being deleted: {name}"))
    }

    /// DeleteTable of a table whose indexes are changing.
    pub fn index_changes_under_way() -> Error {
        Error::table_in_use(format_args!(
            "Cannot delete table while indexes are being created, updated, or deleted."
        ))
    }

    fn table_in_use(why: std::fmt::Arguments<'_>) -> Error {
        let message = format!("Attempt to change a resource which is still in use: {why}");
        Error::new(ErrorKind::ResourceInUse, message)
    }

    /// DeleteTable of a table with deletion protection.
    pub fn deletion_protected() -> Error {
        Error::validation(
            "Resource cannot be deleted as it is currently protected against deletion. \
             Disable deletion protection first.",
        )
    }

    /// A provisioned table without provisioned throughput.
    pub fn throughput_missing() -> Error {
        Error::invalid_parameter(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        )
    }

    /// An on-demand table with provisioned throughput.
    pub fn throughput_on_demand() -> Error {
        Error::invalid_parameter(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is \
             PAY_PER_REQUEST",
        )
    }

    /// UpdateTable with one decrease of provisioned throughput too many.
    pub fn too_many_decreases(today: u32, last: &str, next: &str) -> Error {
        let message = format!(
            "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. After \
             the first 4 decreases, each subsequent decrease in the same UTC day can be performed at most once every \
             3600 seconds. Number of decreases today: {today}. Last decrease at {last}. Next decrease can be made at \
             {next}"
        );
        Error::new(ErrorKind::LimitExceeded, message)
    }

    /// UpdateTable with one switch to on-demand too many. The sentence is that of the older quota of one a day.
    pub fn too_many_switches(last: &str, next: &str) -> Error {
        let message = format!(
            "Subscriber limit exceeded: Update to PayPerRequest mode are limited to 4 times in 1 day(s). Last update \
             at {last}. Next update can be made at {next}"
        );
        Error::new(ErrorKind::LimitExceeded, message)
    }

    /// UpdateTable with the throughput that the table already has.
    pub fn throughput_unchanged(read_units: i64, write_units: i64) -> Error {
        Error::validation(format!(
            "The provisioned throughput for the table will not change. The requested value equals the \
             current value. Current ReadCapacityUnits provisioned for the table: {read_units}. Requested \
             ReadCapacityUnits: {read_units}. Current WriteCapacityUnits provisioned for the table: \
             {write_units}. Requested WriteCapacityUnits: {write_units}. Refer to the Amazon DynamoDB \
             Developer Guide for current limits and how to request higher limits."
        ))
    }

    /// A maximum for on-demand throughput that is not positive. `member` is `MaxReadRequestUnits` or
    /// `MaxWriteRequestUnits`.
    pub fn on_demand_max_out_of_range(member: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Requested {member} for OnDemandThroughput for table is outside of valid range"
        ))
    }

    /// Warm throughput below what the table or index has. `member` is `ReadUnitsPerSecond` or
    /// `WriteUnitsPerSecond`; `of` is `table` or names an index.
    pub fn warm_throughput_lowered(member: &str, of: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Requested {member} for WarmThroughput for {of} is lower than current WarmThroughput, decreasing \
             WarmThroughput is not supported"
        ))
    }

    /// The provisioned throughput of a table is used up.
    pub fn table_throughput_exceeded() -> Error {
        let message = "The level of configured provisioned throughput for the table was exceeded. Consider \
                       increasing your provisioning level with the UpdateTable API.";
        Error::new(ErrorKind::ProvisionedThroughputExceeded, message)
    }

    /// The provisioned throughput of global indexes is used up, and that of their table is not.
    pub fn index_throughput_exceeded() -> Error {
        let message = "The level of configured provisioned throughput for one or more global secondary indexes of \
                       the table was exceeded. Consider increasing your provisioning level for the \
                       under-provisioned global secondary indexes with the UpdateTable API";
        Error::new(ErrorKind::ProvisionedThroughputExceeded, message)
    }

    /// An on-demand table, or a partition of it, gets more than it has grown to.
    pub fn on_demand_throughput_exceeded() -> Error {
        let message = "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically \
                       scaling your table or index so please try again shortly. If exceptions persist, check if \
                       you have a hot key: \
                       https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html";
        Error::new(ErrorKind::Throttling, message)
    }

    /// An on-demand table or index gets more than the maximum that it was given. The text is not verified.
    pub fn on_demand_maximum_exceeded() -> Error {
        let message = "Throughput exceeds the maximum OnDemandThroughput configured on table or index";
        Error::new(ErrorKind::Throttling, message)
    }

    /// An on-demand table gets more than the account's quota for one table.
    pub fn account_throughput_exceeded() -> Error {
        let message = "Throughput exceeds the current throughput limit for your account. Please contact AWS Support \
                       at https://aws.amazon.com/support request a limit increase";
        Error::new(ErrorKind::RequestLimitExceeded, message)
    }
}
