//! The database below the contract: what callers and the two threads share, and how it is opened.
//!
//! Opening goes through these steps. It changes nothing until step 4, when all checks have passed:
//! 1. This process holds the folder, and the format is the one that this program reads.
//! 2. The manifest is whole. The tree's version and tables are those that there must be (`tree`).
//! 3. The log is read from its first segment to its end (`wal::reader`).
//! 4. The tree goes back to the version that the manifest names, if it was ahead. Files that no version
//!    or manifest names are moved to `aside`. A torn tail is copied there and overwritten with zeros.
//! 5. A folder of format 2 gets a manifest of format 3.
//! 6. The tree is opened, and the commits of the log that are not in tables go into its memtable.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use lsm_tree::{AbstractTree, InternalValue, Memtable, SequenceNumberCounter, Tree, ValueType};
use parking_lot::{Mutex, RwLock};

use crate::change_log::ChangeLogs;
use crate::checkpoint::CheckpointRequest;
use crate::compaction::Interruptions;
use crate::error::OpenError;
use crate::folder::{self, FORMAT, FORMAT_VERSION, Paths, STORE, STORE_NEW};
use crate::latch::Latches;
use crate::maintenance::{SegmentsAhead, Stalls, Wakeup};
use crate::manifest::{self, Manifest, Moment};
use crate::privacy;
use crate::reclamation::Reclamation;
use crate::shrinking::Shrunk;
use crate::snapshot::Snapshots;
use crate::tree::{self, TreeFiles};
use crate::vfs::FileSystem;
use crate::wal::reader::{self, LogEnd};
use crate::wal::record::{Commits, LogPoint, Row};
use crate::wal::segment::{self, Entry};
use crate::wal::writer::{self, DurableEnd, Prepared, Writer};
use crate::wal::{Wal, mark};
use crate::{Options, Tuning, write_clock};

/// Files in the folder `aside` with this prefix are removed after a successful opening.
const ORPHAN: &str = "orphan-";
/// Torn tails that are kept there, so that an operator can look into a crash.
const TORN_TAILS_MAX: usize = 8;

pub(crate) struct Database {
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) paths: Paths,
    pub(crate) tuning: Tuning,
    pub(crate) tree: Tree,
    /// The memtable that takes commits. A commit holds the read lock while it is appended to the log and
    /// inserted here; rotation takes the write lock.
    pub(crate) active: RwLock<Arc<Memtable>>,
    /// Memtables that wait to become tables, oldest first.
    pub(crate) sealed: Mutex<VecDeque<Arc<Memtable>>>,
    pub(crate) sealed_count: AtomicUsize,
    pub(crate) l0_tables: AtomicUsize,
    /// Commits below this sequence number are in tables.
    pub(crate) flushed: AtomicU64,
    pub(crate) snapshots: Arc<Snapshots>,
    pub(crate) wal: Wal,
    pub(crate) latches: Latches,
    pub(crate) change_logs: ChangeLogs,
    pub(crate) manifest: Mutex<Manifest>,
    pub(crate) segments_ahead: Mutex<SegmentsAhead>,
    pub(crate) reclamation: Mutex<Reclamation>,
    pub(crate) stalls: Mutex<Stalls>,
    pub(crate) checkpoints: Mutex<Vec<CheckpointRequest>>,
    pub(crate) wakeup: Arc<Wakeup>,
    /// Whether there was a commit since maintenance last looked.
    pub(crate) written: AtomicBool,
    /// Whether rows were cleared whose deletions are not in tables yet.
    pub(crate) cleared: AtomicBool,
    pub(crate) shrunk: Mutex<Shrunk>,
    stopping: AtomicBool,
}

/// What a folder was found to hold. Nothing was changed.
pub(crate) struct Found {
    pub(crate) format: u32,
    pub(crate) manifest: Manifest,
    pub(crate) tree: TreeFiles,
    pub(crate) log: LogEnd,
    /// Segments that hold no record.
    pub(crate) unused: Vec<Entry>,
    /// Files of the log that belong to nothing.
    pub(crate) log_orphans: Vec<String>,
}

/// Reads everything that an opening needs, and fails if a file is missing, foreign or damaged.
pub(crate) fn examine(fs: &dyn FileSystem, paths: &Paths, commits: &mut Commits) -> Result<Found, OpenError> {
    let format = folder::check_format(fs, paths)?;
    let manifest = read_manifest(fs, paths)?;
    refuse_foreign(fs, paths)?;
    if manifest.moment.is_none() && format == FORMAT_VERSION {
        let what = format!("is older than the file {FORMAT}");
        return Err(OpenError::mixed(&paths.data, manifest::FILE_NAME, &what));
    }
    let tree = tree::check_files(paths, &manifest)?;
    let mut keep = |sequence, rows| {
        if sequence >= manifest.flushed {
            commits.push((sequence, rows));
        }
    };
    let named = manifest.moment.as_ref().map(|moment| moment.log).unwrap_or_default();
    let log = reader::read_log(fs, &paths.log, manifest.store, &manifest.segments, named, &mut keep)
        .map_err(|error| OpenError::log(&paths.data, error))?;
    if named.record > 0 && !log.has_named_record {
        let what = format!("is not the log whose record {} the manifest names", named.record);
        return Err(OpenError::mixed(&paths.data, folder::LOG, &what));
    }
    if tree.version != manifest.tree {
        refuse_unlogged(paths, &tree, manifest.flushed, &log)?;
    }
    let used: Vec<u64> = log.sequences.iter().map(|(number, _)| *number).collect();
    let unused = manifest.segments.iter().filter(|entry| !used.contains(&entry.number)).copied().collect();
    let log_orphans = find_log_orphans(fs, paths, &manifest)?;
    Ok(Found { format, manifest, tree, log, unused, log_orphans })
}

/// A flush waits until the log is durable. So a tree of format 2 whose tables are ahead of the manifest
/// has no commit that the log lacks, or is of another moment.
fn refuse_unlogged(paths: &Paths, tree: &TreeFiles, flushed: u64, log: &LogEnd) -> Result<(), OpenError> {
    let logged = log.sequences.last().map_or(0, |(_, last)| last + 1).max(flushed);
    for table in &tree.tables {
        let file = format!("{}/{}", folder::TREE, table.file_name());
        let opened =
            table.open(&paths.tree).map_err(|what| OpenError::damaged(&paths.data, file.as_str(), what))?;
        if opened.get_highest_seqno() >= logged {
            let what = "has commits that are not in the log";
            return Err(OpenError::mixed(&paths.data, file, what));
        }
    }
    Ok(())
}

fn read_manifest(fs: &dyn FileSystem, paths: &Paths) -> Result<Manifest, OpenError> {
    let damaged = |what: String| OpenError::damaged(&paths.data, manifest::FILE_NAME, what);
    match fs.open_to_read(&paths.store.join(manifest::FILE_NAME)).and_then(|file| file.read_all()) {
        Ok(bytes) => Manifest::decode(&bytes).map_err(damaged),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(damaged("is missing".to_owned())),
        Err(error) => Err(OpenError::io(&paths.data, error)),
    }
}

/// Everything beside the known folders and files is refused by its name.
fn refuse_foreign(fs: &dyn FileSystem, paths: &Paths) -> Result<(), OpenError> {
    let known = [FORMAT, manifest::FILE_NAME, folder::LOG, folder::TREE, folder::ASIDE];
    for name in fs.list(&paths.store).map_err(|error| OpenError::io(&paths.data, error))? {
        // A replacement that was cut short leaves a file that ends in `.new`.
        let stem = name.strip_suffix(".new").unwrap_or(&name);
        if !known.contains(&stem) {
            return Err(OpenError::damaged(&paths.data, name, "does not belong here"));
        }
    }
    for (folder, name) in [(&paths.log, folder::LOG), (&paths.tree, folder::TREE)] {
        if !folder.is_dir() {
            return Err(OpenError::damaged(&paths.data, name, "is missing"));
        }
    }
    if !paths.tree.join(tree::TABLES).is_dir() {
        return Err(OpenError::damaged(&paths.data, "tree/tables", "is missing"));
    }
    Ok(())
}

/// Segments that the manifest does not name. If one of them holds a record, the manifest is an old one,
/// or the segment is from another time.
fn find_log_orphans(
    fs: &dyn FileSystem,
    paths: &Paths,
    manifest: &Manifest,
) -> Result<Vec<String>, OpenError> {
    let failed = |error| OpenError::io(&paths.data, error);
    let damaged = |name: &str, what: &str| OpenError::damaged(&paths.data, format!("log/{name}"), what);
    let first = manifest.segments.first().map_or(0, |first| first.number);
    let mut orphans = Vec::new();
    for name in fs.list(&paths.log).map_err(failed)? {
        if name == mark::FILE_NAME {
            continue;
        }
        let Some(number) = segment::number_of(&name) else {
            return Err(damaged(&name, "does not belong here"));
        };
        if manifest.segments.iter().any(|entry| entry.number == number) {
            continue;
        }
        let bytes =
            fs.open_to_read(&paths.log.join(&name)).and_then(|file| file.read_all()).map_err(failed)?;
        let holds_records = reader::each_whole_record(&bytes, manifest.store).next().is_some();
        if number > first && holds_records {
            let what = "holds records, but the manifest does not name it";
            return Err(OpenError::mixed(&paths.data, format!("log/{name}"), what));
        }
        orphans.push(name);
    }
    Ok(orphans)
}

impl Database {
    /// Opens the store in a folder that this process holds; makes it first if there is none.
    pub(crate) fn open(
        fs: Arc<dyn FileSystem>,
        data: &Path,
        options: &Options,
    ) -> Result<(Arc<Database>, Writer), OpenError> {
        let failed = |error| OpenError::io(data, error);
        let paths = Paths::of(data, STORE);
        remove_unfinished(data).map_err(failed)?;
        if !paths.store.try_exists().map_err(failed)? {
            if let Some(original) = folder::left_by_repair(data).map_err(failed)? {
                return Err(OpenError::damaged(data, STORE, folder::repair_was_cut_short(&original)));
            }
            create(&*fs, data, options)?;
        }
        let mut commits = Commits::new();
        let mut found = examine(&*fs, &paths, &mut commits)?;
        if found.tree.current != found.tree.version {
            tree::point_current_to(&paths.tree, found.tree.version.number).map_err(failed)?;
        }
        move_orphans_aside(&*fs, &paths, &found).map_err(failed)?;
        for torn in &found.log.torn {
            let kept = writer::cut_torn_tail(&*fs, &paths.log, &paths.aside, torn).map_err(failed)?;
            tracing::warn!(
                "the last {} bytes of the log were no complete write; they are in {}",
                torn.bytes.len(),
                kept.display()
            );
        }
        forget_unused_segments(&*fs, &paths, &mut found).map_err(failed)?;
        let writer = Writer::open(&*fs, &paths.log, found.manifest.store, &found.log, write_clock);
        let writer = writer.map_err(failed)?;
        if found.format != FORMAT_VERSION {
            upgrade(&*fs, &paths, &mut found).map_err(failed)?;
        }
        let log = (writer.room(), writer.durable_end());
        let database = Database::start(fs, paths, options, found, commits, log)?;
        clear_aside(&database);
        Ok((database, writer))
    }

    fn start(
        fs: Arc<dyn FileSystem>,
        paths: Paths,
        options: &Options,
        found: Found,
        commits: Commits,
        (room_bytes, durable_end): (u64, DurableEnd),
    ) -> Result<Arc<Database>, OpenError> {
        let data = paths.data.clone();
        let failed = |error| OpenError::io(&data, error);
        debug_assert_eq!(found.tree.version, found.manifest.tree, "the manifest names the version in use");
        let Found { manifest, log, unused, .. } = found;
        let sequence = SequenceNumberCounter::new(1);
        let interruptions = Interruptions::default();
        let tree = tree::open(
            &paths.tree,
            options.cache_bytes,
            sequence.clone(),
            Some(Arc::new(interruptions.clone())),
        )
        .map_err(|error| OpenError::tree(&data, error))?;
        sequence.fetch_max(manifest.flushed);
        sequence.fetch_max(tree.get_highest_persisted_seqno().map_or(0, |highest| highest + 1));
        let active = tree.active_memtable();
        for (number, rows) in commits {
            debug_assert!(number >= manifest.flushed, "tables have the commits below {}", manifest.flushed);
            sequence.fetch_max(number + 1);
            insert(&active, number, rows);
        }
        assert!(sequence.get() >= manifest.flushed, "new commits come after those in tables");
        let snapshots = Arc::new(Snapshots::new(sequence.get()));
        let wakeup = Arc::<Wakeup>::default();
        let tuning = options.tuning;
        let wal = Wal::new(
            options.durability,
            sequence,
            Arc::clone(&snapshots),
            tuning.segment_bytes,
            (room_bytes, durable_end),
            Arc::clone(&wakeup),
        );
        let closed = log.sequences.iter().rev().skip(1).rev();
        wal.set_closed(closed.map(|(number, last)| (*number, last + 1)).collect());
        if let Some(&entry) = unused.first() {
            let file = fs.open(&segment::path(&paths.log, entry.number)).map_err(failed)?;
            wal.offer(Prepared { entry, file }, tuning.segment_bytes);
        }
        let database = Arc::new(Database {
            fs,
            paths,
            tuning,
            active: RwLock::new(active),
            sealed: Mutex::default(),
            sealed_count: AtomicUsize::new(0),
            l0_tables: tree.level_table_count(0).unwrap_or(0).into(),
            tree,
            flushed: manifest.flushed.into(),
            snapshots,
            wal,
            latches: Latches::new(),
            change_logs: ChangeLogs::default(),
            manifest: Mutex::new(manifest),
            segments_ahead: Mutex::default(),
            reclamation: Mutex::default(),
            stalls: Mutex::default(),
            checkpoints: Mutex::default(),
            wakeup,
            written: AtomicBool::new(false),
            cleared: AtomicBool::new(false),
            shrunk: Mutex::default(),
            stopping: AtomicBool::new(false),
        });
        let _ = interruptions.0.set(std::panic::AssertUnwindSafe(Arc::downgrade(&database)));
        Ok(database)
    }

    pub(crate) fn l0_tables(&self) -> usize {
        self.l0_tables.load(Ordering::Acquire)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn stop_maintenance(&self) {
        self.stopping.store(true, Ordering::Release);
        self.wakeup.wake();
    }
}

impl Drop for Database {
    /// The next opening needs the tables of the version that the manifest names.
    fn drop(&mut self) {
        if self.manifest_is_behind() {
            self.keep_held_versions();
        }
    }
}

/// Puts the rows of a commit into a memtable.
pub(crate) fn insert(memtable: &Memtable, sequence: u64, rows: Vec<Row>) {
    for (key, value) in rows {
        let row = match value {
            Some(value) => InternalValue::from_components(key, value, sequence, ValueType::Value),
            None => InternalValue::new_tombstone(key, sequence),
        };
        memtable.insert(row);
    }
}

/// Makes an empty store beside its place, then renames it.
fn create(fs: &dyn FileSystem, data: &Path, options: &Options) -> Result<(), OpenError> {
    let failed = |error| OpenError::io(data, error);
    let paths = Paths::of(data, STORE_NEW);
    create_empty(fs, &paths, options).map_err(|error| OpenError::tree(data, error))?;
    privacy::correct(data);
    fs.rename(&paths.store, &data.join(STORE)).map_err(failed)?;
    fs.sync_folder(data).map_err(failed)?;
    match data.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => fs.sync_folder(parent).map_err(failed),
        None => Ok(()),
    }
}

/// Makes the folders and files of an empty store.
pub(crate) fn create_empty(
    fs: &dyn FileSystem,
    paths: &Paths,
    options: &Options,
) -> Result<Manifest, lsm_tree::Error> {
    for folder in [&paths.store, &paths.log, &paths.aside] {
        fs.create_folder(folder)?;
    }
    drop(tree::open(&paths.tree, 0, SequenceNumberCounter::new(1), None)?);
    let mut store = [0; 8];
    getrandom::fill(&mut store).map_err(io::Error::other)?;
    let store = u64::from_le_bytes(store);
    mark::Mark::create(fs, &paths.log, store)?;
    let entry = Entry { number: 1, bytes: options.tuning.segment_bytes };
    segment::prepare(fs, &paths.log, entry, false)?;
    let tree = tree::read_current(&paths.tree).map_err(io::Error::other)?;
    let moment = Some(Moment::default());
    let manifest = Manifest { store, edition: 1, tree, flushed: 1, segments: vec![entry], moment };
    manifest.write(fs, &paths.store)?;
    folder::write_format(fs, &paths.store)?;
    fs.sync_folder(&paths.store)?;
    Ok(manifest)
}

/// Removes a store that was being made when its process ended. No write to it was acknowledged.
fn remove_unfinished(data: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(data.join(STORE_NEW)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// lsm-tree would delete files that it does not know, before the opening has succeeded.
fn move_orphans_aside(fs: &dyn FileSystem, paths: &Paths, found: &Found) -> io::Result<()> {
    if !paths.aside.is_dir() {
        fs.create_folder(&paths.aside)?;
        fs.sync_folder(&paths.store)?;
    }
    let tree = found.tree.orphans.iter().map(|name| (&paths.tree, name));
    let log = found.log_orphans.iter().map(|name| (&paths.log, name));
    for (folder, name) in tree.chain(log) {
        let kept = paths.aside.join(format!("{ORPHAN}{}", name.replace('/', "-")));
        fs.rename(&folder.join(name), &kept)?;
    }
    Ok(())
}

/// Segments are used in the order of the manifest, and a new one is appended to it. So only the first
/// segment without a record is kept.
fn forget_unused_segments(fs: &dyn FileSystem, paths: &Paths, found: &mut Found) -> io::Result<()> {
    let Some((_, needless)) = found.unused.split_first() else { return Ok(()) };
    if needless.is_empty() {
        return Ok(());
    }
    found.manifest.segments.retain(|entry| !needless.contains(entry));
    found.manifest.edition += 1;
    found.manifest.write(fs, &paths.store)?;
    needless.iter().try_for_each(|entry| fs.remove(&segment::path(&paths.log, entry.number)))
}

/// Makes a folder of format 2 one of our format: its manifest is the one that the folder would have now.
/// The log is synced already. A crash in between leaves a manifest that an opening reads as ours.
fn upgrade(fs: &dyn FileSystem, paths: &Paths, found: &mut Found) -> io::Result<()> {
    let manifest = &mut found.manifest;
    if manifest.moment.is_none() {
        manifest.tree = found.tree.version;
        manifest.edition += 1;
        let tables = tree::table_ends(&paths.tree, manifest.tree, &[])?;
        manifest.moment = Some(Moment { log: LogPoint::default().later(found.log.last), tables });
        manifest.write(fs, &paths.store)?;
    }
    folder::write_format(fs, &paths.store)
}

/// Removes orphans, and all torn tails but the newest: their names sort by age.
fn clear_aside(database: &Database) {
    let Ok(names) = database.fs.list(&database.paths.aside) else { return };
    let torn: Vec<&String> = names.iter().filter(|name| name.starts_with(writer::TORN)).collect();
    let old = &torn[..torn.len().saturating_sub(TORN_TAILS_MAX)];
    for name in names.iter().filter(|name| name.starts_with(ORPHAN) || old.contains(name)) {
        // The next opening tries again.
        let _ = database.fs.remove(&database.paths.aside.join(name));
    }
}
