//! What CreateTable and UpdateTable may ask for and Lodestone does not serve yet. It is refused, so that nobody
//! relies on it. To serve something, remove its line here.

use api::{CreateTableInput, Error, StreamSpecification, UpdateTableInput};

use crate::Engine;

/// Refuses what is not served. Nothing of AWS corresponds to the message, so it is Lodestone's own.
fn check(engine: &Engine, table: &str, members: &[(&str, bool)]) -> Result<(), Error> {
    for (member, _) in members.iter().filter(|(_, asked)| *asked) {
        if !engine.options.ignore_unserved {
            let text = format!("Lodestone does not serve {member} yet. Leave it out of the request.");
            return Err(Error::validation(text));
        }
        tracing::warn!(table, "{member} is not served yet, and is ignored");
    }
    Ok(())
}

/// Refuses a CreateTable request that needs what is not served.
pub fn check_create_table(engine: &Engine, input: &CreateTableInput) -> Result<(), Error> {
    let members = [
        ("StreamSpecification", is_enabled(&input.stream_specification)),
        ("GlobalTableSourceArn", input.global_table_source_arn.is_some()),
        ("VectorIndexes", input.vector_indexes.is_some()),
    ];
    check(engine, &input.table_name, &members)
}

/// Refuses an UpdateTable request that needs what is not served.
pub fn check_update_table(engine: &Engine, input: &UpdateTableInput) -> Result<(), Error> {
    let members = [
        ("StreamSpecification", is_enabled(&input.stream_specification)),
        ("ReplicaUpdates", input.replica_updates.is_some()),
        ("GlobalTableWitnessUpdates", input.global_table_witness_updates.is_some()),
        ("MultiRegionConsistency", input.multi_region_consistency.is_some()),
        ("VectorIndexUpdates", input.vector_index_updates.is_some()),
    ];
    check(engine, &input.table_name, &members)
}

/// Switching off a stream that there is not changes nothing.
fn is_enabled(stream: &Option<StreamSpecification>) -> bool {
    stream.as_ref().is_some_and(|stream| stream.stream_enabled)
}
