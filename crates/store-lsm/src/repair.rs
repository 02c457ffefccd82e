//! Repair: saves what can be read of a damaged store into a new one, and keeps the damaged one.
//!
//! 1. [`survey`] reads everything and changes nothing: every whole block of every table, and every whole
//!    record of the log. It tells what can be saved and what is lost.
//! 2. [`repair`] merges what was found, newest version of each row first, into a new store beside the
//!    damaged one. Then the two change names: `store` is the new one, `store.damaged-1` the old one. If
//!    a crash comes between the two renames, a second repair begins again from the old one.
//!
//! In place of a lost row, a repaired store may have an older version of it, or a row that was deleted:
//! lower levels still hold them. So what is derived from other rows must be made again: `lodestone repair` does that
//! with all indexes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use lsm_tree::coding::Decode;
use lsm_tree::merge::Merger;
use lsm_tree::table::block::{BlockType, Header};
use lsm_tree::table::{Block, Scanner};
use lsm_tree::{AbstractTree, CompressionType, InternalValue, SequenceNumberCounter, ValueType};

use crate::Options;
use crate::database;
use crate::error::OpenError;
use crate::folder::{self, DAMAGED, Folder, Paths, STORE, STORE_NEW, TREE, date_and_time};
use crate::layout;
use crate::manifest::{self, Manifest, Moment};
use crate::privacy;
use crate::tree::{self, TABLES, TableEnd, TableEntry};
use crate::verify::Finding;
use crate::vfs::{Disk, FileSystem};
use crate::wal::mark;
use crate::wal::reader::{WholeRecord, each_whole_record};
use crate::wal::record::{self, Commits};
use crate::wal::segment::{self, SegmentHeader};

const BLOCK_MAGIC: [u8; 4] = lsm_tree::file::MAGIC_BYTES;

/// What can be saved of a store, and what is lost.
#[derive(Debug, Default)]
pub struct Survey {
    /// What is damaged.
    pub findings: Vec<Finding>,
    /// What cannot be saved, file by file.
    pub lost: Vec<Finding>,
    /// How many rows can be saved, by space.
    pub rows: BTreeMap<u64, u64>,
    pub change_records: u64,
    /// When the last commit was written that can be saved from the log.
    pub last_write: Option<String>,
}

/// A repair that was carried out.
#[derive(Debug)]
pub struct Repaired {
    pub survey: Survey,
    /// Where the damaged store is now.
    pub original: PathBuf,
}

/// Tells what [`repair`] would save. Nothing is changed.
pub fn survey(data: &Path) -> Result<Survey, OpenError> {
    let findings = crate::verify(data)?.findings;
    let _folder = Folder::take_to_read(data)?;
    let gathered = Gathered::from(data, findings)?;
    gathered.count().map_err(|error| OpenError::tree(data, error))
}

/// Saves what can be saved into a new store in the same folder, and keeps the damaged one beside it.
pub fn repair(data: &Path, options: &Options) -> Result<Repaired, OpenError> {
    let failed = |error| OpenError::io(data, error);
    let findings = crate::verify(data)?.findings;
    let _folder = Folder::take(data)?;
    let gathered = Gathered::from(data, findings)?;
    let paths = Paths::of(data, STORE_NEW);
    if paths.store.exists() {
        fs::remove_dir_all(&paths.store).map_err(failed)?;
    }
    gathered.write(&paths, options).map_err(|error| OpenError::tree(data, error))?;
    privacy::correct(data);
    let survey = gathered.count().map_err(|error| OpenError::tree(data, error))?;
    let original = match folder::left_by_repair(data).map_err(failed)? {
        Some(original) => data.join(original),
        None => {
            let original = free_name(data).map_err(failed)?;
            Disk.rename(&data.join(STORE), &original).map_err(failed)?;
            Disk.sync_folder(data).map_err(failed)?;
            original
        }
    };
    Disk.rename(&paths.store, &data.join(STORE)).map_err(failed)?;
    Disk.sync_folder(data).map_err(failed)?;
    Ok(Repaired { survey, original })
}

/// A name behind those of all earlier repairs, so that the last one is known by its number.
fn free_name(data: &Path) -> io::Result<PathBuf> {
    let last = folder::last_damaged(data)?.map_or(0, |(number, _)| number);
    let next = last.checked_add(1).ok_or_else(|| {
        io::Error::other(format!("{DAMAGED}{last} has the last possible number: remove or rename it"))
    })?;
    Ok(data.join(format!("{DAMAGED}{next}")))
}

/// What is left of the log.
#[derive(Default)]
struct LogRemains {
    /// Records by their number: when each was written, and its commits.
    records: BTreeMap<u64, (u64, Commits)>,
    /// The first record that the segments say they had.
    first: Option<u64>,
    /// Bytes that are no record follow the last record.
    has_remnant: bool,
    /// Segments that the manifest names and that are not there, or are others.
    missing: Vec<String>,
    /// Up to which record the log was durable, if the mark can be read.
    durable: Option<u64>,
}

/// Everything that can be read.
struct Gathered {
    tables: Vec<SavedTable>,
    /// Versions of rows from the log, newest first for each key.
    log: BTreeMap<(Vec<u8>, std::cmp::Reverse<u64>), Option<lsm_tree::Slice>>,
    survey: Survey,
    scratch: tempfile::TempDir,
}

/// A table, or the whole blocks of a damaged one, one behind the other in a file of their own.
struct SavedTable {
    path: PathBuf,
    blocks: usize,
    compression: CompressionType,
    global_sequence: u64,
}

impl Gathered {
    fn from(data: &Path, findings: Vec<Finding>) -> Result<Gathered, OpenError> {
        let failed = |error| OpenError::io(data, error);
        let left = folder::left_by_repair(data).map_err(failed)?;
        let paths = Paths::of(data, left.as_deref().unwrap_or(STORE));
        let scratch = tempfile::tempdir().map_err(failed)?;
        let survey = Survey { findings, ..Survey::default() };
        let mut gathered = Gathered { tables: Vec::new(), log: BTreeMap::new(), survey, scratch };
        let manifest = fs::read(paths.store.join(manifest::FILE_NAME)).ok();
        let manifest = manifest.and_then(|bytes| Manifest::decode(&bytes).ok());
        let tables = gathered.gather_tables(&paths, manifest.as_ref()).map_err(failed)?;
        gathered.gather_log(&paths, manifest.as_ref(), &tables).map_err(failed)?;
        Ok(gathered)
    }

    fn lose(&mut self, file: String, what: String) {
        self.survey.lost.push(Finding { file, what });
    }

    fn gather_tables(&mut self, paths: &Paths, manifest: Option<&Manifest>) -> io::Result<Vec<TableEntry>> {
        let moment = manifest.and_then(|manifest| manifest.moment.as_ref());
        let ends: BTreeMap<u64, TableEnd> =
            moment.iter().flat_map(|moment| &moment.tables).map(|end| (end.id, *end)).collect();
        let entries = match tables_of_version(paths) {
            Some(entries) => entries,
            None => {
                let what = "cannot be read; all tables are used, also those that newer ones have replaced";
                self.lose(format!("{TREE}/current"), what.to_owned());
                all_tables(paths)?
            }
        };
        let is_foreign = |entry: &TableEntry| is_another(entry, &paths.tree, ends.get(&entry.id));
        let (foreign, entries): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_foreign);
        for entry in foreign {
            let what = "is a table of another moment or store: its rows are not used";
            self.lose(format!("{TREE}/{}", entry.file_name()), what.to_owned());
        }
        for entry in &entries {
            let file = format!("{TREE}/{}", entry.file_name());
            let path = paths.tree.join(entry.file_name());
            match fs::read(&path) {
                Ok(bytes) => self.save_table(&file, entry, path, &bytes)?,
                Err(error) => self.lose(file, error.to_string()),
            }
        }
        Ok(entries)
    }

    /// Takes a table as it is, or a copy of its whole blocks if some cannot be read.
    fn save_table(&mut self, file: &str, entry: &TableEntry, path: PathBuf, bytes: &[u8]) -> io::Result<()> {
        let mut whole = Vec::new();
        let (mut position, mut lost) = (0, 0);
        let mut compression = None;
        while position < bytes.len() {
            match read_block(&bytes[position..]) {
                Some((BlockType::Data, length, packed)) => {
                    compression.get_or_insert(packed);
                    whole.push(position..position + length);
                    position += length;
                }
                // Behind the data come index, filter and the rest.
                Some(_) => break,
                None => {
                    let next = memchr::memmem::find(&bytes[position + 1..], &BLOCK_MAGIC);
                    let end = next.map_or(bytes.len(), |next| position + 1 + next);
                    lost += end - position;
                    position = end;
                }
            }
        }
        let Some(compression) = compression else {
            self.lose(file.to_owned(), "no row of it can be read".to_owned());
            return Ok(());
        };
        let (mut path, blocks, global_sequence) = (path, whole.len(), entry.global_sequence);
        if lost > 0 {
            self.lose(file.to_owned(), format!("{lost} bytes of rows cannot be read; {blocks} blocks can"));
            path = self.scratch.path().join(entry.id.to_string());
            let mut saved = io::BufWriter::new(fs::File::create(&path)?);
            whole.into_iter().try_for_each(|block| saved.write_all(&bytes[block]))?;
            saved.flush()?;
        }
        self.tables.push(SavedTable { path, blocks, compression, global_sequence });
        Ok(())
    }

    /// Takes every whole record of every segment, and notes what is missing between and behind them.
    fn gather_log(
        &mut self,
        paths: &Paths,
        manifest: Option<&Manifest>,
        tables: &[TableEntry],
    ) -> io::Result<()> {
        let remains = LogRemains::read(paths, manifest)?;
        self.survey.last_write = remains.records.last_key_value().map(|(_, (time, _))| moment(*time));
        if !self.survey.findings.is_empty() {
            self.survey.lost.extend(remains.lost());
            self.survey.lost.extend(manifest.and_then(|manifest| remains.behind(paths, manifest, tables)));
            self.survey.lost.extend(manifest.and_then(|manifest| remains.another_tree(paths, manifest)));
        }
        for (sequence, rows) in remains.records.into_values().flat_map(|(_, commits)| commits) {
            for (key, value) in rows {
                self.log.insert((key.to_vec(), std::cmp::Reverse(sequence)), value);
            }
        }
        Ok(())
    }

    /// The newest version of each row that can be read, without deleted ones.
    fn rows(&self) -> Result<impl Iterator<Item = lsm_tree::Result<InternalValue>>, lsm_tree::Error> {
        type Rows<'a> = Box<dyn Iterator<Item = lsm_tree::Result<InternalValue>> + 'a>;
        let log = self.log.iter().map(|((key, sequence), value)| {
            Ok(match value {
                Some(value) => {
                    InternalValue::from_components(&key[..], value.clone(), sequence.0, ValueType::Value)
                }
                None => InternalValue::new_tombstone(&key[..], sequence.0),
            })
        });
        let mut sources: Vec<Rows<'_>> = vec![Box::new(log)];
        for table in &self.tables {
            let SavedTable { path, blocks, compression, global_sequence } = table;
            sources.push(Box::new(Scanner::new(path, *blocks, *compression, *global_sequence)?));
        }
        let mut last = None;
        let newest = Merger::new(sources).filter(move |row| match row {
            Err(_) => true,
            Ok(row) => {
                let is_newest = last.as_ref() != Some(&row.key.user_key);
                last = Some(row.key.user_key.clone());
                is_newest && !row.is_tombstone()
            }
        });
        Ok(newest)
    }

    fn count(&self) -> Result<Survey, lsm_tree::Error> {
        let mut survey = Survey {
            findings: self.survey.findings.clone(),
            lost: self.survey.lost.clone(),
            last_write: self.survey.last_write.clone(),
            ..Survey::default()
        };
        for row in self.rows()? {
            match layout::space_of(&row?.key.user_key) {
                Some(space) => *survey.rows.entry(space).or_default() += 1,
                None => survey.change_records += 1,
            }
        }
        Ok(survey)
    }

    /// Makes a new store of what can be read.
    fn write(&self, paths: &Paths, options: &Options) -> Result<(), lsm_tree::Error> {
        let mut manifest = database::create_empty(&Disk, paths, options)?;
        let tree = tree::open(&paths.tree, 0, SequenceNumberCounter::new(1), None)?;
        if let Some((tables, _)) = tree.flush_to_tables(self.rows()?)?
            && !tables.is_empty()
        {
            tree.register_tables(&tables, None, None, &[], 0)?;
        }
        let in_log = self.log.keys().map(|(_, sequence)| sequence.0).max().unwrap_or(0);
        manifest.flushed = tree.get_highest_persisted_seqno().unwrap_or(0).max(in_log) + 1;
        manifest.tree = tree::read_current(&paths.tree).map_err(io::Error::other)?;
        let tables = tree::table_ends(&paths.tree, manifest.tree, &[])?;
        manifest.moment = Some(Moment { tables, ..Moment::default() });
        manifest.edition += 1;
        manifest.write(&Disk, &paths.store)?;
        Ok(())
    }
}

impl LogRemains {
    /// Reads the segments that the manifest names, or all that there are if it can't be read.
    fn read(paths: &Paths, manifest: Option<&Manifest>) -> io::Result<LogRemains> {
        let mut remains = LogRemains::default();
        let mut store = manifest.map(|manifest| manifest.store);
        for name in Disk.list(&paths.log).unwrap_or_default() {
            let Some(number) = segment::number_of(&name) else { continue };
            let is_named = |manifest: &Manifest| manifest.segments.iter().any(|entry| entry.number == number);
            if manifest.is_none_or(is_named) {
                let bytes = fs::read(paths.log.join(&name))?;
                // Without a manifest the segment itself tells the number of the store.
                let store = *store.get_or_insert_with(|| record::number(&bytes[8.min(bytes.len())..]));
                let header = SegmentHeader::decode(&bytes, store);
                if header.is_some_and(|header| header.entry.number != number) {
                    remains.missing.push(name);
                }
                remains.add(&bytes, store);
            }
        }
        let named = manifest.iter().flat_map(|manifest| &manifest.segments);
        let names = named.map(|entry| segment::file_name(entry.number));
        remains.missing.extend(names.filter(|name| !paths.log.join(name).exists()));
        let mark = fs::read(paths.log.join(mark::FILE_NAME)).ok();
        remains.durable = mark.zip(store).and_then(|(bytes, store)| mark::read(&bytes, store));
        Ok(remains)
    }

    /// Takes the records of a segment. Segments come in their order.
    fn add(&mut self, bytes: &[u8], store: u64) {
        let mut end = 0;
        for WholeRecord { place, header, body } in each_whole_record(bytes, store) {
            let commits = record::decode_commits(body).unwrap_or_default();
            self.records.insert(header.number, (header.time, commits));
            end = end.max(place + record::record_bytes(body.len()));
        }
        if let Some(header) = SegmentHeader::decode(bytes, store) {
            self.first = Some(self.first.map_or(header.first, |first| first.min(header.first)));
        }
        if end > 0 || bytes.iter().any(|byte| *byte != 0) {
            self.has_remnant = bytes[end..].iter().any(|byte| *byte != 0);
        }
    }

    /// Which writes are lost, as far as that is known.
    fn lost(&self) -> Vec<Finding> {
        let mut lost = Vec::new();
        let mut lose = |what| lost.push(Finding { file: folder::LOG.to_owned(), what });
        let mut next = self.first;
        let mut since = None;
        for (&number, &(time, _)) in &self.records {
            if next.is_some_and(|next| next < number) {
                let (first, until) = (next.unwrap_or(number), moment(time));
                let since = since.map_or(String::new(), |since| format!(" from {}", moment(since)));
                lose(format!("records {first} to {} are lost: writes{since} to {until}", number - 1));
            }
            (next, since) = (Some(number + 1), Some(time));
        }
        let last = self.records.last_key_value().map_or(0, |(number, _)| *number);
        let since = since.map_or(String::new(), |since| format!(", from {} on", moment(since)));
        match self.durable {
            Some(durable) if durable > last => {
                lose(format!("records {} to {durable} are lost: the last writes{since}", last + 1));
            }
            Some(_) if self.has_remnant => {
                lose(format!(
                    "what follows record {last} cannot be read: the last write{since}, if it was complete"
                ));
            }
            // The mark may be behind the last writes.
            Some(_) if !self.missing.is_empty() => {
                let missing = self.missing.join(", ");
                lose(format!("{missing} is missing: the last writes{since}, if it had any"));
            }
            Some(_) => {}
            None => lose(format!(
                "all writes after record {last}{since}, if there were any: {} cannot be read, which would say so",
                mark::FILE_NAME
            )),
        }
        lost
    }
}

/// What is lost if files are of different moments.
impl LogRemains {
    /// The log is of an earlier moment than the tables.
    fn behind(&self, paths: &Paths, manifest: &Manifest, tables: &[TableEntry]) -> Option<Finding> {
        let commits = self.records.values().flat_map(|(_, commits)| commits);
        let logged = commits.map(|(sequence, _)| sequence + 1).max().unwrap_or(0).max(manifest.flushed);
        let is_later = |table: &TableEntry| {
            table.open(&paths.tree).is_ok_and(|table| table.get_highest_seqno() >= logged)
        };
        tables.iter().any(is_later).then(|| {
            let since = self.records.last_key_value();
            let since = since.map_or_else(String::new, |(_, (time, _))| format!(" after {}", moment(*time)));
            let what =
                format!("ends before the tables do: writes{since} are lost, except those that are in tables");
            Finding { file: folder::LOG.to_owned(), what }
        })
    }

    /// The tree is not that of the manifest. After a crash it may be one version ahead, with the manifest's version
    /// beside it.
    fn another_tree(&self, paths: &Paths, manifest: &Manifest) -> Option<Finding> {
        let (current, named) = (tree::read_current(&paths.tree).ok()?, manifest.tree);
        let what = if current.number < named.number {
            let until = self.records.first_key_value();
            let until = until.map_or_else(String::new, |(_, (time, _))| format!(" before {}", moment(*time)));
            format!("is older than the manifest: writes{until} that were in newer tables are lost")
        } else {
            let file = paths.tree.join(format!("v{}", named.number));
            let is_there = tree::read_version(&file, named.checksum).is_ok();
            if is_there && current.number <= named.number + 1 {
                return None;
            }
            let numbers = format!("names version {}, the manifest version {}", current.number, named.number);
            format!("{numbers}: rows of another moment or store may be in place of those that were stored")
        };
        Some(Finding { file: format!("{TREE}/current"), what })
    }
}

/// Whether a table is whole, and not the one that must be there. A damaged one is taken for what must be there: most of
/// its rows can be saved.
fn is_another(entry: &TableEntry, tree: &Path, named: Option<&TableEnd>) -> bool {
    let Ok(table) = entry.recover(tree) else { return false };
    let is_named = |named: &TableEnd| entry.read_end(tree).is_ok_and(|end| end == *named);
    table.id() != entry.id || named.is_some_and(|named| !is_named(named))
}

/// The kind of a whole block at the start of `bytes`, its length, and how it is packed.
fn read_block(bytes: &[u8]) -> Option<(BlockType, usize, CompressionType)> {
    let header = Header::decode_from(&mut &bytes[..]).ok()?;
    let is_plain = header.data_length == header.uncompressed_length;
    let compression = if is_plain { CompressionType::None } else { CompressionType::Lz4 };
    let length = Header::serialized_len() + header.data_length as usize;
    let block = bytes.get(..length)?;
    // Its checksum; what is packed is unpacked too.
    Block::from_reader(&mut &block[..], compression).ok()?;
    Some((header.block_type, length, compression))
}

/// The tables of the current version, or of the one that the manifest names.
fn tables_of_version(paths: &Paths) -> Option<Vec<TableEntry>> {
    let manifest = fs::read(paths.store.join(manifest::FILE_NAME)).ok();
    let named = manifest.and_then(|bytes| Manifest::decode(&bytes).ok()).map(|manifest| manifest.tree);
    let current = tree::read_current(&paths.tree).ok();
    let versions = BTreeSet::from_iter(current.into_iter().chain(named).map(|v| (v.number, v.checksum)));
    versions.into_iter().rev().find_map(|(number, checksum)| {
        tree::read_version(&paths.tree.join(format!("v{number}")), checksum).ok()
    })
}

fn all_tables(paths: &Paths) -> io::Result<Vec<TableEntry>> {
    let names = Disk.list(&paths.tree.join(TABLES)).unwrap_or_default();
    let ids = names.iter().filter_map(|name| name.parse().ok());
    Ok(ids.map(|id| TableEntry { id, checksum: 0, global_sequence: 0 }).collect())
}

fn moment(milliseconds: u64) -> String {
    date_and_time(UNIX_EPOCH + Duration::from_millis(milliseconds))
}
