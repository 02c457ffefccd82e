//! `lodestone import s3://bucket/prefix TABLE`.

use api::{
    AttributeDefinition, BillingMode, CsvOptions, DescribeImportInput, DescribeImportOutput, ImportStatus,
    ImportTableDescription, ImportTableInput, InputCompressionType, InputFormat, InputFormatOptions,
    KeySchemaElement, KeyType, S3BucketSource, ScalarAttributeType, TableCreationParameters,
};
use clap::{Args, ValueEnum};

use crate::connection::{Connection, ConnectionArguments};
use crate::export::bucket_advice;
use crate::output;
use crate::s3_url::S3Url;
use crate::wait::{Look, WaitArguments, Work};

/// Import files into a new table, and wait until it is ACTIVE.
///
/// Every object whose key begins with the prefix is read. Items that can't be imported are counted, the reasons are
/// kept in a log beside the backups, and the exit status is 1. The server must have been started with --s3.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone import s3://songs/list.csv Songs --key Artist:S,Title:S --format csv
  lodestone import s3://songs/AWSDynamoDB/01700000000000-0a1b2c3d/data/ Songs --key Artist:S --compression gzip
                                                          what `lodestone export` has written
  lodestone import s3://songs/new Songs --key Artist:S --data ./lodestone-data --s3 ./buckets    while no server runs")]
pub struct Import {
    /// Where from: s3://bucket/prefix
    #[arg(value_name = "S3_URL")]
    from_url: S3Url,

    /// The new table's name
    table: String,

    /// The key: the partition key's name and type (S, N or B), and those of the sort key if there is one
    #[arg(long, value_name = "NAME:TYPE", value_delimiter = ',', num_args = 1..=2, required = true, value_parser = key)]
    key: Vec<AttributeDefinition>,

    /// The format of the items
    #[arg(long, value_enum, default_value_t = FormatArgument::Json)]
    format: FormatArgument,

    /// How the objects are compressed
    #[arg(long, value_enum, default_value_t = CompressionArgument::None)]
    compression: CompressionArgument,

    /// For csv: what separates two values [default: ,]
    #[arg(long, value_name = "CHARACTER")]
    delimiter: Option<String>,

    /// For csv: the names of the columns [default: the first line]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    header: Option<Vec<String>>,

    #[command(flatten)]
    wait: WaitArguments,

    /// Print DynamoDB's ImportTableDescription as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArguments,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum FormatArgument {
    Json,
    Ion,
    Csv,
}

#[derive(Clone, Copy, ValueEnum)]
enum CompressionArgument {
    None,
    Gzip,
    Zstd,
}

impl Import {
    pub fn run(self) -> Result<(), String> {
        let imported = self.connection.run(async |connection| self.import(connection).await)?;
        let description = imported.import_table_description.clone();
        match self.json {
            true => output::print_response(imported),
            false => self.print(&description),
        }
        match description.import_status {
            Some(ImportStatus::Completed) => Ok(()),
            _ => Err(failure(&description)),
        }
    }

    async fn import(&self, connection: &Connection) -> Result<DescribeImportOutput, String> {
        let begun = connection.call(self.input()).await?.import_table_description;
        let arn = begun.import_arn.unwrap_or_default();
        let work = Work { what: format!("import of {}", self.table), subject: &arn };
        self.wait.until_done(connection, work, async || look(connection, &arn).await).await
    }

    fn input(&self) -> ImportTableInput {
        let csv = CsvOptions { delimiter: self.delimiter.clone(), header_list: self.header.clone() };
        let has_options = csv != CsvOptions::default();
        ImportTableInput {
            s3_bucket_source: S3BucketSource {
                s3_bucket: self.from_url.bucket.clone(),
                s3_key_prefix: self.from_url.prefix.clone(),
                s3_bucket_owner: None,
            },
            input_format: match self.format {
                FormatArgument::Json => InputFormat::DynamodbJson,
                FormatArgument::Ion => InputFormat::Ion,
                FormatArgument::Csv => InputFormat::Csv,
            },
            input_compression_type: Some(match self.compression {
                CompressionArgument::None => InputCompressionType::None,
                CompressionArgument::Gzip => InputCompressionType::Gzip,
                CompressionArgument::Zstd => InputCompressionType::Zstd,
            }),
            input_format_options: has_options.then_some(InputFormatOptions { csv: Some(csv) }),
            table_creation_parameters: self.new_table(),
            client_token: None,
        }
    }

    fn new_table(&self) -> TableCreationParameters {
        let kinds = [KeyType::Hash, KeyType::Range];
        let element = |(key, key_type): (&AttributeDefinition, KeyType)| KeySchemaElement {
            attribute_name: key.attribute_name.clone(),
            key_type,
        };
        TableCreationParameters {
            table_name: self.table.clone(),
            attribute_definitions: self.key.clone(),
            key_schema: self.key.iter().zip(kinds).map(element).collect(),
            billing_mode: Some(BillingMode::PayPerRequest),
            ..Default::default()
        }
    }

    fn print(&self, import: &ImportTableDescription) {
        let count = |count: Option<i64>| count.unwrap_or(0);
        output::print(&format!(
            "imported {} of {} items into {}, {} errors, {} bytes read\n",
            count(import.imported_item_count),
            count(import.processed_item_count),
            self.table,
            count(import.error_count),
            count(import.processed_size_bytes),
        ));
    }
}

/// `Artist:S`.
fn key(text: &str) -> Result<AttributeDefinition, String> {
    let found = text.rsplit_once(':').filter(|(name, _)| !name.is_empty());
    let kind = |kind: &str| match kind {
        "S" => Some(ScalarAttributeType::S),
        "N" => Some(ScalarAttributeType::N),
        "B" => Some(ScalarAttributeType::B),
        _ => None,
    };
    let parsed = found.and_then(|(name, text)| Some((name, kind(text)?)));
    let (name, attribute_type) = parsed.ok_or("a key is a name and S, N or B: Artist:S")?;
    Ok(AttributeDefinition { attribute_name: name.to_owned(), attribute_type })
}

async fn look(connection: &Connection, arn: &str) -> Result<Look<DescribeImportOutput>, String> {
    let found = connection.call(DescribeImportInput { import_arn: arn.to_owned() }).await?;
    let import = &found.import_table_description;
    Ok(match import.import_status {
        Some(ImportStatus::InProgress) => {
            Look::Working { done: import.processed_item_count.unwrap_or(0) as u64, of: None }
        }
        _ => Look::Done(found),
    })
}

fn failure(import: &ImportTableDescription) -> String {
    let code = import.failure_code.as_deref().unwrap_or_default();
    let message = import.failure_message.as_deref().unwrap_or_default();
    let id = import.import_arn.as_deref().and_then(|arn| arn.rsplit('/').next()).unwrap_or_default();
    let log = match code {
        "ItemValidationError" => format!(". The log is imports/{id}/error, in the place of the backups"),
        _ => bucket_advice(code).to_owned(),
    };
    format!("the import failed: {message} ({code}){log}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_name_and_a_type() {
        let parsed = key("order:id:N").expect("a key");
        assert_eq!(parsed.attribute_name, "order:id");
        assert_eq!(parsed.attribute_type, ScalarAttributeType::N);
        for wrong in ["", "pk", ":S", "pk:SS", "pk:"] {
            assert!(key(wrong).is_err(), "{wrong}");
        }
    }
}
