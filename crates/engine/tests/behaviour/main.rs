//! What each operation promises, on every store.

mod authorization;
mod backups;
mod batch_get_item;
mod batch_write_item;
mod bulk_puts;
mod contributor_insights;
mod convergence;
mod database;
mod delete_item;
mod exports;
mod faults;
mod format;
mod get_item;
mod global_tables;
mod heat;
mod index_delay;
mod indexes;
mod injected_faults;
mod legacy;
mod metrics;
mod namespaces;
mod partiql;
mod policies;
mod put_item;
mod query;
mod quotas;
mod recovery;
mod replay;
mod scan;
mod servers;
mod settings;
mod sizes;
mod states;
mod streams;
mod tables;
mod tags;
mod throttling;
mod throughput;
mod time_to_live;
mod transact_get_items;
mod transact_write_items;
mod transfers;
mod update_item;
mod update_table;

/// The prefix of the errors that are about the request's shape, in the operations that write.
const SHAPE: &str = "1 validation error detected: ";
