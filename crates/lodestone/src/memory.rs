//! How much memory the parts of a server may take, unless flags say otherwise.
//!
//! All of it follows from one number: what the process may take, which is the limit of its container or else what the
//! machine has. Parts have their usual size where there is plenty. In less they share it as follows; the rest is for
//! the program itself, for the connections, and for what the allocator keeps.
//!
//! ```text
//! large requests and answers   1/4    at most 512 MiB
//! what was read from disk      1/8    at most  64 MiB
//! copies of vector indexes     1/8    at most 256 MiB
//! memtables                    6/32   a memtable is 1/32, at most 32 MiB: one takes writes until it has twice its
//!                                     size, and two such wait to be written
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const MIB: u64 = 1 << 20;
/// Less would not do for single requests.
const REQUEST_MIB_MIN: u64 = 64;

/// What each part may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryShares {
    pub requests_mib: u64,
    pub cache_mib: u64,
    pub vectors_mib: u64,
    pub memtable_bytes: u64,
}

impl MemoryShares {
    /// The shares of this process.
    pub fn of_process() -> MemoryShares {
        static SHARES: OnceLock<MemoryShares> = OnceLock::new();
        *SHARES.get_or_init(|| MemoryShares::of(limit_bytes(Path::new("/")).unwrap_or(u64::MAX)))
    }

    fn of(bytes: u64) -> MemoryShares {
        let mib = bytes / MIB;
        MemoryShares {
            requests_mib: (mib / 4).clamp(REQUEST_MIB_MIN, 512),
            cache_mib: (mib / 8).clamp(1, lodestone::CACHE_BYTES / MIB),
            vectors_mib: (mib / 8).min(256),
            memtable_bytes: (bytes / 32).clamp(MIB, 32 * MIB),
        }
    }
}

/// What the process may take: the least of what the machine has and what its control groups allow, or none if the
/// system does not say. `root` is where the system's files are.
fn limit_bytes(root: &Path) -> Option<u64> {
    let meminfo = fs::read_to_string(root.join("proc/meminfo")).unwrap_or_default();
    let machine = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let machine = machine.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = group_files(root, &groups).into_iter().filter_map(|file| {
        // A group without a limit says `max`, or has a number that no machine reaches.
        fs::read_to_string(file).ok()?.trim().parse::<u64>().ok()
    });
    limits.chain(machine.map(|kib| kib.saturating_mul(1024))).min()
}

/// Where the limits of a process's groups are, and those of the groups around them. A container mostly sees its own
/// group as the outermost.
fn group_files(root: &Path, groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        // `0::/path` of version 2, `4:memory:/path` of version 1.
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let (mount, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        files.extend(path.ancestors().map(|group| root.join(mount).join(group).join(file)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:       16384000 kB\nMemFree: 1 kB\n");

    #[test]
    fn without_a_limit_it_is_what_the_machine_has() {
        let root = system(&[MACHINE, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "max\n")]);
        assert_eq!(limit_bytes(root.path()), Some(16_384_000 * 1024));
        assert_eq!(limit_bytes(system(&[]).path()), None);
    }

    #[test]
    fn the_narrowest_group_around_the_process_counts() {
        let root = system(&[
            MACHINE,
            ("proc/self/cgroup", "0::/pod/server\n"),
            ("sys/fs/cgroup/pod/memory.max", "536870912\n"),
            ("sys/fs/cgroup/pod/server/memory.max", "max\n"),
        ]);
        assert_eq!(limit_bytes(root.path()), Some(512 * MIB));
    }

    #[test]
    fn groups_of_version_1_count_as_well() {
        let root = system(&[
            MACHINE,
            ("proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/docker/1\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n"),
        ]);
        assert_eq!(limit_bytes(root.path()), Some(256 * MIB));
    }

    #[test]
    fn with_plenty_all_parts_have_their_usual_size() {
        let usual = MemoryShares::of(u64::MAX);
        assert_eq!(usual, MemoryShares::of(4096 * MIB));
        let MemoryShares { requests_mib, cache_mib, vectors_mib, memtable_bytes } = usual;
        assert_eq!((requests_mib, cache_mib, vectors_mib, memtable_bytes), (512, 64, 256, 32 * MIB));
    }

    #[test]
    fn in_a_small_container_the_parts_leave_a_quarter_of_it() {
        for mib in [256, 512, 1024] {
            let MemoryShares { requests_mib, cache_mib, vectors_mib, memtable_bytes } =
                MemoryShares::of(mib * MIB);
            let together = requests_mib + cache_mib + vectors_mib + 6 * memtable_bytes / MIB;
            assert!(together <= mib * 3 / 4, "{together} of {mib}");
        }
    }
}
