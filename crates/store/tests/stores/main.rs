//! The stores of this crate: the one in memory, and the one that injects faults.

mod fault;
mod memory;
mod turns;
