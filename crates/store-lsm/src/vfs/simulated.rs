//! A file system that crashes and fails on purpose.
//!
//! It works on a real folder, which shows what a running process sees, and keeps in memory what a
//! disk would have. After a crash ([`Simulated::crash`]):
//! - what was written to a file since its last sync is there, gone or torn, sector by sector;
//! - names that were made, moved or removed since their folder's last sync are there or not, in their
//!   order;
//! - a sync that failed leaves any part of what it should have made durable.
//!
//! The tree does its own input and output in its folder, which is looked at as a whole: what its current
//! version names was synced before (lsm-tree syncs tables, then the version, then `current`); any other
//! file in it may be missing or cut short. Not simulated is a crash inside lsm-tree's own sequence of syncs.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Disk, File, FileSystem};
use crate::manifest::{self, Manifest, TreeVersion};
use crate::tree;

const SECTOR_BYTES: u64 = 512;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The machine is off: this call and all later ones fail.
    Crash,
    /// This call fails: a broken disk.
    Broken,
    /// This call fails: a full disk.
    Full,
}

#[derive(Clone)]
pub struct Simulated {
    root: PathBuf,
    state: Arc<Mutex<State>>,
}

struct State {
    random: fastrand::Rng,
    inodes: Vec<Inode>,
    /// The names that a running process sees.
    live: BTreeMap<PathBuf, usize>,
    /// The names that are on the disk.
    durable: BTreeMap<PathBuf, usize>,
    /// What was done to names since, in order.
    pending: Vec<NameChange>,
    calls: u64,
    faults: BTreeMap<u64, Fault>,
    crashed: bool,
}

#[derive(Default)]
struct Inode {
    durable: Vec<u8>,
    unsynced: Vec<(u64, Vec<u8>)>,
    length: u64,
}

/// What one call did to the names of a folder. After a crash all of it is there, or nothing.
#[derive(Clone)]
struct NameChange {
    folder: PathBuf,
    /// Each with its file, or nothing where the name was removed.
    names: Vec<(PathBuf, Option<usize>)>,
}

impl Simulated {
    /// What is in the folder already is durable.
    pub fn new(root: &Path, seed: u64) -> io::Result<Simulated> {
        let mut state = State {
            random: fastrand::Rng::with_seed(seed),
            inodes: Vec::new(),
            live: BTreeMap::new(),
            durable: BTreeMap::new(),
            pending: Vec::new(),
            calls: 0,
            faults: BTreeMap::new(),
            crashed: false,
        };
        state.import(root)?;
        state.durable = state.live.clone();
        Ok(Simulated { root: root.to_owned(), state: Arc::new(Mutex::new(state)) })
    }

    /// How many calls were made that change something.
    pub fn calls(&self) -> u64 {
        self.state.lock().calls
    }

    /// Has the call with this number fail.
    pub fn fail_at(&self, call: u64, fault: Fault) {
        self.state.lock().faults.insert(call, fault);
    }

    pub fn has_crashed(&self) -> bool {
        self.state.lock().crashed
    }

    /// Makes `target` the folder as a crash at this moment leaves it.
    pub fn crash(&self, target: &Path) -> io::Result<()> {
        let state = &mut *self.state.lock();
        state.crashed = true;
        for (path, inode) in state.names_after_crash() {
            let Ok(below) = path.strip_prefix(&self.root) else { continue };
            let path = target.join(below);
            fs::create_dir_all(path.parent().unwrap_or(target))?;
            fs::write(path, state.contents_after_crash(inode))?;
        }
        let below = Path::new("store/tree");
        let manifest = fs::read(target.join("store").join(manifest::FILE_NAME)).ok();
        let named = manifest.and_then(|bytes| Manifest::decode(&bytes).ok()).map(|manifest| manifest.tree);
        crash_tree(&mut state.random, &self.root.join(below), &target.join(below), named)?;
        for folder in ["store/aside", "store/log"] {
            fs::create_dir_all(target.join(folder))?;
        }
        Ok(())
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state.lock();
        state.check()?;
        change(&mut state)
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        for (path, inode) in &self.names {
            match inode {
                Some(inode) => names.insert(path.clone(), *inode),
                None => names.remove(path),
            };
        }
    }
}

impl State {
    /// Counts a call, and fails if it is to fail.
    fn check(&mut self) -> io::Result<()> {
        self.calls += 1;
        let fault = self.faults.remove(&self.calls);
        self.crashed |= fault == Some(Fault::Crash);
        match fault {
            _ if self.crashed => Err(io::Error::other("the machine is off")),
            Some(Fault::Full) => Err(io::ErrorKind::StorageFull.into()),
            Some(_) => Err(io::Error::other("a broken disk")),
            None => Ok(()),
        }
    }

    fn import(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.ends_with("store/tree") {
            } else if path.is_dir() {
                self.import(&path)?;
            } else {
                let durable = fs::read(&path)?;
                let length = durable.len() as u64;
                self.live.insert(path, self.inodes.len());
                self.inodes.push(Inode { durable, unsynced: Vec::new(), length });
            }
        }
        Ok(())
    }

    fn rename_name(&mut self, path: &Path, inode: Option<usize>) {
        let folder = path.parent().unwrap_or(path).to_owned();
        let change = NameChange { folder, names: vec![(path.to_owned(), inode)] };
        change.apply(&mut self.live);
        self.pending.push(change);
    }

    /// Renames a folder. Its files belong to the folder, so they move with it in one step, which is on the disk when the
    /// folder above is synced. What was done inside and not synced yet still waits for a sync of the folder itself.
    fn rename_folder(&mut self, from: &Path, to: &Path) {
        let moved = |path: &Path| path.strip_prefix(from).map_or(path.to_owned(), |below| to.join(below));
        let renamed = |names: &BTreeMap<PathBuf, usize>| NameChange {
            folder: to.parent().unwrap_or(to).to_owned(),
            names: names
                .iter()
                .filter(|(path, _)| path.starts_with(from))
                .flat_map(|(path, inode)| [(path.clone(), None), (moved(path), Some(*inode))])
                .collect(),
        };
        renamed(&self.live).apply(&mut self.live);
        let on_disk = renamed(&self.durable);
        let (inside, mut pending): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.pending).into_iter().partition(|change| change.folder.starts_with(from));
        pending.push(on_disk);
        pending.extend(inside.into_iter().map(|NameChange { folder, names }| NameChange {
            folder: moved(&folder),
            names: names.into_iter().map(|(path, inode)| (moved(&path), inode)).collect(),
        }));
        self.pending = pending;
    }

    /// The names that a crash leaves: those on the disk, and some of the later changes, in their order.
    fn names_after_crash(&mut self) -> BTreeMap<PathBuf, usize> {
        let mut names = self.durable.clone();
        let kept = self.random.usize(0..=self.pending.len());
        self.pending[..kept].iter().for_each(|change| change.apply(&mut names));
        names
    }

    /// What a crash leaves of a file: everything that was synced, and any part of the rest.
    fn contents_after_crash(&mut self, inode: usize) -> Vec<u8> {
        let Inode { durable, unsynced, length } = &self.inodes[inode];
        let mut bytes = durable.clone();
        if *length > bytes.len() as u64 && self.random.bool() {
            bytes.resize(*length as usize, 0);
        }
        for (offset, written) in unsynced {
            apply_torn(&mut self.random, &mut bytes, *offset, written);
        }
        bytes
    }
}

/// Applies a write sector by sector: each is there, lost, or torn.
fn apply_torn(random: &mut fastrand::Rng, bytes: &mut Vec<u8>, offset: u64, written: &[u8]) {
    // Half of the crashes leave a write whole or not at all.
    let whole = random.bool().then(|| random.bool());
    let mut position = offset;
    let end = offset + written.len() as u64;
    while position < end {
        let next = ((position / SECTOR_BYTES + 1) * SECTOR_BYTES).min(end);
        let sector = &written[(position - offset) as usize..(next - offset) as usize];
        let (from, to) = match whole.map_or_else(|| random.u8(0..4), |kept| if kept { 0 } else { 1 }) {
            0 => (0, sector.len()),
            1 => (0, 0),
            2 => (0, random.usize(0..=sector.len())),
            _ => (random.usize(0..=sector.len()), sector.len()),
        };
        if to > from {
            let start = position as usize + from;
            let needed = position as usize + to;
            if bytes.len() < needed {
                bytes.resize(needed, 0);
            }
            bytes[start..needed].copy_from_slice(&sector[from..to]);
        }
        position = next;
    }
}

/// The tree's folder after a crash: its current version and the one that the manifest names, which
/// were synced, and any part of anything else.
fn crash_tree(
    random: &mut fastrand::Rng,
    from: &Path,
    to: &Path,
    named: Option<TreeVersion>,
) -> io::Result<()> {
    let version = tree::read_current(from).map_err(io::Error::other)?;
    let version_file = format!("v{}", version.number);
    let tables = tree::read_version(&from.join(&version_file), version.checksum).map_err(io::Error::other)?;
    let mut needed: Vec<String> = tables.iter().map(tree::TableEntry::file_name).collect();
    needed.extend([version_file, "current".to_owned()]);
    if let Some(named) = named {
        let version_file = format!("v{}", named.number);
        let tables = tree::read_version(&from.join(&version_file), named.checksum).unwrap_or_default();
        needed.extend(tables.iter().map(tree::TableEntry::file_name));
        needed.push(version_file);
    }
    fs::create_dir_all(to.join(tree::TABLES))?;
    for folder in ["", tree::TABLES] {
        for entry in fs::read_dir(from.join(folder))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                continue;
            }
            let name = Path::new(folder).join(entry.file_name());
            let mut bytes = fs::read(from.join(&name))?;
            if !needed.iter().any(|needed| Path::new(needed) == name) {
                match random.u8(0..3) {
                    0 => continue,
                    1 => bytes.truncate(random.usize(0..=bytes.len())),
                    _ => {}
                }
            }
            fs::write(to.join(name), bytes)?;
        }
    }
    if random.bool() {
        // A flush or compaction that had just begun.
        let next = tables.iter().map(|table| table.id).max().unwrap_or(0) + 1;
        let begun = to.join(tree::TABLES).join(next.to_string());
        if !begun.exists() {
            let length = random.usize(0..3000);
            fs::write(begun, (0..length).map(|_| random.u8(..)).collect::<Vec<u8>>())?;
        }
    }
    Ok(())
}

struct SimulatedFile {
    real: Arc<dyn File>,
    inode: usize,
    simulated: Simulated,
}

impl File for SimulatedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.real.read_at(buffer, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.simulated.state.lock();
        let checked = state.check();
        // A write that fails may have been carried out in part.
        let kept = if checked.is_ok() { bytes.len() } else { state.random.usize(0..=bytes.len()) };
        let inode = &mut state.inodes[self.inode];
        inode.unsynced.push((offset, bytes[..kept].to_vec()));
        inode.length = inode.length.max(offset + kept as u64);
        if checked.is_ok() || !state.crashed {
            self.real.write_all_at(&bytes[..kept], offset)?;
        }
        checked
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        self.simulated.change(|state| {
            self.real.allocate(length)?;
            let inode = &mut state.inodes[self.inode];
            inode.length = inode.length.max(length);
            Ok(())
        })
    }

    fn length(&self) -> io::Result<u64> {
        self.real.length()
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.simulated.state.lock();
        if let Err(error) = state.check() {
            // As Linux does after a failed sync: dirty pages are dropped and never written again.
            let durable = state.contents_after_crash(self.inode);
            let inode = &mut state.inodes[self.inode];
            (inode.durable, inode.unsynced) = (durable, Vec::new());
            return Err(error);
        }
        let inode = &mut state.inodes[self.inode];
        let length = inode.length as usize;
        if inode.durable.len() < length {
            inode.durable.resize(length, 0);
        }
        for (offset, written) in std::mem::take(&mut inode.unsynced) {
            inode.durable[offset as usize..offset as usize + written.len()].copy_from_slice(&written);
        }
        Ok(())
    }
}

impl Simulated {
    fn open_file(
        &self,
        path: &Path,
        open: impl FnOnce() -> io::Result<Arc<dyn File>>,
    ) -> io::Result<Arc<dyn File>> {
        let real = open()?;
        let state = self.state.lock();
        if state.crashed {
            return Err(io::Error::other("the machine is off"));
        }
        let Some(&inode) = state.live.get(path) else {
            // A file of the tree, which is only read here.
            return Ok(real);
        };
        Ok(Arc::new(SimulatedFile { real, inode, simulated: self.clone() }))
    }
}

impl FileSystem for Simulated {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        self.change(|state| {
            let real = Disk.create(path)?;
            let inode = state.inodes.len();
            state.inodes.push(Inode::default());
            state.rename_name(path, Some(inode));
            Ok(Arc::new(SimulatedFile { real, inode, simulated: self.clone() }) as _)
        })
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        self.open_file(path, || Disk.open(path))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        self.open_file(path, || Disk.open_to_read(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|state| {
            Disk.rename(from, to)?;
            if to.is_dir() {
                state.rename_folder(from, to);
                return Ok(());
            }
            let inode = state.live.get(from).copied();
            state.rename_name(to, inode);
            state.rename_name(from, None);
            Ok(())
        })
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|state| {
            Disk.link(from, to)?;
            if let Some(inode) = state.live.get(from).copied() {
                state.rename_name(to, Some(inode));
            }
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change(|state| {
            Disk.remove(path)?;
            state.rename_name(path, None);
            Ok(())
        })
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.change(|_| Disk.create_folder(path))
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.change(|state| {
            for change in std::mem::take(&mut state.pending) {
                if change.folder == path {
                    change.apply(&mut state.durable);
                } else {
                    state.pending.push(change);
                }
            }
            Ok(())
        })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        Disk.list(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names below the root after a crash.
    fn left(disk: &Simulated) -> Vec<PathBuf> {
        let names = disk.state.lock().names_after_crash();
        names.into_keys().map(|path| path.strip_prefix(&disk.root).unwrap().to_owned()).collect()
    }

    #[test]
    fn a_folder_is_renamed_with_all_its_files_or_not_at_all() {
        for seed in 0..50 {
            let root = tempfile::tempdir().unwrap();
            let disk = Simulated::new(root.path(), seed).unwrap();
            let (made, place) = (root.path().join("made"), root.path().join("place"));
            disk.create_folder(&made).unwrap();
            for name in ["one", "two"] {
                disk.create(&made.join(name)).unwrap();
            }
            disk.sync_folder(&made).unwrap();
            disk.create(&made.join("not synced")).unwrap();
            disk.rename(&made, &place).unwrap();
            let before = left(&disk);
            assert!(
                before.contains(&"made/one".into()) != before.contains(&"place/one".into()),
                "{before:?}"
            );
            assert_eq!(before.contains(&"place/one".into()), before.contains(&"place/two".into()));
            disk.sync_folder(root.path()).unwrap();
            let after = left(&disk);
            assert!(["place/one", "place/two"].iter().all(|name| after.contains(&name.into())), "{after:?}");
            assert!(!after.iter().any(|path| path.starts_with("made")), "{after:?}");
            disk.sync_folder(&place).unwrap();
            assert!(left(&disk).contains(&"place/not synced".into()));
        }
    }
}
