//! Making what one store holds equal to what another holds: a walk along both, in order, that writes what differs.
//!
//! The same walk makes the first copy, brings a copy up to date, and goes on after a crash. Along a source that
//! takes no more writes it also verifies: what differed is read back after it was written ([`Check::ReadBack`]), and all the rest
//! was compared. Change records are compared once, because they never change: the last walk goes on where those before it
//! came to ([`Compared`]).

use std::collections::VecDeque;
use std::ops::{Bound, ControlFlow};

use bytes::Bytes;
use store::{
    Consistency, Direction, Key, Log, LogPart, LogPosition, Position, Range, Read, Space, Store, StoreError,
    WriteSet,
};

/// The most rows or records that are read or written at once.
const BATCH_ROWS: usize = 1000;
/// A batch ends with the row that exceeds this. A row has at most some 400 KB.
const BATCH_BYTES: usize = 1 << 20;
/// How many records are read before anything is known of their size: two images of 400 KB each.
const FIRST_RECORDS: usize = 8;

/// Whether what is written is read back and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// A later walk compares it.
    Later,
    ReadBack,
}

/// What a walk saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyCounts {
    /// Rows and records of the source.
    pub seen: u64,
    /// Rows and records that the target lacked, had otherwise, or had in excess.
    pub changed: u64,
}

/// Called with the walk's progress: its position in the space, and how many rows it saw since the last call.
pub type Step<'a> = dyn FnMut(&Position, u64) + Send + 'a;

/// The rows of a space that are of interest, a batch at a time.
struct Rows<'a> {
    store: &'a dyn Read,
    space: Space,
    is_copied: fn(Space, &[u8]) -> bool,
    start: Bound<Position>,
    batch: VecDeque<(Position, Bytes)>,
    is_ended: bool,
}

impl<'a> Rows<'a> {
    fn new(store: &'a dyn Read, space: Space, is_copied: fn(Space, &[u8]) -> bool) -> Rows<'a> {
        let (start, batch) = (Bound::Unbounded, VecDeque::new());
        Rows { store, space, is_copied, start, batch, is_ended: false }
    }

    /// Makes sure that there is a next row, unless all were taken.
    async fn fill(&mut self) -> Result<(), StoreError> {
        while self.batch.is_empty() && !self.is_ended {
            let range = Range { space: self.space, start: self.start.clone(), end: Bound::Unbounded };
            let (mut rows, mut bytes, mut last) = (0, 0, None);
            let (batch, is_copied) = (&mut self.batch, self.is_copied);
            let mut visit = |key: store::KeyRef<'_>, value: Bytes| {
                (rows, bytes) = (rows + 1, bytes + key.sort.len() + value.len());
                let position = key.to_position();
                if is_copied(range.space, key.sort) {
                    batch.push_back((position.clone(), value));
                }
                last = Some(position);
                match rows < BATCH_ROWS && bytes < BATCH_BYTES {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            };
            self.store.scan(&range, Direction::Forward, Consistency::Latest, &mut visit).await?;
            self.is_ended = rows < BATCH_ROWS && bytes < BATCH_BYTES;
            if let Some(last) = last {
                self.start = Bound::Excluded(last);
            }
        }
        Ok(())
    }
}

/// Makes a space of the target equal to that of the source. `checksum` takes in all that the source holds.
pub async fn copy_space(
    source: &dyn Read,
    target: &dyn Store,
    space: Space,
    is_copied: fn(Space, &[u8]) -> bool,
    check: Check,
    checksum: &mut blake3::Hasher,
    step: &mut Step<'_>,
) -> Result<CopyCounts, StoreError> {
    let mut ours = Rows::new(source, space, is_copied);
    let mut theirs = Rows::new(target, space, is_copied);
    let (mut counts, mut reported) = (CopyCounts::default(), 0);
    let mut changes = Changes::default();
    loop {
        if ours.batch.is_empty() && counts.seen > reported {
            if let Bound::Excluded(position) = &ours.start {
                step(position, counts.seen - reported);
            }
            reported = counts.seen;
        }
        let (filled, also_filled) = tokio::join!(ours.fill(), theirs.fill());
        filled.and(also_filled)?;
        let (left, right) = (ours.batch.front(), theirs.batch.front());
        let order = match (left, right) {
            (None, None) => break,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some((left, _)), Some((right, _))) => left.cmp(right),
        };
        let is_equal = left.map(|(_, value)| value) == right.map(|(_, value)| value);
        let left = order.is_le().then(|| ours.batch.pop_front()).flatten();
        let right = order.is_ge().then(|| theirs.batch.pop_front()).flatten();
        match (left, right) {
            (Some((position, value)), right) => {
                counts.seen += 1;
                checksum_row(checksum, space, &position, &value);
                if right.is_none() || !is_equal {
                    changes.put(Key { space, position }, value);
                    counts.changed += 1;
                }
            }
            (None, Some((position, _))) => {
                changes.delete(Key { space, position });
                counts.changed += 1;
            }
            (None, None) => break,
        }
        if changes.is_full() {
            changes.write(target, check).await?;
        }
    }
    changes.write(target, check).await?;
    Ok(counts)
}

fn checksum_row(checksum: &mut blake3::Hasher, space: Space, position: &Position, value: &[u8]) {
    checksum.update(&space.0.to_le_bytes());
    checksum.update(&position.partition.0);
    for bytes in [&position.sort, value] {
        checksum.update(&(bytes.len() as u64).to_le_bytes());
        checksum.update(bytes);
    }
}

/// What is written in the next commit.
#[derive(Default)]
struct Changes {
    puts: Vec<(Key, Bytes)>,
    deletes: Vec<Key>,
    bytes: usize,
}

impl Changes {
    fn put(&mut self, key: Key, value: Bytes) {
        self.bytes += key.position.sort.len() + value.len();
        self.puts.push((key, value));
    }

    fn delete(&mut self, key: Key) {
        self.deletes.push(key);
    }

    fn is_full(&self) -> bool {
        self.puts.len() + self.deletes.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    /// The copy is the target's only writer, so it locks nothing.
    async fn write(&mut self, target: &dyn Store, check: Check) -> Result<(), StoreError> {
        let Changes { puts, deletes, .. } = std::mem::take(self);
        if puts.is_empty() && deletes.is_empty() {
            return Ok(());
        }
        let mut decide = |_: &[Option<Bytes>]| WriteSet {
            puts: puts.clone(),
            deletes: deletes.clone(),
            ..WriteSet::default()
        };
        target.update(&[], &mut decide).await?;
        if check == Check::Later {
            return Ok(());
        }
        let (keys, values): (Vec<Key>, Vec<Option<Bytes>>) = puts
            .into_iter()
            .map(|(key, value)| (key, Some(value)))
            .chain(deletes.into_iter().map(|key| (key, None)))
            .unzip();
        match target.get(&keys, Consistency::Latest).await? == values {
            true => Ok(()),
            false => Err(not_as_written()),
        }
    }
}

/// The records of a log, a batch at a time.
struct Records<'a> {
    store: &'a dyn Read,
    log: Log,
    after: LogPosition,
    limit: usize,
    /// Records that were read and not yet asked for.
    batch: VecDeque<(LogPosition, Bytes)>,
}

impl<'a> Records<'a> {
    fn new(store: &'a dyn Read, log: Log, after: LogPosition) -> Records<'a> {
        Records { store, log, after, limit: FIRST_RECORDS, batch: VecDeque::new() }
    }

    /// The next records; none at the end of the log.
    async fn next(&mut self) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        let records = self.store.read_log(self.log, self.after, self.limit).await?;
        if let Some((last, _)) = records.last() {
            self.after = *last;
            let bytes: usize = records.iter().map(|(_, record)| record.len() + 1).sum();
            self.limit = (BATCH_BYTES * records.len() / bytes).clamp(1, BATCH_ROWS);
        }
        Ok(records)
    }

    /// The next record, if it is at this position. While the source is in use it may have trimmed some before that.
    async fn at(&mut self, position: LogPosition, check: Check) -> Result<Option<Bytes>, StoreError> {
        loop {
            if self.batch.is_empty() {
                self.batch = self.next().await?.into();
            }
            match self.batch.pop_front() {
                Some((at, record)) if at == position => return Ok(Some(record)),
                Some((at, _)) if at < position && check == Check::Later => {}
                _ => return Ok(None),
            }
        }
    }
}

/// The part of a log that was read from both stores, and was equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared {
    through: LogPosition,
    records: u64,
}

/// Makes a log of the target equal to that of the source, position by position. Records never change, so what the
/// target has of the source is compared, unless it was before, and the rest is appended.
pub async fn copy_log(
    source: &dyn Read,
    target: &dyn Store,
    log: Log,
    check: Check,
    compared: &mut Compared,
) -> Result<CopyCounts, StoreError> {
    let mut counts = CopyCounts { seen: compared.records, changed: 0 };
    let (end, end_there) = (source.log_end(log).await?, target.log_end(log).await?);
    if end < end_there {
        return Err(foreign(log));
    }
    counts.changed += trim(source, target, log, end).await?;
    let mut ours = Records::new(source, log, compared.through);
    let mut there = Records::new(target, log, compared.through);
    loop {
        let records = ours.next().await?;
        if records.is_empty() {
            break;
        }
        counts.seen += records.len() as u64;
        for (position, record) in &records {
            if *position > end_there {
                break;
            }
            if there.at(*position, check).await?.as_ref() != Some(record) {
                return Err(foreign(log));
            }
            *compared = Compared { through: *position, records: compared.records + 1 };
        }
        let records: Vec<_> = records.into_iter().filter(|(position, _)| *position > end_there).collect();
        counts.changed += records.len() as u64;
        if let Some((last, _)) = records.last() {
            let part = LogPart { log, end: *last, records };
            let before = target.log_end(log).await?;
            carry(target, &part).await?;
            if check == Check::ReadBack
                && target.read_log(log, before, part.records.len()).await? != part.records
            {
                return Err(not_as_written());
            }
        }
    }
    // The last records were trimmed, or other servers have raised the log.
    if target.log_end(log).await? < end {
        carry(target, &LogPart { log, records: Vec::new(), end }).await?;
        counts.changed += 1;
    }
    Ok(counts)
}

/// Removes the records of the target that the source has trimmed. Returns whether there were any.
async fn trim(source: &dyn Read, target: &dyn Store, log: Log, end: LogPosition) -> Result<u64, StoreError> {
    let Some((oldest_there, _)) = target.read_log(log, LogPosition(0), 1).await?.pop() else { return Ok(0) };
    let trimmed = match source.read_log(log, LogPosition(0), 1).await?.pop() {
        Some((oldest, _)) => LogPosition(oldest.0 - 1),
        None => end,
    };
    if oldest_there > trimmed {
        return Ok(0);
    }
    target.trim_log(log, trimmed).await?;
    Ok(1)
}

async fn carry(target: &dyn Store, part: &LogPart) -> Result<(), StoreError> {
    let mut decide = |_: &[Option<Bytes>]| WriteSet { log_parts: vec![part.clone()], ..WriteSet::default() };
    target.update(&[], &mut decide).await
}

fn not_as_written() -> StoreError {
    StoreError::Corrupt("the target does not give back what was written to it".to_owned())
}

fn foreign(log: Log) -> StoreError {
    StoreError::Corrupt(format!(
        "log {} of the target has records that the source does not have; begin again with an empty target",
        log.0
    ))
}
