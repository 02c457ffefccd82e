//! The fixed limits of event source mappings.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Records of one batch.
pub const BATCH_SIZE: RangeInclusive<i64> = 1..=10_000;
/// Seconds for which records are gathered.
pub const BATCHING_WINDOW_SECONDS: RangeInclusive<i64> = 0..=300;
/// Batches of one shard that are delivered at the same time.
pub const PARALLELIZATION_FACTOR: RangeInclusive<i64> = 1..=10;
/// How old a record may be that is delivered, in seconds. -1 means any age.
pub const RECORD_AGE_SECONDS: RangeInclusive<i64> = -1..=604_800;
/// The smallest limit of age other than -1.
pub const RECORD_AGE_SECONDS_MIN: i64 = 60;
/// How often a batch is tried again. -1 means until its records expire.
pub const RETRY_ATTEMPTS: RangeInclusive<i64> = -1..=10_000;
/// How long a tumbling window is, in seconds. 0 means that there is none.
pub const TUMBLING_WINDOW_SECONDS: RangeInclusive<i64> = 0..=900;
/// Filters of one mapping.
pub const FILTERS_MAX: usize = 5;
/// Characters of a filter pattern.
pub const PATTERN_LENGTH_MAX: usize = 4096;
/// Characters of a function's name or ARN in a request.
pub const FUNCTION_NAME_LENGTH_MAX: usize = 256;
/// Characters of a destination's ARN.
pub const DESTINATION_LENGTH_MAX: usize = 350;
/// Tags of one mapping.
pub const TAGS_MAX: usize = 50;
/// Characters of a tag's key.
pub const TAG_KEY_LENGTH_MAX: usize = 128;
/// Characters of a tag's value.
pub const TAG_VALUE_LENGTH_MAX: usize = 256;
/// Mappings that ListEventSourceMappings answers with.
pub const LIST_PAGE_MAX: usize = 100;
/// Bytes of an event, and of a function's answer.
pub const PAYLOAD_BYTES_MAX: usize = 6 * 1024 * 1024;
/// Bytes of the state that a tumbling window hands on.
pub const STATE_BYTES_MAX: usize = 1024 * 1024;
/// How long a function may run.
pub const FUNCTION_TIMEOUT: Duration = Duration::from_secs(15 * 60);
