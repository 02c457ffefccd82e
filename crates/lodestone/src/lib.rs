//! Lodestone as a library: open a database in this process and call DynamoDB's operations on it.
//!
//! ```
//! use lodestone::{Database, api::*, item::{Item, Value}};
//!
//! # tokio_test::block_on(async {
//! let database = Database::in_memory().await?;
//! database
//!     .call(CreateTableInput {
//!         table_name: "Songs".into(),
//!         key_schema: Some(vec![KeySchemaElement { attribute_name: "Artist".into(), key_type: KeyType::Hash }]),
//!         attribute_definitions: Some(vec![AttributeDefinition {
//!             attribute_name: "Artist".into(),
//!             attribute_type: ScalarAttributeType::S,
//!         }]),
//!         billing_mode: Some(BillingMode::PayPerRequest),
//!         ..Default::default()
//!     })
//!     .await?;
//! let song = Item::from_iter([("Artist", Value::from("Nina Simone")), ("Plays", Value::from(7))]);
//! database.call(PutItemInput { table_name: "Songs".into(), item: song.clone(), ..Default::default() }).await?;
//!
//! let key = Item::from_iter([("Artist", Value::from("Nina Simone"))]);
//! let found = database.call(GetItemInput { table_name: "Songs".into(), key, ..Default::default() }).await?;
//! assert_eq!(found.item, Some(song));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! | question | file |
//! |---|---|
//! | how is a database opened, called and closed? | `database.rs` |
//! | where do time and chance come from? | `environment.rs` |
//! | what does the command do? | `main.rs` has a table of its own |

mod database;
mod environment;
mod foundationdb;

pub use api;
pub use database::{Database, OpenError, Storage};
pub use engine::Verification;
pub use engine::{Enforcement, Options};
#[doc(hidden)]
pub use environment::System;
pub use foundationdb::FoundationDb;
pub use item;
pub use store_lsm::{CACHE_BYTES, Durability, MEMTABLE_BYTES};
pub use store_postgres::Engine as PostgresEngine;

/// The Rust examples of the documents compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/install.md")]
struct Documents;
