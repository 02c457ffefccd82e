//! What a model costs each month.

pub mod line;
pub mod scaling;
