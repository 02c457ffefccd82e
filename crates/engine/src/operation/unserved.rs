//! What CreateTable and UpdateTable may ask for and Lodestone does not serve yet. It is refused, so that no client
//! relies on it. To serve something, remove its line here.

use api::{CreateTableInput, Error, MultiRegionConsistency, UpdateTableInput};

/// Refuses a CreateTable request that needs what is not served.
pub fn check_create_table(input: &CreateTableInput) -> Result<(), Error> {
    refuse(&[("GlobalTableSourceArn", input.global_table_source_arn.is_some())])
}

/// Refuses an UpdateTable request that needs what is not served.
pub fn check_update_table(input: &UpdateTableInput) -> Result<(), Error> {
    // It only matters for Disassociate, which is refused.
    let unprotected = input.disassociation_protection_enabled == Some(false);
    refuse(&[("DisassociationProtectionEnabled false", unprotected)])
}

/// Refuses a change of replicas that needs what is not served.
pub fn check_replica_updates(input: &UpdateTableInput) -> Result<(), Error> {
    let is_strong = input.multi_region_consistency == Some(MultiRegionConsistency::Strong);
    let disassociates = input.replica_updates.iter().flatten().any(|update| update.disassociate.is_some());
    refuse(&[
        ("MultiRegionConsistency STRONG", is_strong),
        ("GlobalTableWitnessUpdates", input.global_table_witness_updates.is_some()),
        ("Disassociate of a replica", disassociates),
    ])
}

/// AWS has no message for this, so it is Lodestone's own.
fn refuse(members: &[(&str, bool)]) -> Result<(), Error> {
    let Some((member, _)) = members.iter().find(|(_, asked)| *asked) else { return Ok(()) };
    Err(Error::validation(format!("Lodestone does not serve {member} yet. Leave it out of the request.")))
}
