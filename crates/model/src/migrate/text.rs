//! The whole plan, for people.

use super::step::Step;
use super::{ElementChange, Migration, Obstacle};
use crate::check::figures;
use crate::cost::dollars;

impl ElementChange {
    /// `+ index GSI2 of app-main: …`, `~ entity Order, key: … -> …`.
    pub fn line(&self) -> String {
        let member = self.member.as_ref().map(|member| format!(", {member}")).unwrap_or_default();
        let subject = format!("{} {}{member}", self.section.name(), self.element);
        match (&self.was, &self.is) {
            (None, Some(is)) => format!("+ {subject}: {is}"),
            (Some(was), None) => format!("- {subject}: {was}"),
            (Some(was), Some(is)) => format!("~ {subject}: {was} -> {is}"),
            (None, None) => subject,
        }
    }
}

impl Step {
    /// `writes 24,000,000 items, takes 13 hours at 500 WCU/s, costs $15.31`.
    pub fn figures(&self) -> Option<String> {
        let estimate = &self.estimate;
        let items = estimate.items.map(|items| format!("writes {} items", figures::count(items)));
        let rate = estimate.rate.map(|rate| format!("at {} WCU/s", figures::count(rate)));
        let time = match (estimate.seconds, rate) {
            (Some(seconds), Some(rate)) => Some(format!("takes {} {rate}", figures::duration(seconds))),
            (None, Some(rate)) => Some(format!("{rate}; how many items there are is not declared")),
            _ => None,
        };
        let cost = (!estimate.lines.is_empty()).then(|| format!("costs {}", dollars(estimate.cost())));
        let parts: Vec<String> = items.into_iter().chain(time).chain(cost).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

impl Migration {
    pub fn text(&self, explain: bool) -> String {
        let mut text = String::new();
        self.changes_text(&mut text);
        for Obstacle { problem, help } in &self.obstacles {
            text += &format!("\nThis can't be done while the application runs: {problem}.\n  {help}.\n");
        }
        for rename in &self.renames {
            text += &format!(
                "\nThe {} {} of the new model is called {} in the database: the old one has its name. Write it into the new file.",
                rename.what, rename.from, rename.to
            );
        }
        if !self.renames.is_empty() {
            text.push('\n');
        }
        self.steps_text(explain, &mut text);
        for caution in &self.cautions {
            text += &format!("\nMind: {caution}\n");
        }
        text
    }

    fn changes_text(&self, text: &mut String) {
        if self.changes.is_empty() {
            text.push_str("The two models are the same.\n");
            return;
        }
        text.push_str("What changes\n");
        for change in &self.changes {
            *text += &format!("  {}\n", change.line());
        }
        if self.is_empty() {
            text.push_str("\nNothing that is stored has to change.\n");
        }
    }

    fn steps_text(&self, explain: bool, text: &mut String) {
        if self.steps.is_empty() {
            return;
        }
        text.push_str("\nSteps\n");
        for (position, step) in self.steps.iter().enumerate() {
            let mark = if step.optional { " (tidying up)" } else { "" };
            *text += &format!("{:3}. {}{mark}\n", position + 1, step.title);
            for detail in &step.details {
                *text += &format!("       {detail}\n");
            }
            if let Some(figures) = step.figures() {
                *text += &format!("       {figures}\n");
            }
            if let Some(slowed) = &step.estimate.slowed {
                *text += &format!("       slower than asked for: {slowed}\n");
            }
            for line in step.estimate.lines.iter().filter(|_| explain) {
                *text += &format!("         {line}\n");
            }
            *text += &format!("       back: {}\n", step.rollback.how);
        }
        let jobs = match self.seconds() {
            0.0 => "There is no job to run".to_owned(),
            seconds => format!("Jobs take {}", figures::duration(seconds)),
        };
        *text += &format!("\n{jobs}, all steps cost {} in {}", dollars(self.cost()), self.region);
        match self.steps.iter().position(|step| !step.rollback.reversible) {
            Some(last) => *text += &format!("; the plan has a way back up to step {last}.\n"),
            None => text.push_str("; the plan has a way back from every step.\n"),
        }
    }
}
