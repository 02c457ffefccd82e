//! `lodestone backup TABLE`, `backup list`, `backup delete`.

use api::{
    BackupDescription, BackupStatus, BackupSummary, BackupTypeFilter, CreateBackupInput, DeleteBackupInput,
    DescribeBackupInput, DescribeBackupOutput, ListBackupsInput, ListBackupsOutput,
};
use clap::{Args, Subcommand};

use crate::connection::{Connection, ConnectionArguments};
use crate::moment::{self, Moment};
use crate::output;
use crate::wait::{Look, WaitArguments, Work};

/// Back up a table as it is now, and wait until the backup can be restored.
///
/// Writes go on in the meantime: the backup has the items of the moment at which it was asked for, and the table's
/// keys, indexes and settings. The files are where the server's --backups says. Without --endpoint-url the server at
/// http://127.0.0.1:8000 is asked; with --data a folder is opened that no server is using.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  lodestone backup Songs                                  named after the table and the time
  lodestone backup Songs --name before-migration
  lodestone backup Songs --data ./lodestone-data          while no server runs
  lodestone backup list Songs
  lodestone backup delete arn:aws:dynamodb:us-east-1:000000000000:table/Songs/backup/01700000000000-0a1b2c3d

Restore it into a new table with `lodestone restore --backup ARN TARGET`."
)]
pub struct Backup {
    #[command(subcommand)]
    command: Option<Command>,

    /// The table
    #[arg(required = true)]
    table: Option<String>,

    /// The backup's name, which need not be unique [default: the table's name and the time]
    #[arg(long)]
    name: Option<String>,

    #[command(flatten)]
    wait: WaitArguments,

    /// Print DynamoDB's BackupDescription as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArguments,
}

#[derive(Subcommand)]
enum Command {
    List(List),
    Delete(Delete),
}

/// List the backups, those of deleted tables included.
#[derive(Args)]
struct List {
    /// Only backups of this table
    table: Option<String>,

    /// Print DynamoDB's BackupSummaries as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArguments,
}

/// Delete a backup and its files.
#[derive(Args)]
struct Delete {
    /// The backup's ARN, as `lodestone backup list` shows it
    arn: String,

    /// Print DynamoDB's BackupDescription as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArguments,
}

impl Backup {
    pub fn run(self) -> Result<(), String> {
        match &self.command {
            Some(Command::List(list)) => list.run(),
            Some(Command::Delete(delete)) => delete.run(),
            None => self.connection.run(async |connection| self.create(connection).await),
        }
    }

    async fn create(&self, connection: &Connection) -> Result<(), String> {
        let table = self.table.clone().unwrap_or_default();
        let name = self.name.clone().unwrap_or_else(|| default_name(&table, Moment::now()));
        let input = CreateBackupInput { table_name: table.clone(), backup_name: name };
        let details = connection.call(input).await?.backup_details;
        let arn = details.map(|details| details.backup_arn).unwrap_or_default();
        let work = Work { what: format!("backup of {table}"), subject: &arn };
        let backup = self.wait.until_done(connection, work, async || look(connection, &arn).await).await?;
        match self.json {
            true => output::print_response(backup),
            false => print(&backup.backup_description.unwrap_or_default()),
        }
        Ok(())
    }
}

/// The table's name and the time, in letters that a backup's name may have.
fn default_name(table: &str, now: Moment) -> String {
    let table = table.rsplit('/').next().unwrap_or(table);
    // A name has at most 255 characters.
    let table: String = table.chars().take(230).collect();
    format!("{table}-{}", now.to_string().replace(':', "-"))
}

async fn look(connection: &Connection, arn: &str) -> Result<Look<DescribeBackupOutput>, String> {
    let found = connection.call(DescribeBackupInput { backup_arn: arn.to_owned() }).await?;
    let details = found.backup_description.as_ref().and_then(|backup| backup.backup_details.as_ref());
    Ok(match details.map(|details| details.backup_status) {
        Some(BackupStatus::Creating) => Look::Working { done: 0, of: None },
        _ => Look::Done(found),
    })
}

fn print(backup: &BackupDescription) {
    let (Some(details), Some(source)) = (&backup.backup_details, &backup.source_table_details) else {
        return;
    };
    let (items, bytes) = (source.item_count.unwrap_or(0), details.backup_size_bytes.unwrap_or(0));
    output::print(&format!(
        "{} of {}: {items} items, {bytes} bytes, {}\n{}\n",
        details.backup_name,
        source.table_name,
        moment::shown(details.backup_creation_date_time),
        details.backup_arn
    ));
}

impl List {
    fn run(&self) -> Result<(), String> {
        let summaries = self.connection.run(async |connection| self.all(connection).await)?;
        if self.json {
            let all = ListBackupsOutput { backup_summaries: Some(summaries), ..Default::default() };
            output::print_response(all);
        } else if summaries.is_empty() {
            output::print("no backups\n");
        } else {
            output::print_table(
                &["table", "name", "made", "bytes", "status", "ARN"],
                summaries.iter().map(row),
            );
        }
        Ok(())
    }

    /// The backups of all pages.
    async fn all(&self, connection: &Connection) -> Result<Vec<BackupSummary>, String> {
        let mut summaries = Vec::new();
        let mut after = None;
        loop {
            let input = ListBackupsInput {
                table_name: self.table.clone(),
                backup_type: Some(BackupTypeFilter::All),
                exclusive_start_backup_arn: after,
                ..ListBackupsInput::default()
            };
            let page = connection.call(input).await?;
            summaries.extend(page.backup_summaries.unwrap_or_default());
            after = page.last_evaluated_backup_arn;
            if after.is_none() {
                return Ok(summaries);
            }
        }
    }
}

fn row(backup: &BackupSummary) -> Vec<String> {
    vec![
        backup.table_name.clone().unwrap_or_default(),
        backup.backup_name.clone().unwrap_or_default(),
        backup.backup_creation_date_time.map(moment::shown).unwrap_or_default(),
        backup.backup_size_bytes.unwrap_or(0).to_string(),
        backup.backup_status.map(|status| status.as_str().to_owned()).unwrap_or_default(),
        backup.backup_arn.clone().unwrap_or_default(),
    ]
}

impl Delete {
    fn run(&self) -> Result<(), String> {
        let input = DeleteBackupInput { backup_arn: self.arn.clone() };
        let deleted = self.connection.run(async |connection| connection.call(input).await)?;
        match self.json {
            true => output::print_response(deleted),
            false => output::print(&format!("deleted {}\n", self.arn)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_is_named_after_its_table_and_the_time() {
        let now = Moment::from_seconds(120.0).expect("a time");
        assert_eq!(default_name("Songs", now), "Songs-1970-01-01T00-02-00Z");
        let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/Songs";
        assert_eq!(default_name(arn, now), default_name("Songs", now));
        assert!(default_name(&"x".repeat(255), now).len() <= 255);
    }
}
