//! The steps of a migration, forwards and back, from wherever the record says.

use std::cell::{Cell, Ref, RefCell};
use std::time::Duration;

use api::{Error, ErrorKind};
use futures_util::future::LocalBoxFuture;
use model::migrate::{Layout, Migration, Setting, Step, StepKind};
use model::model::Table;
use serde_json::{Value, json};

use super::form::Form;
use super::job::{Job, jobs, jobs_back};
use super::rate_limit::{Allowance, RateLimit};
use super::record::{FinishedJob, JobRecord, Record, StepRecord};
use super::sweep::Sweep;
use super::{Watcher, settings};
use crate::apply::state::describe;
use crate::apply::{TableChange, TableChanges, carry_out, changes, observe, wait_until_active};
use crate::endpoint::{Endpoint, ask};

/// How often it is looked whether a table is gone or a backup is there, with a second between: an hour.
const LOOKS_MAX: usize = 3_600;
const LOOK_PAUSE: Duration = Duration::from_secs(1);
const FIRST_LOOK_PAUSE: Duration = Duration::from_millis(20);

/// Why a run ended before the last step.
#[derive(Debug)]
pub enum Stop {
    /// Somebody asked for it.
    Paused,
    /// The step, from 1, is done by people.
    ByPeople(usize),
    /// The step, from 1, can't be undone, and the user has not allowed it.
    NotAllowed(usize),
    Failed(String),
    Request(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Request(error)
    }
}

pub struct Run<'a> {
    pub endpoint: &'a dyn Endpoint,
    pub watcher: &'a dyn Watcher,
    pub migration: &'a Migration,
    pub allowance: Allowance,
    /// Parallel segments of a scan.
    pub segments: usize,
    /// Up to which step, from 1, people have done what is theirs; on the way back, down to which.
    pub deployed: Option<usize>,
    /// Whether steps may be taken that can't be undone.
    pub delete: bool,
    pub ignore_unknown: bool,
    pub record: RefCell<Record>,
}

impl Run<'_> {
    /// All steps that are not done yet.
    pub fn forwards(&self) -> LocalBoxFuture<'_, Result<(), Stop>> {
        Box::pin(async move {
            while let Some(step) = self.migration.steps.get(self.done()) {
                let number = self.done() + 1;
                self.watcher.tell(&step.title);
                if !step.rollback.reversible && !self.delete {
                    return Err(Stop::NotAllowed(number));
                }
                self.step(number, step).await?;
                self.finish(StepRecord { step: number, name: step.kind.name(), ..StepRecord::default() })?;
            }
            Ok(())
        })
    }

    /// The way back from the last step that was done to the first.
    pub fn backwards(&self) -> LocalBoxFuture<'_, Result<(), Stop>> {
        Box::pin(async move {
            self.keep()?;
            while let Some(last) = self.done().checked_sub(1) {
                let step = &self.migration.steps[last];
                self.watcher.tell(&format!("back: {}", step.title));
                self.step_back(last + 1, step).await?;
                let name = step.kind.name();
                self.finish(StepRecord { step: last + 1, name, back: true, ..StepRecord::default() })?;
            }
            Ok(())
        })
    }

    pub fn record(&self) -> Ref<'_, Record> {
        self.record.borrow()
    }

    fn done(&self) -> usize {
        self.record.borrow().done
    }

    fn layout(&self) -> &Layout {
        &self.migration.layout
    }

    fn keep(&self) -> Result<(), Stop> {
        self.watcher.keep(&self.record.borrow()).map_err(Stop::Failed)
    }

    fn finish(&self, step: StepRecord) -> Result<(), Stop> {
        {
            let mut record = self.record.borrow_mut();
            record.done = if step.back { step.step - 1 } else { step.step };
            record.job = None;
            let (jobs, backup) = (std::mem::take(&mut record.finished), record.backup.take());
            record.history.push(StepRecord { jobs, backup, ..step });
        }
        self.keep()
    }

    async fn step(&self, number: usize, step: &Step) -> Result<(), Stop> {
        match &step.kind {
            StepKind::ChangeSetting(setting) => self.set(number, setting, false).await?,
            StepKind::CreateTable { table } => {
                self.create_table(table_of(&self.layout().target, table)?).await?
            }
            StepKind::CreateIndex { table, index } => {
                self.create_index(table_of(&self.layout().target, table)?, index).await?;
            }
            StepKind::StartDualWrites(_) | StepKind::CutOver { .. } | StepKind::EndDualWrites(_) => {
                self.by_people(number, false)?;
            }
            StepKind::BackFill(_) | StepKind::Copy(_) | StepKind::RemoveAttributes { .. } => {
                self.jobs(jobs(self.layout(), &step.kind)).await?;
            }
            StepKind::DeleteItems { table, .. } => {
                self.back_up(table, number).await?;
                self.jobs(jobs(self.layout(), &step.kind)).await?;
            }
            StepKind::DeleteIndex { table, index } => self.delete_index(table, index).await?,
            StepKind::DeleteTable { table } => self.delete_table(table, number).await?,
        }
        Ok(())
    }

    async fn step_back(&self, number: usize, step: &Step) -> Result<(), Stop> {
        match &step.kind {
            StepKind::ChangeSetting(setting) => self.set(number, setting, true).await?,
            StepKind::CreateTable { table } => self.drop_table(table).await?,
            StepKind::CreateIndex { table, index } => self.delete_index(table, index).await?,
            StepKind::StartDualWrites(_) | StepKind::EndDualWrites(_) => {
                self.by_people(number, true)?;
                self.jobs(jobs_back(self.layout(), &step.kind)).await?;
            }
            StepKind::RemoveAttributes { .. } => {
                self.jobs(jobs_back(self.layout(), &step.kind)).await?;
            }
            StepKind::CutOver { .. } => self.by_people(number, true)?,
            StepKind::DeleteIndex { table, index } => {
                self.create_index(table_of(&self.layout().old, table)?, index).await?;
            }
            // What jobs wrote is removed with the dual writes.
            StepKind::BackFill(_) | StepKind::Copy(_) => {}
            StepKind::DeleteItems { .. } | StepKind::DeleteTable { .. } => {
                return Err(Stop::NotAllowed(number));
            }
        }
        Ok(())
    }

    fn by_people(&self, number: usize, back: bool) -> Result<(), Stop> {
        let is_done = match self.deployed {
            Some(deployed) if back => deployed <= number,
            Some(deployed) => deployed >= number,
            None => false,
        };
        if is_done { Ok(()) } else { Err(Stop::ByPeople(number)) }
    }

    async fn set(&self, number: usize, setting: &Setting, back: bool) -> Result<(), Stop> {
        if settings::is_by_hand(setting) {
            return self.by_people(number, back);
        }
        let table = settings::table_name(setting);
        self.settled(table).await?;
        let state = observe(self.endpoint, table).await?;
        let state = state.ok_or_else(|| Stop::Failed(format!("there is no table {table}")))?;
        for change in settings::requests(self.layout(), setting, back, &state) {
            self.carry_out(&change).await?;
        }
        Ok(())
    }

    async fn create_table(&self, table: &Table) -> Result<(), Stop> {
        if describe(self.endpoint, &table.name).await?.is_some() {
            // It was created before this process was started, or there is another of the same name.
            self.settled(&table.name).await?;
            let state = observe(self.endpoint, &table.name).await?;
            return match changes(table, state.as_ref(), false) {
                Some(TableChanges { impossible, left, .. }) if impossible.is_empty() && left.is_empty() => {
                    Ok(())
                }
                _ => Err(Stop::Failed(format!("there is another table {} already", table.name.value))),
            };
        }
        for change in changes(table, None, false).unwrap_or_default().changes {
            self.carry_out(&change).await?;
        }
        Ok(())
    }

    async fn create_index(&self, table: &Table, index: &str) -> Result<(), Stop> {
        self.settled(&table.name).await?;
        let state = observe(self.endpoint, &table.name).await?;
        let Some(TableChanges { changes, left, impossible }) = changes(table, state.as_ref(), false) else {
            return Err(Stop::Failed(format!("{} has no key", table.name.value)));
        };
        let about = format!("index {index}: ");
        if let Some(problem) = impossible.first().or(left.iter().find(|left| left.starts_with(&about))) {
            return Err(Stop::Failed(format!("{}: {problem}", table.name.value)));
        }
        match changes.iter().find(|change| change.what == format!("create index {index}")) {
            Some(change) => self.carry_out(change).await,
            None => Ok(()),
        }
    }

    async fn delete_index(&self, table: &str, index: &str) -> Result<(), Stop> {
        self.settled(table).await?;
        let described = describe(self.endpoint, table).await?.unwrap_or_default();
        let mut indexes = described["GlobalSecondaryIndexes"].as_array().into_iter().flatten();
        if !indexes.any(|one| one["IndexName"] == index) {
            return Ok(());
        }
        let delete = json!([{ "Delete": { "IndexName": index } }]);
        let input = json!({ "TableName": table, "GlobalSecondaryIndexUpdates": delete });
        self.carry_out(&TableChange {
            what: format!("delete index {index}"),
            operation: "UpdateTable",
            input,
        })
        .await
    }

    async fn delete_table(&self, table: &str, number: usize) -> Result<(), Stop> {
        let Some(described) = describe(self.endpoint, table).await? else { return Ok(()) };
        self.back_up(table, number).await?;
        if described["DeletionProtectionEnabled"] == true {
            let off = json!({ "TableName": table, "DeletionProtectionEnabled": false });
            ask(self.endpoint, "UpdateTable", &off).await?;
        }
        self.drop_table(table).await
    }

    async fn drop_table(&self, table: &str) -> Result<(), Stop> {
        match ask(self.endpoint, "DeleteTable", &json!({ "TableName": table })).await {
            Err(error) if error.kind == ErrorKind::ResourceNotFound => return Ok(()),
            answer => answer?,
        };
        self.look(|| async { Ok(describe(self.endpoint, table).await?.is_none()) }, table).await
    }

    /// Once for each step.
    async fn back_up(&self, table: &str, number: usize) -> Result<(), Stop> {
        if self.record.borrow().backup.is_some() {
            return Ok(());
        }
        let name = format!("before-step-{number}-of-migration");
        let input = json!({ "TableName": table, "BackupName": name });
        let answer = ask(self.endpoint, "CreateBackup", &input).await?;
        let arn = answer["BackupDetails"]["BackupArn"].as_str().unwrap_or_default().to_owned();
        let is_there = || async {
            let answer = ask(self.endpoint, "DescribeBackup", &json!({ "BackupArn": arn })).await?;
            Ok(answer["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE")
        };
        self.look(is_there, &name).await?;
        self.record.borrow_mut().backup = Some(arn.clone());
        self.keep()
    }

    async fn look<F: Future<Output = Result<bool, Error>>>(
        &self,
        mut is_so: impl FnMut() -> F,
        what: &str,
    ) -> Result<(), Stop> {
        let mut pause = FIRST_LOOK_PAUSE;
        for _ in 0..LOOKS_MAX {
            if is_so().await? {
                return Ok(());
            }
            if self.watcher.is_pausing() {
                return Err(Stop::Paused);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LOOK_PAUSE);
        }
        Err(Stop::Failed(format!("{what} has not become what it should within an hour")))
    }

    async fn settled(&self, table: &str) -> Result<(), Stop> {
        let tell = |status: &str| self.watcher.tell(&format!("{table}: {status}"));
        Ok(wait_until_active(self.endpoint, table, tell).await?)
    }

    async fn carry_out(&self, change: &TableChange) -> Result<(), Stop> {
        let tell = |status: &str| self.watcher.tell(&format!("{}: {status}", change.what));
        carry_out(self.endpoint, change, tell).await?;
        Ok(())
    }

    /// One after the other, from the one that the record has.
    async fn jobs(&self, jobs: Vec<Job<'_>>) -> Result<(), Stop> {
        let first = self.record.borrow().finished.len();
        for job in jobs.iter().skip(first) {
            let new = || JobRecord::new(self.segments);
            self.record.borrow_mut().job.get_or_insert_with(new).take_up();
            self.keep()?;
            let ended = self.sweep(job).await;
            // Whatever it did is counted: only a process that is killed does not get here.
            self.record.borrow_mut().job.iter_mut().for_each(|job| job.is_running = false);
            if ended.is_err() {
                self.keep()?;
            }
            let finished = ended?;
            let mut record = self.record.borrow_mut();
            record.job = None;
            record.finished.push(finished);
            drop(record);
            self.keep()?;
        }
        Ok(())
    }

    async fn sweep(&self, job: &Job<'_>) -> Result<FinishedJob, Stop> {
        let mut tables = vec![job.form.table().to_owned()];
        tables.extend(self.layout().target.tables.iter().map(|table| table.name.value.clone()));
        tables.dedup();
        let mut described: Vec<Value> = Vec::new();
        for table in &tables {
            described.extend(describe(self.endpoint, table).await?);
        }
        let both = &self.layout().both;
        let sweep = Sweep {
            endpoint: self.endpoint,
            watcher: self.watcher,
            rate_limit: RateLimit::new(self.allowance, &described),
            job,
            known: both.entity_ids().map(|id| Form { model: both, id }).collect(),
            items: described.first().and_then(|table| table["ItemCount"].as_u64()).unwrap_or(0),
            ignore_unknown: self.ignore_unknown,
            record: &self.record,
            ending: Cell::new(false),
        };
        sweep.finish().await
    }
}

fn table_of<'m>(model: &'m model::Model, name: &str) -> Result<&'m Table, Stop> {
    let found = model.tables.iter().find(|table| table.name.value == name);
    found.ok_or_else(|| Stop::Failed(format!("there is no table {name}")))
}
