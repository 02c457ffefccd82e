use std::collections::BTreeSet;

use super::schema::{
    check_billing, check_composite_key, check_definitions, check_encryption, check_index_billing,
    check_index_key_defined, check_projection,
};
use super::vector_index::check_vector_update;
use super::{Refuse, refuse_table_request};
use crate::violation::Violations;
use crate::{
    AttributeDefinition, BillingMode, CreateGlobalSecondaryIndexAction, Error, GlobalSecondaryIndexUpdate,
    MultiRegionConsistency, UpdateReplicationGroupMemberAction, UpdateTableInput, VectorIndexUpdate,
};

impl Refuse for UpdateTableInput {
    fn refuse(&self, violations: Violations) -> Error {
        refuse_table_request(violations)
    }
}

impl UpdateTableInput {
    /// Checks the changes by themselves. Whether they suit the table as it is now is the engine's to check.
    pub fn check(&self) -> Result<(), Error> {
        if !self.changes_something() {
            return Err(Error::validation(
                "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, \
                 GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required",
            ));
        }
        if let Some(BillingMode::PayPerRequest) = self.billing_mode {
            check_billing(BillingMode::PayPerRequest, self.provisioned_throughput.as_ref())?;
        }
        self.check_replica_updates()?;
        check_encryption(self.sse_specification.as_ref())?;
        let definitions = self.attribute_definitions.as_deref().unwrap_or_default();
        check_definitions(definitions)?;
        for update in self.index_updates() {
            self.check_index_update(update, definitions)?;
        }
        self.check_index_names()?;
        self.vector_updates().iter().try_for_each(check_vector_update)?;
        let heavy = self.index_updates().iter().filter(|u| u.create.is_some() || u.delete.is_some());
        if heavy.count() + self.vector_updates().len() > 1 {
            Err(Error::one_index_change_at_a_time())
        } else {
            Ok(())
        }
    }

    /// An empty list of changes does not count, and neither do attribute definitions or what only goes with replicas.
    fn changes_something(&self) -> bool {
        !self.index_updates().is_empty()
            || self.billing_mode.is_some()
            || self.deletion_protection_enabled.is_some()
            || self.disassociation_protection_enabled.is_some()
            || self.global_table_settings_replication_mode.is_some()
            || self.on_demand_throughput.is_some()
            || self.provisioned_throughput.is_some()
            || self.replica_updates.is_some()
            || self.sse_specification.is_some()
            || self.stream_specification.is_some()
            || self.table_class.is_some()
            || !self.vector_updates().is_empty()
            || self.warm_throughput.is_some()
    }

    /// Each entry has one action, members are added and removed one by one, and nothing else is changed with them.
    fn check_replica_updates(&self) -> Result<(), Error> {
        let Some(updates) = &self.replica_updates else { return Ok(()) };
        let mut moved = BTreeSet::new();
        for update in updates {
            let actions = [
                update.create.is_some(),
                update.update.is_some(),
                update.delete.is_some(),
                update.disassociate.is_some(),
            ];
            match actions.into_iter().filter(|given| *given).count() {
                0 => return Err(Error::replica_action_missing()),
                1 => {}
                _ => return Err(Error::replica_actions_mixed()),
            }
            if update.update.as_ref().is_some_and(changes_nothing) {
                return Err(Error::replica_action_missing());
            }
            moved.extend(update.create.iter().map(|create| (true, create.region_name.as_str())));
            moved.extend(update.delete.iter().map(|delete| (false, delete.region_name.as_str())));
        }
        let is_strong = self.multi_region_consistency == Some(MultiRegionConsistency::Strong);
        // Several are deleted at once from a table that is strong, which only the table can tell.
        let creates = moved.iter().any(|(is_new, _)| *is_new);
        if moved.len() > 1 && creates && !is_strong {
            return Err(Error::replica_actions_too_many());
        }
        let without = UpdateTableInput {
            replica_updates: None,
            multi_region_consistency: None,
            global_table_witness_updates: None,
            ..self.clone()
        };
        if without.changes_something() { Err(Error::replica_update_not_alone()) } else { Ok(()) }
    }

    fn index_updates(&self) -> &[GlobalSecondaryIndexUpdate] {
        self.global_secondary_index_updates.as_deref().unwrap_or_default()
    }

    fn vector_updates(&self) -> &[VectorIndexUpdate] {
        self.vector_index_updates.as_deref().unwrap_or_default()
    }

    fn check_index_update(
        &self,
        update: &GlobalSecondaryIndexUpdate,
        definitions: &[AttributeDefinition],
    ) -> Result<(), Error> {
        let actions = [update.create.is_some(), update.update.is_some(), update.delete.is_some()];
        match actions.into_iter().filter(|given| *given).count() {
            1 => {}
            0 => {
                return Err(Error::invalid_parameter(
                    "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, \
                     GlobalSecondaryIndexUpdate.Delete must not be null",
                ));
            }
            _ => {
                return Err(Error::invalid_parameter(
                    "Only one of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, \
                     GlobalSecondaryIndexUpdate.Delete may be specified",
                ));
            }
        }
        match &update.create {
            Some(create) => self.check_index(create, definitions),
            None => Ok(()),
        }
    }

    fn check_index(
        &self,
        create: &CreateGlobalSecondaryIndexAction,
        definitions: &[AttributeDefinition],
    ) -> Result<(), Error> {
        check_index_key_defined(&create.key_schema, definitions)?;
        check_composite_key(&create.key_schema)?;
        check_projection(&create.projection)?;
        // Whether throughput is needed depends on how the table is paid for now.
        match self.billing_mode {
            Some(mode) => {
                check_index_billing(mode, &create.index_name, create.provisioned_throughput.as_ref())
            }
            None => Ok(()),
        }
    }

    fn check_index_names(&self) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        match self.index_updates().iter().filter_map(index_name).find(|name| !seen.insert(*name)) {
            Some(twice) => Err(Error::invalid_parameter(format_args!(
                "Only one global secondary index update per index is allowed simultaneously. Index: {twice}"
            ))),
            None => Ok(()),
        }
    }
}

/// Whether an update of a replica has a Region and nothing else.
fn changes_nothing(update: &UpdateReplicationGroupMemberAction) -> bool {
    let region_name = update.region_name.clone();
    *update == UpdateReplicationGroupMemberAction { region_name, ..Default::default() }
}

fn index_name(update: &GlobalSecondaryIndexUpdate) -> Option<&str> {
    let create = update.create.as_ref().map(|action| &action.index_name);
    let change = update.update.as_ref().map(|action| &action.index_name);
    let delete = update.delete.as_ref().map(|action| &action.index_name);
    create.or(change).or(delete).map(String::as_str)
}
