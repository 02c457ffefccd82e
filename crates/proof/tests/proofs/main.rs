//! Models proven, rehearsed, applied and learned on a real engine.

mod apply;
mod capacity;
mod designs;
mod examples;
mod failures;
mod generated;
mod golden;
mod large;
mod learn;
mod literal;
mod mutants;
mod rehearse;
mod request_mutants;
mod traps;
