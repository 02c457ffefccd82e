//! What a rule looks at.

use super::Rule;
use crate::Model;
use crate::demand::{self, Usage};
use crate::model::{
    Action, ActionKind, EntityId, IndexId, Pattern, Place, Read, RuleSetting, Write, WriteVerb,
};
use crate::plan::{ActionPlan, Plan, ReadPlan, WritePlan};
use crate::predict::typical::Footprints;

/// The model with its plans, as a rule sees it, and the settings of the rule.
pub struct Subject<'m> {
    pub model: &'m Model,
    /// The plan of each pattern, in the order of [`Model::patterns`].
    pub plans: &'m [Plan],
    pub(super) rule: &'static Rule,
    pub(super) setting: Option<&'m RuleSetting>,
}

/// A read of a pattern, and its plan.
#[derive(Clone, Copy)]
pub struct PatternRead<'m> {
    pub pattern: &'m Pattern,
    pub action: &'m Action,
    pub read: &'m Read,
    pub plan: &'m ReadPlan,
}

/// A write of a pattern, and its plan.
#[derive(Clone, Copy)]
pub struct PatternWrite<'m> {
    pub pattern: &'m Pattern,
    pub action: &'m Action,
    pub write: &'m Write,
    pub plan: &'m WritePlan,
}

impl<'m> Subject<'m> {
    pub fn new(model: &'m Model, plans: &'m [Plan], rule: &'static Rule) -> Subject<'m> {
        let setting = model.rules.iter().find(|setting| setting.rule == rule.id);
        Subject { model, plans, rule, setting }
    }

    /// A number of the rule, as the file sets it or by default.
    pub fn parameter(&self, name: &str) -> f64 {
        let set = self.setting.and_then(|setting| setting.parameters.get(name)).map(|value| value.value);
        let default = self.rule.parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        set.or(default).unwrap_or_default()
    }

    /// Patterns that the table serves, with their plans.
    pub fn patterns(&self) -> impl Iterator<Item = (&'m Pattern, &'m Plan)> + use<'m> {
        let patterns = self.model.patterns.iter().zip(self.plans);
        patterns.filter(|(pattern, _)| pattern.external.is_none())
    }

    /// What these patterns consume of tables and global indexes.
    pub fn uses(&self) -> Vec<Usage> {
        demand::uses(self.model, self.plans, &Footprints::new(self.model))
    }

    /// The reads of these patterns.
    pub fn reads(&self) -> impl Iterator<Item = PatternRead<'m>> + use<'m> {
        self.patterns().flat_map(|(pattern, plan)| {
            let steps = pattern.actions.iter().zip(&plan.steps);
            steps.filter_map(move |(action, step)| match (&action.kind, &step.kind) {
                (ActionKind::Read(read), ActionPlan::Read(plan)) => {
                    Some(PatternRead { pattern, action, read, plan })
                }
                _ => None,
            })
        })
    }

    /// The writes of these patterns.
    pub fn writes(&self) -> impl Iterator<Item = PatternWrite<'m>> + use<'m> {
        self.patterns().flat_map(|(pattern, plan)| {
            let steps = pattern.actions.iter().zip(&plan.steps);
            steps.filter_map(move |(action, step)| match (&action.kind, &step.kind) {
                (ActionKind::Write(write), ActionPlan::Write(plan)) => {
                    Some(PatternWrite { pattern, action, write, plan })
                }
                _ => None,
            })
        })
    }

    /// How many new items of an entity are written per second at the busiest time; `None` if a pattern that
    /// does so has no rate, or if there is no such pattern.
    pub fn creates_per_second(&self, entity: EntityId) -> Option<f64> {
        let creates = self.writes().filter(|one| {
            one.plan.entity == entity && matches!(one.write.verb, WriteVerb::Create | WriteVerb::Put)
        });
        let rates = creates.map(|one| Some(one.pattern.rate.as_ref()?.peak() * one.action.times as f64));
        let rates: Vec<f64> = rates.collect::<Option<_>>()?;
        (!rates.is_empty()).then(|| rates.iter().sum())
    }

    /// The places in which reads look for items of an entity.
    pub fn place(&self, entity: EntityId, index: Option<IndexId>) -> Option<Place<'m>> {
        self.model.places_of(entity).into_iter().find(|place| place.index_id() == index)
    }
}

impl<'m> PatternRead<'m> {
    pub fn name(self) -> &'m str {
        &self.pattern.id.value
    }

    /// Where each of its entities is looked for.
    pub fn places(self, subject: &Subject<'m>) -> Vec<Place<'m>> {
        self.plan.entities.iter().filter_map(|entity| subject.place(*entity, self.plan.index)).collect()
    }

    /// The attributes whose values the reader knows.
    pub fn known(self) -> Vec<&'m str> {
        use crate::predicate::Operator;
        let by = self.read.by.iter().map(|name| name.value.as_str());
        let terms = self.read.conditions.iter().flat_map(|where_| &where_.terms);
        let equal = terms.filter(|term| matches!(term.operator, Operator::Equal | Operator::In));
        by.chain(equal.map(|term| term.attribute.value.as_str())).collect()
    }
}

impl<'m> PatternWrite<'m> {
    pub fn name(self) -> &'m str {
        &self.pattern.id.value
    }
}
