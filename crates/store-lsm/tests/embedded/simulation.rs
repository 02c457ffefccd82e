//! Crashes and failures of a simulated disk, at every point: what was acknowledged is there afterwards,
//! and what is there is a prefix of what was committed.
//!
//! `SIMULATION_SEEDS=20000 cargo test --release -p store-lsm --test embedded simulation` runs more of them;
//! `SIMULATION_FIRST_SEED` repeats one.

use store_lsm::simulation;

#[test]
fn every_acknowledged_commit_survives_every_crash() {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let first: u64 = number("SIMULATION_FIRST_SEED", 0);
    let seeds: u64 = number("SIMULATION_SEEDS", 60);
    let mut totals = simulation::Totals::default();
    for seed in first..first + seeds {
        let run = simulation::run(seed).unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        totals.add(&run);
    }
    // The runs reach what they are for.
    if seeds >= 60 {
        let simulation::Totals {
            commits, crashes, poisoned, flushes, compactions, checkpoints, repairs, ..
        } = totals;
        let reached = [commits, crashes, poisoned, flushes, compactions, checkpoints, repairs];
        assert!(reached.iter().all(|count| *count > 0), "{totals:?}");
    }
}
