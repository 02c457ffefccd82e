//! What a client is told when a request fails: DynamoDB's error names, texts and JSON body. Status
//! codes are the server's business. Each text that more than one place could need is made here.

use item::{Item, ValueRef, View};

use crate::encode::{Encode, Object};
use crate::limits;

/// An error as the client sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
    /// The item that failed its condition, if the request asked for it.
    pub item: Option<Item>,
    /// Of a transaction that was cancelled: what each of its actions has to do with that.
    pub cancellation_reasons: Vec<CancellationReason>,
    /// Of a request that was throttled: by what.
    pub throttling_reasons: Vec<ThrottlingReason>,
}

/// Why an action stopped its transaction, or that it didn't.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CancellationReason {
    pub code: CancellationCode,
    pub message: Option<String>,
    /// The item that failed its condition, if the action asked for it.
    pub item: Option<Item>,
}

/// What had no room for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThrottlingReason {
    /// Of a table otherwise.
    pub of_index: bool,
    pub access: Access,
    pub cause: ThrottlingCause,
    /// The ARN of the table or index.
    pub resource: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThrottlingCause {
    /// What is provisioned was used up.
    ProvisionedThroughputExceeded,
    /// One partition key was used more than a partition sustains.
    KeyRangeThroughputExceeded,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CancellationCode {
    #[default]
    None,
    ConditionalCheckFailed,
    ItemCollectionSizeLimitExceeded,
    TransactionConflict,
    ProvisionedThroughputExceeded,
    ThrottlingError,
    ValidationError,
    DuplicateItem,
}

/// The error's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    Validation,
    Serialization,
    UnknownOperation,
    MissingAuthenticationToken,
    IncompleteSignature,
    InvalidSignature,
    UnrecognizedClient,
    AccessDenied,
    ConditionalCheckFailed,
    /// The same by name, from a PartiQL statement that asked for the item: its message is spelled otherwise.
    ConditionalCheckFailedOfStatement,
    DuplicateItem,
    ResourceNotFound,
    ResourceInUse,
    TableNotFound,
    PolicyNotFound,
    LimitExceeded,
    ItemCollectionSizeLimitExceeded,
    TransactionCanceled,
    TransactionConflict,
    TransactionInProgress,
    IdempotentParameterMismatch,
    ReplicatedWriteConflict,
    ProvisionedThroughputExceeded,
    RequestLimitExceeded,
    Throttling,
    InternalServerError,
    ServiceUnavailable,
}

impl ErrorKind {
    const ALL: [ErrorKind; 27] = [
        ErrorKind::Validation,
        ErrorKind::Serialization,
        ErrorKind::UnknownOperation,
        ErrorKind::MissingAuthenticationToken,
        ErrorKind::IncompleteSignature,
        ErrorKind::InvalidSignature,
        ErrorKind::UnrecognizedClient,
        ErrorKind::AccessDenied,
        ErrorKind::ConditionalCheckFailed,
        ErrorKind::ConditionalCheckFailedOfStatement,
        ErrorKind::DuplicateItem,
        ErrorKind::ResourceNotFound,
        ErrorKind::ResourceInUse,
        ErrorKind::TableNotFound,
        ErrorKind::PolicyNotFound,
        ErrorKind::LimitExceeded,
        ErrorKind::ItemCollectionSizeLimitExceeded,
        ErrorKind::TransactionCanceled,
        ErrorKind::TransactionConflict,
        ErrorKind::TransactionInProgress,
        ErrorKind::IdempotentParameterMismatch,
        ErrorKind::ReplicatedWriteConflict,
        ErrorKind::ProvisionedThroughputExceeded,
        ErrorKind::RequestLimitExceeded,
        ErrorKind::Throttling,
        ErrorKind::InternalServerError,
        ErrorKind::ServiceUnavailable,
    ];

    /// The body's `__type`, prefix and all.
    pub fn type_name(self) -> &'static str {
        match self {
            ErrorKind::Validation => "com.amazon.coral.validate#ValidationException",
            ErrorKind::Serialization => "com.amazon.coral.service#SerializationException",
            ErrorKind::UnknownOperation => "com.amazon.coral.service#UnknownOperationException",
            ErrorKind::MissingAuthenticationToken => {
                "com.amazon.coral.service#MissingAuthenticationTokenException"
            }
            ErrorKind::IncompleteSignature => "com.amazon.coral.service#IncompleteSignatureException",
            ErrorKind::InvalidSignature => "com.amazon.coral.service#InvalidSignatureException",
            ErrorKind::UnrecognizedClient => "com.amazon.coral.service#UnrecognizedClientException",
            ErrorKind::AccessDenied => "com.amazon.coral.service#AccessDeniedException",
            ErrorKind::ConditionalCheckFailed | ErrorKind::ConditionalCheckFailedOfStatement => {
                "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"
            }
            ErrorKind::DuplicateItem => "com.amazonaws.dynamodb.v20120810#DuplicateItemException",
            ErrorKind::ResourceNotFound => "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
            ErrorKind::ResourceInUse => "com.amazonaws.dynamodb.v20120810#ResourceInUseException",
            ErrorKind::TableNotFound => "com.amazonaws.dynamodb.v20120810#TableNotFoundException",
            ErrorKind::PolicyNotFound => "com.amazonaws.dynamodb.v20120810#PolicyNotFoundException",
            ErrorKind::LimitExceeded => "com.amazonaws.dynamodb.v20120810#LimitExceededException",
            ErrorKind::ItemCollectionSizeLimitExceeded => {
                "com.amazonaws.dynamodb.v20120810#ItemCollectionSizeLimitExceededException"
            }
            ErrorKind::TransactionCanceled => "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
            ErrorKind::TransactionConflict => "com.amazonaws.dynamodb.v20120810#TransactionConflictException",
            ErrorKind::TransactionInProgress => {
                "com.amazonaws.dynamodb.v20120810#TransactionInProgressException"
            }
            ErrorKind::IdempotentParameterMismatch => {
                "com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException"
            }
            ErrorKind::ReplicatedWriteConflict => {
                "com.amazonaws.dynamodb.v20120810#ReplicatedWriteConflictException"
            }
            ErrorKind::ProvisionedThroughputExceeded => {
                "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"
            }
            ErrorKind::RequestLimitExceeded => "com.amazonaws.dynamodb.v20120810#RequestLimitExceeded",
            ErrorKind::Throttling => "com.amazonaws.dynamodb.v20120810#ThrottlingException",
            ErrorKind::InternalServerError => "com.amazonaws.dynamodb.v20120810#InternalServerError",
            ErrorKind::ServiceUnavailable => "com.amazonaws.dynamodb.v20120810#ServiceUnavailable",
        }
    }

    /// The kind of an error by its name, with or without prefix: what a client was told.
    pub fn from_type_name(name: &str) -> Option<ErrorKind> {
        let bare = |name: &str| name.rsplit('#').next().map(str::to_owned);
        ErrorKind::ALL.iter().copied().find(|kind| bare(kind.type_name()) == bare(name))
    }

    /// How the body spells the message's name.
    fn message_member(self) -> &'static str {
        match self {
            ErrorKind::Serialization
            | ErrorKind::ConditionalCheckFailedOfStatement
            | ErrorKind::TransactionCanceled
            | ErrorKind::TransactionInProgress
            | ErrorKind::IdempotentParameterMismatch => "Message",
            _ => "message",
        }
    }
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
            item: None,
            cancellation_reasons: Vec::new(),
            throttling_reasons: Vec::new(),
        }
    }

    /// The body's `__type`, prefix and all: `com.amazon.coral.validate#ValidationException`.
    pub fn type_name(&self) -> &'static str {
        self.kind.type_name()
    }

    /// Appends the body. An error without words, like that for unreadable JSON, has no message.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let mut object = Object::new(out);
        object.member("__type", self.type_name());
        if !self.message.is_empty() {
            object.member(self.kind.message_member(), &self.message);
        }
        object.member("Item", &self.item);
        if !self.cancellation_reasons.is_empty() {
            object.member("CancellationReasons", &self.cancellation_reasons);
        }
        if !self.throttling_reasons.is_empty() {
            object.member("ThrottlingReasons", &self.throttling_reasons);
        }
        object.end();
    }

    // ---- the request

    pub fn validation(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Validation, message)
    }

    /// A fault in the shape of a PutItem, UpdateItem or DeleteItem request: bad sets, expression
    /// syntax, placeholders, mixed parameters. Faults in the data stay bare.
    pub fn request_shape(text: impl std::fmt::Display) -> Error {
        Error::validation(format!("1 validation error detected: {text}"))
    }

    pub fn invalid_parameter(text: impl std::fmt::Display) -> Error {
        Error::validation(format!("One or more parameter values were invalid: {text}"))
    }

    pub fn unknown_operation() -> Error {
        Error::new(ErrorKind::UnknownOperation, "")
    }

    /// An operation of a service that we know. DynamoDB has no words here; ours tell that it is no typing
    /// error.
    pub fn operation_not_served() -> Error {
        Error::new(
            ErrorKind::UnknownOperation,
            "Lodestone does not serve this operation; its README tells what is served",
        )
    }

    // ---- tables and indexes

    /// The table of an item operation does not exist, or not yet.
    pub fn resource_not_found_item() -> Error {
        Error::new(ErrorKind::ResourceNotFound, "Requested resource not found")
    }

    /// The table of a table operation does not exist.
    pub fn resource_not_found_table(name: &str) -> Error {
        let message = format!("Requested resource not found: Table: {name} not found");
        Error::new(ErrorKind::ResourceNotFound, message)
    }

    pub fn resource_not_found_index(index: &str, table: &str) -> Error {
        let message = format!("Requested resource not found: Index {index} for table {table}");
        Error::new(ErrorKind::ResourceNotFound, message)
    }

    pub fn table_exists(name: &str) -> Error {
        Error::new(ErrorKind::ResourceInUse, format!("Table already exists: {name}"))
    }

    pub fn table_being_created(name: &str) -> Error {
        Error::table_in_use(format_args!("Table is being created: {name}"))
    }

    pub fn table_being_updated(name: &str) -> Error {
        Error::table_in_use(format_args!("Table is being updated: {name}"))
    }

    pub fn table_being_deleted(name: &str) -> Error {
        Error::table_in_use(format_args!("Table is being deleted: {name}"))
    }

    fn table_in_use(why: std::fmt::Arguments<'_>) -> Error {
        let message = format!("Attempt to change a resource which is still in use: {why}");
        Error::new(ErrorKind::ResourceInUse, message)
    }

    pub fn throughput_missing() -> Error {
        Error::invalid_parameter(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        )
    }

    pub fn throughput_on_demand() -> Error {
        Error::invalid_parameter(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is \
             PAY_PER_REQUEST",
        )
    }

    pub fn throughput_unchanged(read_units: i64, write_units: i64) -> Error {
        Error::validation(format!(
            "The provisioned throughput for the table will not change. The requested value equals the \
             current value. Current ReadCapacityUnits provisioned for the table: {read_units}. Requested \
             ReadCapacityUnits: {read_units}. Current WriteCapacityUnits provisioned for the table: \
             {write_units}. Requested WriteCapacityUnits: {write_units}. Refer to the Amazon DynamoDB \
             Developer Guide for current limits and how to request higher limits."
        ))
    }

    /// As for a table, of one of its global indexes.
    pub fn index_throughput_unchanged(index: &str, read_units: i64, write_units: i64) -> Error {
        Error::validation(format!(
            "The provisioned throughput for the index {index} will not change. The requested value equals the \
             current value. Current ReadCapacityUnits provisioned for the index: {read_units}. Requested \
             ReadCapacityUnits: {read_units}. Current WriteCapacityUnits provisioned for the index: \
             {write_units}. Requested WriteCapacityUnits: {write_units}. Refer to the Amazon DynamoDB \
             Developer Guide for current limits and how to request higher limits."
        ))
    }

    pub fn index_throughput_missing(index: &str) -> Error {
        Error::invalid_parameter(format_args!("ProvisionedThroughput is not specified for index: {index}"))
    }

    pub fn index_throughput_on_demand(index: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "ProvisionedThroughput should not be specified for index: {index} when BillingMode is \
             PAY_PER_REQUEST"
        ))
    }

    /// `member` is `MaxReadRequestUnits` or `MaxWriteRequestUnits`.
    pub fn on_demand_max_out_of_range(member: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Requested {member} for OnDemandThroughput for table is outside of valid range"
        ))
    }

    /// `member` is `ReadUnitsPerSecond` or `WriteUnitsPerSecond`, `of` is `table` or names an index.
    pub fn warm_throughput_lowered(member: &str, of: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Requested {member} for WarmThroughput for {of} is lower than current WarmThroughput, decreasing \
             WarmThroughput is not supported"
        ))
    }

    pub fn deletion_protected() -> Error {
        Error::validation(
            "Resource cannot be deleted as it is currently protected against deletion. \
             Disable deletion protection first.",
        )
    }

    pub fn index_changes_under_way() -> Error {
        Error::table_in_use(format_args!(
            "Cannot delete table while indexes are being created, updated, or deleted."
        ))
    }

    /// The table of a backup operation does not exist.
    pub fn table_not_found(name: &str) -> Error {
        Error::new(ErrorKind::TableNotFound, format!("Table not found: {name}"))
    }

    /// Tags or policies of a table that does not exist. The missing letter is DynamoDB's.
    pub fn resource_not_found_arn(arn: &str) -> Error {
        Error::new(
            ErrorKind::ResourceNotFound,
            format!("Requested resource not found: ResourcArn: {arn} not found"),
        )
    }

    /// DynamoDB does not tell strangers that a table is missing: it denies them its tags.
    pub fn tags_denied(account: &str, arn: &str) -> Error {
        let message = format!(
            "User: arn:aws:iam::{account}:root is not authorized to perform: dynamodb:ListTagsOfResource on \
             resource: {arn}"
        );
        Error::new(ErrorKind::AccessDenied, message)
    }

    pub fn too_many_tags() -> Error {
        Error::invalid_parameter(format_args!("Number of tags exceeds the limit of {}", limits::TAGS_MAX))
    }

    /// The table has no policy, or not in the revision that the request expects.
    pub fn policy_not_found(arn: &str) -> Error {
        let message = format!("Resource-based policy not found for the provided ResourceArn: {arn}");
        Error::new(ErrorKind::PolicyNotFound, message)
    }

    pub fn one_index_change_at_a_time() -> Error {
        Error::new(
            ErrorKind::LimitExceeded,
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        )
    }

    /// An item operation names an index that its table does not have.
    pub fn index_unknown(index: &str) -> Error {
        Error::validation(format!("The table does not have the specified index: {index}"))
    }

    pub fn index_backfilling(index: &str) -> Error {
        Error::validation(format!("Cannot read from backfilling global secondary index: {index}"))
    }

    pub fn consistent_read_on_global_index() -> Error {
        Error::validation("Consistent reads are not supported on global secondary indexes")
    }

    pub fn all_attributes_not_projected(index: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Select type ALL_ATTRIBUTES is not supported for global secondary index {index} because its \
             projection type is not ALL"
        ))
    }

    /// A projection expression that asks a global index for what it does not hold.
    pub fn attributes_not_projected(index: &str, names: &[&str]) -> Error {
        let names = names.join(", ");
        Error::invalid_parameter(format_args!("Global secondary index {index} does not project [{names}]"))
    }

    // ---- items

    /// The condition is false; `item` is what stood in its way, if the request asked for it.
    pub fn conditional_check_failed(item: Option<Item>) -> Error {
        Error { item, ..Error::new(ErrorKind::ConditionalCheckFailed, "The conditional request failed") }
    }

    pub fn key_missing(name: &str) -> Error {
        Error::invalid_parameter(format_args!("Missing the key {name} in the item"))
    }

    pub fn key_type_mismatch(name: &str, expected: &str, actual: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Type mismatch for key {name} expected: {expected} actual: {actual}"
        ))
    }

    /// A `Key` has other attributes than the table's key, or of other types.
    pub fn key_schema_mismatch() -> Error {
        Error::validation("The provided key element does not match the schema")
    }

    /// `kind` is `string` or `binary`.
    pub fn key_empty(name: &str, kind: &str) -> Error {
        Error::validation(format!(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot \
             contain an empty {kind} value. Key: {name}"
        ))
    }

    pub fn partition_key_too_long() -> Error {
        Error::invalid_parameter("Size of hashkey has exceeded the maximum size limit of2048 bytes")
    }

    pub fn sort_key_too_long() -> Error {
        Error::invalid_parameter(
            "Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
        )
    }

    /// An update whose target is a key attribute.
    pub fn key_not_updatable(name: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Cannot update attribute {name}. This attribute is part of the key"
        ))
    }

    /// A write that would make an item collection outgrow its partition.
    pub fn collection_too_large() -> Error {
        Error::new(ErrorKind::ItemCollectionSizeLimitExceeded, "Collection size exceeded.")
    }

    pub fn item_too_large() -> Error {
        Error::validation("Item size has exceeded the maximum allowed size")
    }

    pub fn item_to_update_too_large() -> Error {
        Error::validation("Item size to update has exceeded the maximum allowed size")
    }

    // ---- batches

    /// `operation` is `BatchGetItem` or `BatchWriteItem`.
    pub fn batch_too_large(operation: &str) -> Error {
        Error::validation(format!("Too many items requested for the {operation} call"))
    }

    pub fn batch_duplicates() -> Error {
        Error::validation("Provided list of item keys contains duplicates")
    }

    // ---- statements

    /// INSERT of an item whose key is taken.
    pub fn duplicate_item() -> Error {
        Error::new(ErrorKind::DuplicateItem, "Duplicate primary key exists in table")
    }

    pub fn exists_outside_transaction() -> Error {
        Error::validation("EXISTS is supported only in ExecuteTransaction")
    }

    pub fn statements_mixed_in_batch() -> Error {
        Error::validation("Read and write requests together in the same batch is not supported.")
    }

    pub fn select_without_key_in_batch() -> Error {
        Error::validation(
            "Select statements within BatchExecuteStatement must specify the primary key in the where clause.",
        )
    }

    pub fn statements_mixed_in_transaction() -> Error {
        Error::validation("Read and write requests together in the same transaction is not supported.")
    }

    /// A fault of one of a transaction's statements, of which the first is 0. Only faults of the request are told so.
    pub fn in_transact_statement(self, place: usize) -> Error {
        match self.kind {
            ErrorKind::Validation => Error::validation(format!(
                "Validation failed in TransactStatements[{place}]: {}",
                self.message
            )),
            _ => self,
        }
    }

    pub fn index_in_transaction() -> Error {
        Error::validation("Transactions do not read from indexes")
    }

    pub fn returning_in_transaction() -> Error {
        Error::validation("RETURNING is not supported in a transaction")
    }

    /// A NextToken of another statement, of other parameters, or of nobody.
    pub fn next_token_mismatch() -> Error {
        Error::validation("NextToken does not match request")
    }

    // ---- transactions

    /// `reasons` has one for each action, in their order.
    pub fn transaction_canceled(reasons: Vec<CancellationReason>) -> Error {
        let codes: Vec<&str> = reasons.iter().map(|reason| reason.code.as_str()).collect();
        let message = format!(
            "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
            codes.join(", ")
        );
        Error { cancellation_reasons: reasons, ..Error::new(ErrorKind::TransactionCanceled, message) }
    }

    /// A write of an item that a transaction is about to change.
    pub fn transaction_conflict() -> Error {
        Error::new(ErrorKind::TransactionConflict, "Transaction is ongoing for the item")
    }

    /// The same request was sent before and is not done yet.
    pub fn transaction_in_progress() -> Error {
        Error::new(
            ErrorKind::TransactionInProgress,
            "The transaction with this client request token is still in progress",
        )
    }

    pub fn idempotent_parameter_mismatch() -> Error {
        Error::new(
            ErrorKind::IdempotentParameterMismatch,
            "The client request token was used before, with other parameters",
        )
    }

    pub fn transaction_items_not_distinct() -> Error {
        Error::validation("Transaction request cannot include multiple operations on one item")
    }

    pub fn transaction_too_large() -> Error {
        let max = limits::TRANSACTION_BYTES_MAX;
        Error::validation(format!("Transaction request size cannot exceed {max} bytes"))
    }

    // ---- pages

    pub fn start_key_invalid() -> Error {
        Error::validation("The provided starting key is invalid")
    }

    pub fn index_key_type_mismatch(name: &str, expected: &str, actual: &str, index: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Type mismatch for Index Key {name} Expected: {expected} Actual: {actual} IndexName: {index}"
        ))
    }

    /// A put with an empty index key; `kind` is `string` or `binary`.
    pub fn index_key_empty(kind: &str, index: &str, name: &str) -> Error {
        Error::validation(format!(
            "One or more parameter values are not valid. A value specified for a secondary index key is not \
             supported. The AttributeValue for a key attribute cannot contain an empty {kind} value. \
             IndexName: {index}, IndexKey: {name}"
        ))
    }

    /// An update that empties an index key.
    pub fn index_key_updated_to_empty(kind: &str) -> Error {
        Error::validation(format!(
            "One or more parameter values are not valid. The update expression attempted to update a secondary \
             index key to a value that is not supported. The AttributeValue for a key attribute cannot contain \
             an empty {kind} value."
        ))
    }

    /// An ExclusiveStartKey in another partition than the query's.
    pub fn start_key_outside_query() -> Error {
        Error::validation(
            "The provided starting key is outside query boundaries based on provided conditions",
        )
    }

    /// An ExclusiveStartKey that the condition on the sort key excludes.
    pub fn start_key_outside_sort_condition() -> Error {
        Error::validation("The provided starting key does not match the range key predicate")
    }

    /// A Query with an ExclusiveStartKey of a table without a sort key: there is nothing behind it.
    pub fn start_key_of_one_item(start: &Item) -> Error {
        let attribute =
            |(name, value): (&str, ValueRef<'_>)| format!("{name}=AttributeValue: {}", shown(value));
        let attributes: Vec<String> = start.as_ref().iter().map(attribute).collect();
        let attributes = attributes.join(", ");
        Error::validation(format!(
            "The provided exclusive start key is invalid: ExclusiveStartKey: {{{attributes}}}"
        ))
    }

    /// A Scan whose ExclusiveStartKey is not a key of what it scans.
    pub fn scan_start_key_invalid() -> Error {
        Error::validation(
            "The provided starting key is invalid: The provided key element does not match the schema",
        )
    }

    /// A parallel Scan whose ExclusiveStartKey lies in another segment.
    pub fn start_key_outside_segment(segment: i32, total_segments: i32) -> Error {
        Error::validation(format!(
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with \
             correct Segment. TotalSegments: {total_segments} Segment: {segment}"
        ))
    }

    /// `filter` is `Filter Expression` or `QueryFilter`.
    pub fn filter_on_key(filter: &str, name: &str) -> Error {
        Error::validation(format!(
            "{filter} can only contain non-primary key attributes: Primary key attribute: {name}"
        ))
    }

    // ---- the service

    /// A fault of ours: the client learns nothing of it but that it may try again.
    /// There must be a reason. Where the table's throughput and an index's are exceeded, the table's counts.
    pub fn throughput_exceeded(reasons: Vec<ThrottlingReason>) -> Error {
        let message = match reasons.iter().any(|reason| !reason.of_index) {
            true => {
                "The level of configured provisioned throughput for the table was exceeded. Consider increasing \
                 your provisioning level with the UpdateTable API."
            }
            false => {
                "The level of configured provisioned throughput for one or more global secondary indexes of the \
                 table was exceeded. Consider increasing your provisioning level for the under-provisioned \
                 global secondary indexes with the UpdateTable API"
            }
        };
        let error = Error::new(ErrorKind::ProvisionedThroughputExceeded, message);
        Error { throttling_reasons: reasons, ..error }
    }

    pub fn internal() -> Error {
        Error::new(ErrorKind::InternalServerError, "Internal server error")
    }

    pub fn service_unavailable() -> Error {
        Error::new(ErrorKind::ServiceUnavailable, "The service is temporarily unavailable. Please try again.")
    }
}

/// A key value as DynamoDB's messages show it: `{S:text}`.
fn shown(value: ValueRef<'_>) -> String {
    match value.view() {
        View::S(text) => format!("{{S:{text}}}"),
        View::N(number) => format!("{{N:{number}}}"),
        _ => format!("{{{}:…}}", value.kind().name()),
    }
}

impl CancellationCode {
    pub fn as_str(self) -> &'static str {
        match self {
            CancellationCode::None => "None",
            CancellationCode::ConditionalCheckFailed => "ConditionalCheckFailed",
            CancellationCode::ItemCollectionSizeLimitExceeded => "ItemCollectionSizeLimitExceeded",
            CancellationCode::TransactionConflict => "TransactionConflict",
            CancellationCode::ProvisionedThroughputExceeded => "ProvisionedThroughputExceeded",
            CancellationCode::ThrottlingError => "ThrottlingError",
            CancellationCode::ValidationError => "ValidationError",
            CancellationCode::DuplicateItem => "DuplicateItem",
        }
    }

    /// How a transaction reports an action's failure; nothing if the failure is of the whole request.
    fn of(kind: ErrorKind) -> Option<CancellationCode> {
        Some(match kind {
            ErrorKind::ConditionalCheckFailed => CancellationCode::ConditionalCheckFailed,
            ErrorKind::ItemCollectionSizeLimitExceeded => CancellationCode::ItemCollectionSizeLimitExceeded,
            ErrorKind::TransactionConflict => CancellationCode::TransactionConflict,
            ErrorKind::ProvisionedThroughputExceeded => CancellationCode::ProvisionedThroughputExceeded,
            ErrorKind::Throttling => CancellationCode::ThrottlingError,
            ErrorKind::Validation => CancellationCode::ValidationError,
            ErrorKind::DuplicateItem => CancellationCode::DuplicateItem,
            _ => return None,
        })
    }
}

impl TryFrom<Error> for CancellationReason {
    /// The error that no action is to blame for.
    type Error = Error;

    fn try_from(error: Error) -> Result<CancellationReason, Error> {
        match CancellationCode::of(error.kind) {
            Some(code) => Ok(CancellationReason { code, message: Some(error.message), item: error.item }),
            None => Err(error),
        }
    }
}

impl Encode for CancellationReason {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut object = Object::new(out);
        object.member("Code", self.code.as_str());
        object.member("Message", &self.message);
        object.member("Item", &self.item);
        object.end();
    }
}

impl Access {
    fn as_str(self) -> &'static str {
        match self {
            Access::Read => "Read",
            Access::Write => "Write",
        }
    }
}

impl ThrottlingCause {
    fn as_str(self) -> &'static str {
        match self {
            ThrottlingCause::ProvisionedThroughputExceeded => "ProvisionedThroughputExceeded",
            ThrottlingCause::KeyRangeThroughputExceeded => "KeyRangeThroughputExceeded",
        }
    }
}

impl Encode for ThrottlingReason {
    fn encode(&self, out: &mut Vec<u8>) {
        let of = if self.of_index { "Index" } else { "Table" };
        let mut object = Object::new(out);
        object.member("reason", &format!("{of}{}{}", self.access.as_str(), self.cause.as_str()));
        object.member("resource", &self.resource);
        object.end();
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.type_name(), self.message)
    }
}

impl std::error::Error for Error {}
