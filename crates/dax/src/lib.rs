//! DAX: a cache in front of the database, which clients of DAX talk to in a protocol of their own.
//!
//! ```text
//! server            the port: connections, TLS, the end
//!   connection        one of them: greeting, requests and answers in turn, memory and time
//!     request           method and arguments
//!     service           what each method does
//!       cache             items and pages, with their times to live
//!       expression        trees of clients -> texts that the database reads
//!       attribute_list    names of attributes <-> ids
//!       answer, refusal   what the client gets
//!     key, value, number, cbor    bytes
//! ```
//!
//! What the crate needs from outside are four traits: [`Database`] to ask, [`Gate`] to let clients in, [`Rows`] to
//! keep the lists of names that clients use, [`Environment`] for time and chance.
//!
//! What always holds:
//! - After a write through the cache is acknowledged, no later read through the cache gets what was there before it.
//! - Consistent and transactional reads are never answered from the cache.
//! - Nothing a client sends makes a request take more than its bounds (`limits.rs`), and nothing panics.
//!
//! | question | file |
//! |---|---|
//! | what does each method do? | `service.rs`, with `service/read.rs`, `write.rs` and `transaction.rs` |
//! | what is kept, for how long, and which reads may be kept? | `cache.rs`; it also keeps a read out of the cache that a write of the same key has overtaken |
//! | how do bytes become requests, and answers bytes? | `request.rs`, `answer.rs`, `refusal.rs`; `cbor.rs`, `value.rs`, `key.rs` and `number.rs` below them |
//! | what do the numbers of attribute lists mean, and how many may there be? | `attribute_list.rs` |
//! | what do metrics and the audit log get to know of a request? | `observed.rs` |
//! | how does the engine understand a client's expression? | `expression.rs` prints the client's tree as a text |
//! | how much may clients take, and how long? | `limits.rs`; `connection.rs` and `server.rs` hold them to it |
//! | what does it need from the database? | `outside.rs`; given by `lodestone/src/dax_service.rs`, with signatures and DescribeClusters |

mod answer;
mod attribute_list;
mod cache;
mod cbor;
mod connection;
mod expression;
mod key;
mod limits;
mod metrics;
mod number;
mod observed;
mod outside;
mod refusal;
mod request;
mod server;
mod service;
mod value;

pub use cache::CacheOptions;
pub use limits::Limits;
pub use metrics::Metrics;
pub use outside::{Claim, Database, Done, Environment, Gate, Namespace, Rows, RowsError, Session};
pub use server::{Server, Tls};
pub use service::Service;
