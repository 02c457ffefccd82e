//! DynamoDB's fixed limits that requests are held against.

/// Constraint violations that one answer lists.
pub const VIOLATIONS_REPORTED_MAX: usize = 10;

/// A request's body, also after decompression.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// An item, names included.
pub const ITEM_BYTES_MAX: usize = 400 * 1024;
/// The items of one partition key in a table with local indexes, with their rows there.
pub const ITEM_COLLECTION_BYTES_MAX: u64 = 10 << 30;
pub const PARTITION_KEY_BYTES_MAX: usize = 2048;
pub const SORT_KEY_BYTES_MAX: usize = 1024;
/// Levels of lists and maps in one attribute; a scalar is at level 1.
pub const NESTING_LEVELS_MAX: usize = 32;
pub const ATTRIBUTE_NAME_BYTES_MAX: usize = 65_535;
pub const KEY_ATTRIBUTE_NAME_BYTES_MAX: usize = 255;

/// What a Query or Scan evaluates for one page.
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// Summed over all tables of a batch.
pub const BATCH_GET_KEYS_MAX: usize = 100;
pub const BATCH_WRITE_REQUESTS_MAX: usize = 25;
/// What a BatchGetItem answers with.
pub const BATCH_GET_BYTES_MAX: usize = 16 * 1024 * 1024;
/// What a transaction brings along, or reads.
pub const TRANSACTION_BYTES_MAX: usize = 4 * 1024 * 1024;
pub const LIST_TABLES_PAGE_MAX: usize = 100;

pub const GLOBAL_SECONDARY_INDEXES_MAX: usize = 20;
pub const LOCAL_SECONDARY_INDEXES_MAX: usize = 5;
/// Summed over all indexes of a table that list attributes.
pub const NON_KEY_ATTRIBUTES_MAX: usize = 100;
pub const TAGS_MAX: usize = 50;
pub const RESOURCE_POLICY_BYTES_MAX: usize = 20 * 1024;
/// HASH and, separately, RANGE attributes in the key of a global secondary index.
pub const INDEX_KEY_ATTRIBUTES_MAX: usize = 4;
