//! Verify: reads every byte that matters and changes none.
//!
//! - The format, the manifest and the tree's version file have checksums of the whole file.
//! - Each table is read to its end twice over: against the checksum of the whole file, and row by row,
//!   each block against its own, in the order that there must be and as many as there must be.
//! - The log is read as an opening reads it (`wal::reader`).
//!
//! Unlike an opening it goes on at a finding, so that one run names everything.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use xxhash_rust::xxh3::Xxh3Default;

use crate::database::{self, Found};
use crate::error::OpenError;
use crate::folder::{self, Folder, Paths, STORE, TREE};
use crate::tree::{self, TableEntry};
use crate::vfs::Disk;
use crate::wal::record::Commits;

/// How much of a table is read at once.
const READ_BYTES: usize = 1 << 20;

/// What was looked at, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Verification {
    pub findings: Vec<Finding>,
    pub tables: usize,
    /// Versions of rows in tables, deletes among them.
    pub table_rows: u64,
    pub log_segments: usize,
    pub log_records: u64,
    /// The bytes of a write that was never completed. That is no damage.
    pub torn_bytes: usize,
}

/// A file that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Below the folder `store`.
    pub file: String,
    pub what: String,
}

/// Checks all files of a data folder. Fails only if the folder is in use or cannot be read at all.
pub fn verify(data: &Path) -> Result<Verification, OpenError> {
    let _folder = Folder::take_to_read(data)?;
    let left = folder::left_by_repair(data).map_err(|error| OpenError::io(data, error))?;
    let paths = Paths::of(data, left.as_deref().unwrap_or(STORE));
    if !paths.store.is_dir() {
        return Err(OpenError::Missing { folder: data.to_owned() });
    }
    let mut verification = Verification::default();
    if let Some(original) = left {
        verification.add(STORE.to_owned(), folder::repair_was_cut_short(&original));
    }
    match database::examine(&Disk, &paths, &mut Commits::new()) {
        Ok(found) => verification.note(&paths, &found),
        Err(OpenError::Damaged { file, what, .. }) => {
            verification.findings.push(Finding { file, what });
            verification.tables_of_current_version(&paths);
        }
        Err(other) => return Err(other),
    }
    Ok(verification)
}

impl Verification {
    fn note(&mut self, paths: &Paths, found: &Found) {
        self.log_segments = found.manifest.segments.len();
        self.log_records = found.log.records;
        self.torn_bytes = found.log.torn.iter().map(|torn| torn.bytes.len()).sum();
        self.tables(&paths.tree, &found.tree.tables);
    }

    /// The tables, as far as the version can be read, when something else is damaged.
    fn tables_of_current_version(&mut self, paths: &Paths) {
        let Ok(version) = tree::read_current(&paths.tree) else { return };
        let file = paths.tree.join(format!("v{}", version.number));
        if let Ok(tables) = tree::read_version(&file, version.checksum) {
            self.tables(&paths.tree, &tables);
        }
    }

    fn tables(&mut self, tree: &Path, tables: &[TableEntry]) {
        for table in tables {
            self.tables += 1;
            match check_table(tree, table) {
                Ok(rows) => self.table_rows += rows,
                Err(what) => self.add(format!("{TREE}/{}", table.file_name()), what),
            }
        }
    }

    fn add(&mut self, file: String, what: String) {
        if !self.findings.iter().any(|finding| finding.file == file) {
            self.findings.push(Finding { file, what });
        }
    }
}

/// Reads a whole table; the answer is how many versions of rows it has.
fn check_table(tree: &Path, entry: &TableEntry) -> Result<u64, String> {
    let table = entry.open(tree)?;
    let checksum = file_checksum(&tree.join(entry.file_name())).map_err(|error| error.to_string())?;
    if checksum != entry.checksum {
        return Err("its checksum is wrong".to_owned());
    }
    let mut count = 0;
    let mut last = None;
    for row in table.scan().map_err(|error| error.to_string())? {
        let key = row.map_err(|error| format!("after {count} rows: {error}"))?.key;
        if last.as_ref().is_some_and(|last| *last >= key) {
            return Err(format!("row {count} is out of order"));
        }
        last = Some(key);
        count += 1;
    }
    match table.metadata.item_count {
        expected if expected == count => Ok(count),
        expected => Err(format!("has {count} rows instead of {expected}")),
    }
}

fn file_checksum(path: &Path) -> std::io::Result<u128> {
    let mut file = File::open(path)?;
    let mut hasher = Xxh3Default::new();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.digest128()),
            count => hasher.update(&buffer[..count]),
        }
    }
}
