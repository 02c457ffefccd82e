//! The damage campaign: `cargo xtask damage` runs it.
//!
//! `damage all|mixtures TRIALS [SEED]` damages one file of a store, or mixes files of different moments or
//! stores, TRIALS times, and fails at the first damage that passes in silence.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks on the terminal")]

use std::collections::BTreeMap;
use std::process::ExitCode;

use store_lsm::simulation::damage::{Campaign, Outcome, Trials};

/// Trials on one set of samples, before new ones are made.
const TRIALS_PER_CAMPAIGN: u64 = 5000;

fn main() -> ExitCode {
    let kinds = match std::env::args().nth(1).as_deref() {
        Some("all") => Some(Trials::All),
        Some("mixtures") => Some(Trials::Mixtures),
        _ => None,
    };
    let mut numbers = std::env::args().skip(2).map(|text| text.parse::<u64>());
    let (Some(kinds), Some(Ok(trials)), seed) = (kinds, numbers.next(), numbers.next()) else {
        eprintln!("damage all|mixtures TRIALS [SEED]");
        return ExitCode::FAILURE;
    };
    let seed = seed.and_then(Result::ok).unwrap_or_else(|| fastrand::u64(..));
    println!("damage: {trials} trials, seed {seed}");
    match run(kinds, trials, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("damage: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(kinds: Trials, trials: u64, seed: u64) -> Result<(), String> {
    let mut totals = BTreeMap::<(String, String), BTreeMap<Outcome, u64>>::new();
    let mut left = trials;
    for number in 0.. {
        if left == 0 {
            break;
        }
        let mut campaign = Campaign::new(seed.wrapping_add(number), kinds)?;
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
