//! Shard iterators, as clients keep them: a stream, a shard, a position and the time of issue, as text.

use std::fmt;

use store::LogPosition;

/// A place in a shard.
pub struct ShardIterator {
    pub stream_arn: String,
    /// The number of the shard.
    pub shard: u64,
    /// Records after this position are read.
    pub after: LogPosition,
    pub issued_ms: u64,
}

impl ShardIterator {
    /// Reads an iterator; none if the text is not one.
    pub fn parse(text: &str) -> Option<ShardIterator> {
        let (stream_arn, rest) = text.split_once("|1|")?;
        let mut numbers = rest.split('-').map(|digits| u64::from_str_radix(digits, 16).ok());
        let mut next = || numbers.next().flatten();
        let (shard, after, issued_ms) = (next()?, LogPosition(next()?), next()?);
        numbers.next().is_none().then(|| ShardIterator {
            stream_arn: stream_arn.to_owned(),
            shard,
            after,
            issued_ms,
        })
    }
}

impl fmt::Display for ShardIterator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|1|{:x}-{:x}-{:x}", self.stream_arn, self.shard, self.after.0, self.issued_ms)
    }
}
