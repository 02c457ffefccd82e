//! The logs of a table and its shards.
//!
//! Each log holds the records of a range of partition hashes, so writers of different keys rarely wait for each
//! other. A shard is a log during a span of time: it closes after some hours, when the stream is switched
//! off, or when the range is divided, and the records that follow are in its children. Because a position
//! is a time, a shard is opened and closed without touching its log.

use serde::{Deserialize, Serialize};
use store::{Log, LogPosition, Partition};

/// Where the changes of a table are recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangeLog {
    /// Every log that may hold records of the table.
    logs: Vec<u64>,
    /// Open shards, and closed ones until their records are forgotten; in the order of opening, and those
    /// that were opened together in the order of their hashes.
    pub shards: Vec<Shard>,
    /// The number of the next shard.
    next: u64,
}

/// The changes of a range of partition hashes during a span of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shard {
    /// What tells it apart from the table's other shards.
    pub number: u64,
    log: u64,
    /// The first two bytes of the least hash in it. Its range ends where that of the next open shard begins.
    first_hash: u16,
    /// Its first record is at this time or later.
    pub opened_us: u64,
    /// Its last record is at this time or before; none while it is open.
    pub closed_us: Option<u64>,
    pub parent: Option<u64>,
}

impl Shard {
    /// The log that has its records.
    pub fn log(&self) -> Log {
        Log(self.log)
    }

    /// The position before its first record.
    pub fn start(&self) -> LogPosition {
        LogPosition::through(self.opened_us - 1)
    }

    /// The position after which there are no records of it; none while it is open.
    pub fn end(&self) -> Option<LogPosition> {
        self.closed_us.map(LogPosition::through)
    }

    /// Whether writes still append to it.
    pub fn is_open(&self) -> bool {
        self.closed_us.is_none()
    }
}

impl ChangeLog {
    /// Every log that may hold records.
    pub fn logs(&self) -> impl Iterator<Item = Log> {
        self.logs.iter().copied().map(Log)
    }

    /// The greatest number of a log.
    pub fn last_number(&self) -> Option<u64> {
        self.logs.iter().copied().max()
    }

    /// The last time that its shards know of: later records belong to the open ones.
    pub fn last_time_us(&self) -> u64 {
        let times = self.shards.iter().map(|shard| shard.closed_us.unwrap_or(shard.opened_us - 1));
        times.max().unwrap_or(0)
    }

    /// Whether changes are recorded.
    pub fn is_open(&self) -> bool {
        self.shards.last().is_some_and(Shard::is_open)
    }

    /// The log for a change of an item; none if changes are not recorded.
    pub fn log_of(&self, partition: &Partition) -> Option<Log> {
        let hash = u16::from_be_bytes([partition.0[0], partition.0[1]]);
        // The open shards are the last ones, in the order of their hashes.
        let open = self.shards.iter().rev().take_while(|shard| shard.is_open());
        open.into_iter().find(|shard| shard.first_hash <= hash).map(Shard::log)
    }

    /// Starts to record changes, in `count` shards. Numbers from `unused` on are free for new logs.
    pub fn open(&mut self, count: u16, unused: u64, now_us: u64) {
        assert!(!self.is_open(), "the log is open already");
        assert!((1..=256).contains(&count), "a log has between 1 and 256 shards");
        while self.logs.len() < usize::from(count) {
            let last = self.last_number().map_or(unused, |last| unused.max(last + 1));
            self.logs.push(last);
        }
        let width = (u32::from(u16::MAX) + 1) / u32::from(count);
        for place in 0..count {
            let first_hash = (u32::from(place) * width) as u16;
            let log = self.logs[usize::from(place)];
            self.push(Shard { number: 0, log, first_hash, opened_us: now_us, closed_us: None, parent: None });
        }
    }

    /// Stops to record changes.
    pub fn close(&mut self, now_us: u64) {
        for shard in self.shards.iter_mut().filter(|shard| shard.is_open()) {
            shard.closed_us = Some(now_us.max(shard.opened_us));
        }
    }

    /// Closes every open shard at this time and opens a child of each.
    pub fn roll(&mut self, now_us: u64) {
        let open: Vec<Shard> = self.shards.iter().filter(|shard| shard.is_open()).cloned().collect();
        self.close(now_us);
        for parent in open {
            let opened_us = now_us.max(parent.opened_us) + 1;
            self.push(Shard { opened_us, parent: Some(parent.number), ..parent });
        }
    }

    /// Divides every open shard into two: the lower half of its hashes stays in its log, the upper half gets
    /// a new one. Numbers from `unused` on are free for new logs.
    pub fn split(&mut self, unused: u64, now_us: u64) {
        let open: Vec<Shard> = self.shards.iter().filter(|shard| shard.is_open()).cloned().collect();
        self.close(now_us);
        let ends =
            open.iter().skip(1).map(|next| u32::from(next.first_hash)).chain([u32::from(u16::MAX) + 1]);
        let ends: Vec<u32> = ends.collect();
        for (parent, end) in open.into_iter().zip(ends) {
            let opened_us = now_us.max(parent.opened_us) + 1;
            let middle = (u32::from(parent.first_hash) + end).div_euclid(2) as u16;
            let log = self.last_number().map_or(unused, |last| unused.max(last + 1));
            self.logs.push(log);
            let child = Shard { opened_us, parent: Some(parent.number), ..parent };
            self.push(child.clone());
            self.push(Shard { log, first_hash: middle, ..child });
        }
    }

    /// How many shards are open.
    pub fn open_count(&self) -> usize {
        self.shards.iter().filter(|shard| shard.is_open()).count()
    }

    /// Forgets the shards that were closed before this time. The parents of those that stay may be gone.
    pub fn forget_closed_before(&mut self, time_us: u64) {
        self.shards.retain(|shard| shard.closed_us.is_none_or(|closed_us| closed_us >= time_us));
    }

    fn push(&mut self, shard: Shard) {
        self.shards.push(Shard { number: self.next, ..shard });
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(first: u8) -> Partition {
        let mut bytes = [0; Partition::LENGTH];
        bytes[0] = first;
        Partition(bytes)
    }

    #[test]
    fn every_hash_has_a_log_while_the_log_is_open() {
        let mut log = ChangeLog::default();
        assert_eq!(log.log_of(&partition(7)), None);
        log.open(4, 100, 5);
        let logs: Vec<Option<Log>> = [0, 63, 64, 128, 255].map(|hash| log.log_of(&partition(hash))).into();
        assert_eq!(logs, [100, 100, 101, 102, 103].map(|number| Some(Log(number))));
        log.close(9);
        assert_eq!(log.log_of(&partition(7)), None);
        log.open(4, 200, 12);
        assert_eq!(log.log_of(&partition(0)), Some(Log(100)), "logs are used again");
        assert!(log.shards[4..].iter().all(|shard| shard.parent.is_none()), "a new start has no parents");
    }

    #[test]
    fn a_child_follows_its_parent_in_the_same_log() {
        let mut log = ChangeLog::default();
        log.open(2, 20, 5);
        log.roll(8);
        assert_eq!(log.shards.len(), 4);
        let (parent, child) = (&log.shards[1], &log.shards[3]);
        assert_eq!((child.parent, child.log()), (Some(parent.number), parent.log()));
        assert!(parent.end().expect("the parent is closed") <= child.start());
        log.forget_closed_before(9);
        assert_eq!(log.shards.len(), 2);
    }

    #[test]
    fn a_split_divides_the_hashes_of_each_shard() {
        let mut log = ChangeLog::default();
        log.open(1, 20, 5);
        log.split(30, 8);
        assert_eq!(log.log_of(&partition(127)), Some(Log(20)));
        assert_eq!(log.log_of(&partition(128)), Some(Log(30)));
        log.split(31, 9);
        let logs: Vec<Option<Log>> = [0, 64, 128, 192].map(|hash| log.log_of(&partition(hash))).into();
        assert_eq!(logs, [20, 31, 30, 32].map(|number| Some(Log(number))));
        assert_eq!(log.open_count(), 4);
    }
}
