//! The checkers of histories refuse wrong ones, accept right ones, and find what a faulty database does.

mod linearizability;
mod serializability;
mod workload;
