//! Vectors of 32-bit numbers and the nearest of them: how they are stored as bytes, how far apart two are, and the
//! best of many. Pure.

mod bytes;
mod distance;
mod nearest;

pub use bytes::{decode, encode};
pub use distance::Distance;
pub use nearest::Nearest;
