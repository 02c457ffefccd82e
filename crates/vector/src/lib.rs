//! Vectors of 32-bit numbers and the nearest of them: how they are stored as bytes, how far apart two are, the best
//! of many, and compressed copies that are quick to compare. Pure.

mod bytes;
mod distance;
mod nearest;
mod sketch;

pub use bytes::{decode, encode};
pub use distance::Distance;
pub use nearest::Nearest;
pub use sketch::Sketch;
