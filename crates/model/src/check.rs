//! The rules: known problems of DynamoDB models. Each rule has a file here and a page that explains it
//! (`docs/rules/`).
//!
//! A rule looks at a [`Subject`] and returns what it finds. This file keeps the list of rules, their levels, and what
//! the model file allows, so a rule contains nothing but its own question.
//!
//! To add a rule: a file like `r14_unpadded_number.rs`, its line in [`RULES`], `docs/rules/R14.md`, and
//! models in `tests/workbench/rules/R14/` that trip it and that nearly do.

pub(crate) mod figures;
mod r01_served_only_by_scan;
mod r02_filter_selects;
mod r03_more_than_one_request;
mod r04_unused_index;
mod r05_unknown_load;
mod r06_low_cardinality_partition_key;
mod r07_constant_partition_key;
mod r08_current_time_partition_key;
mod r09_skewed_partition_key;
mod r10_key_not_known;
mod r11_busiest_key;
mod r12_sort_key_composition;
mod r13_order_not_first;
mod r14_unpadded_number;
mod r15_ambiguous_key;
mod r16_ranged_attribute_not_in_sort_key;
pub(crate) mod r17_read_together;
mod r18_too_many_indexes;
mod r19_wide_projection;
mod r20_sparse_index;
mod r21_strong_read_of_global_index;
mod r22_index_write_capacity;
mod r23_item_too_large;
mod r24_transaction;
mod r25_batch;
mod r26_unguarded_write;
pub(crate) mod r27_time_to_live;
mod r28_copied_attribute;
mod r29_many_to_many;
mod r30_hierarchy;
mod r31_shards;
mod r32_capacity_mode;
mod r33_backup_and_replicas;
mod r34_one_table;
mod r35_index_change;
mod r36_expression;
mod r37_unbounded_query;
mod r38_not_dynamodb_alone;
mod r39_write_amplification;
mod r40_tenant;
mod r41_key_length;
mod r42_index_limits;
mod r43_collection_size;
mod r44_table_capacity;
mod r45_deletion_protection;
mod r46_cached_strong_read;
mod r47_get_finds_several;
mod r48_condition_on_another_key;
mod r49_two_templates;
mod r50_key_beyond_id;
mod r51_entity_lost;
mod r52_guard_left_behind;
mod r53_case_of_guard;
mod r54_kept_index_key;
mod r55_expired_item_passes;
mod spread;
mod subject;

use crate::diagnostic::{self, Fix, Level, RuleId};
use crate::model::{RuleLevel, RuleSetting};
use crate::plan::{Plan, plan};
use crate::{Diagnostic, Model};

pub use subject::{PatternRead, PatternWrite, Subject};

/// In the order of their numbers.
pub const RULES: &[&Rule] = &[
    &r01_served_only_by_scan::RULE,
    &r02_filter_selects::RULE,
    &r03_more_than_one_request::RULE,
    &r04_unused_index::RULE,
    &r05_unknown_load::RULE,
    &r06_low_cardinality_partition_key::RULE,
    &r07_constant_partition_key::RULE,
    &r08_current_time_partition_key::RULE,
    &r09_skewed_partition_key::RULE,
    &r10_key_not_known::RULE,
    &r11_busiest_key::RULE,
    &r12_sort_key_composition::RULE,
    &r13_order_not_first::RULE,
    &r14_unpadded_number::RULE,
    &r15_ambiguous_key::RULE,
    &r16_ranged_attribute_not_in_sort_key::RULE,
    &r17_read_together::RULE,
    &r18_too_many_indexes::RULE,
    &r19_wide_projection::RULE,
    &r20_sparse_index::RULE,
    &r21_strong_read_of_global_index::RULE,
    &r22_index_write_capacity::RULE,
    &r23_item_too_large::RULE,
    &r24_transaction::RULE,
    &r25_batch::RULE,
    &r26_unguarded_write::RULE,
    &r27_time_to_live::RULE,
    &r28_copied_attribute::RULE,
    &r29_many_to_many::RULE,
    &r30_hierarchy::RULE,
    &r31_shards::RULE,
    &r32_capacity_mode::RULE,
    &r33_backup_and_replicas::RULE,
    &r34_one_table::RULE,
    &r35_index_change::RULE,
    &r36_expression::RULE,
    &r37_unbounded_query::RULE,
    &r38_not_dynamodb_alone::RULE,
    &r39_write_amplification::RULE,
    &r40_tenant::RULE,
    &r41_key_length::RULE,
    &r42_index_limits::RULE,
    &r43_collection_size::RULE,
    &r44_table_capacity::RULE,
    &r45_deletion_protection::RULE,
    &r46_cached_strong_read::RULE,
    &r47_get_finds_several::RULE,
    &r48_condition_on_another_key::RULE,
    &r49_two_templates::RULE,
    &r50_key_beyond_id::RULE,
    &r51_entity_lost::RULE,
    &r52_guard_left_behind::RULE,
    &r53_case_of_guard::RULE,
    &r54_kept_index_key::RULE,
    &r55_expired_item_passes::RULE,
];

/// One rule: what it looks for, and the function that looks.
pub struct Rule {
    pub id: RuleId,
    /// The level of its most serious findings.
    pub level: Level,
    /// The problem that it reports, as a heading.
    pub title: &'static str,
    /// The page that `explain` shows.
    pub page: &'static str,
    /// Numbers that the model file can set, with their defaults.
    pub parameters: &'static [(&'static str, f64)],
    pub check: fn(&Subject<'_>) -> Vec<Diagnostic>,
}

/// Everything that the rules find in a model, allowed findings included.
pub fn check(model: &Model) -> Vec<Diagnostic> {
    let plans: Vec<Plan> = model.patterns.iter().map(|pattern| plan(model, pattern)).collect();
    let mut found: Vec<Diagnostic> = Vec::new();
    for rule in RULES {
        let subject = Subject::new(model, &plans, rule);
        found.extend(subject.setting.into_iter().flat_map(|setting| unknown_parameters(rule, setting)));
        found.extend(findings(rule, &subject));
    }
    allow(model, &mut found);
    diagnostic::sort(&mut found);
    found
}

fn findings(rule: &'static Rule, subject: &Subject<'_>) -> Vec<Diagnostic> {
    let level = subject.setting.and_then(|setting| setting.level);
    if level == Some(RuleLevel::Off) {
        return Vec::new();
    }
    let mut found = (rule.check)(subject);
    for one in &mut found {
        one.rule = Some(rule.id);
        if let Some(RuleLevel::At(level)) = level {
            one.level = level;
        }
    }
    found
}

fn unknown_parameters(rule: &Rule, setting: &RuleSetting) -> Vec<Diagnostic> {
    let known = |name: &String| rule.parameters.iter().any(|(known, _)| known == name);
    let unknown = setting.parameters.iter().filter(|(name, _)| !known(name));
    unknown
        .map(|(name, value)| {
            let names: Vec<String> = rule.parameters.iter().map(|(name, _)| format!("`{name}`")).collect();
            let can = if names.is_empty() { "only `level`".to_owned() } else { names.join(", ") };
            Diagnostic::warning(value.span, format!("{} has no setting `{name}`", rule.id))
                .help(format!("it has {can}"))
        })
        .collect()
}

/// Marks the findings that the file allows, and reports allowances that match no finding.
fn allow(model: &Model, found: &mut Vec<Diagnostic>) {
    let mut unused = Vec::new();
    for allowance in &model.allowances {
        let mut used = false;
        for one in found.iter_mut() {
            if one.rule == Some(allowance.rule) && allowance.scope.contains(one.span) {
                one.allowed = Some(allowance.reason.clone());
                used = true;
            }
        }
        let exists = RULES.iter().any(|rule| rule.id == allowance.rule);
        if exists && !used {
            let message = format!("{} finds nothing here, so there is nothing to allow", allowance.rule);
            let fix = Fix::remove(allowance.span, format!("remove the allowance of {}", allowance.rule));
            unused.push(Diagnostic::warning(allowance.span, message).help("remove it").fix(fix));
        }
    }
    found.extend(unused);
}

/// The rule with this number, if there is one.
pub fn rule(id: RuleId) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id).copied()
}
