//! The promises of the contract, as tests that every store runs.
//!
//! A store's own test file holds one line:
//!
//! ```ignore
//! store::conformance_tests!(|| async { (Arc::new(MyStore::open(…).await) as Arc<dyn Store>, guard) });
//! ```
//!
//! It expands to one test for each promise. The function makes a new, empty store and a guard that
//! lives as long as the test (a temporary folder, or `()`). The crate needs `tokio` among its
//! dev-dependencies with `rt-multi-thread` and `macros`.
//!
//! A store that several processes share also has [`cluster_tests!`](crate::cluster_tests), with a function
//! that makes two handles of one new store.
//!
//! The promises are grouped by topic: [`rows`], [`ranges`], [`concurrency`], [`logs`], and [`model`],
//! which compares a random history with an ordered map.

pub mod cluster;
pub mod concurrency;
pub mod logs;
pub mod model;
pub mod ranges;
pub mod rows;

use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;

use crate::{Consistency, Direction, Key, Partition, Position, Range, Read, Space, Store, WriteSet};

/// The longest that a test may take, even on a slow machine with a remote store. A longer one has
/// found a deadlock or a starving task.
pub const TIME_MAX: Duration = Duration::from_secs(60);

/// Expands to one `#[tokio::test]` for each promise of the contract. See [the module](self).
#[macro_export]
macro_rules! conformance_tests {
    ($make:expr) => {
        $crate::conformance_tests! { @each $make;
            rows::rows_come_back_in_the_order_of_the_keys;
            rows::a_put_replaces_and_a_delete_removes;
            rows::keys_of_any_bytes_and_values_of_any_size_come_back;
            rows::decide_sees_the_latest_rows_in_the_order_of_its_keys;
            rows::an_empty_write_set_changes_nothing;
            rows::a_write_set_may_name_keys_that_were_not_locked;
            rows::an_update_without_keys_still_commits;
            rows::clear_removes_only_its_space;
            rows::a_snapshot_does_not_see_later_writes;
            rows::calls_after_close_fail;
            ranges::rows_are_ordered_by_partition_then_sort_bytes;
            ranges::every_kind_of_bounds_holds_in_both_directions;
            ranges::rows_of_neighbouring_spaces_are_not_seen;
            ranges::a_visitor_ends_the_scan_by_breaking;
            concurrency::one_of_many_inserts_of_an_absent_key_wins;
            concurrency::increments_are_never_lost_and_no_task_starves;
            concurrency::transfers_between_keys_in_any_order_do_not_deadlock;
            concurrency::what_an_update_saw_can_be_read_when_it_returns;
            concurrency::readers_see_a_write_set_whole_or_not_at_all;
            concurrency::rows_and_log_records_of_a_write_set_appear_together;
            logs::records_are_read_in_the_order_of_their_commits;
            logs::logs_do_not_see_each_other;
            logs::a_position_is_the_time_of_its_commit;
            logs::reading_starts_behind_a_position_and_ends_at_the_limit;
            logs::trimming_forgets_records_but_never_reuses_positions;
            logs::a_log_ends_at_its_last_record_even_if_that_was_trimmed;
            logs::a_snapshot_reads_the_log_of_its_moment;
            logs::a_snapshot_has_exactly_the_changes_up_to_its_log_end;
            logs::a_part_of_another_store_s_log_keeps_its_positions;
            logs::a_tailer_of_concurrent_appends_misses_nothing;
            model::a_random_history_agrees_with_an_ordered_map;
        }
    };
    (@each $make:expr; $($topic:ident :: $promise:ident;)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $promise() {
                let _watch = $crate::conformance::watch(stringify!($promise));
                let (store, _guard) = ($make)().await;
                $crate::conformance::$topic::$promise(store).await;
            }
        )*
    };
}

/// Expands to one `#[tokio::test]` for each promise of [`Cluster`](crate::Cluster).
#[macro_export]
macro_rules! cluster_tests {
    ($make:expr) => {
        $crate::cluster_tests! { @each $make;
            an_expelled_member_writes_nothing_and_the_others_go_on;
            an_update_under_way_is_committed_before_its_expulsion_or_not_at_all;
            members_have_numbers_of_their_own_and_can_leave;
            settling_waits_for_updates_whose_callers_are_gone;
            records_after_a_raise_are_later_whatever_the_clock_says;
        }
    };
    (@each $make:expr; $($promise:ident;)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $promise() {
                let _watch = $crate::conformance::watch(stringify!($promise));
                let (one, other, _guard) = ($make)().await;
                $crate::conformance::cluster::$promise(one, other).await;
            }
        )*
    };
}

/// Aborts the test run unless the returned guard is dropped within [`TIME_MAX`]. A store that deadlocks
/// blocks the runtime's threads and timers, so a thread of its own watches the time.
#[must_use]
pub fn watch(promise: &'static str) -> Watch {
    let (held, released) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if released.recv_timeout(TIME_MAX) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            #[allow(clippy::print_stderr, reason = "the process aborts: no other output is left")]
            {
                eprintln!("{promise} still runs after {TIME_MAX:?}: a deadlock, or a starving task");
            }
            std::process::abort();
        }
    });
    Watch { _held: held }
}

/// The guard of [`watch`].
pub struct Watch {
    _held: std::sync::mpsc::Sender<()>,
}

/// The space that most tests use.
const SPACE: Space = Space(7);

fn partition(byte: u8) -> Partition {
    let mut bytes = [0; Partition::LENGTH];
    bytes[0] = byte;
    Partition(bytes)
}

fn position(partition_byte: u8, sort: impl AsRef<[u8]>) -> Position {
    Position { partition: partition(partition_byte), sort: sort.as_ref().to_vec() }
}

fn key_in(space: Space, partition_byte: u8, sort: impl AsRef<[u8]>) -> Key {
    Key { space, position: position(partition_byte, sort) }
}

fn key(partition_byte: u8, sort: impl AsRef<[u8]>) -> Key {
    key_in(SPACE, partition_byte, sort)
}

fn value(bytes: impl AsRef<[u8]>) -> Bytes {
    Bytes::copy_from_slice(bytes.as_ref())
}

fn number(row: &Option<Bytes>) -> u64 {
    row.as_ref()
        .map_or(0, |bytes| u64::from_be_bytes(bytes.as_ref().try_into().expect("a number has 8 bytes")))
}

fn number_bytes(number: u64) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

/// Commits `puts` and `deletes` with the lock of all their keys.
async fn write(store: &dyn Store, puts: &[(Key, Bytes)], deletes: &[Key]) {
    let keys: Vec<Key> = puts.iter().map(|(key, _)| key).chain(deletes).cloned().collect();
    let mut decide = |_: &[Option<Bytes>]| WriteSet {
        puts: puts.to_vec(),
        deletes: deletes.to_vec(),
        ..WriteSet::default()
    };
    store.update(&keys, &mut decide).await.expect("a write succeeds");
}

async fn put(store: &dyn Store, key: &Key, value: Bytes) {
    write(store, &[(key.clone(), value)], &[]).await;
}

async fn get(store: &(impl Read + ?Sized), keys: &[Key]) -> Vec<Option<Bytes>> {
    store.get(keys, Consistency::Latest).await.expect("a read succeeds")
}

/// The rows of a range as a scan shows them.
async fn scan(store: &(impl Read + ?Sized), range: &Range, direction: Direction) -> Vec<(Position, Bytes)> {
    let mut rows = Vec::new();
    let mut visit = |key: crate::KeyRef<'_>, value: Bytes| {
        rows.push((key.to_position(), value));
        ControlFlow::Continue(())
    };
    store.scan(range, direction, Consistency::Latest, &mut visit).await.expect("a scan succeeds");
    rows
}
