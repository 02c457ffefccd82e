//! Files that were never together in one folder: each of them is whole, so only their neighbours show it.
//!
//! - [`mix`] puts files of a second folder into a copy of a first one: of another part of the same life, of
//!   another store, or of a copy of the store that went on separately.
//! - [`copy_live`] copies a folder file by file while the store is written to.
//!
//! Such a folder is refused, or it holds what one of the stores held at some moment between the two.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::life::Life;
use super::{files_of, write_new};

/// How much of a folder is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    OneFile,
    SomeFiles,
    /// Some of the manifest, the log and the tree.
    Parts,
}

const EXTENTS: [Extent; 3] = [Extent::OneFile, Extent::SomeFiles, Extent::Parts];
const PARTS: [&str; 3] = ["store/manifest", "store/log", "store/tree"];

/// Gives some files of `folder` the contents that they have in `donor`. Says which, or nothing if that
/// changed none of them.
pub(super) fn mix(
    random: &mut fastrand::Rng,
    folder: &Path,
    donor: &Path,
) -> io::Result<Option<(Extent, String)>> {
    let extent = EXTENTS[random.usize(0..EXTENTS.len())];
    let (ours, theirs) = (files_of(folder)?, files_of(donor)?);
    let names: BTreeSet<&String> = ours.values().chain(theirs.values()).flatten().collect();
    let chosen: Vec<&String> = match extent {
        Extent::OneFile => {
            // A kind of file first: there are many tables and one manifest.
            let kinds: Vec<&Vec<String>> = theirs.values().collect();
            let kind = kinds[random.usize(0..kinds.len())];
            vec![&kind[random.usize(0..kind.len())]]
        }
        Extent::SomeFiles => {
            let share = random.u8(1..10);
            names.into_iter().filter(|_| random.u8(0..10) < share).collect()
        }
        Extent::Parts => {
            let part = random.usize(0..PARTS.len());
            // One part, or all but one.
            let (one, rest) = (random.bool(), |name: &&String| name.starts_with(PARTS[part]));
            names.into_iter().filter(|name| rest(name) == one).collect()
        }
    };
    let mut changed = Vec::new();
    for name in chosen {
        let (ours, theirs) = (fs::read(folder.join(name)).ok(), fs::read(donor.join(name)).ok());
        match &theirs {
            Some(bytes) if ours != theirs => write_new(&folder.join(name), bytes)?,
            None => fs::remove_file(folder.join(name))?,
            Some(_) => continue,
        }
        changed.push(name.as_str());
    }
    Ok((!changed.is_empty()).then(|| (extent, changed.join(" "))))
}

/// Copies the folder of a store that is written to, as a program does that knows nothing of it: it lists
/// a folder when it comes to it, and skips a file that is gone by then. Says in which order.
pub(super) fn copy_live(random: &mut fastrand::Rng, life: &mut Life, to: &Path) -> Result<String, String> {
    let text = |error: io::Error| error.to_string();
    let mut parts: Vec<&str> = PARTS.into_iter().chain(["store/format"]).collect();
    random.shuffle(&mut parts);
    for folder in ["store/aside", "store/log", "store/tree/tables"] {
        fs::create_dir_all(to.join(folder)).map_err(text)?;
    }
    for part in &parts {
        let from = life.data.clone();
        if from.join(part).is_file() {
            copy_file(random, life, Path::new(part), to)?;
            continue;
        }
        let mut names = listed(&from, Path::new(part)).map_err(text)?;
        random.shuffle(&mut names);
        while let Some(name) = names.pop() {
            if from.join(&name).is_dir() {
                // Listed when the copy comes to it.
                names.extend(listed(&from, &name).map_err(text)?);
            } else {
                copy_file(random, life, &name, to)?;
            }
        }
    }
    Ok(parts.join(" "))
}

fn listed(data: &Path, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let names: io::Result<Vec<_>> = fs::read_dir(data.join(folder))?
        .map(|entry| entry.map(|entry| folder.join(entry.file_name())))
        .collect();
    let mut names = names?;
    names.sort_unstable();
    Ok(names)
}

/// Copies a file in two pieces. The store is written to before and between them.
fn copy_file(random: &mut fastrand::Rng, life: &mut Life, name: &Path, to: &Path) -> Result<(), String> {
    live(random, life)?;
    let from = life.data.join(name);
    let Ok(first) = fs::read(&from) else { return Ok(()) };
    let mut bytes = first[..random.usize(0..=first.len())].to_vec();
    live(random, life)?;
    // A program that copies has the file open, and reads on also if its name is gone.
    let rest = fs::read(&from).ok().filter(|_| name.starts_with("store/log")).unwrap_or(first);
    bytes.extend_from_slice(rest.get(bytes.len()..).unwrap_or_default());
    fs::write(to.join(name), bytes).map_err(|error| error.to_string())
}

fn live(random: &mut fastrand::Rng, life: &mut Life) -> Result<(), String> {
    match random.u8(0..8) {
        0..2 => life.write(random.usize(1..4)),
        2 => life.write(random.usize(5..40)),
        3 => {
            life.flush();
            Ok(())
        }
        4 => {
            life.maintain();
            Ok(())
        }
        _ => Ok(()),
    }
}
