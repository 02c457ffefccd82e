//! `lodestone export TABLE s3://bucket/prefix`.

use api::{
    DescribeExportInput, DescribeExportOutput, DescribeTableInput, ExportDescription, ExportFormat,
    ExportStatus, ExportTableToPointInTimeInput, ExportType, IncrementalExportSpecification,
};
use clap::{Args, ValueEnum};

use crate::connection::{Connection, ConnectionArguments};
use crate::moment::Moment;
use crate::output;
use crate::s3_url::S3Url;
use crate::wait::{Look, WaitArguments, Work};

/// Export a table to files, as AWS lays them out, and wait until they are there.
///
/// The files are compressed with gzip and listed in a manifest. An export consumes no read capacity. It needs
/// point-in-time recovery on the table (`aws dynamodb update-continuous-backups` switches it on), and a server that
/// was started with --s3, which says what s3://bucket means: a folder of its own, or an S3-compatible endpoint.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone export Songs s3://songs/daily                      all items as they are now
  lodestone export Songs s3://songs/daily --at 1h              as they were an hour ago
  lodestone export Songs s3://songs/changes --from 2h --to 1h  what changed between
  lodestone export Songs s3://songs --data ./lodestone-data --s3 ./buckets    while no server runs")]
pub struct ExportTable {
    /// The table
    table: String,

    /// Where to: s3://bucket/prefix; the bucket must be there
    #[arg(value_name = "S3_URL")]
    to_url: S3Url,

    /// The format of the items
    #[arg(long, value_enum, default_value_t = FormatArgument::Json)]
    format: FormatArgument,

    /// The time of a full export: 2026-11-17T02:00:00Z (UTC), seconds since 1970, or how long ago, such as 10m
    /// [default: now]
    #[arg(long, value_name = "TIME", conflicts_with_all = ["from", "to"])]
    at: Option<Moment>,

    /// Export what changed from this time on, 15 minutes to 24 hours
    #[arg(long, value_name = "TIME")]
    from: Option<Moment>,

    /// The end of the changes [default: now]
    #[arg(long, value_name = "TIME", requires = "from")]
    to: Option<Moment>,

    #[command(flatten)]
    wait: WaitArguments,

    /// Print DynamoDB's ExportDescription as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArguments,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormatArgument {
    Json,
    Ion,
}

impl ExportTable {
    pub fn run(self) -> Result<(), String> {
        let exported = self.connection.run(async |connection| self.export(connection).await)?;
        let description = exported.export_description.clone().unwrap_or_default();
        if self.json {
            output::print_response(exported);
        }
        match description.export_status {
            Some(ExportStatus::Failed) => Err(failure(&description)),
            _ if self.json => Ok(()),
            _ => {
                self.print(&description);
                Ok(())
            }
        }
    }

    async fn export(&self, connection: &Connection) -> Result<DescribeExportOutput, String> {
        let table = connection.call(DescribeTableInput { table_name: self.table.clone() }).await?.table;
        let table_arn = table.and_then(|table| table.table_arn).unwrap_or_else(|| self.table.clone());
        let begun = connection.call(self.input(table_arn)).await?.export_description;
        let arn = begun.and_then(|begun| begun.export_arn).unwrap_or_default();
        let work = Work { what: format!("export of {}", self.table), subject: &arn };
        self.wait.until_done(connection, work, async || look(connection, &arn).await).await
    }

    fn input(&self, table_arn: String) -> ExportTableToPointInTimeInput {
        let changes = self.from.map(|from| IncrementalExportSpecification {
            export_from_time: Some(from.seconds()),
            export_to_time: self.to.map(Moment::seconds),
            export_view_type: None,
        });
        ExportTableToPointInTimeInput {
            table_arn,
            s3_bucket: self.to_url.bucket.clone(),
            s3_prefix: self.to_url.prefix.clone().map(|prefix| prefix.trim_end_matches('/').to_owned()),
            export_format: Some(match self.format {
                FormatArgument::Json => ExportFormat::DynamodbJson,
                FormatArgument::Ion => ExportFormat::Ion,
            }),
            export_type: changes.is_some().then_some(ExportType::IncrementalExport),
            export_time: self.at.map(Moment::seconds),
            incremental_export_specification: changes,
            ..Default::default()
        }
    }

    fn print(&self, export: &ExportDescription) {
        let (items, bytes) = (export.item_count.unwrap_or(0), export.billed_size_bytes.unwrap_or(0));
        let manifest = export.export_manifest.clone().unwrap_or_default();
        let (table, bucket) = (&self.table, &self.to_url.bucket);
        output::print(&format!(
            "exported {items} items of {table}, {bytes} bytes\nmanifest: s3://{bucket}/{manifest}\n"
        ));
    }
}

async fn look(connection: &Connection, arn: &str) -> Result<Look<DescribeExportOutput>, String> {
    let found = connection.call(DescribeExportInput { export_arn: arn.to_owned() }).await?;
    let export = found.export_description.as_ref();
    Ok(match export.and_then(|export| export.export_status) {
        Some(ExportStatus::InProgress) => {
            let items = export.and_then(|export| export.item_count).unwrap_or(0);
            Look::Working { done: items as u64, of: None }
        }
        _ => Look::Done(found),
    })
}

fn failure(export: &ExportDescription) -> String {
    let code = export.failure_code.as_deref().unwrap_or_default();
    let message = export.failure_message.as_deref().unwrap_or_default();
    format!("the export failed: {message} ({code}){}", bucket_advice(code))
}

/// What helps when a bucket is not found.
pub fn bucket_advice(code: &str) -> &'static str {
    match code {
        "S3NoSuchBucket" => {
            ". --s3 DIR, given to `lodestone serve` or beside --data, says where the buckets are: make the bucket \
             as a folder in DIR"
        }
        _ => "",
    }
}
