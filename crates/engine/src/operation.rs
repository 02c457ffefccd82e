//! The operations, one file each, all of the same shape: [`Serve`]. [`list`] has them all, and from it follow the dispatch,
//! what a caller must be allowed to do, how large answers may be, and which operations only read.
//!
//! | question | file |
//! |---|---|
//! | which operation serves a request? | `list.rs` |
//! | may the caller do it? | `authorization.rs`; in which words: `authorization/access.rs` |
//! | how much memory may the answer take? | `answer_size.rs` |
//! | how are expressions and old parameters read? | `parameters.rs`, `legacy.rs` |
//! | how does a statement become a plan? | `statement.rs` |
//! | what do Query and Scan share? | `paging.rs` |
//! | where does the next page begin? | of a SELECT: `next_token.rs`; of a shard: `shard_iterator.rs` |
//! | how is a refusal worded? | `error.rs`; of a transaction: `cancellation.rs` |
//! | how is a table described, and defined? | `description.rs`, `schema.rs` |
//! | what is not served? | `unserved.rs` |
//! | which errors does an operator ask for? | `injected_fault.rs` |
//! | what would a write do? | `dry_run.rs` |
//!
//! `docs/adding-an-operation.md` says how to add one.

mod batch_execute_statement;
mod batch_get_item;
mod batch_write_item;
mod cancel_bulk_operation;
mod create_backup;
mod create_global_table;
mod create_table;
mod delete_backup;
mod delete_item;
mod delete_resource_policy;
mod delete_table;
mod describe_backup;
mod describe_bulk_operation;
mod describe_continuous_backups;
mod describe_contributor_insights;
mod describe_endpoints;
mod describe_export;
mod describe_global_table;
mod describe_global_table_settings;
mod describe_import;
mod describe_kinesis_streaming_destination;
mod describe_limits;
mod describe_stream;
mod describe_table;
mod describe_table_replica_auto_scaling;
mod describe_time_to_live;
mod disable_kinesis_streaming_destination;
mod enable_kinesis_streaming_destination;
mod execute_statement;
mod execute_transaction;
pub mod export_table_to_point_in_time;
mod get_item;
mod get_records;
mod get_resource_policy;
mod get_shard_iterator;
pub mod import_table;
mod legacy;
mod list_backups;
mod list_bulk_operations;
mod list_contributor_insights;
mod list_exports;
mod list_global_tables;
mod list_imports;
mod list_streams;
mod list_tables;
mod list_tags_of_resource;
mod put_item;
mod put_resource_policy;
mod query;
mod restore_table_from_backup;
mod restore_table_to_point_in_time;
mod scalar_keys;
mod scan;
mod search_vectors;
mod start_bulk_put_items;
mod tag_resource;
mod transact_get_items;
mod transact_write_items;
mod untag_resource;
mod update_continuous_backups;
mod update_contributor_insights;
mod update_global_table;
mod update_global_table_settings;
mod update_item;
mod update_kinesis_streaming_destination;
mod update_table;
mod update_table_replica_auto_scaling;
mod update_time_to_live;

mod answer_size;
mod authorization;
mod backup_description;
mod cancellation;
mod consumed;
mod description;
mod digest;
pub mod dry_run;
mod error;
pub mod injected_fault;
mod item_collection;
pub mod list;
mod next_token;
mod paging;
mod parameters;
mod policy;
mod replica_updates;
mod restored;
mod schema;
mod shard_iterator;
mod statement;
mod stream_specification;
mod strong_replicas;
mod table_difference;
mod unserved;

use std::sync::Arc;

use api::Error;

use crate::Namespace;
use crate::base::caller::Caller;
use crate::commit::idempotency::TokenClearing;
use crate::regions::Regions;

pub use answer_size::{AnswerSize, item_bytes};
use authorization::access::Access;
use injected_fault::faults::InjectedFaults;

/// A database on a store: all rooms, and what only operations need.
pub struct Engine {
    pub(crate) regions: Arc<Regions>,
    /// The host and port in the answer of DescribeEndpoints; DynamoDB's own if there is none.
    pub(crate) endpoint: Option<String>,
    pub(crate) token_clearing: TokenClearing,
    pub(crate) faults: InjectedFaults,
}

impl std::ops::Deref for Engine {
    type Target = Arc<Regions>;

    fn deref(&self) -> &Arc<Regions> {
        &self.regions
    }
}

/// An operation of DynamoDB or DynamoDB Streams.
pub trait Serve {
    /// What it is asked.
    type Input;
    /// What it answers.
    type Output;

    /// Whether it reads or writes.
    const KIND: Kind;

    /// What the caller must be allowed to do. Asked before anything is checked, so the input may be wrong.
    fn access<'r>(input: &'r Self::Input, namespace: &Namespace) -> Vec<Access<'r>>;

    /// How much memory its answer may take.
    fn answer_size(_: &Self::Input) -> AnswerSize {
        AnswerSize::DESCRIPTION
    }

    /// Whether this request writes: PartiQL's statements decide it for theirs.
    fn writes(_: &Self::Input) -> bool {
        Self::KIND == Kind::Write
    }

    /// Check the input, plan, act, answer.
    fn run(
        engine: &Engine,
        caller: &Caller,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output, Error>> + Send;
}

/// Whether an operation changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
}
