//! Values, their bytes, sizes and order, seen from outside the crate.

mod json_faults;
mod key_order;
mod number_arithmetic;
mod number_text;
mod placeholders;
mod round_trip;
mod stored_bytes;
mod support;
mod views;
