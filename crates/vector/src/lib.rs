//! Vectors of 32-bit numbers and the nearest of them: how they are stored as bytes, how far apart two are, the best
//! of many, and compressed copies that are quick to compare. Pure.
//!
//! | question | file |
//! |---|---|
//! | what are the bytes of a vector? | `bytes.rs` |
//! | how far apart are two? | `distance.rs` |
//! | which are the nearest of many? | `nearest.rs` |
//! | how are many compared quickly? | `sketch.rs` |

mod bytes;
mod distance;
mod nearest;
mod sketch;

pub use bytes::{decode, encode};
pub use distance::Distance;
pub use nearest::Nearest;
pub use sketch::Sketch;
