//! A short round of the damage campaign; `cargo xtask damage` runs the long one.

use store_lsm::simulation::damage::{Campaign, Outcome, Trials};

/// Trials that could not be done are not counted.
fn run(trials: Trials, count: u32) -> Campaign {
    let mut campaign = Campaign::new(1, trials).expect("samples");
    for trial in 0..count {
        let next = |campaign: &mut Campaign| {
            campaign.trial().unwrap_or_else(|silent| panic!("trial {trial}: {silent}"))
        };
        while next(&mut campaign) == Outcome::NotDone {}
    }
    assert_eq!(campaign.outcomes.values().sum::<u64>(), u64::from(count));
    campaign
}

#[test]
fn no_damage_of_a_single_file_passes_in_silence() {
    run(Trials::All, 800);
}

#[test]
fn no_mixture_of_files_of_different_moments_or_stores_passes_in_silence() {
    let campaign = run(Trials::Mixtures, 500);
    let right = campaign.outcomes.iter().filter(|((_, _, outcome), _)| *outcome == Outcome::EverythingRight);
    assert!(right.count() > 0, "some files are the same at two moments");
}
