//! A short round of the damage campaign; `cargo xtask damage` runs the long one.

use store_lsm::simulation::damage::Campaign;

#[test]
fn no_damage_of_a_single_file_passes_in_silence() {
    let mut campaign = Campaign::new(1).expect("samples");
    for trial in 0..600 {
        campaign.trial().unwrap_or_else(|silent| panic!("trial {trial}: {silent}"));
    }
    let damaged: u64 = campaign.outcomes.values().sum();
    assert_eq!(damaged, 600);
}
