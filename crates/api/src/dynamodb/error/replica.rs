//! Global tables.

use crate::{Error, ErrorKind};

impl Error {
    /// An entry of ReplicaUpdates without an action, or an update without anything to change.
    pub fn replica_action_missing() -> Error {
        Error::validation("There are no actions specified in the Replica Update Action of the request.")
    }

    /// An entry of ReplicaUpdates with two kinds of actions.
    pub fn replica_actions_mixed() -> Error {
        Error::validation("Update table operation with more than one type of replica actions not allowed.")
    }

    /// Two members that are to be added or removed at once.
    pub fn replica_actions_too_many() -> Error {
        Error::validation(
            "Update table operation with more than one create or delete replica actions not allowed.",
        )
    }

    /// Another change beside that of replicas.
    pub fn replica_update_not_alone() -> Error {
        Error::invalid_parameter("Replica modification must be the only operation in the request")
    }

    /// A new member in a Region that has the table, or one of its name.
    pub fn replica_exists(table: &str) -> Error {
        Error::validation(format!(
            "Failed to create a the new replica of table with name: ‘{table}’ because one or more replicas \
             already existed as tables."
        ))
    }

    /// A new member in a Region whose server does not answer.
    pub fn replica_region_away(region: &str) -> Error {
        Error::validation(format!("Failed to access the region: ‘{region}’. Its server can't be reached."))
    }

    /// A change of a Region that is no member.
    pub fn replica_unknown(region: &str) -> Error {
        Error::validation(format!(
            "Update global table operation failed because one or more replicas were not part of the global table. \
             Please retry the request without these replicas: [{region}]."
        ))
    }

    /// A change of the Region that is asked.
    pub fn replica_is_local() -> Error {
        Error::validation(
            "Cannot add or delete the local region through ReplicaUpdates. Use CreateTable, DeleteTable, or \
             UpdateTable as required.",
        )
    }

    /// A name that is no Region's.
    pub fn replica_region_unsupported(region: &str, supported: &[&str]) -> Error {
        Error::validation(format!(
            "Region {region} is not supported. The latest version of global tables are only supported in the \
             following regions: [{}]",
            supported.join(", ")
        ))
    }

    /// A provisioned table, or an index of one, whose writes are not scaled.
    pub fn replica_not_scaled(is_index: bool) -> Error {
        let what = if is_index { "GSI" } else { "Table" };
        Error::validation(format!("{what} write capacity should either be Pay-Per-Request or AutoScaled."))
    }

    /// Auto scaling of a table that has no replica.
    pub fn no_such_global_table(name: &str) -> Error {
        let message = format!("Global table with name: {name} does not exist.");
        Error::new(ErrorKind::ResourceNotFound, message)
    }

    /// Members of an on-demand table have no units that could be scaled. The parameters have the names of the first version
    /// of global tables.
    pub fn replica_scaling_on_demand(table: &str, regions: &[String], parameters: &[&str]) -> Error {
        let quoted =
            |texts: Vec<String>| texts.iter().map(|text| format!("'{text}'")).collect::<Vec<_>>().join(", ");
        let regions = quoted(regions.iter().map(|region| region.to_uppercase()).collect());
        let parameters = quoted(parameters.iter().map(|name| (*name).to_owned()).collect());
        Error::validation(format!(
            "Failed to update global table with name ‘{table}‘. Replicas {regions} BillingMode is PayPerRequest. You must \
             convert table's BillingMode to PROVISIONED to set parameters: {parameters}."
        ))
    }

    /// Settings of auto scaling that is being switched off.
    pub fn replica_scaling_not_blank(table: &str, parameters: &[&str]) -> Error {
        scaling_parameters(table, parameters, "must be left blank when disabling auto scaling.")
    }

    /// Settings that auto scaling needs.
    pub fn replica_scaling_incomplete(table: &str, parameters: &[&str]) -> Error {
        scaling_parameters(table, parameters, "are required unless auto scaling is being disabled.")
    }

    /// A change of auto scaling without a change. AWS's words are not known.
    pub fn replica_scaling_update_missing() -> Error {
        Error::validation(
            "At least one of ProvisionedWriteCapacityAutoScalingUpdate, GlobalSecondaryIndexUpdates or ReplicaUpdates \
             is required",
        )
    }

    /// The engine runs without Application Auto Scaling.
    pub fn scaling_absent() -> Error {
        Error::validation("Nothing scales throughput here.")
    }

    /// A change of a global table while another one is under way.
    pub fn global_table_in_use() -> Error {
        Error::new(ErrorKind::ResourceInUse, "The resource which you are attempting to change is in use.")
    }

    /// The request went to a replica that is still being made.
    pub fn replica_being_added(table: &str, region: &str) -> Error {
        Error::validation(format!(
            "Create/Update/Delete of replica is not allowed while the replica is being added to table with name: \
             {table} in region {region}"
        ))
    }

    /// The removal of a member that others were copied from lately.
    pub fn replica_was_source() -> Error {
        Error::validation(
            "Replica cannot be deleted because it has acted as a source region for new replica(s) being added to \
             the table in the last 24 hours.",
        )
    }

    /// The removal of a member with deletion protection.
    pub fn replica_protected(table: &str, region: &str) -> Error {
        Error::validation(format!(
            "Cannot delete table {table} in region {region} because it has deletion protection enabled. Disable \
             deletion protection first."
        ))
    }

    /// A write that meets one of another Region, in a table with strong consistency.
    pub fn replicated_write_conflict() -> Error {
        let message = "The request was rejected because one or more items in the request are being modified by a \
                       request in another Region.";
        Error::new(ErrorKind::ReplicatedWriteConflict, message)
    }

    /// A consistency for a table that other Regions have already.
    pub fn consistency_of_global_table() -> Error {
        Error::validation("MultiRegionConsistency parameter is unsupported on existing global table")
    }

    /// The deletion of one of the tables that are strongly consistent with each other.
    pub fn strong_replica_not_deletable() -> Error {
        Error::validation("Deletion of only one table replica is not supported")
    }

    /// A group of another size. AWS's words are not known; neither are they for the errors below.
    pub fn strong_regions_not_three() -> Error {
        Error::validation(
            "MultiRegionConsistency STRONG needs exactly three Regions: create two replicas, or one replica and one \
             witness, in one request.",
        )
    }

    /// Regions that can't have a strongly consistent table together.
    pub fn strong_regions_apart(regions: &[String], sets: &[&[&str]]) -> Error {
        let sets: Vec<String> = sets.iter().map(|set| format!("[{}]", set.join(", "))).collect();
        Error::validation(format!(
            "MultiRegionConsistency STRONG is not supported between the Regions [{}]. All must be of one of these sets: {}",
            regions.join(", "),
            sets.join(", ")
        ))
    }

    /// A Region whose server has a database of its own.
    pub fn strong_region_at_peer(region: &str) -> Error {
        Error::validation(format!(
            "MultiRegionConsistency STRONG is not supported with {region}: its server is a peer with a database of its own. \
             Strong consistency needs Regions that share one database, as several Regions of one server or servers on one \
             PostgreSQL do."
        ))
    }

    /// A table that can't become strongly consistent.
    pub fn strong_not_possible(table: &str, reason: &str) -> Error {
        Error::validation(format!("Table {table} cannot have MultiRegionConsistency STRONG: {reason}."))
    }

    /// A witness without what it belongs to.
    pub fn witness_without_strong() -> Error {
        Error::validation(
            "A witness is created together with a replica and MultiRegionConsistency STRONG, and deleted together with \
             the replicas.",
        )
    }

    /// A change of one Region of a strongly consistent table.
    pub fn strong_regions_fixed() -> Error {
        Error::validation(
            "The Regions of a table with MultiRegionConsistency STRONG cannot be changed one by one. Delete all other \
             replicas and the witness in one request to have a table of one Region.",
        )
    }

    /// An operation that strongly consistent tables don't have.
    pub fn not_with_strong(what: &str, table: &str) -> Error {
        Error::validation(format!(
            "{what} not supported for table {table} with MultiRegionConsistency STRONG."
        ))
    }

    /// Global tables of the first version, which AWS no longer makes.
    pub fn global_table_version_unsupported() -> Error {
        Error::invalid_parameter(
            "DynamoDB global tables version 2017.11.29 is not supported. We recommend using DynamoDB global tables \
             version 2019.11.21, instead of version 2017.11.29 (Legacy).",
        )
    }

    /// A global table of the first version, which there are none of.
    pub fn global_table_not_found(name: &str) -> Error {
        let message = format!("Global table not found: Global table with name: '{name}' does not exist.");
        Error::new(ErrorKind::GlobalTableNotFound, message)
    }
}

fn scaling_parameters(table: &str, parameters: &[&str], what: &str) -> Error {
    let parameters: Vec<String> = parameters.iter().map(|name| format!("'{name}'")).collect();
    Error::validation(format!(
        "Failed to update settings for global table with name ‘{table}’: Parameters {} {what}",
        parameters.join(", ")
    ))
}
