//! File descriptors: the limit that a process starts with is often 1,024, less than the open tables and
//! connections of a busy server need. The store has a share of them that connections can't take.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// No more than this is ever of use, and some systems give out millions.
const DESCRIPTORS: u64 = 65_536;
/// Open table files that are kept for the next read, where the limit is large enough.
const OPEN_TABLES_MAX: usize = 512;
/// What the store opens beside tables that are kept open: the log, and the tables of a compaction.
const DESCRIPTORS_BESIDE: usize = 256;

/// Raises the process's limit as far as the system lets it. The answer is the limit.
pub fn raise_descriptor_limit() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(DESCRIPTORS, |maximum| maximum.min(DESCRIPTORS));
    let Some(current) = current.filter(|current| *current < wanted) else { return wanted as usize };
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
        Ok(()) => wanted as usize,
        Err(error) => {
            tracing::warn!("the limit of open files stays at {current}: {error}");
            current as usize
        }
    }
}

/// How many connections a server may keep open beside the store: what the system gives, without the
/// store's share. Of a small limit each gets half.
pub fn connections_max() -> usize {
    let limit = raise_descriptor_limit();
    limit.saturating_sub(OPEN_TABLES_MAX + DESCRIPTORS_BESIDE).max(limit / 2)
}

/// How many table files are kept open: half of the store's share if the limit is small.
pub(crate) fn open_tables_max() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(DESCRIPTORS);
    OPEN_TABLES_MAX.min(limit as usize / 4)
}
