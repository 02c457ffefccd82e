//! `lodestone model apply FILE --endpoint-url URL`.

use std::process::ExitCode;

use clap::Args;
use proof::Certificate;
use proof::apply::{self, Loaded, Outcome, TableChange, TableChanges};
use serde_json::{Value, json};

use super::endpoint::{EndpointArguments, Http, explained, runtime};
use super::progress::Progress;
use super::{FOUND, ModelFile, UNREADABLE, output, prove};

/// Create the model's tables on a database, or change them to match the model.
///
/// Differences are found by DescribeTable, and changed one at a time. What the model leaves open stays
/// as it is. Nothing is deleted or overwritten unless it is asked for. `--plan` shows what would be done.
///
/// The status is 0 if everything matches the model, 1 if something can't be changed or is not proven, 2 if the file
/// is not a model or the database does not answer, 3 if the database differs from the model: with `--plan`, before
/// anything is done; without it, because something was left alone.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone model apply model.yaml --endpoint-url http://localhost:8000 --plan
  lodestone model apply model.yaml --endpoint-url http://localhost:8000 --samples --prove
  lodestone model apply model.yaml --endpoint-url https://dynamodb.eu-west-1.amazonaws.com --profile work")]
pub struct Apply {
    #[command(flatten)]
    file: ModelFile,

    #[command(flatten)]
    endpoint: EndpointArguments,

    /// Show what would be done, and change nothing
    #[arg(long, conflicts_with_all = ["samples", "prove"])]
    plan: bool,

    /// Delete indexes that the model does not have, and create those again that it has in another form
    #[arg(long)]
    delete_indexes: bool,

    /// Load sample data, generated from the key templates; existing items stay as they are
    #[arg(long)]
    samples: bool,

    /// Let sample data replace items with the same keys
    #[arg(long, requires = "samples")]
    overwrite: bool,

    /// Prove every access pattern on this database, in separate tables that are deleted afterwards
    #[arg(long)]
    prove: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Exit status: nothing failed, and the database is not what the model says.
const DIFFERS: u8 = 3;

/// The result for one table.
struct Applied {
    table: String,
    changes: TableChanges,
    /// One for each change that was tried; the last may be an error.
    outcomes: Vec<Outcome>,
    error: Option<api::Error>,
}

impl Apply {
    pub fn run(self) -> ExitCode {
        let (source, model) = match self.file.source_and_model() {
            Ok(read) => read,
            Err(status) => return status,
        };
        let endpoint = match self.endpoint.open() {
            Ok(endpoint) => endpoint,
            Err(status) => return status,
        };
        match runtime().block_on(self.apply(&model, endpoint.clone())) {
            Ok(report) => {
                match self.json {
                    true => output::print_json(&report.json(&endpoint.address(), &source)),
                    false => report.print(&endpoint.address(), self.plan),
                }
                ExitCode::from(match report.is_right() {
                    false => FOUND,
                    true if report.differs(self.plan) => DIFFERS,
                    true => 0,
                })
            }
            Err(error) => {
                output::print_error(&explained(&error));
                ExitCode::from(UNREADABLE)
            }
        }
    }

    async fn apply(
        &self,
        model: &model::Model,
        endpoint: std::sync::Arc<Http>,
    ) -> Result<Report, api::Error> {
        let mut report = Report::default();
        for table in &model.tables {
            report.tables.extend(self.table(table, &endpoint).await?);
        }
        if self.plan || !report.is_right() {
            return Ok(report);
        }
        if self.samples {
            let progress = Progress::new();
            let tell = |done, all| progress.count("samples", done, all);
            report.loaded = Some(apply::load_samples(model, endpoint.as_ref(), self.overwrite, tell).await?);
        }
        if self.prove {
            let progress = Progress::new();
            let tell = |text: &str| progress.tell(&format!("proving: {text}"));
            let mark = format!("{:08x}", getrandom::u32().unwrap_or(0));
            report.certificate = Some(apply::prove_beside(model, endpoint, &mark, tell).await?);
        }
        Ok(report)
    }

    /// `None` if the table has no keys yet.
    async fn table(
        &self,
        table: &model::model::Table,
        endpoint: &Http,
    ) -> Result<Option<Applied>, api::Error> {
        let name = &table.name.value;
        let progress = Progress::new();
        progress.tell(name);
        let state = apply::observe(endpoint, name).await?;
        let Some(changes) = apply::changes(table, state.as_ref(), self.delete_indexes) else {
            return Ok(None);
        };
        let mut applied = Applied { table: name.clone(), changes, outcomes: Vec::new(), error: None };
        if self.plan || applied.changes.changes.is_empty() {
            return Ok(Some(applied));
        }
        if state.is_some() {
            apply::wait_until_active(endpoint, name, |status| progress.tell(&format!("{name}: {status}")))
                .await?;
        }
        for change in &applied.changes.changes {
            progress.tell(&change.what);
            let tell = |status: &str| progress.tell(&format!("{}: {status}", change.what));
            match apply::carry_out(endpoint, change, tell).await {
                Ok(outcome) => applied.outcomes.push(outcome),
                Err(error) => {
                    applied.error = Some(error);
                    break;
                }
            }
        }
        let state = apply::observe(endpoint, name).await?;
        applied.compare(apply::changes(table, state.as_ref(), self.delete_indexes).unwrap_or_default());
        Ok(Some(applied))
    }
}

/// Everything that is printed at the end.
#[derive(Default)]
struct Report {
    tables: Vec<Applied>,
    loaded: Option<Loaded>,
    certificate: Option<Certificate>,
}

impl Report {
    fn is_right(&self) -> bool {
        self.tables.iter().all(|table| table.changes.impossible.is_empty() && table.error.is_none())
            && self.certificate.as_ref().is_none_or(Certificate::is_proven)
    }

    /// Whether something is left to do: for a plan, everything that it would change.
    fn differs(&self, plan: bool) -> bool {
        self.tables.iter().any(|table| {
            let undone = table.outcomes.iter().any(|outcome| *outcome != Outcome::Done);
            !table.changes.left.is_empty() || undone || (plan && !table.changes.changes.is_empty())
        })
    }

    fn print(&self, address: &str, plan: bool) {
        if self.tables.is_empty() {
            output::print_text("no table has keys yet: `lodestone model design` finds them\n");
        }
        for table in &self.tables {
            table.print(address, plan);
        }
        if let Some(loaded) = self.loaded {
            let kept = match loaded.kept {
                0 => String::new(),
                kept => format!(", {kept} differ from what is there and were left out (--overwrite)"),
            };
            let (written, present) = (loaded.written, loaded.present);
            output::print_text(&format!("samples: {written} items written, {present} were there{kept}\n"));
        }
        if let Some(certificate) = &self.certificate {
            prove::print(certificate);
        }
    }

    fn json(&self, address: &str, source: &model::Source) -> Value {
        let mut json = json!({
            "endpoint": address,
            "tables": self.tables.iter().map(Applied::json).collect::<Vec<_>>(),
        });
        if let Some(loaded) = self.loaded {
            let Loaded { written, present, kept } = loaded;
            json["samples"] = json!({ "written": written, "present": present, "kept": kept });
        }
        if let Some(certificate) = &self.certificate {
            json["certificate"] = certificate.json(source);
        }
        json
    }
}

impl Applied {
    /// Changes that are still needed were accepted by the database, but not kept.
    fn compare(&mut self, rest: TableChanges) {
        for (change, outcome) in self.changes.changes.iter().zip(&mut self.outcomes) {
            if *outcome == Outcome::Done && rest.changes.iter().any(|one| one.what == change.what) {
                *outcome = Outcome::NotKept;
            }
        }
        let tried = |rest: &TableChange| self.changes.changes.iter().any(|change| change.what == rest.what);
        let lost: Vec<&TableChange> = rest.changes.iter().filter(|rest| !tried(rest)).collect();
        if self.error.is_none() {
            let notes = lost.iter().map(|change| format!("{}: not kept by this database", change.what));
            self.changes.left.extend(notes);
        }
    }

    /// Each change with its result.
    fn ends(&self, plan: bool) -> impl Iterator<Item = (&TableChange, &'static str)> {
        let ended = move |position: usize| match self.outcomes.get(position) {
            _ if plan => "planned",
            Some(Outcome::Done) => "done",
            Some(Outcome::NotServed) => "not served by this database",
            Some(Outcome::NotKept) => "not kept by this database",
            None if position == self.outcomes.len() && self.error.is_some() => "failed",
            None => "not done",
        };
        self.changes.changes.iter().enumerate().map(move |(position, change)| (change, ended(position)))
    }

    fn print(&self, address: &str, plan: bool) {
        output::print_text(&format!("{} at {address}\n", self.table));
        let widest = self.changes.changes.iter().map(|change| change.what.chars().count()).max().unwrap_or(0);
        for (change, end) in self.ends(plan) {
            output::print_text(&format!("  {:<widest$}  {end}\n", change.what));
        }
        for left in &self.changes.left {
            output::print_text(&format!("  left alone: {left}\n"));
        }
        for impossible in &self.changes.impossible {
            output::print_text(&format!("  impossible: {impossible}\n"));
        }
        match &self.error {
            Some(error) => output::print_text(&format!("  {}\n", explained(error))),
            None if self.changes == TableChanges::default() => output::print_text("  nothing to change\n"),
            None => {}
        }
    }

    fn json(&self) -> Value {
        let plan = self.outcomes.is_empty() && self.error.is_none();
        let change = |(change, end): (&TableChange, &'static str)| {
            json!({
                "what": change.what, "operation": change.operation, "input": change.input, "outcome": end,
            })
        };
        json!({
            "table": self.table,
            "changes": self.ends(plan).map(change).collect::<Vec<_>>(),
            "left": self.changes.left,
            "impossible": self.changes.impossible,
            "error": self.error.as_ref().map(explained),
        })
    }
}
