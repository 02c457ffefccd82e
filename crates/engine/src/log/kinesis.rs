//! Kinesis streaming destinations: the changes of a table's items, delivered to streams outside the database.
//!
//! | question | file |
//! |---|---|
//! | what is a destination, and in which state is it? | `base/kinesis_destination.rs` |
//! | how does a change look in a stream? | `record.rs` |
//! | what delivers, and how far has it come? | `delivery.rs` |
//! | what takes records? | `stream.rs`: the contract of a stream outside |
//!
//! What always holds:
//! - A change is delivered at least once, from the time on at which the destination was enabled. After a day it is
//!   given up.
//! - Changes of an item are delivered in their order.

mod delivery;
mod record;
mod stream;

pub use delivery::{Deliveries, needed_from_us};
pub use stream::{KinesisRecord, KinesisStream, KinesisStreams, PutFuture, PutOutcome};
