//! The tree: how lsm-tree is set up, and whether its files are those that there must be.
//!
//! ```text
//! tree/current       8 bytes: the number of the version; 16: the checksum of its file; 1: 0
//! tree/v42           the version: which tables there are, on which level, with their checksums
//! tree/tables/9      a table; its last 38 bytes point to the list of its parts, each part has a
//!                    checksum, and the version has one of the whole file
//! ```
//!
//! lsm-tree itself checks a part when it reads it, trusts `current` and the version file, and removes
//! what it does not know. So everything that can be checked without reading all data is checked here
//! before lsm-tree sees the folder.
//!
//! A table does not say whose it is. So the manifest has the length of each table and a checksum of its
//! end, which holds the table's number, its count of rows, its first and last key, and when it was made
//! (in nanoseconds): a table of another store, or of another time, has another end.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use lsm_tree::compaction::{Factory, Leveled};
use lsm_tree::config::{
    BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry, PartitioningPolicy,
    PinningPolicy, RestartIntervalPolicy,
};
use lsm_tree::{
    AnyTree, Cache, Checksum, CompressionType, Config, DescriptorTable, SequenceNumberCounter, Table,
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::descriptors::open_tables_max;
use crate::error::OpenError;
use crate::folder::{Paths, TREE};
use crate::manifest::{Manifest, Moment, TreeVersion};
use crate::wal::record::number;

pub(crate) const TABLES: &str = "tables";
const CURRENT: &str = "current";
const CURRENT_BYTES: usize = 25;
/// An opening takes files whose names begin with `.tmp` for unfinished ones.
const CURRENT_NEW: &str = ".tmp-current";
/// How many tables of L0 are merged at once into L1. A query searches each of them.
const L0_TABLES: u8 = 2;
/// How large the tables of L1 and below become. L1 holds as many as are merged into it at once,
/// 128 MiB, and each level below it ten times as much.
pub(crate) const TABLE_BYTES: u64 = 64 << 20;

/// Opens the tree. Most reads find their row, most of them on the last level, where a filter would not
/// help. So only the levels above the last one have filters, small enough to stay in memory. The block
/// index of a large table is read by parts: as a whole it has a megabyte for each table, and would evict
/// everything else from the cache.
pub(crate) fn open(
    path: &Path,
    cache_bytes: u64,
    sequence: SequenceNumberCounter,
    filter: Option<Arc<dyn Factory>>,
) -> Result<lsm_tree::Tree, lsm_tree::Error> {
    use CompressionType::{Lz4, None as Plain};

    // lsm-tree raises the second counter, the visible sequence number, with each version. Commits must
    // not be visible before they are durable, so lsm-tree gets a counter that no reader uses.
    let config = Config::new(path, sequence, SequenceNumberCounter::default())
        .use_cache(Arc::new(Cache::with_capacity_bytes(cache_bytes)))
        .use_descriptor_table(Some(Arc::new(DescriptorTable::new(open_tables_max()))))
        .expect_point_read_hits(true)
        .data_block_restart_interval_policy(RestartIntervalPolicy::new([10, 16]))
        .data_block_compression_policy(CompressionPolicy::new([Plain, Plain, Lz4]))
        .filter_policy(FilterPolicy::new([
            FilterPolicyEntry::Bloom(BloomConstructionPolicy::FalsePositiveRate(0.0001)),
            FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0)),
        ]))
        .filter_block_pinning_policy(PinningPolicy::all(true))
        .filter_block_partitioning_policy(PartitioningPolicy::all(false))
        .index_block_partitioning_policy(PartitioningPolicy::new([false, true]))
        .with_compaction_filter_factory(filter);
    match config.open()? {
        AnyTree::Standard(tree) => Ok(tree),
        AnyTree::Blob(_) => Err(lsm_tree::Error::Unrecoverable),
    }
}

pub(crate) fn strategy(table_bytes: u64) -> Arc<Leveled> {
    Arc::new(Leveled::default().with_l0_threshold(L0_TABLES).with_table_target_size(table_bytes))
}

/// The files of a tree, found to be those that there must be.
#[derive(Debug)]
pub(crate) struct TreeFiles {
    /// What an opening uses: the version that the manifest names, also if `current` names a later one.
    pub(crate) version: TreeVersion,
    /// What `current` names.
    pub(crate) current: TreeVersion,
    pub(crate) tables: Vec<TableEntry>,
    /// Files that belong to no version: an unfinished flush or compaction, or what one has replaced.
    pub(crate) orphans: Vec<String>,
}

/// A table, as the version file names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableEntry {
    pub(crate) id: u64,
    pub(crate) checksum: u128,
    pub(crate) global_sequence: u64,
}

/// What the manifest says about a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableEnd {
    pub(crate) id: u64,
    /// The length of its file.
    pub(crate) bytes: u64,
    /// Of the file from the meta block on.
    pub(crate) checksum: u64,
}

impl TableEnd {
    pub(crate) fn file_name(&self) -> String {
        format!("{TABLES}/{}", self.id)
    }
}

impl TableEntry {
    pub(crate) fn file_name(&self) -> String {
        format!("{TABLES}/{}", self.id)
    }

    /// The length of the table and the checksum of its end, as they are now.
    pub(crate) fn read_end(&self, tree: &Path) -> io::Result<TableEnd> {
        let path = tree.join(self.file_name());
        check_parts(&path)?;
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "has no meta block");
        let archive = sfa::Reader::new(&path).map_err(|_| damaged())?;
        let meta = archive.toc().section(b"meta").ok_or_else(damaged)?.pos();
        let file = fs::File::open(&path)?;
        let bytes = file.metadata()?.len();
        let mut end = vec![0; bytes.checked_sub(meta).ok_or_else(damaged)? as usize];
        file.read_exact_at(&mut end, meta)?;
        Ok(TableEnd { id: self.id, bytes, checksum: xxh3_64(&end) })
    }

    /// The table, with its parts checked as far as that needs none of its rows.
    pub(crate) fn open(&self, tree: &Path) -> Result<Table, String> {
        let table = self.recover(tree)?;
        match table.id() == self.id {
            true => Ok(table),
            false => Err(format!("is table {} under another name", table.id())),
        }
    }

    /// The same, whatever the number that the table has.
    pub(crate) fn recover(&self, tree: &Path) -> Result<Table, String> {
        let path = tree.join(self.file_name());
        check_parts(&path).map_err(|error| error.to_string())?;
        let cache = Arc::new(Cache::with_capacity_bytes(0));
        let checksum = Checksum::from_raw(self.checksum);
        Table::recover(path, checksum, self.global_sequence, 0, cache, None, false, false)
            .map_err(|error| error.to_string())
    }
}

/// Checks all files of the tree, without reading the rows of tables, and decides which version an
/// opening uses.
pub(crate) fn check_files(paths: &Paths, manifest: &Manifest) -> Result<TreeFiles, OpenError> {
    let file = |name: &str| format!("{TREE}/{name}");
    let damaged = |name: &str, what: &str| OpenError::damaged(&paths.data, file(name), what);
    let named = manifest.tree;
    let current = read_current(&paths.tree).map_err(|what| damaged(CURRENT, &what))?;
    let is_ahead = match &manifest.moment {
        // By one version at most, which was durable before `current` named it.
        Some(_) => {
            let file = paths.tree.join(format!("v{}", current.number));
            named.number.checked_add(1) == Some(current.number)
                && read_version(&file, current.checksum).is_ok()
        }
        None => current.number > named.number,
    };
    if current != named && !is_ahead {
        let what = format!("names version {}, the manifest version {}", current.number, named.number);
        return Err(OpenError::mixed(&paths.data, file(CURRENT), &what));
    }
    let mut version = named;
    let mut tables = check_version(&paths.tree, named, manifest.moment.as_ref());
    if tables.is_err() && manifest.moment.is_none() && current != named {
        // The program of format 2 may have removed the version that its manifest names.
        version = current;
        tables = check_version(&paths.tree, current, None);
    }
    let tables = tables.map_err(|(name, what)| match current == named {
        true => damaged(&name, &what),
        false => {
            let (current, named) = (current.number, named.number);
            let what = format!("{what}; {CURRENT} names version {current}, the manifest version {named}");
            OpenError::mixed(&paths.data, file(&name), &what)
        }
    })?;
    let orphans = find_orphans(&paths.tree, &format!("v{}", version.number), &tables)
        .map_err(|error| OpenError::io(&paths.data, error))?
        .map_err(|foreign| damaged(&foreign, "does not belong here"))?;
    Ok(TreeFiles { version, current, tables, orphans })
}

/// Checks a version and its tables. What is wrong with which file is the error.
fn check_version(
    tree: &Path,
    version: TreeVersion,
    moment: Option<&Moment>,
) -> Result<Vec<TableEntry>, (String, String)> {
    let version_file = format!("v{}", version.number);
    let tables =
        read_version(&tree.join(&version_file), version.checksum).map_err(|what| (version_file, what))?;
    let named = moment.map(|moment| by_number(&moment.tables));
    for table in &tables {
        let wrong = |what| (table.file_name(), what);
        table.open(tree).map_err(wrong)?;
        let Some(named) = &named else { continue };
        let end = table.read_end(tree).map_err(|error| wrong(error.to_string()))?;
        if named.get(&table.id) != Some(&&end) {
            return Err(wrong("is not the table that the manifest names, but another one".to_owned()));
        }
    }
    Ok(tables)
}

fn by_number(ends: &[TableEnd]) -> BTreeMap<u64, &TableEnd> {
    ends.iter().map(|end| (end.id, end)).collect()
}

/// The tables of a version, as the manifest is to name them. `known` are those that it names already.
pub(crate) fn table_ends(tree: &Path, version: TreeVersion, known: &[TableEnd]) -> io::Result<Vec<TableEnd>> {
    let tables = read_version(&tree.join(format!("v{}", version.number)), version.checksum);
    let known = by_number(known);
    let end = |table: &TableEntry| match known.get(&table.id) {
        Some(&&end) => Ok(end),
        None => table.read_end(tree),
    };
    tables.map_err(io::Error::other)?.iter().map(end).collect()
}

/// The version that `current` names. What is wrong is the error.
pub(crate) fn read_current(tree: &Path) -> Result<TreeVersion, String> {
    let bytes = read_file(&tree.join(CURRENT))?;
    if bytes.len() != CURRENT_BYTES || bytes[24] != 0 {
        return Err("names no version of the tree".to_owned());
    }
    let checksum = u128::from_le_bytes(*bytes[8..].first_chunk().expect("25 bytes"));
    Ok(TreeVersion { number: number(&bytes), checksum })
}

/// Makes `current` name the version with this number, whose file is whole and durable.
pub(crate) fn point_current_to(tree: &Path, number: u64) -> io::Result<()> {
    if read_current(tree).is_ok_and(|current| current.number == number) {
        return Ok(());
    }
    let checksum = xxh3_128(&fs::read(tree.join(format!("v{number}")))?);
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.push(0);
    assert_eq!(bytes.len(), CURRENT_BYTES, "`read_current` expects this length");
    let new = tree.join(CURRENT_NEW);
    let file = fs::File::create(&new)?;
    file.write_all_at(&bytes, 0)?;
    file.sync_all()?;
    fs::rename(&new, tree.join(CURRENT))?;
    fs::File::open(tree)?.sync_all()
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "is missing".to_owned(),
        _ => error.to_string(),
    })
}

/// The tables of a version, after its file was found to have this checksum.
pub(crate) fn read_version(path: &Path, checksum: u128) -> Result<Vec<TableEntry>, String> {
    let bytes = read_file(path)?;
    if xxh3_128(&bytes) != checksum {
        return Err("its checksum is wrong".to_owned());
    }
    let unreadable = |error: &dyn std::fmt::Display| format!("cannot be read: {error}");
    let archive = sfa::Reader::new(path).map_err(|error| unreadable(&format!("{error:?}")))?;
    let section = archive.toc().section(b"tables").ok_or("names no tables")?;
    let mut reader = section.buf_reader(path).map_err(|error| unreadable(&error))?;
    read_tables(&mut reader).map_err(|error| unreadable(&error))
}

/// Levels of runs of tables: a count of each, then the tables of the run.
fn read_tables(reader: &mut impl Read) -> io::Result<Vec<TableEntry>> {
    let mut tables = Vec::new();
    let [levels] = read_bytes(reader)?;
    for _ in 0..levels {
        let [runs] = read_bytes(reader)?;
        for _ in 0..runs {
            for _ in 0..u32::from_le_bytes(read_bytes(reader)?) {
                let id = u64::from_le_bytes(read_bytes(reader)?);
                let [_kind] = read_bytes(reader)?;
                let checksum = u128::from_le_bytes(read_bytes(reader)?);
                let global_sequence = u64::from_le_bytes(read_bytes(reader)?);
                tables.push(TableEntry { id, checksum, global_sequence });
            }
        }
    }
    Ok(tables)
}

fn read_bytes<const N: usize>(reader: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Checks the end of a table, which lists its parts: lsm-tree would trust the count of parts before
/// it has checked it.
fn check_parts(path: &Path) -> io::Result<()> {
    const TRAILER_BYTES: u64 = 38;
    const MAGIC: &[u8] = b"SFA!\x01\x00";

    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its end is damaged or cut off");
    let file = match fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(io::Error::other("is missing")),
        file => file?,
    };
    let length = file.metadata()?.len();
    let trailer_start = length.checked_sub(TRAILER_BYTES).ok_or_else(damaged)?;
    let mut trailer = [0; TRAILER_BYTES as usize];
    file.read_exact_at(&mut trailer, trailer_start)?;
    let checksum = u128::from_le_bytes(*trailer[6..].first_chunk().ok_or_else(damaged)?);
    let (start, bytes) = (number(&trailer[22..30]), number(&trailer[30..38]));
    if !trailer.starts_with(MAGIC) || start.checked_add(bytes) != Some(trailer_start) {
        return Err(damaged());
    }
    let mut contents = vec![0; bytes as usize];
    file.read_exact_at(&mut contents, start)?;
    if xxh3_128(&contents) == checksum { Ok(()) } else { Err(damaged()) }
}

/// The files of the folder that the version does not name, or the name of a foreign file.
fn find_orphans(
    tree: &Path,
    version_file: &str,
    tables: &[TableEntry],
) -> io::Result<Result<Vec<String>, String>> {
    let mut orphans = Vec::new();
    for entry in fs::read_dir(tree)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_version = name.strip_prefix('v').is_some_and(|number| number.parse::<u64>().is_ok());
        if name == TABLES || name == CURRENT || name == version_file {
        } else if is_version || name.starts_with(".tmp") {
            orphans.push(name);
        } else {
            return Ok(Err(name));
        }
    }
    for entry in fs::read_dir(tree.join(TABLES))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        match name.parse::<u64>() {
            Ok(id) if id.to_string() != name => return Ok(Err(format!("{TABLES}/{name}"))),
            Ok(id) if tables.iter().any(|table| table.id == id) => {}
            Ok(_) => orphans.push(format!("{TABLES}/{name}")),
            Err(_) => return Ok(Err(format!("{TABLES}/{name}"))),
        }
    }
    Ok(Ok(orphans))
}
