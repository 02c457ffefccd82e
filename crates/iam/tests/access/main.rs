//! Who signs a request, and what they may do.

mod agreement;
mod signatures;
