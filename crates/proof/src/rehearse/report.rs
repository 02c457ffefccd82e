//! The result of a rehearsal, as text and as JSON.

use serde_json::{Value, json};

use super::job::Done;
use crate::certificate::{Certificate, PatternProof};
use crate::fault::Fault;

#[derive(Debug, Default)]
pub struct Rehearsal {
    /// How many items it began with.
    pub items: usize,
    /// Old patterns that did not work before the first step, and are left out.
    pub unproven: Vec<String>,
    pub steps: Vec<StepReport>,
    pub rollbacks: Vec<RollbackReport>,
    /// The proof of the new model on the migrated data; `None` if a step failed.
    pub certificate: Option<Certificate>,
    /// What is wrong at the end.
    pub failures: Vec<String>,
}

#[derive(Debug, Default)]
pub struct StepReport {
    pub number: usize,
    pub name: String,
    /// Settings are not played.
    pub played: bool,
    pub job: Option<Done>,
    /// How many writes the application made in the meantime.
    pub writes: usize,
    pub patterns: Vec<PatternReport>,
    pub failures: Vec<String>,
}

/// One pattern, tried after a step.
#[derive(Debug)]
pub struct PatternReport {
    /// Whether it was switched over.
    pub new: bool,
    pub proof: PatternProof,
}

/// The number of steps taken, and the way back from there.
#[derive(Debug)]
pub struct RollbackReport {
    pub steps: usize,
    pub failures: Vec<String>,
}

impl PatternReport {
    /// A pattern without any data to try it on is not a failure.
    pub fn failures(&self) -> impl Iterator<Item = String> + '_ {
        let found = self.proof.findings.iter().filter(|finding| !matches!(finding.fault, Fault::NoData(_)));
        let form = if self.new { "new" } else { "old" };
        found.map(move |finding| {
            format!("{} as the {form} model has it: {}", self.proof.pattern, finding.fault)
        })
    }
}

impl Rehearsal {
    pub const HEADINGS: [&'static str; 6] =
        ["Step", "Done", "By the job", "By the application", "Patterns tried", "Way back"];

    pub fn succeeded(&self) -> bool {
        let proven = self.certificate.as_ref().is_some_and(Certificate::is_proven);
        proven && self.problems().is_empty()
    }

    pub fn rows(&self) -> Vec<Vec<String>> {
        self.steps.iter().map(|step| step.row(self.back(step.number))).collect()
    }

    fn back(&self, number: usize) -> &'static str {
        match self.rollbacks.iter().find(|rollback| rollback.steps == number) {
            Some(rollback) if rollback.failures.is_empty() => "restores the old",
            Some(_) => "FAILS",
            None => "none",
        }
    }

    /// Every failure.
    pub fn problems(&self) -> Vec<String> {
        let of_steps = self
            .steps
            .iter()
            .flat_map(|step| step.failures.iter().map(|failure| format!("step {}: {failure}", step.number)));
        let of_rollbacks = self.rollbacks.iter().flat_map(|rollback| {
            rollback.failures.iter().map(|failure| format!("back from step {}: {failure}", rollback.steps))
        });
        of_steps.chain(of_rollbacks).chain(self.failures.iter().cloned()).collect()
    }

    /// Problems first, then everything that was shown.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for problem in self.problems() {
            text += &format!("\n{problem}\n");
        }
        if !self.unproven.is_empty() {
            text += &format!("\nWrong before the first step, and left out: {}.\n", self.unproven.join(", "));
        }
        if let Some(certificate) = &self.certificate {
            text += &certificate.failures();
        }
        let writes: usize = self.steps.iter().map(|step| step.writes).sum();
        let verdict = if self.succeeded() { "Rehearsed" } else { "NOT rehearsed to the end" };
        text += &format!(
            "\n{verdict}: {} steps on {} items, {writes} writes of the application, {} ways back",
            self.steps.len(),
            self.items,
            self.rollbacks.iter().filter(|rollback| rollback.failures.is_empty()).count(),
        );
        match &self.certificate {
            Some(certificate) => {
                text += &format!(".\nOn the migrated data: {}", certificate.summary().trim_start())
            }
            None => text.push_str(".\n"),
        }
        text
    }

    pub fn json(&self) -> Value {
        let steps: Vec<Value> = self.steps.iter().map(|step| step.json()).collect();
        let rollbacks = self.rollbacks.iter();
        let rollbacks: Vec<Value> =
            rollbacks.map(|one| json!({ "steps": one.steps, "failures": one.failures })).collect();
        let proven = self.certificate.iter().flat_map(|certificate| &certificate.patterns);
        let proven: Vec<Value> = proven
            .map(|proof| json!({ "pattern": proof.pattern, "verdict": proof.verdict.name(), "tries": proof.tries }))
            .collect();
        json!({
            "succeeded": self.succeeded(),
            "items": self.items,
            "unproven": self.unproven,
            "steps": steps,
            "rollbacks": rollbacks,
            "patterns": proven,
            "failures": self.failures,
        })
    }
}

impl StepReport {
    fn row(&self, back: &str) -> Vec<String> {
        let done = match (self.played, self.failures.is_empty()) {
            (false, _) => "not played",
            (true, true) => "yes",
            (true, false) => "FAILS",
        };
        let job = self.job.map(|job| match job.refused {
            0 => format!("{} written", job.written),
            refused => format!("{} written, {refused} left alone", job.written),
        });
        vec![
            format!("{}. {}", self.number, self.name),
            done.to_owned(),
            job.unwrap_or_default(),
            self.writes.to_string(),
            self.tried(),
            back.to_owned(),
        ]
    }

    /// `3 old, 1 new`.
    fn tried(&self) -> String {
        let count =
            |new: bool| self.patterns.iter().filter(|one| one.new == new && one.proof.tries > 0).count();
        format!("{} old, {} new", count(false), count(true))
    }

    fn json(&self) -> Value {
        let patterns = self.patterns.iter().map(|one| {
            json!({
                "pattern": one.proof.pattern,
                "model": if one.new { "new" } else { "old" },
                "tries": one.proof.tries,
                "failures": one.failures().collect::<Vec<_>>(),
            })
        });
        json!({
            "number": self.number,
            "name": self.name,
            "played": self.played,
            "job": self.job.map(|job| json!({ "written": job.written, "refused": job.refused })),
            "writes": self.writes,
            "patterns": patterns.collect::<Vec<_>>(),
            "failures": self.failures,
        })
    }
}
