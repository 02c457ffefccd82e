//! File descriptors: the limit that a process starts with is often 1,024, less than the open tables and
//! connections of a busy server.

/// No more than this is ever of use, and some systems give out millions.
#[cfg(unix)]
const DESCRIPTORS: u64 = 65_536;

/// Raises the process's limit as far as the system lets it.
#[cfg(unix)]
pub(crate) fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(DESCRIPTORS, |maximum| maximum.min(DESCRIPTORS));
    if current.is_some_and(|current| current < wanted)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
    {
        tracing::warn!("the limit of open files stays at {}: {error}", current.unwrap_or(0));
    }
}

#[cfg(not(unix))]
pub(crate) fn raise_limit() {}
