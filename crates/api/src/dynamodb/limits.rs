//! DynamoDB's fixed limits.

/// Largest body of a request, also after decompression.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Largest item, attribute names included.
pub const ITEM_BYTES_MAX: usize = 400 * 1024;
/// Largest sum of the items with one partition key, and of their rows in local indexes. It holds for tables
/// with local indexes only.
pub const ITEM_COLLECTION_BYTES_MAX: u64 = 10 << 30;
/// Longest value of a partition key.
pub const PARTITION_KEY_BYTES_MAX: usize = 2048;
/// Longest value of a sort key.
pub const SORT_KEY_BYTES_MAX: usize = 1024;
/// Longest name of an attribute.
pub const ATTRIBUTE_NAME_BYTES_MAX: usize = 65_535;

/// Shortest name of a table.
pub const TABLE_NAME_LENGTH_MIN: usize = 3;
/// Longest name of a table.
pub const TABLE_NAME_LENGTH_MAX: usize = 255;
/// Longest ARN of a table.
pub const TABLE_ARN_LENGTH_MAX: usize = 1024;

/// What a Query or Scan reads for one page.
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// Keys of a BatchGetItem, summed over its tables.
pub const BATCH_GET_KEYS_MAX: usize = 100;
/// Puts and deletes of a BatchWriteItem, summed over its tables.
pub const BATCH_WRITE_REQUESTS_MAX: usize = 25;
/// Items that a BatchGetItem answers with.
pub const BATCH_GET_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Actions or statements of a transaction.
pub const TRANSACTION_ACTIONS_MAX: usize = 100;
/// Items and values that a transaction's request holds, or items that it reads.
pub const TRANSACTION_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Names that ListTables answers with.
pub const LIST_TABLES_PAGE_MAX: usize = 100;

/// Global secondary indexes of a table.
pub const GLOBAL_SECONDARY_INDEXES_MAX: usize = 20;
/// Local secondary indexes of a table.
pub const LOCAL_SECONDARY_INDEXES_MAX: usize = 5;
/// Vector indexes of a table.
pub const VECTOR_INDEXES_MAX: usize = 5;
/// Dimensions of a vector index.
pub const VECTOR_DIMENSIONS_MAX: i64 = 4096;
/// INLINE_FILTER attributes of a vector index.
pub const VECTOR_FILTERS_MAX: usize = 18;
/// Items that SearchVectors finds at most.
pub const SEARCH_TOP_K_MAX: i32 = 100;
/// What SearchVectors answers with.
pub const SEARCH_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The least that SearchVectors, or a write to a vector index, is metered as.
pub const VECTOR_REQUEST_BYTES_MIN: usize = 1024;
/// Attributes that INCLUDE projections list, summed over all indexes of a table.
pub const NON_KEY_ATTRIBUTES_MAX: usize = 100;
/// HASH attributes in the key of a global secondary index, and as many RANGE attributes.
pub const INDEX_KEY_ATTRIBUTES_MAX: usize = 4;
/// Tags of a table.
pub const TAGS_MAX: usize = 50;
/// Longest resource policy.
pub const RESOURCE_POLICY_BYTES_MAX: usize = 20 * 1024;
