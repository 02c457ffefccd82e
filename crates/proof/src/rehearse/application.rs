//! The application that keeps running during a migration: what it believes to be stored, and how it writes.
//!
//! It knows items by their attributes alone. Whether an item is stored in one form or in two depends on which
//! writers are deployed.

use std::collections::BTreeMap;

use item::Value;
use model::Model;
use model::migrate::{Fate, Layout};
use model::predict::item::Values;
use model::sample::variant::{another, variant};
use model::sample::{SampleItem, Scale, rekey, sample};

use super::message;
use super::stage::Stage;
use crate::migrate::form::{Form, fate};
use crate::migrate::request::{Condition, ItemChange, get, send};

/// Items of an entity are deleted only while there are more than this: something must be left to find.
const LEAST: usize = 4;
/// New items are numbered from here, apart from those the sample has.
const NEW_FROM: usize = 200;

/// Which writers are deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    Old,
    Both,
    New,
}

/// An item as the application knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownItem {
    pub entity: String,
    /// Without the keys that are composed of it.
    pub values: Values,
    /// The random suffix of its keys is drawn from this.
    pub random: usize,
}

impl KnownItem {
    /// All stored attributes of the item.
    pub fn stored(&self, form: Form<'_>) -> Values {
        form.keyed(self.values.clone(), self.random)
    }
}

/// More data than a proof has, so that jobs have many pages in which they can be disturbed.
const SCALE: Scale = Scale { roots: 6, children: 5 };

/// The old model's example data, each key once.
pub fn records(model: &Model) -> Vec<KnownItem> {
    let mut by_key: BTreeMap<String, KnownItem> = BTreeMap::new();
    for (position, item) in sample(model, SCALE).items.into_iter().enumerate() {
        let Some(id) = item.entity.filter(|id| model.entity(*id).key.is_some()) else { continue };
        let form = Form { model, id };
        let record = record(form, &item, position);
        let key = format!("{} {:?}", form.table(), form.key(&record.stored(form)));
        by_key.insert(key, record);
    }
    by_key.into_values().collect()
}

fn record(form: Form<'_>, item: &SampleItem, random: usize) -> KnownItem {
    KnownItem { entity: form.entity().name.value.clone(), values: form.plain(&item.values), random }
}

/// The forms in which the writers store items of an entity; the first one is authoritative.
pub fn forms<'m>(layout: &'m Layout, writers: Writers, entity: &str) -> Vec<Form<'m>> {
    let Some(fate) = fate(layout, entity) else { return Vec::new() };
    let old = |id| Form { model: &layout.old, id };
    let both = |id| Form { model: &layout.both, id };
    let new = |id| Form { model: &layout.target, id };
    match (fate, writers) {
        (Fate::Removed { old: id, .. }, _) => vec![old(id)],
        (Fate::Added { new: id }, _) => vec![new(id)],
        (Fate::Stays { old: id, .. } | Fate::Moves { old: id, .. }, Writers::Old) => vec![old(id)],
        (Fate::Stays { new: id, .. }, Writers::Both) => vec![both(id)],
        (Fate::Moves { new: id, both: old, .. }, Writers::Both) => vec![both(old), both(id)],
        (Fate::Stays { new: id, .. } | Fate::Moves { new: id, .. }, Writers::New) => vec![new(id)],
    }
}

impl<'m> Stage<'m> {
    /// Creates an item of every entity, changes one and deletes one, as far as there are writers.
    pub async fn go_on(&mut self) -> Result<(), String> {
        let mut entities: Vec<String> = self.ledger.iter().map(|record| record.entity.clone()).collect();
        entities.sort();
        entities.dedup();
        for entity in entities {
            self.turn += 1;
            self.create_another(&entity).await?;
            let own = self.positions(&entity);
            if let Some(position) = own.get(self.turn % own.len().max(1)) {
                self.change(*position).await?;
            }
            if own.len() > LEAST {
                self.delete(own[(self.turn * 7) % own.len()]).await?;
            }
        }
        Ok(())
    }

    /// New entities are first written when all steps are done.
    pub async fn start_new_entities(&mut self) -> Result<(), String> {
        let model = &self.layout.target;
        let made = sample(model, Scale::default()).items;
        for fate in &self.layout.fates {
            let Fate::Added { new } = *fate else { continue };
            let form = Form { model, id: new };
            for (position, item) in made.iter().enumerate().filter(|(_, item)| item.entity == Some(new)) {
                self.create(record(form, item, position)).await?;
            }
        }
        Ok(())
    }

    pub fn positions(&self, entity: &str) -> Vec<usize> {
        self.ledger.iter().enumerate().filter(|(_, one)| one.entity == entity).map(|(at, _)| at).collect()
    }

    fn is_written(&self, entity: &str) -> bool {
        let removed = matches!(fate(self.layout, entity), Some(Fate::Removed { .. }));
        !removed || self.writers == Writers::Old && self.over.is_empty()
    }

    pub async fn create_another(&mut self, entity: &str) -> Result<(), String> {
        let Some(first) = self.ledger.iter().find(|record| record.entity == entity).cloned() else {
            return Ok(());
        };
        let Some(form) = forms(self.layout, self.writers, entity).last().copied() else { return Ok(()) };
        let item = SampleItem {
            table: form.entity().table,
            entity: Some(form.id),
            name: None,
            values: first.stored(form),
            parent: None,
        };
        let number = NEW_FROM + self.turn;
        match variant(form.model, &item, number).filter(|_| self.is_written(entity)) {
            Some(item) => {
                let mut record = record(form, &item, number);
                record.entity = entity.to_owned();
                self.create(record).await
            }
            None => Ok(()),
        }
    }

    async fn create(&mut self, record: KnownItem) -> Result<(), String> {
        let puts = forms(self.layout, self.writers, &record.entity).into_iter().map(|form| ItemChange::Put {
            table: form.table().to_owned(),
            item: record.stored(form),
            conditions: vec![Condition::Lacks(form.partition())],
        });
        if send(self.database.endpoint(), puts.collect()).await.map_err(message)?.written {
            self.ledger.push(record);
            self.written += 1;
        }
        Ok(())
    }

    /// Gives every attribute that is not part of a key another value.
    pub async fn change(&mut self, position: usize) -> Result<(), String> {
        let mut record = self.ledger[position].clone();
        if !self.is_written(&record.entity) {
            return Ok(());
        }
        let changes = self.changes(&record);
        record.values.extend(changes.clone());
        let mut updates = Vec::new();
        for (place, form) in forms(self.layout, self.writers, &record.entity).into_iter().enumerate() {
            let key = form.key(&record.stored(form));
            let Some(from) = get(self.database.endpoint(), form.table(), &key).await.map_err(message)? else {
                if place == 0 {
                    return Err(format!("an item of {} is gone: {key:?}", record.entity));
                }
                // The item has not been copied yet.
                continue;
            };
            let mut to = from.clone();
            to.extend(changes.clone());
            rekey(form.model, form.id, &mut to, record.random);
            let conditions = vec![Condition::Exists(form.partition())];
            updates.push(ItemChange::Update { table: form.table().to_owned(), key, from, to, conditions });
        }
        if !changes.is_empty() && send(self.database.endpoint(), updates).await.map_err(message)?.written {
            self.ledger[position] = record;
            self.written += 1;
        }
        Ok(())
    }

    fn changes(&self, record: &KnownItem) -> Vec<(String, Value)> {
        let all = [Writers::Old, Writers::Both, Writers::New];
        let forms: Vec<Form<'_>> =
            all.into_iter().flat_map(|writers| forms(self.layout, writers, &record.entity)).collect();
        let Some(entity) = forms.first().map(|form| form.entity()) else { return Vec::new() };
        let in_key = |name: &str| {
            forms.iter().any(|form| form.entity().key_templates().any(|template| template.uses(name)))
        };
        let free = entity.attributes.values().filter(|one| one.constant.is_none() && !in_key(&one.name));
        let changes = free.filter_map(|one| {
            let old = record.values.get(&one.name)?;
            let new = another(entity, &one.name, Some(old));
            (new != *old).then(|| (one.name.clone(), new))
        });
        changes.collect()
    }

    pub async fn delete(&mut self, position: usize) -> Result<(), String> {
        let record = self.ledger[position].clone();
        if !self.is_written(&record.entity) {
            return Ok(());
        }
        let deletes = forms(self.layout, self.writers, &record.entity)
            .into_iter()
            .map(|form| ItemChange::delete(form.table(), form.key(&record.stored(form))));
        send(self.database.endpoint(), deletes.collect()).await.map_err(message)?;
        self.ledger.remove(position);
        self.written += 1;
        Ok(())
    }
}
