//! Models proven, rehearsed, applied and learned on a real engine.

mod apply;
mod capacity;
mod designs;
mod examples;
mod failures;
mod golden;
mod learn;
mod literal;
mod mutants;
mod rehearse;
