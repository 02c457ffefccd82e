//! What requests cost.

use capacity::{ReadMode, RowChange, partitions_provisioned, read_units, scan_units, write_units};

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

#[test]
fn an_index_row_costs_what_is_written_of_it() {
    assert_eq!(RowChange::None.units(), 0.0);
    assert_eq!(RowChange::Enter(1025).units(), 2.0);
    assert_eq!(RowChange::Leave(1).units(), 1.0);
    assert_eq!(RowChange::Replace { old: 3000, new: 10 }.units(), 3.0);
    assert_eq!(RowChange::Move { old: 3000, new: 10 }.units(), 4.0);
}
