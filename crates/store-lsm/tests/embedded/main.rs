//! The store on a folder: its promises, its repairs, and disks that crash, fail and are full.

mod conformance;
mod damage;
mod faults;
mod memory;
mod moments;
mod privacy;
mod refusing;
mod reopening;
mod repair;
mod shrinking;
mod simulation;
mod support;
