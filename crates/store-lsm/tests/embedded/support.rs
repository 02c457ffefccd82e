//! What the tests of the data folder share: rows that tell whether everything is there.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use store::{Consistency, Key, Log, LogPosition, Partition, Position, Read, Space, Store, WriteSet};
use store_lsm::{LsmStore, OpenError, Options, Tuning};

pub const LOG: Log = Log(1);

/// Longer than any condition takes on a busy machine: a test that waits this long has failed.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks until it is so.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !is_so().await {
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(TIMEOUT, looking).await.unwrap_or_else(|_| panic!("it never happens that {what}"));
}

pub fn open(folder: &Path) -> Result<LsmStore, OpenError> {
    // Short segments: tests without optimisation take their time to read them.
    let tuning = Tuning { segment_bytes: 256 << 10, ..Tuning::default() };
    LsmStore::open(folder, Options { tuning, ..Options::default() })
}

pub fn row(number: u64) -> Key {
    let position = Position { partition: Partition::FIRST, sort: number.to_be_bytes().to_vec() };
    Key { space: Space(1), position }
}

/// Commits the rows `numbers`, each alone and with a log record.
pub async fn write(store: &LsmStore, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let mut decide = |_: &[Option<Bytes>]| WriteSet {
            puts: vec![(row(number), Bytes::from(format!("row {number}")))],
            appends: vec![(LOG, Bytes::from(format!("record {number}")))],
            ..WriteSet::default()
        };
        store.update(&[row(number)], &mut decide).await.expect("a write succeeds");
    }
}

/// How many rows there are from 0 on. None may be wrong, none beyond the first missing one present,
/// and the log must agree.
pub async fn count(store: &LsmStore) -> u64 {
    let keys: Vec<Key> = (0..1000).map(row).collect();
    let rows = store.get(&keys, Consistency::Latest).await.expect("a read succeeds");
    let count = rows.iter().take_while(|row| row.is_some()).count();
    for (number, found) in rows.into_iter().enumerate() {
        let expected = (number < count).then(|| Bytes::from(format!("row {number}")));
        assert_eq!(found, expected, "row {number} of {count}");
    }
    let records = store.read_log(LOG, LogPosition(0), usize::MAX).await.expect("a log is read");
    let expected: Vec<(LogPosition, Bytes)> = (0..count as u64)
        .map(|number| (LogPosition::new(number + 1, 0), Bytes::from(format!("record {number}"))))
        .collect();
    assert_eq!(records, expected);
    count as u64
}

pub fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder is made");
    for entry in std::fs::read_dir(from).expect("a folder is listed") {
        let entry = entry.expect("a folder is listed");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a file has a type").is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a file is copied");
        }
    }
}
