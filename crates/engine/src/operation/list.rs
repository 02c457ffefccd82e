//! All operations, and what follows from the list: which of them serves a request.

/// Passes each request to its operation. The answer of some has no content.
macro_rules! operations {
    ($($name:ident in $file:ident $(without $output:ident)?,)*) => {
        use api::Error;

        use super::super::authorization::access::Access;
        use super::super::{AnswerSize, Kind, Serve};
        use crate::operation::Engine;
use crate::Namespace;
        use crate::base::caller::Caller;

        /// Carries a request out.
        pub async fn run(engine: &Engine, caller: &Caller, request: Request) -> Result<Response, Error> {
            Ok(match request {
                $(Request::$name(input) => {
                    let output = super::super::$file::$name::run(engine, caller, *input).await?;
                    answer!($name output $($output)?)
                })*
            })
        }

        /// What the caller of a request must be allowed to do.
        pub fn access<'r>(request: &'r Request, namespace: &Namespace) -> Vec<Access<'r>> {
            match request {
                $(Request::$name(input) => super::super::$file::$name::access(input, namespace),)*
            }
        }

        /// How much memory the answer to a request may take.
        pub fn answer_size(request: &Request) -> AnswerSize {
            match request {
                $(Request::$name(input) => super::super::$file::$name::answer_size(input),)*
            }
        }

        /// Whether an operation reads or writes.
        pub fn kind(operation: Operation) -> Kind {
            match operation {
                $(Operation::$name => super::super::$file::$name::KIND,)*
            }
        }

        /// Whether a request writes.
        pub fn writes(request: &Request) -> bool {
            match request {
                $(Request::$name(input) => super::super::$file::$name::writes(input),)*
            }
        }
    };
}

macro_rules! answer {
    ($name:ident $output:ident) => {
        Response::$name(Box::new($output))
    };
    ($name:ident $output:ident output) => {{
        let () = $output;
        Response::$name
    }};
}

/// The operations of DynamoDB.
pub mod dynamodb {
    use api::{Operation, Request, Response};

    operations! {
        BatchExecuteStatement in batch_execute_statement,
        BatchGetItem in batch_get_item,
        BatchWriteItem in batch_write_item,
        CancelBulkOperation in cancel_bulk_operation,
        CreateBackup in create_backup,
        CreateGlobalTable in create_global_table,
        CreateTable in create_table,
        DeleteBackup in delete_backup,
        DeleteItem in delete_item,
        DeleteResourcePolicy in delete_resource_policy,
        DeleteTable in delete_table,
        DescribeBackup in describe_backup,
        DescribeBulkOperation in describe_bulk_operation,
        DescribeContinuousBackups in describe_continuous_backups,
        DescribeContributorInsights in describe_contributor_insights,
        DescribeEndpoints in describe_endpoints,
        DescribeExport in describe_export,
        DescribeGlobalTable in describe_global_table,
        DescribeGlobalTableSettings in describe_global_table_settings,
        DescribeImport in describe_import,
        DescribeKinesisStreamingDestination in describe_kinesis_streaming_destination,
        DescribeLimits in describe_limits,
        DescribeTable in describe_table,
        DescribeTableReplicaAutoScaling in describe_table_replica_auto_scaling,
        DescribeTimeToLive in describe_time_to_live,
        DisableKinesisStreamingDestination in disable_kinesis_streaming_destination,
        EnableKinesisStreamingDestination in enable_kinesis_streaming_destination,
        ExecuteStatement in execute_statement,
        ExecuteTransaction in execute_transaction,
        ExportTableToPointInTime in export_table_to_point_in_time,
        GetItem in get_item,
        GetResourcePolicy in get_resource_policy,
        ImportTable in import_table,
        ListBackups in list_backups,
        ListBulkOperations in list_bulk_operations,
        ListContributorInsights in list_contributor_insights,
        ListExports in list_exports,
        ListGlobalTables in list_global_tables,
        ListImports in list_imports,
        ListTables in list_tables,
        ListTagsOfResource in list_tags_of_resource,
        PutItem in put_item,
        PutResourcePolicy in put_resource_policy,
        Query in query,
        RestoreTableFromBackup in restore_table_from_backup,
        RestoreTableToPointInTime in restore_table_to_point_in_time,
        Scan in scan,
        SearchVectors in search_vectors,
        StartBulkPutItems in start_bulk_put_items,
        TagResource in tag_resource without output,
        TransactGetItems in transact_get_items,
        TransactWriteItems in transact_write_items,
        UntagResource in untag_resource without output,
        UpdateContinuousBackups in update_continuous_backups,
        UpdateContributorInsights in update_contributor_insights,
        UpdateGlobalTable in update_global_table,
        UpdateGlobalTableSettings in update_global_table_settings,
        UpdateItem in update_item,
        UpdateKinesisStreamingDestination in update_kinesis_streaming_destination,
        UpdateTable in update_table,
        UpdateTableReplicaAutoScaling in update_table_replica_auto_scaling,
        UpdateTimeToLive in update_time_to_live,
    }
}

/// The operations of DynamoDB Streams.
pub mod streams {
    use api::streams::{Operation, Request, Response};

    operations! {
        DescribeStream in describe_stream,
        GetRecords in get_records,
        GetShardIterator in get_shard_iterator,
        ListStreams in list_streams,
    }
}
