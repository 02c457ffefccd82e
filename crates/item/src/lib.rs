//! DynamoDB's values: ten types, 38-digit numbers, exact sizes, order-preserving key bytes, and
//! compact item bytes that go to and from DynamoDB JSON without a tree in between.
//!
//! The bytes are canonical: sets and maps are sorted, numbers are normalised, so two values are equal
//! exactly when their bytes are. Everything that only looks at values (conditions, filters,
//! projections, sizes) works on borrowed views of those bytes.
//!
//! | question | file |
//! |---|---|
//! | what are the bytes of a value? | `layout.rs` |
//! | how are they read, and how are they built? | `view.rs`, `owned.rs` |
//! | how does JSON become bytes, and bytes JSON? | `json/read.rs`, `json/write.rs` |
//! | which numbers are there? | `number.rs` |
//! | in which order are keys? | `key.rs` |
//! | what does a test build a value from? | `value.rs` |
//! | what is a placeholder? | `placeholder.rs` |
//! | what can be wrong with a value? | `error.rs` |

mod error;
pub mod json;
pub mod key;
mod layout;
mod number;
mod owned;
pub mod placeholder;
mod value;
mod view;

pub use error::{Corrupt, ValueError};
pub use number::{Number, NumberError};
pub use owned::{Item, ItemBuilder, ListBuilder, SetBuilder, ValueBuf};
pub use placeholder::Placeholder;
pub use value::{Type, Value};
pub use view::{ItemRef, ListRef, MapRef, ValueRef, View};
