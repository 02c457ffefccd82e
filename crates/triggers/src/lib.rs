//! Triggers: functions that get the change records of a table's stream, as Lambda delivers them.
//!
//! ```text
//! rest          Lambda's operations on event source mappings, by method and path
//! service       the mappings; starts and ends one driver for each that is enabled
//!   mapping       what a mapping says: rules, defaults, states
//!   driver        one mapping: its shards in order of lineage, each read and delivered
//!     poller        one shard: which batch is delivered when, and how far delivery got
//!       batch         records that are delivered together; tries, halves, what to do with an answer
//!       window        tumbling windows and their state
//!     filter        which records a function gets
//!     event         records as a function sees them
//!     function      calls a function: by HTTP, or as a command
//!     destination   where records that could not be delivered are reported
//! ```
//!
//! `poller`, `batch`, `window`, `filter`, `event` and `mapping` decide and do nothing: the time comes in as an
//! argument, and the driver does what they say. What the crate needs from outside are three traits:
//! [`Streams`] to read records, [`Rows`] to keep mappings and positions, [`Environment`] for time and chance.
//!
//! What always holds:
//! - A position is stored only when every record up to it was delivered, filtered out, or reported as failed.
//!   So each record is delivered at least once, also after a crash.
//! - Records of one partition key are delivered in order, one batch after the other.
//! - A child shard is read only when its parents are delivered.
//!
//! | question | file |
//! |---|---|
//! | which settings may a mapping have? | `mapping.rs` |
//! | when is a batch sent, split or given up? | `poller.rs`; what an answer means: `batch.rs` |
//! | when is a position stored? | `driver.rs` |
//! | which records match a filter? | `filter.rs` |
//! | how is a function called, and with what? | `function.rs`, `event.rs` |
//! | where are failures reported? | `destination.rs`; what is counted: `metrics.rs` |
//! | which state does a mapping show? | `service.rs` |
//! | what is needed from outside? | `outside.rs` |

mod batch;
mod destination;
mod driver;
mod event;
mod filter;
mod function;
mod mapping;
mod metrics;
mod outside;
mod poller;
mod rest;
mod service;
mod time;
mod window;

pub use batch::{Condition, Failure, Outcome};
pub use destination::{DestinationError, Destinations};
pub use event::{Entry, event_record};
pub use filter::{Filters, Pattern, PatternError};
pub use function::{Function, FunctionError, Functions};
pub use mapping::{Backoff, Delivery, Mapping, StartingPosition, State};
pub use metrics::{MappingMetrics, Metrics};
pub use outside::{Environment, Namespace, Rows, RowsError, Sleep, Streams};
pub use poller::{Invocation, Poller, Position, Step};
pub use service::{OpenError, Options, Triggers};
pub use window::Window;
