//! The store on the model of FoundationDB, and on a real cluster if there is one.

mod conformance;
mod faults;
mod large;
