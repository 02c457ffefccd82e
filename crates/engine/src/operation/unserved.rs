//! What CreateTable and UpdateTable may ask for and Lodestone does not serve yet. It is refused, so that nobody
//! relies on it. To serve something, remove its line here.

use api::{CreateTableInput, Error, UpdateTableInput};

/// Refuses a CreateTable request that needs what is not served.
pub fn check_create_table(input: &CreateTableInput) -> Result<(), Error> {
    refuse(&[
        ("GlobalTableSourceArn", input.global_table_source_arn.is_some()),
        ("VectorIndexes", input.vector_indexes.is_some()),
    ])
}

/// Refuses an UpdateTable request that needs what is not served.
pub fn check_update_table(input: &UpdateTableInput) -> Result<(), Error> {
    refuse(&[
        ("ReplicaUpdates", input.replica_updates.is_some()),
        ("GlobalTableWitnessUpdates", input.global_table_witness_updates.is_some()),
        ("MultiRegionConsistency", input.multi_region_consistency.is_some()),
        ("VectorIndexUpdates", input.vector_index_updates.is_some()),
    ])
}

/// AWS has no message for this, so it is Lodestone's own.
fn refuse(members: &[(&str, bool)]) -> Result<(), Error> {
    let Some((member, _)) = members.iter().find(|(_, asked)| *asked) else { return Ok(()) };
    Err(Error::validation(format!("Lodestone does not serve {member} yet. Leave it out of the request.")))
}
