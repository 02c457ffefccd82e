//! The settings that all members share: billing and throughput, global indexes, time to live, encryption and table
//! class. A change in one Region is carried over to the others; what a Region overrides stays its own.
//!
//! [`align`] makes one table like another and may be repeated: it is used after each change, and for all global tables
//! when the database is opened, in case it was closed between two members.

use std::sync::Arc;

use api::limits;
use item::Type;
use store::{Space, StoreError};

use super::destination::Destination;
use super::in_region;
use super::peer::News;
use crate::base::membership::Overrides;
use crate::base::table::{
    Encryption, Expiry, Index, IndexState, KeyAttribute, KeySchema, NewIndex, OnDemandMax, Scope, Table,
    TableClass, Throughput,
};
use crate::regions::Regions;
use crate::tables::catalog::LiveTable;
use crate::tables::clearing::Clearing;

/// What this Region overrides.
fn own_overrides(table: &Table) -> Option<&Overrides> {
    table.membership.as_ref()?.overrides.get(&*table.namespace.region)
}

/// Gives a table the throughput, class and encryption of another member, except for what its Region has of its own.
pub fn take_settings(table: &mut Table, source: &Table) {
    let own_max = table.billing.on_demand_max.read_units;
    table.billing = source.billing.clone();
    table.billing.on_demand_max = OnDemandMax { read_units: own_max, ..source.billing.on_demand_max };
    let group_units = source.membership.as_ref().and_then(|membership| membership.group_read_units);
    table.billing.read_units = group_units.unwrap_or(source.billing.read_units);
    table.class.clone_from(&source.class);
    match (&source.encryption, &table.encryption) {
        (Some(_), None) => table.encryption = Some(Encryption { key: None }),
        (None, Some(_)) => table.encryption = None,
        _ => {}
    }
}

/// Puts what the table's Region overrides in place of what the group has.
pub fn apply_overrides(table: &mut Table) {
    let Some(own) = own_overrides(table).cloned() else { return };
    if let Some(units) = own.read_units.filter(|_| table.billing.read_units > 0) {
        let current_units = std::mem::replace(&mut table.billing.read_units, units);
        if let Some(membership) = &mut table.membership {
            membership.group_read_units.get_or_insert(current_units);
        }
    }
    if own.max_read_units.is_some() {
        table.billing.on_demand_max.read_units = own.max_read_units;
    }
    if let Some(infrequent_access) = own.infrequent_access {
        table.class = Some(TableClass { infrequent_access, changed_ms: None });
    }
    if let Some(key) = own.kms_key {
        table.encryption = Some(Encryption { key: Some(key) });
    }
    for (name, own) in own.indexes {
        let index = table.indexes.iter_mut().find(|index| index.name == name && index.is_global());
        let Some(billing) = index.and_then(|index| index.billing.as_mut()) else { continue };
        if let Some(units) = own.read_units.filter(|_| billing.read_units > 0) {
            billing.read_units = units;
        }
        if own.max_read_units.is_some() {
            billing.on_demand_max.read_units = own.max_read_units;
        }
    }
}

/// Notes that shared settings were changed here, and keeps what this Region overrides. `has_new_throughput` says
/// whether the throughput that the table now has is the group's.
pub fn note_change(table: &mut Table, has_new_throughput: bool, now_us: u64) {
    if let Some(membership) = &mut table.membership {
        membership.settings_us = membership.settings_us.max(now_us) + 1;
        if has_new_throughput {
            membership.group_read_units = None;
        }
    }
    apply_overrides(table);
}

/// The table with the settings of another member. Numbers from `unused` on are free for new indexes.
fn align(table: &Table, source: &Table, unused: Space) -> Table {
    let mut aligned = table.clone();
    if own_overrides(table).is_some_and(|own| own.max_read_units.is_some()) {
        aligned.billing.on_demand_max.read_units = None;
    }
    if let (Some(membership), Some(source)) = (&mut aligned.membership, &source.membership) {
        membership.group_read_units = None;
        membership.settings_us = source.settings_us;
        membership.overrides.clone_from(&source.overrides);
    }
    take_settings(&mut aligned, source);
    aligned.definitions.clone_from(&source.definitions);
    align_indexes(&mut aligned, source, unused);
    if aligned.time_to_live != source.time_to_live {
        aligned.time_to_live.clone_from(&source.time_to_live);
        let space = Space(aligned.numbers_end().max(unused.0));
        aligned.expiry = source.time_to_live.is_some().then(|| Expiry::new(space));
    }
    apply_overrides(&mut aligned);
    aligned
}

fn align_indexes(table: &mut Table, source: &Table, unused: Space) {
    let is_kept = |index: &&Index| index.state != IndexState::Deleting;
    // A local index is there from the first table on.
    let is_shared = |index: &Index| index.scope != Scope::Local;
    for index in table.indexes.iter_mut().filter(|index| is_shared(index)) {
        match source.index(&index.name).filter(is_kept) {
            Some(_) if index.scope == Scope::Vector => {}
            Some(other) => {
                let own_max = index.billing.unwrap_or_default().on_demand_max.read_units;
                index.billing = other.billing.map(|billing| Throughput {
                    on_demand_max: OnDemandMax { read_units: own_max, ..billing.on_demand_max },
                    ..billing
                });
            }
            None => index.state = IndexState::Deleting,
        }
    }
    for index in source.indexes.iter().filter(is_kept).filter(|index| is_shared(index)) {
        if table.index(&index.name).is_none() {
            let space = Space(table.numbers_end().max(unused.0));
            table.indexes.push(NewIndex::like(index).in_space(space, IndexState::Creating));
        }
    }
}

/// Whether the keys of a table that another server describes can be keys.
pub fn has_sound_keys(table: &Table) -> bool {
    let is_scalar = |attribute: &KeyAttribute| matches!(attribute.kind, Type::S | Type::N | Type::B);
    let are_sound = |keys: &KeySchema| !keys.partition.is_empty() && keys.attributes().all(is_scalar);
    are_sound(&table.keys)
        && table.indexes.iter().all(|index| match &index.vector {
            // Its partition key is optional.
            Some(vector) => {
                let is_alone = index.keys.partition.len() <= 1 && index.keys.sort.is_empty();
                let lengths = 1..=limits::VECTOR_DIMENSIONS_MAX as usize;
                let mut attributes = index.keys.attributes().chain(&vector.filters);
                index.scope == Scope::Vector
                    && is_alone
                    && lengths.contains(&vector.dimensions)
                    && attributes.all(is_scalar)
            }
            None => index.scope != Scope::Vector && are_sound(&index.keys),
        })
}

impl Regions {
    /// Carries the shared settings of a member over to the others. A peer that is away gets them later.
    pub(crate) async fn align_others(self: &Arc<Regions>, source: &Arc<LiveTable>) -> Result<(), StoreError> {
        let Some(membership) = &source.membership else { return Ok(()) };
        for replica in &membership.replicas {
            match Destination::of(self, source, &replica.region) {
                Some(Destination::Here(other)) if other.membership.is_some() => {
                    self.align_with(&other, source.table.clone()).await?;
                }
                Some(Destination::There(peer)) => {
                    let news = News::Settings(Box::new(source.table.clone()));
                    match self.send_news(&peer, source, &replica.region, news).await {
                        Ok(_) | Err(StoreError::Unavailable(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
                Some(Destination::Here(_)) | None => {}
            }
        }
        Ok(())
    }

    /// A member takes over the shared settings of another, if those are newer.
    pub(super) async fn align_one(
        self: &Arc<Regions>,
        member: &Arc<LiveTable>,
        source: &Table,
    ) -> Result<(), StoreError> {
        let settings_us = |table: &Table| table.membership.as_ref().map_or(0, |own| own.settings_us);
        if settings_us(source) > settings_us(member) {
            self.align_with(member, source.clone()).await?;
        }
        Ok(())
    }

    async fn align_with(self: &Arc<Regions>, other: &Arc<LiveTable>, like: Table) -> Result<(), StoreError> {
        let aligned = move |table: &Table, unused| Ok::<_, ()>(align(table, &like, unused));
        let replaced = self.catalog.replace(&other.namespace, &other.name, aligned).await?;
        let Some(Ok(now)) = replaced else { return Ok(()) };
        let is_changed = |index: &&Index| {
            other.index(&index.name).is_none_or(|before| before.state != index.state)
                && index.state != IndexState::Active
        };
        for index in now.indexes.iter().filter(is_changed) {
            self.start_index_change(&now, index);
        }
        if now.expiry != other.expiry {
            self.start_expiry_fill(&now);
            if let Some(before) = other.expiry {
                let clearing = Clearing::of_part(self.catalog.clone(), other.clone(), before.space());
                self.background.start(clearing);
            }
        }
        Ok(())
    }

    /// Carries over what a change did not reach before the database was closed.
    pub(crate) async fn align_members(self: &Arc<Regions>) -> Result<(), StoreError> {
        for table in self.catalog.all() {
            let Some(own) = &table.membership else { continue };
            let settings_of = |region: &String| {
                let other = self.catalog.find(&in_region(&table, region), &table.name)?;
                other.membership.as_ref().map(|other| other.settings_us)
            };
            let others = own.replicas.iter().filter_map(|replica| settings_of(&replica.region));
            if others.min().is_some_and(|least| least < own.settings_us) {
                self.align_others(&table).await?;
            }
        }
        Ok(())
    }
}
