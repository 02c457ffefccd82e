//! A disk that is full or fails while the store serves.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;
use std::{fs, io};

use bytes::Bytes;
use store::{Consistency, Read, Store, StoreError, WriteSet};
use store_lsm::simulation::stepped::Stepped;
use store_lsm::vfs::{Disk, File, FileSystem};
use store_lsm::{Durability, LsmStore, Options, Tuning, verify};

use crate::support::{row, until};

const WORKS: u8 = 0;
const IS_FULL: u8 = 1;
const FAILS_TO_SYNC: u8 = 2;
/// Replaces the manifest, and then says that it could not.
const DOUBTS_THE_MANIFEST: u8 = 3;
const DOUBTS_AND_IS_FULL: u8 = 4;

/// The real disk, until a test makes it full or broken.
struct Moody {
    mood: Arc<Mood>,
}

struct MoodyFile {
    file: Arc<dyn File>,
    mood: Arc<Mood>,
}

#[derive(Default)]
struct Mood {
    now: AtomicU8,
    /// How often something was asked for that a full disk has no room for.
    refused: AtomicU64,
}

impl Mood {
    fn set(&self, mood: u8) {
        self.now.store(mood, Ordering::SeqCst);
    }

    fn is(&self, moods: &[u8]) -> bool {
        moods.contains(&self.now.load(Ordering::SeqCst))
    }

    fn check_room(&self) -> io::Result<()> {
        if !self.is(&[IS_FULL, DOUBTS_AND_IS_FULL]) {
            return Ok(());
        }
        self.refused.fetch_add(1, Ordering::SeqCst);
        Err(io::ErrorKind::StorageFull.into())
    }
}

impl Moody {
    fn wrap(&self, file: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(MoodyFile { file, mood: Arc::clone(&self.mood) })
    }
}

impl File for MoodyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        // What was allocated can be written, also when the disk is full.
        self.file.write_all_at(bytes, offset)
    }
    fn allocate(&self, length: u64) -> io::Result<()> {
        self.mood.check_room()?;
        self.file.allocate(length)
    }
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }
    fn sync(&self) -> io::Result<()> {
        match self.mood.is(&[FAILS_TO_SYNC]) {
            true => Err(io::Error::other("the disk is gone")),
            false => self.file.sync(),
        }
    }
}

impl FileSystem for Moody {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        self.mood.check_room()?;
        Ok(self.wrap(Disk.create(path)?))
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Ok(self.wrap(Disk.open(path)?))
    }
    fn open_to_read(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Disk.open_to_read(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename(from, to)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.link(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(path)
    }
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        Disk.create_folder(path)
    }
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        if path.ends_with("store") && self.mood.is(&[DOUBTS_THE_MANIFEST, DOUBTS_AND_IS_FULL]) {
            return Err(io::Error::other("the folder can't be synced"));
        }
        Disk.sync_folder(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        Disk.list(path)
    }
}

fn open(folder: &Path) -> (LsmStore, Arc<Mood>) {
    let mood = Arc::<Mood>::default();
    let tuning = Tuning {
        memtable_bytes: 16 << 10,
        segment_bytes: 16 << 10,
        retry_time: Duration::from_millis(10),
        ..Tuning::default()
    };
    let options = Options { tuning, ..Options::default() };
    let disk = Arc::new(Moody { mood: Arc::clone(&mood) });
    (LsmStore::open_on(disk, folder, &options).expect("the folder opens"), mood)
}

async fn put(store: &LsmStore, number: u64) -> Result<(), StoreError> {
    put_value(store, number, 1000).await
}

async fn put_value(store: &LsmStore, number: u64, bytes: usize) -> Result<(), StoreError> {
    let value = Bytes::from(vec![number as u8; bytes]);
    let mut decide =
        |_: &[Option<Bytes>]| WriteSet { puts: vec![(row(number), value.clone())], ..WriteSet::default() };
    store.update(&[row(number)], &mut decide).await
}

/// Writes until that is refused. The answer is the first row that was not written, and why.
async fn put_until_refused(store: &LsmStore, from: u64) -> (u64, StoreError) {
    for number in from..from + 10_000 {
        if let Err(error) = put(store, number).await {
            return (number, error);
        }
    }
    panic!("writes are never refused");
}

/// Writes when that is possible again.
async fn put_in_the_end(store: &LsmStore, number: u64, bytes: usize) {
    until("a write is possible", async || put_value(store, number, bytes).await.is_ok()).await;
}

/// The folder as a killed process would leave it now.
fn as_killed(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a temporary folder");
    copy_all(folder, copy.path());
    copy
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder is made");
    for entry in fs::read_dir(from).expect("a folder is listed") {
        let path = entry.expect("a folder is listed").path();
        let target = to.join(path.file_name().expect("it has a name"));
        if path.is_dir() {
            copy_all(&path, &target);
        } else if let Err(error) = fs::copy(&path, target) {
            // Maintenance runs at the same time, and may have removed it.
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{}", path.display());
        }
    }
}

async fn check(store: &LsmStore, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let found = store.get(&[row(number)], Consistency::Latest).await.expect("a read succeeds");
        assert_eq!(found, [Some(Bytes::from(vec![number as u8; 1000]))], "row {number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_writes_serves_reads_and_goes_on_by_itself() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, mood) = open(folder.path());
    let mut acknowledged = 0;
    for _ in 0..10 {
        mood.set(IS_FULL);
        let refused;
        (acknowledged, refused) = put_until_refused(&store, acknowledged).await;
        assert!(matches!(refused, StoreError::Full(_)), "{refused}");
        assert!(matches!(store.health(), Err(StoreError::Full(_))));
        check(&store, 0..acknowledged).await;
        mood.set(WORKS);
        put_in_the_end(&store, acknowledged, 1000).await;
        acknowledged += 1;
    }
    store.close().await.expect("a store closes");
    let (store, _) = open(folder.path());
    check(&store, 0..acknowledged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_manifest_may_name_stays_while_it_is_in_doubt() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, mood) = open(folder.path());
    let mut acknowledged = 0;
    for _ in 0..5 {
        mood.set(DOUBTS_THE_MANIFEST);
        (acknowledged, _) = put_until_refused(&store, acknowledged).await;
        // Now every attempt to make a segment fails, too.
        let before = mood.refused.load(Ordering::SeqCst);
        mood.set(DOUBTS_AND_IS_FULL);
        until("several fail", async || mood.refused.load(Ordering::SeqCst) > before + 2).await;
        let killed = as_killed(folder.path());
        check(&open(killed.path()).0, 0..acknowledged).await;
        mood.set(WORKS);
        put_in_the_end(&store, acknowledged, 1000).await;
        acknowledged += 1;
    }
    store.close().await.expect("a store closes");
    check(&open(folder.path()).0, 0..acknowledged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_segment_that_is_too_short_for_a_commit_is_forgotten_also_after_a_failure() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, mood) = open(folder.path());
    // A segment has room for 15 rows, and the next one is made when half of it is used.
    for number in 0..25 {
        put(&store, number).await.expect("a write succeeds");
    }
    let manifest = || fs::read_to_string(folder.path().join("store/manifest")).expect("there is a manifest");
    until("the third segment is made", async || manifest().contains("segment 3 ")).await;
    mood.set(DOUBTS_THE_MANIFEST);
    put_value(&store, 1000, 100_000).await.expect_err("it has to wait for a longer segment");
    mood.set(WORKS);
    put_in_the_end(&store, 1000, 100_000).await;
    for number in 25..100 {
        put(&store, number).await.expect("a write succeeds");
    }
    store.close().await.expect("a store closes");
    assert!(verify(folder.path()).expect("verify runs").findings.is_empty());
    check(&open(folder.path()).0, 0..100).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_sync_poisons_at_once_and_reads_show_what_was_acknowledged() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, mood) = open(folder.path());
    for number in 0..5 {
        put(&store, number).await.expect("a write succeeds");
    }
    mood.set(FAILS_TO_SYNC);
    let refused = put(&store, 5).await;
    assert!(
        matches!(&refused, Err(StoreError::Poisoned(why)) if why.contains("the disk is gone")),
        "{refused:?}"
    );
    mood.set(WORKS);
    assert!(matches!(put(&store, 6).await, Err(StoreError::Poisoned(_))), "it stays so");
    assert!(matches!(store.health(), Err(StoreError::Poisoned(_))));
    check(&store, 0..5).await;
    let unseen = store.get(&[row(5)], Consistency::Latest).await.expect("a read succeeds");
    assert_eq!(unseen, [None], "what is not durable is not seen");
    store.close().await.expect_err("it was poisoned");
    let (store, _) = open(folder.path());
    check(&store, 0..5).await;
    put(&store, 7).await.expect("an opening clears the failure");
}

#[test]
fn a_sync_that_failed_is_never_tried_again() {
    let (folder, copies) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let mood = Arc::<Mood>::default();
    let disk = Arc::new(Moody { mood: Arc::clone(&mood) });
    let options = Options { durability: Durability::Os, ..Options::default() };
    let mut store = Stepped::open(disk, folder.path(), &options).expect("the folder opens");
    let mut decide =
        |_: &[Option<Bytes>]| WriteSet { puts: vec![(row(1), Bytes::new())], ..WriteSet::default() };
    store.update(&[row(1)], &mut decide).expect("a write succeeds").expect("there is room");
    mood.set(FAILS_TO_SYNC);
    store.maintain();
    assert!(store.is_poisoned());
    mood.set(WORKS);
    // It would need a sync, which the system would say has succeeded.
    store.checkpoint(&copies.path().join("copy")).expect_err("the disk may have dropped the row");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_that_cannot_be_read_fails_only_those_who_ask_for_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, _) = open(folder.path());
    for number in 0..100 {
        put(&store, number).await.expect("a write succeeds");
    }
    store.close().await.expect("a store closes");
    let tables = folder.path().join("store/tree/tables");
    for entry in fs::read_dir(tables).expect("there are tables") {
        let path = entry.expect("a folder is listed").path();
        let mut bytes = fs::read(&path).expect("a table is read");
        bytes[1000] ^= 1;
        fs::write(path, bytes).expect("a table is written");
    }
    let (store, _) = open(folder.path());
    let mut failed = 0;
    for number in 0..100 {
        match store.get(&[row(number)], Consistency::Latest).await {
            Ok(found) => assert_eq!(found, [Some(Bytes::from(vec![number as u8; 1000]))]),
            Err(error) => {
                assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
                failed += 1;
            }
        }
    }
    assert!((1..100).contains(&failed), "{failed} reads failed");
    put(&store, 100).await.expect("writes go on");
}
