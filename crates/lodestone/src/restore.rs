//! `lodestone restore`: a new table from a backup, or from an earlier second of a table.

use api::{
    DescribeBackupInput, DescribeTableInput, DescribeTableOutput, RestoreTableFromBackupInput,
    RestoreTableToPointInTimeInput, TableDescription, TableStatus,
};
use clap::Args;

use crate::connection::{Connection, ConnectionArguments};
use crate::moment::{self, Moment};
use crate::output;
use crate::wait::{Look, WaitArguments, Work};

/// Restore a backup, or any earlier second of a table, into a new table, and wait until it is ACTIVE.
///
/// The new table has the keys, indexes and billing of the old one; its stream, time to live, tags and recovery are
/// off, as at AWS. The old table stays as it is. An earlier second needs point-in-time recovery on the table:
/// `aws dynamodb update-continuous-backups` switches it on.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone restore --table Songs --at 10m SongsBefore                 as it was ten minutes ago
  lodestone restore --table Songs --at 2026-11-17T02:00:00Z SongsBefore
  lodestone restore --table Songs --latest SongsCopy
  lodestone restore --backup ARN SongsCopy                             `lodestone backup list` shows ARNs")]
pub struct Restore {
    /// The new table's name
    target: String,

    /// The ARN of the backup to restore
    #[arg(long, value_name = "ARN", conflicts_with_all = ["table", "when"], required_unless_present = "table")]
    backup: Option<String>,

    /// The table to restore an earlier state of
    #[arg(long, requires = "when")]
    table: Option<String>,

    /// The time: 2026-11-17T02:00:00Z (UTC), seconds since 1970, or how long ago, such as 10m
    #[arg(long, value_name = "TIME", group = "when", requires = "table")]
    at: Option<Moment>,

    /// As late as possible
    #[arg(long, group = "when", requires = "table", conflicts_with = "at")]
    latest: bool,

    #[command(flatten)]
    wait: WaitArguments,

    /// Print DynamoDB's description of the new table as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArguments,
}

impl Restore {
    pub fn run(self) -> Result<(), String> {
        let restored = self.connection.run(async |connection| self.restore(connection).await)?;
        match self.json {
            true => output::print_response(restored),
            false => print(&restored.table.unwrap_or_default()),
        }
        Ok(())
    }

    async fn restore(&self, connection: &Connection) -> Result<DescribeTableOutput, String> {
        let expected_items = match (&self.backup, &self.table) {
            (Some(arn), _) => self.begin_from_backup(connection, arn).await?,
            (None, table) => self.begin_from_table(connection, table.as_deref().unwrap_or_default()).await?,
        };
        let work = Work { what: format!("restore of {}", self.target), subject: &self.target };
        self.wait.until_done(connection, work, async || self.look(connection, expected_items).await).await
    }

    /// Begins, and returns how many items there will be.
    async fn begin_from_backup(&self, connection: &Connection, arn: &str) -> Result<Option<u64>, String> {
        let backup = connection.call(DescribeBackupInput { backup_arn: arn.to_owned() }).await?;
        let source = backup.backup_description.and_then(|backup| backup.source_table_details);
        let input = RestoreTableFromBackupInput {
            backup_arn: arn.to_owned(),
            target_table_name: self.target.clone(),
            ..Default::default()
        };
        connection.call(input).await?;
        Ok(source.and_then(|source| source.item_count).map(|items| items as u64))
    }

    /// Begins, and returns how many items the table has now: about as many as it had.
    async fn begin_from_table(&self, connection: &Connection, table: &str) -> Result<Option<u64>, String> {
        let source = connection.call(DescribeTableInput { table_name: table.to_owned() }).await?.table;
        let input = RestoreTableToPointInTimeInput {
            source_table_name: Some(table.to_owned()),
            target_table_name: self.target.clone(),
            restore_date_time: self.at.map(Moment::seconds),
            use_latest_restorable_time: self.latest.then_some(true),
            ..Default::default()
        };
        connection.call(input).await?;
        Ok(source.and_then(|source| source.item_count).map(|items| items as u64))
    }

    async fn look(
        &self,
        connection: &Connection,
        expected_items: Option<u64>,
    ) -> Result<Look<DescribeTableOutput>, String> {
        let found = connection.call(DescribeTableInput { table_name: self.target.clone() }).await?;
        let table = found.table.as_ref();
        let items = table.and_then(|table| table.item_count).unwrap_or(0);
        Ok(match table.and_then(|table| table.table_status) {
            Some(TableStatus::Creating) => Look::Working { done: items as u64, of: expected_items },
            _ => Look::Done(found),
        })
    }
}

fn print(table: &TableDescription) {
    let name = table.table_name.clone().unwrap_or_default();
    let (items, bytes) = (table.item_count.unwrap_or(0), table.table_size_bytes.unwrap_or(0));
    let made = table.restore_summary.as_ref().map(|summary| moment::shown(summary.restore_date_time));
    let made = made.map(|time| format!(", as of {time}")).unwrap_or_default();
    let status = table.table_status.map(|status| status.as_str().to_owned()).unwrap_or_default();
    output::print(&format!("{name} is {status}: {items} items, {bytes} bytes{made}\n"));
}
