//! A disk that is full or fails while the store serves.

mod folder;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io};

use bytes::Bytes;
use folder::row;
use store::{Consistency, Read, Store, StoreError, WriteSet};
use store_lsm::vfs::{Disk, File, FileSystem};
use store_lsm::{LsmStore, Options, Tuning};

const WORKS: u8 = 0;
const IS_FULL: u8 = 1;
const FAILS_TO_SYNC: u8 = 2;

/// The real disk, until it is told to be full or to fail.
struct Moody {
    mood: Arc<AtomicU8>,
}

struct MoodyFile {
    file: Arc<dyn File>,
    mood: Arc<AtomicU8>,
}

impl Moody {
    fn check(mood: &AtomicU8) -> io::Result<()> {
        match mood.load(Ordering::SeqCst) {
            IS_FULL => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }

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
        Moody::check(&self.mood)?;
        self.file.allocate(length)
    }
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }
    fn sync(&self) -> io::Result<()> {
        match self.mood.load(Ordering::SeqCst) {
            FAILS_TO_SYNC => Err(io::Error::other("the disk is gone")),
            _ => self.file.sync(),
        }
    }
}

impl FileSystem for Moody {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Moody::check(&self.mood)?;
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
        Disk.sync_folder(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        Disk.list(path)
    }
}

fn open(folder: &Path) -> (LsmStore, Arc<AtomicU8>) {
    let mood = Arc::new(AtomicU8::new(WORKS));
    let tuning = Tuning { memtable_bytes: 16 << 10, segment_bytes: 16 << 10, ..Tuning::default() };
    let options = Options { tuning, ..Options::default() };
    let disk = Arc::new(Moody { mood: Arc::clone(&mood) });
    (LsmStore::open_on(disk, folder, &options).expect("the folder opens"), mood)
}

async fn put(store: &LsmStore, number: u64) -> Result<(), StoreError> {
    let mut decide = |_: &[Option<Bytes>]| WriteSet {
        puts: vec![(row(number), Bytes::from(vec![number as u8; 1000]))],
        ..WriteSet::default()
    };
    store.update(&[row(number)], &mut decide).await
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
        mood.store(IS_FULL, Ordering::SeqCst);
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            match put(&store, acknowledged).await {
                Ok(()) => acknowledged += 1,
                Err(StoreError::Full(_)) => break,
                Err(error) => panic!("{error}"),
            }
            assert!(Instant::now() < deadline, "writes are never refused");
        }
        assert!(matches!(store.health(), Err(StoreError::Full(_))));
        check(&store, 0..acknowledged).await;
        mood.store(WORKS, Ordering::SeqCst);
        while put(&store, acknowledged).await.is_err() {
            assert!(Instant::now() < deadline, "writes stay refused");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        acknowledged += 1;
    }
    store.close().await.expect("a store closes");
    let (store, _) = open(folder.path());
    check(&store, 0..acknowledged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_sync_poisons_at_once_and_reads_show_what_was_acknowledged() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, mood) = open(folder.path());
    for number in 0..5 {
        put(&store, number).await.expect("a write succeeds");
    }
    mood.store(FAILS_TO_SYNC, Ordering::SeqCst);
    let refused = put(&store, 5).await;
    assert!(
        matches!(&refused, Err(StoreError::Poisoned(why)) if why.contains("the disk is gone")),
        "{refused:?}"
    );
    mood.store(WORKS, Ordering::SeqCst);
    assert!(matches!(put(&store, 6).await, Err(StoreError::Poisoned(_))), "it stays so");
    assert!(matches!(store.health(), Err(StoreError::Poisoned(_))));
    check(&store, 0..5).await;
    let unseen = store.get(&[row(5)], Consistency::Latest).await.expect("a read succeeds");
    assert_eq!(unseen, [None], "what is not durable is not seen");
    store.close().await.expect_err("it was poisoned");
    let (store, _) = open(folder.path());
    check(&store, 0..5).await;
    put(&store, 7).await.expect("an opening starts anew");
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
