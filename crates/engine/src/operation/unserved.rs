//! What CreateTable and UpdateTable may ask for and Lodestone does not serve yet. It is refused, so that no client
//! relies on it. To serve something, remove its line here.

use api::{CreateReplicationGroupMemberAction, CreateTableInput, Error, UpdateTableInput};

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
    let disassociates = input.replica_updates.iter().flatten().any(|update| update.disassociate.is_some());
    refuse(&[("Disassociate of a replica", disassociates)])
}

/// Refuses settings of its own for a new replica that is strongly consistent.
pub fn check_strong_replica(action: &CreateReplicationGroupMemberAction) -> Result<(), Error> {
    refuse(&[
        ("ProvisionedThroughputOverride with STRONG", action.provisioned_throughput_override.is_some()),
        ("OnDemandThroughputOverride with STRONG", action.on_demand_throughput_override.is_some()),
        ("GlobalSecondaryIndexes with STRONG", action.global_secondary_indexes.is_some()),
        ("TableClassOverride with STRONG", action.table_class_override.is_some()),
    ])
}

/// Refuses a change of what one of the strongly consistent replicas has of its own.
pub fn check_strong_update(input: &UpdateTableInput) -> Result<(), Error> {
    let updates = input.replica_updates.iter().flatten().any(|update| update.update.is_some());
    refuse(&[("Update of a replica with STRONG", updates)])
}

/// AWS has no message for this, so it is Lodestone's own.
fn refuse(members: &[(&str, bool)]) -> Result<(), Error> {
    let Some((member, _)) = members.iter().find(|(_, asked)| *asked) else { return Ok(()) };
    Err(Error::validation(format!("Lodestone does not serve {member} yet. Leave it out of the request.")))
}
