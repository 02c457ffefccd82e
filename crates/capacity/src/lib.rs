//! The arithmetic of read and write capacity units. Pure: the database charges with these functions
//! and the workbench predicts with them, so the two can't disagree.
//!
//! Rounding happens once for each thing that DynamoDB rounds (an item, or the sum of a page), and the
//! factor for consistency comes after it.

mod bucket;

pub use bucket::{BURST_SECONDS, Bucket, KEY_BURST_SECONDS, KeyBuckets};

/// What one read unit covers.
pub const READ_UNIT_BYTES: usize = 4096;
/// What one write unit covers.
pub const WRITE_UNIT_BYTES: usize = 1024;
/// A new on-demand table can take four partitions' worth of traffic.
pub const PARTITIONS_ON_DEMAND: u64 = 4;
/// What one partition sustains each second.
pub const PARTITION_READ_UNITS: u64 = 3000;
pub const PARTITION_WRITE_UNITS: u64 = 1000;

/// What a read pays for its consistency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    Eventual,
    Strong,
    Transactional,
}

impl ReadMode {
    fn factor(self) -> f64 {
        match self {
            ReadMode::Eventual => 0.5,
            ReadMode::Strong => 1.0,
            ReadMode::Transactional => 2.0,
        }
    }
}

/// Reading one item, or one page of a Query (the sum of all items evaluated). A read that finds
/// nothing costs as much as the smallest item.
pub fn read_units(size_bytes: usize, mode: ReadMode) -> f64 {
    whole_units(size_bytes, READ_UNIT_BYTES) * mode.factor()
}

/// One page of a Scan: at least one unit for each partition it visited.
pub fn scan_units(size_bytes: usize, partitions_visited: u64, mode: ReadMode) -> f64 {
    whole_units(size_bytes, READ_UNIT_BYTES).max(partitions_visited as f64) * mode.factor()
}

/// Writing one item: the larger of what was there and what is there now.
pub fn write_units(old_bytes: Option<usize>, new_bytes: Option<usize>) -> f64 {
    whole_units(old_bytes.unwrap_or(0).max(new_bytes.unwrap_or(0)), WRITE_UNIT_BYTES)
}

/// How many partitions a provisioned throughput is spread over.
pub fn partitions_provisioned(read_units: u64, write_units: u64) -> u64 {
    let share =
        read_units as f64 / PARTITION_READ_UNITS as f64 + write_units as f64 / PARTITION_WRITE_UNITS as f64;
    (share.ceil() as u64).max(1)
}

fn whole_units(size_bytes: usize, unit_bytes: usize) -> f64 {
    size_bytes.div_ceil(unit_bytes).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_rounded_up_to_whole_units_before_the_factor() {
        assert_eq!(read_units(4096, ReadMode::Strong), 1.0);
        assert_eq!(read_units(4097, ReadMode::Strong), 2.0);
        assert_eq!(read_units(4097, ReadMode::Eventual), 1.0);
        assert_eq!(read_units(4097, ReadMode::Transactional), 4.0);
    }

    #[test]
    fn reading_nothing_costs_the_smallest_read() {
        assert_eq!(read_units(0, ReadMode::Eventual), 0.5);
        assert_eq!(read_units(0, ReadMode::Strong), 1.0);
    }

    #[test]
    fn a_scan_pays_for_each_partition_it_visits() {
        assert_eq!(scan_units(100, 4, ReadMode::Eventual), 2.0);
        assert_eq!(scan_units(100, 4, ReadMode::Strong), 4.0);
        assert_eq!(scan_units(100_000, 4, ReadMode::Strong), 25.0);
    }

    #[test]
    fn a_write_is_charged_by_the_larger_image() {
        assert_eq!(write_units(None, Some(1)), 1.0);
        assert_eq!(write_units(Some(3000), Some(10)), 3.0);
        assert_eq!(write_units(None, None), 1.0);
        assert_eq!(write_units(Some(1024), Some(1025)), 2.0);
    }

    #[test]
    fn provisioned_throughput_spreads_over_partitions() {
        assert_eq!(partitions_provisioned(5, 5), 1);
        assert_eq!(partitions_provisioned(3000, 1000), 2);
    }
}
