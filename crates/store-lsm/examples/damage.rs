//! The damage campaign: `cargo xtask damage` runs it.
//!
//! `damage TRIALS [SEED]` damages one file of a store in one way, TRIALS times, and fails at the first
//! damage that passes in silence.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks on the terminal")]

use std::collections::BTreeMap;
use std::process::ExitCode;

use store_lsm::simulation::damage::{Campaign, Outcome};

/// Trials on one set of samples, before new ones are made.
const TRIALS_PER_CAMPAIGN: u64 = 5000;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (Some(Ok(trials)), seed) = (arguments.next(), arguments.next()) else {
        eprintln!("damage TRIALS [SEED]");
        return ExitCode::FAILURE;
    };
    let seed = seed.and_then(Result::ok).unwrap_or_else(|| fastrand::u64(..));
    println!("damage: {trials} trials, seed {seed}");
    match run(trials, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("damage: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(trials: u64, seed: u64) -> Result<(), String> {
    let mut totals = BTreeMap::<(String, String), BTreeMap<Outcome, u64>>::new();
    let mut left = trials;
    for number in 0.. {
        if left == 0 {
            break;
        }
        let mut campaign = Campaign::new(seed.wrapping_add(number))?;
        for _ in 0..left.min(TRIALS_PER_CAMPAIGN) {
            while campaign.trial()? == Outcome::NotDone {}
            left -= 1;
        }
        for ((kind, damage, outcome), count) in campaign.outcomes {
            *totals.entry((kind, format!("{damage:?}"))).or_default().entry(outcome).or_default() += count;
        }
    }
    println!("{:12} {:12} {:>9} {:>9} {:>9}", "file", "damage", "verify", "refused", "harmless");
    for ((kind, damage), outcomes) in &totals {
        let count = |outcome| outcomes.get(&outcome).copied().unwrap_or(0);
        let (found, refused) = (count(Outcome::FoundByVerify), count(Outcome::Refused));
        println!("{kind:12} {damage:12} {found:9} {refused:9} {:9}", count(Outcome::EverythingRight));
    }
    println!("damage: {trials} trials, none passed in silence");
    Ok(())
}
