//! The current stage of a rehearsal: the database, what the application believes, and which writers are deployed.

use std::collections::BTreeSet;

use api::PutItemInput;
use model::Model;
use model::migrate::{Fate, Layout, StepKind};
use model::model::{Pattern, Table};
use model::predict::item::Values;
use model::sample::{SampleItem, item};

use super::application::{KnownItem, Writers, records};
use super::job::Done;
use super::report::PatternReport;
use super::schema;
use crate::database::Database;
use crate::migrate::form::{Form, fate};
use crate::migrate::request;
use crate::prove::try_reads;

pub struct Stage<'m> {
    pub(super) layout: &'m Layout,
    pub(super) database: Database,
    /// The items that the application believes to be stored.
    pub(super) ledger: Vec<KnownItem>,
    pub(super) writers: Writers,
    /// Patterns that were switched over.
    pub(super) over: BTreeSet<String>,
    /// Counts the application's turns, so that it does something else each time.
    pub(super) turn: usize,
    pub(super) written: usize,
    /// Old patterns that did not work before anything was changed.
    wrong: BTreeSet<String>,
}

impl<'m> Stage<'m> {
    /// Creates the old model's tables, with its example data.
    pub async fn open(layout: &'m Layout) -> Result<Stage<'m>, String> {
        let database = Database::open(&layout.old).await.map_err(|error| error.message)?;
        let ledger = records(&layout.old);
        for record in &ledger {
            let Some(id) = layout.old.entity_named(&record.entity) else { continue };
            let form = Form { model: &layout.old, id };
            let (table_name, item) = (form.table().to_owned(), item(&record.stored(form)));
            let input = PutItemInput { table_name, item, ..PutItemInput::default() };
            database.call(input).await.map_err(|error| error.message)?;
        }
        Ok(Stage {
            layout,
            database,
            ledger,
            writers: Writers::Old,
            over: BTreeSet::new(),
            turn: 0,
            written: 0,
            wrong: BTreeSet::new(),
        })
    }

    pub fn items(&self) -> usize {
        self.ledger.len()
    }

    pub fn writes(&self) -> usize {
        self.written
    }

    pub fn database(&self) -> &Database {
        &self.database
    }

    pub async fn carry_out(&mut self, kind: &StepKind) -> Result<Option<Done>, String> {
        match kind {
            StepKind::ChangeSetting(_) => {}
            StepKind::CreateTable { table } => {
                schema::create_table(&self.database, table_of(&self.layout.target, table)?).await?;
            }
            StepKind::CreateIndex { table, index } => {
                schema::create_index(&self.database, table_of(&self.layout.target, table)?, index).await?;
            }
            StepKind::StartDualWrites(_) => self.writers = Writers::Both,
            StepKind::BackFill(_) | StepKind::Copy(_) => return self.fill(kind).await.map(Some),
            StepKind::CutOver { pattern, .. } => {
                self.over.insert(pattern.clone());
            }
            StepKind::DeleteIndex { table, index } => {
                schema::delete_index(&self.database, table, index).await?;
            }
            StepKind::EndDualWrites(_) => self.writers = Writers::New,
            StepKind::RemoveAttributes { .. } => return self.clear(kind).await.map(Some),
            StepKind::DeleteItems { entity, .. } => {
                let done = self.clear(kind).await?;
                if matches!(fate(self.layout, entity), Some(Fate::Removed { .. })) {
                    self.ledger.retain(|record| record.entity != *entity);
                }
                return Ok(Some(done));
            }
            StepKind::DeleteTable { table } => schema::delete_table(&self.database, table).await?,
        }
        Ok(None)
    }

    pub async fn take_back(&mut self, kind: &StepKind) -> Result<(), String> {
        match kind {
            StepKind::CreateTable { table } => schema::delete_table(&self.database, table).await,
            StepKind::CreateIndex { table, index } => {
                schema::delete_index(&self.database, table, index).await
            }
            StepKind::StartDualWrites(_) => {
                self.writers = Writers::Old;
                self.restore(kind).await
            }
            StepKind::CutOver { pattern, .. } => {
                self.over.remove(pattern);
                Ok(())
            }
            StepKind::DeleteIndex { table, index } => {
                schema::create_index(&self.database, table_of(&self.layout.old, table)?, index).await
            }
            StepKind::EndDualWrites(_) => {
                self.writers = Writers::Both;
                self.restore(kind).await
            }
            StepKind::RemoveAttributes { .. } => self.restore(kind).await,
            // What jobs wrote is removed with the dual writes; the other steps can't be undone.
            StepKind::ChangeSetting(_)
            | StepKind::BackFill(_)
            | StepKind::Copy(_)
            | StepKind::DeleteItems { .. }
            | StepKind::DeleteTable { .. } => Ok(()),
        }
    }

    /// Tries every pattern as it is served now.
    pub async fn check(&self) -> Vec<PatternReport> {
        let (old, target) = (&self.layout.old, &self.layout.target);
        let is_old = |pattern: &&Pattern| !self.over.contains(&pattern.id.value);
        let is_new = |pattern: &&Pattern| self.over.contains(&pattern.id.value);
        let reads = |pattern: &&Pattern| {
            pattern.is_read() && pattern.external.is_none() && !self.wrong.contains(&pattern.id.value)
        };
        let of_old = old.patterns.iter().filter(reads).filter(is_old);
        let of_new = target.patterns.iter().filter(reads).filter(is_new);
        let of_old = try_reads(old, &self.database, self.data(old).await, of_old).await;
        let of_new = try_reads(target, &self.database, self.data(target).await, of_new).await;
        let report = |new: bool| move |proof| PatternReport { new, proof };
        of_old.into_iter().map(report(false)).chain(of_new.into_iter().map(report(true))).collect()
    }

    /// Old patterns that don't work before any step, so that no step is blamed for them.
    pub async fn wrong_from_the_start(&mut self) -> Vec<String> {
        let reports = self.check().await;
        let wrong = reports.iter().filter(|report| report.failures().next().is_some());
        self.wrong = wrong.map(|report| report.proof.pattern.clone()).collect();
        self.wrong.iter().cloned().collect()
    }

    /// The application's items as they are stored, in the form of a model.
    pub async fn data(&self, model: &Model) -> Vec<SampleItem> {
        let mut contents: Vec<(&str, Vec<Values>)> = Vec::new();
        for table in &model.tables {
            // A table that has not been created yet holds nothing.
            let found = request::all(self.database.endpoint(), &table.name).await.unwrap_or_default();
            contents.push((&table.name, found));
        }
        let stored = |form: Form<'_>, expected: &Values| {
            let (_, items) = contents.iter().find(|(table, _)| *table == form.table())?;
            items.iter().find(|item| form.key(item) == form.key(expected)).cloned()
        };
        let items = self.ledger.iter().filter_map(|record| {
            let id = model.entity_named(&record.entity)?;
            let form = Form { model, id };
            let expected = record.stored(form);
            let values = stored(form, &expected).unwrap_or(expected);
            let table = model.entity(id).table;
            Some(SampleItem { table, entity: Some(id), name: None, values, parent: None })
        });
        items.collect()
    }

    /// Items that the application has written and that are missing or different in the new form.
    pub async fn lost(&self) -> Vec<String> {
        let mut lost = Vec::new();
        for record in &self.ledger {
            let Some(id) = self.layout.target.entity_named(&record.entity) else { continue };
            let form = Form { model: &self.layout.target, id };
            let key = form.key(&record.stored(form));
            let found = request::get(self.database.endpoint(), form.table(), &key).await.ok().flatten();
            let whole = found.is_some_and(|found| {
                record.values.iter().all(|(name, value)| found.get(name) == Some(value))
            });
            if !whole {
                let key: Vec<String> = key.values().map(model::template::plain_text).collect();
                lost.push(format!("{} {} is lost or not as it was written", record.entity, key.join(" ")));
            }
        }
        lost
    }
}

fn table_of<'m>(model: &'m Model, name: &str) -> Result<&'m Table, String> {
    let found = model.tables.iter().find(|table| table.name.value == name);
    found.ok_or_else(|| format!("there is no table {name}"))
}
