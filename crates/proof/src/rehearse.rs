//! Plays a migration on a database in memory before it is done anywhere else.
//!
//! The old model's tables are created and filled. Then every step is carried out through the real operations:
//! UpdateTable, UpdateItem with the plan's conditions, transactions that copy. The application keeps
//! writing in the meantime, also to items that a job has just read ([`application`]). After each step the
//! patterns that must work at that point are tried: each old one until it is switched over, each new one from
//! then on. At the end the new model is proven on the migrated data, and no item may be lost. Finally the steps up
//! to each one are played again and undone, and the old patterns must work as before.
//!
//! Settings of tables are not played: they do not change what a pattern finds. All tables are on demand here,
//! whatever the models say.

mod application;
mod job;
mod report;
mod schema;
mod stage;

use model::migrate::{Layout, Migration, Step, StepKind};
use model::model::Billing;

use crate::prove;
use stage::Stage;

pub use report::{PatternReport, Rehearsal, RollbackReport, StepReport};

pub fn rehearse(migration: &Migration) -> Rehearsal {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime without threads needs nothing").block_on(play(migration))
}

async fn play(migration: &Migration) -> Rehearsal {
    let layout = on_demand(&migration.layout);
    let mut rehearsal = forwards(&layout, &migration.steps).await;
    let reversible = migration.steps.iter().take_while(|step| step.rollback.reversible).count();
    let reached = rehearsal.steps.iter().take_while(|step| step.failures.is_empty()).count();
    for count in 1..=reversible.min(reached) {
        let failures =
            backwards(&layout, &migration.steps[..count]).await.unwrap_or_else(|failure| vec![failure]);
        rehearsal.rollbacks.push(RollbackReport { steps: count, failures });
    }
    rehearsal
}

/// All steps, each with the patterns that work after it; up to the first that fails.
async fn forwards(layout: &Layout, steps: &[Step]) -> Rehearsal {
    let mut rehearsal = Rehearsal::default();
    let mut stage = match Stage::open(layout).await {
        Ok(stage) => stage,
        Err(failure) => return Rehearsal { failures: vec![failure], ..rehearsal },
    };
    rehearsal.items = stage.items();
    rehearsal.unproven = stage.wrong_from_the_start().await;
    for (position, step) in steps.iter().enumerate() {
        let report = report(&mut stage, position + 1, step).await;
        let failed = !report.failures.is_empty();
        rehearsal.steps.push(report);
        if failed {
            return rehearsal;
        }
    }
    rehearsal.failures.extend(stage.start_new_entities().await.err());
    rehearsal.failures.extend(stage.lost().await);
    let data = stage.data(&layout.target).await;
    let certificate = prove::certify_on(&layout.target, stage.database(), data).await;
    rehearsal.certificate = Some(certificate);
    rehearsal
}

async fn report(stage: &mut Stage<'_>, number: usize, step: &Step) -> StepReport {
    let before = stage.writes();
    let mut report = StepReport { number, name: step.kind.name(), ..StepReport::default() };
    report.played = !matches!(step.kind, StepKind::ChangeSetting(_));
    match stage.carry_out(&step.kind).await {
        Ok(done) => report.job = done,
        Err(failure) => report.failures.push(failure),
    }
    if let Err(failure) = stage.go_on().await {
        report.failures.push(failure);
    }
    report.writes = stage.writes() - before;
    report.patterns = stage.check().await;
    report.failures.extend(report.patterns.iter().flat_map(PatternReport::failures));
    report
}

/// All steps, and back from the last to the first. Returns the old patterns that do not work then.
async fn backwards(layout: &Layout, steps: &[Step]) -> Result<Vec<String>, String> {
    let mut stage = Stage::open(layout).await?;
    stage.wrong_from_the_start().await;
    for step in steps {
        stage.carry_out(&step.kind).await?;
        stage.go_on().await?;
    }
    for step in steps.iter().rev() {
        stage.take_back(&step.kind).await?;
        stage.go_on().await?;
    }
    Ok(stage.check().await.iter().flat_map(PatternReport::failures).collect())
}

fn on_demand(layout: &Layout) -> Layout {
    let mut layout = layout.clone();
    for model in [&mut layout.old, &mut layout.target, &mut layout.both] {
        model.tables.iter_mut().for_each(|table| table.billing.value = Billing::OnDemand);
    }
    layout
}

fn message(error: api::Error) -> String {
    error.message
}
